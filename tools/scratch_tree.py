"""A scratch copy of the source tree, with a Bazel server of its own.

tools/mutate and tools/plant_faults spoil sources and build the result. They
do so here, never in the user's tree:

    with ScratchTree(source_root, folder) as scratch:
        with scratch.spoiled("base/random/random.cc", text):
            code, output = scratch.bazel("test", "//base:random_test")

The copy and the server's output base stay in `folder` for the next run, so
that only the first one builds everything.
"""

import contextlib
import fcntl
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile

# The most memory, in bytes, that any one process of the build may map: a
# fault that allocates without end must not take the machine down.
MEMORY_LIMIT = 16 << 30


# Marks a folder as one that these tools made.
MARKER = "softlookup-scratch"


class Error(Exception):
    """What the user should read."""


class UsageError(Error):
    """The same for what the user asked for and cannot have: exit code 2."""


def run_tool(name, main):
    """The exit code of main(), or of what went wrong, said in one line."""
    try:
        code = main()
        sys.stdout.flush()
        return code
    except KeyboardInterrupt:
        return 130
    except Error as error:
        print(f"{name}: {error}", file=sys.stderr)
        return 2 if isinstance(error, UsageError) else 1
    except BrokenPipeError:
        # Nobody reads on; nor should the interpreter try again at its end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        print(f"{name}: {where}{error.strerror}", file=sys.stderr)
        return 1


# Position-independent code serves tests and programs alike, so that each file
# is compiled once; a fault may well leave an unused variable; and spoiled
# objects have no business in the user's cache.
BUILD_FLAGS = ["--force_pic", "--per_file_copt=.*@-Wno-error", "--disk_cache=",
               "--nokeep_going"]


def default_folder():
    """One for both tools: they build the same things, one tool at a time."""
    return pathlib.Path(tempfile.gettempdir()) / f"softlookup-faults-{os.getuid()}"


class ScratchTree:
    def __init__(self, source_root, folder, jobs=2):
        self.source_root = pathlib.Path(source_root)
        self.folder = pathlib.Path(folder)
        self.root = self.folder / "softlookup"
        self.jobs = jobs
        self._lock = None

    def _claim_folder(self):
        """Refuses a folder that holds anything but what earlier runs left: the
        copy is made equal to the sources, whatever else lies there."""
        marker = self.folder / MARKER
        source = self.source_root.resolve()
        copy = self.root.resolve()
        if source == copy or copy in source.parents or source in copy.parents:
            raise UsageError(f"{self.folder} is within the sources, or they in it; "
                        "give a folder of its own")
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            if not marker.is_file():
                if any(self.folder.iterdir()):
                    raise UsageError(f"{self.folder} holds files that are not "
                                "of earlier runs; give a new or empty folder")
                marker.write_text("Made by softlookup's tools; they may "
                                  "delete anything here.\n", encoding="utf-8")
        except OSError as error:
            raise UsageError(f"{self.folder}: {error.strerror}") from error

    def __enter__(self):
        self._claim_folder()
        self._lock = open(self.folder / "lock", "w", encoding="utf-8")
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise Error(f"{self.folder} is in use by another run") from error
        self._copy()
        return self

    def __exit__(self, *unused):
        self.bazel("shutdown")
        self._lock.close()

    def _copy(self):
        """Makes the copy equal to the source tree as git knows it."""
        listed = subprocess.run(
            ["git", "ls-files", "-z", "--cached", "--others",
             "--exclude-standard"], cwd=self.source_root, check=True,
            stdout=subprocess.PIPE).stdout.decode().split("\0")
        wanted = {name for name in listed
                  if name and (self.source_root / name).is_file()}
        for path in sorted(self.root.rglob("*"), reverse=True):
            name = str(path.relative_to(self.root))
            if path.is_symlink() or path.is_file():
                if name not in wanted:
                    path.unlink()
            elif not any(path.iterdir()):
                path.rmdir()
        for name in wanted:
            source, copy = self.source_root / name, self.root / name
            content = source.read_bytes()
            if not copy.is_file() or copy.read_bytes() != content:
                copy.parent.mkdir(parents=True, exist_ok=True)
                copy.write_bytes(content)
                shutil.copymode(source, copy)

    def read(self, name):
        return (self.root / name).read_text(encoding="utf-8")

    @contextlib.contextmanager
    def spoiled(self, name, text):
        """While it lasts, the file `name` of the copy holds `text`."""
        original = self.read(name)
        try:
            (self.root / name).write_text(text, encoding="utf-8")
            yield
        finally:
            (self.root / name).write_text(original, encoding="utf-8")

    def bazel(self, command, *arguments, timeout=None):
        """Runs Bazel; returns its exit code and output, (None, output) when
        it took more than `timeout` seconds."""
        line = ["prlimit", f"--as={MEMORY_LIMIT}", "bazel",
                f"--output_base={self.folder / 'output_base'}",
                "--host_jvm_args=-Xmx1g", "--max_idle_secs=600", command]
        if command in ("build", "test"):
            line += ["--experimental_convenience_symlinks=ignore",
                     "--noshow_progress", "--color=no", "--curses=no",
                     f"--jobs={self.jobs}", *BUILD_FLAGS]
        elif command in ("info", "cquery"):
            line += BUILD_FLAGS
        process = subprocess.Popen([*line, *arguments], cwd=self.root,
                                   stdout=subprocess.PIPE,
                                   stderr=subprocess.STDOUT, text=True,
                                   errors="replace")
        try:
            output, _ = process.communicate(timeout=timeout)
            return process.returncode, output
        except subprocess.TimeoutExpired:
            # Bazel then stops the actions that it has started.
            process.send_signal(signal.SIGINT)
            try:
                output, _ = process.communicate(timeout=60)
            except subprocess.TimeoutExpired:
                process.kill()
                output, _ = process.communicate()
            return None, output
        except BaseException:
            process.send_signal(signal.SIGINT)
            process.wait()
            raise

    def query(self, expression):
        """The labels that a query finds."""
        code, output = self.bazel("query", "--noshow_progress",
                                  "--ui_event_filters=-info,-debug",
                                  expression)
        if code != 0:
            raise Error(f"bazel query failed:\n{output}")
        return sorted(line for line in output.splitlines()
                      if line.startswith("//"))
