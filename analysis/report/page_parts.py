"""Parts of the report page: HTML from texts, figures and results.

Every function returns HTML in both languages; the page shows one.
"""

from __future__ import annotations

from html import escape
from typing import Any, Mapping, Sequence

from analysis.lib import svg
from analysis.report.contents import FigureEntry, Section
from analysis.lib.language import LANGUAGES, TAGS, Text
from analysis.lib.judged_claims import (
    COUNTED_NAMES,
    VERDICT_NAMES,
    Claim,
    count_verdicts,
)
from analysis.report.template import fill
from analysis.lib.verified import Verified

Panels = Mapping[str, Sequence[svg.Drawing]]  # by language

_FIGURE = Text("Figure", "图")
_CHAPTER_FIGURE = Text("the chapter's figure {}", "对应书中图 {}")


def filled(text: Text, inputs: Mapping[str, Verified]) -> Text:
    """The text with its placeholders filled."""
    return Text(fill(text.en, inputs), fill(text.zh, inputs))


def joined(*texts: Text | str) -> Text:
    """The texts one after the other; a plain string serves both languages."""
    return Text(
        "".join(t if isinstance(t, str) else t.en for t in texts),
        "".join(t if isinstance(t, str) else t.zh for t in texts),
    )


def verdict_class(verdict: str) -> str:
    """The verdict as a CSS class."""
    return verdict.replace("_", "-").replace(" ", "-")


def verdict_html(verdict: str) -> str:
    """The verdict's name, marked as such."""
    return f'<span class="verdict">{VERDICT_NAMES[verdict].html()}</span>'


def claim_anchor(claim_id: str) -> str:
    """The id of the claim's row."""
    return f"claim-{claim_id}"


def claim_link(claim_id: str) -> str:
    """A link to the claim's row."""
    code = f"<code>{escape(claim_id)}</code>"
    return f'<a href="#{claim_anchor(claim_id)}">{code}</a>'


def read_panels(document: Mapping[str, Any]) -> Panels:
    """The panels of a figure, from what its program wrote."""
    return {
        language: [svg.Drawing(**panel) for panel in document[language]]
        for language in LANGUAGES
    }


def figure_html(
    entry: FigureEntry,
    number: int,
    panels: Panels,
    inputs: Mapping[str, Verified],
) -> str:
    """A figure: its panels in both languages and its caption."""
    parts = [f'<figure id="figure-{entry.name}">']
    for language in LANGUAGES:
        three = " three" if len(panels[language]) == 3 else ""
        parts.append(f'<div class="panels{three}" lang="{TAGS[language]}">')
        for index, drawing in enumerate(panels[language]):
            parts.append(
                svg.inline(drawing, f"{entry.name}-{language}-{index}-")
            )
        parts.append("</div>")
    label = joined(_FIGURE, f" {number}")
    if entry.chapter_figure:
        origin = Text(
            _CHAPTER_FIGURE.en.format(entry.chapter_figure),
            _CHAPTER_FIGURE.zh.format(entry.chapter_figure),
        )
        label = joined(label, Text(" (", "（"), origin, Text(")", "）"))
    parts.append(f'<figcaption><span class="number">{label.html()}</span> ')
    parts.append(filled(entry.caption, inputs).html("span"))
    parts.append("</figcaption></figure>")
    return "".join(parts)


def knobs_html(verified: Verified) -> str:
    """The knobs of an experiment, and how to turn them."""
    flags = [
        f"--{name}={_flag_value(value)}"
        for name, value in sorted(verified.parameters.items())
    ]
    title = Text("Knobs: run it yourself", "参数：自己运行")
    intro = Text(
        "These are the published settings. Change any of them:",
        "以下是与书中一致的设置。可改动其中任何一项：",
    )
    command = f"bazel run //experiments:{verified.experiment}"
    if flags:
        command += f" -- {flags[0]}"
    items = "".join(f"<li><code>{escape(flag)}</code></li>" for flag in flags)
    return (
        f"<details><summary>{title.html()}</summary>{intro.html('p')}"
        f"<pre><code>{escape(command)}</code></pre>"
        f'<ul class="knobs">{items}</ul></details>'
    )


def _flag_value(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return f"{value:g}"
    return str(value)


def section_html(
    section: Section,
    figures_html: str,
    claims: Sequence[Claim],
    inputs: Mapping[str, Verified],
) -> str:
    """An experiment: its question, figures, outcome and knobs."""
    own = [claim for claim in claims if claim.experiment == section.experiment]
    tally = Text("{} claims: {}.", "{} 条论断：{}。")
    counts = {v: n for v, n in count_verdicts(own).items() if n}
    outcome = Text(
        tally.en.format(
            len(own),
            ", ".join(f"{n} {COUNTED_NAMES[v].en}" for v, n in counts.items()),
        ),
        tally.zh.format(
            len(own),
            "，".join(
                f"{n} 条{COUNTED_NAMES[v].zh}" for v, n in counts.items()
            ),
        ),
    )
    link = Text("See them in the table.", "在表中查看。")
    first = (
        f' <a href="#{claim_anchor(own[0].id)}">{link.html()}</a>'
        if own
        else ""
    )
    return (
        f'<section id="{section.experiment}">'
        f"<h2>{filled(section.title, inputs).html()}</h2>"
        f"{filled(section.question, inputs).html('p')}"
        f"{figures_html}"
        f"<p>{outcome.html()}{first}</p>"
        f"{knobs_html(inputs[section.experiment])}</section>"
    )


def tiles_html(claims: Sequence[Claim]) -> str:
    """How many claims came out in each way, large."""
    total = Text("claims of the chapter", "条书中论断")
    tiles = [f"<li><b>{len(claims)}</b>{total.html()}</li>"]
    for verdict, count in count_verdicts(list(claims)).items():
        tiles.append(
            f'<li class="{verdict_class(verdict)}"><b>{count}</b>'
            f'<span class="verdict">{COUNTED_NAMES[verdict].html()}</span></li>'
        )
    return f'<ul class="tiles">{"".join(tiles)}</ul>'


def provenance_html(
    sections: Sequence[Section], inputs: Mapping[str, Verified]
) -> str:
    """What the results were made with; equal rows are joined."""
    rows: dict[tuple[str, ...], list[str]] = {}
    fields = ("compiler", "instruction_set", "threads", "version")
    names = {
        "compiler": Text("compiler", "编译器"),
        "instruction_set": Text("instruction set", "指令集"),
        "threads": Text("threads", "线程数"),
        "version": Text("version", "版本"),
    }
    for section in sections:
        provenance = inputs[section.experiment].provenance
        values = tuple(str(provenance.get(field, "")) for field in fields)
        rows.setdefault(values, []).append(section.experiment)
    head = Text("experiment", "实验").html("span")
    header = f'<th scope="col">{head}</th>' + "".join(
        f'<th scope="col">{names[field].html()}</th>' for field in fields
    )
    body = []
    for values, experiments in rows.items():
        cells = "".join(
            f'<td data-en="{escape(names[field].en)}" '
            f'data-zh="{names[field].zh}"><div>{escape(value)}</div></td>'
            for field, value in zip(fields, values)
        )
        listed = ", ".join(f"<code>{name}</code>" for name in experiments)
        body.append(f"<tr><td>{listed}</td>{cells}</tr>")
    return (
        f'<table class="cards"><thead><tr>{header}</tr></thead>'
        f'<tbody>{"".join(body)}</tbody></table>'
    )
