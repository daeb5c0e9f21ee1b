"""Writes the report: report.html, and every figure as SVG and PNG.

    bazel run //analysis:report [-- --output=DIR]

Building this program builds the page and the figures, so a verdict that is
not as expected stops it before anything is written. DIR is softlookup_out/
under the directory of the caller. Exit codes: 0; 1 when the disk is full or
fails; 2 for usage and for a folder that cannot be written. A file is written
whole or not at all.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Sequence

from analysis.lib import files
from analysis.lib.language import LANGUAGES
from analysis.report import contents

_FORMATS = ("svg", "png")


def user_path(path: str) -> Path:
    """The path, relative to where the user called `bazel run`."""
    return Path(os.environ.get("BUILD_WORKING_DIRECTORY", ".")) / path


def figure_files(report: contents.Contents) -> list[str]:
    """The file names of every figure of the report."""
    return [
        f"{figure.name}.{language}.{suffix}"
        for figure in report.figures()
        for language in LANGUAGES
        for suffix in _FORMATS
    ]


def deliver(built: Path, output: Path) -> int:
    """Copies page and figures from `built`, which is this file's parent folder
    as built; returns how many figure files."""
    names = figure_files(contents.read(built / "contents.bzl"))
    for name in names:
        files.write_atomically(
            output / "figures" / name, (built / "figures" / name).read_bytes()
        )
    files.write_atomically(
        output / "report.html", (built / "report" / "report.html").read_bytes()
    )
    return len(names)


def main(
    arguments: Sequence[str] | None = None, built: Path | None = None
) -> int:
    """The program's main function; returns the exit code."""

    def run() -> None:
        parser = files.Parser("report", "Writes the report and its figures.")
        parser.add_argument(
            "--output",
            metavar="DIR",
            default="softlookup_out",
            help="where to write (default: softlookup_out)",
        )
        options = parser.parse_args(arguments)
        if not options.output:
            raise files.UsageError("--output is empty; it must name a folder")
        output = user_path(options.output)
        count = deliver(built or Path(__file__).parent.parent, output)
        print(f"Report: {output / 'report.html'}")
        print(f"Figures: {output / 'figures'} ({count} files)")

    return files.run_program("report", run)


if __name__ == "__main__":
    sys.exit(main())
