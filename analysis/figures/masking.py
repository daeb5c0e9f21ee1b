"""Masks: what a query may see, and what happens at the edges."""

from __future__ import annotations

import sys

import numpy as np

from analysis.lib import style
from analysis.lib.figure import Figure, Inputs, Panel, main
from analysis.lib.language import Say
from analysis.lib.style import ListedColormap
from analysis.lib.verified import ResultError

EXPERIMENT = "masking"
SEEN, FUTURE, PAD = style.BLUE, style.FAINT, style.ORANGE


def _states(positions: int, length: int) -> np.ndarray:
    """For each query and key: seen, in the future, or a pad."""
    query, key = np.indices((positions, positions))
    return np.where(key >= length, 2, np.where(key > query, 1, 0))


def draw_patterns(figure: Figure, inputs: Inputs, say: Say) -> str:
    """The causal mask and right padding, for the listing's two sequences."""
    masking = inputs[EXPERIMENT]
    lengths = masking.numbers("/padding/lengths").astype(int)
    positions = int(lengths.max())
    states = [_states(positions, length) for length in lengths]
    allowed = sum(int((state == 0).sum()) for state in states)
    if allowed != masking.number("/shapes/listing/pairs_allowed"):
        raise ResultError(
            "masking: the drawn masks allow other pairs than the results"
        )
    colors = ListedColormap([SEEN, FUTURE, PAD])
    grid = figure.subplots(1, len(lengths), sharey=True)
    for axes, state, length in zip(grid, states, lengths):
        style.draw_cells(axes, state, colors, 0, 2, gap=1.5)
        axes.set_xticks(np.arange(positions), np.arange(positions) + 1)
        axes.set_yticks(np.arange(positions), np.arange(positions) + 1)
        axes.tick_params(length=0)
        for spine in axes.spines.values():
            spine.set_visible(False)
        axes.set_xlabel(
            say("key position", "键的位置")
            + "\n"
            + say(f"({length} tokens)", f"（{length} 个 token）")
        )
    grid[0].set_ylabel(say("query position", "查询的位置"))
    grid[0].set_title(say("Causal and padding masks", "因果掩码与填充掩码"))
    for x, color, name in (
        (0.1, SEEN, say("may attend", "可以关注")),
        (0.45, FUTURE, say("future", "未来")),
        (0.75, PAD, say("padding", "填充")),
    ):
        figure.text(
            x, 0.02, "■ ", color=color, fontsize=style.TITLE_SIZE, ha="right"
        )
        figure.text(x, 0.02, name)
    figure.get_layout_engine().set(rect=(0, 0.08, 1, 0.92))
    return say(
        f"Two grids of query against key positions, for sequences of "
        f"{' and '.join(map(str, lengths))} tokens: a query sees itself and "
        "what came before; columns of padding are hidden from every query.",
        f"两个网格：查询位置对键位置，序列长度分别为 {' 和 '.join(map(str, lengths))}。"
        "查询只能看见自己和之前的位置；填充的列对所有查询隐藏。",
    )


def draw_prefixes(figure: Figure, inputs: Inputs, say: Say) -> str:
    """One pass against one pass for each prefix."""
    masking = inputs[EXPERIMENT]
    axes = figure.add_subplot()
    axes.set_title(
        say("One pass gives every prediction", "一次前向得到所有预测")
    )
    everything = []
    for case, marker, color, name in (
        ("unmasked", "^", style.VERMILLION, say("no mask", "无掩码")),
        ("causal", "o", style.BLUE, say("causal mask", "因果掩码")),
    ):
        together = masking.numbers(f"/prefixes/{case}/losses_of_one_pass")
        separate = masking.numbers(
            f"/prefixes/{case}/losses_of_separate_passes"
        )
        axes.plot(
            separate,
            together,
            marker,
            color=color,
            markersize=5,
            alpha=0.85,
            label=name,
        )
        everything += [together, separate]
    low, high = np.min(everything), np.max(everything)
    axes.plot(
        [low, high], [low, high], color=style.QUIET, linewidth=0.8, zorder=1
    )
    axes.set_aspect("equal", anchor="N")
    axes.set_xlabel(
        say("loss of each prefix alone (nats)", "单独计算各前缀的损失（奈特）")
    )
    axes.set_ylabel(say("loss in one pass (nats)", "一次前向中的损失（奈特）"))
    axes.legend(frameon=False, loc="upper left", handletextpad=0.1)
    return say(
        "Scatter plot of the loss of each position: computed in one pass "
        "against computed from its prefix alone. Under the causal mask all "
        "points lie on the diagonal; without it they do not.",
        "各位置损失的散点图：一次前向的结果与单独由前缀计算的结果。有因果掩码时所有点"
        "都在对角线上；没有时则不然。",
    )


