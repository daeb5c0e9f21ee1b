"""The hand-built induction circuit: two heads that complete a repetition."""

from __future__ import annotations

import sys

import numpy as np

from analysis.lib import style
from analysis.lib.figure import Figure, Inputs, Panel, main
from analysis.lib.language import Say
from analysis.lib.style import Axes
from analysis.lib.verified import Verified

EXPERIMENT = "multi_head"
INDUCTION = "/induction"


def _draw_pattern(
    figure: Figure, heads: Verified, head: str, say: Say, title: str
) -> tuple[Axes, list[str], np.ndarray]:
    """A head's attention pattern, with the tokens on both axes.

    Returns the axes, the tokens and the pattern.
    """
    tokens = heads.at(f"{INDUCTION}/sentence")
    pattern = heads.numbers(f"{INDUCTION}/patterns/{head}")
    axes = figure.add_subplot()
    axes.set_title(title)
    future = np.triu(np.ones_like(pattern, dtype=bool), 1)
    style.draw_cells(
        axes, np.where(future, np.nan, pattern), style.sequential(), 0, 1
    )
    ticks = np.arange(len(tokens))
    axes.set_xticks(
        ticks, tokens, rotation=60, ha="right", rotation_mode="anchor"
    )
    axes.set_yticks(ticks, tokens)
    axes.tick_params(length=0)
    axes.set_xlabel(say("attends to", "关注"))
    axes.set_ylabel(say("token", "token"))
    return axes, tokens, pattern


def draw_previous(figure: Figure, inputs: Inputs, say: Say) -> str:
    """The previous-token head."""
    _draw_pattern(
        figure,
        inputs[EXPERIMENT],
        "previous_token_head",
        say,
        say("First layer: previous-token head", "第一层：前一 token 头"),
    )
    return say(
        "Attention pattern of the previous-token head in the first layer, "
        "tokens on both axes: each token attends to the one before it.",
        "第一层的前一 token 头的注意力图，两轴都是 token：每个 token 关注它前面的一个。",
    )


def draw_induction(figure: Figure, inputs: Inputs, say: Say) -> str:
    """The induction head."""
    heads = inputs[EXPERIMENT]
    axes, tokens, pattern = _draw_pattern(
        figure,
        heads,
        "induction_head",
        say,
        say("Second layer: induction head", "第二层：归纳头"),
    )
    last = len(tokens) - 1
    found = int(np.argmax(pattern[last]))
    axes.plot(
        found,
        last,
        "s",
        markersize=13,
        markerfacecolor="none",
        markeredgecolor=style.VERMILLION,
        markeredgewidth=1.6,
        clip_on=False,
    )
    predicted = heads.text(f"{INDUCTION}/variants/intact/predicted")
    style.label(
        axes,
        0.98,
        0.97,
        say(
            f"{tokens[last]} …\npredicted: {predicted}",
            f"{tokens[last]} …\n预测：{predicted}",
        ),
        style.VERMILLION,
        transform=axes.transAxes,
        ha="right",
        va="top",
    )
    return say(
        f"Attention pattern of the induction head in the second layer. The last "
        f"token, {tokens[last]}, attends to {tokens[found]}, which followed it "
        f"before, and so the model predicts {predicted}.",
        f"第二层的归纳头的注意力图。最后一个 token {tokens[last]} 关注此前跟在它后面的 "
        f"{tokens[found]}，于是模型预测 {predicted}。",
    )


def draw_broken(figure: Figure, inputs: Inputs, say: Say) -> str:
    """How often the circuit completes, intact and broken."""
    heads = inputs[EXPERIMENT]
    names = {
        "intact": say("intact", "完整"),
        "without_previous_token_head": say(
            "no previous-token head", "去掉前一 token 头"
        ),
        "without_induction_head": say("no induction head", "去掉归纳头"),
        "both_in_one_layer": say("both in one layer", "两头同在一层"),
        "in_the_wrong_order": say("in the wrong order", "次序颠倒"),
        "writes_share_a_subspace": say(
            "writes in one subspace", "写入同一子空间"
        ),
    }
    axes = figure.add_subplot()
    axes.set_title(say("Both heads, in order", "两个头缺一不可，且有先后"))
    for row, variant in enumerate(names):
        place = f"{INDUCTION}/drawn/variants/{variant}"
        share = style.PERCENT * heads.number(f"{place}/share_completed")
        low, high = style.PERCENT * heads.numbers(f"{place}/share_interval")
        color = style.BLUE if variant == "intact" else style.VERMILLION
        axes.barh(row, share, height=0.6, color=color)
        axes.plot([low, high], [row, row], color=style.INK, linewidth=1)
        # Beside a short bar, within a long one.
        short = high < 50
        axes.text(
            high + 2 if short else low - 2,
            row,
            f"{share:.0f}",
            va="center",
            color=style.INK if short else style.PAPER,
            ha="left" if short else "right",
        )
    axes.set_yticks(range(len(names)), list(names.values()))
    axes.tick_params(axis="y", length=0)
    axes.invert_yaxis()
    axes.set_xlim(0, style.PERCENT)
    axes.set_xlabel(say("sequences completed (%)", "补全正确的序列（%）"))
    axes.set_ylabel(say("circuit", "电路"))
    sequences = heads.number(f"{INDUCTION}/drawn/sequences")
    return say(
        f"Share of {sequences:.0f} random sequences that the circuit "
        "completes: all when intact, few or none when either head is removed "
        "or misplaced.",
        f"{sequences:.0f} 个随机序列中电路补全正确的比例：完整时全部正确；去掉或错放"
        "任何一个头，则很少或完全不能。",
    )


PANELS = (
    Panel(draw_previous, height=3.2),
    Panel(draw_induction, height=3.2),
    Panel(draw_broken, height=3.2),
)

if __name__ == "__main__":
    sys.exit(main(__file__, "hand_built_circuit", PANELS))
