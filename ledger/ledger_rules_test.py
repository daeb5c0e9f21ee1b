"""Each way of spoiling a ledger is noticed."""

import copy
import json
import unittest

from ledger import ledger_rules


def measured(claim_id, **fields):
    return {
        "id": claim_id,
        "section": "2",
        "statement": "A statement.",
        "statement_zh": "一个陈述。",
        "published": "0.5",
        "experiment": claim_id.split(".")[0],
        "pointer": "/mean",
        "kind": "exact",
        "check": {},
        "expected": "holds",
        **fields,
    }


def cited(claim_id):
    claim = measured(claim_id, kind="cited")
    for field in ("experiment", "pointer", "expected"):
        del claim[field]
    return claim


def sound_parts():
    """A small ledger with nothing wrong."""
    coverage = [
        {"paragraph": n, "about": "a heading", "reason": "names its section"}
        for n in range(1, 92)
    ]
    coverage[1] = {"paragraph": 2, "about": "the lab",
                   "claims": ["lab.mean", "literature.paper"],
                   "pending": "the shop's second floor"}
    coverage[2] = {"paragraph": 3, "about": "the shop",
                   "claims": ["shop.mean", "lab.mean"]}
    return {
        "claims": [
            measured("lab.mean"),
            measured("shop.mean", kind="qualitative", pointer="/rows/1/x~1y",
                     check={"op": "<", "value": 1,
                            "control_pointer": "/rows/0/control"}),
            cited("literature.paper"),
        ],
        "coverage": coverage,
        "faults": [
            {"file": "attention/softmax.cc", "find": "a + b",
             "replace": "a - b", "claims": ["lab.mean", "shop.mean"]},
            {"file": "base/random/random.cc", "find": "2", "replace": "3",
             "claims": ["shop.mean"]},
        ],
        "experiments": ["lab", "shop"],
        "results": {
            "lab": {"mean": 0.5},
            "shop": {"rows": [{"control": 2}, {"x/y": 0}], "~": [1]},
        },
        "sources": {"attention/softmax.cc": "x = a + b;",
                    "base/random/random.cc": "y = 2 * x;"},
    }


