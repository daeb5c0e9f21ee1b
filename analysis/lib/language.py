"""The two languages of figures and report."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape

ENGLISH = "en"
CHINESE = "zh"
LANGUAGES = (ENGLISH, CHINESE)

# BCP 47 tags for HTML.
TAGS = {ENGLISH: "en", CHINESE: "zh-Hans"}


@dataclass(frozen=True)
class Say:
    """Chooses the text of one language: say("weight", "权重")."""

    language: str

    def __call__(self, english: str, chinese: str) -> str:
        return english if self.language == ENGLISH else chinese


@dataclass(frozen=True)
class Text:
    """A text in both languages, neither of them HTML yet."""

    en: str
    zh: str

    def html(self, element: str = "span") -> str:
        """Both, each in an element with its language; the page shows one."""
        return "".join(
            f'<{element} lang="{TAGS[language]}">{escape(text, quote=False)}'
            f"</{element}>"
            for language, text in ((ENGLISH, self.en), (CHINESE, self.zh))
        )
