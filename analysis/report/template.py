"""Texts with numbers that come from verified results.

A text of the report holds no digit; where it needs a number it holds a
placeholder, filled from the data when the page is built:

    {published:soft_lookup.weight_tank}      as the chapter prints it
    {ours:soft_lookup.weight_tank}           our value, as the table has it
    {result:soft_lookup:/path/hard_jumps}    a result, shortest form
    {result:soft_lookup:/soft/output/0:.3f}  a result in a number format
    {parameter:soft_lookup:path_steps}       a knob's published setting
"""

from __future__ import annotations

import re
from typing import Any, Mapping

from analysis.lib.verified import Judged, ResultError, Verified, to_number

_CHINESE = "[\u3000-\u9fff\uff00-\uffef]"
_BETWEEN_CHINESE = re.compile(f"(?<={_CHINESE}) (?={_CHINESE})")
_PLACEHOLDER = re.compile(r"\{([^{}]*)\}")


def number_text(value: Any, form: str = "") -> str:
    """A value as text: shortest, or by a format such as ".3f"."""
    if isinstance(value, str) and not form:
        return value
    number = to_number(value, "a value in a text")
    if form:
        return format(number, form)
    return f"{number:g}" if abs(number) < 1e15 else f"{number:.6g}"


def ours_text(judged: Judged) -> str:
    """Our value as the table shows it: two digits more than were printed."""
    value = judged.ours
    if not isinstance(value, (int, float)) or isinstance(value, bool):
        return value if isinstance(value, str) else str(value)
    published = judged.published or ""
    if re.fullmatch(r"-?\d+(\.\d*)?", published):
        decimals = len(published.partition(".")[2])
        return f"{value:.{decimals + 2}f}"
    return f"{value:.6g}"


def without_placeholders(text: str) -> str:
    """The text's own words."""
    return _PLACEHOLDER.sub("", text)


def fill(text: str, inputs: Mapping[str, Verified]) -> str:
    """The text with its placeholders filled, and its spaces made single.

    ResultError, naming the placeholder, when it stands for nothing.
    """

    def value(found: re.Match[str]) -> str:
        try:
            return _resolve(found.group(1), inputs)
        except (KeyError, ValueError) as error:
            raise ResultError(
                f'a text has "{found.group()}", which stands for nothing: '
                f"{error}"
            ) from error

    return single_spaced(_PLACEHOLDER.sub(value, text))


def single_spaced(text: str) -> str:
    """The text on one line: line breaks vanish where Chinese meets Chinese."""
    return _BETWEEN_CHINESE.sub("", " ".join(text.split()))


def _resolve(placeholder: str, inputs: Mapping[str, Verified]) -> str:
    kind, _, rest = placeholder.partition(":")
    if kind in ("published", "ours"):
        verified = inputs[rest.partition(".")[0]]
        if kind == "published":
            return verified.published_text(rest)
        return ours_text(verified.claim(rest))
    experiment, _, where = rest.partition(":")
    if kind == "parameter":
        return number_text(inputs[experiment].parameters[where])
    if kind == "result":
        pointer, _, form = where.partition(":")
        return number_text(inputs[experiment].at(pointer), form)
    raise ValueError("unknown kind")