class SpoiledLedgerTest(unittest.TestCase):
    def problems(self, spoil=None):
        parts = sound_parts()
        if spoil:
            spoil(parts)
        return ledger_rules.Ledger(**parts).problems()

    def assert_problems(self, spoil, *expected):
        self.assertEqual(self.problems(spoil), list(expected))

    def test_sound(self):
        self.assertEqual(self.problems(), [])

    def test_duplicate_id(self):
        self.assert_problems(
            lambda parts: parts["claims"].append(measured("lab.mean")),
            "claim lab.mean: 2 claims have this id")

    def test_claim_without_paragraph(self):
        def spoil(parts):
            parts["claims"].append(cited("literature.other"))

        self.assert_problems(
            spoil,
            "claim literature.other: no paragraph in coverage refers to it")

    def test_claim_texts(self):
        def spoil(parts):
            parts["claims"][0]["statement"] = "均值"
            parts["claims"][0]["statement_zh"] = "The mean."
            parts["claims"][0]["section"] = "two"

        self.assert_problems(
            spoil,
            "claim lab.mean: the English statement has Chinese characters",
            "claim lab.mean: the Chinese statement has no Chinese characters",
            "claim lab.mean: section 'two' is no number")

    def test_claim_ids(self):
        def rename(parts, old, new):
            text = json.dumps({key: parts[key] for key in
                               ("claims", "coverage", "faults")})
            parts.update(json.loads(text.replace(old, new)))

        self.assert_problems(
            lambda parts: rename(parts, "lab.mean", "lab.Mean"),
            "claim lab.Mean: the id is not experiment.what in lower case")
        self.assert_problems(
            lambda parts: rename(parts, "lab.mean", "lib.mean"),
            "claim lib.mean: the id does not begin with lab.")
        self.assert_problems(
            lambda parts: rename(parts, "literature.paper", "lab.paper"),
            "claim lab.paper: a cited claim's id begins with literature.")

    def test_pointer_to_nothing(self):
        for pointer in ("/median", "mean", "/mean/0", ""):
            def spoil(parts, pointer=pointer):
                parts["claims"][0]["pointer"] = pointer

            expected = [] if pointer == "" else [
                f"claim lab.mean: pointer {pointer} resolves to nothing in the "
                "results"]
            self.assert_problems(spoil, *expected)

        def spoil_control(parts):
            parts["claims"][1]["check"]["control_pointer"] = "/rows/2/control"

        self.assert_problems(
            spoil_control,
            "claim shop.mean: check.control_pointer /rows/2/control resolves "
            "to nothing in the results")

    def test_multiple(self):
        def spoil(parts):
            parts["claims"][0].update(
                kind="statistical",
                check={"error_pointer": "/mean", "multiple": 5})

        self.assert_problems(spoil, "claim lab.mean: the multiple is 5, not 4")

    def test_experiment_that_nobody_makes(self):
        def spoil(parts):
            parts["experiments"][0] = "lob"
            parts["results"]["lob"] = parts["results"]["lab"]

        self.assert_problems(
            spoil,
            "experiment lab: claims, but it is not among EXPERIMENTS of "
            "experiments/BUILD, so nobody checks them",
            "experiment lob: no claim")

    def test_experiment_without_results(self):
        self.assert_problems(
            lambda parts: parts["results"].pop("lab"),
            "experiment lab: //experiments:lab_results has no results")

    def test_gap_in_coverage(self):
        for index in (0, 44, 90):
            self.assert_problems(
                lambda parts, index=index: parts["coverage"].pop(index),
                f"coverage: paragraph {index + 1} is missing")

    def test_paragraph_twice(self):
        self.assert_problems(
            lambda parts: parts["coverage"].append(
                copy.deepcopy(parts["coverage"][7])),
            "coverage: paragraph 8 has several entries")

    def test_no_such_paragraph(self):
        for number in (0, 92, "3"):
            def spoil(parts, number=number):
                parts["coverage"].append({"paragraph": number, "about": "x",
                                          "reason": "y"})

            self.assert_problems(
                spoil, f"coverage: no paragraph {number} in 1 to 91")

    def test_coverage_of_an_unknown_claim(self):
        self.assert_problems(
            lambda parts: parts["coverage"][1]["claims"].append("lab.median"),
            "coverage of paragraph 2: no claim lab.median in the ledger")

    def test_coverage_entries(self):
        def place(entry):
            return lambda parts: parts["coverage"].__setitem__(
                4, {"paragraph": 5, **entry})

        prefix = "coverage of paragraph 5: "
        nothing = prefix + "neither claims nor a reason nor what is pending"
        self.assert_problems(place({"about": "x"}), nothing)
        self.assert_problems(place({"about": "x", "claims": []}), nothing)
        self.assert_problems(place({"reason": "x"}), prefix + "no field about")
        self.assert_problems(place({"about": " ", "reason": "x"}),
                             prefix + "about is not a text")
        self.assert_problems(place({"about": "x", "reason": 5}),
                             prefix + "reason is not a text")
        self.assert_problems(place({"about": "x", "pending": "y", "by": "z"}),
                             prefix + "unknown field by")
        self.assert_problems(
            place({"about": "x", "claims": ["lab.mean", "lab.mean"]}),
            prefix + "a claim is listed twice")
        self.assert_problems(place({"about": "x", "pending": "y"}))

    def test_faults(self):
        def place(**fields):
            return lambda parts: parts["faults"][1].update(fields)

        self.assert_problems(
            place(find="x"), )
        self.assert_problems(
            place(find="z"), "fault 1 in base/random/random.cc: 'z' occurs 0 times")
        self.assert_problems(
            place(find=" "), "fault 1 in base/random/random.cc: ' ' occurs 4 times")
        self.assert_problems(
            place(find=""), "fault 1 in base/random/random.cc: '' occurs 0 times")
        self.assert_problems(
            place(replace="2"), "fault 1 in base/random/random.cc: it changes nothing")
        self.assert_problems(
            place(file="base/randon.cc"),
            "fault 1 in base/randon.cc: no such source")
        self.assert_problems(
            place(claims=[]), "fault 1 in base/random/random.cc: it names no claim")
        for claim_id in ("lab.median", "literature.paper"):
            self.assert_problems(
                place(claims=[claim_id]),
                f"fault 1 in base/random/random.cc: no measured claim {claim_id}")
        self.assert_problems(
            place(note="x"), "fault 1: its fields must be "
            "['claims', 'file', 'find', 'replace']")

    def test_claim_without_fault(self):
        self.assert_problems(
            lambda parts: parts["faults"][0]["claims"].remove("lab.mean"),
            "claim lab.mean: no known fault in faults.json fails it")


if __name__ == "__main__":
    unittest.main()
