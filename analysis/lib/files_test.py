"""Tests of exit codes, error lines and whole files."""

import contextlib
import errno
import io
import os
import tempfile
import unittest
from pathlib import Path
from unittest import mock

from analysis.lib import files


def outcome(run, failures=()):
    """The exit code, and what was printed on stderr."""
    stderr = io.StringIO()
    with contextlib.redirect_stderr(stderr):
        code = files.run_program("program", run, failures)
    return code, stderr.getvalue()


def raising(error):
    def run():
        raise error

    return run


class Programs(unittest.TestCase):
    def test_exit_codes(self):
        for error, code, line in (
            (files.UsageError("no such flag"), 2, "program: no such flag\n"),
            (LookupError("no\nkey"), 1, "program: no key\n"),
            (
                OSError(errno.ENOSPC, "No space left", "/x/y"),
                1,
                "program: cannot write /x/y: No space left\n",
            ),
            (
                OSError(errno.EACCES, "Permission denied", "/x/y"),
                2,
                "program: cannot write /x/y: Permission denied\n",
            ),
        ):
            self.assertEqual(
                outcome(raising(error), (LookupError,)), (code, line)
            )
        self.assertEqual(outcome(lambda: None), (0, ""))

    def test_an_unexpected_error_is_not_hidden(self):
        with self.assertRaises(ZeroDivisionError):
            files.run_program("program", raising(ZeroDivisionError()))

    def test_flags_are_strict(self):
        parser = files.Parser("program")
        parser.add_argument("--output")
        for bad in (["--out=x"], ["--other"], ["x"], ["--output"]):
            with self.assertRaises(files.UsageError):
                parser.parse_args(bad)
        self.assertEqual(parser.parse_args(["--output=x"]).output, "x")

    def test_pairs(self):
        self.assertEqual(
            files.parse_pairs("results", ["a=b=c", "d=e"]),
            [("a", "b=c"), ("d", "e")],
        )
        with self.assertRaisesRegex(files.UsageError, '--results.*"a"'):
            files.parse_pairs("results", ["a"])


class Writing(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def test_whole_or_not_at_all(self):
        path = self.folder / "new" / "file"
        files.write_atomically(path, b"first")
        files.write_atomically(path, b"second")
        self.assertEqual(path.read_bytes(), b"second")
        self.assertEqual(path.stat().st_mode & 0o777, 0o644)
        full = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        with mock.patch("os.fsync", side_effect=full):
            with self.assertRaises(OSError) as caught:
                files.write_atomically(path, b"third")
        self.assertEqual(caught.exception.errno, errno.ENOSPC)
        self.assertEqual(caught.exception.filename, str(path))
        self.assertEqual(path.read_bytes(), b"second")
        self.assertEqual(os.listdir(path.parent), ["file"])

    def test_a_folder_that_is_a_file(self):
        (self.folder / "file").write_text("")
        with self.assertRaises(OSError) as caught:
            files.write_atomically(self.folder / "file" / "x", b"")
        self.assertEqual(
            caught.exception.filename, str(self.folder / "file" / "x")
        )


if __name__ == "__main__":
    unittest.main()
