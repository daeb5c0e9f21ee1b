"""What recurrence and attention cost: operations, distance, memory."""

from __future__ import annotations

import sys

import numpy as np

from analysis.lib import style
from analysis.lib.figure import Figure, Inputs, Panel, main
from analysis.lib.language import Say
from analysis.lib.verified import Verified

EXPERIMENT = "layer_cost"
COSTS = "/costs"
RECURRENT, ATTENTION = style.VERMILLION, style.BLUE
CONVOLUTION, DILATED = style.PURPLE, style.GREEN
# The chapter's points on the curve, and the claims on their ratios.
POINTS = {"short": "ratio_short", "long": "ratio_long"}


def _times(value: float) -> str:
    """A count as people read it: 32768 as 32,768."""
    return f"{value:,.0f}"


def draw_ratio(figure: Figure, inputs: Inputs, say: Say) -> str:
    """Attention's operations over recurrence's, T / d."""
    costs = inputs[EXPERIMENT]
    axes = figure.add_subplot()
    axes.set_title(say("Cheaper while T < d", "T < d 时更便宜"))
    widths = sorted(int(width) for width in costs.at(f"{COSTS}/curves"))
    for width, color in zip(widths, (style.BLUE, style.ORANGE)):
        place = f"{COSTS}/curves/{width}/*"
        positions = costs.numbers(f"{place}/positions")
        ratios = costs.numbers(f"{place}/ratio")
        axes.plot(positions, ratios, color=color)
        axes.plot(width, 1, "o", color=color, markersize=4.5)
        style.label_near(
            axes,
            (positions[-1], ratios[-1]),
            (4, 0),
            f"d = {_times(width)}",
            color,
        )
    axes.axhline(1, color=style.QUIET, linewidth=0.8, linestyle=(0, (4, 3)))
    style.label_near(
        axes,
        (positions[0], 1),
        (3, 2),
        say("equal at T = d", "T = d 时相等"),
        style.QUIET,
    )
    for point, claim in POINTS.items():
        at = costs.number(f"{COSTS}/{point}/positions")
        ratio = costs.published(f"{EXPERIMENT}.{claim}")
        printed = costs.published_text(f"{EXPERIMENT}.{claim}")
        style.mark_published(axes, [at], [ratio])
        style.label_near(
            axes,
            (at, ratio),
            (6, -3),
            f"T = {_times(at)}\nT/d = {printed}",
            bbox=style.PATCH,
        )
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlim(positions[0], 15 * positions[-1])
    axes.minorticks_off()
    axes.set_xlabel(say("sequence length T (tokens)", "序列长度 T（token）"))
    axes.set_ylabel(say("attention / recurrence", "注意力 / 循环"))
    style.note_published(axes, 0.98, 0.02, say, ha="right", va="bottom")
    return say(
        "Operations of self-attention over those of recurrence against the "
        "sequence length, on logarithmic axes, for two widths. Each line "
        "crosses one where the length equals the width.",
        "自注意力与循环的运算量之比随序列长度的变化（双对数坐标），两种宽度。每条线在"
        "长度等于宽度处穿过一。",
    )


def draw_paths(figure: Figure, inputs: Inputs, say: Say) -> str:
    """Steps that information takes between two positions."""
    costs = inputs[EXPERIMENT]
    axes = figure.add_subplot()
    axes.set_title(
        say("Steps from one position to another", "两个位置之间的步数")
    )
    distances = costs.numbers(f"{COSTS}/path_curve/*/distance")
    for member, color, name, place, shift in (
        ("recurrent", RECURRENT, say("recurrent", "循环"), 0.6, (-4, 4)),
        ("convolution", CONVOLUTION, say("convolution", "卷积"), 0.8, (6, -4)),
        (
            "dilated_convolution",
            DILATED,
            say("dilated", "空洞卷积"),
            0.9,
            (0, 5),
        ),
        (
            "attention",
            ATTENTION,
            say("self-attention", "自注意力"),
            0.9,
            (0, 5),
        ),
    ):
        steps = costs.numbers(f"{COSTS}/path_curve/*/{member}")
        axes.plot(distances, steps, "o-", color=color, markersize=3.5)
        at = int(place * (len(distances) - 1))
        style.label_near(axes, (distances[at], steps[at]), shift, name, color)
    axes.set_xscale("log", base=2)
    axes.set_yscale("log", base=2)
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter(lambda value, _: f"{value:.0f}")
    axes.set_xlim(distances[0], distances[-1])
    axes.set_xlabel(say("distance (positions)", "距离（位置数）"))
    axes.set_ylabel(say("dependent steps", "相互依赖的步数"))
    return say(
        "Dependent steps between two positions over their distance, on "
        "logarithmic axes: as many as the distance for a recurrence, one for "
        "self-attention, convolutions in between.",
        "两个位置之间相互依赖的步数随距离的变化（双对数坐标）：循环等于距离，自注意力为"
        "一，卷积介于其间。",
    )


