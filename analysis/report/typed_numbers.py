"""Finds numbers that somebody typed where one from the data belongs.

The rules:
  - contents.bzl: no text has a digit outside {{ ... }}. Names, and the
    chapter's own figure numbers in "chapter_figure", are no texts.
  - Figure scripts: no string has a digit, except names (of claims, members and
    files: lower case joined by _ . / -), pointers, formats within {...}, and
    mathematics within formula(...).
    No number equals one that the chapter prints with three digits or more, or
    a parameter of three digits or more.
  - The report's scripts: no text in Text(...) or say(...) has a digit.
  - The page's template: no text outside of tags has one, and no string in an
    expression.
"""

from __future__ import annotations

import ast
import re
from typing import Any, Iterator

_NAME = re.compile(r"[a-z][a-z0-9]*([_./-][a-z0-9*]+)+|/[A-Za-z0-9_/*~ ]*")
_COLOR = re.compile(r"#[0-9A-Fa-f]{6}")
_NOT_TEXTS = {"experiment", "name", "chapter_figure"}
_DIGIT = re.compile(r"[0-9]")
_PLACEHOLDER = re.compile(r"\{[^{}]*\}")
_EXPRESSION = re.compile(r"\{\{.*?\}\}|\{%.*?%\}", re.DOTALL)
_NO_TEXT = re.compile(r"\{#.*?#\}|<style>.*?</style>|<[^<>]*>", re.DOTALL)


def in_contents(source: str) -> list[str]:
    """Texts of contents.bzl with a digit of their own."""

    def texts(value: Any, field: str = "") -> Iterator[str]:
        if isinstance(value, dict):
            for name, element in value.items():
                yield from texts(element, name)
        elif isinstance(value, list):
            for element in value:
                yield from texts(element, field)
        elif field not in _NOT_TEXTS:
            yield str(value)

    found = []
    for statement in ast.parse(source).body:
        if isinstance(statement, ast.Assign):
            for text in texts(ast.literal_eval(statement.value)):
                if _DIGIT.search(_PLACEHOLDER.sub("", text)):
                    found.append(text)
    return found


def _docstrings(tree: ast.AST) -> set[int]:
    """The ids of the nodes that are docstrings."""
    found = set()
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(body, list) and body and isinstance(body[0], ast.Expr):
            found.add(id(body[0].value))
    return found


def _format_specs(tree: ast.AST) -> set[int]:
    """The ids of the string nodes within formats such as {x:.3f}."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.FormattedValue) and node.format_spec:
            found.update(id(part) for part in ast.walk(node.format_spec))
    return found


def _formulas(tree: ast.AST) -> set[int]:
    """The ids of the strings within formula(...)."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            name = getattr(node.func, "attr", getattr(node.func, "id", ""))
            if name == "formula":
                found.update(id(part) for part in ast.walk(node))
    return found


def _parts_of_names(tree: ast.AST) -> set[int]:
    """The ids of the strings in f-strings that make a name or a pointer."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            whole = "".join(
                part.value if isinstance(part, ast.Constant) else "x"
                for part in node.values
            )
            if _NAME.fullmatch(whole):
                found.update(id(part) for part in node.values)
    return found


def strings_with_digits(tree: ast.AST) -> list[str]:
    """Strings, other than names and formats, that have a digit."""
    skipped = (
        _docstrings(tree)
        | _format_specs(tree)
        | _formulas(tree)
        | _parts_of_names(tree)
    )
    return [
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and id(node) not in skipped
        and _DIGIT.search(_PLACEHOLDER.sub("", node.value))
        and not _NAME.fullmatch(node.value)
        and not _COLOR.fullmatch(node.value)
    ]


def _digits(text: str) -> int:
    """Significant digits of the number, so that 0.500 counts as 0.5."""
    shortest = f"{float(text):g}"
    return len(shortest.replace("-", "").replace(".", "").lstrip("0"))


def in_figure_script(source: str, printed: set[str]) -> list[str]:
    """Strings with digits, and numbers that are among those printed."""
    tree = ast.parse(source)
    values = {float(text) for text in printed if _digits(text) >= 3}
    numbers = [
        ast.unparse(node)
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant)
        and type(node.value) in (int, float)
        and float(node.value) in values
    ]
    return strings_with_digits(tree) + numbers


def in_report_script(source: str) -> list[str]:
    """Texts in Text(...) or say(...) with a digit."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Name)
            and node.func.id in ("Text", "say")
        ):
            found += strings_with_digits(node)
    return found


def in_template(source: str) -> list[str]:
    """Texts of an HTML template, and strings in its expressions, with a digit."""
    expressions = _EXPRESSION.findall(source)
    strings = re.findall(r'"([^"]*)"', " ".join(expressions))
    texts = _NO_TEXT.sub("\n", _EXPRESSION.sub("", source)).splitlines()
    return [text for text in strings + texts if _DIGIT.search(text)]
