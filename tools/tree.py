"""Whether the tree is as docs/architecture.md has it.

    for problem in problems(edges_of(query_xml)):
        print(problem)
    for problem in size_problems(lines):
        print(problem)
    for problem in path_problems("README.md", text, files):
        print(problem)

Dependencies point one way. Two rules, both over targets that are neither tests
nor for tests only:
- between top folders, every target: it may depend on its own folder and on those
  that FOLDERS names for it, which all come earlier;
- between packages of one top folder, every library: ROOMS says what a package
  may use besides what its folder may.

No file and no folder grows beyond what a person takes in, and documents name
only files that are there.
"""

from __future__ import annotations

import collections
import re
import xml.etree.ElementTree as ElementTree
from pathlib import PurePosixPath
from typing import Collection, Iterable, Iterator, Mapping, NamedTuple

SOURCES = (".cc", ".h", ".py")
LARGEST_SOURCE = 500  # lines; tests too
LARGEST_BUILD = 700  # lines
LARGEST_FOLDER = 50  # sources that are no tests

# What each top folder may depend on.
FOLDERS = {
    "testdata": (),
    "docs": (),
    "base": (),
    "text": ("base",),
    "attention": ("base",),
    "model": ("text", "attention", "base"),
    "interpretability": ("model", "attention", "base"),
    "ledger": ("base",),
    "experiments": (
        "ledger", "interpretability", "model", "text", "attention", "base",
        "testdata"),
    "analysis": ("experiments", "ledger", "testdata", "docs"),
    "tools": (),
}
# Which packages of its own top folder the libraries of a package may use. The
# folder's own package holds what all of its rooms share, and aliases.
ROOMS = {
    "base": (),
    "base/random": ("base",),
    "base/tensor": ("base", "base/random"),
    "base/statistics": ("base", "base/tensor"),
    "base/safetensors": ("base", "base/tensor"),
    "attention": (),
    "attention/reference": ("attention",),
    "attention/kernels": ("attention",),
    "attention/textbook": ("attention", "attention/reference"),
    "attention/testing": ("attention",),
    "attention/cudnn": ("attention",),
    "attention/cudnn/testing": ("attention", "attention/cudnn"),
    "attention/cudnn/check": (
        "attention", "attention/cudnn", "attention/cudnn/testing",
        "attention/reference", "attention/testing"),
    "attention/attend": (
        "attention", "attention/reference", "attention/kernels",
        "attention/cudnn"),
    "attention/benchmark": ("attention", "attention/kernels"),
    "model": (),
    "model/formats": ("model",),
    "analysis/lib": (),
    "analysis/figures": ("analysis/lib",),
    "analysis/report": ("analysis/lib",),
}
# A package of experiments/ may use this one, and never another experiment.
FRAME = "experiments/frame"


class Edge(NamedTuple):
    """One dependency of a target that is no test."""

    kind: str  # of the target's rule: cc_library, alias, ...
    target: str  # //package:name
    dependency: str  # the same


def package(label: str) -> str:
    """base/tensor of //base/tensor:shape."""
    return label[2:].partition(":")[0]


def folder(label: str) -> str:
    """base of //base/tensor:shape; "" for the root."""
    return package(label).partition("/")[0]


def edges_of(query_xml: str) -> Iterator[Edge]:
    """From `bazel query //... --output=xml`. Tests, suites of them and what
    only tests may use may depend on anything, so they are left out."""
    for rule in ElementTree.fromstring(query_xml).iter("rule"):
        kind = rule.get("class", "")
        if kind.endswith("_test") or kind == "test_suite":
            continue
        if rule.find("boolean[@name='testonly'][@value='true']") is not None:
            continue
        for dependency in rule.iter("rule-input"):
            name = dependency.get("name", "")
            if name.startswith("//"):  # not an external repository
                yield Edge(kind, rule.get("name", ""), name)


def problems(edges: Iterable[Edge]) -> Iterator[str]:
    """One line for each dependency that points the wrong way, and for each
    folder or room that has no rule."""
    unknown = set()
    for edge in edges:
        ours, theirs = folder(edge.target), folder(edge.dependency)
        if ours not in FOLDERS:
            unknown.add(f"folder {ours}/")
        elif ours != theirs:
            if theirs not in FOLDERS[ours]:
                yield (
                    f"{edge.target} depends on {edge.dependency}: {ours}/ may "
                    f"depend on {', '.join(FOLDERS[ours]) or 'nothing'}"
                )
        elif edge.kind.endswith("_library"):
            room, other = package(edge.target), package(edge.dependency)
            if room == other:
                continue
            allowed = ROOMS.get(room)
            if allowed is None and ours == "experiments":
                allowed = (FRAME,) if room != FRAME else ()
            if allowed is None:
                unknown.add(f"package {room}")
            elif other not in allowed:
                yield (
                    f"{edge.target} depends on {edge.dependency}: libraries of "
                    f"{room} may use {', '.join(allowed) or 'no other package'}"
                )
    for what in sorted(unknown):
        yield f"{what} has no rule in tools/tree.py"


def size_problems(lines: Mapping[str, int]) -> Iterator[str]:
    """One line for each file or folder that is too large, from the number of
    lines of every file by its path."""
    sources: collections.Counter[str] = collections.Counter()
    for name, count in sorted(lines.items()):
        path = PurePosixPath(name)
        if path.name == "BUILD" and count > LARGEST_BUILD:
            yield f"{name} has {count} lines; allowed: {LARGEST_BUILD}"
        if path.suffix in SOURCES:
            if count > LARGEST_SOURCE:
                yield f"{name} has {count} lines; allowed: {LARGEST_SOURCE}"
            if not path.stem.endswith("_test"):
                sources[str(path.parent)] += 1
    for name, count in sorted(sources.items()):
        if count > LARGEST_FOLDER:
            yield f"{name}/ holds {count} sources; allowed: {LARGEST_FOLDER}"


# A path, alone between backquotes.
_PATH = re.compile(r"`((?:[a-z0-9_.]+/)+(?:[A-Za-z0-9_.]*))`")


def path_problems(
    document: str, text: str, files: Collection[str]
) -> Iterator[str]:
    """One line for each path that the text names and the tree has not, among
    those that begin with a folder of the tree; NAME stands for any name."""
    folders = {
        str(parent) for name in files for parent in PurePosixPath(name).parents
    }
    for path in sorted(set(_PATH.findall(text))):
        if path.partition("/")[0] not in folders or "NAME" in path:
            continue
        if path.rstrip("/") not in folders and path not in files and not (
            path + ".h" in files
        ):
            yield f"{document} names {path}, which is not there"
