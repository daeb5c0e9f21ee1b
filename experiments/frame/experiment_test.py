"""The frame of an experiment, end to end: a tiny experiment and the judge.

Arguments: the paths of the programs frame_example and judge.
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

FRAME_EXAMPLE, JUDGE = [os.path.abspath(path) for path in sys.argv[1:3]]
del sys.argv[1:3]


def claim(name, published, pointer, **fields):
    """A claim on the tiny experiment, exact unless `fields` say otherwise."""
    return {
        "id": "frame_example." + name,
        "section": "1",
        "statement": "A statement.",
        "statement_zh": "一个陈述。",
        "published": published,
        "experiment": "frame_example",
        "pointer": pointer,
        "kind": "exact",
        "check": {},
        "expected": "holds",
        **fields,
    }


DOUBLED = claim("doubled", "0.50", "/doubled")


class FrameTest(unittest.TestCase):
    def setUp(self):
        self.root = pathlib.Path(
            tempfile.mkdtemp(dir=os.environ.get("TEST_TMPDIR")))
        self.out = self.root / "out"
        self.write_ledger([DOUBLED])

    def write_ledger(self, claims):
        """Puts a ledger where the program looks for its own."""
        ledger = self.root / "runfiles/softlookup/testdata/claims.json"
        ledger.parent.mkdir(parents=True, exist_ok=True)
        ledger.write_text(json.dumps(claims), encoding="utf-8")
        return ledger

    def run_program(self, program, *arguments, working_directory=None):
        environment = {"RUNFILES_DIR": str(self.root / "runfiles")}
        if working_directory:
            environment["BUILD_WORKING_DIRECTORY"] = str(working_directory)
        return subprocess.run([program, *arguments], env=environment,
                              cwd=self.root, capture_output=True, text=True,
                              check=False)

    def run_example(self, *arguments, **options):
        return self.run_program(FRAME_EXAMPLE, f"--output={self.out}",
                                *arguments, **options)

    def results_text(self):
        """The results as they stand in the file, byte for byte."""
        text = (self.out / "frame_example.json").read_text(encoding="utf-8")
        return text[text.index('"results"'):text.index('"measurements"')]

    def assert_one_line(self, run, expected):
        self.assertEqual(run.stderr, expected + "\n")

    def test_good_run(self):
        run = self.run_example()
        self.assertEqual((run.returncode, run.stderr), (0, ""))
        self.assertIn("frame_example: What is twice a value?\n", run.stdout)
        self.assertIn(f"\nResults: {self.out}/frame_example.json\n", run.stdout)
        self.assertRegex(run.stdout, r"(?m)^frame_example\.doubled +0\.50 +"
                         r"0\.5000 +the same 2 decimals +holds$")
        self.assertIn("\nThe one verdict is as the ledger has it.\n",
                      run.stdout)
        # What was measured stands above the file and the verdicts.
        self.assertLess(run.stdout.index("doubled\n"),
                        run.stdout.index("Results:"))
        self.assertLess(run.stdout.index("Results:"),
                        run.stdout.index("Claims of the chapter:"))

    def test_a_reader_that_goes_away_loses_no_results(self):
        # As `frame_example | head -1` does.
        with subprocess.Popen(
            [FRAME_EXAMPLE, f"--output={self.out}"],
            env={"RUNFILES_DIR": str(self.root / "runfiles")},
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        ) as run:
            run.stdout.readline()
            run.stdout.close()
            run.wait()
        self.assertIn('"results"', self.results_text())

    def test_results_file(self):
        self.run_example("--value=0.1")
        self.assertEqual(os.listdir(self.out), ["frame_example.json"])
        text = (self.out / "frame_example.json").read_text(encoding="utf-8")
        file = json.loads(text)
        self.assertEqual(list(file), ["experiment", "parameters", "results",
                                      "measurements", "provenance"])
        self.assertEqual(file["experiment"], "frame_example")
        # Every parameter, and no flag of the frame.
        self.assertEqual(file["parameters"],
                         {"draws": 3, "failure": "", "value": 0.1})
        self.assertEqual(list(file["results"]), ["doubled", "draws"])
        self.assertEqual(file["results"]["doubled"], 0.2)
        self.assertEqual(list(file["measurements"]), ["runs", "seconds"])
        self.assertGreater(file["measurements"]["seconds"], 0)
        self.assertEqual(file["provenance"]["threads"], 1)
        self.assertTrue(text.endswith("}\n"))

    def test_two_runs_give_the_same_bytes(self):
        self.run_example()
        first = self.results_text()
        # Other surroundings: another directory, other environment.
        self.run_example("--judge=false", working_directory="/")
        self.assertEqual(self.results_text(), first)
        self.run_example("--draws=4")
        self.assertNotEqual(self.results_text(), first)

    def test_several_claims(self):
        self.write_ledger([DOUBLED, claim("again", "0.5", "/doubled"),
                           claim("other", "1", "/x", experiment="other")])
        run = self.run_example()
        self.assertEqual((run.returncode, run.stderr), (0, ""))
        self.assertIn("\nAll 2 verdicts are as the ledger has them.\n",
                      run.stdout)

    def test_verdict_off(self):
        self.write_ledger([claim("doubled", "0.51", "/doubled"),
                           claim("again", "0.5", "/doubled")])
        run = self.run_example()
        self.assertEqual(run.returncode, 1)
        self.assert_one_line(
            run, "frame_example: 1 claim does not come out: "
            "frame_example.doubled: published 0.51, ours 0.5000 "
            "(the same 2 decimals): fails, expected holds")
        # The table shows it, and the results are there nevertheless.
        self.assertIn("fails, expected holds\n", run.stdout)
        self.assertNotIn("as the ledger has", run.stdout)
        self.assertIn('"doubled": 0.5', self.results_text())

    def test_a_known_failure_is_as_expected(self):
        self.write_ledger([claim("doubled", "0.51", "/doubled",
                                 expected="fails")])
        self.assertEqual(self.run_example().returncode, 0)
        self.write_ledger([claim("doubled", "0.50", "/doubled",
                                 expected="fails")])
        self.assertEqual(self.run_example().returncode, 1)

    def test_not_judged_at_other_parameters(self):
        self.write_ledger([claim("doubled", "0.51", "/doubled")])
        run = self.run_example("--value=0.5")
        self.assertEqual((run.returncode, run.stderr), (0, ""))
        self.assertIn("\nNot judged: --value=0.5 is not as published.\n",
                      run.stdout)
        self.assertNotIn("frame_example.doubled", run.stdout)
        run = self.run_example("--value=0.5", "--draws=4")
        self.assertIn("\nNot judged: --draws=4 --value=0.5 are not as "
                      "published.\n", run.stdout)
        # A parameter given its published value is no change.
        self.assertEqual(self.run_example("--value=0.25").returncode, 1)

    def test_judge_off(self):
        self.write_ledger([claim("doubled", "0.51", "/doubled")])
        for flag in ("--judge=false", "--nojudge"):
            run = self.run_example(flag)
            self.assertEqual((run.returncode, run.stderr), (0, ""))
            self.assertNotIn("laims", run.stdout)
            self.assertIn('"doubled": 0.5', self.results_text())

    def test_no_claim_on_the_experiment(self):
        self.write_ledger([])
        run = self.run_example()
        self.assertEqual((run.returncode, run.stderr), (0, ""))
        self.assertIn("\nNot judged: the ledger has no claim on this "
                      "experiment.\n", run.stdout)

    def test_a_pointer_to_nothing(self):
        self.write_ledger([claim("doubled", "0.50", "/doubted")])
        run = self.run_example()
        self.assertEqual(run.returncode, 2)
        self.assertIn('claim "frame_example.doubled": pointer "/doubted" '
                      "resolves to nothing", run.stderr)
        self.assertEqual(run.stderr.count("\n"), 1)

    def test_bad_ledger(self):
        ledger = self.write_ledger([DOUBLED, DOUBLED])
        run = self.run_example()
        self.assertEqual(run.returncode, 2)
        self.assert_one_line(
            run, f'frame_example: {ledger}: claim "frame_example.doubled": '
            "the id is used twice")
        ledger.unlink()
        run = self.run_example()
        self.assertEqual(run.returncode, 2)
        self.assertIn("testdata/claims.json not found", run.stderr)

    def test_parameter_out_of_range(self):
        for value in ("0", "11"):
            run = self.run_example(f"--draws={value}")
            self.assertEqual(run.returncode, 2)
            self.assert_one_line(
                run, f"frame_example: --draws is {value}; allowed: 1 to 10")
            self.assertEqual(os.listdir(self.out), [])
        for value in ("1", "10"):
            self.assertEqual(self.run_example(f"--draws={value}").returncode, 0)

    def test_bad_usage(self):
        for arguments, complaint in (
                (["--draw=3"], "unknown flag --draw (see --help)"),
                (["--draws"], "flag --draws needs a value"),
                (["3"], 'unexpected argument "3"; flags are written '
                 "--name=value (see --help)")):
            run = self.run_example(*arguments)
            self.assertEqual(run.returncode, 2)
            self.assert_one_line(run, "frame_example: " + complaint)
            self.assertFalse(self.out.exists())

    def test_failed_run(self):
        run = self.run_example("--failure=out of\nluck")
        self.assertEqual(run.returncode, 1)
        self.assert_one_line(run, "frame_example: out of luck")
        self.assertEqual(os.listdir(self.out), [])

    def test_failed_run_leaves_older_results(self):
        self.run_example()
        before = (self.out / "frame_example.json").read_bytes()
        self.run_example("--failure=luck")
        self.assertEqual((self.out / "frame_example.json").read_bytes(), before)
        self.assertEqual(os.listdir(self.out), ["frame_example.json"])

    def test_unwritable_output(self):
        plain = self.root / "plain"
        plain.write_text("a file")
        for place, reason in ((f"{plain}/x", "Not a directory"),
                              (f"{plain}", "Not a directory"),
                              ("/proc/softlookup",
                               "No such file or directory")):
            run = self.run_program(FRAME_EXAMPLE, f"--output={place}")
            self.assertEqual(run.returncode, 2)
            self.assert_one_line(
                run, f"frame_example: {place}: cannot create directory: "
                f"{reason}")
            # Found before the work.
            self.assertEqual(run.stdout, "")
        run = self.run_program(FRAME_EXAMPLE, "--output=")
        self.assertEqual(run.returncode, 2)
        self.assert_one_line(
            run, "frame_example: --output is empty; give a directory")

    def test_full_disk(self):
        self.out.mkdir()
        (self.out / "frame_example.json").symlink_to("/dev/full")
        run = self.run_example()
        self.assertEqual(run.returncode, 1)
        self.assert_one_line(
            run, f"frame_example: {self.out}/frame_example.json: cannot write: "
            "No space left on device")
        self.assertEqual(os.listdir(self.out), ["frame_example.json"])

    def test_relative_output_is_where_the_caller_is(self):
        caller = self.root / "caller"
        caller.mkdir()
        run = self.run_program(FRAME_EXAMPLE, working_directory=caller)
        self.assertEqual(run.returncode, 0)
        self.assertTrue((caller / "softlookup_out/frame_example.json").exists())
        self.run_program(FRAME_EXAMPLE, "--output=a/b",
                         working_directory=caller)
        self.assertTrue((caller / "a/b/frame_example.json").exists())
        # Without `bazel run` it is the working directory.
        self.run_program(FRAME_EXAMPLE)
        self.assertTrue(
            (self.root / "softlookup_out/frame_example.json").exists())

    def judge(self, claims, *arguments):
        ledger = self.write_ledger(claims)
        return self.run_program(
            JUDGE, f"--ledger={ledger}",
            f"--results={self.out}/frame_example.json",
            f"--verified={self.root}/verified.json", *arguments)

    def test_judge_verifies(self):
        self.run_example()
        run = self.judge([DOUBLED])
        self.assertEqual((run.returncode, run.stdout, run.stderr), (0, "", ""))
        verified = json.loads((self.root / "verified.json").read_text())
        self.assertEqual(verified.pop("claims"),
                         [{"id": "frame_example.doubled", "published": "0.50",
                           "ours": 0.5, "agreement": {"rule": "same_decimals",
                                                   "decimals": 2},
                           "verdict": "holds", "expected": "holds"}])
        results = json.loads((self.out / "frame_example.json").read_text())
        self.assertEqual(verified, results)
        self.assertEqual(list(verified), list(results))

    def test_judge_without_verified_only_prints(self):
        self.run_example()
        run = self.judge([DOUBLED], "--verified=")
        self.assertEqual((run.returncode, run.stderr), (0, ""))
        self.assertIn("frame_example.doubled", run.stdout)

    def test_judge_refuses(self):
        self.run_example()
        run = self.judge([claim("doubled", "0.51", "/doubled")])
        self.assertEqual(run.returncode, 1)
        self.assertIn("judge: 1 claim does not come out: "
                      "frame_example.doubled: published 0.51, ours 0.5000",
                      run.stderr)
        self.assertIn("fails, expected holds", run.stdout)
        run = self.judge([])
        self.assertEqual(run.returncode, 2)
        self.assert_one_line(run, "judge: the ledger has no claim on "
                             "experiment frame_example")
        run = self.judge([DOUBLED], f"--results={self.root}/none.json")
        self.assertEqual(run.returncode, 2)
        self.assert_one_line(run, f"judge: {self.root}/none.json: cannot open: "
                             "No such file or directory")
        for flag in ("--ledger=", "--results="):
            run = self.judge([DOUBLED], flag)
            self.assertEqual(run.returncode, 2)
            self.assert_one_line(run,
                                 "judge: --ledger and --results must be given")
        self.assertFalse((self.root / "verified.json").exists())


if __name__ == "__main__":
    unittest.main()
