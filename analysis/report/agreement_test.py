"""Tests of the words for what agreement meant."""

import unittest

from analysis.lib.verified import Judged
from analysis.report.agreement import UnknownAgreement, agreement_text


def judged(rule, published=None, **parts):
    return Judged(
        "i", published, 1, {"rule": rule, **parts}, "holds", "holds"
    )


class AgreementText(unittest.TestCase):
    def test_every_rule(self):
        within = {"reach": 0.01234, "distance": 0.5, "standard_errors": 12.48}
        inequality = {"threshold": 0, "control": 1, "control_fails": True}
        for claim, english, chinese in (
            (judged("same_text"), "the same text", "文字相同"),
            (
                judged("same_decimals", decimals=0),
                "the same integer",
                "整数相同",
            ),
            (
                judged("same_decimals", decimals=1),
                "the same 1 decimal",
                "1 位小数相同",
            ),
            (
                judged("same_decimals", decimals=3),
                "the same 3 decimals",
                "3 位小数相同",
            ),
            (
                judged("at_most", limit=4.5e-16),
                "at most 4.5e-16",
                "不超过 4.5e-16",
            ),
            (judged("at_most", limit=0), "at most 0", "不超过 0"),
            (
                judged(
                    "within",
                    detectable={"decimals": 2, "up": 0.02, "down": 0.01},
                    **within,
                ),
                "within 0.0123; would detect +0.02 or -0.01",
                "相差不超过 0.0123；印出的值若变动 +0.02 或 -0.01 即可察觉",
            ),
            (
                judged("within", **within),
                "within 0.0123; is 0.5 off, 12.5 standard errors",
                "相差不超过 0.0123；实际相差 0.5，即 12.5 个标准误差",
            ),
            (
                judged("inequality", op="==", **inequality),
                "== 0; control 1 fails it",
                "== 0；对照为 1，不满足",
            ),
            (
                judged(
                    "inequality",
                    op=">=",
                    threshold=10,
                    interval=[9.5, 100.04],
                    control=-1.5e-07,
                    control_fails=False,
                ),
                ">= 10, interval [9.5, 100]; control -1.5e-07 meets it",
                ">= 10，区间 [9.5, 100]；对照为 -1.5e-07，也满足",
            ),
            (judged("literature"), "literature", "文献"),
        ):
            text = agreement_text(claim)
            self.assertEqual((text.en, text.zh), (english, chinese))

    def test_the_other_reading(self):
        for published, ours, holds, english, chinese in (
            ("8", 7.5, False, "7.50 fails", "7.50，不成立"),
            ("8", 7, False, "7 fails", "7，不成立"),
            (None, 0.123456789, True, "0.123457 holds", "0.123457，成立"),
            ("(2, 5)", "(2, 5)", True, "(2, 5) holds", "(2, 5)，成立"),
        ):
            text = agreement_text(
                judged(
                    "same_text",
                    published,
                    other_reading={"ours": ours, "holds": holds},
                )
            )
            self.assertEqual(
                (text.en, text.zh),
                (
                    f"the same text; other reading: {english}",
                    f"文字相同；另一种解读：{chinese}",
                ),
            )

    def test_a_new_rule_is_an_error(self):
        with self.assertRaisesRegex(UnknownAgreement, '"roughly"'):
            agreement_text(judged("roughly"))


if __name__ == "__main__":
    unittest.main()
