"""Runs program_sample with command lines, good and bad."""

import os
import resource
import signal
import subprocess
import tempfile
import unittest

from base.sanitizers import sanitizer

PROGRAM = "base/program_sample"
DEFAULTS = 'keys 16, text "", weights 1, colour red\n'


def run(*arguments, **options):
    return subprocess.run(
        [PROGRAM, *arguments], stderr=subprocess.PIPE, text=True, timeout=60,
        **{"stdout": subprocess.PIPE, **options})


class ProgramTest(unittest.TestCase):

    def expect_output(self, arguments, output):
        result = run(*arguments)
        self.assertEqual((result.returncode, result.stdout, result.stderr),
                         (0, output, ""), arguments)

    def expect_usage_error(self, arguments, message):
        result = run(*arguments)
        self.assertEqual(result.stderr, "program_sample: %s\n" % message)
        self.assertEqual((result.returncode, result.stdout), (2, ""))

    def test_defaults(self):
        self.expect_output([], DEFAULTS)

    def test_values(self):
        expected = 'keys -3, text "a=b", weights 1, colour green\n'
        self.expect_output(
            ["--keys=-3", "--text=a=b", "--colour=green"], expected)
        self.expect_output(
            ["--keys", "-3", "--text", "a=b", "--colour", "green"], expected)
        self.expect_output(["-keys=-3", "-text", "a=b", "-colour=green"],
                           expected)

    def test_last_value_wins(self):
        self.expect_output(["--keys=1", "--keys=16"], DEFAULTS)

    def test_empty_value(self):
        self.expect_output(["--text="], DEFAULTS)
        self.expect_usage_error(
            ["--keys="], 'flag --keys: "" is not a valid value (see --help)')

    def test_booleans(self):
        off = DEFAULTS.replace("weights 1", "weights 0")
        self.expect_output(["--noweights"], off)
        self.expect_output(["--weights=false"], off)
        self.expect_output(["--noweights", "--weights"], DEFAULTS)
        self.expect_output(["--weights=true"], DEFAULTS)
        # A boolean takes no value from the next argument.
        self.expect_usage_error(
            ["--weights", "false"], 'unexpected argument "false"; flags are '
            "written --name=value (see --help)")
        self.expect_usage_error(["--noweights=true"],
                                "flag --noweights takes no value")
        self.expect_usage_error(
            ["--weights=maybe"],
            'flag --weights: "maybe" is not a valid value (see --help)')

    def test_only_booleans_are_negated(self):
        self.expect_usage_error(["--nokeys"],
                                "unknown flag --nokeys (see --help)")
        self.expect_usage_error(["--nothing"],
                                "unknown flag --nothing (see --help)")
        self.expect_usage_error(["--no"], "unknown flag --no (see --help)")

    def test_unknown_flags(self):
        self.expect_usage_error(["--key=1"], "unknown flag --key (see --help)")
        self.expect_usage_error(["--=1"], "unknown flag -- (see --help)")
        self.expect_usage_error(["-x"], "unknown flag --x (see --help)")
        # Abseil's own, which would read other files or accept unknown flags.
        for name in ["flagfile", "fromenv", "undefok"]:
            self.expect_usage_error(["--%s=keys" % name],
                                    "unknown flag --%s (see --help)" % name)

    def test_renamed_flags(self):
        for arguments in ["--entries=3"], ["--entries", "3"], ["-entries"]:
            self.expect_usage_error(arguments, "--entries is now --keys")
        self.expect_usage_error(["--noentries"],
                                "unknown flag --noentries (see --help)")

    def test_bad_values(self):
        self.expect_usage_error(
            ["--keys=ten"],
            'flag --keys: "ten" is not a valid value (see --help)')
        self.expect_usage_error(
            ["--keys", "1.5"],
            'flag --keys: "1.5" is not a valid value (see --help)')
        self.expect_usage_error(
            ["--colour=blue"],
            'flag --colour: "blue" is not a valid value; allowed: red, green '
            "(see --help)")

    def test_missing_value(self):
        self.expect_usage_error(["--keys"], "flag --keys needs a value")
        self.expect_usage_error(["--text=x", "--colour"],
                                "flag --colour needs a value")

    def test_positional_arguments(self):
        for argument in ["run", "", "-", "--"]:
            self.expect_usage_error(
                [argument], 'unexpected argument "%s"; flags are written '
                "--name=value (see --help)" % argument)

    def test_nothing_runs_before_all_flags_are_right(self):
        self.expect_usage_error(["--end=failed", "--bad"],
                                "unknown flag --bad (see --help)")

    def test_help(self):
        for arguments in [["--help"], ["-help"], ["-h"], ["--bad", "--help"]]:
            result = run(*arguments)
            self.assertEqual((result.returncode, result.stderr), (0, ""))
            self.assertEqual(
                result.stdout, "program_sample: Shows its flags.\n"
                "\n"
                "Flags:\n"
                '  --colour (default: "red")\n'
                "      Its colour.\n"
                '  --end (default: "ok")\n'
                "      How to end.\n"
                '  --keys (default: "16")\n'
                "      Number of keys.\n"
                '  --text (default: "")\n'
                "      Any text.\n"
                '  --weights (default: "true")\n'
                "      Whether to weigh.\n")

    def test_help_shows_defaults_not_values(self):
        self.assertIn('--keys (default: "16")',
                      run("--keys=5", "--help").stdout)

    def test_exit_codes(self):
        for end, code, message in [
                ("bad_input", 2, "line one line two\\xff\\x1b"),
                ("failed", 1, "it failed"),
                ("exception", 1, "thrown"),
                ("memory", 1, "out of memory"),
        ]:
            result = run("--end=" + end)
            self.assertEqual(result.returncode, code, end)
            self.assertEqual(result.stderr, "program_sample: %s\n" % message)
            self.assertEqual(result.stdout, DEFAULTS)

    def test_lost_output_is_a_failed_run(self):
        with open("/dev/full", "w") as full:
            result = run(stdout=full)
        self.assertEqual(result.returncode, 1)
        self.assertEqual(
            result.stderr, "program_sample: cannot write to standard output\n")
        # Also output that was lost long before the end.
        with open("/dev/full", "w") as full:
            self.assertEqual(run("--end=flushed", stdout=full).returncode, 1)
        # The first error is the one that is reported.
        with open("/dev/full", "w") as full:
            result = run("--end=bad_input", stdout=full)
        self.assertEqual(result.returncode, 2)
        self.assertIn("line one", result.stderr)
        with open("/dev/full", "w") as full:
            self.assertEqual(run("--help", stdout=full).returncode, 1)

    @unittest.skipIf(sanitizer(PROGRAM) == "thread",
                     "the limit stops its runtime")
    def test_file_size_limit_is_an_error_not_a_signal(self):
        def limit():
            signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
            resource.setrlimit(resource.RLIMIT_FSIZE, (4, 4))

        with tempfile.TemporaryFile() as file:
            result = run(stdout=file, preexec_fn=limit)
            self.assertEqual(os.fstat(file.fileno()).st_size, 4)
        self.assertEqual(result.returncode, 1)
        self.assertEqual(
            result.stderr, "program_sample: cannot write to standard output\n")


if __name__ == "__main__":
    unittest.main()
