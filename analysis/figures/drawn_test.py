"""Tests one figure as built: drawn_test.py NAME EXPERIMENT ...

Draws it again from the same verified results, in this other process.
"""

import importlib
import sys
import unittest
from pathlib import Path

from analysis.lib import figure, style
from analysis.lib.figure import drawn_from
from analysis.lib.language import LANGUAGES
from analysis.lib.testing import layout_problems
from analysis.lib.verified import Verified

from matplotlib.text import Text as Artist  # noqa: E402

NAME, *EXPERIMENTS = sys.argv[1:]
FOLDER = Path(__file__).parent
ROOT = FOLDER.parent.parent
LEAST_TEXT_SIZE = 6.5  # points


class Drawn(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.script = importlib.import_module(f"analysis.figures.{NAME}")
        cls.canvases = {language: [] for language in LANGUAGES}
        cls.drawn = {}
        for language in LANGUAGES:
            inputs = {
                name: Verified.load(
                    name,
                    ROOT / "experiments" / name / f"{name}.verified.json",
                )
                for name in EXPERIMENTS
            }
            cls.drawn[language] = figure.draw(
                cls.script.__file__,
                cls.script.PANELS,
                inputs,
                language,
                inspect=cls.canvases[language].append,
            )

    def test_the_same_bytes_as_the_build(self):
        for language in LANGUAGES:
            stem = f"{NAME}.{language}"
            svg = (FOLDER / f"{stem}.svg").read_bytes()
            self.assertEqual(svg.decode(), self.drawn[language].svg)
            self.assertEqual(
                (FOLDER / f"{stem}.png").read_bytes(), self.drawn[language].png
            )
            self.assertTrue(drawn_from(svg))

    def test_no_label_is_cut_off_or_covered(self):
        for language in LANGUAGES:
            for canvas in self.canvases[language]:
                self.assertEqual(layout_problems(canvas), [], language)

    def test_column_width(self):
        for canvas in self.canvases["en"]:
            self.assertLessEqual(canvas.get_figwidth(), style.PANEL_WIDTH)

    def test_labels_are_large_enough(self):
        for language in LANGUAGES:
            for canvas in self.canvases[language]:
                for artist in canvas.findobj(Artist):
                    self.assertGreaterEqual(
                        artist.get_fontsize(),
                        LEAST_TEXT_SIZE,
                        artist.get_text(),
                    )

    def test_axes_with_ticks_are_labelled(self):
        for canvas in self.canvases["en"]:
            for axes in canvas.axes:
                if not axes.axison:
                    continue
                for axis, siblings in (
                    (axes.xaxis, axes.get_shared_x_axes()),
                    (axes.yaxis, axes.get_shared_y_axes()),
                ):
                    if len(axis.get_ticklocs()) == 0:
                        continue
                    labels = [
                        getattr(other, axis.axis_name + "axis").get_label_text()
                        for other in siblings.get_siblings(axes)
                    ]
                    self.assertTrue(any(labels), axes.get_title(loc="left"))

    def test_shapes_only(self):
        for language in LANGUAGES:
            self.assertNotIn("<image", self.drawn[language].svg)

    def test_both_languages_speak(self):
        for language in LANGUAGES:
            text = "".join(
                artist.get_text()
                for canvas in self.canvases[language]
                for artist in canvas.findobj(Artist)
            )
            has_chinese = any("\u4e00" <= letter <= "\u9fff" for letter in text)
            self.assertEqual(has_chinese, language == "zh")
            for panel in self.drawn[language].panels:
                self.assertTrue(panel.description)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
