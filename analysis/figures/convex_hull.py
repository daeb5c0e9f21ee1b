"""Figure 6.4: where the outputs of the worked example lie among the values."""

from __future__ import annotations

import sys

import numpy as np

from analysis.lib import style
from analysis.lib.figure import Figure, Inputs, Panel, main
from analysis.lib.language import Say
from analysis.lib.style import Axes, MultipleLocator, Rectangle
from analysis.lib.verified import Verified

EXPERIMENT = "worked_example"
OUTPUT, SCALED, UNSCALED = style.BLUE, style.BLUE, style.VERMILLION
INSIDE, OUTSIDE = style.BLUE, style.VERMILLION
SUBSCRIPTS = "₁₂₃"


def _values(worked: Verified) -> np.ndarray:
    return worked.numbers("/inputs/values")


def _outputs(worked: Verified, case: str) -> np.ndarray:
    return worked.numbers(f"/cases/{case}/outputs")


def _printed_output(worked: Verified, scale: str) -> np.ndarray:
    """The last output as printed."""
    return np.array(
        [
            worked.published(f"{EXPERIMENT}.output_3_{component}_{scale}")
            for component in (1, 2)
        ]
    )


def _printed_mixture(worked: Verified, values: np.ndarray) -> np.ndarray:
    """The second output, from the weights that are printed for it."""
    weights = [
        worked.published(f"{EXPERIMENT}.output_2_weight_{key}")
        for key in (1, 2)
    ]
    return np.array(weights) @ values[:2]


def _draw_hull(
    axes: Axes, values: np.ndarray, say: Say, names: bool = True
) -> None:
    """The triangle of the values, and axes for it."""
    axes.fill(*values.T, color=style.FAINT, alpha=0.5, linewidth=0)
    axes.plot(*values.T, "s", color=style.QUIET, markersize=6)
    if names:
        centre = values.mean(axis=0)
        for value, subscript in zip(values, SUBSCRIPTS):
            away = 0.3 * (value - centre) / np.linalg.norm(value - centre)
            axes.text(
                *(value + away),
                f"v{subscript}",
                ha="center",
                va="center",
                color=style.text_color(style.QUIET),
            )
    axes.set_aspect("equal", anchor="N")
    low, high = values.min(axis=0), values.max(axis=0)
    axes.set_xlim(low[0] - 0.45, high[0] + 0.7)
    axes.set_ylim(low[1] - 0.45, high[1] + 0.5)
    axes.set_xticks(np.arange(low[0], high[0] + 1))
    axes.set_yticks(np.arange(low[1], high[1] + 1))
    axes.set_xlabel(say("first component", "第一分量"))
    axes.set_ylabel(say("second component", "第二分量"))


def draw_causal(figure: Figure, inputs: Inputs, say: Say) -> str:
    """The three outputs under the causal mask."""
    worked = inputs[EXPERIMENT]
    values = _values(worked)
    outputs = _outputs(worked, "causal_scaled")
    weights = worked.numbers("/cases/causal_scaled/weights")
    axes = figure.add_subplot()
    axes.set_title(say("Outputs mix the visible values", "输出是可见值的混合"))
    _draw_hull(axes, values, say)
    last = len(values) - 1
    # What pulls at the last output, as thick as the weight.
    for value, weight in zip(values, weights[last]):
        axes.plot(
            *np.array([outputs[last], value]).T,
            color=style.SKY_BLUE,
            linewidth=6 * weight,
            solid_capstyle="butt",
            zorder=1.5,
        )
        axes.text(
            *(outputs[last] * 0.52 + value * 0.48),
            f"{weight:.2f}",
            ha="center",
            va="center",
            fontsize=style.TEXT_SIZE - 1,
            bbox=style.PATCH,
        )
    # The second output cannot leave the edge between the first two values.
    axes.plot(
        *values[:2].T,
        color=style.QUIET,
        linewidth=1,
        linestyle=(0, (4, 3)),
        zorder=1.2,
    )
    axes.plot(*outputs.T, "o", color=OUTPUT, markersize=6.5, zorder=4)
    for row, (output, subscript) in enumerate(zip(outputs, SUBSCRIPTS)):
        shift = ((0.2, -0.02), (-0.2, -0.05), (0.16, -0.16))[row]
        style.label(
            axes,
            *(output + shift),
            f"o{subscript}",
            OUTPUT,
            ha="right" if shift[0] < 0 else "left",
            va="center",
            fontweight="bold",
        )
    printed = _printed_mixture(worked, values), _printed_output(
        worked, "scaled"
    )
    style.mark_published(axes, *np.transpose(printed), markersize=8)
    style.note_published(axes, 0.98, 0.02, say, ha="right", va="bottom")
    return say(
        "The triangle of the three values. Under the causal mask the first "
        "output is the first value itself, the second lies on the edge between "
        "the first two, the third inside, nearest to the third value.",
        "三个值构成的三角形。在因果掩码下，第一个输出就是第一个值，第二个位于前两个值"
        "之间的边上，第三个在三角形内，最靠近第三个值。",
    )


