"""Several heads: places reached, low-rank circuits, influence, costs."""

from __future__ import annotations

import sys

import numpy as np

from analysis.lib import style
from analysis.lib.figure import Figure, Inputs, Panel, main
from analysis.lib.language import Say

EXPERIMENT = "multi_head"
FIRST, SECOND = style.BLUE, style.ORANGE


def draw_places(figure: Figure, inputs: Inputs, say: Say) -> str:
    """One head's distances from two values, over the gap of their scores."""
    heads = inputs[EXPERIMENT]
    gaps = heads.numbers("/two_places/score_gaps")
    near = {
        name: heads.numbers(f"/two_places/distance_to_{name}") for name in "ab"
    }
    axes = figure.add_subplot()
    axes.set_title(
        say("One head cannot be in two places", "一个头不能同时到两处")
    )
    # Where nothing changes any more there is nothing to see.
    shown = np.minimum(near["a"], near["b"]) > 1e-3
    reach = 1.3 * abs(gaps[shown]).max()
    for name, color in (("a", FIRST), ("b", SECOND)):
        axes.plot(gaps, near[name], color=color)
    axes.set_xlim(-reach, reach)
    axes.set_ylim(-0.05, 1.13)
    style.label(
        axes,
        -0.62 * reach,
        0.95,
        say("to value a", "到值 a"),
        FIRST,
        va="top",
        ha="center",
    )
    style.label(
        axes,
        0.62 * reach,
        0.95,
        say("to value b", "到值 b"),
        SECOND,
        va="top",
        ha="center",
    )
    even = heads.number("/two_places/one_head/even_distance_to_nearer_value")
    axes.plot(0, even, "o", color=style.INK, markersize=5)
    style.label(
        axes,
        0.08 * reach,
        even,
        say("both matter:\nhalf way", "两处都要：\n停在中间"),
        va="center",
    )
    if (
        heads.number("/two_places/two_heads/distance_to_the_farther_value")
        < even
    ):
        style.label(
            axes,
            0,
            1.06,
            say("two heads reach both", "两个头都能到达"),
            style.GREEN,
            ha="center",
            va="center",
        )
    axes.set_xlabel(say("score of a minus score of b", "a 的分数减 b 的分数"))
    axes.set_ylabel(
        say(
            "distance of the output (|a − b| = unit)",
            "输出到该值的距离（以 |a − b| 为单位）",
        )
    )
    return say(
        "Distance of one head's output from two values, over the gap of their "
        "scores. Whatever the gap, one of them is at least half way off; two "
        "heads reach both.",
        "一个头的输出到两个值的距离随分数差的变化。无论分数差多大，总有一个至少相差一半；"
        "两个头则都能到达。",
    )


