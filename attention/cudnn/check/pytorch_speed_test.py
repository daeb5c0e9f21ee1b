"""What pytorch_speed.py adds to results, with a module in torch's place.

What that module is asked to do is written to a file, line by line, so that the
test sees which functions are timed and with what arguments.
"""

import json
import os
import subprocess
import sys
import tempfile
import unittest

SCRIPT = os.path.abspath("attention/cudnn/check/pytorch_speed.py")

# Everything is recorded; nothing is computed. A call takes a millisecond by the
# events, whatever the clock says.
TORCH = '''
import json, os, sys, warnings
__version__ = "9.8.7"
bfloat16 = "bfloat16"
state = {"backend": None, "calls": 0}

def record(*what):
    with open(os.environ["TORCH_LOG"], "a") as log:
        log.write(json.dumps(what) + "\\n")

print("torch says hello on standard output")

class Tensor:
    def __init__(self, shape, gradient):
        self.shape, self.gradient = list(shape), gradient

def randn(shape, device, dtype, requires_grad=False):
    record("randn", list(shape), device, dtype, requires_grad)
    return Tensor(shape, requires_grad)

def randn_like(tensor):
    return Tensor(tensor.shape, False)

def matmul(a, b):
    state["calls"] += 1
    record("matmul", a.shape, b.shape, a.gradient)

class autograd:
    @staticmethod
    def grad(output, inputs, gradient, retain_graph=False):
        state["calls"] += 1
        record("grad", output.shape, [t.shape for t in inputs], retain_graph)

class functional:
    @staticmethod
    def scaled_dot_product_attention(query, key, value, is_causal=False,
                                     enable_gqa=False):
        state["calls"] += 1
        record("attention", query.shape, key.shape, value.shape, is_causal,
               enable_gqa, query.gradient, state["backend"])
        if query.shape[-1] == 7:
            warnings.warn("cuDNN wants a multiple of 8")
            raise RuntimeError("No available kernel.\\nAborting execution.")
        return Tensor(query.shape, True)

class cuda:
    class Event:
        def __init__(self, enable_timing=False):
            assert enable_timing
        def record(self):
            self.calls = state["calls"]
            record("event")
        def synchronize(self):
            record("wait")
        def elapsed_time(self, after):
            return float(after.calls - self.calls)
    @staticmethod
    def is_available():
        return os.environ.get("TORCH_GPU", "1") == "1"
    @staticmethod
    def get_device_name():
        return "a card"
    @staticmethod
    def empty_cache():
        record("empty_cache")

class backends:
    class cudnn:
        @staticmethod
        def version():
            return 91501

from . import nn
nn.functional = functional
'''

ATTENTION = '''
import torch

class SDPBackend:
    CUDNN_ATTENTION = "cudnn"

class sdpa_kernel:
    def __init__(self, backend):
        self.backend = backend
    def __enter__(self):
        torch.state["backend"] = self.backend
    def __exit__(self, *error):
        torch.state["backend"] = None
'''


def row(**changes):
    row = {"batch": 2, "length": 64, "width": 16, "causal": False,
           "backward": False, "operations": 1e9, "median_seconds": 0.001,
           "teraflops": 1.0}
    row.update(changes)
    return row