def draw_survival(figure: Figure, inputs: Inputs, say: Say) -> str:
    """Gradient that is left over the distance."""
    costs = inputs[EXPERIMENT]
    axes = figure.add_subplot()
    axes.set_title(say("What is left of the gradient", "梯度还剩多少"))
    distances = costs.numbers("/gradient/distances")
    for member, color, name, shift in (
        ("attention", ATTENTION, say("self-attention", "自注意力"), (0, -8)),
        ("linear", DILATED, say("without the tanh", "去掉 tanh"), (-4, 12)),
        (
            "recurrent",
            RECURRENT,
            say("recurrence (tanh)", "循环（tanh）"),
            (-8, -8),
        ),
    ):
        place = f"/gradient/{member}/survival"
        middle = costs.numbers(place)
        axes.fill_between(
            distances,
            costs.numbers(f"{place}_low"),
            costs.numbers(f"{place}_high"),
            color=color,
            alpha=0.2,
            linewidth=0,
        )
        axes.plot(distances, middle, color=color)
        at = len(distances) * 2 // 3
        style.label_near(axes, (distances[at], middle[at]), shift, name, color)
    axes.set_yscale("log")
    axes.set_xlim(0, distances[-1])
    axes.set_xlabel(say("distance (positions)", "距离（位置数）"))
    axes.set_ylabel(
        say("gradient, relative to distance one", "梯度（相对于距离为一时）")
    )
    return say(
        "Size of the gradient that reaches a token, relative to that at "
        "distance one, over the distance, on a logarithmic axis: through a "
        "recurrence with tanh it falls, through attention it does not depend "
        "on the distance.",
        "到达某个 token 的梯度大小（相对于距离为一时）随距离的变化（纵轴为对数）：经过"
        "带 tanh 的循环不断下降，经过注意力则与距离无关。",
    )


def draw_memory(figure: Figure, inputs: Inputs, say: Say) -> str:
    """Numbers remembered between two tokens."""
    costs: Verified = inputs[EXPERIMENT]
    axes = figure.add_subplot()
    axes.set_title(say("What must be remembered", "需要记住多少"))
    tokens = costs.number("/generation/tokens")
    for member, color, name in (
        (
            "attention_memory",
            ATTENTION,
            say("attention: keys and values", "注意力：键与值"),
        ),
        (
            "recurrent_memory",
            RECURRENT,
            say("recurrence: one state", "循环：一个状态"),
        ),
    ):
        memory = costs.numbers(f"/generation/{member}")
        steps = np.arange(len(memory)) + 1
        axes.plot(steps, memory, color=color)
        at = int(0.7 * len(memory))
        shift = (0, 5) if member == "recurrent_memory" else (-6, 2)
        style.label_near(axes, (steps[at], memory[at]), shift, name, color)
    axes.set_xlim(0, tokens)
    axes.set_ylim(0, None)
    axes.set_xlabel(say("tokens generated", "已生成的 token 数"))
    axes.set_ylabel(say("numbers in memory", "内存中的数"))
    return say(
        "Numbers kept between two tokens while generating: constant for a "
        "recurrence, growing with every token for attention.",
        "生成时两个 token 之间保留的数：循环保持不变，注意力随每个 token 增长。",
    )


PANELS = (
    Panel(draw_ratio, height=2.9),
    Panel(draw_paths, height=2.9),
    Panel(draw_survival, height=2.9),
    Panel(draw_memory, height=2.9),
)

if __name__ == "__main__":
    sys.exit(main(__file__, EXPERIMENT, PANELS))
