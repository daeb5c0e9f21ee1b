"""How fast a small model learns from a saturated start."""

from __future__ import annotations

import sys

from analysis.lib import style
from analysis.lib.figure import Figure, Inputs, Panel, main
from analysis.lib.language import Say

EXPERIMENT = "saturation"
MODELS = {
    "scaled": (style.BLUE, "-"),
    "unscaled": (style.VERMILLION, "-"),
    "unscaled_start": (style.ORANGE, (0, (4, 1.5))),
}


def _names(say: Say) -> dict[str, str]:
    return {
        "scaled": say("scaled", "缩放"),
        "unscaled": say("unscaled", "未缩放"),
        "unscaled_start": say(
            "scaled, from an\nunscaled start", "缩放，但从\n未缩放状态开始"
        ),
    }


def _draw(
    figure: Figure, inputs: Inputs, say: Say, optimiser: str, title: str
) -> None:
    training = inputs[EXPERIMENT]
    place = f"/training/{optimiser}"
    axes = figure.add_subplot()
    axes.set_title(title)
    chance = training.number("/training/chance")
    sought = training.number("/training/accuracy_sought")
    for level in (chance, sought):
        axes.axhline(style.PERCENT * level, color=style.FAINT, linewidth=1)
    axes.text(
        1,
        style.PERCENT * chance - 1,
        say("chance", "随机猜测"),
        va="top",
        ha="right",
        color=style.text_color(style.QUIET),
        transform=axes.get_yaxis_transform(),
    )
    for model, (color, line) in MODELS.items():
        steps = training.numbers(f"{place}/{model}/curve/*/step")
        accuracy = style.PERCENT * training.numbers(
            f"{place}/{model}/curve/*/accuracy"
        )
        axes.plot(steps, accuracy, color=color, linestyle=line)
    handles = axes.get_lines()[-len(MODELS) :]
    legend = axes.legend(
        handles,
        _names(say).values(),
        frameon=False,
        loc="lower right",
        bbox_to_anchor=(1.02, 0.1),
        handlelength=1.5,
    )
    for text, (color, _) in zip(legend.get_texts(), MODELS.values()):
        text.set_color(style.text_color(color))
    axes.set_xlim(0, steps.max())
    axes.set_ylim(0, 104)
    axes.set_xlabel(say("training step", "训练步"))
    axes.set_ylabel(say("accuracy (%)", "准确率（%）"))


def draw_descent(figure: Figure, inputs: Inputs, say: Say) -> str:
    """Accuracy over steps of gradient descent."""
    _draw(
        figure,
        inputs,
        say,
        "gradient_descent",
        say("Gradient descent", "梯度下降"),
    )
    return say(
        "Accuracy over the steps of gradient descent for three models with "
        "the same start weights. The one that starts from unscaled scores but "
        "is otherwise like the scaled one learns several times more slowly.",
        "三个模型在梯度下降各步的准确率。从未缩放的分数出发、其余与缩放模型相同的模型，"
        "学习慢数倍。",
    )


def draw_adam(figure: Figure, inputs: Inputs, say: Say) -> str:
    """Accuracy over steps of Adam."""
    _draw(figure, inputs, say, "adam", "Adam")
    return say(
        "The same with Adam: the scaled model learns fastest, the unscaled "
        "one more slowly, the scaled one from an unscaled start slowest.",
        "换用 Adam：缩放的模型学得最快，未缩放的较慢，从未缩放状态开始的缩放模型最慢。",
    )


PANELS = (Panel(draw_descent), Panel(draw_adam))

if __name__ == "__main__":
    sys.exit(main(__file__, "learning_speed", PANELS))
