"""Controls of the induction experiment: one-layer models."""

from __future__ import annotations

import sys

from analysis.lib import style
from analysis.lib.figure import Figure, Inputs, Panel, main
from analysis.lib.language import Say

EXPERIMENT = "induction"
MODEL, ONE, FIXED, SMEARED = (
    style.VERMILLION,
    style.GREEN,
    style.BLUE,
    style.ORANGE,
)


def draw_learning(figure: Figure, inputs: Inputs, say: Say) -> str:
    """Accuracy over training."""
    found = inputs[EXPERIMENT]
    axes = figure.add_subplot()
    axes.set_title(say("One layer does not get there", "单层学不会"))
    for place, color in (
        ("", MODEL),
        ("/controls/drawn_period", ONE),
        ("/controls/smeared_keys", SMEARED),
    ):
        axes.plot(
            found.numbers(f"{place}/curve/*/step"),
            found.numbers(f"{place}/curve/*/accuracy"),
            color=color,
        )
    last = found.numbers("/curve/*/step")[-1]
    style.label(
        axes,
        last,
        0.9,
        say("two layers", "两层"),
        MODEL,
        ha="right",
        va="top",
    )
    style.label(
        axes,
        last,
        found.numbers("/controls/drawn_period/curve/*/accuracy")[-1] + 0.04,
        say("one layer", "单层"),
        ONE,
        ha="right",
        va="bottom",
    )
    style.label(
        axes,
        0.01 * last,
        1.05,
        say("one layer, smeared keys", "单层，键涂抹"),
        SMEARED,
        va="bottom",
    )
    axes.set_xlim(0, last)
    axes.set_ylim(0, 1.18)
    axes.set_xlabel(say("training step", "训练步数"))
    axes.set_ylabel(say("accuracy on repeats", "重复部分的准确率"))
    return say(
        "Accuracy on repeats over training steps: two layers reach nearly all, "
        "one layer hardly any, one layer with smeared keys nearly all and "
        "sooner.",
        "重复部分的准确率随训练步数的变化：两层接近全部，单层几乎没有，键涂抹的单层接近"
        "全部且更早。",
    )


def _draw_transfer(
    figure: Figure, inputs: Inputs, say: Say, score: str, title: str, down: str
) -> None:
    found = inputs[EXPERIMENT]
    axes = figure.add_subplot()
    axes.set_title(title)
    periods = found.numbers("/period_transfer/*/period")
    names = (
        ("", MODEL, "o", say("two layers", "两层")),
        (
            "/controls/fixed_period",
            FIXED,
            "s",
            say("one layer, one period", "单层，单一周期"),
        ),
        ("/controls/drawn_period", ONE, "^", say("one layer", "单层")),
    )
    for place, color, marker, name in names:
        axes.plot(
            periods,
            found.numbers(f"{place}/period_transfer/*/{score}/value"),
            marker + "-",
            color=color,
            markersize=4,
            linewidth=1.3,
            label=name,
        )
    axes.set_xticks(periods)
    axes.set_ylim(-0.03, 1.45)
    axes.set_yticks([0, 0.5, 1])
    axes.legend(frameon=False, loc="upper left", ncol=1, borderaxespad=0.1)
    axes.set_xlabel(say("period of the sequence (tokens)", "序列周期（token）"))
    axes.set_ylabel(down)


def draw_transfer(figure: Figure, inputs: Inputs, say: Say) -> str:
    """Accuracy period by period."""
    _draw_transfer(
        figure,
        inputs,
        say,
        "accuracy",
        say("A positional shortcut: one period", "位置捷径：只会一种周期"),
        say("accuracy on repeats", "重复部分的准确率"),
    )
    return say(
        "Accuracy over the period of the sequence: the two-layer model is good "
        "at all, the model that learned one period at that one (and partly at "
        "its divisors), the plain one-layer model at none.",
        "准确率随序列周期的变化：两层模型各周期都好，只学一种周期的模型仅在该周期（以及"
        "部分约数上）好，普通单层模型都不好。",
    )


def draw_stripes(figure: Figure, inputs: Inputs, say: Say) -> str:
    """The induction score period by period."""
    _draw_transfer(
        figure,
        inputs,
        say,
        "prefix_matching",
        say("It passes for an induction head there", "在该周期看似归纳头"),
        say("induction score of the best head", "最佳头的归纳得分"),
    )
    return say(
        "Induction score of the best head over the period: high everywhere for "
        "the two-layer model, high at one period alone for the model that "
        "learned that period.",
        "最佳头的归纳得分随周期的变化：两层模型处处高；只学一种周期的模型仅在该周期高。",
    )


PANELS = (
    Panel(draw_learning, height=2.7),
    Panel(draw_transfer, height=2.7),
    Panel(draw_stripes, height=2.7),
)

if __name__ == "__main__":
    sys.exit(main(__file__, "induction_controls", PANELS))
