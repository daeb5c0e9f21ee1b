"""What attention knows about order: two sentences of the same tokens."""

from __future__ import annotations

import sys

import numpy as np

from analysis.lib import style
from analysis.lib.figure import Figure, Inputs, Panel, main
from analysis.lib.language import Say
from analysis.lib.verified import Verified

EXPERIMENT = "permutation"
CASES = ("no_positions", "causal", "positions")
TOKEN_COLORS = (style.BLUE, style.ORANGE, style.GREEN)


def _words(permutation: Verified, say: Say) -> dict[str, str]:
    """The first sentence's tokens, and how this language shows them."""
    tokens = permutation.at("/sentences/first")
    shown = (
        permutation.at("/sentences/translations")
        if say.language == "en"
        else tokens
    )
    return dict(zip(tokens, shown))


def _outputs(
    permutation: Verified, case: str, sentence: str
) -> dict[str, np.ndarray]:
    """Each token's output in a sentence."""
    outputs = permutation.numbers(f"/sentences/{case}/outputs_of_{sentence}")
    return dict(zip(permutation.at(f"/sentences/{sentence}"), outputs))


def _limits(permutation: Verified) -> tuple[np.ndarray, np.ndarray]:
    """Limits for all cases, so that their panels compare."""
    points = np.concatenate(
        [
            permutation.numbers(f"/sentences/{case}/outputs_of_{sentence}")
            for case in CASES
            for sentence in ("first", "second")
        ]
    )
    low, high = points.min(axis=0), points.max(axis=0)
    room = 0.18 * (high - low)
    return low - room, high + room


def _draw_case(
    figure: Figure, inputs: Inputs, say: Say, case: str, title: str
) -> None:
    permutation = inputs[EXPERIMENT]
    words = _words(permutation, say)
    first = _outputs(permutation, case, "first")
    second = _outputs(permutation, case, "second")
    low, high = _limits(permutation)
    axes = figure.add_subplot()
    axes.set_title(title)
    for row, (token, color) in enumerate(zip(words, TOKEN_COLORS)):
        pair = np.array([first[token], second[token]])
        axes.plot(*pair.T, color=color, linewidth=1, alpha=0.7)
        axes.plot(
            *first[token],
            "o",
            color=color,
            markersize=8,
            alpha=0.55,
            markeredgewidth=0,
        )
        axes.plot(
            *second[token],
            "x",
            color=style.text_color(color),
            markersize=8,
            markeredgewidth=1.8,
        )
        style.label(
            axes,
            0.98,
            0.04 + 0.09 * (len(words) - 1 - row),
            f"● {words[token]}",
            color,
            transform=axes.transAxes,
            ha="right",
            va="bottom",
        )
    axes.set_xlim(low[0], high[0])
    axes.set_ylim(low[1], high[1])
    axes.set_xlabel(say("first component of the output", "输出的第一分量"))
    axes.set_ylabel(say("second component", "第二分量"))
    joint = say(" ", "")
    axes.text(
        0.02,
        0.98,
        f"○ {joint.join(words.values())}\n"
        f"× {joint.join(words[token] for token in second)}",
        transform=axes.transAxes,
        va="top",
    )


def draw_plain(figure: Figure, inputs: Inputs, say: Say) -> str:
    """Without positions."""
    _draw_case(
        figure,
        inputs,
        say,
        "no_positions",
        say("Without positions: the same", "没有位置信息：完全相同"),
    )
    return say(
        "Outputs of the tokens of two sentences that differ in order only, in "
        "the plane of the outputs: without positions each token has the same "
        "output in both.",
        "仅顺序不同的两个句子中各 token 的输出：没有位置信息时，每个 token 在两句中的"
        "输出相同。",
    )


def draw_causal(figure: Figure, inputs: Inputs, say: Say) -> str:
    """With a causal mask."""
    _draw_case(
        figure,
        inputs,
        say,
        "causal",
        say("A causal mask tells them apart", "因果掩码能区分两句"),
    )
    return say(
        "The same with a causal mask: the outputs move apart.",
        "加上因果掩码：两句的输出分开。",
    )


def draw_positions(figure: Figure, inputs: Inputs, say: Say) -> str:
    """With position vectors."""
    _draw_case(
        figure, inputs, say, "positions", say("So do positions", "位置信息也能")
    )
    return say(
        "The same with a vector for each position added: the outputs move "
        "apart.",
        "为每个位置加上一个向量：两句的输出分开。",
    )


PANELS = (Panel(draw_plain), Panel(draw_causal), Panel(draw_positions))

if __name__ == "__main__":
    sys.exit(main(__file__, EXPERIMENT, PANELS))
