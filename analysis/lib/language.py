"""The two languages of figures and report."""

from __future__ import annotations

from dataclasses import dataclass

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
    """A text in both languages, plain."""

    en: str
    zh: str
