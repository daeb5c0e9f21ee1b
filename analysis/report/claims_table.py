"""The claims table of the report: every claim once, with its verdict."""

from __future__ import annotations

from html import escape
from typing import Sequence

from analysis.report.agreement import translate
from analysis.lib.language import Text
from analysis.lib.judged_claims import FAILS, ONE_READING, VERDICT_NAMES, Claim
from analysis.report.page_parts import (
    claim_anchor,
    claim_link,
    verdict_class,
    verdict_html,
)
from analysis.report.template import number_text, ours_text

_COLUMNS = (
    Text("claim", "论断"),
    Text("published", "书中"),
    Text("ours", "我们"),
    Text("agreement", "一致的标准"),
    Text("verdict", "结论"),
    Text("experiment", "实验"),
)
_IN_WORDS = Text("in words", "文字论断")
_DEVIATION = Text("deviation ", "偏差 ")
_STANDING = Text("standing: ", "记录：")
_SHORT = 16  # characters that stay on one line
_NONE = Text("none", "无")
_LITERATURE = Text("literature", "文献")


def section_name(section: str) -> Text:
    """The heading of the chapter's section."""
    return Text(f"Section {section} of the chapter", f"书中第 {section} 节")


def _sections(claims: Sequence[Claim]) -> dict[str, list[Claim]]:
    groups: dict[str, list[Claim]] = {}
    for claim in claims:
        groups.setdefault(claim.section, []).append(claim)
    return groups


def _group_class(section: str) -> str:
    return "section-" + "".join(c if c.isalnum() else "-" for c in section)


def _cell(column: Text, content: str) -> str:
    return (
        f'<td role="cell" data-en="{column.en}" data-zh="{column.zh}">'
        f"<div>{content}</div></td>"
    )


def _ours(claim: Claim) -> str:
    if claim.judged.ours is None:
        return _NONE.html()
    deviation = claim.kind == "identity"
    text = escape(
        number_text(claim.judged.ours, ".3g")
        if deviation
        else ours_text(claim.judged)
    )
    if len(text) <= _SHORT:
        text = f'<span class="short">{text}</span>'
    if deviation:
        return _DEVIATION.html() + text
    return text


def _row(claim: Claim) -> str:
    judged = claim.judged
    published = (
        _IN_WORDS.html()
        if judged.published is None
        else escape(judged.published)
    )
    standing = (
        f'<span class="standing">{_STANDING.html()}'
        f"{VERDICT_NAMES[judged.standing].html()}</span>"
    )
    name = claim.experiment
    experiment = (
        _LITERATURE.html()
        if name is None
        else f'<a href="#{name}"><code>{name}</code></a>'
    )
    contents = (
        published,
        _ours(claim),
        translate(judged.bound).html(),
        verdict_html(judged.verdict) + standing,
        experiment,
    )
    return (
        f'<tr role="row" class="{verdict_class(judged.verdict)}" '
        f'id="{claim_anchor(claim.id)}"><td role="cell">'
        f"{claim.statement.html()}"
        f'<code class="id">{escape(claim.id)}</code></td>'
        + "".join(
            _cell(column, content)
            for column, content in zip(_COLUMNS[1:], contents)
        )
        + "</tr>"
    )


def exceptions_html(claims: Sequence[Claim]) -> str:
    """The claims that do not simply hold, with links to their rows."""
    listed = [c for c in claims if c.judged.verdict in (ONE_READING, FAILS)]
    if not listed:
        text = Text(
            "Every claim that can be tested holds.", "所有可检验的论断都成立。"
        )
        return text.html("p")
    intro = Text(
        "What does not come out as printed, or only under one reading:",
        "与书中不符，或仅在一种解读下成立的论断：",
    )
    items = "".join(
        f'<li class="{verdict_class(claim.judged.verdict)}">'
        f"{verdict_html(claim.judged.verdict)} {claim.statement.html()} "
        f"{claim_link(claim.id)}</li>"
        for claim in listed
    )
    return f"{intro.html('p')}<ul>{items}</ul>"


def table_html(claims: Sequence[Claim]) -> str:
    """The table, grouped by the chapter's sections, with a filter on them.

    The filter is radio buttons and a style sheet: it needs no script.
    """
    groups = _sections(claims)
    every = Text("all sections", "所有章节")
    button = '<input type="radio" class="switch" name="claims" id="show-'
    inputs = [f'{button}all" checked>']
    labels = [f'<label for="show-all">{every.html()}</label>']
    rules = []
    bodies = []
    for section, members in groups.items():
        group = _group_class(section)
        inputs.append(f'{button}{group}">')
        labels.append(
            f'<label for="show-{group}">{section_name(section).html()}</label>'
        )
        rules.append(
            f"#show-{group}:checked ~ .claims tbody:not(.{group})"
            "{display:none}"
        )
        bodies.append(
            f'<tbody class="{group}"><tr class="group" role="row">'
            f'<th role="rowheader" colspan="{len(_COLUMNS)}" scope="rowgroup">'
            f"{section_name(section).html()}</th></tr>"
            + "".join(_row(claim) for claim in members)
            + "</tbody>"
        )
    for name in ("all", *(_group_class(section) for section in groups)):
        rules.append(
            f'#show-{name}:checked ~ .filters [for="show-{name}"]'
            "{background:var(--ink);color:var(--paper)}"
            f'#show-{name}:focus-visible ~ .filters [for="show-{name}"]'
            "{outline:3px solid var(--focus);outline-offset:2px}"
        )
    head = "".join(
        f'<th role="columnheader" scope="col">{column.html()}</th>'
        for column in _COLUMNS
    )
    return (
        f'<style>{"".join(rules)}</style>{"".join(inputs)}'
        f'<div class="filters">{"".join(labels)}</div>'
        f'<table class="claims cards" role="table"><thead role="rowgroup">'
        f'<tr role="row">{head}</tr></thead>{"".join(bodies)}</table>'
    )
