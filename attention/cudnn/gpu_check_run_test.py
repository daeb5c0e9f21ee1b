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

BUNDLE = os.path.abspath("attention/cudnn/gpu_check.run")
LIBRARIES = os.path.abspath("../cuda/lib")
FOLDERS = ["attention/cudnn/null_cudnn", "attention/cudnn/null_driver"]

# In PyTorch's place. The driver says that whatever is measured takes a
# millisecond, so that ours is a tenth of one, ten calls a sample.
PEER = '''
import json, os, sys
with open(os.environ["PEER_LOG"], "w") as log:
    print(os.getpid(), file=log, flush=True)
    print(json.dumps({"torch": "9.8", "cudnn": "9.15.1"}), flush=True)
    for line in sys.stdin:
        request = json.loads(line)
        print(line.strip(), file=log, flush=True)
        if request.get("width") == 64 and request["backward"]:
            print(json.dumps({"error": "not this one"}), flush=True)
        else:
            print(json.dumps({"seconds": 0.0001}), flush=True)
'''


class GpuCheckRunTest(unittest.TestCase):

    def setUp(self):
        self.folder = tempfile.mkdtemp(dir=os.environ["TEST_TMPDIR"])
        self.log = os.path.join(self.folder, "peer.log")
        self.output = os.path.join(self.folder, "out.json")
        self.script = os.path.join(self.folder, "peer.py")
        with open(self.script, "w", encoding="utf-8") as script:
            script.write(PEER)

    def start(self, *flags):
        libraries = [os.path.abspath(folder) for folder in FOLDERS]
        environment = {
            "PATH": "/usr/bin:/bin",
            "LD_LIBRARY_PATH": ":".join(libraries + [LIBRARIES]),
            "NULL_CUDNN_REAL": LIBRARIES + "/libcudnn.so.9",
            "NULL_DRIVER_DEVICES": "1",
            "NULL_DRIVER_NAME": "NVIDIA H200",
            "NULL_DRIVER_MEMORY": str(8 << 30),
            "PEER_LOG": self.log,
            # For AddressSanitizer: what cuDNN opens while it plans leaks.
            "ASAN_OPTIONS": "detect_leaks=0",
        }
        return subprocess.Popen(
            [BUNDLE, "--output=" + self.output, "--longest=1024", *flags],
            env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            text=True, cwd=self.folder, start_new_session=True)

    def run_to_end(self, *flags):
        process = self.start(*flags)
        output, errors = process.communicate(timeout=250)
        # The results are wrong, and nothing else is.
        self.assertEqual(process.returncode, 1, errors)
        with open(self.output, encoding="utf-8") as results:
            results = json.load(results)
        self.assertEqual(errors, "gpu_check: %d checks failed\n" % len(
            results["failures"]))
        self.assertIn("%d failures in " % len(results["failures"]), output)
        return output, results

    def test_every_part(self):
        output, results = self.run_to_end(
            "--cases=2", "--pytorch_script=" + self.script)
        self.assertEqual(results["device"], "NVIDIA H200")
        # 0 is 0 every time.
        self.assertTrue(results["deterministic_backward_repeats"])
        self.assertFalse(results["serialized_plan_runs"])
        # cuDNN reads the plan; cudnn-frontend then wants a device to run it.
        self.assertRegex(
            [failure for failure in results["failures"]
             if failure.startswith("a plan built")][0],
            r"cuDNN reads a plan: .*no CUDA-capable device is detected")
        self.assertEqual(len(results["known_faults"]), 14)
        self.assertEqual(len(results["parity"]), 4)
        self.assertEqual(results["parity_cases"], {"checked": 4, "of": 4})
        self.assertIn("4 of 4 drawn problems checked in the time", output)
        for section in ("known_faults", "parity"):
            for row in results[section]:
                self.assertGreater(row["output"]["error_over_bound"], 1)

        product = results["matrix_product"]
        self.assertAlmostEqual(product["ours"]["teraflops"], 2**40 / 1e8,
                               delta=1)
        self.assertAlmostEqual(product["pytorch"]["teraflops"], 2**40 / 1e8,
                               delta=1)
        self.assertEqual(set(results["host_per_call"]),
                         {"forward", "backward"})
        for cost in results["host_per_call"].values():
            self.assertGreater(cost["microseconds"], 0)
            self.assertEqual(cost["target"], 10)

        self.assertEqual(results["pytorch"], {"torch": "9.8",
                                              "cudnn": "9.15.1"})
        self.assertEqual(results["speed_cases"], {"measured": 8, "of": 8})
        self.assertIn("8 of 8 shapes measured in the time", output)
        self.assertEqual(len(results["speed"]), 8)
        compared = 0
        for row in results["speed"]:
            self.assertEqual(row["length"], 1024)
            self.assertEqual(row["ours"]["rounds"], 7)
            self.assertAlmostEqual(row["ours"]["median_seconds"], 1e-4)
            self.assertGreater(row["share_of_product"], 0)
            if row["width"] == 64 and row["backward"]:
                self.assertEqual(row["pytorch"], {"absent": "not this one"})
                self.assertNotIn("ratio", row)
                continue
            self.assertAlmostEqual(row["ratio"]["median"], 1, places=4)
            self.assertTrue(row["ratio"]["met"])
            compared += 1
        self.assertEqual(compared, 6)
        # The reason is said once, of two shapes.
        self.assertEqual(output.count("not this one"), 1)

        with open(self.log, encoding="utf-8") as log:
            pid, *requests = log.read().splitlines()
        requests = [json.loads(request) for request in requests]
        # One round to warm up and seven, the two shapes once each.
        self.assertEqual(len(requests), 8 * (1 + 6) + 2)
        self.assertEqual(requests[0],
                         {"request": "product", "size": 8192, "calls": 10})
        self.assertEqual(requests[8], {
            "request": "attention", "batch": 8, "heads": 64, "key_heads": 8,
            "length": 1024, "width": 128, "causal": True, "backward": False,
            "calls": 10})
        with self.assertRaises(ProcessLookupError):
            os.kill(int(pid), 0)

    def test_no_time_and_no_pytorch(self):
        output, results = self.run_to_end("--seconds=1",
                                          "--pytorch_script=none")
        self.assertEqual(len(results["known_faults"]), 14)
        self.assertIn("serialized_plan_runs", results)
        self.assertEqual(results["parity_cases"], {"checked": 0, "of": 48})
        self.assertIn("0 of 48 drawn problems checked in the time", output)
        # None of these is a main one.
        self.assertEqual(results["speed"], [])
        self.assertIn("0 of 8 shapes measured in the time", output)
        self.assertEqual(results["pytorch"],
                         {"absent": "--pytorch_script=none"})
        self.assertEqual(output.count("--pytorch_script=none"), 1)
        self.assertIn("ours", results["matrix_product"])
        self.assertIn("host_per_call", results)

    def test_what_was_found_outlives_an_end(self):
        process = self.start("--pytorch_script=none")
        start = time.monotonic()
        while not os.path.exists(self.output):
            self.assertIsNone(process.poll())
            self.assertLess(time.monotonic() - start, 100)
            time.sleep(0.01)
        # As timeout does.
        os.killpg(process.pid, signal.SIGTERM)
        process.communicate(timeout=20)
        self.assertNotEqual(process.returncode, 0)
        with open(self.output, encoding="utf-8") as results:
            results = json.load(results)
        self.assertTrue(results["deterministic_backward_repeats"])


if __name__ == "__main__":
    unittest.main()
