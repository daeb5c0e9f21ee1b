"""Tests of the page's parts, on small data of the tests' own."""

import contextlib
import io
import json
import tempfile
import unittest
from pathlib import Path

from analysis.report import contents, page
from analysis.lib.judged_claims import count_verdicts, join_claims
from analysis.lib.testing import document, example, ledger
from analysis.lib.verified import ResultError, Verified

_CONTENTS = '''"""Sections."""

OVERVIEW = [
    {"name": "all", "caption_en": "All.", "caption_zh": "全部。"},
]

SECTIONS = [
    {
        "experiment": "example",
        "title_en": "Title",
        "title_zh": "标题",
        "question_en": """A question over
            {{ parameter('example', 'keys') }} keys?""",
        "question_zh": "问题？",
        "figures": [
            {
                "name": "curve",
                "chapter_figure": "6.9",
                "caption_en": "Caption.",
                "caption_zh": "说明。",
            },
        ],
    },
]
'''
_PANEL = {
    "width": 3,
    "height": 2,
    "body": '<g id="g"/>',
    "description": "d",
    "glyphs": {"glyph-a": 'd="1"'},
}
_PANELS = {
    "all": {"en": [_PANEL], "zh": [_PANEL]},
    "curve": {"en": [_PANEL], "zh": [_PANEL, _PANEL]},
}
_PARAGRAPHS = [
    {"paragraph": 2, "about": "words", "reason": "nothing to test"},
    {"paragraph": 1, "about": "output", "claims": ["example.output"]},
    {
        "paragraph": 3,
        "about": "heads",
        "claims": ["example.words"],
        "pending": "later",
    },
]


def build(
    rows=None,
    inputs=None,
    panels=None,
    source=_CONTENTS,
    paragraphs=_PARAGRAPHS,
):
    return page.build(
        report=contents.parse(source),
        ledger=ledger() if rows is None else rows,
        paragraphs=paragraphs,
        inputs=example() if inputs is None else inputs,
        panels={
            name: page.read_panels(figure)
            for name, figure in (_PANELS if panels is None else panels).items()
        },
        style="",
    )


class Contents(unittest.TestCase):
    def test_fields(self):
        (section,) = contents.parse(_CONTENTS).sections
        self.assertEqual(section.experiment, "example")
        self.assertEqual(section.title.zh, "标题")
        self.assertEqual(section.figures[0].chapter_figure, "6.9")

    def test_a_missing_field_names_its_entry(self):
        for field, words in (
            ("experiment", "an entry"),
            ("title_zh", '"example"'),
            ("question_en", '"example"'),
            ("figures", '"example"'),
            ("name", "the overview"),
            ("caption_zh", '"all"'),
        ):
            source = _CONTENTS.replace(f'"{field}"', '"other"')
            with self.assertRaisesRegex(
                contents.ContentsError, field
            ) as caught:
                contents.parse(source)
            self.assertIn(words, str(caught.exception))

    def test_figures_in_order(self):
        report = contents.parse(_CONTENTS)
        self.assertEqual([f.name for f in report.figures()], ["all", "curve"])

    def test_a_missing_list_is_named(self):
        for name in ("OVERVIEW", "SECTIONS"):
            with self.assertRaisesRegex(contents.ContentsError, name):
                contents.parse(_CONTENTS.replace(name, "OTHER"))


class Ledger(unittest.TestCase):
    def test_counts(self):
        self.assertEqual(
            count_verdicts(join_claims(ledger(), example())),
            {"holds": 1, "one_reading": 0, "fails": 1, "not tested": 1},
        )

    def test_an_experiment_without_a_section(self):
        with self.assertRaisesRegex(
            ResultError, "example.output.*contents.bzl"
        ):
            join_claims(ledger(), {})

    def test_results_judged_against_another_ledger(self):
        for field, value in (("published", "1.51"), ("expected", "fails")):
            rows = ledger()
            rows[0][field] = value
            with self.assertRaisesRegex(ResultError, "example.output.*another"):
                join_claims(rows, example())
        rows = ledger()
        rows[0]["id"] = "example.new"
        with self.assertRaisesRegex(ResultError, "example.new"):
            join_claims(rows, example())


class Build(unittest.TestCase):
    def test_every_claim_once_with_its_verdict(self):
        html = build()
        for claim_id, verdict in (
            ("example.output", "holds"),
            ("example.words", "fails"),
            ("cited.heads", "not-tested"),
        ):
            row = f'class="{verdict}" id="claim-{claim_id}"'
            self.assertEqual(html.count(row), 1)
            self.assertEqual(html.count(f'id="claim-{claim_id}"'), 1)

    def test_what_fails_is_listed_on_top(self):
        html = build()
        head = html[: html.index("<main>")]
        self.assertIn('href="#claim-example.words"', head)
        self.assertNotIn('href="#claim-example.output"', head)

    def test_a_ledger_that_holds_says_so(self):
        changed = [row for row in ledger() if row["id"] != "example.words"]
        self.assertIn("Every claim that can be tested holds.", build(changed))

    def test_texts_are_filled_and_escaped(self):
        rows = ledger()
        rows[0]["statement"] = "a < b & c"
        html = build(rows)
        self.assertIn("A question over 16 keys?", html)
        self.assertIn("a &lt; b &amp; c", html)

    def test_panels_of_both_languages(self):
        html = build()
        for prefix in ("curve-en-0-g", "curve-zh-0-g", "curve-zh-1-g"):
            self.assertEqual(html.count(f'id="{prefix}"'), 1)
        self.assertIn("the chapter&#39;s figure 6.9", html)
        self.assertIn("对应书中图 6.9", html)

    def test_glyphs_once(self):
        self.assertEqual(build().count('id="glyph-a"'), 1)

    def test_parameters(self):
        html = build()
        for flag in ("--keys=16", "--scaled=true", "--width=2.5"):
            self.assertIn(f"<li><code>{flag}</code></li>", html)
        self.assertIn("bazel run //experiments:example -- --keys=16", html)

    def test_what_is_missing_is_named(self):
        with self.assertRaisesRegex(ResultError, "example"):
            build(inputs={})
        for name in ("all", "curve"):
            panels = {key: _PANELS[key] for key in _PANELS if key != name}
            with self.assertRaisesRegex(ResultError, f'"{name}"'):
                build(panels=panels)

    def test_the_same_page_every_time(self):
        self.assertEqual(build(), build())


