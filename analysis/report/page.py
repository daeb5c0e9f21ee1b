"""Builds the report page: one HTML file that needs nothing else.

page.html is its template; here is what it is filled with. The program: page
--contents=contents.bzl --ledger=claims.json --coverage=coverage.json
--style=page.css --results=EXPERIMENT=FILE ... --panels=FIGURE=FILE ...
--output=report.html. Exit codes: 0; 1 when the page cannot be built (one line
on stderr); 2 for usage.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any, Mapping, Sequence

import jinja2
from markupsafe import Markup

from analysis.lib import files, svg
from analysis.lib.judged_claims import (
    COUNTED_NAMES,
    FAILS,
    ONE_READING,
    VERDICT_NAMES,
    Claim,
    count_verdicts,
    join_claims,
    read_json,
)
from analysis.lib.language import LANGUAGES, TAGS, Text
from analysis.lib.verified import ResultError, Verified
from analysis.report import contents
from analysis.report.agreement import UnknownAgreement, agreement_text
from analysis.report.contents import Contents, ContentsError, FigureEntry
from analysis.report.texts import filled, number_text, ours_text

Panels = Mapping[str, Sequence[svg.Drawing]]  # by language

PROVENANCE = {
    "compiler": Text("compiler", "编译器"),
    "instruction_set": Text("instruction set", "指令集"),
    "threads": Text("threads", "线程数"),
    "version": Text("version", "版本"),
}
_SHORT = 16  # characters of our value that stay on one line


def read_panels(document: Mapping[str, Any]) -> Panels:
    """The panels of a figure, from what its program wrote."""
    return {
        language: [svg.Drawing(**panel) for panel in document[language]]
        for language in LANGUAGES
    }


def claim_ours(claim: Claim) -> str | None:
    """Our value as the table shows it; None for cited literature."""
    if claim.judged.ours is None:
        return None
    if claim.kind == "identity":  # a deviation
        return number_text(claim.judged.ours, ".3g")
    return ours_text(claim.judged.ours, claim.judged.published)


def coverage_counts(
    paragraphs: Sequence[dict[str, Any]],
) -> list[tuple[int, Text]]:
    """How many paragraphs of the chapter have what."""
    claims = sum(bool(p.get("claims")) for p in paragraphs)
    reason = sum(
        bool(p.get("reason")) and not p.get("claims") for p in paragraphs
    )
    pending = sum(bool(p.get("pending")) for p in paragraphs)
    return [
        (len(paragraphs), Text("paragraphs of the chapter", "个段落")),
        (claims, Text("with claims", "段有论断")),
        (reason, Text("with nothing to test", "段无可检验内容")),
        (pending, Text("with something not built yet", "段尚有未完成内容")),
    ]


def provenance_rows(
    inputs: Mapping[str, Verified],
) -> list[tuple[dict[str, str], list[str]]]:
    """What results were made with, and which experiments' they are."""
    rows: dict[tuple[str, ...], list[str]] = {}
    for name, verified in inputs.items():
        values = tuple(
            str(verified.provenance.get(field, "")) for field in PROVENANCE
        )
        rows.setdefault(values, []).append(name)
    return [(dict(zip(PROVENANCE, row)), names) for row, names in rows.items()]


def _flag(name: str, value: Any) -> str:
    if isinstance(value, bool):
        value = "true" if value else "false"
    elif isinstance(value, float):
        value = f"{value:g}"
    return f"--{name}={value}"


def _tally(claims: Sequence[Claim]) -> Text:
    counts = {v: n for v, n in count_verdicts(claims).items() if n}
    english = ", ".join(f"{n} {COUNTED_NAMES[v].en}" for v, n in counts.items())
    chinese = "，".join(
        f"{n} 条{COUNTED_NAMES[v].zh}" for v, n in counts.items()
    )
    return Text(
        f"{len(claims)} claims: {english}.", f"{len(claims)} 条论断：{chinese}。"
    )


def _label(number: int, chapter_figure: str | None) -> Text:
    if not chapter_figure:
        return Text(f"Figure {number}", f"图 {number}")
    return Text(
        f"Figure {number} (the chapter's figure {chapter_figure})",
        f"图 {number}（对应书中图 {chapter_figure}）",
    )


