"""Tests of texts with placeholders."""

import unittest

from analysis.report.template import fill, ours_text, without_placeholders
from analysis.lib.testing import example
from analysis.lib.verified import Judged, ResultError


class Fill(unittest.TestCase):
    def test_every_kind(self):
        for text, expected in (
            ("p {published:example.output}", "p 1.50"),
            ("o {ours:example.output}", "o 1.4980"),
            ("o {ours:example.words}", "o 3"),
            ("r {result:example:/curve/0/y}", "r 1.5"),
            ("r {result:example:/curve/0/y:.3f}", "r 1.500"),
            ("r {result:example:/curve/1/y}", "r Infinity"),
            ("r {result:example:/curve/1/y:.1f}", "r inf"),
            ("r {result:example:/name}", "r tank"),
            (
                "k {parameter:example:keys}, {parameter:example:width}",
                "k 16, 2.5",
            ),
        ):
            self.assertEqual(fill(text, example()), expected)

    def test_what_stands_for_nothing_is_named(self):
        for placeholder in (
            "published:example.words",
            "published:other.output",
            "result:example:/curv",
            "result:other:/curve",
            "result:example:/curve/0/y:zz",
            "parameter:example:none",
            "number:example:/curve",
            "",
        ):
            with self.assertRaises(ResultError, msg=placeholder):
                fill(f"a {{{placeholder}}}", example())

    def test_lines_are_joined(self):
        self.assertEqual(fill("two\n   words", {}), "two words")
        self.assertEqual(fill("一个\n   词。\n  另一个", {}), "一个词。另一个")
        self.assertEqual(fill("键\n  pump", {}), "键 pump")

    def test_own_words(self):
        self.assertEqual(without_placeholders("a {result:x:/1:.2f} b"), "a  b")


class Ours(unittest.TestCase):
    def shown(self, ours, published):
        return ours_text(Judged("i", published, ours, "", "holds", "holds"))

    def test_two_digits_more_than_printed(self):
        self.assertEqual(self.shown(0.24826, "0.248"), "0.24826")
        self.assertEqual(self.shown(3.0, "3"), "3.00")
        self.assertEqual(self.shown(-1.5, "-1.5"), "-1.500")

    def test_six_digits_without_a_printed_number(self):
        self.assertEqual(self.shown(1 / 3, None), "0.333333")
        self.assertEqual(self.shown(1 / 3, "1/3"), "0.333333")
        self.assertEqual(self.shown(5, None), "5")

    def test_texts(self):
        self.assertEqual(
            self.shown("(2, 1, 1, 5)", "(B, 1, 1, T)"), "(2, 1, 1, 5)"
        )
        self.assertEqual(self.shown("NaN", None), "NaN")


if __name__ == "__main__":
    unittest.main()
