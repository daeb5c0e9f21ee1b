"""Tests of what `bazel run` delivers: the report, and the documents' figures."""

import contextlib
import io
import os
import tempfile
import unittest
from pathlib import Path
from unittest import mock

from analysis.report import docs, report

_CONTENTS = """OVERVIEW = []
SECTIONS = [{
    "experiment": "e", "title_en": "", "title_zh": "",
    "question_en": "", "question_zh": "",
    "figures": [{"name": "curve", "caption_en": "", "caption_zh": ""}],
}]
"""
_FIGURES = [
    "curve.en.png",
    "curve.en.svg",
    "curve.zh.png",
    "curve.zh.svg",
]
_DIGEST = b"drawn from sha256:" + b"a" * 64


def outcome(main, arguments, built):
    """Exit code, stdout and stderr of a main function."""
    stdout, stderr = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(stdout), contextlib.redirect_stderr(stderr):
        code = main(arguments, built)
    return code, stdout.getvalue(), stderr.getvalue()


class Delivery(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.built = self.folder / "built"
        self.figures = self.built / "figures"
        self.figures.mkdir(parents=True)
        (self.built / "contents.bzl").write_text(_CONTENTS)
        (self.built / "report").mkdir()
        (self.built / "report" / "report.html").write_text("page")
        for name in _FIGURES:
            (self.figures / name).write_text(name)
        self.user = self.folder / "user"
        self.user.mkdir()
        environment = mock.patch.dict(
            os.environ, {"BUILD_WORKING_DIRECTORY": str(self.user)}
        )
        environment.start()
        self.addCleanup(environment.stop)

    def report(self, *arguments):
        return outcome(report.main, list(arguments), self.built)

    def test_report_and_figures_under_the_callers_directory(self):
        code, stdout, stderr = self.report()
        self.assertEqual((code, stderr), (0, ""))
        output = self.user / "softlookup_out"
        self.assertIn(str(output / "report.html"), stdout)
        self.assertEqual((output / "report.html").read_text(), "page")
        figures = output / "figures"
        self.assertEqual(sorted(p.name for p in figures.iterdir()), _FIGURES)
        self.assertEqual((figures / _FIGURES[0]).read_text(), _FIGURES[0])

    def test_another_folder(self):
        self.assertEqual(self.report("--output=a/b")[0], 0)
        self.assertTrue((self.user / "a/b/report.html").exists())
        absolute = self.folder / "absolute"
        self.assertEqual(self.report(f"--output={absolute}")[0], 0)
        self.assertTrue((absolute / "report.html").exists())

    def test_bad_input_is_one_line_and_2(self):
        (self.user / "file").write_text("")
        for argument, word in (
            ("--nothing", "--nothing"),
            ("--out=x", "--out=x"),
            ("x", "x"),
            ("--output=", "--output"),
            ("--output=file", "file"),
            ("--output=/proc/none", "/proc/none"),
        ):
            code, stdout, stderr = self.report(argument)
            self.assertEqual((code, stdout), (2, ""), argument)
            self.assertRegex(stderr, f"^report: .*{word}.*\n$")

    def update(self, *arguments):
        with mock.patch.dict(docs.FIGURES, {"a.png": _FIGURES[0]}, clear=True):
            return outcome(docs.main, list(arguments), self.figures)

    def stale(self):
        with mock.patch.dict(docs.FIGURES, {"a.png": _FIGURES[0]}, clear=True):
            return docs.stale(self.figures, self.user / "docs" / "figures")

    def test_update_refuses_without_a_source_tree(self):
        with mock.patch.dict(os.environ):
            os.environ.pop("BUILD_WORKSPACE_DIRECTORY", None)
            code, _, stderr = self.update()
        self.assertEqual(code, 2)
        self.assertRegex(stderr, "^update_docs: .*\n$")

    def test_update_and_stale(self):
        (self.figures / _FIGURES[0]).write_bytes(b"1" + _DIGEST)
        self.assertEqual(self.stale(), ["a.png"])
        with mock.patch.dict(
            os.environ, {"BUILD_WORKSPACE_DIRECTORY": str(self.user)}
        ):
            code, stdout, _ = self.update()
        self.assertEqual((code, stdout), (0, "updated docs/figures/a.png\n"))
        self.assertEqual(self.stale(), [])
        # Another matplotlib draws other bytes from the same data.
        (self.figures / _FIGURES[0]).write_bytes(b"2" + _DIGEST)
        self.assertEqual(self.stale(), [])
        (self.figures / _FIGURES[0]).write_bytes(
            b"1" + _DIGEST.replace(b"a", b"b")
        )
        self.assertEqual(self.stale(), ["a.png"])

    def test_a_figure_without_a_digest_is_stale(self):
        copy = self.user / "docs" / "figures"
        copy.mkdir(parents=True)
        (copy / "a.png").write_text("x")
        self.assertEqual(self.stale(), ["a.png"])


if __name__ == "__main__":
    unittest.main()
