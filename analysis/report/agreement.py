"""What agreement meant, in both languages.

The judge (ledger/judgement.cc) words a bound in English, in parts joined
by "; ". Here is every part that it has, with its Chinese.
"""

from __future__ import annotations

import re

from analysis.lib.language import Text

_NUMBER = r"[-+]?(?:\d[\d.e+-]*|inf|nan)"

_PARTS = [
    (re.compile(pattern.replace("NUMBER", _NUMBER)), chinese)
    for pattern, chinese in (
        (r"the same text", r"文字相同"),
        (r"the same integer", r"整数相同"),
        (r"the same (\d+) decimals?", r"\1 位小数相同"),
        (r"at most (NUMBER)", r"不超过 \1"),
        (r"within (NUMBER)", r"相差不超过 \1"),
        (
            r"would detect (NUMBER) or (NUMBER)",
            r"印出的值若变动 \1 或 \2 即可察觉",
        ),
        (
            r"is (NUMBER) off, (NUMBER) standard errors",
            r"实际相差 \1，即 \2 个标准误差",
        ),
        (r"([<>=]+ NUMBER)", r"\1"),
        (
            r"([<>=]+ NUMBER), interval (\[NUMBER, NUMBER\])",
            r"\1，区间 \2",
        ),
        (r"control (NUMBER) fails it", r"对照为 \1，不满足"),
        (r"control (NUMBER) meets it", r"对照为 \1，也满足"),
        (r"other reading: (.*) holds", r"另一种解读：\1，成立"),
        (r"other reading: (.*) fails", r"另一种解读：\1，不成立"),
        (r"literature", r"文献"),
    )
]


class UnknownAgreement(Exception):
    """A bound that has no translation here."""


def _translate_part(part: str) -> str:
    for pattern, chinese in _PARTS:
        found = pattern.fullmatch(part)
        if found:
            return found.expand(chinese)
    raise UnknownAgreement(
        f'no Chinese for "{part}": add it to analysis/report/agreement.py'
    )


def translate(bound: str) -> Text:
    """The bound in both languages. UnknownAgreement when a part is new."""
    return Text(bound, "；".join(map(_translate_part, bound.split("; "))))
