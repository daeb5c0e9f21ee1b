"""Figure 6.3: what the scale of the scores does to the softmax."""

from __future__ import annotations

import sys

import numpy as np

from analysis.lib import style
from analysis.lib.figure import Figure, Inputs, Panel, main
from analysis.lib.language import Say
from analysis.lib.style import Axes
from analysis.lib.verified import Verified

EXPERIMENT = "saturation"
ROWS, SPREAD = "/rows", "/scores"
COLORS = {"scaled": style.BLUE, "unscaled": style.VERMILLION}


def _name(case: str, say: Say) -> str:
    return (
        say("scaled", "缩放后")
        if case == "scaled"
        else say("unscaled", "未缩放")
    )


def _draw_histogram(
    axes: Axes, saturation: Verified, case: str, measure: str
) -> None:
    """The share of rows in each bin, as steps."""
    place = f"{ROWS}/{case}/{measure}/histogram"
    counts = saturation.numbers(f"{place}/counts")
    edges = np.linspace(
        saturation.number(f"{place}/low"),
        saturation.number(f"{place}/high"),
        len(counts) + 1,
    )
    axes.stairs(
        style.PERCENT * counts / counts.sum(),
        edges,
        color=COLORS[case],
        fill=True,
        alpha=0.55,
    )
    axes.stairs(
        style.PERCENT * counts / counts.sum(),
        edges,
        color=COLORS[case],
        linewidth=1,
    )


def _mark_centre(
    axes: Axes, ours: float, printed: float, text: str, color: str, align: str
) -> None:
    """A line at our centre, with the printed one's diamond at its top."""
    top = axes.get_ylim()[1]
    axes.axvline(
        ours, color=style.text_color(color), linewidth=1, linestyle=(0, (4, 2))
    )
    style.mark_published(axes, [printed], [top])
    gap = 0.02 * np.ptp(axes.get_xlim())
    style.label(
        axes,
        ours + (gap if align == "left" else -gap),
        top * 0.97,
        text,
        color,
        ha=align,
        va="top",
    )


def draw_largest_weight(figure: Figure, inputs: Inputs, say: Say) -> str:
    """Distributions of the largest weight of a row."""
    saturation = inputs[EXPERIMENT]
    axes = figure.add_subplot()
    axes.set_title(
        say("Unscaled rows are almost one-hot", "未缩放的行近乎独热")
    )
    for case in COLORS:
        _draw_histogram(axes, saturation, case, "largest_weight")
    axes.set_xlim(0, 1)
    axes.set_ylim(0, axes.get_ylim()[1] * 1.15)
    for case, align in (("scaled", "left"), ("unscaled", "right")):
        ours = saturation.number(f"{ROWS}/{case}/largest_weight/median/value")
        _mark_centre(
            axes,
            ours,
            saturation.published(f"{EXPERIMENT}.largest_weight_{case}"),
            f"{_name(case, say)}{say(':', '：')}\n"
            + say("median", "中位数")
            + f" {ours:.3f}",
            COLORS[case],
            align,
        )
    axes.set_xlabel(say("largest weight of a row", "一行中的最大权重"))
    axes.set_ylabel(say("rows (%)", "行的占比（%）"))
    style.note_published(axes, 0.5, 0.6, say, ha="center")
    return say(
        "Two histograms of the largest weight of a row. Scaled rows spread "
        "around a small value; most unscaled rows give nearly all the weight "
        "to one key.",
        "一行最大权重的两个直方图。缩放后的行集中在较小的值附近；未缩放的行大多把"
        "几乎全部权重给了一个键。",
    )


def draw_entropy(figure: Figure, inputs: Inputs, say: Say) -> str:
    """Distributions of the entropy of a row."""
    saturation = inputs[EXPERIMENT]
    axes = figure.add_subplot()
    axes.set_title(say("The scale keeps the entropy high", "缩放使熵保持较高"))
    for case in COLORS:
        _draw_histogram(axes, saturation, case, "entropy")
    uniform = saturation.number(f"{ROWS}/uniform/entropy/mean/value")
    axes.set_xlim(0, uniform * 1.12)
    axes.set_ylim(0, axes.get_ylim()[1] * 1.15)
    for case, align in (("scaled", "right"), ("unscaled", "left")):
        ours = saturation.number(f"{ROWS}/{case}/entropy/mean/value")
        _mark_centre(
            axes,
            ours,
            saturation.published(f"{EXPERIMENT}.entropy_{case}"),
            f"{_name(case, say)}{say(':', '：')}\n"
            + say("mean", "平均")
            + f" {ours:.2f}",
            COLORS[case],
            align,
        )
    axes.axvline(uniform, color=style.QUIET, linewidth=1)
    style.mark_published(
        axes,
        [saturation.published(f"{EXPERIMENT}.entropy_uniform")],
        [axes.get_ylim()[1]],
    )
    style.label(
        axes,
        uniform * 1.02,
        axes.get_ylim()[1] * 0.97,
        say("equal weights", "均匀权重") + f": {uniform:.2f}",
        style.QUIET,
        ha="left",
        va="top",
        rotation=90,
    )
    axes.set_xlabel(say("entropy of a row (nats)", "一行的熵（奈特）"))
    axes.set_ylabel(say("rows (%)", "行的占比（%）"))
    return say(
        "Two histograms of the entropy of a row. Unscaled rows are near zero, "
        "scaled rows near the entropy of equal weights.",
        "一行的熵的两个直方图。未缩放的行接近零，缩放后的行接近均匀权重的熵。",
    )


