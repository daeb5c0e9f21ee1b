"""Figure 6.1: a soft lookup, from a plain average to an exact match."""

from __future__ import annotations

import sys

import numpy as np

from analysis.lib import style
from analysis.lib.figure import Figure, Inputs, Panel, main
from analysis.lib.language import Say
from analysis.lib.style import Axes
from analysis.lib.verified import Verified

EXPERIMENT = "soft_lookup"
# Keys, in the order of the table.
KEY_COLORS = (style.ORANGE, style.VERMILLION, style.BLUE)
SOFT, HARD = style.BLUE, style.VERMILLION


def _sweep(lookup: Verified, member: str) -> np.ndarray:
    return lookup.numbers(f"/factor/sweep/*/{member}")


def _factor_of(lookup: Verified, weights: np.ndarray) -> float:
    """The factor of the sweep at which exactly these weights came out."""
    found = np.all(_sweep(lookup, "weights") == weights, axis=1)
    return float(_sweep(lookup, "factor")[found][0])


def _draw_factor_axis(axes: Axes, lookup: Verified, say: Say) -> None:
    """A logarithmic axis that also has room for c = 0.

    It ends where the chapter's large factor is as far behind as c = 1.
    """
    factors = _sweep(lookup, "factor")
    one = _factor_of(lookup, lookup.numbers("/soft/weights"))
    large = _factor_of(lookup, lookup.numbers("/factor/ten/weights"))
    smallest = factors[factors > 0].min()
    end = large * large / one
    axes.set_xscale("symlog", linthresh=smallest, linscale=0.5)
    axes.set_xlim(0, end)
    decades = np.log10(factors[(factors > 0) & (factors <= end)])
    whole = decades[np.isclose(decades, np.round(decades))]
    ticks = [0.0, *(10 ** np.round(whole))]
    axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    axes.minorticks_off()
    axes.set_xlabel(say("factor c on all scores", "所有分数共同乘以的因子 c"))


def _join_equals(names: list[str], weights: np.ndarray) -> dict[float, str]:
    """Keys of equal weight share one line, and one label."""
    groups: dict[float, list[str]] = {}
    for name, weight in zip(names, weights):
        groups.setdefault(float(weight), []).append(name)
    return {weight: ", ".join(group) for weight, group in groups.items()}


def draw_weights(figure: Figure, inputs: Inputs, say: Say) -> str:
    """The weights over the factor c."""
    lookup = inputs[EXPERIMENT]
    names = lookup.at("/entries/*/name")
    factors = _sweep(lookup, "factor")
    weights = _sweep(lookup, "weights")
    axes = figure.add_subplot()
    axes.set_title(say("Scores decide how sharply", "分数的尺度决定锐度"))
    axes.axhline(1 / len(names), color=style.FAINT, linewidth=1)
    for index, color in enumerate(KEY_COLORS):
        # Equal weights: the later line dashed over the earlier one.
        axes.plot(
            factors,
            weights[:, index],
            color=color,
            linestyle=(0, (3, 3)) if index == 1 else "-",
        )
    _draw_factor_axis(axes, lookup, say)
    axes.set_ylim(-0.02, 1.02)
    axes.set_ylabel(say("weight of the key", "键的权重"))

    one = lookup.numbers("/soft/weights")
    large = lookup.numbers("/factor/ten/weights")
    for at, claims in (
        (one, ("weight_pump", "weight_valve", "weight_tank")),
        (large, tuple(f"factor_10_weight_{i + 1}" for i in range(3))),
    ):
        factor = _factor_of(lookup, at)
        printed = [lookup.published(f"{EXPERIMENT}.{c}") for c in claims]
        style.mark_published(axes, [factor] * len(printed), printed)
    style.note_published(axes, 0.02, 0.97, say)
    factor = _factor_of(lookup, one)
    for weight, name in _join_equals(names, one).items():
        above = weight == one.max()
        color = KEY_COLORS[names.index(name.split(", ")[0])]
        style.label(
            axes,
            factor * (0.7 if above else 0.75),
            weight + (0.05 if above else -0.04),
            name,
            color,
            ha="right",
            va="bottom" if above else "top",
        )
    return say(
        f"Line chart of the weights of {', '.join(names)} over the factor c. "
        "Where c vanishes all are equal; as c grows, the best key takes all "
        "the weight. Diamonds mark the printed values; they lie on the lines.",
        f"{'、'.join(names)} 的权重随因子 c 变化的折线图。c 为零时各权重相等；"
        "c 增大时，最佳键占据全部权重。菱形标出书中印出的值，都落在曲线上。",
    )


