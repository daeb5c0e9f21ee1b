"""How figures look: colours, sizes, fonts, and a matplotlib that repeats.

Take what you need of matplotlib from here: this gives it a private folder for
its caches first, so that a build action needs no home and leaves nothing
behind.

The colours are Okabe and Ito's, which people with the common kinds of colour
blindness tell apart. They are for marks; small text beside a mark takes the
mark's `text_color`, dark enough to read on white (WCAG 2, contrast 4.5).
"""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
import warnings
from typing import Any, Sequence

_CACHE = tempfile.mkdtemp(prefix="softlookup-matplotlib-")
atexit.register(shutil.rmtree, _CACHE, ignore_errors=True)
os.environ["MPLCONFIGDIR"] = _CACHE

import matplotlib  # noqa: E402  (after its cache folder is set)
import numpy as np  # noqa: E402

matplotlib.use("agg")

from matplotlib import font_manager  # noqa: E402
from matplotlib.axes import Axes  # noqa: E402
from matplotlib.cm import ScalarMappable  # noqa: E402
from matplotlib.colors import (  # noqa: E402
    Colormap,
    LinearSegmentedColormap,
    ListedColormap,
    to_rgba,
)
from matplotlib.figure import Figure  # noqa: E402
from matplotlib.patches import Rectangle  # noqa: E402
from matplotlib.ticker import MultipleLocator  # noqa: E402

from analysis.lib.language import Say  # noqa: E402

# Okabe and Ito, "Color Universal Design", by the names they gave.
BLACK = "#000000"
ORANGE = "#E69F00"
SKY_BLUE = "#56B4E9"
GREEN = "#009E73"
YELLOW = "#F0E442"
BLUE = "#0072B2"
VERMILLION = "#D55E00"
PURPLE = "#CC79A7"

INK = "#222222"
QUIET = "#5F5F5F"  # axes, limits, helping lines and their labels
FAINT = "#D9D9D9"  # areas and grids that only help
PAPER = "#FFFFFF"

# Of a colour scale. An odd number, so that zero of a signed one is white; with
# many more, matplotlib would draw the scale as an image.
_SHADES = 41

PANEL_WIDTH = 3.5  # inches: a column of a two-column page
TEXT_SIZE = 8.0  # points
TITLE_SIZE = 9.0
PERCENT = 100
LEAST_CONTRAST = 4.5

# Behind a label that lies on marks.
PATCH = {"facecolor": PAPER, "edgecolor": "none", "pad": 0.8, "alpha": 0.85}

FONTS = {
    "DejaVu Sans": "fonts-dejavu-core",
    "Droid Sans Fallback": "fonts-droid-fallback",
}


class FontError(Exception):
    """A font that the labels need is not installed."""


