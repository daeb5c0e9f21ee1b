"""Texts with numbers that come from verified results.

A text of the report holds no digit; where it needs a number it says which, as
a Jinja expression that is filled in when the page is built:

    {{ published("soft_lookup.output_1") }}                as the chapter has it
    {{ result("soft_lookup", "/path/hard_jumps") }}        in its shortest form
    {{ result("soft_lookup", "/soft/output/0", ".3f") }}   in a number format
    {{ parameter("soft_lookup", "path_steps") }}           as published
"""

from __future__ import annotations

import re
from typing import Any, Mapping

import jinja2

from analysis.lib.language import Text
from analysis.lib.verified import ResultError, Verified, to_number

_CHINESE = "[\u3000-\u9fff\uff00-\uffef]"
_BETWEEN_CHINESE = re.compile(f"(?<={_CHINESE}) (?={_CHINESE})")
# These are no HTML yet: the page escapes them.
_PLAIN = jinja2.Environment(undefined=jinja2.StrictUndefined)


def number_text(value: Any, form: str = "") -> str:
    """A value as text: shortest, or by a format such as ".3f"."""
    if isinstance(value, str) and not form:
        return value
    number = to_number(value, "a value in a text")
    if form:
        return format(number, form)
    return f"{number:g}" if abs(number) < 1e15 else f"{number:.6g}"


def ours_text(value: Any, published: str | None) -> str:
    """Our value as the table shows it: two digits more than were printed."""
    if not isinstance(value, (int, float)) or isinstance(value, bool):
        return value if isinstance(value, str) else str(value)
    if re.fullmatch(r"-?\d+(\.\d*)?", published or ""):
        decimals = len(published.partition(".")[2])
        return f"{value:.{decimals + 2}f}"
    return f"{value:.6g}"


def single_spaced(text: str) -> str:
    """The text on one line: line breaks vanish where Chinese meets Chinese."""
    return _BETWEEN_CHINESE.sub("", " ".join(text.split()))


def fill(text: str, inputs: Mapping[str, Verified]) -> str:
    """The text with its numbers, and its spaces made single.

    ResultError, with the text, when an expression stands for nothing.
    """

    def published(claim: str) -> str:
        return inputs[claim.partition(".")[0]].published_text(claim)

    def result(experiment: str, pointer: str, form: str = "") -> str:
        return number_text(inputs[experiment].at(pointer), form)

    def parameter(experiment: str, name: str) -> str:
        return number_text(inputs[experiment].parameters[name])

    try:
        filled = _PLAIN.from_string(text).render(
            published=published, result=result, parameter=parameter
        )
    except (
        KeyError,
        TypeError,
        ValueError,
        ResultError,
        jinja2.TemplateError,
    ) as error:
        raise ResultError(
            f'the text "{single_spaced(text)}" asks for nothing: {error}'
        ) from error
    return single_spaced(filled)


def filled(text: Text, inputs: Mapping[str, Verified]) -> Text:
    """The same in both languages."""
    return Text(fill(text.en, inputs), fill(text.zh, inputs))
