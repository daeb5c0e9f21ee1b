"""The induction program as a person runs it: flags, results, stops, restarts."""

import json
import os
import pathlib
import random
import signal
import subprocess
import sys
import tempfile
import time
import unittest

PROGRAM = "experiments/induction/induction"
# A run of a second or so, of everything.
SMALL = [
    "--steps=60", "--curve_interval=20", "--curve_sequences=8",
    "--sequences=8", "--baseline_draws=8", "--n_ctx=32", "--batch=8",
    "--min_period=4", "--max_period=12", "--judge=false",
]


class InductionProgramTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def run_program(self, *flags, small=True):
        command = [PROGRAM, *(SMALL if small else []),
                   f"--output={self.folder}", *flags]
        return subprocess.run(command, capture_output=True, text=True,
                              check=False)

    def results(self):
        with open(self.folder / "induction.json", encoding="utf-8") as file:
            return json.load(file)

    def succeed(self, *flags):
        done = self.run_program(*flags)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done

    def test_the_same_results_on_every_run(self):
        self.succeed()
        expected = self.results()
        self.assertIn("controls", expected["results"])
        for flags in (["--threads=1"], ["--threads=3"], ["--isa=portable"],
                      ["--isa=avx2", "--threads=1"]):
            with self.subTest(flags):
                self.succeed(*flags)
                found = self.results()
                self.assertEqual(json.dumps(found["results"]),
                                 json.dumps(expected["results"]))
                self.assertEqual(found["parameters"], expected["parameters"])
        self.assertEqual(found["provenance"]["threads"], 1)
        self.assertEqual(found["provenance"]["kernels"], "avx2")

    def test_other_models_run_to_their_end(self):
        for flags in (
            ["--normalization_type=RMS", "--d_mlp=24", "--biases"],
            ["--positional_embedding_type=rotary", "--n_key_value_heads=1",
             "--tied"],
            ["--positional_embedding_type=alibi", "--n_layers=3",
             "--n_heads=1"],
            ["--smeared_keys", "--normalization_type=LN", "--replacement"],
            ["--lr_schedule=cosine", "--warmup=3", "--clip=0"],
        ):
            with self.subTest(flags):
                self.succeed(*flags, "--steps=5", "--controls=false")
                for table in self.results()["results"]["single_heads"]:
                    self.assertIn("zero", table)

    def test_prints_what_it_found(self):
        text = self.succeed().stdout
        for words in ("Learning.", "the previous-token head is layer 0, head",
                      "induction head layer 1, head", "Controls:",
                      "Composition scores"):
            self.assertIn(words, text)

    def test_a_finished_run_leaves_results_and_nothing_else(self):
        self.succeed(f"--save_model={self.folder}/model.safetensors")
        self.assertEqual(sorted(os.listdir(self.folder)),
                         ["induction.json", "model.safetensors"])

    def test_killed_five_times_and_resumed(self):
        flags = ["--steps=400", "--checkpoint_interval=5", "--controls=false",
                 "--sequences=4"]
        checkpoint = self.folder / "induction.training.safetensors"
        self.succeed(*flags)
        expected = self.results()["results"]
        seed = time.time_ns() % 1000000
        print("seed", seed)
        chance = random.Random(seed)
        kills = 0
        while kills < 5:
            resume = ["--resume"] if checkpoint.exists() else []
            with subprocess.Popen(
                [PROGRAM, *SMALL, f"--output={self.folder}", *flags, *resume],
                stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
            ) as run:
                time.sleep(chance.uniform(0.05, 0.25))
                run.kill()
                run.wait()
                # A run that had ended would have been no kill.
                if run.returncode == -signal.SIGKILL:
                    kills += 1
                else:
                    self.assertEqual(run.returncode, 0, run.stderr.read())
        done = self.run_program(
            *flags, *(["--resume"] if checkpoint.exists() else []))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.results()["results"], expected)

    def test_ctrl_c_saves_and_says_where(self):
        flags = ["--steps=3000", "--controls=false"]
        with subprocess.Popen(
            [PROGRAM, *SMALL, f"--output={self.folder}", *flags],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        ) as run:
            # The headline comes before the training.
            run.stdout.readline()
            time.sleep(0.5)
            run.send_signal(signal.SIGINT)
            _, errors = run.communicate(timeout=60)
        self.assertEqual(run.returncode, 1)
        checkpoint = self.folder / "induction.training.safetensors"
        self.assertRegex(
            errors, rf"^induction: stopped after step \d+; saved to "
            rf"{checkpoint}; the same command with --resume goes on\n$")
        self.assertEqual(os.listdir(self.folder), [checkpoint.name])

    def test_bad_input(self):
        cases = (
            (["--n_layers=1"], "--n_layers is 1; allowed: 2 to 16"),
            (["--n_heads=3", "--n_key_value_heads=2"], "n_key_value_heads"),
            (["--d_head=31", "--positional_embedding_type=rotary"], "d_head"),
            (["--d_vocab=10"],
             "--max_period is 12 without replacement; allowed: up to the "
             "vocabulary of 10"),
            (["--n_ctx=20"],
             "--max_period is 12; allowed: up to half of the 20 positions, so "
             "that a block comes twice"),
            (["--min_period=13"],
             "--max_period is 12; allowed: min_period = 13 or more"),
            (["--act_fn=tanh"], '--act_fn is "tanh"; allowed: relu, gelu'),
            (["--normalization_type=rms"],
             '--normalization_type is "rms"; allowed: none, RMS, LN'),
            (["--normalization_type=layer"],
             '--normalization_type is "layer"; allowed: none, RMS, LN'),
            (["--positional_embedding_type=learned"],
             '--positional_embedding_type is "learned"; allowed: none, '
             "standard, rotary, alibi"),
            (["--lr_schedule=step"],
             '--lr_schedule is "step"; allowed: constant, linear, cosine'),
            (["--rate=0"], "--rate is 0.0; allowed: 1e-09 to 1000.0"),
            (["--warmup=61"], "--warmup is 61; allowed: 0 to the 60 steps"),
            (["--threads=-1"], "--threads is -1; allowed: 0 to 1024"),
            (["--isa=sse"],
             '--isa is "sse"; allowed: auto, portable, avx2, avx512'),
            (["--checkpoint_interval=0"],
             "--checkpoint_interval is 0; allowed: 1 to 1000000"),
            (["--n_ctx=1024", "--sequences=4096", "--n_layers=16",
              "--n_heads=64"], "the attention patterns of all sequences"),
            (["--resume"], "induction.training.safetensors: "),
            (["--checkpoint=/nowhere/x"], "/nowhere"),
            (["--save_model=/nowhere/x"], "/nowhere"),
            (["--batch=ten"], "--batch"),
            (["--unknown"], "--unknown"),
        )
        for flags, words in cases:
            with self.subTest(flags):
                done = self.run_program(*flags)
                self.assertEqual(done.returncode, 2, done.stderr)
                self.assertIn(words, done.stderr)
                self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
                self.assertEqual(os.listdir(self.folder), [])

    def test_old_names_are_answered_with_the_new(self):
        for old, new in {
            "width=64": "d_model", "head_width=32": "d_head",
            "heads=2": "n_heads", "key_heads=2": "n_key_value_heads",
            "layers=2": "n_layers", "vocabulary=64": "d_vocab",
            "context=64": "n_ctx", "mlp_width=0": "d_mlp",
            "activation=gelu": "act_fn", "norm=none": "normalization_type",
            "positions=learned": "positional_embedding_type",
            "decay=constant": "lr_schedule",
        }.items():
            with self.subTest(old):
                done = self.run_program("--" + old)
                self.assertEqual(done.returncode, 2)
                name = old.split("=")[0]
                self.assertEqual(done.stderr,
                                 f"induction: --{name} is now --{new}\n")

    def test_a_foreign_checkpoint_is_kept(self):
        checkpoint = self.folder / "mine.safetensors"
        checkpoint.write_bytes(b"not a checkpoint")
        done = self.run_program("--resume", f"--checkpoint={checkpoint}")
        self.assertEqual(done.returncode, 2)
        self.assertIn(str(checkpoint), done.stderr)
        self.assertEqual(checkpoint.read_bytes(), b"not a checkpoint")


if __name__ == "__main__":
    sys.exit(unittest.main())
