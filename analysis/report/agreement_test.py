"""Tests of the bounds' Chinese."""

import unittest

from analysis.report.agreement import UnknownAgreement, translate


class Translate(unittest.TestCase):
    def test_every_sentence(self):
        for english, chinese in (
            ("the same text", "文字相同"),
            ("the same integer", "整数相同"),
            ("the same 1 decimal", "1 位小数相同"),
            ("the same 3 decimals", "3 位小数相同"),
            ("at most 4.5e-16", "不超过 4.5e-16"),
            ("at most 0", "不超过 0"),
            (
                "within 0.0123; would detect +0.02 or -0.01",
                "相差不超过 0.0123；印出的值若变动 +0.02 或 -0.01 即可察觉",
            ),
            (
                "within 0.0123; is 0.5 off, 12.5 standard errors",
                "相差不超过 0.0123；实际相差 0.5，即 12.5 个标准误差",
            ),
            ("== 0; control 1 fails it", "== 0；对照为 1，不满足"),
            ("> 0; control -1.5e-07 meets it", "> 0；对照为 -1.5e-07，也满足"),
            (
                ">= 10, interval [9.5, 1e+02]; control -inf fails it",
                ">= 10，区间 [9.5, 1e+02]；对照为 -inf，不满足",
            ),
            ("literature", "文献"),
            (
                "the same integer; other reading: 7.5 fails",
                "整数相同；另一种解读：7.5，不成立",
            ),
            (
                "the same text; other reading: (2, 5) holds",
                "文字相同；另一种解读：(2, 5)，成立",
            ),
        ):
            text = translate(english)
            self.assertEqual((text.en, text.zh), (english, chinese))

    def test_a_new_part_is_an_error(self):
        for bound, part in (
            ("roughly equal", "roughly equal"),
            ("at most x", "at most x"),
            ("the same 3 decimals or so", "the same 3 decimals or so"),
            ("at most 1; or so", "or so"),
        ):
            with self.assertRaisesRegex(UnknownAgreement, f'"{part}"'):
                translate(bound)


if __name__ == "__main__":
    unittest.main()
