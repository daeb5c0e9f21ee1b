"""The induction circuit over seeds."""

from __future__ import annotations

import sys

from analysis.lib import style
from analysis.lib.figure import Figure, Inputs, Panel, main
from analysis.lib.language import Say

EXPERIMENT = "induction_sweep"


def draw_ablations(figure: Figure, inputs: Inputs, say: Say) -> str:
    """Accuracy of each model, intact and without a head."""
    sweep = inputs[EXPERIMENT]
    seeds = sweep.numbers("/runs/*/seed")
    axes = figure.add_subplot()
    axes.set_title(say("The previous-token head is needed", "前一 token 头不可缺"))
    for name, marker, color, text in (
        ("accuracy", "D", style.QUIET, say("as it is", "原样")),
        (
            "without_other",
            "s",
            style.SKY_BLUE,
            say("without the other head", "去掉另一个头"),
        ),
        (
            "without_previous_token",
            "o",
            style.BLUE,
            say("without the previous-token head", "去掉前一 token 头"),
        ),
    ):
        axes.plot(
            seeds,
            style.PERCENT * sweep.numbers(f"/runs/*/{name}"),
            marker,
            color=color,
            markersize=5,
            label=text,
            clip_on=False,
        )
    axes.set_ylim(0, 1.45 * style.PERCENT)
    axes.set_yticks([0, style.PERCENT / 2, style.PERCENT])
    axes.set_xticks(seeds)
    axes.legend(
        frameon=False, loc="upper left", borderaxespad=0.1, handletextpad=0.2
    )
    axes.set_xlabel(say("seed", "随机种子"))
    axes.set_ylabel(
        say("repeated tokens predicted (%)", "预测正确的重复 token（%）")
    )
    return say(
        "Accuracy on repeats for each seed: high as it is and without the other "
        "head, near zero without the previous-token head in all but one.",
        "各随机种子下重复部分的准确率：原样与去掉另一个头时都高，去掉前一 token 头时除"
        "一个外都接近零。",
    )


def draw_windows(figure: Figure, inputs: Inputs, say: Say) -> str:
    """When each model learned it."""
    sweep = inputs[EXPERIMENT]
    seeds = sweep.numbers("/runs/*/seed")
    begin = sweep.numbers("/runs/*/phase_begin")
    end = sweep.numbers("/runs/*/phase_end")
    half = sweep.numbers("/runs/*/induction_half")
    axes = figure.add_subplot()
    axes.set_title(say("All at about the same time", "几乎同时发生"))
    axes.barh(
        seeds, end - begin, left=begin, height=0.55, color=style.SKY_BLUE
    )
    axes.plot(half, seeds, "o", color=style.VERMILLION, markersize=4.5)
    axes.set_yticks(seeds)
    axes.invert_yaxis()
    axes.set_xlim(0, 1.15 * max(end.max(), half.max()))
    axes.set_xlabel(say("training step", "训练步数"))
    axes.set_ylabel(say("seed", "随机种子"))
    style.label(
        axes,
        begin.min() * 0.94,
        seeds[0],
        say("in-context score falls", "上下文得分下降"),
        style.SKY_BLUE,
        ha="right",
        va="center",
    )
    style.label(
        axes,
        begin.min() * 0.94,
        seeds[1],
        say("● induction score rises", "● 归纳得分上升"),
        style.VERMILLION,
        ha="right",
        va="center",
    )
    return say(
        "For each seed the window of steps in which the in-context score falls, "
        "and the step at which the induction score is half way up: inside the "
        "window or at its end.",
        "各随机种子下上下文得分下降的窗口，以及归纳得分升到一半的步数：位于窗口之内或"
        "末尾。",
    )


PANELS = (
    Panel(draw_ablations, height=2.8),
    Panel(draw_windows, height=2.8),
)

if __name__ == "__main__":
    sys.exit(main(__file__, "induction_seeds", PANELS))
