"""The project's own ledger has no problem."""

import json
import pathlib
import unittest

from testdata import ledger


def read_json(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


class LedgerTest(unittest.TestCase):
    def test_ledger(self):
        results = {
            path.stem: read_json(path)["results"]
            for path in pathlib.Path("experiments").glob("*.json")
        }
        sources = {
            str(path): path.read_text(encoding="utf-8")
            for folder in ("attention", "base", "experiments", "model")
            for suffix in ("cc", "h")
            for path in pathlib.Path(folder).rglob("*." + suffix)
        }
        problems = ledger.Ledger(
            claims=read_json("testdata/claims.json"),
            coverage=read_json("testdata/coverage.json"),
            faults=read_json("testdata/faults.json"),
            build=pathlib.Path("experiments/BUILD").read_text(encoding="utf-8"),
            results=results,
            sources=sources,
        ).problems()
        self.assertEqual(problems, [], "\n" + "\n".join(problems))


if __name__ == "__main__":
    unittest.main()