def relative_luminance(color: str) -> float:
    """The relative luminance of "#RRGGBB", from 0 to 1 (WCAG 2)."""

    def linear(channel: float) -> float:
        if channel <= 0.04045:
            return channel / 12.92
        return ((channel + 0.055) / 1.055) ** 2.4

    red, green, blue = (
        linear(int(color[start : start + 2], 16) / 255) for start in (1, 3, 5)
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(first: str, second: str) -> float:
    """The contrast ratio of two colours, from 1 to 21 (WCAG 2)."""
    light, dark = sorted(
        (relative_luminance(first), relative_luminance(second)), reverse=True
    )
    return (light + 0.05) / (dark + 0.05)


def text_color(color: str) -> str:
    """The colour, darkened until small text in it reads well on paper."""
    share = 1.0
    while True:
        dark = "#" + "".join(
            f"{round(int(color[start : start + 2], 16) * share):02X}"
            for start in (1, 3, 5)
        )
        if contrast(dark, PAPER) >= LEAST_CONTRAST:
            return dark
        share -= 0.02


def _check_fonts() -> None:
    for family, package in FONTS.items():
        try:
            font_manager.findfont(family, fallback_to_default=False)
        except ValueError as error:
            raise FontError(
                f'font "{family}" not found: install the package {package} '
                "(tools/setup does)"
            ) from error


def apply() -> None:
    """Sets matplotlib up. FontError, naming the package, without a font."""
    _check_fonts()
    # A label that cannot be rendered is an error, not an empty box.
    warnings.filterwarnings("error", message="Glyph .* missing from")
    warnings.filterwarnings("error", message="constrained_layout not applied")
    matplotlib.rcdefaults()
    matplotlib.rcParams.update(
        {
            # The first font that has a glyph renders it.
            "font.family": list(FONTS),
            "font.size": TEXT_SIZE,
            "axes.titlesize": TITLE_SIZE,
            "axes.titleweight": "bold",
            "axes.titlelocation": "left",
            "axes.titlepad": 8,
            "axes.labelsize": TEXT_SIZE,
            "axes.labelcolor": INK,
            "axes.edgecolor": QUIET,
            "axes.linewidth": 0.8,
            "axes.spines.top": False,
            "axes.spines.right": False,
            "axes.unicode_minus": True,
            "axes.axisbelow": True,
            "text.color": INK,
            "xtick.labelsize": TEXT_SIZE,
            "ytick.labelsize": TEXT_SIZE,
            "xtick.color": QUIET,
            "ytick.color": QUIET,
            "xtick.labelcolor": INK,
            "ytick.labelcolor": INK,
            "lines.linewidth": 1.8,
            "lines.solid_capstyle": "round",
            "figure.facecolor": PAPER,
            "figure.constrained_layout.use": True,
            "figure.constrained_layout.h_pad": 0.06,
            "figure.constrained_layout.w_pad": 0.06,
            "savefig.facecolor": PAPER,
            "savefig.dpi": 200,
            # Glyphs as outlines: the same picture without the fonts.
            "svg.fonttype": "path",
            # Element ids that do not change from run to run.
            "svg.hashsalt": "softlookup",
            "path.simplify": True,
        }
    )


def pale(color: str) -> tuple[float, float, float, float]:
    """The colour for an area that others lie on."""
    return to_rgba(color, 0.13)


def sequential() -> LinearSegmentedColormap:
    """Colours for a size, from pale to strong."""
    return LinearSegmentedColormap.from_list(
        "size", ["#EAF3FA", SKY_BLUE, BLUE, "#00304C"], N=_SHADES
    )


def signed() -> LinearSegmentedColormap:
    """Colours for a signed quantity, white at zero."""
    return LinearSegmentedColormap.from_list(
        "signed", [BLUE, PAPER, VERMILLION], N=_SHADES
    )


def draw_cells(
    axes: Axes,
    matrix: np.ndarray,
    colors: Colormap,
    low: float,
    high: float,
    gap: float = 0,
) -> ScalarMappable:
    """A matrix as square cells, its first row on top; NaN stays blank.

    Cells stand `gap` points apart.

    Cells are shapes, not an image: sharp at any size, and the same bytes
    wherever they are drawn.
    """
    mesh = axes.pcolormesh(
        np.arange(matrix.shape[1] + 1) - 0.5,
        np.arange(matrix.shape[0] + 1) - 0.5,
        np.ma.masked_invalid(matrix),
        cmap=colors,
        vmin=low,
        vmax=high,
        edgecolors=PAPER if gap else "face",
        linewidth=gap or 0.2,
    )
    axes.set_aspect("equal")
    axes.set_ylim(matrix.shape[0] - 0.5, -0.5)
    return mesh


def formula(text: str) -> str:
    """A formula in a label: its digits are mathematics, not data.

    typed_numbers.py lets them pass, here and nowhere else.
    """
    return text


def label(
    axes: Axes,
    x: float,
    y: float,
    text: str,
    color: str = INK,
    **kwargs: Any,
) -> None:
    """Writes `text` at data coordinates in the readable form of a colour."""
    axes.text(x, y, text, color=text_color(color), **kwargs)


def label_near(
    axes: Axes,
    point: tuple[float, float],
    shift: tuple[float, float],
    text: str,
    color: str = INK,
    **kwargs: Any,
) -> None:
    """Writes `text` beside a data point, `shift` points of length away."""
    kwargs.setdefault(
        "ha", "left" if shift[0] > 0 else "right" if shift[0] < 0 else "center"
    )
    kwargs.setdefault(
        "va", "bottom" if shift[1] > 0 else "top" if shift[1] < 0 else "center"
    )
    axes.annotate(
        text,
        point,
        xytext=shift,
        textcoords="offset points",
        color=text_color(color),
        **kwargs,
    )


def mark_published(
    axes: Axes, x: Sequence[float], y: Sequence[float], **kwargs: Any
) -> None:
    """Marks values as the chapter prints them: hollow black diamonds."""
    kwargs.setdefault("zorder", 5)
    kwargs.setdefault("clip_on", False)
    kwargs.setdefault("markersize", 5.5)
    axes.plot(
        x,
        y,
        linestyle="none",
        marker="D",
        markerfacecolor="none",
        markeredgecolor=BLACK,
        markeredgewidth=1.1,
        **kwargs,
    )


def note_published(
    axes: Axes, x: float, y: float, say: Say, **kwargs: Any
) -> None:
    """Says once per panel what the diamonds are, at axes coordinates."""
    kwargs.setdefault("va", "top")
    axes.text(
        x,
        y,
        "◇ " + say("printed in the chapter", "书中印出的值"),
        transform=axes.transAxes,
        fontsize=TEXT_SIZE - 0.5,
        color=INK,
        **kwargs,
    )