def draw_spread(figure: Figure, inputs: Inputs, say: Say) -> str:
    """The standard deviation of a score over the width."""
    saturation = inputs[EXPERIMENT]
    axes = figure.add_subplot()
    axes.set_title(say("Scores spread like √dₖ", "分数的离散按 √dₖ 增长"))
    kinds = (
        ("gaussian", "o", say("Gaussian", "高斯")),
        ("uniform", "s", say("uniform", "均匀")),
        ("signs", "^", say("random signs", "随机符号")),
    )
    for kind, marker, name in kinds:
        widths = [int(width) for width in saturation.at(f"{SPREAD}/{kind}")]
        deviations = [
            saturation.number(
                f"{SPREAD}/{kind}/{width}/standard_deviation/value"
            )
            for width in widths
        ]
        axes.plot(
            widths,
            deviations,
            marker,
            color=style.VERMILLION,
            markersize=5,
            markerfacecolor="none",
            label=name,
        )
        scaled = [
            np.sqrt(
                saturation.number(
                    f"{SPREAD}/{kind}/{width}/scaled_variance/value"
                )
            )
            for width in widths
        ]
        axes.plot(
            widths,
            scaled,
            marker,
            color=style.BLUE,
            markersize=5,
            markerfacecolor="none",
        )
    curve = np.array(widths, dtype=float)
    axes.plot(
        curve, np.sqrt(curve), color=style.VERMILLION, linewidth=1, zorder=1
    )
    axes.plot(
        curve, np.ones_like(curve), color=style.BLUE, linewidth=1, zorder=1
    )
    axes.set_xscale("log", base=2)
    axes.set_yscale("log", base=2)
    axes.set_xticks(widths, [str(width) for width in widths])
    axes.minorticks_off()
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
    axes.set_xlabel(say("head width dₖ", "头宽度 dₖ"))
    axes.set_ylabel(say("standard deviation of a score", "分数的标准差"))
    axes.legend(
        frameon=False,
        loc="upper left",
        handletextpad=0.2,
        title=say("entries", "各元素的分布"),
        alignment="left",
    )
    middle = curve[len(curve) // 2]
    style.label(
        axes,
        middle,
        np.sqrt(middle) * 0.78,
        "√dₖ",
        style.VERMILLION,
        ha="left",
        va="top",
    )
    style.label(
        axes,
        middle,
        1.12,
        say("divided by √dₖ", "除以 √dₖ 之后"),
        style.BLUE,
        ha="left",
        va="bottom",
    )
    width = saturation.parameters["d_head"]
    style.mark_published(
        axes,
        [width],
        [saturation.published(f"{EXPERIMENT}.standard_deviation")],
    )
    return say(
        "Standard deviation of a dot product over the head width, on "
        "logarithmic axes. Whatever the distribution of the entries it grows "
        "with the root of the width; divided by that root it stays at one.",
        "点积的标准差随头宽度的变化（双对数坐标）。无论各元素的分布如何，都随宽度的"
        "平方根增长；除以该平方根后保持为一。",
    )


def draw_gradient(figure: Figure, inputs: Inputs, say: Say) -> str:
    """How much gradient passes the softmax, over the width."""
    saturation = inputs[EXPERIMENT]
    widths = sorted(int(width) for width in saturation.at(f"{ROWS}/by_width"))
    axes = figure.add_subplot()
    axes.set_title(
        say("Unscaled, the gradient vanishes", "不缩放，梯度就消失")
    )
    for case in COLORS:
        middles, spans = [], []
        for width in widths:
            place = f"{ROWS}/by_width/{width}/{case}/score_gradient/median"
            middles.append(saturation.number(f"{place}/value"))
            spans.append(saturation.numbers(f"{place}/interval"))
        low, high = np.array(spans).T
        axes.fill_between(
            widths, low, high, color=COLORS[case], alpha=0.2, linewidth=0
        )
        axes.plot(widths, middles, marker="o", markersize=4, color=COLORS[case])
        above = case == "scaled"
        at = -1 if above else len(widths) // 2
        style.label(
            axes,
            widths[at],
            middles[at] * (1.15 if above else 0.8),
            _name(case, say),
            COLORS[case],
            ha="right",
            va="bottom" if above else "top",
        )
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.set_xticks(widths, [str(width) for width in widths])
    axes.minorticks_off()
    axes.set_xlabel(say("head width dₖ", "头宽度 dₖ"))
    axes.set_ylabel(say("|J g|, median over rows", "|J g|，各行的中位数"))
    return say(
        "Median length of the gradient that reaches the scores, over the head "
        "width, on logarithmic axes. Scaled it stays level; unscaled it falls "
        "by orders of magnitude.",
        "到达分数的梯度长度（中位数）随头宽度的变化（双对数坐标）。缩放后保持平稳；"
        "未缩放则下降若干个数量级。",
    )


PANELS = (
    Panel(draw_largest_weight),
    Panel(draw_entropy),
    Panel(draw_spread, height=2.9),
    Panel(draw_gradient, height=2.9),
)

if __name__ == "__main__":
    sys.exit(main(__file__, EXPERIMENT, PANELS))