def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        autoescape=True,
        loader=jinja2.FileSystemLoader(Path(__file__).parent),
        lstrip_blocks=True,
        trim_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    environment.globals.update(
        Text=Text,
        agreement_text=agreement_text,
        claim_ours=claim_ours,
        count_verdicts=count_verdicts,
        counted_names=COUNTED_NAMES,
        inline=lambda drawing, prefix: Markup(svg.inline(drawing, prefix)),
        languages=list(TAGS.items()),
        provenance_fields=PROVENANCE,
        section_name=lambda number: Text(
            f"Section {number} of the chapter", f"书中第 {number} 节"
        ),
        short=_SHORT,
        verdict_names=VERDICT_NAMES,
    )
    return environment


def build(
    report: Contents,
    ledger: list[dict[str, Any]],
    paragraphs: Sequence[dict[str, Any]],
    inputs: Mapping[str, Verified],
    panels: Mapping[str, Panels],
    style: str,
) -> str:
    """The page. ResultError when results and ledger do not fit together."""
    for section in report.sections:
        if section.experiment not in inputs:
            raise ResultError(f"no results of {section.experiment}")
    claims = join_claims(ledger, inputs)
    chapter: dict[str, list[Claim]] = {}
    for claim in claims:
        chapter.setdefault(claim.section, []).append(claim)
    numbers = {
        entry.name: number for number, entry in enumerate(report.figures(), 1)
    }

    def figure(entry: FigureEntry) -> dict[str, Any]:
        if entry.name not in panels:
            raise ResultError(f'no panels of figure "{entry.name}"')
        return {
            "name": entry.name,
            "panels": panels[entry.name],
            "label": _label(numbers[entry.name], entry.chapter_figure),
            "caption": filled(entry.caption, inputs),
        }

    sections = []
    for section in report.sections:
        own = [c for c in claims if c.experiment == section.experiment]
        parameters = inputs[section.experiment].parameters
        sections.append(
            {
                "experiment": section.experiment,
                "title": filled(section.title, inputs),
                "question": filled(section.question, inputs),
                "figures": [figure(entry) for entry in section.figures],
                "claims": own,
                "tally": _tally(own),
                "flags": [_flag(*item) for item in sorted(parameters.items())],
            }
        )
    drawings = [
        drawing
        for in_languages in panels.values()
        for drawn in in_languages.values()
        for drawing in drawn
    ]
    return _environment().get_template("page.html").render(
        style=style,
        glyphs=Markup(svg.shared_glyphs(drawings)),
        overview=[figure(entry) for entry in report.overview],
        sections=sections,
        claims=claims,
        chapter=chapter,
        choices=["all", *(f"section-{number}" for number in chapter)],
        exceptions=[
            c for c in claims if c.judged.verdict in (ONE_READING, FAILS)
        ],
        paragraphs=[{"claims": [], **p} for p in paragraphs],
        coverage_counts=coverage_counts(paragraphs),
        provenance=provenance_rows(
            {s.experiment: inputs[s.experiment] for s in report.sections}
        ),
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """The program's main function; returns the exit code."""

    def run() -> None:
        parser = files.Parser("page")
        for flag in ("contents", "ledger", "coverage", "style", "output"):
            parser.add_argument(f"--{flag}", required=True)
        parser.add_argument("--results", action="append", default=[])
        parser.add_argument("--panels", action="append", default=[])
        options = parser.parse_args(arguments)
        page = build(
            report=contents.read(options.contents),
            ledger=read_json(options.ledger),
            paragraphs=read_json(options.coverage),
            inputs={
                name: Verified.load(name, path)
                for name, path in files.parse_pairs("results", options.results)
            },
            panels={
                name: read_panels(read_json(path))
                for name, path in files.parse_pairs("panels", options.panels)
            },
            style=Path(options.style).read_text(encoding="utf-8"),
        )
        files.write_atomically(Path(options.output), page.encode("utf-8"))

    return files.run_program(
        "page", run, (ResultError, ContentsError, UnknownAgreement)
    )


if __name__ == "__main__":
    sys.exit(main())
