"""Tests that no number of the report is typed: the rules, then the files."""

import json
import re
import unittest
from pathlib import Path

from analysis.report import contents, typed_numbers
from analysis.lib.verified import Verified

FOLDER = Path(__file__).parent
ANALYSIS = FOLDER.parent
ROOT = ANALYSIS.parent
REPORT_SCRIPTS = (
    "agreement.py",
    "../lib/judged_claims.py",
    "page.py",
    "texts.py",
)


class Rules(unittest.TestCase):
    def test_contents(self):
        source = 'SECTIONS = [{"name": "f1", "caption_en": "TEXT"}]'
        for text, found in (
            ("no digit", 0),
            ("{{ published('e.a_1') }}", 0),
            ("{{ result('e', '/a/0', '.3f') }} of x", 0),
            ("about 0.5", 1),
            ("{{ result('e', '/a/0') }} of 16", 1),
        ):
            problems = typed_numbers.in_contents(source.replace("TEXT", text))
            self.assertEqual(len(problems), found, text)

    def test_strings_of_figure_scripts(self):
        for line, found in (
            ('say("weight", "权重")', 0),
            ('e.numbers("/sweep/0/x_1")', 0),
            ('e.published("soft_lookup.output_1")', 0),
            ('e.published(f"{E}.factor_10_{i}")', 0),
            ('f"{value:.3f} of {total}"', 0),
            ('color = "#0072B2"', 0),
            ('say("trace", "迹") + style.formula("1 − Σp²")', 0),
            ('say("c = 10", "c")', 1),
            ('f"c = 10 {x}"', 1),
            ('f"{x} = 10"', 1),
            ('axes.text(0, 0, "0.978")', 1),
        ):
            problems = typed_numbers.in_figure_script(f"x = 1\n{line}", set())
            self.assertEqual(len(problems), found, line)

    def test_docstrings_are_for_readers_of_the_code(self):
        source = '"""Figure 6.1."""\ndef f():\n    """At c = 10."""\n'
        self.assertEqual(typed_numbers.in_figure_script(source, set()), [])

    def test_numbers_of_figure_scripts(self):
        printed = {"0.978", "128", "2.5", "0.001", "0.500"}
        for line, found in (
            ("x = 0.978", ["0.978"]),
            ("x = [1, 128]", ["128"]),
            ("x = 128.0", ["128.0"]),
            ("x = 2.5 + 0.001 + 0.5", []),
        ):
            self.assertEqual(
                typed_numbers.in_figure_script(line, printed), found
            )

    def test_report_scripts(self):
        for line, found in (
            ('Text("claims", "论断")', 0),
            ('Text(f"Section {s}", "第 {} 节")', 0),
            ('f"<h2>{x}</h2>"', 0),
            ('Text("27 claims", "论断")', 1),
            ('say("a", "共 3 条")', 1),
        ):
            problems = typed_numbers.in_report_script(line)
            self.assertEqual(len(problems), found, line)

    def test_templates(self):
        for line, found in (
            ('<h2 id="a1">{{ both(Text("claims", "论断")) }}</h2>', 0),
            ("{{ claims[0].id }}{# 3 #}<style>p{top:2px}</style>", 0),
            ('<p>{{ Text("27 claims", "论断") }}</p>', 1),
            ('{% set x = Text("claims", "共 3 条") %}', 1),
            ("<p>All 27 claims</p>", 1),
        ):
            problems = typed_numbers.in_template(line)
            self.assertEqual(len(problems), found, line)


class Files(unittest.TestCase):
    def test_contents(self):
        source = (ANALYSIS / "contents.bzl").read_text(encoding="utf-8")
        self.assertEqual(typed_numbers.in_contents(source), [])

    def test_figure_scripts(self):
        report = contents.read(ANALYSIS / "contents.bzl")
        ledger = json.loads(
            (ROOT / "testdata" / "claims.json").read_text("utf-8")
        )
        printed = {
            row["published"]
            for row in ledger
            if re.fullmatch(r"-?\d+(\.\d+)?", row["published"] or "")
        }
        for section in report.sections:
            name = section.experiment
            path = ROOT / "experiments" / name / f"{name}.verified.json"
            for value in Verified.load(name, path).parameters.values():
                if type(value) in (int, float):
                    printed.add(f"{value:f}".rstrip("0").rstrip("."))
        scripts = [figure.name for figure in report.figures()]
        self.assertTrue(scripts)
        for name in scripts:
            source = (ANALYSIS / "figures" / f"{name}.py").read_text(encoding="utf-8")
            problems = typed_numbers.in_figure_script(source, printed)
            self.assertEqual(problems, [], name)

    def test_report_scripts(self):
        for name in REPORT_SCRIPTS:
            source = (FOLDER / name).read_text(encoding="utf-8")
            self.assertEqual(typed_numbers.in_report_script(source), [], name)

    def test_the_template(self):
        source = (FOLDER / "page.html").read_text(encoding="utf-8")
        self.assertEqual(typed_numbers.in_template(source), [])


if __name__ == "__main__":
    unittest.main()
