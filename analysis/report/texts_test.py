"""Tests of texts that ask for numbers."""

import unittest

from analysis.lib.language import Text
from analysis.lib.testing import example
from analysis.lib.verified import ResultError
from analysis.report.texts import fill, filled, ours_text


class Fill(unittest.TestCase):
    def test_every_kind(self):
        for text, expected in (
            ('p {{ published("example.output") }}', "p 1.50"),
            ('r {{ result("example", "/curve/0/y") }}', "r 1.5"),
            ('r {{ result("example", "/curve/0/y", ".3f") }}', "r 1.500"),
            ('r {{ result("example", "/curve/1/y") }}', "r Infinity"),
            ('r {{ result("example", "/curve/1/y", ".1f") }}', "r inf"),
            ('r {{ result("example", "/name") }}', "r tank"),
            (
                'k {{ parameter("example", "keys") }},'
                ' {{ parameter("example", "width") }}',
                "k 16, 2.5",
            ),
        ):
            self.assertEqual(fill(text, example()), expected)

    def test_what_stands_for_nothing_is_named(self):
        for expression in (
            'published("example.words")',
            'published("other.output")',
            'result("example", "/curv")',
            'result("other", "/curve")',
            'result("example", "/curve/0/y", "zz")',
            'result("example")',
            'parameter("example", "none")',
            'number("example", "/curve")',
            "number",
            "",
        ):
            with self.assertRaises(ResultError, msg=expression) as caught:
                fill(f"a {{{{ {expression} }}}}", example())
            self.assertIn(expression, str(caught.exception))

    def test_the_page_escapes_and_this_does_not(self):
        self.assertEqual(fill("a < b & \"c\"", {}), "a < b & \"c\"")

    def test_both_languages(self):
        text = Text("p {{ published('example.output') }}", "一 \n 个")
        self.assertEqual(filled(text, example()), Text("p 1.50", "一个"))

    def test_lines_are_joined(self):
        self.assertEqual(fill("two\n   words", {}), "two words")
        self.assertEqual(fill("一个\n   词。\n  另一个", {}), "一个词。另一个")
        self.assertEqual(fill("键\n  pump", {}), "键 pump")


class Ours(unittest.TestCase):
    def test_two_digits_more_than_printed(self):
        self.assertEqual(ours_text(0.24826, "0.248"), "0.24826")
        self.assertEqual(ours_text(3.0, "3"), "3.00")
        self.assertEqual(ours_text(-1.5, "-1.5"), "-1.500")

    def test_six_digits_without_a_printed_number(self):
        self.assertEqual(ours_text(1 / 3, None), "0.333333")
        self.assertEqual(ours_text(1 / 3, "1/3"), "0.333333")
        self.assertEqual(ours_text(5, None), "5")

    def test_texts(self):
        self.assertEqual(
            ours_text("(2, 1, 1, 5)", "(B, 1, 1, T)"), "(2, 1, 1, 5)"
        )
        self.assertEqual(ours_text("NaN", None), "NaN")


if __name__ == "__main__":
    unittest.main()
