"""What must hold among claims, coverage, known faults and experiments.

    ledger = Ledger(claims=..., coverage=..., faults=..., experiments=...,
                    results=..., sources=...)
    for problem in ledger.problems():
        print(problem)

The fields of a single claim are checked where it is read (ParseLedger in
ledger/claims.h), and its verdict by its experiment's test.
"""

from __future__ import annotations

import collections
import re
from dataclasses import dataclass
from typing import Any, Collection, Iterator, Mapping

from ledger.json_pointer import PointerError, resolve

PARAGRAPHS = 91  # of the chapter: blocks between blank lines
MULTIPLE = 4  # standard errors in a statistical claim

_ID = re.compile(r"[a-z][a-z0-9_]*\.[a-z0-9_]+")
_CHINESE = re.compile(r"[\u4e00-\u9fff]")
_COVERAGE_TEXTS = ("about", "reason", "pending")
_FAULT_FIELDS = {"file", "find", "replace", "claims"}
_CITED = "cited"
_LITERATURE = "literature"


@dataclass(frozen=True)
class Ledger:
    """The three files, and what they speak of."""

    claims: list[dict[str, Any]]
    coverage: list[dict[str, Any]]
    faults: list[dict[str, Any]]
    experiments: Collection[str]  # of experiments/BUILD
    results: Mapping[str, Any]  # experiment: its `results`
    sources: Mapping[str, str]  # path: text

    def problems(self) -> list[str]:
        return [
            *self._claim_problems(),
            *self._experiment_problems(),
            *self._coverage_problems(),
            *self._fault_problems(),
        ]

    def _ids(self) -> set[str]:
        return {claim["id"] for claim in self.claims}

    def _claim_problems(self) -> Iterator[str]:
        counts = collections.Counter(claim["id"] for claim in self.claims)
        for claim_id, count in counts.items():
            if count > 1:
                yield f"claim {claim_id}: {count} claims have this id"
        for claim in self.claims:
            for problem in self._problems_of(claim):
                yield f"claim {claim['id']}: {problem}"

    def _problems_of(self, claim: dict[str, Any]) -> Iterator[str]:
        if not _ID.fullmatch(claim["id"]):
            yield "the id is not experiment.what in lower case"
        if _CHINESE.search(claim["statement"]):
            yield "the English statement has Chinese characters"
        if not _CHINESE.search(claim["statement_zh"]):
            yield "the Chinese statement has no Chinese characters"
        if not re.fullmatch(r"[1-9]\d*", claim["section"]):
            yield f"section {claim['section']!r} is no number"
        prefix = claim["id"].split(".")[0]
        if claim["kind"] == _CITED:
            if prefix != _LITERATURE:
                yield f"a cited claim's id begins with {_LITERATURE}."
            return
        if prefix != claim["experiment"]:
            yield f"the id does not begin with {claim['experiment']}."
        check = claim.get("check", {})
        if claim["kind"] == "statistical" and check["multiple"] != MULTIPLE:
            yield f"the multiple is {check['multiple']}, not {MULTIPLE}"
        results = self.results.get(claim["experiment"])
        if results is None:
            return  # the experiment's problem
        pointers = {"pointer": claim["pointer"]}
        pointers.update(
            (f"check.{field}", value)
            for field, value in check.items()
            if field.endswith("pointer")
        )
        for field, pointer in pointers.items():
            try:
                resolve(results, pointer)
            except PointerError:
                yield f"{field} {pointer} resolves to nothing in the results"

    def _experiment_problems(self) -> Iterator[str]:
        built = set(self.experiments)
        claimed = {
            claim["experiment"]
            for claim in self.claims
            if claim["kind"] != _CITED
        }
        for name in sorted(claimed - built):
            yield (
                f"experiment {name}: claims, but it is not among EXPERIMENTS of "
                "experiments/BUILD, so nobody checks them"
            )
        for name in sorted(built - claimed):
            yield f"experiment {name}: no claim"
        for name in sorted(built - set(self.results)):
            yield f"experiment {name}: //experiments:{name}_results has no results"

    def _coverage_problems(self) -> Iterator[str]:
        seen: collections.Counter[int] = collections.Counter()
        referred = set()
        ids = self._ids()
        for entry in self.coverage:
            number = entry.get("paragraph")
            seen[number] += 1
            if not isinstance(number, int) or not 1 <= number <= PARAGRAPHS:
                yield f"coverage: no paragraph {number} in 1 to {PARAGRAPHS}"
            for problem in self._coverage_entry_problems(entry):
                yield f"coverage of paragraph {number}: {problem}"
            for claim_id in entry.get("claims", []):
                referred.add(claim_id)
                if claim_id not in ids:
                    yield (
                        f"coverage of paragraph {number}: no claim {claim_id} "
                        "in the ledger"
                    )
        for number in range(1, PARAGRAPHS + 1):
            if seen[number] == 0:
                yield f"coverage: paragraph {number} is missing"
            elif seen[number] > 1:
                yield f"coverage: paragraph {number} has several entries"
        for claim_id in sorted(ids - referred):
            yield f"claim {claim_id}: no paragraph in coverage refers to it"

    def _coverage_entry_problems(
        self, entry: dict[str, Any]
    ) -> Iterator[str]:
        unknown = set(entry) - {"paragraph", "claims", *_COVERAGE_TEXTS}
        for field in sorted(unknown):
            yield f"unknown field {field}"
        if "about" not in entry:
            yield "no field about"
        for field in _COVERAGE_TEXTS:
            if field in entry and not (
                isinstance(entry[field], str) and entry[field].strip()
            ):
                yield f"{field} is not a text"
        if len(set(entry.get("claims", []))) != len(entry.get("claims", [])):
            yield "a claim is listed twice"
        if not any(entry.get(field) for field in ("claims", *_COVERAGE_TEXTS[1:])):
            yield "neither claims nor a reason nor what is pending"

    def _fault_problems(self) -> Iterator[str]:
        measured = {
            claim["id"] for claim in self.claims if claim["kind"] != _CITED
        }
        caught = set()
        for number, fault in enumerate(self.faults):
            place = f"fault {number}"
            if set(fault) != _FAULT_FIELDS:
                yield f"{place}: its fields must be {sorted(_FAULT_FIELDS)}"
                continue
            place = f"fault {number} in {fault['file']}"
            text = self.sources.get(fault["file"])
            if text is None:
                yield f"{place}: no such source"
            else:
                count = text.count(fault["find"]) if fault["find"] else 0
                if count != 1:
                    yield f"{place}: {fault['find']!r} occurs {count} times"
            if fault["find"] == fault["replace"]:
                yield f"{place}: it changes nothing"
            if not fault["claims"]:
                yield f"{place}: it names no claim"
            for claim_id in fault["claims"]:
                if claim_id not in measured:
                    yield f"{place}: no measured claim {claim_id}"
            caught.update(fault["claims"])
        for claim_id in sorted(measured - caught):
            yield f"claim {claim_id}: no known fault in faults.json fails it"
