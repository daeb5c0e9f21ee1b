"""What every program here shares: usage errors, exit codes, whole files.

Exit codes: 0; 1 when the run failed; 2 for bad usage or input. An error is one
line on stderr, "PROGRAM: what is wrong". A file is written whole or not at all.
"""

from __future__ import annotations

import argparse
import errno
import os
import sys
import tempfile
from pathlib import Path
from typing import Callable, NoReturn, Sequence

# Errors of the run, not of what the user asked for.
_RUN_FAILED = {errno.ENOSPC, errno.EDQUOT, errno.EIO}


class UsageError(Exception):
    """The user asked for something that cannot be done."""


class Parser(argparse.ArgumentParser):
    """Strict flags: no abbreviation, and an error is one line."""

    def __init__(self, program: str, description: str = "") -> None:
        super().__init__(
            prog=program, description=description, allow_abbrev=False
        )

    def error(self, message: str) -> NoReturn:
        """What argparse calls for bad usage."""
        raise UsageError(message)


def parse_pairs(flag: str, pairs: Sequence[str]) -> list[tuple[str, str]]:
    """The values of a repeated flag --flag=NAME=FILE."""
    parsed = []
    for pair in pairs:
        name, separator, path = pair.partition("=")
        if not separator:
            raise UsageError(f'--{flag} needs NAME=FILE, got "{pair}"')
        parsed.append((name, path))
    return parsed


def run_program(
    program: str,
    run: Callable[[], None],
    failures: tuple[type[Exception], ...] = (),
) -> int:
    """Runs it. Prints an expected error as one line; returns the exit code."""
    try:
        run()
    except UsageError as error:
        return _report(program, error, 2)
    except failures as error:
        return _report(program, error, 1)
    except OSError as error:
        return _report(program, error, 1 if error.errno in _RUN_FAILED else 2)
    return 0


def _report(program: str, error: Exception, code: int) -> int:
    if isinstance(error, OSError) and error.filename is not None:
        message = f"cannot write {error.filename}: {error.strerror}"
    else:
        message = str(error)
    print(f"{program}: {' '.join(message.split())}", file=sys.stderr)
    return code


def write_atomically(path: Path, content: bytes) -> None:
    """Writes a file, and its folder, whole or not at all.

    OSError, naming `path`, when that cannot be done.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(
            dir=path.parent, prefix=f".{path.name}."
        )
        try:
            with os.fdopen(handle, "wb") as stream:
                stream.write(content)
                stream.flush()
                os.fsync(stream.fileno())
            os.chmod(temporary, 0o644)
            os.replace(temporary, path)
        except BaseException:
            os.unlink(temporary)
            raise
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from error
