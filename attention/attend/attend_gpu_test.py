"""attend with --backend=cudnn and auto where there is no GPU.

The first argument is "built" for a program with cuDNN (--config=cuda), whose
driver library is then one that drives nothing, and "absent" for one without.
"""

import ctypes
import os
import sys
import unittest

import numpy

from attention.attend import attend_testing
from base.safetensors import safetensors_numpy

BUILT = sys.argv.pop(1) == "built"
NULL_DRIVER = os.path.abspath("attention/cudnn/testing/null_driver")


def has_driver():
    try:
        ctypes.CDLL("libcuda.so.1")
    except OSError:
        return False
    return True


no_driver = unittest.skipIf(has_driver(), "this machine has a driver")


def wide(dtype=numpy.float32):
    """An input whose widths cuDNN takes: B 2, H 4, Hkv 2, Tq 3, Tk 5, D 8."""
    random = numpy.random.default_rng(attend_testing.SEED)
    shapes = {"query": (2, 4, 3, 8), "key": (2, 2, 5, 8), "value": (2, 2, 5, 8)}
    return {name: random.standard_normal(shape).astype(dtype)
            for name, shape in shapes.items()}


def bfloat16_bits(tensors):
    """The upper halves of float32 elements: rounded towards 0."""
    return {name: (array.view(numpy.uint32) >> 16).astype(numpy.uint16)
            for name, array in tensors.items()}


def null_driver(**settings):
    """An environment in which libcuda.so.1 is the null driver."""
    environment = dict(os.environ, LD_LIBRARY_PATH=NULL_DRIVER)
    for name, value in settings.items():
        environment["NULL_DRIVER_" + name.upper()] = str(value)
    return environment


class Refused(attend_testing.AttendTestCase):

    def refused(self, tensors, *flags, **options):
        """The line of an error, with exit code 2 and no output."""
        bfloat16 = options.pop("bfloat16", ())
        safetensors_numpy.write(self.input, tensors, bfloat16=bfloat16)
        result = self.run_program("--input=" + self.input,
                                  "--output=" + self.output, *flags, **options)
        self.assertEqual(result.returncode, 2, result.stderr)
        self.assertEqual(result.stdout, "")
        self.assertFalse(os.path.exists(self.output))
        self.assertEqual(result.stderr.count("\n"), 1, result.stderr)
        self.assertTrue(result.stderr.startswith("attend: "), result.stderr)
        return result.stderr[len("attend: "):-1]


class AttendGpuTest(Refused):

    def test_auto_computes_float32_on_the_cpu(self):
        tensors = wide()
        for flags, picked in [(["--precision=float32"], "simd"),
                              (["--precision=float32", "--weights"],
                               "reference"), ([], "reference")]:
            outputs = self.attend(tensors, "--backend=auto", *flags)
            self.assertEqual(
                self.stdout.splitlines()[0],
                "auto: %s on the CPU, not cudnn: query is F32; cudnn is for "
                "input that is all F16 or all BF16" % picked)
            self.assertEqual(self.metadata["backend"], picked)
            self.expect_close(
                {"output": outputs["output"]},
                attend_testing.attention(tensors), 1e-5)

    def test_auto_is_not_for_mixed_input(self):
        tensors = bfloat16_bits(wide())
        tensors["query"] = wide(numpy.float16)["query"]
        self.attend(tensors, "--backend=auto", bfloat16=("key", "value"))
        self.assertEqual(
            self.stdout.splitlines()[0],
            "auto: reference on the CPU, not cudnn: key is BF16; cudnn is for "
            "input that is all F16 or all BF16")

    @no_driver
    def test_auto_without_a_gpu_says_why(self):
        reason = ("no NVIDIA driver: libcuda.so.1 cannot be opened" if BUILT else
                  "built without cuDNN: build with --config=cuda")
        tensors = wide(numpy.float16)
        outputs = self.attend(tensors, "--backend=auto")
        self.assertEqual(self.stdout.splitlines()[0],
                         "auto: reference on the CPU, not cudnn: " + reason)
        self.assertEqual(self.metadata["precision"], "float64")
        self.expect_close(outputs, attend_testing.attention(tensors), 1e-12)

    def test_auto_with_bad_input_fails_as_ever(self):
        tensors = wide()
        del tensors["query"]
        self.assertIn('no tensor "query"',
                      self.refused(tensors, "--backend=auto"))

    def test_auto_takes_no_run_options(self):
        self.assertEqual(
            self.refused(wide(), "--backend=auto", "--threads=2"),
            "flag --threads with --backend=auto, which has one way to run; "
            "allowed: --backend=simd --precision=float32")

    def test_precision_is_the_backends(self):
        self.assertEqual(
            self.refused(wide(), "--backend=cudnn"),
            'flag --precision is "float64"; allowed with --backend=cudnn: '
            "bfloat16, float16, to which float32 input is rounded")
        self.assertEqual(
            self.refused(wide(), "--precision=bfloat16"),
            'flag --precision is "bfloat16"; allowed: float64, float32')

    @unittest.skipIf(BUILT, "built with cuDNN")
    def test_absent(self):
        self.assertEqual(
            self.refused(wide(), "--backend=cudnn", "--precision=bfloat16"),
            "built without cuDNN: build with --config=cuda")


