"""gpu_check from end to end, on a driver and a cuDNN that compute nothing.

Its checks must fail then, all results being 0; what is tested is that every part
runs, in its time, and that nothing found is lost.
"""

import json
import os
import signal
import subprocess
import tempfile
import time
import unittest

BUNDLE = os.path.abspath("attention/cudnn/check/gpu_check.run")
LIBRARIES = os.path.abspath("../cuda/lib")
FOLDERS = [os.path.abspath("attention/cudnn/testing/" + name)
           for name in ("null_cudnn", "null_driver")]
LIBRARY_PATH = ":".join(FOLDERS + [LIBRARIES])

# A Python that says with what it is started before it is one.
PYTHON = """#!/bin/sh
printf '%s\\n' "$LD_LIBRARY_PATH" "$@" > "$PYTHON_LOG"
exec /usr/bin/python3 "$@"
"""
# In PyTorch's place: one that sees no GPU.
TORCH = """
__version__ = "9.8"
class cuda:
    @staticmethod
    def is_available():
        return False
"""
ATTENTION = """
class SDPBackend:
    CUDNN_ATTENTION = 1
sdpa_kernel = None
"""


class GpuCheckRunTest(unittest.TestCase):

    def setUp(self):
        self.folder = tempfile.mkdtemp(dir=os.environ["TEST_TMPDIR"])
        self.log = os.path.join(self.folder, "python.log")
        self.output = os.path.join(self.folder, "out.json")
        self.python = os.path.join(self.folder, "python")
        nn = os.path.join(self.folder, "torch", "nn")
        os.makedirs(nn)
        for path, text in ((self.python, PYTHON),
                           (os.path.join(nn, "..", "__init__.py"), TORCH),
                           (os.path.join(nn, "__init__.py"), ""),
                           (os.path.join(nn, "attention.py"), ATTENTION)):
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
        os.chmod(self.python, 0o755)

    def start(self, *flags, **environment):
        environment = {
            "PATH": "/usr/bin:/bin",
            "LD_LIBRARY_PATH": LIBRARY_PATH,
            "NULL_CUDNN_REAL": LIBRARIES + "/libcudnn.so.9",
            "NULL_DRIVER_DEVICES": "1",
            "NULL_DRIVER_NAME": "NVIDIA H200",
            "NULL_DRIVER_MEMORY": str(8 << 30),
            "PYTHON_LOG": self.log,
            "PYTHONPATH": self.folder,
            "SOFTLOOKUP_PYTORCH_PYTHON": self.python,
            # For AddressSanitizer: what cuDNN opens while it plans leaks.
            "ASAN_OPTIONS": "detect_leaks=0",
            **environment,
        }
        return subprocess.Popen(
            [BUNDLE, "--output=" + self.output, "--longest=1024", *flags],
            env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            text=True, cwd=self.folder, start_new_session=True)

    def run_to_end(self, *flags, **environment):
        process = self.start(*flags, **environment)
        output, errors = process.communicate(timeout=800)
        # The results are wrong, and nothing else is.
        self.assertEqual(process.returncode, 1, errors)
        with open(self.output, encoding="utf-8") as results:
            results = json.load(results)
        self.assertIn("gpu_check: %d checks failed\n" % len(
            results["failures"]), errors)
        self.assertIn("%d failures in " % len(results["failures"]), output)
        return output, results

    def test_every_part(self):
        # So long that a slow machine leaves nothing out.
        output, results = self.run_to_end("--cases=2", "--seconds=10000")
        self.assertEqual(results["device"], "NVIDIA H200")
        # 0 is 0 every time, and nothing that was computed.
        self.assertFalse(results["deterministic_backward_repeats"])
        self.assertFalse(results["serialized_plan_runs"])
        # cuDNN reads the plan; cudnn-frontend then wants a device to run it.
        self.assertRegex(
            [failure for failure in results["failures"]
             if failure.startswith("serialized")][0],
            r"cuDNN reads a plan: .*no CUDA-capable device is detected")
        self.assertEqual(len(results["known_faults"]), 14)
        self.assertEqual(len(results["parity"]), 4)
        self.assertEqual(results["parity_cases"], {"checked": 4, "of": 4})
        self.assertIn("parity: 4 of 4 in the time", output)
        for section in ("known_faults", "parity"):
            for row in results[section]:
                self.assertGreater(row["output"]["error_over_bound"], 1)

        self.assertEqual([row["pass"] for row in results["host_per_call"]],
                         ["forward", "backward"])
        for row in results["host_per_call"]:
            self.assertGreater(row["microseconds"], 0)
            self.assertEqual(row["met"], row["microseconds"] < 10)
        # The driver says that whatever is measured takes a millisecond, so that
        # a call takes a tenth of one, ten of them being a round.
        self.assertEqual(len(results["speed"]), 8)
        for row in results["speed"]:
            self.assertEqual(row["length"], 1024)
            self.assertEqual(row["batch"], 8)
            self.assertAlmostEqual(row["median_seconds"], 1e-4)
            self.assertAlmostEqual(row["teraflops"],
                                   row["operations"] / 1e-4 * 1e-12, places=2)

        self.assertEqual(results["pytorch"],
                         {"absent": "PyTorch 9.8 sees no GPU"})
        self.assertIn(" 128   1024 causal forward ", output)
        with open(self.log, encoding="utf-8") as log:
            path, script, *flags = log.read().splitlines()
        # PyTorch finds its libraries as it would without the packed ones.
        self.assertEqual(path, LIBRARY_PATH)
        self.assertEqual(os.path.basename(script), "pytorch_speed.py")
        self.assertEqual(flags, ["--output=" + self.output, "--longest=1024",
                                 "--cases=2", "--seconds=10000"])

    def test_no_time_and_no_python(self):
        output, results = self.run_to_end(
            "--seconds=1", SOFTLOOKUP_PYTORCH_PYTHON="/no/python3")
        self.assertEqual(len(results["known_faults"]), 14)
        self.assertIn("serialized_plan_runs", results)
        self.assertEqual(results["parity_cases"], {"checked": 0, "of": 48})
        self.assertIn("parity: 0 of 48 in the time", output)
        self.assertEqual(len(results["speed"]), 8)
        self.assertNotIn("pytorch", results)
        self.assertIn("PyTorch is not compared: /no/python3 fails", output)

    def test_what_was_found_outlives_an_end(self):
        process = self.start()
        start = time.monotonic()
        while not os.path.exists(self.output):
            self.assertIsNone(process.poll())
            self.assertLess(time.monotonic() - start, 300)
            time.sleep(0.01)
        # As timeout does.
        os.killpg(process.pid, signal.SIGTERM)
        process.communicate(timeout=20)
        self.assertNotEqual(process.returncode, 0)
        with open(self.output, encoding="utf-8") as results:
            results = json.load(results)
        self.assertFalse(results["deterministic_backward_repeats"])
        self.assertFalse(os.path.exists(self.log))


if __name__ == "__main__":
    unittest.main()
