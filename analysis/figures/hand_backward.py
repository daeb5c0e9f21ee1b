"""The hand backward pass of the worked example: who pulls, and how hard."""

from __future__ import annotations

import sys

import numpy as np

from analysis.lib import style
from analysis.lib.figure import Figure, Inputs, Panel, main
from analysis.lib.language import Say
from analysis.lib.style import Axes, MultipleLocator
from analysis.lib.verified import Verified

EXPERIMENT = "worked_example"
BACKWARD = "/backward"
UP, DOWN = style.BLUE, style.VERMILLION
KEY_COLORS = (style.ORANGE, style.GREEN, style.BLUE)
SUBSCRIPTS = "₁₂₃₄₅₆₇₈₉"


def _signed(value: float) -> str:
    """The value with three decimals and a true minus; zero is plain."""
    text = f"{abs(value):.3f}"
    return f"−{text}" if value < 0 else text if value else f"{0}"


def _row(worked: Verified) -> int:
    """The token whose output is the loss, from zero."""
    return int(worked.number(f"{BACKWARD}/loss/token")) - 1


def _name(worked: Verified, say: Say) -> str:
    component = int(worked.number(f"{BACKWARD}/loss/component"))
    return say(
        f"component {component} of o{SUBSCRIPTS[_row(worked)]}",
        f"o{SUBSCRIPTS[_row(worked)]} 的第 {component} 分量",
    )


def draw_scores(figure: Figure, inputs: Inputs, say: Say) -> str:
    """The gradient of each weight, and that of its score."""
    worked = inputs[EXPERIMENT]
    row = _row(worked)
    offers = worked.numbers(f"{BACKWARD}/weight_gradients/{row}")
    mean = worked.number(f"{BACKWARD}/mean_weight_gradients/{row}")
    gradients = worked.numbers(f"{BACKWARD}/score_gradients/{row}")
    keys = np.arange(len(offers))
    upper, lower = figure.subplots(2, 1, sharex=True, height_ratios=(1, 1))
    upper.set_title(
        say("Above average: positive gradient", "g 高于平均，梯度为正")
    )
    upper.vlines(keys, mean, offers, color=style.QUIET, linewidth=1)
    upper.plot(
        keys, offers, "s", color=style.QUIET, markersize=6, clip_on=False
    )
    upper.axhline(mean, color=style.INK, linewidth=1, linestyle=(0, (4, 3)))
    style.label(
        upper,
        keys[-1] + 0.45,
        mean - 0.12,
        say("average ", "平均 ") + f"{mean:.3f}",
        ha="right",
        va="top",
    )
    upper.set_ylabel(say("gradient g of\nthe weight", "权重的\n梯度 g"))
    upper.set_ylim(offers.min() - 0.4, offers.max() + 0.4)
    lower.bar(
        keys,
        gradients,
        width=0.5,
        color=[UP if g > 0 else DOWN for g in gradients],
    )
    lower.axhline(0, color=style.QUIET, linewidth=0.8)
    reach = abs(gradients).max()
    for key, gradient in zip(keys, gradients):
        above = gradient >= 0
        style.label(
            lower,
            key,
            gradient + (0.06 if above else -0.06) * reach,
            _signed(gradient),
            UP if gradient > 0 else DOWN,
            ha="center",
            va="bottom" if above else "top",
        )
    lower.set_ylim(-1.45 * reach, 1.45 * reach)
    lower.set_xlim(keys[0] - 0.5, keys[-1] + 0.5)
    lower.set_xticks(keys, [say("key ", "键 ") + str(key + 1) for key in keys])
    lower.set_xlabel(say("the visible keys", "可见的键"))
    lower.set_ylabel(say("gradient of\nthe score", "分数的梯度"))
    return say(
        f"For {_name(worked, say)}: what each value offers against the "
        "current average, and below it the gradient of each score. The value "
        "above the average gives its score a positive gradient, the one far "
        "below a negative one, the one near the average hardly any.",
        f"对{_name(worked, say)}：上图为各值的 g 与当前平均，下图为各分数的梯度。g 高于"
        "平均的值使分数的梯度为正，远低于平均的使之为负，接近平均的几乎为零。",
    )


