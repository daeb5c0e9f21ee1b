"""The scratch copy: equal to the source, spoiled only for a while, locked."""

import pathlib
import subprocess
import tempfile
import unittest

from tools import scratch_tree


class WithoutBazel(scratch_tree.ScratchTree):
    def bazel(self, command, *arguments, timeout=None):
        return 0, ""


class ScratchTreeTest(unittest.TestCase):
    def setUp(self):
        folder = pathlib.Path(tempfile.mkdtemp())
        self.source = folder / "source"
        self.scratch_folder = folder / "scratch"
        self.source.mkdir()
        self.write("base/a.cc", "a")
        self.write("tool", "#!/bin/sh\n")
        (self.source / "tool").chmod(0o755)
        self.write(".gitignore", "built\n")
        self.write("built", "ignored")
        subprocess.run(["git", "init", "-q"], cwd=self.source, check=True)
        subprocess.run(["git", "add", "base/a.cc"], cwd=self.source, check=True)

    def write(self, name, text):
        path = self.source / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")

    def open(self):
        return WithoutBazel(self.source, self.scratch_folder)

    @staticmethod
    def files(scratch):
        return sorted(str(path.relative_to(scratch.root))
                      for path in scratch.root.rglob("*") if path.is_file())

    def test_copies_what_git_does_not_ignore(self):
        with self.open() as scratch:
            self.assertEqual(self.files(scratch),
                             [".gitignore", "base/a.cc", "tool"])
            self.assertEqual(scratch.read("base/a.cc"), "a")
            self.assertTrue((scratch.root / "tool").stat().st_mode & 0o100)

    def test_refuses_a_folder_that_is_not_its_own(self):
        self.scratch_folder.mkdir()
        theirs = self.scratch_folder / "softlookup" / "thesis.txt"
        theirs.parent.mkdir()
        theirs.write_text("years of work", encoding="utf-8")
        with self.assertRaisesRegex(scratch_tree.UsageError,
                                    "holds files that are not of earlier runs"):
            with self.open():
                pass
        self.assertEqual(theirs.read_text(encoding="utf-8"), "years of work")

    def test_refuses_the_sources_themselves(self):
        sources = self.scratch_folder / "softlookup"
        sources.parent.mkdir()
        self.source.rename(sources)
        for folder in (self.scratch_folder, sources, sources / "base"):
            with self.assertRaisesRegex(scratch_tree.UsageError,
                                        "within the sources"):
                with WithoutBazel(sources, folder):
                    pass
        self.assertTrue((sources / ".git").is_dir())
        self.assertTrue((sources / "built").is_file())

    def test_refuses_what_is_no_folder(self):
        for folder in ("/dev/null/x", self.source / "base" / "a.cc" / "x"):
            with self.assertRaises(scratch_tree.UsageError):
                with WithoutBazel(self.source, folder):
                    pass

    def test_follows_the_source(self):
        with self.open() as scratch:
            same = (scratch.root / ".gitignore").stat().st_mtime_ns
        self.write("base/a.cc", "b")
        self.write("model/c.cc", "c")
        (self.source / "tool").unlink()
        with self.open() as scratch:
            self.assertEqual(self.files(scratch),
                             [".gitignore", "base/a.cc", "model/c.cc"])
            self.assertEqual(scratch.read("base/a.cc"), "b")
            # What has not changed is not written again.
            self.assertEqual((scratch.root / ".gitignore").stat().st_mtime_ns,
                             same)
        (self.source / "model/c.cc").unlink()
        with self.open() as scratch:
            self.assertFalse((scratch.root / "model").exists())

    def test_spoils_for_a_while_and_never_the_source(self):
        with self.open() as scratch:
            with self.assertRaises(KeyboardInterrupt):
                with scratch.spoiled("base/a.cc", "spoiled"):
                    self.assertEqual(scratch.read("base/a.cc"), "spoiled")
                    raise KeyboardInterrupt
            self.assertEqual(scratch.read("base/a.cc"), "a")
        self.assertEqual((self.source / "base/a.cc").read_text(), "a")

    def test_a_copy_left_spoiled_is_put_right(self):
        with self.open() as scratch:
            (scratch.root / "base/a.cc").write_text("spoiled")
        with self.open() as scratch:
            self.assertEqual(scratch.read("base/a.cc"), "a")

    def test_one_run_at_a_time(self):
        with self.open():
            with self.assertRaisesRegex(scratch_tree.Error, "in use"):
                with self.open():
                    pass
        with self.open():
            pass


if __name__ == "__main__":
    unittest.main()
