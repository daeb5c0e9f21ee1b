"""RFC 6901 JSON pointers, resolved as base/json.h resolves them.

    resolve(results, "/rows/0/mean")
    resolve(results, "/rows/*/mean", every=True)   a list, one for each row
"""

from __future__ import annotations

import json
import re
from typing import Any

_INDEX = re.compile(r"0|[1-9][0-9]*")


class PointerError(Exception):
    """A pointer that resolves to nothing; the message says where it ends."""


def shown(value: Any) -> str:
    """A value as a message shows it."""
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 60 else text[:57] + "..."


def resolve(document: Any, pointer: str, every: bool = False) -> Any:
    """The value at the pointer.

    With `every`, a step "*" goes through each element of an array, and the
    answer is a list. PointerError, naming the step that fails and what is
    there instead, when there is none.
    """
    if pointer and not pointer.startswith("/"):
        raise PointerError(f'pointer "{pointer}" does not start with "/"')
    steps = [
        step.replace("~1", "/").replace("~0", "~")
        for step in pointer.split("/")[1:]
    ]
    return _walk(document, steps, "", every)


def _walk(value: Any, steps: list[str], walked: str, every: bool) -> Any:
    if not steps:
        return value
    step, rest = steps[0], steps[1:]
    if isinstance(value, dict):
        if step in value:
            return _walk(value[step], rest, f"{walked}/{step}", every)
        found = "an object of " + (", ".join(value) or "nothing")
    elif isinstance(value, list):
        if every and step == "*":
            return [
                _walk(element, rest, f"{walked}/{index}", every)
                for index, element in enumerate(value)
            ]
        if _INDEX.fullmatch(step) and int(step) < len(value):
            return _walk(value[int(step)], rest, f"{walked}/{step}", every)
        found = f"an array of {len(value)}"
    else:
        found = shown(value)
    raise PointerError(f'no "{step}" at "{walked or "/"}", which is {found}')
