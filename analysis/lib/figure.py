"""The frame of every figure: results in; SVG, PNG and panels out.

A figure is one or more panels. A panel is a function that draws on its own
matplotlib figure, one column wide, and returns a sentence or two on what can
be seen, for those who cannot see it. Side by side the panels make the figure;
in the report they wrap, so that each stays readable on a phone.

    def weights(figure: Figure, inputs: Inputs, say: Say) -> str:
        axes = figure.add_subplot()
        axes.plot(inputs["soft_lookup"].numbers("/factor/sweep/*/factor"), ...)
        axes.set_xlabel(say("score factor c", "分数因子 c"))
        return say("The weights ...", "各权重……")

    if __name__ == "__main__":
        sys.exit(main(__file__, "soft_lookup", [Panel(weights)]))

A figure script types no number that is shown: values, thresholds and published
numbers come from verified results. Labels are given in English and Chinese.

The program: NAME --results=EXPERIMENT=FILE ... --output=DIR writes, for each
language, DIR/NAME.LANGUAGE.svg and .png, and DIR/NAME.panels.json for the
report. Exit codes: 0; 1 when it cannot draw (one line on stderr); 2 for usage.
"""

from __future__ import annotations

import hashlib
import io
import json
import re
from dataclasses import dataclass
from pathlib import Path
from string import ascii_lowercase
from typing import Callable, Mapping, Sequence

import numpy as np

from analysis.lib import files, style, svg
from analysis.lib.language import LANGUAGES, Say
from analysis.lib.verified import ResultError, Verified

import matplotlib.image  # noqa: E402  (after style)

Figure = style.Figure
Inputs = Mapping[str, Verified]
Draw = Callable[[Figure, Inputs, Say], str]

_DIGEST = re.compile(rb"drawn from (sha256:[0-9a-f]{64})")


@dataclass(frozen=True)
class Panel:
    """One panel: what draws it, and its size in inches."""

    draw: Draw
    height: float = 2.7
    width: float = style.PANEL_WIDTH


@dataclass(frozen=True)
class Drawn:
    """A figure in one language: its file contents, and its panels."""

    svg: str
    png: bytes
    panels: list[svg.Drawing]


def _digest(script: str | Path, inputs: Inputs) -> str:
    """A digest of the data that was read and of the code that drew it."""
    digest = hashlib.sha256()
    for name in sorted(inputs):
        digest.update(f"{name} {inputs[name].read_digest()}\n".encode())
    for source in (script, style.__file__, __file__):
        digest.update(Path(source).read_bytes())
    return f"sha256:{digest.hexdigest()}"


def drawn_from(picture: bytes) -> str:
    """The digest in an SVG or PNG file; empty when there is none."""
    found = _DIGEST.search(picture)
    return found.group(1).decode() if found else ""


def _put_letter(figure: Figure, letter: str) -> None:
    """Puts the panel's letter before the title of its first axes."""
    axes = figure.axes[0]
    axes.set_title(f"{letter}   {axes.get_title(loc='left')}")


def draw(
    script: str | Path,
    panels: Sequence[Panel],
    inputs: Inputs,
    language: str,
    columns: int = 2,
    inspect: Callable[[Figure], None] = lambda figure: None,
) -> Drawn:
    """Draws the panels, `columns` to a row, in one language.

    Several panels get letters. `inspect` sees each as matplotlib has it.
    """
    style.apply()
    say = Say(language)
    for verified in inputs.values():
        verified.start_reading()
    drawings = []
    pixels = []
    for index, panel in enumerate(panels):
        figure = Figure(figsize=(panel.width, panel.height))
        description = " ".join(panel.draw(figure, inputs, say).split())
        if len(panels) > 1:
            _put_letter(figure, ascii_lowercase[index])
        text = io.StringIO()
        figure.savefig(text, format="svg", metadata={"Date": None})
        drawings.append(svg.from_matplotlib(text.getvalue(), description))
        raster = io.BytesIO()
        figure.savefig(raster, format="rgba")
        inspect(figure)
        dpi = matplotlib.rcParams["savefig.dpi"]
        pixels.append(
            np.frombuffer(raster.getvalue(), dtype=np.uint8).reshape(
                round(panel.height * dpi), round(panel.width * dpi), 4
            )
        )
    digest = _digest(script, inputs)
    return Drawn(
        svg=svg.compose(drawings, columns, digest),
        png=_compose_png(drawings, pixels, columns, digest),
        panels=drawings,
    )


def _compose_png(
    drawings: list[svg.Drawing],
    pixels: list[np.ndarray],
    columns: int,
    digest: str,
) -> bytes:
    dpi = matplotlib.rcParams["savefig.dpi"]
    corners = [
        (round(y / 72 * dpi), round(x / 72 * dpi))
        for x, y in svg.grid(drawings, columns)
    ]
    height = max(y + p.shape[0] for (y, _), p in zip(corners, pixels))
    width = max(x + p.shape[1] for (_, x), p in zip(corners, pixels))
    canvas = np.full((height, width, 4), 255, dtype=np.uint8)
    for (y, x), panel in zip(corners, pixels):
        canvas[y : y + panel.shape[0], x : x + panel.shape[1]] = panel
    buffer = io.BytesIO()
    matplotlib.image.imsave(
        buffer,
        canvas,
        format="png",
        dpi=dpi,
        metadata={"Software": None, "Description": f"drawn from {digest}"},
    )
    return buffer.getvalue()


def main(
    script: str,
    name: str,
    panels: Sequence[Panel],
    columns: int = 2,
    arguments: Sequence[str] | None = None,
) -> int:
    """The main function of a figure script; returns the exit code."""

    def run() -> None:
        parser = files.Parser(name)
        parser.add_argument("--results", action="append", required=True)
        parser.add_argument("--output", required=True)
        options = parser.parse_args(arguments)
        inputs = {
            experiment: Verified.load(experiment, path)
            for experiment, path in files.parse_pairs(
                "results", options.results
            )
        }
        output = Path(options.output)
        in_report = {}
        for language in LANGUAGES:
            drawn = draw(script, panels, inputs, language, columns)
            stem = f"{name}.{language}"
            files.write_atomically(
                output / f"{stem}.svg", drawn.svg.encode("utf-8")
            )
            files.write_atomically(output / f"{stem}.png", drawn.png)
            in_report[language] = [vars(panel) for panel in drawn.panels]
        files.write_atomically(
            output / f"{name}.panels.json",
            json.dumps(in_report, ensure_ascii=False).encode("utf-8"),
        )

    return files.run_program(name, run, (ResultError, style.FontError))
