"""What the tests of attend share: running it, and textbook attention in numpy."""

import os
import subprocess
import tempfile
import unittest

import numpy

from base.safetensors import safetensors_numpy

PROGRAM = os.path.abspath("attention/attend/attend")
SEED = 20250301
# In memory where there is such a folder: a run waits for the disk otherwise.
FOLDER = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None


def attention(tensors, causal="none", scale=None):
    """Outputs and gradients in float64, fully masked rows 0."""
    query, key, value = (tensors[name].astype(numpy.float64)
                         for name in ["query", "key", "value"])
    group = query.shape[1] // key.shape[1]
    key = numpy.repeat(key, group, axis=1)
    value = numpy.repeat(value, group, axis=1)
    if scale is None:
        scale = query.shape[3]**-0.5
    scores = numpy.einsum("bhid,bhjd->bhij", query, key) * scale
    positions = numpy.arange(scores.shape[3])
    allowed = numpy.ones(scores.shape, bool)
    if causal != "none":
        shift = 0 if causal == "top_left" else scores.shape[3] - scores.shape[2]
        allowed &= positions <= numpy.arange(scores.shape[2])[:, None] + shift
    if "mask" in tensors:
        allowed &= tensors["mask"]
    if "key_lengths" in tensors:
        allowed &= positions < tensors["key_lengths"].reshape(-1, 1, 1, 1)
    if "key_starts" in tensors:
        allowed &= positions >= tensors["key_starts"].reshape(-1, 1, 1, 1)
    if "bias" in tensors:
        bias = tensors["bias"].astype(numpy.float64)
        allowed &= bias != -numpy.inf
        scores = scores + bias
    scores = numpy.where(allowed, scores, -numpy.inf)
    top = scores.max(axis=3, keepdims=True)
    top[top == -numpy.inf] = 0
    exponentials = numpy.exp(scores - top)
    total = exponentials.sum(axis=3, keepdims=True)
    weights = exponentials / numpy.where(total == 0, 1, total)
    with numpy.errstate(divide="ignore"):
        log_sum_exp = (top + numpy.log(total))[..., 0]
    result = {
        "output": weights @ value,
        "log_sum_exp": log_sum_exp,
        "weights": weights,
    }
    if "output_gradient" not in tensors:
        return result
    d_output = tensors["output_gradient"].astype(numpy.float64)
    d_weights = d_output @ value.swapaxes(2, 3)
    inner = (weights * d_weights).sum(axis=3, keepdims=True)
    d_scores = weights * (d_weights - inner)

    def ungroup(gradient):
        batch, heads, *rest = gradient.shape
        return gradient.reshape(batch, heads // group, group, *rest).sum(axis=2)

    result["query_gradient"] = d_scores @ key * scale
    result["key_gradient"] = ungroup(d_scores.swapaxes(2, 3) @ query * scale)
    result["value_gradient"] = ungroup(weights.swapaxes(2, 3) @ d_output)
    if "bias" in tensors:
        for axis, size in enumerate(tensors["bias"].shape):
            if size == 1:
                d_scores = d_scores.sum(axis=axis, keepdims=True)
        result["bias_gradient"] = d_scores
    return result


def small(dtype=numpy.float64):
    """A small valid input: B 2, H 4, Hkv 2, Tq 3, Tk 5, D 4, Dv 3."""
    random = numpy.random.default_rng(SEED)
    return {
        "query": random.standard_normal((2, 4, 3, 4)).astype(dtype),
        "key": random.standard_normal((2, 2, 5, 4)).astype(dtype),
        "value": random.standard_normal((2, 2, 5, 3)).astype(dtype),
    }


class AttendTestCase(unittest.TestCase):

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory(dir=FOLDER)
        self.addCleanup(self.folder.cleanup)
        self.input = self.path("in.safetensors")
        self.output = self.path("out.safetensors")

    def path(self, name):
        return os.path.join(self.folder.name, name)

    def run_program(self, *flags, **options):
        return subprocess.run(
            [PROGRAM, *flags], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            text=True, timeout=60, **options)

    def attend(self, tensors, *flags, bfloat16=()):
        """What the program makes of these tensors: its file's tensors."""
        safetensors_numpy.write(self.input, tensors, bfloat16=bfloat16)
        result = self.run_program("--input=" + self.input,
                                  "--output=" + self.output, *flags)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        outputs, self.metadata = safetensors_numpy.read(self.output)
        self.stdout = result.stdout
        return outputs

    def expect_close(self, actual, expected, tolerance, note=""):
        for name, array in actual.items():
            other = expected[name]
            self.assertEqual(array.shape, other.shape, name)
            finite = numpy.isfinite(other)
            numpy.testing.assert_array_equal(array[~finite], other[~finite])
            if not finite.any():
                continue
            error = numpy.abs(array[finite] - other[finite]).max()
            self.assertLessEqual(
                error, tolerance * max(1, numpy.abs(other[finite]).max()),
                "%s %s" % (name, note))
