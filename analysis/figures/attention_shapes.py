"""Figure 6.2: the shapes of the tensors in scaled dot-product attention."""

from __future__ import annotations

import sys
from dataclasses import dataclass

import numpy as np

from analysis.lib import style
from analysis.lib.figure import Figure, Inputs, Panel, main
from analysis.lib.language import Say
from analysis.lib.style import Axes, Rectangle
from analysis.lib.verified import Verified

EXPERIMENT = "masking"
COLORS = {
    "X": style.QUIET,
    "Q": style.BLUE,
    "K": style.VERMILLION,
    "V": style.GREEN,
    "S": style.PURPLE,
    "P": style.PURPLE,
    "O": style.ORANGE,
}
SUBSCRIPTS = {"dk": "dₖ", "dv": "dᵥ"}
GAP = 2.6  # drawing units between blocks, for an operator


@dataclass(frozen=True)
class Tensor:
    """A tensor as the figure shows it."""

    name: str
    letters: tuple[str, str]
    sizes: tuple[int, int]
    color: str

    @property
    def height(self) -> float:
        """Sides grow with the logarithm of their size."""
        return float(np.log2(1 + self.sizes[0]))

    @property
    def width(self) -> float:
        """The same for the columns."""
        return float(np.log2(1 + self.sizes[1]))

    @property
    def shape(self) -> str:
        """The shape in letters."""
        return " × ".join(SUBSCRIPTS.get(x, x) for x in self.letters)

    def transposed(self) -> Tensor:
        """The tensor with rows and columns exchanged."""
        return Tensor(
            f"{self.name}ᵀ", self.letters[::-1], self.sizes[::-1], self.color
        )


def _tensor(masking: Verified, name: str) -> Tensor:
    place = f"/shapes/figure/{name}"
    letters = masking.text(f"{place}/shape").strip("()").split(", ")
    sizes = masking.numbers(f"{place}/sizes").astype(int)
    return Tensor(
        rf"$\mathbf{{W_{name[-1]}}}$" if name.startswith("W_") else name,
        tuple(letters),
        tuple(sizes),
        COLORS[name[-1]],
    )


def _draw(
    axes: Axes,
    x: float,
    y: float,
    tensor: Tensor,
    row: bool = False,
    column: bool = False,
    name_above: bool = True,
) -> float:
    """Draws the tensor with its left middle at (x, y); returns its right end.

    A row (or a column, of a transpose) of one query is filled.
    """
    bottom = y - tensor.height / 2
    axes.add_patch(
        Rectangle(
            (x, bottom),
            tensor.width,
            tensor.height,
            facecolor=style.pale(tensor.color),
            edgecolor=tensor.color,
            linewidth=1.2,
        )
    )
    if row or column:
        rows, columns = tensor.sizes
        side = tensor.height / rows if row else tensor.width / columns
        axes.add_patch(
            Rectangle(
                (x, bottom),
                tensor.width if row else side,
                side if row else tensor.height,
                facecolor=tensor.color,
                alpha=0.75,
                linewidth=0,
            )
        )
    middle = x + tensor.width / 2
    style.label(
        axes,
        middle,
        y + tensor.height / 2 + 0.25,
        tensor.name,
        tensor.color,
        ha="center",
        va="bottom",
        fontweight="bold",
    )
    style.label(
        axes,
        middle,
        bottom - 0.25,
        tensor.shape,
        ha="center",
        va="top",
        fontsize=style.TEXT_SIZE - 0.5,
    )
    return x + tensor.width


def _operator(axes: Axes, x: float, y: float, text: str) -> float:
    """Writes an operator in the gap after x; returns where the gap ends."""
    axes.text(
        x + GAP / 2,
        y,
        text,
        ha="center",
        va="center",
        fontsize=style.TITLE_SIZE,
    )
    return x + GAP


def _finish(axes: Axes, right: float, low: float, high: float) -> None:
    axes.set_xlim(-0.3, right + 0.3)
    axes.set_ylim(low, high)
    axes.set_aspect("equal", anchor="N")
    axes.axis("off")


def draw_projections(figure: Figure, inputs: Inputs, say: Say) -> str:
    """X through three matrices."""
    masking = inputs[EXPERIMENT]
    axes = figure.add_subplot()
    axes.set_title(say("One input, three roles", "一个输入，三种角色"))
    x = _tensor(masking, "X")
    y, right = 0.0, 0.0
    for role in "QKV":
        weights = _tensor(masking, f"W_{role}")
        end = _draw(axes, 0, y, x, row=True)
        end = _draw(axes, _operator(axes, end, y, "×"), y, weights)
        end = _draw(
            axes,
            _operator(axes, end, y, "="),
            y,
            _tensor(masking, role),
            row=True,
        )
        right = max(right, end)
        y -= weights.height + 4.1
    _finish(axes, right, y + 1.4, weights.height / 2 + 2)
    tokens, width = x.sizes
    return say(
        f"Blocks: X, of {tokens} tokens and width {width}, times three "
        "matrices gives queries Q, keys K and values V, one row per token.",
        f"方块图：X 有 {tokens} 个 token、宽度 {width}，分别乘以三个矩阵，得到查询"
        " Q、键 K 和值 V，每个 token 一行。",
    )


def draw_attention(figure: Figure, inputs: Inputs, say: Say) -> str:
    """From queries, keys and values to outputs."""
    masking = inputs[EXPERIMENT]
    axes = figure.add_subplot()
    axes.set_title(say("One row of scores per query", "每个查询对应一行分数"))
    q, k, v, s, p, o = (_tensor(masking, name) for name in "QKVSPO")
    tall = max(q.height, k.width) + 4.2
    y = 0.0
    end = _draw(axes, 0, y, q, row=True)
    end = _draw(axes, _operator(axes, end, y, "×"), y, k.transposed())
    end += 2 * GAP
    axes.text(end - GAP, y, "/ √dₖ  =", ha="center", va="center")
    right = _draw(axes, end, y, s, row=True)
    y -= tall
    axes.text(
        0,
        y,
        say("softmax of\neach row:", "逐行\nsoftmax："),
        ha="left",
        va="center",
        fontsize=style.TEXT_SIZE - 0.5,
    )
    end = _draw(axes, 2 * GAP, y, p, row=True)
    end = _draw(axes, _operator(axes, end, y, "×"), y, v)
    end = _draw(axes, _operator(axes, end, y, "="), y, o, row=True)
    _finish(axes, max(right, end), y - 4, tall / 2 + 0.4)
    return say(
        f"Blocks: Q times K transposed, over the root of the key width, gives "
        f"the scores S, {' by '.join(map(str, s.sizes))}. The softmax of each "
        "row gives the weights P; P times V gives the outputs O. One query's "
        "row is filled throughout.",
        f"方块图：Q 乘以 K 的转置，再除以键宽度的平方根，得到分数 S，"
        f"大小为 {' 乘 '.join(map(str, s.sizes))}。逐行 softmax 得到权重 P；"
        "P 乘以 V 得到输出 O。同一查询的行全程着色。",
    )


PANELS = (
    Panel(draw_projections, height=3.2),
    Panel(draw_attention, height=3.2),
)

if __name__ == "__main__":
    sys.exit(main(__file__, "attention_shapes", PANELS))
