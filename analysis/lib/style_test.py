"""Tests of the style: colours can be told apart and read, fonts are there."""

import io
import unittest
from unittest import mock

from analysis.lib import style

_MARKS = (
    style.ORANGE,
    style.SKY_BLUE,
    style.GREEN,
    style.BLUE,
    style.VERMILLION,
    style.PURPLE,
    style.YELLOW,
)


class Colors(unittest.TestCase):
    def test_luminance_and_contrast_of_known_colours(self):
        # WCAG 2: black on white is 21; #777777 on white is 4.48, just short.
        self.assertAlmostEqual(style.contrast("#000000", "#FFFFFF"), 21)
        self.assertAlmostEqual(style.contrast("#FFFFFF", "#777777"), 4.48, 2)
        self.assertAlmostEqual(style.relative_luminance("#FF0000"), 0.2126)
        self.assertAlmostEqual(style.relative_luminance("#00FF00"), 0.7152)
        self.assertAlmostEqual(style.relative_luminance("#0000FF"), 0.0722)

    def test_text_reads_on_paper(self):
        for color in (*_MARKS, style.INK, style.QUIET):
            self.assertGreaterEqual(
                style.contrast(style.text_color(color), style.PAPER), 4.5, color
            )

    def test_a_dark_colour_stays(self):
        self.assertEqual(style.text_color(style.BLUE), style.BLUE)


class Fonts(unittest.TestCase):
    def test_a_missing_font_names_its_package(self):
        with mock.patch.dict(style.FONTS, {"No Such Font": "fonts-none"}):
            with self.assertRaisesRegex(
                style.FontError, "No Such Font.*fonts-none.*tools/setup"
            ):
                style.apply()

    def render(self, text):
        style.apply()
        figure = style.Figure(figsize=(3, 1))
        figure.text(0.1, 0.5, text)
        for kind in ("svg", "png"):
            figure.savefig(io.BytesIO(), format=kind)

    def test_both_languages_render(self):
        self.render("weight √dₖ 权重 Σp² 雅可比")

    def test_a_glyph_that_no_font_has_is_an_error(self):
        with self.assertRaisesRegex(UserWarning, "missing from"):
            self.render("\U000f0000")


if __name__ == "__main__":
    unittest.main()