class Coverage(unittest.TestCase):
    def counts(self, paragraphs):
        return [count for count, _ in page.coverage_counts(paragraphs)]

    def test_counts(self):
        # All, with claims, with a reason only, with something pending.
        self.assertEqual(self.counts(_PARAGRAPHS), [3, 2, 1, 1])

    def test_a_reason_beside_claims_is_no_second_paragraph(self):
        both = {"claims": ["example.output"], "reason": "the rest is a title"}
        self.assertEqual(self.counts([both]), [1, 1, 0, 0])

    def test_paragraphs_in_order_with_links(self):
        html = build()
        html = html[html.index('<section id="coverage">') :]
        places = [html.index(f'<li value="{n}">') for n in (1, 2, 3)]
        self.assertEqual(places, sorted(places))
        self.assertIn('href="#claim-example.output"', html)
        self.assertIn("heads – later</div>", html)
        self.assertIn("words – nothing to test</div>", html)


class Provenance(unittest.TestCase):
    def test_equal_provenance_is_one_row(self):
        inputs = {**example(), "second": example()["example"]}
        ((values, names),) = page.provenance_rows(inputs)
        self.assertEqual(names, ["example", "second"])
        self.assertEqual(values["threads"], "1")
        inputs["second"].provenance["threads"] = 2
        self.assertEqual(
            [
                (values["threads"], names)
                for values, names in page.provenance_rows(inputs)
            ],
            [("1", ["example"]), ("2", ["second"])],
        )

    def test_a_row_of_the_page(self):
        html = build()
        html = html[html.index('<section id="provenance">') :]
        self.assertIn("<td><code>example</code></td>", html)
        self.assertIn(
            '<td data-en="threads" data-zh="线程数"><div>1</div></td>', html
        )


class Filter(unittest.TestCase):
    def test_one_button_for_each_section_of_the_chapter(self):
        html = build()
        self.assertEqual(html.count('type="radio" class="switch" name="claims"'), 3)
        for group in ("section-2", "section-4"):
            self.assertEqual(html.count(f'<tbody class="{group}">'), 1)
            self.assertEqual(html.count(f'id="show-{group}"'), 1)
            self.assertIn(f"tbody:not(.{group})", html)


class Ours(unittest.TestCase):
    def test_a_deviation_says_so(self):
        rows, changed = ledger(), document()
        rows[0]["kind"] = "identity"
        changed["claims"][0]["ours"] = 0
        html = build(rows, {"example": Verified("example", changed)})
        self.assertIn(
            '<span lang="en">deviation </span>'
            '<span lang="zh-Hans">偏差 </span><span class="short">0</span>',
            html,
        )

    def test_a_long_text_may_wrap(self):
        changed = document()
        changed["claims"][1]["ours"] = "a text of many words"
        html = build(inputs={"example": Verified("example", changed)})
        self.assertIn("<div>a text of many words</div>", html)
        self.assertIn('<span class="short">1.4980</span>', html)


class Main(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def run_main(self, results, *more):
        names = {
            "contents.bzl": _CONTENTS,
            "claims.json": json.dumps(ledger()),
            "style.css": "p{}",
            "results.json": json.dumps(results),
            "panels.json": json.dumps(_PANELS["curve"]),
            "all.json": json.dumps(_PANELS["all"]),
            "coverage.json": json.dumps(_PARAGRAPHS),
        }
        for name, text in names.items():
            (self.folder / name).write_text(text, encoding="utf-8")
        stderr = io.StringIO()
        with contextlib.redirect_stderr(stderr):
            code = page.main(
                [
                    f"--contents={self.folder}/contents.bzl",
                    f"--ledger={self.folder}/claims.json",
                    f"--coverage={self.folder}/coverage.json",
                    f"--style={self.folder}/style.css",
                    f"--results=example={self.folder}/results.json",
                    f"--panels=all={self.folder}/all.json",
                    f"--panels=curve={self.folder}/panels.json",
                    f"--output={self.folder}/report.html",
                    *more,
                ]
            )
        return code, stderr.getvalue()

    def test_the_page_is_written(self):
        self.assertEqual(self.run_main(document()), (0, ""))
        self.assertEqual(
            (self.folder / "report.html").read_text(encoding="utf-8"),
            build().replace("<style></style>", "<style>p{}</style>"),
        )

    def test_a_verdict_that_is_off_writes_nothing(self):
        changed = document()
        changed["claims"][1]["verdict"] = "holds"
        code, line = self.run_main(changed)
        self.assertEqual(code, 1)
        self.assertRegex(line, "^page: claim example.words: .*\n$")
        self.assertFalse((self.folder / "report.html").exists())

    def test_a_rule_without_words_is_one_line(self):
        changed = document()
        changed["claims"][0]["agreement"]["rule"] = "so_so"
        code, line = self.run_main(changed)
        self.assertEqual(code, 1)
        self.assertRegex(line, '^page: .*"so_so".*\n$')

    def test_usage(self):
        self.assertEqual(self.run_main(document(), "--nothing")[0], 2)


if __name__ == "__main__":
    unittest.main()
