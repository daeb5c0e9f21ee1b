"""The figures that documents show: copies, and whether they are up to date.

    bazel run //analysis:update_docs

copies the built figures over the committed ones in docs/figures/. A picture's
bytes depend on matplotlib's version, so whether a copy is up to date is told
by the digest in it: of the data that it shows and of the code that drew it.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Sequence

from analysis.lib import files
from analysis.lib.figure import drawn_from

# Committed name: built name.
FIGURES = {
    "induction_heads.png": "induction_heads.en.png",
    "soft_lookup.png": "soft_lookup.en.png",
}
UPDATE = "bazel run //analysis:update_docs"


def stale(built: Path, committed: Path) -> list[str]:
    """The committed figures that are missing or drawn from something else."""
    names = []
    for name, source in FIGURES.items():
        fresh = drawn_from((built / source).read_bytes())
        copy = committed / name
        if (
            not fresh
            or not copy.exists()
            or (drawn_from(copy.read_bytes()) != fresh)
        ):
            names.append(name)
    return names


def main(
    arguments: Sequence[str] | None = None, built: Path | None = None
) -> int:
    """The program's main function; returns the exit code."""

    def run() -> None:
        files.Parser(
            "update_docs", "Copies built figures to docs/figures/."
        ).parse_args(arguments)
        workspace = os.environ.get("BUILD_WORKSPACE_DIRECTORY")
        if not workspace:
            raise files.UsageError(f"no source tree; run: {UPDATE}")
        source = built or Path(__file__).parent.parent / "figures"
        target = Path(workspace) / "docs" / "figures"
        for name in stale(source, target):
            files.write_atomically(
                target / name, (source / FIGURES[name]).read_bytes()
            )
            print(f"updated docs/figures/{name}")

    return files.run_program("update_docs", run)


if __name__ == "__main__":
    sys.exit(main())
