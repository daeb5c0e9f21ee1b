"""Verified results: all that figures and the report may read.

A verified file, //experiments:NAME_verified, exists only when every verdict on
the experiment is as the ledger has it. Loading checks that again.

    lookup = Verified.load("soft_lookup", "soft_lookup.verified.json")
    factors = lookup.numbers("/factor/sweep/*/factor")
    printed = lookup.published("soft_lookup.weight_tank")

Wall times are left out on purpose: equal results give equal figures.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Mapping

import numpy as np

from ledger.json_pointer import PointerError, resolve, shown

NOT_TESTED = "not tested"

_NON_FINITE = {"NaN": np.nan, "Infinity": np.inf, "-Infinity": -np.inf}


class ResultError(Exception):
    """A results file that is not what a figure or the report asks for."""


@dataclass(frozen=True)
class Judged:
    """A claim as it came out."""

    id: str
    published: str | None
    ours: Any
    agreement: Mapping[str, Any]  # what it meant: ledger/agreement.h
    verdict: str
    expected: str


def to_number(value: Any, place: str) -> float:
    """A JSON number, or the string that stands for a non-finite one."""
    if isinstance(value, bool):
        raise ResultError(f"{place} is {value}, not a number")
    if isinstance(value, (int, float)):
        return float(value)
    if isinstance(value, str) and value in _NON_FINITE:
        return _NON_FINITE[value]
    raise ResultError(f"{place} is {shown(value)}, not a number")


class Verified:
    """The verified results of one experiment, read by JSON pointer."""

    def __init__(self, experiment: str, document: dict[str, Any]) -> None:
        """Checks the document. ResultError when it is not verified."""
        for member in ("experiment", "parameters", "results", "provenance"):
            if member not in document:
                raise ResultError(f'{experiment}: no member "{member}"')
        if "claims" not in document:
            raise ResultError(
                f'{experiment}: no member "claims": these results are not '
                f"verified; read //experiments:{experiment}_verified"
            )
        if document["experiment"] != experiment:
            raise ResultError(
                f"asked for the results of {experiment}, got those of "
                f"{document['experiment']}"
            )
        self.experiment = experiment
        self.parameters: dict[str, Any] = document["parameters"]
        self.provenance: dict[str, Any] = document["provenance"]
        self.claims: dict[str, Judged] = {}
        for row in document["claims"]:
            judged = Judged(**row)
            if judged.verdict != judged.expected:
                raise ResultError(
                    f"claim {judged.id}: verdict {judged.verdict}, expected "
                    f"{judged.expected}; nothing is drawn from such results"
                )
            self.claims[judged.id] = judged
        self._results = document["results"]
        self._read: dict[str, Any] = {}

    @classmethod
    def load(cls, experiment: str, path: str | Path) -> Verified:
        """Reads a verified file. ResultError when it is none."""
        try:
            text = Path(path).read_text(encoding="utf-8")
            document = json.loads(text)
        except (OSError, ValueError) as error:
            raise ResultError(f"{experiment}: {path}: {error}") from error
        if not isinstance(document, dict):
            raise ResultError(f"{experiment}: {path}: not a JSON object")
        return cls(experiment, document)

    def start_reading(self) -> None:
        """Forgets what was read: read_digest() is of what is read from now."""
        self._read = {}

    def at(self, pointer: str) -> Any:
        """The value at an RFC 6901 pointer into the results.

        A step "*" goes through every element of an array: the answer is then
        a list. ResultError, naming the step that fails, when there is none.
        """
        try:
            value = resolve(self._results, pointer, every=True)
        except PointerError as error:
            raise ResultError(f"{self.experiment}: results: {error}") from error
        self._read[pointer] = value
        return value

    def _place(self, pointer: str) -> str:
        return f'{self.experiment}: the result at "{pointer}"'

    def number(self, pointer: str) -> float:
        """The number at a pointer."""
        return to_number(self.at(pointer), self._place(pointer))

    def text(self, pointer: str) -> str:
        """The string at a pointer."""
        value = self.at(pointer)
        if not isinstance(value, str):
            raise ResultError(
                f"{self._place(pointer)} is {shown(value)}, not a text"
            )
        return value

    def numbers(self, pointer: str) -> np.ndarray:
        """The numbers at a pointer, an array of any rank, as float64."""
        place = self._place(pointer)

        def convert(value: Any) -> Any:
            if isinstance(value, list):
                return [convert(element) for element in value]
            return to_number(value, place)

        value = self.at(pointer)
        if not isinstance(value, list):
            raise ResultError(f"{place} is {shown(value)}, not an array")
        try:
            return np.array(convert(value), dtype=np.float64)
        except ValueError as error:
            raise ResultError(f"{place} is not rectangular") from error

    def claim(self, claim_id: str) -> Judged:
        """A judged claim of this experiment."""
        if claim_id not in self.claims:
            raise ResultError(f'{self.experiment}: no claim "{claim_id}"')
        judged = self.claims[claim_id]
        self._read[f"claim {claim_id}"] = judged.published
        return judged

    def published_text(self, claim_id: str) -> str:
        """A claim's published value as printed."""
        published = self.claim(claim_id).published
        if published is None:
            raise ResultError(f'claim "{claim_id}" has no published value')
        return published

    def published(self, claim_id: str) -> float:
        """A claim's published value as a number."""
        text = self.published_text(claim_id)
        try:
            return float(text)
        except ValueError as error:
            raise ResultError(
                f'claim "{claim_id}": published "{text}" is not a number'
            ) from error

    def read_digest(self) -> str:
        """A digest of everything that was read, in a fixed order."""
        text = json.dumps(self._read, sort_keys=True, ensure_ascii=True)
        return hashlib.sha256(text.encode()).hexdigest()
