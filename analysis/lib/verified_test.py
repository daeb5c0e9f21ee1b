"""Tests of verified results: what is refused, and how a value is found."""

import json
import tempfile
import unittest
from pathlib import Path

import numpy as np

from analysis.lib.testing import document
from analysis.lib.verified import ResultError, Verified


class Refused(unittest.TestCase):
    """What is not verified cannot be read."""

    def refused(self, changed, *words, experiment="example"):
        with self.assertRaises(ResultError) as caught:
            Verified(experiment, changed)
        for word in words:
            self.assertIn(word, str(caught.exception))

    def test_a_verdict_that_is_not_expected(self):
        changed = document()
        changed["claims"][1]["verdict"] = "holds"
        self.refused(changed, "example.words", "holds", "expected fails")

    def test_results_without_claims(self):
        changed = document()
        del changed["claims"]
        self.refused(changed, "not verified", "//experiments:example_verified")

    def test_a_missing_member(self):
        for member in ("experiment", "parameters", "results", "provenance"):
            changed = document()
            del changed[member]
            self.refused(changed, f'"{member}"')

    def test_another_experiment(self):
        self.refused(document(), "other", "example", experiment="other")

    def test_a_file_that_is_none(self):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "x.json"
            with self.assertRaisesRegex(ResultError, "x.json"):
                Verified.load("example", path)
            for text in ("{", "[]"):
                path.write_text(text)
                with self.assertRaisesRegex(ResultError, "x.json"):
                    Verified.load("example", path)
            path.write_text(json.dumps(document()))
            self.assertEqual(
                Verified.load("example", path).experiment, "example"
            )


class Read(unittest.TestCase):
    """Values by pointer."""

    def setUp(self):
        self.verified = Verified("example", document())

    def test_values(self):
        self.assertEqual(self.verified.number("/curve/0/y"), 1.5)
        self.assertEqual(self.verified.number("/curve/1/y"), np.inf)
        self.assertEqual(self.verified.text("/name"), "tank")
        self.assertEqual(self.verified.number("/a~1b/~0"), 7)
        np.testing.assert_array_equal(
            self.verified.numbers("/curve/*/x"), [0, 1]
        )
        np.testing.assert_array_equal(
            self.verified.numbers("/curve/*/y"), [1.5, np.inf]
        )

    def test_a_missing_key_names_itself_and_what_is_there(self):
        for pointer, words in (
            ("/curv", ("example", '"curv"', "curve", "name")),
            ("/curve/0/z", ('"/curve/0"', '"z"', "x, y")),
            ("/curve/*/z", ('"/curve/0"', '"z"')),
            ("/curve/2", ('"2"', "array of 2")),
            ("/curve/-1", ('"-1"', "array of 2")),
            ("/name/x", ('"x"', "tank")),
            ("curve", ('"curve"', '"/"')),
        ):
            with self.assertRaises(ResultError) as caught:
                self.verified.at(pointer)
            for word in words:
                self.assertIn(word, str(caught.exception))

    def test_another_type_than_asked_for(self):
        for call, pointer in (
            (self.verified.number, "/name"),
            (self.verified.number, "/curve"),
            (self.verified.text, "/curve/0/x"),
            (self.verified.numbers, "/name"),
            (self.verified.numbers, "/curve"),
        ):
            with self.assertRaisesRegex(ResultError, pointer):
                call(pointer)

    def test_rows_of_unequal_length(self):
        changed = document()
        changed["results"]["rows"] = [[1, 2], [3]]
        with self.assertRaisesRegex(ResultError, "/rows.*rectangular"):
            Verified("example", changed).numbers("/rows")

    def test_truth_values_are_no_numbers(self):
        changed = document()
        changed["results"]["yes"] = True
        with self.assertRaisesRegex(ResultError, "True, not a number"):
            Verified("example", changed).number("/yes")

    def test_published(self):
        self.assertEqual(self.verified.published("example.output"), 1.5)
        self.assertEqual(self.verified.published_text("example.output"), "1.50")
        with self.assertRaisesRegex(ResultError, "example.words.*no published"):
            self.verified.published("example.words")
        with self.assertRaisesRegex(ResultError, '"example.none"'):
            self.verified.published("example.none")


class Digest(unittest.TestCase):
    """The digest is of what was read, and of nothing else."""

    def digest(self, changed, pointer="/curve/0/y", claim="example.output"):
        verified = Verified("example", changed)
        verified.at(pointer)
        verified.published(claim)
        return verified.read_digest()

    def test_wall_times_do_not_enter(self):
        changed = document()
        changed["measurements"]["seconds"] = 99
        changed["results"]["name"] = "not read"
        self.assertEqual(self.digest(changed), self.digest(document()))

    def test_what_was_read_before_the_start_does_not(self):
        verified = Verified("example", document())
        fresh = verified.read_digest()
        verified.at("/name")
        self.assertNotEqual(verified.read_digest(), fresh)
        verified.start_reading()
        self.assertEqual(verified.read_digest(), fresh)

    def test_what_was_read_enters(self):
        result, published = document(), document()
        result["results"]["curve"][0]["y"] = 1.75
        published["claims"][0]["published"] = "1.51"
        digests = {
            self.digest(changed) for changed in (document(), result, published)
        }
        self.assertEqual(len(digests), 3)


if __name__ == "__main__":
    unittest.main()