def draw_blind_rows(figure: Figure, inputs: Inputs, say: Say) -> str:
    """Positions that are NaN after each layer."""
    masking = inputs[EXPERIMENT]
    axes = figure.add_subplot()
    axes.set_title(say("A fully masked row", "完全被掩码的行"))
    layers = np.arange(int(masking.number("/fully_masked/layers")))
    positions = int(masking.numbers("/padding/lengths").max())
    by_hand = masking.numbers("/fully_masked/by_hand/nan_positions_by_layer")
    zeroed = masking.numbers("/fully_masked/zero/nan_positions_by_layer")
    axes.plot(layers, by_hand, "o-", color=style.VERMILLION)
    axes.plot(layers, zeroed, "o-", color=style.BLUE)
    style.label(
        axes,
        layers[-1],
        by_hand[-1] - 0.25,
        say(
            "softmax by hand:\nNaN spreads to\nevery position",
            "手写 softmax：\nNaN 传到每个位置",
        ),
        style.VERMILLION,
        ha="right",
        va="top",
    )
    style.label(
        axes,
        layers[-1],
        zeroed[-1] + 0.2,
        say("row set to zero: none", "该行置零：没有"),
        style.BLUE,
        ha="right",
        va="bottom",
    )
    axes.set_xticks(layers)
    axes.set_yticks(np.arange(positions + 1))
    axes.set_ylim(-0.3, positions + 0.3)
    axes.set_xlabel(say("layer", "层"))
    axes.set_ylabel(
        say(
            f"NaN positions (of {positions})", f"NaN 的位置数（共 {positions}）"
        )
    )
    return say(
        "Positions of a left-padded sequence that hold NaN after each layer. "
        "A softmax by hand starts with the padding rows and soon spoils every "
        "token; a row set to zero harms nothing.",
        "左填充序列在各层之后含 NaN 的位置数。手写 softmax 从填充行开始，很快污染每个"
        " token；置零的行则没有危害。",
    )


def draw_penalties(figure: Figure, inputs: Inputs, say: Say) -> str:
    """Finite penalties on the future, against minus infinity."""
    masking = inputs[EXPERIMENT]
    penalties = -masking.numbers("/future/penalties/*/penalty")
    weights = masking.numbers("/future/penalties/*/largest_weight")
    axes = figure.add_subplot()
    axes.set_title(say("Small is not zero", "很小不等于零"))
    axes.plot(penalties, weights, "o-", color=style.VERMILLION, markersize=4)
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xticks(
        penalties[[0, 3, 6]], [f"−{p:g}" for p in penalties[[0, 3, 6]]]
    )
    axes.minorticks_off()
    axes.set_xlabel(
        say(
            "penalty added to the scores of the future",
            "加到未来位置分数上的惩罚",
        )
    )
    axes.set_ylabel(say("largest weight on the future", "未来位置的最大权重"))
    exact = masking.number("/future/masked/largest_weight")
    style.label(
        axes,
        0.05,
        0.06,
        say("with −∞ the weight is ", "用 −∞ 时权重恰为 ")
        + f"{exact:g}"
        + say(" exactly", ""),
        style.BLUE,
        transform=axes.transAxes,
        ha="left",
        va="bottom",
    )
    return say(
        "Largest weight that falls on a future position, over the penalty "
        "added to its score, on logarithmic axes: ever smaller, never zero. "
        "Only minus infinity gives zero.",
        "未来位置上的最大权重随惩罚大小的变化（双对数坐标）：越来越小，但不为零。只有负"
        "无穷给出零。",
    )


PANELS = (
    Panel(draw_patterns, height=2.6),
    Panel(draw_prefixes, height=2.6),
    Panel(draw_blind_rows, height=2.6),
    Panel(draw_penalties, height=2.6),
)

if __name__ == "__main__":
    sys.exit(main(__file__, EXPERIMENT, PANELS))
