"""Reads contents.bzl: what the report shows, in order."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from analysis.lib.language import Text


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


@dataclass(frozen=True)
class Contents:
    """The whole report."""

    overview: list[FigureEntry]  # over all experiments
    sections: list[Section]

    def figures(self) -> list[FigureEntry]:
        """Every figure, in order."""
        return self.overview + [
            figure for section in self.sections for figure in section.figures
        ]


def _figure(entry: dict[str, Any], place: str) -> FigureEntry:
    (name,) = _take(entry, f"a figure of {place}", "name")
    return FigureEntry(
        name=name,
        chapter_figure=entry.get("chapter_figure"),
        caption=_text(entry, f'figure "{name}"', "caption"),
    )


def _section(entry: dict[str, Any]) -> Section:
    (experiment,) = _take(entry, "an entry", "experiment")
    place = f'the entry on "{experiment}"'
    return Section(
        experiment=experiment,
        title=_text(entry, place, "title"),
        question=_text(entry, place, "question"),
        figures=[
            _figure(figure, place)
            for figure in _take(entry, place, "figures")[0]
        ],
    )


def parse(source: str) -> Contents:
    """The contents. ContentsError, naming the entry, when one lacks a field."""
    lists = {
        statement.targets[0].id: ast.literal_eval(statement.value)
        for statement in ast.parse(source).body
        if isinstance(statement, ast.Assign)
        and isinstance(statement.targets[0], ast.Name)
    }
    overview, sections = _take(lists, "contents.bzl", "OVERVIEW", "SECTIONS")
    return Contents(
        overview=[_figure(entry, "the overview") for entry in overview],
        sections=[_section(entry) for entry in sections],
    )


def read(path: str | Path) -> Contents:
    """The contents of the report."""
    return parse(Path(path).read_text(encoding="utf-8"))
