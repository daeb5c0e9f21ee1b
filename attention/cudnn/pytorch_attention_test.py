"""The protocol of pytorch_attention.py, with a module in torch's place.

What that module is asked to do is written to a file, line by line, so that the
test sees which functions are timed and with what arguments.
"""

import json
import os
import subprocess
import sys
import tempfile
import unittest

SCRIPT = os.path.abspath("attention/cudnn/pytorch_attention.py")

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
    def detach(self):
        return Tensor(self.shape, False)

def randn(shape, device, dtype, requires_grad=False):
    record("randn", list(shape), device, dtype, requires_grad)
    return Tensor(shape, requires_grad)

def randn_like(tensor):
    return Tensor(tensor.shape, False)

class no_grad:
    def __enter__(self):
        pass
    def __exit__(self, *error):
        pass

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
    @staticmethod
    def synchronize():
        record("synchronize")

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


def attention(**changes):
    request = {"request": "attention", "batch": 2, "heads": 8, "key_heads": 2,
               "length": 64, "width": 16, "causal": False, "backward": False,
               "calls": 4}
    request.update(changes)
    return request


class PytorchAttentionTest(unittest.TestCase):

    def setUp(self):
        self.folder = tempfile.mkdtemp(dir=os.environ["TEST_TMPDIR"])
        self.log = os.path.join(self.folder, "log")

    def write_torch(self, torch=TORCH, attention_module=ATTENTION):
        package = os.path.join(self.folder, "torch", "nn")
        os.makedirs(package)
        for path, text in ((("..", "__init__.py"), torch),
                           (("__init__.py",), ""),
                           (("attention.py",), attention_module)):
            with open(os.path.join(package, *path), "w",
                      encoding="utf-8") as module:
                module.write(text)

    def run_script(self, *lines, **environment):
        """Replies to these lines, of which a dict is a request."""
        text = "".join((line if isinstance(line, str) else json.dumps(line)) +
                       "\n" for line in lines)
        result = subprocess.run(
            [sys.executable, "-s", SCRIPT], input=text, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=50,
            env={"PATH": "/usr/bin:/bin", "PYTHONPATH": self.folder,
                 "TORCH_LOG": self.log, **environment})
        self.assertEqual(result.returncode, 0, result.stderr)
        return [json.loads(line) for line in result.stdout.splitlines()]

    def recorded(self):
        with open(self.log, encoding="utf-8") as log:
            return [json.loads(line) for line in log]

    def test_versions_come_first(self):
        self.write_torch()
        self.assertEqual(self.run_script(),
                         [{"torch": "9.8.7", "cudnn": "9.15.1",
                           "device": "a card"}])

    def test_no_torch(self):
        replies = self.run_script(attention(), PYTHONNOUSERSITE="1")
        if "error" not in replies[0] and len(replies) == 2:
            self.skipTest("this Python has PyTorch")
        self.assertEqual(len(replies), 1)
        self.assertRegex(replies[0]["error"], r"\A(no )?PyTorch")

    def test_no_gpu(self):
        self.write_torch()
        self.assertEqual(self.run_script(attention(), TORCH_GPU="0"),
                         [{"error": "PyTorch 9.8.7 sees no GPU"}])

    def test_torch_that_does_not_load(self):
        self.write_torch(torch="raise OSError('libcudart.so.13: no such file')")
        self.assertEqual(self.run_script(), [{
            "error": "PyTorch does not start: libcudart.so.13: no such file"}])

    def test_torch_without_cudnn_attention(self):
        self.write_torch(attention_module=ATTENTION.replace(
            "CUDNN_ATTENTION", "FLASH_ATTENTION"))
        self.assertEqual(self.run_script(),
                         [{"error": "PyTorch 9.8.7 has no cuDNN attention"}])

    def test_forward(self):
        self.write_torch()
        replies = self.run_script(attention(causal=True))
        # A millisecond a call by the events, and only what is between them.
        self.assertEqual(replies[1], {"seconds": 0.001})
        query, key = [2, 8, 64, 16], [2, 2, 64, 16]
        call = ["attention", query, key, key, True, True, True, "cudnn"]
        self.assertEqual(self.recorded(), [
            ["empty_cache"],
            ["randn", query, "cuda", "bfloat16", True],
            ["randn", key, "cuda", "bfloat16", True],
            ["randn", key, "cuda", "bfloat16", True],
            call, call, call, ["synchronize"],
            ["event"], call, call, call, call, ["event"], ["wait"]])

    def test_backward_times_the_backward_alone(self):
        self.write_torch()
        replies = self.run_script(attention(backward=True, calls=2))
        self.assertEqual(replies[1], {"seconds": 0.001})
        query, key = [2, 8, 64, 16], [2, 2, 64, 16]
        call = ["grad", query, [query, key, key], True]
        self.assertEqual(self.recorded()[4:], [
            ["attention", query, key, key, False, True, True, "cudnn"],
            call, call, call, ["synchronize"],
            ["event"], call, call, ["event"], ["wait"]])

    def test_product(self):
        self.write_torch()
        replies = self.run_script({"request": "product", "size": 32,
                                   "calls": 3})
        self.assertEqual(replies[1], {"seconds": 0.001})
        call = ["matmul", [32, 32], [32, 32], False]
        self.assertEqual(self.recorded()[-6:],
                         [["event"], call, call, call, ["event"], ["wait"]])

    def test_prepares_a_problem_once(self):
        self.write_torch()
        replies = self.run_script(attention(), attention(calls=1),
                                  attention(length=128), attention())
        self.assertEqual(replies[1:], [{"seconds": 0.001}] * 4)
        drawn = [line for line in self.recorded() if line[0] == "randn"]
        self.assertEqual(len(drawn), 3 * 3)

    def test_what_cudnn_does_not_do_is_said_and_the_rest_goes_on(self):
        self.write_torch()
        replies = self.run_script(attention(width=7), attention())
        self.assertEqual(replies[1:], [
            {"error": "No available kernel. Aborting execution.; cuDNN wants a "
                      "multiple of 8"},
            {"seconds": 0.001}])

    def test_requests_that_are_none(self):
        self.write_torch()
        replies = self.run_script("no JSON", "[]", {"request": "attention"},
                                  {"request": "nothing", "calls": 1},
                                  attention(calls=0), attention())
        self.assertEqual(len(replies), 7)
        for reply in replies[1:6]:
            self.assertEqual(list(reply), ["error"])
        self.assertEqual(replies[4]["error"],
                         "request is 'nothing'; allowed: attention, product")
        self.assertEqual(replies[5]["error"], "calls is 0; allowed: 1 or more")
        self.assertEqual(replies[6], {"seconds": 0.001})


if __name__ == "__main__":
    unittest.main()
