"""SVG text: put in a page or side by side, with ids that do not collide."""

from __future__ import annotations

import re
from dataclasses import dataclass
from html import escape
from typing import Iterable

_OPENING = re.compile(
    r'<svg [^>]*?width="([\d.]+)pt" height="([\d.]+)pt"[^>]*>', re.DOTALL
)
_ID = re.compile(r'\bid="([^"]+)"')
_REFERENCE = re.compile(r'(href="#|url\(#)([^")]+)')
_PATH = re.compile(r'\bd="([^"]*)"')
_LONG_NUMBER = re.compile(r"-?\d+\.\d{3,}")


_GLYPH = re.compile(
    r'<path id="([^"]+)" ((?:d="[^"]*" )?transform="scale\([^"]*\)")/>\s*'
)
_NO_DEFINITIONS = re.compile(r"<defs>\s*</defs>\s*")
_GLYPH_PREFIX = "glyph-"


@dataclass(frozen=True)
class Drawing:
    """One drawing: its size in points, its elements, and what it shows.

    The outlines of its letters are apart, by id, so that drawings on one page
    share them; their ids get no prefix.
    """

    width: float
    height: float
    body: str
    description: str
    glyphs: dict[str, str]


def _short(match: re.Match[str]) -> str:
    text = f"{float(match.group()):.2f}".rstrip("0").rstrip(".")
    return "0" if text == "-0" else text


def from_matplotlib(text: str, description: str) -> Drawing:
    """What matplotlib wrote, without its header, metadata and global style.

    Path coordinates are rounded to a hundredth of a point: no eye sees the
    difference, and the file is a good deal smaller.
    """
    opening = _OPENING.search(text)
    if opening is None:
        raise ValueError("not an SVG by matplotlib: no <svg> with a size")
    body = text[opening.end() : text.rindex("</svg>")]
    body = re.sub(r"<metadata>.*?</metadata>\s*", "", body, flags=re.DOTALL)
    # Its "*{...}" would style the whole page; svg_element() sets the same.
    body = re.sub(
        r"<defs>\s*<style[^>]*>.*?</style>\s*</defs>\s*",
        "",
        body,
        flags=re.DOTALL,
    )
    body = re.sub(r"<!--.*?-->\s*", "", body, flags=re.DOTALL)
    body = body.replace("xlink:href", "href")
    body = _PATH.sub(
        lambda path: 'd="%s"'
        % " ".join(_LONG_NUMBER.sub(_short, path.group(1)).split()),
        body,
    )
    glyphs: dict[str, str] = {}

    def take(glyph: re.Match[str]) -> str:
        glyphs[_GLYPH_PREFIX + glyph.group(1)] = glyph.group(2)
        return ""

    body = _NO_DEFINITIONS.sub("", _GLYPH.sub(take, body))
    body = _REFERENCE.sub(
        lambda found: (
            found.group(1) + _GLYPH_PREFIX + found.group(2)
            if _GLYPH_PREFIX + found.group(2) in glyphs
            else found.group()
        ),
        body,
    )
    return Drawing(
        width=float(opening.group(1)),
        height=float(opening.group(2)),
        body=body.strip(),
        description=description,
        glyphs=glyphs,
    )


def with_prefix(body: str, prefix: str) -> str:
    """The elements with every id, and every reference to one, prefixed.

    References to glyphs stay.
    """

    def reference(found: re.Match[str]) -> str:
        if found.group(2).startswith(_GLYPH_PREFIX):
            return found.group()
        return f"{found.group(1)}{prefix}{found.group(2)}"

    body = _ID.sub(lambda found: f'id="{prefix}{found.group(1)}"', body)
    return _REFERENCE.sub(reference, body)


def glyph_definitions(drawings: Iterable[Drawing]) -> str:
    """<defs> of every glyph of the drawings, each once.

    ValueError when two drawings mean different outlines by one id.
    """
    glyphs: dict[str, str] = {}
    for drawing in drawings:
        for name, text in drawing.glyphs.items():
            if glyphs.setdefault(name, text) != text:
                raise ValueError(f'two glyphs have the id "{name}"')
    paths = "".join(
        f'<path id="{name}" {glyphs[name]}/>' for name in sorted(glyphs)
    )
    return f"<defs>{paths}</defs>"


_STYLE = 'style="stroke-linejoin:round;stroke-linecap:butt"'


def inline(drawing: Drawing, prefix: str) -> str:
    """The drawing as an <svg> for an HTML page, as wide as its container.

    The page needs the drawing's glyphs once: shared_glyphs().
    """
    return (
        f'<svg role="img" aria-label="{escape(drawing.description)}" '
        f'viewBox="0 0 {drawing.width:g} {drawing.height:g}" {_STYLE}>'
        f"{with_prefix(drawing.body, prefix)}</svg>"
    )


def shared_glyphs(drawings: Iterable[Drawing]) -> str:
    """An <svg> without size that holds the glyphs of a page's drawings."""
    return (
        '<svg class="glyphs" width="0" height="0" aria-hidden="true">'
        f"{glyph_definitions(drawings)}</svg>"
    )


def grid(drawings: list[Drawing], columns: int) -> list[tuple[float, float]]:
    """Where each drawing's top left corner goes, in points, row by row.

    A last row that is not full is centred.
    """
    total = max(
        sum(drawing.width for drawing in drawings[start : start + columns])
        for start in range(0, len(drawings), columns)
    )
    places = []
    y = 0.0
    for start in range(0, len(drawings), columns):
        row = drawings[start : start + columns]
        x = (total - sum(drawing.width for drawing in row)) / 2
        for drawing in row:
            places.append((x, y))
            x += drawing.width
        y += max(drawing.height for drawing in row)
    return places


def compose(drawings: list[Drawing], columns: int, drawn_from: str) -> str:
    """An SVG file of the drawings, `columns` to a row.

    `drawn_from` goes into it as a comment: a digest of all that decides what
    the figure shows.
    """
    places = grid(drawings, columns)
    width = max(x + d.width for (x, _), d in zip(places, drawings))
    height = max(y + d.height for (_, y), d in zip(places, drawings))
    parts = [
        '<?xml version="1.0" encoding="utf-8"?>',
        f"<!-- drawn from {drawn_from} -->",
        '<svg xmlns="http://www.w3.org/2000/svg" version="1.1" role="img" '
        f'width="{width:g}pt" height="{height:g}pt" '
        f'viewBox="0 0 {width:g} {height:g}" {_STYLE}>',
        "<title>"
        + escape(" ".join(drawing.description for drawing in drawings))
        + "</title>",
        '<rect width="100%" height="100%" fill="#ffffff"/>',
        glyph_definitions(drawings),
    ]
    for index, ((x, y), drawing) in enumerate(zip(places, drawings)):
        parts.append(
            f'<svg x="{x:g}" y="{y:g}" width="{drawing.width:g}" '
            f'height="{drawing.height:g}" '
            f'viewBox="0 0 {drawing.width:g} {drawing.height:g}">'
            f"{with_prefix(drawing.body, f'panel-{index}-')}</svg>"
        )
    parts.append("</svg>\n")
    return "\n".join(parts)
