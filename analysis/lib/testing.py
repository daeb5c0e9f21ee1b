"""What the tests share: small verified documents, and a check of layout."""

from __future__ import annotations

import copy
from typing import Any

from analysis.lib import style
from analysis.lib.verified import Verified

from matplotlib.backends.backend_agg import RendererAgg  # noqa: E402
from matplotlib.text import Text as Artist  # noqa: E402

_DOCUMENT: dict[str, Any] = {
    "experiment": "example",
    "parameters": {"keys": 16, "scaled": True, "width": 2.5},
    "results": {
        "curve": [{"x": 0, "y": 1.5}, {"x": 1, "y": "Infinity"}],
        "name": "tank",
        "a/b": {"~": 7},
    },
    "measurements": {"seconds": 1.25},
    "provenance": {
        "compiler": "C",
        "instruction_set": "I",
        "threads": 1,
        "version": "V",
    },
    "claims": [
        {
            "id": "example.output",
            "published": "1.50",
            "ours": 1.498,
            "agreement": {"rule": "same_decimals", "decimals": 2},
            "verdict": "holds",
            "expected": "holds",
        },
        {
            "id": "example.words",
            "published": None,
            "ours": 3,
            "agreement": {
                "rule": "inequality",
                "op": ">",
                "threshold": 2,
                "control": 1,
                "control_fails": True,
            },
            "verdict": "fails",
            "expected": "fails",
        },
    ],
}


def document() -> dict[str, Any]:
    """A verified document of an experiment "example", to be changed freely."""
    return copy.deepcopy(_DOCUMENT)


def ledger() -> list[dict[str, Any]]:
    """The ledger that the document was judged against, and a cited claim."""
    rows = [
        {
            "id": row["id"],
            "section": "2",
            "statement": f"Statement of {row['id']}.",
            "statement_zh": f"论断 {row['id']}。",
            "published": row["published"],
            "experiment": "example",
            "pointer": "/name",
            "kind": "exact" if row["published"] else "qualitative",
            "check": {},
            "expected": row["expected"],
        }
        for row in document()["claims"]
    ]
    rows.append(
        {
            "id": "cited.heads",
            "section": "4",
            "statement": "Literature says so.",
            "statement_zh": "文献如此。",
            "published": None,
            "kind": "cited",
        }
    )
    return rows


def example() -> dict[str, Verified]:
    """The document as inputs of a figure."""
    return {"example": Verified("example", document())}


def _unseen(figure: style.Figure) -> set[Artist]:
    """Labels of ticks outside an axis's limits: matplotlib draws none."""
    unseen = set()
    for axes in figure.axes:
        for axis in (axes.xaxis, axes.yaxis):
            low, high = sorted(axis.get_view_interval())
            for tick in [*axis.get_major_ticks(), *axis.get_minor_ticks()]:
                if not low <= tick.get_loc() <= high or not axes.axison:
                    unseen |= {tick.label1, tick.label2}
    return unseen


def layout_problems(figure: style.Figure) -> list[str]:
    """Texts that the edge of the figure cuts off, or that cover each other."""
    slack = 2.0  # pixels: a glyph's box is a little larger than its ink
    width, height = figure.get_size_inches() * figure.dpi
    renderer = RendererAgg(round(width), round(height), figure.dpi)
    figure.draw(renderer)
    unseen = _unseen(figure)
    boxes = []
    for artist in figure.findobj(Artist):
        if artist in unseen:
            continue
        if not artist.get_visible() or not artist.get_text().strip():
            continue
        if artist.axes is not None and not artist.axes.get_visible():
            continue
        boxes.append((artist.get_text(), artist.get_window_extent(renderer)))
    problems = []
    for index, (text, box) in enumerate(boxes):
        if (
            min(box.x0, box.y0) < -slack
            or box.x1 > width + slack
            or box.y1 > height + slack
        ):
            problems.append(f'"{text}" is cut off')
        for other_text, other in boxes[:index]:
            if (
                min(box.x1, other.x1) - max(box.x0, other.x0) > slack
                and min(box.y1, other.y1) - max(box.y0, other.y0) > slack
            ):
                problems.append(f'"{text}" covers "{other_text}"')
    return problems
