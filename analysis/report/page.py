"""Builds the report page: one HTML file that needs nothing else.

The program: page --contents=contents.bzl --ledger=claims.json
[--coverage=coverage.json] --style=page.css --results=EXPERIMENT=FILE ...
--panels=FIGURE=FILE ... --output=report.html. Exit codes: 0; 1 when the page
cannot be built (one line on stderr); 2 for usage.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any, Mapping, Sequence

from analysis.lib import files, svg
from analysis.report import claims_table, contents, coverage, page_parts
from analysis.report.agreement import UnknownAgreement
from analysis.report.contents import Contents, ContentsError, FigureEntry
from analysis.lib.language import Text
from analysis.lib.judged_claims import join_claims, read_json
from analysis.report.page_parts import Panels
from analysis.lib.verified import ResultError, Verified

TITLE = Text(
    "Softlookup: a chapter on attention, reproduced",
    "Softlookup：复现一章注意力",
)
INTRO = Text(
    "Every number and every checkable statement of the chapter is a claim. "
    "Experiments measure anew all but what it cites from elsewhere; a judge "
    "compares. A figure is drawn only from results whose every verdict is as "
    "the ledger of claims records it, and no result on this page is typed.",
    "书中的每个数字、每句可检验的话都是一条论断。除引自他处的结果外，均由实验重新测量，"
    "评判程序逐条比较。只有全部结论都与论断记录一致的结果才会用来作图；本页没有一个结果"
    "是手工键入的。",
)
CLAIMS = Text("Claims", "论断")
CLAIMS_INTRO = Text(
    "Published: as the chapter prints it. Ours: measured. Agreement: what had "
    "to be true for the verdict. Standing: the verdict that the ledger "
    "records; were any verdict different, nothing here would be drawn.",
    "书中：书中印出的值。我们：实测值。一致的标准：判断成立的条件。记录：论断表所"
    "记的结论；只要有一条结论与记录不同，这里就什么也不会画出。",
)
COVERAGE = Text("Coverage of the chapter", "对全章的覆盖")
PROVENANCE = Text("Provenance", "来源")
PROVENANCE_INTRO = Text(
    "The same command gives the same results, to the last bit, with any "
    "number of threads and on any processor with fused multiply-add. Wall "
    "times bear no claim and are not shown.",
    "同一命令在任何线程数、任何支持融合乘加的处理器上都给出逐位相同的结果。"
    "运行时间不支撑任何论断，故不列出。",
)
AGAIN = Text("To make this page again:", "重新生成本页：")
COMMAND = "tools/setup && bazel run //analysis:report"


def build(
    report: Contents,
    ledger: list[dict[str, Any]],
    paragraphs: Sequence[dict[str, Any]] | None,
    inputs: Mapping[str, Verified],
    panels: Mapping[str, Panels],
    style: str,
) -> str:
    """The page. ResultError when results and ledger do not fit together."""
    sections = report.sections
    for section in sections:
        if section.experiment not in inputs:
            raise ResultError(f"no results of {section.experiment}")
    claims = join_claims(ledger, inputs)
    links = [
        (s.experiment, page_parts.filled(s.title, inputs)) for s in sections
    ]
    links += [("claims", CLAIMS)]
    if paragraphs is not None:
        links += [("coverage", COVERAGE)]
    links += [("provenance", PROVENANCE)]
    drawings = [
        drawing
        for figure in panels.values()
        for drawn in figure.values()
        for drawing in drawn
    ]
    parts = [_head(style), svg.shared_glyphs(drawings), _intro(links)]
    parts.append(page_parts.tiles_html(claims))
    parts.append(claims_table.exceptions_html(claims))
    numbers = {
        entry.name: number for number, entry in enumerate(report.figures(), 1)
    }

    def figures_html(entries: Sequence[FigureEntry]) -> str:
        for entry in entries:
            if entry.name not in panels:
                raise ResultError(f'no panels of figure "{entry.name}"')
        return "".join(
            page_parts.figure_html(
                entry, numbers[entry.name], panels[entry.name], inputs
            )
            for entry in entries
        )

    parts.append(f"{figures_html(report.overview)}</header><main>")
    for section in sections:
        figures = figures_html(section.figures)
        parts.append(page_parts.section_html(section, figures, claims, inputs))
    parts.append(
        f'<section id="claims"><h2>{CLAIMS.html()}</h2>'
        f"{CLAIMS_INTRO.html('p')}{claims_table.table_html(claims)}</section>"
    )
    if paragraphs is not None:
        parts.append(
            f'<section id="coverage"><h2>{COVERAGE.html()}</h2>'
            f"{coverage.coverage_html(paragraphs)}</section>"
        )
    parts.append(
        f'<section id="provenance"><h2>{PROVENANCE.html()}</h2>'
        f"{PROVENANCE_INTRO.html('p')}"
        f"{page_parts.provenance_html(sections, inputs)}"
        f"{AGAIN.html('p')}<pre><code>{COMMAND.replace('&', '&amp;')}</code>"
        "</pre></section></main></body></html>\n"
    )
    return "\n".join(parts)


def _head(style: str) -> str:
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{TITLE.en} / {TITLE.zh}</title>"
        f"<style>{style}</style></head><body>"
        '<input type="radio" class="switch" name="language" id="language-en" '
        'aria-label="English" checked>'
        '<input type="radio" class="switch" name="language" id="language-zh" '
        'aria-label="中文">'
    )


def _intro(links: Sequence[tuple[str, Text]]) -> str:
    items = "".join(
        f'<li><a href="#{anchor}">{text.html()}</a></li>'
        for anchor, text in links
    )
    return (
        '<nav class="bar"><strong>Softlookup</strong>'
        '<span class="languages"><label class="to-en" for="language-en">'
        'English</label><label class="to-zh" for="language-zh">中文</label>'
        f'</span></nav><header class="intro"><h1>{TITLE.html()}</h1>'
        f'{INTRO.html("p")}<ul class="contents">{items}</ul>'
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """The program's main function; returns the exit code."""

    def run() -> None:
        parser = files.Parser("page")
        for flag in ("contents", "ledger", "style", "output"):
            parser.add_argument(f"--{flag}", required=True)
        parser.add_argument("--coverage")
        parser.add_argument("--results", action="append", default=[])
        parser.add_argument("--panels", action="append", default=[])
        options = parser.parse_args(arguments)
        page = build(
            report=contents.read(options.contents),
            ledger=read_json(options.ledger),
            paragraphs=(
                read_json(options.coverage) if options.coverage else None
            ),
            inputs={
                name: Verified.load(name, path)
                for name, path in files.parse_pairs("results", options.results)
            },
            panels={
                name: page_parts.read_panels(read_json(path))
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
