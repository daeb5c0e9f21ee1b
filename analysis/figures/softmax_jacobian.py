"""The Jacobian of the softmax, from equal weights to one-hot."""

from __future__ import annotations

import sys

import numpy as np

from analysis.lib import style
from analysis.lib.figure import Figure, Inputs, Panel, main
from analysis.lib.language import Say

EXPERIMENT = "saturation"
JACOBIAN = "/jacobian"


def draw_trace(figure: Figure, inputs: Inputs, say: Say) -> str:
    """The trace over the sharpness of the row."""
    saturation = inputs[EXPERIMENT]
    weights = saturation.numbers(f"{JACOBIAN}/curve/*/largest_weight")
    axes = figure.add_subplot()
    axes.set_title(
        say(
            "A sharp row lets no gradient through", "越尖锐的行，越不让梯度通过"
        )
    )
    for measure, color, name, place in (
        (
            "trace",
            style.BLUE,
            say("trace", "迹") + style.formula("  1 − Σp²"),
            0.45,
        ),
        ("largest_entry", style.ORANGE, say("largest entry", "最大元素"), 0.5),
    ):
        values = saturation.numbers(f"{JACOBIAN}/curve/*/{measure}")
        axes.plot(weights, values, color=color)
        at = int(np.argmin(abs(weights - place)))
        style.label(
            axes,
            weights[at] + 0.02,
            values[at] + 0.02,
            name,
            color,
            ha="left",
            va="bottom",
        )
    uniform = saturation.number(f"{JACOBIAN}/curve/0/trace")
    axes.plot(
        weights[0], uniform, "o", color=style.BLUE, markersize=5, clip_on=False
    )
    style.label(
        axes,
        weights[0] + 0.03,
        uniform + 0.015,
        say("equal weights", "均匀权重"),
        style.QUIET,
        ha="left",
        va="bottom",
    )
    axes.set_xlim(0, 1)
    axes.set_ylim(0, 1.05)
    axes.set_xlabel(say("largest weight of the row", "该行的最大权重"))
    axes.set_ylabel(say("size of the Jacobian J", "雅可比矩阵 J 的大小"))
    return say(
        "Two curves over the largest weight of a row: the trace of the "
        "Jacobian and its largest entry. Both vanish as the row becomes "
        "one-hot; the trace is largest for equal weights.",
        "雅可比矩阵的迹及其最大元素随一行最大权重变化的两条曲线。行趋于独热时两者都"
        "趋于零；均匀权重时迹最大。",
    )


def draw_matrices(figure: Figure, inputs: Inputs, say: Say) -> str:
    """The matrices themselves, with the weights above."""
    saturation = inputs[EXPERIMENT]
    matrices = saturation.numbers(f"{JACOBIAN}/matrices/*/jacobian")
    weights = saturation.numbers(f"{JACOBIAN}/matrices/*/weights")
    shown = (0, 1, len(matrices) - 1)
    names = (
        say("equal weights", "均匀权重"),
        say("in between", "介于两者之间"),
        say("almost one-hot", "近乎独热"),
    )
    grid = figure.add_gridspec(2, 3, height_ratios=(1, 2.2))
    reach = abs(matrices[list(shown)]).max()
    for column, (index, name) in enumerate(zip(shown, names)):
        bars = figure.add_subplot(grid[0, column])
        bars.bar(
            range(len(weights[index])),
            weights[index],
            color=style.BLUE,
            width=0.8,
        )
        bars.set_ylim(0, 1)
        bars.set_xticks([])
        bars.set_yticks([0, 1] if column == 0 else [])
        if column == 0:
            bars.set_title(say("Equal weights and one-hot", "均匀与独热"))
            bars.set_ylabel(say("weight", "权重"))
        cells = figure.add_subplot(grid[1, column])
        image = style.draw_cells(
            cells, matrices[index], style.signed(), -reach, reach
        )
        cells.set_xticks([])
        cells.set_yticks([])
        cells.set_xlabel(name)
        for spine in cells.spines.values():
            spine.set_visible(True)
        if column == 0:
            cells.set_ylabel(say("Jacobian", "雅可比矩阵"))
    bar = figure.colorbar(
        image,
        ax=figure.axes,
        orientation="horizontal",
        shrink=0.6,
        aspect=30,
        pad=0.03,
    )
    bar.set_label(say("entry of J", "J 的元素"))
    bar.outline.set_visible(False)
    return say(
        "Three rows of weights, each with its Jacobian as coloured cells. With "
        "equal weights the diagonal stands out; with one weight near one every "
        "cell is blank: no gradient passes.",
        "三行权重及其雅可比矩阵的彩色方格图。权重均匀时对角线突出；某个权重接近一时，"
        "所有方格都近乎空白：梯度无法通过。",
    )


PANELS = (Panel(draw_trace, height=2.8), Panel(draw_matrices, height=2.8))

if __name__ == "__main__":
    sys.exit(main(__file__, "softmax_jacobian", PANELS))
