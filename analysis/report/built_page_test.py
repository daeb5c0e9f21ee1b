"""Tests the report page as built, and the documents' figures."""

import json
import re
import unittest
from collections import Counter
from html.parser import HTMLParser
from pathlib import Path

from analysis.report import contents, docs

FOLDER = Path(__file__).parent
ANALYSIS = FOLDER.parent
ROOT = ANALYSIS.parent
_VOID = {"meta", "input", "br", "hr", "img", "link", "wbr"}
_LOADS = re.compile(r"url\((?!#)|@import|<script|<link|<img|<iframe", re.I)


class Page(HTMLParser):
    """Collects what the tests ask for, and every nesting error."""

    def __init__(self):
        super().__init__()
        self.open = []  # (tag, attributes)
        self.problems = []
        self.ids = Counter()
        self.references = []
        self.loads = []
        self.rows = {}  # id of a claim's row: its class
        self.row_text = {}
        self.languages = Counter()
        self.unlabelled = []

    def handle_starttag(self, tag, attrs):
        attributes = dict(attrs)
        if len(attributes) != len(attrs):
            self.problems.append(f"<{tag}> repeats an attribute")
        if "id" in attributes:
            self.ids[attributes["id"]] += 1
        for name in ("href", "xlink:href", "for", "src"):
            value = attributes.get(name)
            if value is None:
                continue
            if name == "for":
                self.references.append(value)
            elif value.startswith("#"):
                self.references.append(value[1:])
            else:
                self.loads.append(f"<{tag} {name}={value}>")
        for value in attributes.values():
            self.references += re.findall(r"url\(#([^)]+)\)", value or "")
        if tag == "tr" and attributes.get("id", "").startswith("claim-"):
            self.rows[attributes["id"]] = attributes["class"]
        hidden = attributes.get("aria-hidden") == "true"
        if tag == "svg" and not hidden and not attributes.get("aria-label"):
            self.unlabelled.append(self.getpos())
        if "lang" in attributes:
            self.languages[attributes["lang"]] += 1
        if tag not in _VOID:
            self.open.append((tag, attributes))

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        if tag not in _VOID:
            self.open.pop()

    def handle_endtag(self, tag):
        if not self.open or self.open[-1][0] != tag:
            self.problems.append(f"</{tag}> at {self.getpos()} closes nothing")
        else:
            self.open.pop()

    def handle_data(self, data):
        for tag, attributes in self.open:
            if tag == "tr" and attributes.get("id") in self.rows:
                row = attributes["id"]
                self.row_text[row] = self.row_text.get(row, "") + " " + data


class BuiltPage(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.html = (FOLDER / "report.html").read_text(encoding="utf-8")
        cls.page = Page()
        cls.page.feed(cls.html)
        cls.page.close()
        cls.contents = contents.read(ANALYSIS / "contents.bzl")
        cls.ledger = json.loads(
            (ROOT / "testdata" / "claims.json").read_text(encoding="utf-8")
        )

    def test_well_formed(self):
        self.assertEqual(self.page.problems, [])
        self.assertEqual(self.page.open, [])

    def test_ids_are_unique_and_references_resolve(self):
        repeated = [name for name, n in self.page.ids.items() if n > 1]
        self.assertEqual(repeated, [])
        dangling = set(self.page.references) - set(self.page.ids)
        self.assertEqual(dangling, set())

    def test_nothing_is_loaded(self):
        self.assertEqual(self.page.loads, [])
        self.assertEqual(_LOADS.findall(self.html), [])

    def test_every_claim_once_with_its_verdict(self):
        verdicts = {}
        for section in self.contents.sections:
            name = section.experiment
            path = ROOT / "experiments" / name / f"{name}.verified.json"
            for row in json.loads(path.read_text(encoding="utf-8"))["claims"]:
                verdicts[f"claim-{row['id']}"] = row["verdict"]
        for row in self.ledger:
            if row["kind"] == "cited":
                verdicts[f"claim-{row['id']}"] = "not tested"
        self.assertEqual(set(self.page.rows), set(verdicts))
        self.assertEqual(len(self.page.rows), len(self.ledger))
        for row, verdict in verdicts.items():
            self.assertEqual(
                self.page.rows[row], verdict.replace("_", "-").replace(" ", "-")
            )
            self.assertIn(verdict.replace("_", " "), self.page.row_text[row])

    def test_every_claim_says_what_was_printed(self):
        for row in self.ledger:
            text = self.page.row_text[f"claim-{row['id']}"]
            self.assertIn(row["statement"], text)
            self.assertIn(row["statement_zh"], text)
            if row["published"] is not None:
                self.assertIn(row["published"], text)

    def test_both_languages(self):
        self.assertIn('<html lang="en">', self.html)
        # The page itself is the one more; coverage is in English only.
        english = self.page.languages["en"] - 1
        english -= self.html.count('lang="en" class="both"')
        self.assertEqual(english, self.page.languages["zh-Hans"])
        self.assertEqual(set(self.page.languages), {"en", "zh-Hans"})

    def test_figures_speak(self):
        self.assertEqual(self.page.unlabelled, [])
        for figure in self.contents.figures():
            self.assertIn(f"figure-{figure.name}", self.page.ids)

    def test_placeholders_are_filled(self):
        self.assertEqual(re.findall(r"\{\{|\{%", self.html), [])


class Documents(unittest.TestCase):
    def test_committed_figures_are_up_to_date(self):
        stale = docs.stale(ANALYSIS / "figures", ROOT / "docs" / "figures")
        self.assertEqual(stale, [], f"run: {docs.UPDATE}")


if __name__ == "__main__":
    unittest.main()