class PytorchSpeedTest(unittest.TestCase):

    def setUp(self):
        self.folder = tempfile.mkdtemp(dir=os.environ["TEST_TMPDIR"])
        self.log = os.path.join(self.folder, "log")
        self.output = os.path.join(self.folder, "out.json")

    def write_torch(self, torch=TORCH, attention_module=ATTENTION):
        package = os.path.join(self.folder, "torch", "nn")
        os.makedirs(package)
        for path, text in ((("..", "__init__.py"), torch),
                           (("__init__.py",), ""),
                           (("attention.py",), attention_module)):
            with open(os.path.join(package, *path), "w",
                      encoding="utf-8") as module:
                module.write(text)

    def run_script(self, *rows, seconds=0, **environment):
        """The results that these rows become, and what is printed."""
        with open(self.output, "w", encoding="utf-8") as results:
            json.dump({"speed": rows, "seconds": seconds, "device": "H200"},
                      results)
        result = subprocess.run(
            [sys.executable, "-s", SCRIPT, "--output=" + self.output,
             "--longest=1024", "--seconds=100"], text=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=50,
            env={"PATH": "/usr/bin:/bin", "PYTHONPATH": self.folder,
                 "TORCH_LOG": self.log, **environment})
        self.assertEqual(result.returncode, 0, result.stderr)
        with open(self.output, encoding="utf-8") as results:
            results = json.load(results)
        self.assertEqual(results["device"], "H200")
        return results, result.stdout

    def recorded(self):
        """What torch was asked after the matrix product."""
        with open(self.log, encoding="utf-8") as log:
            lines = [json.loads(line) for line in log]
        return lines[[line[0] for line in lines].index("empty_cache", 1):]

    def absent(self, *rows, **environment):
        results, output = self.run_script(row(), *rows, **environment)
        self.assertEqual(list(results["pytorch"]), ["absent"])
        self.assertIn(results["pytorch"]["absent"], output)
        # Ours is in the table in any case.
        self.assertIn("  16     64 full   forward       1", output)
        self.assertNotIn("ratio", results["speed"][0])
        return results["pytorch"]["absent"]

    def test_no_torch(self):
        results, _ = self.run_script(row(), PYTHONNOUSERSITE="1")
        if "torch" in results["pytorch"]:
            self.skipTest("this Python has PyTorch")
        self.assertEqual(results["pytorch"],
                         {"absent": "No module named 'torch'"})

    def test_no_gpu(self):
        self.write_torch()
        self.assertEqual(self.absent(TORCH_GPU="0"),
                         "PyTorch 9.8.7 sees no GPU")

    def test_torch_that_does_not_load(self):
        self.write_torch(torch="raise OSError('libcudart.so.13: no such file')")
        self.assertEqual(self.absent(), "libcudart.so.13: no such file")

    def test_torch_without_cudnn_attention(self):
        self.write_torch(attention_module=ATTENTION.replace(
            "CUDNN_ATTENTION", "FLASH_ATTENTION"))
        self.assertIn("has no attribute 'CUDNN_ATTENTION'", self.absent())

    def test_forward(self):
        self.write_torch()
        results, _ = self.run_script(row(causal=True))
        self.assertEqual(results["pytorch"], {
            "torch": "9.8.7", "cudnn": 91501, "device": "a card"})
        # A millisecond a call by the events, ten calls a round.
        self.assertAlmostEqual(
            results["speed"][0]["pytorch"]["median_seconds"], 0.001)
        query, key = [2, 64, 64, 16], [2, 8, 64, 16]
        call = ["attention", query, key, key, True, True, True, "cudnn"]
        timed = [["event"]] + [call] * 10 + [["event"], ["wait"]]
        self.assertEqual(self.recorded(), [
            ["empty_cache"],
            ["randn", query, "cuda", "bfloat16", True],
            ["randn", key, "cuda", "bfloat16", True],
            ["randn", key, "cuda", "bfloat16", True],
            *(timed * 8)])

    def test_backward_times_the_backward_alone(self):
        self.write_torch()
        self.run_script(row(backward=True))
        query, key = [2, 64, 64, 16], [2, 8, 64, 16]
        self.assertEqual(self.recorded()[4:17], [
            ["attention", query, key, key, False, True, True, "cudnn"],
            ["event"]] + [["grad", query, [query, key, key], True]] * 10 + [
            ["event"]])

    def test_ratios_and_the_product(self):
        self.write_torch()
        # 1e9 operations in a millisecond are a TFLOP/s.
        results, output = self.run_script(
            row(), row(length=2048, width=128, causal=True, backward=True,
                       teraflops=0.96))
        first, second = results["speed"]
        self.assertAlmostEqual(first["pytorch"]["teraflops"], 1)
        self.assertAlmostEqual(first["ratio"], 1)
        self.assertTrue(first["ratio_met"])
        self.assertAlmostEqual(second["ratio"], 0.96)
        self.assertFalse(second["ratio_met"])
        # 2^40 operations in a millisecond.
        self.assertAlmostEqual(results["matrix_product"]["teraflops"], 1099.5,
                               places=1)
        lines = [line.split() for line in output.splitlines()]
        self.assertEqual(lines[-2], ["16", "64", "full", "forward", "1", "-",
                                     "1", "1.000", "met", "0"])
        self.assertEqual(lines[-1], ["128", "2048", "causal", "backward", "1",
                                     "370", "1", "0.960", "not", "met", "0"])

    def test_published_speeds_are_of_the_pass_and_the_mask(self):
        _, output = self.run_script(*[
            row(length=16384, width=128, causal=causal, backward=backward)
            for causal in (True, False) for backward in (False, True)])
        self.assertEqual([line.split()[5] for line in output.splitlines()[-4:]],
                         ["673", "579", "702", "612"])

    def test_what_cudnn_does_not_do_is_said_and_the_rest_goes_on(self):
        self.write_torch()
        results, output = self.run_script(row(width=7), row())
        reason = ("No available kernel. Aborting execution.; cuDNN wants a "
                  "multiple of 8")
        self.assertEqual(results["speed"][0]["pytorch"], {"absent": reason})
        self.assertIn('"-": ' + reason, output)
        self.assertIn("ratio", results["speed"][1])

    def test_no_time_left(self):
        self.write_torch()
        results, output = self.run_script(row(), row(), seconds=100)
        self.assertEqual([row["pytorch"] for row in results["speed"]],
                         [{"absent": "no time left"}] * 2)
        self.assertEqual(output.count("no time left"), 1)


if __name__ == "__main__":
    unittest.main()
