"""What agreement meant, in both languages.

The judge (experiments/claims.cc) words a bound in English; here are the
sentences it has, with their Chinese.
"""

from __future__ import annotations

import re

from analysis.language import Text

_NUMBER = r"[-+]?(?:\d[\d.e+-]*|inf|nan)"

_SENTENCES = [
    (re.compile(pattern.replace("NUMBER", _NUMBER)), chinese)
    for pattern, chinese in (
        (r"the same text", "文字相同"),
        (r"the same integer", "整数相同"),
        (r"the same (\d+) decimals", r"\1 位小数相同"),
        (r"at most (NUMBER)", r"不超过 \1"),
        (
            r"within (NUMBER); would detect (NUMBER) or (NUMBER)",
            r"相差不超过 \1；印出的值若变动 \2 或 \3 即可察觉",
        ),
        (
            r"([<>=]+ NUMBER); control (NUMBER) fails it",
            r"\1；对照为 \2，不满足",
        ),
        (
            r"([<>=]+ NUMBER), interval (\[NUMBER, NUMBER\]); "
            r"control (NUMBER) fails it",
            r"\1，区间 \2；对照为 \3，不满足",
        ),
        (r"literature", "文献"),
    )
]
_OTHER_READING = "; other reading: "


class UnknownAgreement(Exception):
    """A bound that has no translation here."""


def translate(bound: str) -> Text:
    """The bound in both languages. UnknownAgreement when it is a new one."""
    first, separator, other = bound.partition(_OTHER_READING)
    for pattern, chinese in _SENTENCES:
        found = pattern.fullmatch(first)
        if found:
            translated = found.expand(chinese)
            if separator:
                translated += f"；另一种解读：{other}"
            return Text(bound, translated)
    raise UnknownAgreement(
        f'no Chinese for the bound "{bound}": add its sentence to '
        "analysis/agreement.py"
    )
