"""The coverage of the chapter, paragraph by paragraph, for the report."""

from __future__ import annotations

from html import escape
from typing import Any, Sequence

from analysis.lib.language import TAGS, ENGLISH, Text
from analysis.report.page_parts import claim_link

_CLAIMS = Text("with claims", "段有论断")
_REASON = Text("with nothing to test", "段无可检验内容")
_PENDING = Text("with something not built yet", "段尚有未完成内容")


def count(paragraphs: Sequence[dict[str, Any]]) -> dict[str, int]:
    """How many paragraphs have claims, only a reason, something pending."""
    return {
        "claims": sum(bool(p.get("claims")) for p in paragraphs),
        "reason": sum(
            bool(p.get("reason")) and not p.get("claims") for p in paragraphs
        ),
        "pending": sum(bool(p.get("pending")) for p in paragraphs),
    }


def coverage_html(paragraphs: Sequence[dict[str, Any]]) -> str:
    """Counts as tiles, and the list of paragraphs to unfold."""
    counts = count(paragraphs)
    total = Text("paragraphs of the chapter", "个段落")
    tiles = [(len(paragraphs), total)]
    tiles += [
        (counts[name], text)
        for name, text in (
            ("claims", _CLAIMS),
            ("reason", _REASON),
            ("pending", _PENDING),
        )
    ]
    tiles_html = "".join(f"<li><b>{n}</b>{t.html()}</li>" for n, t in tiles)
    rows = "".join(
        f"<li value=\"{paragraph['paragraph']}\">{_row(paragraph)}</li>"
        for paragraph in sorted(paragraphs, key=lambda p: p["paragraph"])
    )
    summary = Text("Paragraph by paragraph", "逐段列出")
    return (
        f'<ul class="tiles">{tiles_html}</ul>'
        f"<details><summary>{summary.html()}</summary><ol>{rows}</ol></details>"
    )


def _row(paragraph: dict[str, Any]) -> str:
    parts = [escape(paragraph["about"])]
    for field in ("reason", "pending"):
        if paragraph.get(field):
            parts.append(escape(paragraph[field]))
    links = " ".join(claim_link(claim) for claim in paragraph.get("claims", []))
    # The coverage file is in English; say so to whoever reads it aloud.
    english = f'<div lang="{TAGS[ENGLISH]}" class="both">'
    return f'{english}{" – ".join(parts)}</div>{links}'