def _draw_map(axes: Axes, values: np.ndarray, box: np.ndarray) -> None:
    """A small map of the whole triangle: where the enlarged part lies."""
    inset = axes.inset_axes([0.68, 0.2, 0.29, 0.29])
    inset.fill(*values.T, color=style.FAINT, linewidth=0)
    inset.plot(*values.T, "s", color=style.QUIET, markersize=3)
    low, high = box
    inset.add_patch(
        Rectangle(
            low, *(high - low), fill=False, edgecolor=style.INK, linewidth=0.9
        )
    )
    inset.set_aspect("equal")
    inset.margins(0.15)
    inset.set_xticks([])
    inset.set_yticks([])


def draw_unmasked(figure: Figure, inputs: Inputs, say: Say) -> str:
    """Without the mask: scaled and unscaled, enlarged."""
    worked = inputs[EXPERIMENT]
    values = _values(worked)
    scaled = _outputs(worked, "unmasked_scaled")
    unscaled = _outputs(worked, "unmasked_unscaled")
    axes = figure.add_subplot()
    axes.set_title(
        say("Larger scores pull to the best match", "分数越大，越靠近最佳匹配")
    )
    _draw_hull(axes, values, say, names=False)
    for row, subscript in enumerate(SUBSCRIPTS):
        axes.annotate(
            "",
            unscaled[row],
            scaled[row],
            arrowprops={
                "arrowstyle": "-|>",
                "color": style.QUIET,
                "linewidth": 1,
                "shrinkA": 4,
                "shrinkB": 4,
            },
        )
        axes.plot(*scaled[row], "o", color=SCALED, markersize=7)
        axes.plot(*unscaled[row], "^", color=UNSCALED, markersize=7)
        style.label(
            axes,
            *(scaled[row] - (0, 0.05)),
            f"o{subscript}",
            SCALED,
            ha="center",
            va="top",
            fontweight="bold",
        )
    printed = [
        _printed_output(worked, scale) for scale in ("scaled", "unscaled")
    ]
    style.mark_published(axes, *np.transpose(printed), markersize=9)
    both = np.concatenate([scaled, unscaled])
    reach = 0.75 * np.ptp(both, axis=0).max()
    centre = (both.min(axis=0) + both.max(axis=0)) / 2
    box = np.array([centre - reach, centre + reach])
    axes.set_xlim(*box[:, 0])
    axes.set_ylim(*box[:, 1])
    axes.xaxis.set_major_locator(MultipleLocator(0.2))
    axes.yaxis.set_major_locator(MultipleLocator(0.2))
    _draw_map(axes, values, box)
    last = len(values) - 1
    style.label(
        axes,
        unscaled[last, 0] - 0.02,
        unscaled[last, 1] + 0.05,
        say("unscaled", "未缩放"),
        UNSCALED,
        ha="center",
        va="bottom",
    )
    style.label(
        axes,
        scaled[last, 0] + 0.06,
        scaled[last, 1] - 0.05,
        say("scaled", "缩放后"),
        SCALED,
        va="top",
    )
    return say(
        "Enlarged part of the triangle. Without the mask all three outputs lie "
        "inside; without the scale each moves towards the value of its best "
        "match.",
        "三角形的放大局部。去掉掩码后，三个输出都在内部；去掉缩放后，每个输出都向"
        "最佳匹配的值移动。",
    )


def draw_draws(figure: Figure, inputs: Inputs, say: Say) -> str:
    """Random queries and keys: with and without the softmax."""
    worked = inputs[EXPERIMENT]
    values = _values(worked)
    inside = worked.numbers("/geometry/hull/attention/sample")
    outside = worked.numbers("/geometry/hull/scores_without_softmax/sample")
    axes = figure.add_subplot()
    axes.set_title(
        say("No query leads out of the hull", "任何查询都走不出凸包")
    )
    span = np.ptp(values, axis=0).max()
    low, high = values.min(axis=0) - span, values.max(axis=0) + span
    near = np.all((outside > low) & (outside < high), axis=1)
    axes.plot(
        *outside[near].T, "x", color=OUTSIDE, markersize=3, markeredgewidth=0.8
    )
    _draw_hull(axes, values, say, names=False)
    axes.plot(*inside.T, ".", color=INSIDE, markersize=3.5)
    axes.set_xlim(low[0], high[0])
    axes.set_ylim(low[1], high[1])
    axes.set_xticks(np.arange(low[0], high[0] + 1, span))
    axes.set_yticks(np.arange(low[1], high[1] + 1, span))
    style.label(
        axes,
        0.98,
        0.03,
        say("softmax weights: inside", "softmax 权重：都在内部"),
        INSIDE,
        transform=axes.transAxes,
        ha="right",
        va="bottom",
        bbox=style.PATCH,
    )
    style.label(
        axes,
        0.02,
        0.97,
        say("raw scores as weights: anywhere", "直接用分数作权重：到处都是"),
        OUTSIDE,
        transform=axes.transAxes,
        ha="left",
        va="top",
        bbox=style.PATCH,
    )
    return say(
        "Outputs for random queries and keys: with softmax weights all lie in "
        "the triangle of the values; with the raw scores as weights they "
        "scatter far outside.",
        "随机查询和键的输出：使用 softmax 权重时都在值的三角形内；直接用分数作权重时，"
        "散落到三角形之外很远处。",
    )


PANELS = (
    Panel(draw_causal, height=3.1),
    Panel(draw_unmasked, height=3.1),
    Panel(draw_draws, height=3.1),
)

if __name__ == "__main__":
    sys.exit(main(__file__, "convex_hull", PANELS))