@unittest.skipUnless(BUILT, "built without cuDNN")
class AttendCudnnTest(Refused):

    def cudnn(self, tensors, *flags, **options):
        line = self.refused(tensors, "--backend=cudnn", "--precision=bfloat16",
                            *flags, **options)
        return line[line.startswith(self.input + ": ") and
                    len(self.input) + 2:]

    @no_driver
    def test_no_driver(self):
        self.assertEqual(self.cudnn(wide()),
                         "no NVIDIA driver: libcuda.so.1 cannot be opened")

    def test_driver_too_old(self):
        self.assertEqual(
            self.cudnn(wide(), env=null_driver(version=12040, devices=1)),
            "the NVIDIA driver is too old: it supports CUDA 12.4; needed: 13.0 "
            "or later")

    def test_no_device(self):
        self.assertEqual(self.cudnn(wide(), env=null_driver()),
                         "no CUDA device: the NVIDIA driver sees none")

    def test_other_capability(self):
        self.assertEqual(
            self.cudnn(wide(), env=null_driver(devices=1, capability=80)),
            "null device has compute capability 8.0; needed: 9.x")

    def test_what_cudnn_cannot_do_is_refused_without_a_gpu(self):
        tensors = dict(wide(), mask=numpy.ones((1, 1, 3, 5), bool))
        self.assertEqual(
            self.cudnn(tensors),
            "mask of shape [1, 1, 3, 5] is given; allowed with backend cudnn: "
            "causal, key_lengths, bias")
        tensors = dict(wide(), key_lengths=numpy.array([5, 3]))
        self.assertIn("cuDNN's diagonal ends at each entry's last real key",
                      self.cudnn(tensors, "--causal=bottom_right"))
        self.assertEqual(
            self.cudnn(attend_testing.small(numpy.float32)),
            "width D is 4; allowed with backend cudnn: multiples of 8 from 8 "
            "to 256")

    @no_driver
    def test_types(self):
        self.assertEqual(
            self.cudnn(wide(numpy.float64)),
            "query has dtype F64; allowed with --backend=cudnn "
            "--precision=bfloat16: BF16, and F32, which is rounded")
        self.assertEqual(
            self.cudnn(wide(numpy.float16)),
            "query has dtype F16; allowed with --backend=cudnn "
            "--precision=bfloat16: BF16, and F32, which is rounded")
        self.assertEqual(
            self.cudnn(bfloat16_bits(wide()),
                       bfloat16=("query", "key", "value")),
            "no NVIDIA driver: libcuda.so.1 cannot be opened")

    def test_weights(self):
        self.assertEqual(
            self.cudnn(wide(), "--weights"),
            "flag --weights with --backend=cudnn, which never forms them; "
            "allowed: --backend=reference")


if __name__ == "__main__":
    unittest.main()
