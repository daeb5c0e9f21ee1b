"""The ledger's claims with their verdicts, for the report."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Mapping

from analysis.lib.language import Text
from analysis.lib.verified import NOT_TESTED, Judged, ResultError, Verified

HOLDS = "holds"
ONE_READING = "one_reading"
FAILS = "fails"
VERDICTS = (HOLDS, ONE_READING, FAILS, NOT_TESTED)

VERDICT_NAMES = {
    HOLDS: Text("holds", "成立"),
    ONE_READING: Text("one reading", "仅一种解读成立"),
    FAILS: Text("fails", "不成立"),
    NOT_TESTED: Text("not tested", "未检验"),
}
# The same after a count: "27 hold".
COUNTED_NAMES = {
    **VERDICT_NAMES,
    HOLDS: Text("hold", "成立"),
    ONE_READING: Text("hold under one reading", "仅一种解读成立"),
    FAILS: Text("fail", "不成立"),
}


@dataclass(frozen=True)
class Claim:
    """A claim of the chapter, and how it came out."""

    id: str
    section: str
    statement: Text
    kind: str
    experiment: str | None  # None for cited literature
    judged: Judged


def read_json(path: str | Path) -> Any:
    """The JSON in a file. ResultError, naming the file, when it has none."""
    try:
        return json.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ResultError(f"{path}: {error}") from error


def join_claims(
    ledger: list[dict[str, Any]], inputs: Mapping[str, Verified]
) -> list[Claim]:
    """Every claim of the ledger with its verdict, in the ledger's order.

    ResultError when a claim's experiment has no section in the report, or its
    verified results do not hold the claim as the ledger has it.
    """
    claims = []
    for row in ledger:
        experiment = None if row["kind"] == "cited" else row["experiment"]
        claims.append(
            Claim(
                id=row["id"],
                section=row["section"],
                statement=Text(row["statement"], row["statement_zh"]),
                kind=row["kind"],
                experiment=experiment,
                judged=_judged(row, experiment, inputs),
            )
        )
    return claims


def _judged(
    row: dict[str, Any], experiment: str | None, inputs: Mapping[str, Verified]
) -> Judged:
    if experiment is None:
        return Judged(
            id=row["id"],
            published=row["published"],
            ours=None,
            agreement={"rule": "literature"},
            verdict=NOT_TESTED,
            expected=NOT_TESTED,
        )
    if experiment not in inputs:
        raise ResultError(
            f"claim {row['id']}: the report has no section on {experiment}; "
            "add it to analysis/contents.bzl"
        )
    judged = inputs[experiment].claim(row["id"])
    if judged.published != row["published"] or (
        judged.expected != row["expected"]
    ):
        raise ResultError(
            f"claim {row['id']}: the verified results were judged against "
            "another ledger"
        )
    return judged


def count_verdicts(claims: list[Claim]) -> dict[str, int]:
    """How many claims came out in each way."""
    counts = {verdict: 0 for verdict in VERDICTS}
    for claim in claims:
        counts[claim.judged.verdict] += 1
    return counts