def draw_output(figure: Figure, inputs: Inputs, say: Say) -> str:
    """The output in the plane of the values."""
    lookup = inputs[EXPERIMENT]
    names = lookup.at("/entries/*/name")
    values = lookup.numbers("/entries/*/value")
    outputs = _sweep(lookup, "output")
    axes = figure.add_subplot()
    axes.set_title(say("The answer mixes the values", "答案是各个值的混合"))
    axes.fill(*values.T, color=style.FAINT, alpha=0.5, linewidth=0)
    for name, value, color in zip(names, values, KEY_COLORS):
        axes.plot(*value, "o", color=color, markersize=7, clip_on=False)
        below = value[1] == values[:, 1].min()
        style.label(
            axes,
            value[0] + 0.12,
            value[1] + (0.05 if below else 0.0),
            name,
            color,
            ha="left",
            va="center" if below else "bottom",
        )
    axes.plot(*outputs.T, color=style.BLACK, linewidth=1.2)
    for at, output_claims, mean in (
        ("/factor/zero", ("factor_0_output_1", "factor_0_output_2"), True),
        ("/soft", ("output_1", "output_2"), False),
        ("/factor/ten", ("factor_10_output_1", "factor_10_output_2"), False),
    ):
        factor = _factor_of(lookup, lookup.numbers(f"{at}/weights"))
        printed = [lookup.published(f"{EXPERIMENT}.{c}") for c in output_claims]
        style.mark_published(axes, [printed[0]], [printed[1]])
        style.label(
            axes,
            printed[0] + 0.12,
            printed[1] - 0.08,
            say(f"c = {factor:g}", f"c = {factor:g}")
            + (say(": the mean", "：平均值") if mean else ""),
            ha="left",
            va="top",
        )
    axes.set_aspect("equal")
    axes.set_xlim(values[:, 0].min() - 0.3, values[:, 0].max() + 0.9)
    axes.set_ylim(values[:, 1].min() - 0.2, values[:, 1].max() + 0.4)
    axes.set_xlabel(say("first component", "第一分量"))
    axes.set_ylabel(say("second component", "第二分量"))
    return say(
        "The plane of the values: a triangle with the three values as "
        "corners. The output moves on a straight line from the mean of the "
        "values, for vanishing c, to the value of "
        f"{lookup.text('/hard/hit/query')}.",
        "值所在的平面：以三个值为顶点的三角形。输出沿直线从各值的平均（c 为零）"
        f"移到 {lookup.text('/hard/hit/query')} 的值。",
    )


def draw_path(figure: Figure, inputs: Inputs, say: Say) -> str:
    """Hard and soft answers while the query turns."""
    lookup = inputs[EXPERIMENT]
    degrees = lookup.numbers("/path/degrees")
    hard = lookup.numbers("/path/hard_outputs")
    soft = lookup.numbers("/path/soft_outputs")
    upper, lower = figure.subplots(2, 1, sharex=True)
    upper.set_title(
        say("Hard answers jump, soft ones move", "硬查找跳变，软查找平滑移动")
    )
    for component, axes, name in (
        (0, upper, say("first\ncomponent", "第一分量")),
        (1, lower, say("second\ncomponent", "第二分量")),
    ):
        axes.plot(degrees, hard[:, component], color=HARD, linewidth=1.4)
        axes.plot(degrees, soft[:, component], color=SOFT)
        axes.set_ylabel(name)
        axes.set_ylim(hard.min() - 0.2, hard.max() + 0.25)
        axes.set_yticks(sorted(set(hard[:, component])))
    lower.set_xlim(degrees.min(), degrees.max())
    lower.set_xticks(np.linspace(degrees.min(), degrees.max(), 5))
    lower.set_xlabel(
        say("direction of the query (degrees)", "查询的方向（度）")
    )
    middle = len(degrees) // 2
    style.label(
        upper,
        degrees[middle],
        hard[middle, 0] - 0.15,
        say("hard", "硬查找"),
        HARD,
        ha="center",
        va="top",
    )
    style.label(
        upper,
        degrees[middle],
        soft[middle, 0] - 0.2,
        say("soft", "软查找"),
        SOFT,
        ha="center",
        va="top",
    )
    return say(
        "Both components of the answer while the query turns. The hard answer "
        "is constant except for sudden jumps, so its gradient is zero or does "
        "not exist; the soft answer changes smoothly and points the way.",
        "查询转动时答案的两个分量。硬查找的答案除突然跳变外保持不变，梯度为零或"
        "不存在；软查找的答案平滑变化，能指出方向。",
    )


def draw_learning(figure: Figure, inputs: Inputs, say: Say) -> str:
    """Gradient descent on where to look, soft and hard."""
    lookup = inputs[EXPERIMENT]
    axes = figure.add_subplot()
    axes.set_title(say("Only the soft one learns", "只有软查找能学习"))
    for kind, color, name, shift in (
        ("hard", HARD, say("hard lookup", "硬查找"), (0, -4)),
        ("soft", SOFT, say("soft lookup", "软查找"), (4, 3)),
    ):
        losses = lookup.numbers(f"/learning/loss_curve_of_first_draw/{kind}")
        steps = np.arange(len(losses))
        axes.plot(steps, losses, color=color)
        middle = len(losses) // 2
        style.label_near(
            axes, (steps[middle], losses[middle]), shift, name, color
        )
    axes.set_xlim(0, len(losses))
    axes.set_yscale("log")
    axes.set_xlabel(say("step of gradient descent", "梯度下降的步数"))
    axes.set_ylabel(say("loss", "损失"))
    return say(
        "Loss over the steps of gradient descent on the same task, on a "
        "logarithmic axis: that of the hard lookup never moves, that of the "
        "soft one falls by orders of magnitude.",
        "同一任务上损失随梯度下降步数的变化（纵轴为对数）：硬查找的损失始终不变，软查找"
        "的下降若干个数量级。",
    )


PANELS = (
    Panel(draw_weights),
    Panel(draw_output),
    Panel(draw_path),
    Panel(draw_learning),
)

if __name__ == "__main__":
    sys.exit(main(__file__, EXPERIMENT, PANELS))
