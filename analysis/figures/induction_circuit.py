"""The induction circuit in the weights of a trained model."""

from __future__ import annotations

import sys

import numpy as np

from analysis.lib import style
from analysis.lib.figure import Figure, Inputs, Panel, main
from analysis.lib.language import Say

EXPERIMENT = "induction"


def _draw_circuit(
    figure: Figure, inputs: Inputs, name: str, say: Say, labels: tuple
) -> None:
    """A circuit over the vocabulary: title, x label, y label, bar label."""
    title, across, down, size = labels
    matrix = inputs[EXPERIMENT].numbers(f"/circuits/{name}/matrix")
    # All tokens are alike; half of them are easier to see.
    shown_tokens = len(matrix) // 2
    matrix = matrix[:shown_tokens, :shown_tokens]
    axes = figure.add_subplot()
    axes.set_title(title)
    reach = abs(matrix).max()
    shown = style.draw_cells(axes, matrix, style.signed(), -reach, reach)
    axes.set_xlabel(across)
    axes.set_ylabel(down)
    bar = figure.colorbar(shown, ax=axes, shrink=0.6, aspect=18, pad=0.02)
    bar.set_label(size)
    bar.outline.set_visible(False)


def draw_output(figure: Figure, inputs: Inputs, say: Say) -> str:
    """The OV circuit of the induction head."""
    _draw_circuit(
        figure,
        inputs,
        "output",
        say,
        (
            say("The OV circuit copies", "OV 电路复制所见"),
            say("token whose logit is raised", "logit 被提高的 token"),
            say("token attended to", "被关注的 token"),
            say("raise, less the row's mean", "提高量（减去行均值）"),
        ),
    )
    return say(
        "Full OV circuit of the induction head, tokens on both axes: the "
        "diagonal stands out.",
        "归纳头的完整 OV 电路，两轴都是 token：对角线突出。",
    )


def draw_match(figure: Figure, inputs: Inputs, say: Say) -> str:
    """The QK circuit through the previous-token head."""
    _draw_circuit(
        figure,
        inputs,
        "match",
        say,
        (
            say("The QK circuit matches tokens", "QK 电路匹配相同 token"),
            say("token before the key", "键之前的 token"),
            say("token of the query", "查询处的 token"),
            say("score, less the row's mean", "分数（减去行均值）"),
        ),
    )
    return say(
        "QK circuit of the induction head through the previous-token head's "
        "output, tokens on both axes: the diagonal stands out.",
        "经由前一 token 头写入的归纳头 QK 电路，两轴都是 token：对角线突出。",
    )


def draw_composition(figure: Figure, inputs: Inputs, say: Say) -> str:
    """How strongly the heads of one layer read those of the other."""
    found = inputs[EXPERIMENT]
    axes = figure.add_subplot()
    axes.set_title(say("K-composition is strongest", "K 组合最强"))
    mean = found.number("/composition/baseline/mean")
    deviation = found.number("/composition/baseline/standard_deviation")
    pairs = found.at("/composition/pairs")
    previous = found.at("/chosen/previous_token")
    axes.axhspan(
        mean - 2 * deviation, mean + 2 * deviation, color=style.FAINT,
        linewidth=0,
    )
    kinds = {
        "query": say("queries", "查询"),
        "key": say("keys", "键"),
        "value": say("values", "值"),
    }
    for place, kind in enumerate(kinds):
        for pair in pairs:
            first = pair["from"] == previous
            axes.plot(
                place + (-0.12 if first else 0.12),
                pair[kind],
                "o" if first else "s",
                color=style.BLUE if first else style.ORANGE,
                markersize=5,
                clip_on=False,
            )
    axes.set_xticks(range(len(kinds)), list(kinds.values()))
    axes.set_xlim(-0.6, len(kinds) - 0.4)
    highest = max(pair["key"] for pair in pairs)
    axes.set_ylim(0, highest * 1.35)
    style.label(
        axes,
        -0.55,
        highest * 1.3,
        say("● previous-token head", "● 前一 token 头"),
        style.BLUE,
        va="top",
    )
    style.label(
        axes,
        -0.55,
        highest * 1.17,
        say("■ other head of its layer", "■ 同层另一个头"),
        style.ORANGE,
        va="top",
    )
    style.label(
        axes,
        -0.55,
        mean + 2.4 * deviation,
        say("random heads", "随机头"),
        style.QUIET,
        va="bottom",
    )
    axes.set_xlabel(say("read by the second layer's", "由第二层的何者读取"))
    axes.set_ylabel(say("composition score", "组合得分"))
    return say(
        "Composition scores of first-layer writes with second-layer queries, "
        "keys and values, against a band for random heads. Only the "
        "previous-token head with the keys stands above.",
        "第一层写入与第二层查询、键、值的组合得分，与随机头的色带相比。只有前一 "
        "token 头与键的组合高于随机。",
    )


def draw_positions(figure: Figure, inputs: Inputs, say: Say) -> str:
    """The previous-token head's attention to the position before."""
    found = inputs[EXPERIMENT]
    axes = figure.add_subplot()
    axes.set_title(say("Only where it is needed", "只在需要的地方"))
    heads = found.at("/heads")
    chosen = found.at("/chosen/previous_token")
    for head in heads:
        if (head["layer"], head["head"]) != (chosen["layer"], chosen["head"]):
            continue
        scores = np.array(head["previous_by_position"])
        positions = np.arange(len(scores)) + 1
        axes.plot(positions, scores, color=style.BLUE)
        mean = head["previous_token"]["value"]
    axes.axhline(mean, color=style.QUIET, linewidth=0.9, linestyle=(0, (3, 2)))
    style.label(
        axes,
        positions[-1],
        mean + 0.02,
        say(f"mean {mean:.2f}", f"平均 {mean:.2f}"),
        style.QUIET,
        ha="right",
        va="bottom",
    )
    longest = found.parameters["max_period"]
    axes.axvline(longest, color=style.QUIET, linewidth=0.9)
    style.label(
        axes,
        longest + 1,
        0.97,
        say("longest period", "最长周期"),
        style.QUIET,
        va="top",
    )
    axes.set_xlim(0, positions[-1] + 1)
    axes.set_ylim(0, 1.03)
    axes.set_xlabel(say("position", "位置"))
    axes.set_ylabel(say("weight on the position before", "对前一位置的权重"))
    return say(
        "Weight that the previous-token head puts on the position before, over "
        "the position: near one early, near zero beyond the longest period.",
        "前一 token 头对前一位置的权重随位置的变化：前部接近一，超过最长周期后接近零。",
    )


PANELS = (
    Panel(draw_output, height=3.0),
    Panel(draw_match, height=3.0),
    Panel(draw_composition, height=2.7),
    Panel(draw_positions, height=2.7),
)

if __name__ == "__main__":
    sys.exit(main(__file__, "induction_circuit", PANELS))
