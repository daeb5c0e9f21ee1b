"""What agreement between a claim and our value meant, in both languages.

The judge hands over the parts (ledger/agreement.h): which rule decided, and
the numbers that it compared. Here are their words.
"""

from __future__ import annotations

from typing import Any, Mapping

from analysis.lib.language import Text
from analysis.lib.verified import Judged
from analysis.report.texts import ours_text


class UnknownAgreement(Exception):
    """A rule that has no words here."""


def _same_decimals(parts: Mapping[str, Any]) -> list[Text]:
    decimals = parts["decimals"]
    if decimals == 0:
        return [Text("the same integer", "整数相同")]
    plural = "" if decimals == 1 else "s"
    return [Text(f"the same {decimals} decimal{plural}", f"{decimals} 位小数相同")]


def _at_most(parts: Mapping[str, Any]) -> list[Text]:
    limit = f"{parts['limit']:.3g}"
    return [Text(f"at most {limit}", f"不超过 {limit}")]


def _within(parts: Mapping[str, Any]) -> list[Text]:
    reach = f"{parts['reach']:.3g}"
    texts = [Text(f"within {reach}", f"相差不超过 {reach}")]
    if "detectable" in parts:
        detectable = parts["detectable"]
        decimals = detectable["decimals"]
        up = f"+{detectable['up']:.{decimals}f}"
        down = f"-{detectable['down']:.{decimals}f}"
        texts.append(
            Text(
                f"would detect {up} or {down}",
                f"印出的值若变动 {up} 或 {down} 即可察觉",
            )
        )
    else:
        distance = f"{parts['distance']:.3g}"
        errors = f"{parts['standard_errors']:.1f}"
        texts.append(
            Text(
                f"is {distance} off, {errors} standard errors",
                f"实际相差 {distance}，即 {errors} 个标准误差",
            )
        )
    return texts


def _inequality(parts: Mapping[str, Any]) -> list[Text]:
    rule = f"{parts['op']} {parts['threshold']:.4g}"
    effect = Text(rule, rule)
    if "interval" in parts:
        low, high = parts["interval"]
        interval = f"[{low:.4g}, {high:.4g}]"
        effect = Text(f"{rule}, interval {interval}", f"{rule}，区间 {interval}")
    control = f"{parts['control']:.4g}"
    if parts["control_fails"]:
        outcome = Text(f"control {control} fails it", f"对照为 {control}，不满足")
    else:
        outcome = Text(f"control {control} meets it", f"对照为 {control}，也满足")
    return [effect, outcome]


_RULES = {
    "same_text": lambda parts: [Text("the same text", "文字相同")],
    "same_decimals": _same_decimals,
    "at_most": _at_most,
    "within": _within,
    "inequality": _inequality,
    "literature": lambda parts: [Text("literature", "文献")],
}


def _other_reading(ours: Any, holds: bool, published: str | None) -> Text:
    # A count is shown as it is.
    text = str(ours) if isinstance(ours, int) else ours_text(ours, published)
    if holds:
        return Text(f"other reading: {text} holds", f"另一种解读：{text}，成立")
    return Text(f"other reading: {text} fails", f"另一种解读：{text}，不成立")


def agreement_text(judged: Judged) -> Text:
    """In both languages. UnknownAgreement when the rule is a new one."""
    parts = judged.agreement
    if parts["rule"] not in _RULES:
        raise UnknownAgreement(
            f'no words for "{parts["rule"]}": add it to '
            "analysis/report/agreement.py"
        )
    texts = _RULES[parts["rule"]](parts)
    if "other_reading" in parts:
        other = parts["other_reading"]
        texts.append(
            _other_reading(other["ours"], other["holds"], judged.published)
        )
    return Text(
        "; ".join(text.en for text in texts),
        "；".join(text.zh for text in texts),
    )