def draw_spectra(figure: Figure, inputs: Inputs, say: Say) -> str:
    """Singular values of the two circuits."""
    heads = inputs[EXPERIMENT]
    axes = figure.add_subplot()
    axes.set_title(
        say("A head's circuits have low rank", "每个头的电路是低秩的")
    )
    width = int(heads.number("/circuits/width"))
    rank = int(heads.number("/circuits/head_width"))
    order = np.arange(width) + 1
    floor = 1e-17
    for circuit, color, marker in (("qk", FIRST, "o"), ("ov", SECOND, "^")):
        full = heads.numbers(
            f"/circuits/{circuit}/singular_values_of_full_width_head"
        )
        one = heads.numbers(
            f"/circuits/{circuit}/singular_values_of_first_head"
        )
        axes.plot(
            order,
            np.maximum(full, floor),
            color=color,
            linewidth=1,
            linestyle=(0, (3, 2)),
        )
        axes.plot(
            order,
            np.maximum(one, floor),
            marker,
            color=color,
            markersize=2.5,
            label=circuit.upper(),
        )
    axes.axvline(rank + 0.5, color=style.QUIET, linewidth=0.9)
    axes.set_yscale("log")
    axes.set_xlim(0, width + 2)
    axes.set_xticks([rank, width // 2, width])
    style.label(axes, rank + 3, 1e-4, f"dₖ = {rank}", style.QUIET)
    style.label(
        axes,
        width * 0.93,
        1e-2,
        say("one full-width head", "一个全宽头"),
        style.QUIET,
        ha="right",
        va="top",
    )
    style.label(
        axes,
        width,
        1e-13,
        say(
            f"one of {heads.parameters['heads']} heads:\nrounding only",
            f"{heads.parameters['heads']} 个头之一：\n只剩舍入误差",
        ),
        style.QUIET,
        ha="right",
        va="center",
    )
    axes.legend(
        frameon=False,
        loc="center left",
        bbox_to_anchor=(0.16, 0.3),
        handletextpad=0.1,
    )
    axes.set_xlabel(say("singular value, by size", "奇异值（按大小排列）"))
    axes.set_ylabel(say("size", "大小"))
    return say(
        f"Singular values of the QK and OV circuits, {width} each, on a "
        f"logarithmic axis: after the first {rank} only rounding is left. A "
        "full-width head has no such drop.",
        f"QK 与 OV 电路各 {width} 个奇异值（对数坐标）：前 {rank} 个之后只剩舍入误差。"
        "全宽头没有这样的骤降。",
    )


def draw_influence(figure: Figure, inputs: Inputs, say: Say) -> str:
    """Which input position reaches which output position."""
    heads = inputs[EXPERIMENT]
    grid = figure.subplots(1, 2, sharey=True)
    images = [
        heads.numbers(f"/influence/{layer}/by_output_and_input_position")
        for layer in ("feed_forward", "attention")
    ]
    largest = max(image.max() for image in images)
    for axes, image, name in zip(
        grid,
        images,
        (
            say("feed-forward layer", "前馈网络"),
            say("causal attention", "因果注意力"),
        ),
    ):
        shown = style.draw_cells(
            axes,
            np.where(image == 0, np.nan, image),
            style.sequential(),
            0,
            largest,
        )
        ticks = np.arange(len(image))
        axes.set_xticks(ticks, ticks + 1)
        axes.set_yticks(ticks, ticks + 1)
        axes.set_xlabel(say("input position", "输入位置") + f"\n({name})")
    grid[0].set_ylabel(say("output position", "输出位置"))
    grid[0].set_title(
        say("Only attention crosses positions", "只有注意力跨越位置")
    )
    bar = figure.colorbar(
        shown,
        ax=list(grid),
        orientation="horizontal",
        shrink=0.5,
        aspect=25,
        pad=0.03,
    )
    bar.set_label(
        say(
            "size of the derivative (white: exactly zero)",
            "导数的大小（白色：恰为零）",
        )
    )
    bar.outline.set_visible(False)
    return say(
        "Two grids of output against input positions, coloured by how "
        "strongly one reaches the other. The feed-forward layer fills the "
        "diagonal only; causal attention also everything below it.",
        "两个网格：输出位置对输入位置，颜色表示影响的强弱。前馈网络只有对角线；因果注意力"
        "还有对角线以下的全部。",
    )


def draw_costs(figure: Figure, inputs: Inputs, say: Say) -> str:
    """Operations of projections and mixing over the length."""
    heads = inputs[EXPERIMENT]
    positions = heads.numbers("/costs/sequences/*/positions")
    axes = figure.add_subplot()
    axes.set_title(say("Mixing grows with the square", "混合的成本按平方增长"))
    for member, color, name in (
        ("mixing_flops", FIRST, say("scores and averages", "打分与加权平均")),
        ("projection_flops", SECOND, say("four projections", "四个投影")),
    ):
        flops = heads.numbers(f"/costs/sequences/*/{member}")
        axes.plot(positions, flops, "o-", color=color, markersize=4)
        above = member == "mixing_flops"
        at = len(positions) - (2 if above else 3)
        style.label(
            axes,
            positions[at] * (0.9 if above else 1.1),
            flops[at] * (1.1 if above else 0.75),
            name,
            color,
            ha="right" if above else "left",
            va="bottom" if above else "top",
        )
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.set_xticks(positions, [f"{p:.0f}" for p in positions])
    axes.minorticks_off()
    axes.set_xlabel(say("sequence length T (tokens)", "序列长度 T（token）"))
    axes.set_ylabel(
        say("operations per sequence (FLOPs)", "每个序列的运算量（FLOPs）")
    )
    return say(
        "Floating-point operations of one layer over the sequence length, on "
        "logarithmic axes: projections grow in proportion, scores and averages "
        "with the square.",
        "一层的浮点运算量随序列长度的变化（双对数坐标）：投影成比例增长，打分与加权平均"
        "按平方增长。",
    )


PANELS = (
    Panel(draw_places, height=2.8),
    Panel(draw_spectra, height=2.8),
    Panel(draw_influence, height=2.8),
    Panel(draw_costs, height=2.8),
)

if __name__ == "__main__":
    sys.exit(main(__file__, EXPERIMENT, PANELS))
