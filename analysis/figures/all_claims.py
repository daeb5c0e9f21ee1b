"""Every claim at once: how far from the printed value, and how it came out."""

from __future__ import annotations

import re
import sys
from collections import Counter

import numpy as np

from analysis.lib import style
from analysis.lib.figure import Figure, Inputs, Panel, main
from analysis.lib.language import Say, Text
from analysis.lib.judged_claims import (
    COUNTED_NAMES,
    FAILS,
    HOLDS,
    ONE_READING,
    VERDICT_NAMES,
)
from analysis.lib.verified import Judged, Verified

VERDICT_COLORS = {
    HOLDS: style.BLUE,
    ONE_READING: style.ORANGE,
    FAILS: style.VERMILLION,
}
VERDICT_MARKERS = {HOLDS: "o", ONE_READING: "s", FAILS: "X"}
BINS = 41  # of the strip, in which dots stack
STACK = 0.085  # rows between stacked dots


def allowed_distance(judged: Judged) -> float | None:
    """How far from the printed number ours may lie; None without a number.

    Half a unit of the last printed digit, or, for a claim that rests on random
    draws, what the judge allowed, in the digits that the claims table shows.
    """
    if not isinstance(judged.ours, (int, float)) or not re.fullmatch(
        r"-?\d+(\.\d+)?", judged.published or ""
    ):
        return None
    if judged.agreement["rule"] == "same_decimals":
        return 0.5 * 10.0 ** -judged.agreement["decimals"]
    if judged.agreement["rule"] == "within":
        return float(f"{judged.agreement['reach']:.3g}")
    return None


def share_of_allowed(judged: Judged) -> float | None:
    """The signed distance from the printed number, 1 being the allowed one."""
    allowed = allowed_distance(judged)
    if not allowed:
        return None
    return (judged.ours - float(judged.published)) / allowed


def _stacked(shares: np.ndarray) -> np.ndarray:
    """How far to move each dot off its row, so that none hides another."""
    bins = np.round((np.clip(shares, -1, 1) + 1) / 2 * (BINS - 1)).astype(int)
    seen: Counter[int] = Counter()
    offsets = []
    for place in bins:
        count = seen[place]
        seen[place] += 1
        offsets.append((count + 1) // 2 * (1 if count % 2 else -1))
    widest = max(map(abs, offsets), default=0)
    return np.array(offsets) * min(STACK, 0.42 / max(widest, 1))


def _claims(verified: Verified) -> list[Judged]:
    return [verified.claim(claim_id) for claim_id in verified.claims]


def _name(verdict: str, names: dict[str, Text], say: Say) -> str:
    return say(names[verdict].en, names[verdict].zh)


def draw_distances(figure: Figure, inputs: Inputs, say: Say) -> str:
    """Each printed number's claim as a dot."""
    axes = figure.add_subplot()
    axes.set_title(say("Ours against the printed", "我们的值与书中的值"))
    axes.axvspan(-1, 1, color=style.FAINT, alpha=0.4, linewidth=0)
    axes.axvline(0, color=style.QUIET, linewidth=0.8)
    drawn = 0
    for row, name in enumerate(inputs):
        found = [
            (share, judged.verdict)
            for judged in _claims(inputs[name])
            if (share := share_of_allowed(judged)) is not None
        ]
        shares = np.array([share for share, _ in found])
        heights = row + _stacked(shares)
        for verdict, color in VERDICT_COLORS.items():
            chosen = [
                index for index, (_, v) in enumerate(found) if v == verdict
            ]
            axes.plot(
                np.clip(shares[chosen], -1.5, 1.5),
                heights[chosen],
                VERDICT_MARKERS[verdict],
                color=color,
                markersize=3.2,
                markeredgewidth=0,
                alpha=0.85,
            )
        drawn += len(found)
    axes.set_yticks(range(len(inputs)), list(inputs))
    axes.tick_params(axis="y", length=0)
    axes.set_ylim(len(inputs) - 0.4, -0.6)
    axes.set_xlim(-1.6, 1.6)
    axes.set_xticks(
        [-1, 0, 1],
        [
            say("limit", "界限"),
            say("as printed", "与书中相同"),
            say("limit", "界限"),
        ],
    )
    axes.set_xlabel(
        say("(ours − printed) / allowed", "（我们 − 书中）/ 允许差")
    )
    axes.set_ylabel(say("experiment", "实验"))
    return say(
        f"A dot for each of {drawn} printed numbers, one row per experiment: "
        "how far our value is from the printed one, as a share of what "
        "agreement allows. Dots in the grey band agree.",
        f"{drawn} 个印出的数字各一点，每个实验一行：我们的值与书中的值之差占允许差的"
        "比例。落在灰带内即为一致。",
    )


def draw_verdicts(figure: Figure, inputs: Inputs, say: Say) -> str:
    """How many claims came out in each way."""
    axes = figure.add_subplot()
    axes.set_title(say("How the claims came out", "各论断的结论"))
    total: Counter[str] = Counter()
    longest = 0
    for row, name in enumerate(inputs):
        counts = Counter(judged.verdict for judged in _claims(inputs[name]))
        total += counts
        start = 0
        for verdict, color in VERDICT_COLORS.items():
            axes.barh(row, counts[verdict], left=start, height=0.6, color=color)
            start += counts[verdict]
        longest = max(longest, start)
        style.label_near(axes, (start, row), (3, 0), str(start))
        # Then what does not simply hold.
        other = [
            (verdict, f"{counts[verdict]} {_name(verdict, VERDICT_NAMES, say)}")
            for verdict in (ONE_READING, FAILS)
            if counts[verdict]
        ]
        for place, (verdict, text) in enumerate(other):
            style.label_near(
                axes,
                (start, row),
                (24 + 70 * place, 0),
                text,
                VERDICT_COLORS[verdict],
            )
    axes.set_yticks(range(len(inputs)), list(inputs))
    axes.tick_params(axis="y", length=0)
    axes.set_ylim(len(inputs) - 0.4, -0.6)
    axes.set_xlim(0, longest * 2)
    axes.set_xlabel(say("claims", "论断数"))
    axes.set_ylabel(say("experiment", "实验"))
    for spine in ("left", "bottom"):
        axes.spines[spine].set_visible(False)
    axes.tick_params(axis="x", length=0)
    parts = say(", ", "，").join(
        f"{total[verdict]} {_name(verdict, COUNTED_NAMES, say)}"
        for verdict in VERDICT_COLORS
    )
    return say(
        f"Bars for the number of claims of each experiment. In all, {parts}.",
        f"各实验论断数的条形图。总计：{parts}。",
    )


PANELS = (Panel(draw_distances, height=3.0), Panel(draw_verdicts, height=3.0))

if __name__ == "__main__":
    sys.exit(main(__file__, "all_claims", PANELS))