def draw_query(figure: Figure, inputs: Inputs, say: Say) -> str:
    """Pulls on the query's components, and their sums."""
    worked = inputs[EXPERIMENT]
    row = _row(worked)
    pulls = worked.numbers(f"{BACKWARD}/query_pulls")
    sums = worked.numbers(f"{BACKWARD}/query_gradients/{row}")
    axes = figure.add_subplot()
    axes.set_title(
        say(
            "Pulls that cancel, pulls that add",
            "相互抵消的拉力，相互叠加的拉力",
        )
    )
    reach = abs(pulls).max()
    ticks, names, height = [], [], 0.0
    for component, of_component in enumerate(pulls):
        bars = [
            (say("key ", "键 ") + str(key + 1), pull, KEY_COLORS[key])
            for key, pull in enumerate(of_component)
        ]
        gradient = say(
            f"gradient of q{SUBSCRIPTS[component]}",
            f"q{SUBSCRIPTS[component]} 的梯度",
        )
        bars.append((gradient, sums[component], style.INK))
        for name, value, color in bars:
            axes.barh(height, value, height=0.7, color=color)
            _write_end(axes, value, height, _signed(value), color, reach)
            ticks.append(height)
            names.append(name)
            height -= 1
        height -= 0.7
    printed = {
        "pull_of_key_1": ticks[0],
        "pull_of_key_3": ticks[2],
        "query_gradient_1": ticks[3],
        "query_gradient_2": ticks[-1],
    }
    style.mark_published(
        axes,
        [worked.published(f"{EXPERIMENT}.{claim}") for claim in printed],
        list(printed.values()),
        markersize=4.5,
    )
    style.note_published(axes, 0.98, 0.495, say, ha="right", va="center")
    axes.axvline(0, color=style.QUIET, linewidth=0.8)
    axes.set_yticks(ticks, names)
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)
    axes.set_xlim(-1.55 * reach, 1.45 * reach)
    axes.xaxis.set_major_locator(MultipleLocator(0.5))
    axes.set_xlabel(
        say(
            "pull (gradient: sum / √dₖ)",
            "拉力（梯度为总和 / √dₖ）",
        )
    )
    axes.set_ylabel(say("component of the query", "查询的分量"))
    return say(
        "Bars for the pull of each key on the two components of the query. On "
        "the first component two pulls cancel and the gradient is almost zero; "
        "on the second nothing opposes the largest pull.",
        "各键对查询两个分量的拉力条形图。在第一分量上两个拉力几乎抵消，梯度接近零；在"
        "第二分量上没有什么与最大的拉力相抗衡。",
    )


def _write_end(
    axes: Axes, value: float, height: float, text: str, color: str, reach: float
) -> None:
    """The value at the end of its bar."""
    right = value >= 0
    style.label(
        axes,
        value + (0.06 if right else -0.06) * reach,
        height,
        text,
        color,
        ha="left" if right else "right",
        va="center",
    )


def draw_rule(figure: Figure, inputs: Inputs, say: Say) -> str:
    """The rule of a row on drawn rows."""
    worked = inputs[EXPERIMENT]
    columns = worked.at("/row_rule/sample_columns")
    sample = dict(zip(columns, worked.numbers("/row_rule/sample").T))
    axes = figure.add_subplot()
    axes.set_title(
        say("Sign from g, size from the weight", "符号看 g，大小看权重")
    )
    points = axes.scatter(
        sample["g_minus_mean"],
        sample["score_gradient"],
        c=sample["weight"],
        cmap=style.sequential(),
        vmin=0,
        vmax=1,
        s=11,
        linewidths=0.3,
        edgecolors=style.QUIET,
    )
    axes.axhline(0, color=style.QUIET, linewidth=0.8)
    axes.axvline(0, color=style.QUIET, linewidth=0.8)
    # Linear near zero, logarithmic further out: rows differ widely in size.
    axes.set_xscale("symlog", linthresh=1)
    axes.set_yscale("symlog", linthresh=0.1)
    axes.margins(0.08)
    axes.minorticks_off()
    axes.set_xlabel(say("g minus its average, g − ḡ", "g 与平均之差，g − ḡ"))
    axes.set_ylabel(say("gradient of the score", "分数的梯度"))
    bar = figure.colorbar(points, ax=axes, aspect=30, pad=0.02)
    bar.set_label(say("weight p of the key", "键的权重 p"))
    bar.outline.set_visible(False)
    return say(
        "Scatter plot over drawn rows: the gradient of a score against its g "
        "minus the average. The sign always agrees; keys of small weight "
        "lie near the zero line and hardly move.",
        "随机各行的散点图：分数的梯度与 g − ḡ 的关系。符号总是一致；权重小的键贴近零线，"
        "几乎不动。",
    )


PANELS = (Panel(draw_scores), Panel(draw_query), Panel(draw_rule))

if __name__ == "__main__":
    sys.exit(main(__file__, "hand_backward", PANELS))
