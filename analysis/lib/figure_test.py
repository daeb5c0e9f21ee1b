"""Tests of the frame of figures, on a figure of the tests' own."""

import contextlib
import functools
import io
import json
import tempfile
import unittest
from pathlib import Path

from analysis.lib import figure, svg
from analysis.lib.figure import Panel, drawn_from
from analysis.lib.testing import document, layout_problems
from analysis.lib.verified import Verified


def draw_curve(canvas, inputs, say):
    axes = canvas.add_subplot()
    axes.plot(
        inputs["example"].numbers("/curve/*/x"),
        [inputs["example"].number("/curve/0/y")] * 2,
        marker="o",
    )
    axes.set_title(say("Title", "标题"))
    axes.set_xlabel(say("weight", "权重"))
    return say("A  curve.", "一条曲线。")


def draw_missing(canvas, inputs, say):
    canvas.add_subplot()
    return str(inputs["example"].number("/nothing"))


PANELS = (Panel(draw_curve, height=2), Panel(draw_curve, height=2, width=3))


@functools.cache
def reference():
    """The document as it is, in English."""
    return drawn()


def drawn(changed=None, language="en", panels=PANELS, **kwargs):
    inputs = {"example": Verified("example", changed or document())}
    return figure.draw(__file__, panels, inputs, language, **kwargs)


class Draw(unittest.TestCase):
    def test_the_same_bytes_every_time(self):
        again = drawn()
        self.assertEqual(again.svg, reference().svg)
        self.assertEqual(again.png, reference().png)

    def test_wall_times_do_not_enter(self):
        changed = document()
        changed["measurements"]["seconds"] = 77
        again = drawn(changed)
        self.assertEqual(again.svg, reference().svg)
        self.assertEqual(again.png, reference().png)

    def test_results_and_language_do(self):
        changed = document()
        changed["results"]["curve"][0]["y"] = 1.25
        self.assertNotEqual(drawn(changed).svg, reference().svg)
        self.assertNotEqual(drawn(language="zh").svg, reference().svg)

    def test_digests(self):
        changed = document()
        changed["results"]["curve"][0]["y"] = 1.25
        first, other = reference(), drawn(changed)
        digest = drawn_from(first.svg.encode())
        self.assertRegex(digest, "^sha256:[0-9a-f]{64}$")
        self.assertEqual(drawn_from(first.png), digest)
        self.assertNotEqual(drawn_from(other.svg.encode()), digest)

    def test_the_digest_is_of_one_language(self):
        def draw_name(canvas, inputs, say):
            canvas.add_subplot().set_title(
                say(inputs["example"].text("/name"), "名称")
            )
            return ""

        inputs = {"example": Verified("example", document())}
        alone = figure.draw(__file__, [Panel(draw_name)], inputs, "zh").svg
        figure.draw(__file__, [Panel(draw_name)], inputs, "en")
        again = figure.draw(__file__, [Panel(draw_name)], inputs, "zh").svg
        self.assertEqual(alone, again)

    def test_panels(self):
        panels = drawn(language="zh").panels
        self.assertEqual([p.description for p in panels], ["一条曲线。"] * 2)
        self.assertEqual([p.width for p in panels], [252, 216])
        self.assertEqual(reference().panels[0].description, "A curve.")

    def test_letters_only_among_several_panels(self):
        titles = []
        inspect = lambda canvas: titles.append(
            canvas.axes[0].get_title(loc="left")
        )
        drawn(inspect=inspect)
        drawn(panels=PANELS[:1], inspect=inspect)
        self.assertEqual(titles, ["a   Title", "b   Title", "Title"])


class Layout(unittest.TestCase):
    def problems(self, *texts):
        def draw(canvas, inputs, say):
            axes = canvas.add_subplot()
            axes.set_xticks([])
            axes.set_yticks([])
            for x, y, text in texts:
                canvas.text(x, y, text)
            return ""

        found = []
        drawn(
            panels=[Panel(draw, height=2)],
            inspect=lambda canvas: found.extend(layout_problems(canvas)),
        )
        return found

    def test_texts_that_are_cut_off_or_covered(self):
        self.assertEqual(self.problems((0.1, 0.5, "fine"), (0.5, 0.5, "b")), [])
        self.assertEqual(
            self.problems((0.9, 0.5, "right edge")), ['"right edge" is cut off']
        )
        self.assertEqual(
            self.problems((-0.1, 0.5, "left edge")), ['"left edge" is cut off']
        )
        self.assertEqual(self.problems((0.1, 1.0, "top")), ['"top" is cut off'])
        self.assertEqual(
            self.problems((0.1, -0.05, "base")), ['"base" is cut off']
        )
        self.assertEqual(
            self.problems((0.1, 0.5, "one"), (0.12, 0.5, "two")),
            ['"two" covers "one"'],
        )


class Main(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def run_main(self, changed, panels=PANELS, arguments=None):
        results = self.folder / "example.verified.json"
        results.write_text(json.dumps(changed))
        stderr = io.StringIO()
        with contextlib.redirect_stderr(stderr):
            code = figure.main(
                __file__,
                "example",
                panels,
                arguments=arguments
                or [
                    f"--results=example={results}",
                    f"--output={self.folder}/out",
                ],
            )
        return code, stderr.getvalue()

    def test_files(self):
        self.assertEqual(self.run_main(document()), (0, ""))
        names = sorted(path.name for path in (self.folder / "out").iterdir())
        self.assertEqual(
            names,
            [
                "example.en.png",
                "example.en.svg",
                "example.panels.json",
                "example.zh.png",
                "example.zh.svg",
            ],
        )
        panels = json.loads(
            (self.folder / "out/example.panels.json").read_text()
        )
        self.assertEqual(svg.Drawing(**panels["en"][0]).description, "A curve.")
        self.assertEqual(len(panels["zh"]), 2)

    def test_a_verdict_that_is_off_draws_nothing(self):
        changed = document()
        changed["claims"][0]["verdict"] = "fails"
        code, line = self.run_main(changed)
        self.assertEqual(code, 1)
        self.assertRegex(line, "^example: claim example.output: .*\n$")
        self.assertFalse((self.folder / "out").exists())

    def test_a_missing_key_draws_nothing(self):
        code, line = self.run_main(document(), [Panel(draw_missing)])
        self.assertEqual(code, 1)
        self.assertRegex(line, '^example: .*"nothing".*\n$')
        self.assertFalse((self.folder / "out").exists())

    def test_usage(self):
        for arguments in (
            ["--nothing"],
            ["--results=x", "--output=y"],
            ["--output=y"],
        ):
            self.assertEqual(
                self.run_main(document(), arguments=arguments)[0], 2
            )


if __name__ == "__main__":
    unittest.main()
