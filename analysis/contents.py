"""Reads contents.bzl: what the report shows, in order."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from analysis.language import Text


class ContentsError(Exception):
    """An entry of contents.bzl that is not complete."""


@dataclass(frozen=True)
class FigureEntry:
    """A figure of a section."""

    name: str
    chapter_figure: str | None  # the chapter's number for it, if it has one
    caption: Text


@dataclass(frozen=True)
class Section:
    """An experiment of the report."""

    experiment: str
    title: Text
    question: Text
    figures: list[FigureEntry]


def _take(entry: dict[str, Any], place: str, *fields: str) -> list[Any]:
    for field in fields:
        if field not in entry:
            raise ContentsError(f'{place}: no "{field}"')
    return [entry[field] for field in fields]


def _text(entry: dict[str, Any], place: str, field: str) -> Text:
    return Text(*_take(entry, place, f"{field}_en", f"{field}_zh"))


def parse(source: str) -> list[Section]:
    """The sections. ContentsError, naming the entry, when one lacks a field."""
    for statement in ast.parse(source).body:
        if isinstance(statement, ast.Assign):
            entries = ast.literal_eval(statement.value)
            break
    else:
        raise ContentsError("contents.bzl has no SECTIONS")
    sections = []
    for entry in entries:
        (experiment,) = _take(entry, "an entry", "experiment")
        place = f'the entry on "{experiment}"'
        figures = []
        for figure in _take(entry, place, "figures")[0]:
            (name,) = _take(figure, f"a figure of {place}", "name")
            figures.append(
                FigureEntry(
                    name=name,
                    chapter_figure=figure.get("chapter_figure"),
                    caption=_text(figure, f'figure "{name}"', "caption"),
                )
            )
        sections.append(
            Section(
                experiment=experiment,
                title=_text(entry, place, "title"),
                question=_text(entry, place, "question"),
                figures=figures,
            )
        )
    return sections


def read(path: str | Path) -> list[Section]:
    """The sections of a contents file."""
    return parse(Path(path).read_text(encoding="utf-8"))
