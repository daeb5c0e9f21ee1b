"""The project's own ledger has no problem.

    ledger_test.py NAME ...      the experiments, whose results lie below
"""

import json
import pathlib
import sys
import unittest

from ledger import ledger_rules

# What the faults of faults.json are planted in.
FOLDERS = ("attention", "base", "experiments", "interpretability", "ledger", "model")


def read_json(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


class LedgerTest(unittest.TestCase):
    experiments = []

    def test_ledger(self):
        results = {
            name: read_json(f"experiments/{name}/{name}.json")["results"]
            for name in self.experiments
        }
        sources = {
            str(path): path.read_text(encoding="utf-8")
            for folder in FOLDERS
            for suffix in ("cc", "h")
            for path in pathlib.Path(folder).rglob("*." + suffix)
        }
        problems = ledger_rules.Ledger(
            claims=read_json("testdata/claims.json"),
            coverage=read_json("testdata/coverage.json"),
            faults=read_json("testdata/faults.json"),
            experiments=self.experiments,
            results=results,
            sources=sources,
        ).problems()
        self.assertEqual(problems, [], "\n" + "\n".join(problems))


if __name__ == "__main__":
    LedgerTest.experiments = sys.argv[1:]
    unittest.main(argv=sys.argv[:1])
