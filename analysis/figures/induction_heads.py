"""The two heads of the induction circuit that a trained model grew."""

from __future__ import annotations

import sys

import numpy as np

from analysis.lib import style
from analysis.lib.figure import Figure, Inputs, Panel, main
from analysis.lib.language import Say
from analysis.lib.style import Axes
from analysis.lib.verified import Verified

EXPERIMENT = "induction"
FIRST, SECOND, CONTROL = style.BLUE, style.VERMILLION, style.GREEN


def head_text(found: Verified, pointer: str, say: Say) -> str:
    """A head's name, counted from 0 as hooks are: "layer 0, head 1"."""
    layer = found.number(f"{pointer}/layer")
    head = found.number(f"{pointer}/head")
    return say(
        f"layer {layer:.0f}, head {head:.0f}", f"第 {layer:.0f} 层头 {head:.0f}"
    )


def _draw_map(
    figure: Figure, found: Verified, name: str, say: Say, title: str
) -> Axes:
    """A head's attention over the first two blocks and a bit."""
    period = int(found.number("/example/period"))
    rows = found.at(f"/example/{name}")
    size = min(len(rows), 2 * period + period // 4)
    pattern = np.full((size, size), np.nan)
    for i in range(size):
        pattern[i, : i + 1] = rows[i]
    axes = figure.add_subplot()
    axes.set_title(title)
    shown = style.draw_cells(axes, pattern, style.sequential(), 0, 1)
    for start in range(period, size, period):
        for line in (axes.axhline, axes.axvline):
            line(start - 0.5, color=style.QUIET, linewidth=0.8)
    starts = np.arange(0, size, period)
    tokens = found.numbers("/example/tokens")
    names = [f"{start:.0f}\n({tokens[start]:.0f})" for start in starts]
    axes.set_xticks(starts, names)
    axes.set_yticks(starts, names)
    axes.set_xlabel(
        say("key position (token)", "键的位置（括号内为 token）")
    )
    axes.set_ylabel(say("query position (token)", "查询的位置（token）"))
    bar = figure.colorbar(shown, ax=axes, shrink=0.6, aspect=18, pad=0.02)
    bar.set_label(say("weight", "权重"))
    bar.outline.set_visible(False)
    return axes


def draw_previous(figure: Figure, inputs: Inputs, say: Say) -> str:
    """The previous-token head's map."""
    found = inputs[EXPERIMENT]
    name = head_text(found, "/chosen/previous_token", say)
    _draw_map(
        figure,
        found,
        "previous_token",
        say,
        say(f"Previous-token head: {name}", f"前一 token 头：{name}"),
    )
    return say(
        "Attention map of the previous-token head on a repeated sequence: a "
        "line just below the diagonal, which fades at late positions.",
        "前一 token 头在重复序列上的注意力图：紧贴对角线下方的一条线，在靠后的位置变淡。",
    )


def draw_induction(figure: Figure, inputs: Inputs, say: Say) -> str:
    """The induction head's map."""
    found = inputs[EXPERIMENT]
    name = head_text(found, "/chosen/induction", say)
    _draw_map(
        figure,
        found,
        "induction",
        say,
        say(f"Induction head: {name}", f"归纳头：{name}"),
    )
    return say(
        "Attention map of the induction head: in the second block a stripe one "
        "block back and one position on, at what followed the same token.",
        "归纳头的注意力图：在第二个区块中出现一条斜纹，位于一个周期之前再后一位，"
        "即同一 token 之后的内容。",
    )


def _shade_window(axes: Axes, found: Verified) -> None:
    axes.axvspan(
        found.number("/phase_change/begin"),
        found.number("/phase_change/end"),
        color=style.FAINT,
        linewidth=0,
    )


def draw_losses(figure: Figure, inputs: Inputs, say: Say) -> str:
    """The learning curve."""
    found = inputs[EXPERIMENT]
    steps = found.numbers("/curve/*/step")
    axes = figure.add_subplot()
    axes.set_title(say("Sudden, not gradual", "突然，而非渐进"))
    _shade_window(axes, found)
    first = found.numbers("/curve/*/first_loss")
    repeat = found.numbers("/curve/*/repeat_loss")
    control = found.numbers("/controls/drawn_period/curve/*/repeat_loss")
    control_steps = found.numbers("/controls/drawn_period/curve/*/step")
    axes.plot(steps, first, color=style.QUIET)
    axes.plot(control_steps, control, color=CONTROL, linestyle=(0, (4, 2)))
    axes.plot(steps, repeat, color=SECOND)
    last = steps[-1]
    style.label(
        axes,
        last,
        first.max() * 0.99,
        say("first part", "首次出现的部分"),
        style.QUIET,
        ha="right",
        va="top",
    )
    style.label(
        axes,
        last,
        control[-1] - 0.1,
        say("repeats, one layer", "重复部分，单层"),
        CONTROL,
        ha="right",
        va="top",
    )
    style.label(
        axes,
        last,
        repeat[-1] + 0.45,
        say("repeats, two layers", "重复部分，两层"),
        SECOND,
        ha="right",
        va="bottom",
    )
    axes.set_xlim(0, last)
    axes.set_ylim(0, None)
    axes.set_xlabel(say("training step", "训练步数"))
    axes.set_ylabel(say("loss (nats per token)", "损失（nat/token）"))
    return say(
        "Loss over training steps. On repeats that of the two-layer model drops "
        "within the shaded window, that of the one-layer control stays high; on "
        "the first part it rises and comes back.",
        "损失随训练步数的变化。两层模型在重复部分的损失于阴影窗口内骤降，单层对照"
        "仍然很高；首次出现部分的损失先升后降。",
    )


def _head_curve(found: Verified, which: str, score: str) -> np.ndarray:
    layer = found.number(f"/chosen/{which}/layer")
    head = found.number(f"/chosen/{which}/head")
    return found.numbers(f"/curve/*/heads/{layer:.0f}/{head:.0f}/{score}")


def draw_scores(figure: Figure, inputs: Inputs, say: Say) -> str:
    """Head scores and accuracy over training."""
    found = inputs[EXPERIMENT]
    steps = found.numbers("/curve/*/step")
    induction = _head_curve(found, "induction", "prefix_matching")
    previous = _head_curve(found, "previous_token", "previous_token")
    accuracy = found.numbers("/curve/*/accuracy")
    axes = figure.add_subplot()
    axes.set_title(say("The induction head forms then", "归纳头此时形成"))
    _shade_window(axes, found)
    axes.plot(steps, accuracy, color=style.QUIET, linewidth=1.2)
    axes.plot(steps, previous, color=FIRST)
    axes.plot(steps, induction, color=SECOND)
    last = steps[-1]
    style.label(
        axes,
        last,
        previous[-1] - 0.16,
        say("previous-token head", "前一 token 头"),
        FIRST,
        ha="right",
        va="top",
    )
    style.label(
        axes,
        last,
        induction[-1] - 0.16,
        say("induction head", "归纳头"),
        SECOND,
        ha="right",
        va="top",
    )
    style.label(
        axes,
        last,
        1.03,
        say("accuracy on repeats", "重复部分的准确率"),
        style.QUIET,
        ha="right",
        va="bottom",
    )
    axes.set_xlim(0, last)
    axes.set_ylim(0, 1.14)
    axes.set_xlabel(say("training step", "训练步数"))
    axes.set_ylabel(say("score, share", "得分、比例"))
    return say(
        "Scores over training steps: the induction score and the accuracy rise "
        "together in the shaded window; the previous-token score goes on "
        "rising.",
        "得分随训练步数的变化：归纳得分与准确率在阴影窗口内一同上升；前一 token "
        "得分随后继续上升。",
    )


def _draw_bars(
    axes: Axes, found: Verified, rows: list[tuple[str, str, str]]
) -> None:
    """Accuracies with intervals: (label, pointer to an estimate, color)."""
    for row, (_, pointer, color) in enumerate(rows):
        value = style.PERCENT * found.number(f"{pointer}/value")
        low, high = style.PERCENT * np.clip(
            found.numbers(f"{pointer}/interval"), 0, 1
        )
        axes.barh(row, value, height=0.62, color=color)
        axes.plot([low, high], [row, row], color=style.INK, linewidth=1)
        short = high < style.PERCENT / 2
        axes.text(
            high + 2 if short else low - 2,
            row,
            f"{value:.0f}",
            va="center",
            ha="left" if short else "right",
            color=style.INK if short else style.PAPER,
        )
    axes.set_yticks(range(len(rows)), [name for name, _, _ in rows])
    axes.tick_params(axis="y", length=0)
    axes.invert_yaxis()
    axes.set_xlim(0, style.PERCENT)


def draw_ablations(figure: Figure, inputs: Inputs, say: Say) -> str:
    """What is left without each head."""
    found = inputs[EXPERIMENT]
    axes = figure.add_subplot()
    axes.set_title(say("One head is needed", "有一个头不可缺"))
    rows = [(say("none", "无"), "/clean/accuracy", style.QUIET)]
    for entry, name, color in (
        ("previous_token", say("previous-token head", "前一 token 头"), FIRST),
        ("other_first", say("other of its layer", "同层另一个头"), FIRST),
        ("induction", say("induction head", "归纳头"), SECOND),
        ("other_induction", say("other of its layer", "同层另一个头"), SECOND),
    ):
        rows.append((name, f"/found/{entry}/zero/accuracy", color))
    layer = found.number("/chosen/induction/layer")
    rows.append(
        (
            say("both of that layer", "该层两个头"),
            f"/layers/{layer:.0f}/accuracy",
            SECOND,
        )
    )
    rows.append(
        (
            say(
                "previous-token,\npattern-preserving",
                "前一 token 头，\n保持注意力模式",
            ),
            "/found/previous_token/pattern_preserving/accuracy",
            FIRST,
        )
    )
    _draw_bars(axes, found, rows)
    axes.set_xlabel(
        say("repeated tokens predicted (%)", "预测正确的重复 token（%）")
    )
    axes.set_ylabel(say("zero-ablated head", "置零消融的头"))
    return say(
        "Accuracy on repeats with heads zero-ablated. Without the "
        "previous-token head nearly nothing is left, unless the attention "
        "patterns are kept; without other single heads nearly all; without the "
        "second layer's heads together nothing.",
        "将头置零消融后重复部分的准确率。没有前一 token 头几乎全失，除非保持注意力模式；去掉"
        "其他单个头几乎不变；去掉第二层的全部头则全失。",
    )


def draw_paths(figure: Figure, inputs: Inputs, say: Say) -> str:
    """By which path the previous-token head reaches the induction head."""
    found = inputs[EXPERIMENT]
    axes = figure.add_subplot()
    axes.set_title(say("It acts by K-composition", "通过 K 组合起作用"))
    names = {
        "key": say("from the keys", "从键中"),
        "query": say("from the queries", "从查询中"),
        "value": say("from the values", "从值中"),
    }
    _draw_bars(
        axes,
        found,
        [
            (name, f"/paths/{path}/accuracy", FIRST)
            for path, name in names.items()
        ],
    )
    axes.set_xlabel(
        say("repeated tokens predicted (%)", "预测正确的重复 token（%）")
    )
    axes.set_ylabel(say("previous-token head removed", "去除前一 token 头的写入"))
    return say(
        "Accuracy on repeats with the previous-token head's output removed "
        "from the second layer's keys, queries or values: only the keys "
        "matter.",
        "从第二层的键、查询或值中去除前一 token 头的写入后重复部分的准确率：只有键起作用。",
    )


PANELS = (
    Panel(draw_previous, height=3.1),
    Panel(draw_induction, height=3.1),
    Panel(draw_losses, height=2.7),
    Panel(draw_scores, height=2.7),
    Panel(draw_ablations, height=2.8),
    Panel(draw_paths, height=2.8),
)

if __name__ == "__main__":
    sys.exit(main(__file__, "induction_heads", PANELS))
