"""Runs attend from file to file: values, every flag, every kind of bad input.

Values are compared with a second method, textbook attention on whole matrices
in numpy, which shares no code with the program.
"""

import os
import re
import resource
import subprocess
import tempfile
import unittest

import numpy

from base import safetensors_numpy

PROGRAM = os.path.abspath("attention/attend")
SEED = 20250301
# In memory where there is such a folder: a run waits for the disk otherwise.
FOLDER = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None

with open(PROGRAM, "rb") as program:
    SANITIZED = re.search(b"__[at]san_init", program.read()) is not None


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


def broadcast(random, shape):
    """`shape` with some dimensions 1."""
    return tuple(size if random.random() < 0.6 else 1 for size in shape)


def draw(random, dtype):
    """A drawn input with any mixture of masks, and its flags."""
    heads = int(random.choice([1, 2, 3]))
    shape = [int(n) for n in random.integers(1, [4, 4, 7, 7, 9, 9])]
    batch, group, queries, keys, width, value_width = shape
    scores = (batch, heads * group, queries, keys)
    normal = lambda *size: random.standard_normal(size).astype(dtype)
    tensors = {
        "query": normal(batch, heads * group, queries, width),
        "key": normal(batch, heads, keys, width),
        "value": normal(batch, heads, keys, value_width),
        "output_gradient": normal(batch, heads * group, queries, value_width),
    }
    chance = lambda: random.random() < 0.4
    if chance():
        tensors["mask"] = random.random(broadcast(random, scores)) < 0.7
    if chance():
        tensors["bias"] = normal(*broadcast(random, scores))
        tensors["bias"][random.random(tensors["bias"].shape) < 0.2] = -numpy.inf
    if chance():
        tensors["key_lengths"] = random.integers(0, keys + 1, batch).astype(
            random.choice(["<i4", "<i8"]))
    if chance():
        tensors["key_starts"] = random.integers(0, keys + 1, batch).astype(
            random.choice(["<i4", "<i8"]))
    flags = {"causal": str(random.choice(["none", "top_left", "bottom_right"]))}
    if chance():
        flags["scale"] = float(random.uniform(-1, 1))
    return tensors, flags


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


class ValuesTest(AttendTestCase):
    """Against numpy.

    Tolerance: with u = 2^-53 or 2^-24, a score, a sum of at most 9 products
    whose sizes add up to 10 or less (|scale| <= 1), is off by at most 100 u,
    and its weight by as much relatively. Rounding errors do not all have one
    sign: 15 u is the most that was seen. As inputs of size 1 make terms of
    size 1, errors are compared with max(1, max |expected|).
    """

    UNITS = 100

    def check_drawn(self, seed, count, dtype, *flags, unit):
        random = numpy.random.default_rng(seed)
        for case in range(count):
            tensors, chosen = draw(random, dtype)
            outputs = self.attend(
                tensors, "--weights", *flags,
                *("--%s=%s" % (name, value) for name, value in chosen.items()))
            expected = attention(tensors, **chosen)
            self.assertEqual(set(outputs), set(expected))
            self.expect_close(outputs, expected, self.UNITS * unit,
                              "seed %d, case %d, %s" % (seed, case, chosen))

    def test_float64(self):
        self.check_drawn(SEED, 200, numpy.float64, unit=2.0**-53)

    def test_float32(self):
        self.check_drawn(SEED + 1, 200, numpy.float32, "--precision=float32",
                         unit=2.0**-24)

    def test_outputs_that_were_asked_for(self):
        tensors = small()
        self.assertEqual(set(self.attend(tensors)), {"output", "log_sum_exp"})
        self.assertEqual(set(self.attend(tensors, "--weights")),
                         {"output", "log_sum_exp", "weights"})
        tensors["output_gradient"] = numpy.ones((2, 4, 3, 3))
        gradients = {"query_gradient", "key_gradient", "value_gradient"}
        self.assertEqual(set(self.attend(tensors)),
                         {"output", "log_sum_exp"} | gradients)
        tensors["bias"] = numpy.zeros((1, 4, 1, 5))
        outputs = self.attend(tensors)
        self.assertEqual(set(outputs),
                         {"output", "log_sum_exp", "bias_gradient"} | gradients)
        self.assertEqual(outputs["bias_gradient"].shape, (1, 4, 1, 5))

    def test_precision_is_the_arithmetic_and_the_dtype(self):
        tensors = small()
        double = self.attend(tensors, "--weights")
        self.assertEqual(self.metadata["precision"], "float64")
        single = self.attend(tensors, "--weights", "--precision=float32")
        self.assertEqual(self.metadata, {
            "program": "softlookup attend",
            "precision": "float32",
            "backend": "reference",
        })
        for name, array in double.items():
            self.assertEqual(array.dtype, numpy.float64)
            self.assertEqual(single[name].dtype, numpy.float32)
            # Rounding the float64 result would be closer than this.
            rounded = array.astype(numpy.float32)
            self.assertFalse(numpy.array_equal(single[name], rounded), name)
            numpy.testing.assert_allclose(single[name], rounded, rtol=0,
                                          atol=1e-5)

    def test_half_precision_inputs_are_widened_exactly(self):
        halves = small(numpy.float16)
        halves["output_gradient"] = numpy.full((2, 4, 3, 3), 0.1, numpy.float16)
        wide = {name: array.astype(numpy.float64)
                for name, array in halves.items()}
        expected = self.attend(wide)
        for name, array in self.attend(halves).items():
            numpy.testing.assert_array_equal(array, expected[name], name)
        # bfloat16: the upper halves of floats.
        floats = small(numpy.float32)
        bits = {name: (array.view(numpy.uint32) >> 16).astype(numpy.uint16)
                for name, array in floats.items()}
        wide = {name: (array.astype(numpy.uint32) << 16).view(numpy.float32)
                for name, array in bits.items()}
        expected = self.attend(wide)
        for name, array in self.attend(bits, bfloat16=set(bits)).items():
            numpy.testing.assert_array_equal(array, expected[name], name)

    def test_element_types_may_differ(self):
        tensors = small()
        tensors["query"] = tensors["query"].astype(numpy.float32)
        tensors["value"] = tensors["value"].astype(numpy.float16)
        self.expect_close(self.attend(tensors), attention(tensors), 1e-14)

    def test_masked_positions_may_hold_anything(self):
        tensors = small()
        tensors["output_gradient"] = numpy.ones((2, 4, 3, 3))
        tensors["key_lengths"] = numpy.array([3, 4], numpy.int32)
        clean = self.attend(tensors)
        for batch, length in enumerate([3, 4]):
            tensors["key"][batch, :, length:] = numpy.nan
            tensors["value"][batch, :, length:] = numpy.inf
        for name, array in self.attend(tensors).items():
            numpy.testing.assert_array_equal(array, clean[name], name)

    def test_fully_masked_rows(self):
        tensors = small()
        tensors["key_lengths"] = numpy.array([0, 5])
        outputs = self.attend(tensors, "--weights")
        self.assertIn("fully masked rows: 12 of 24 (rule: zero)\n", self.stdout)
        self.assertTrue((outputs["output"][0] == 0).all())
        self.assertTrue((outputs["weights"][0] == 0).all())
        self.assertTrue((outputs["log_sum_exp"][0] == -numpy.inf).all())
        not_a_number = self.attend(tensors, "--weights", "--fully_masked=nan")
        self.assertTrue(numpy.isnan(not_a_number["output"][0]).all())
        self.assertTrue(numpy.isnan(not_a_number["weights"][0]).all())
        for name, array in outputs.items():
            numpy.testing.assert_array_equal(not_a_number[name][1], array[1])
        tensors["key_lengths"] = numpy.array([1, 5])
        self.attend(tensors, "--fully_masked=error")
        self.assertIn("fully masked rows: 0 of 24 (rule: error)\n", self.stdout)

    def test_rows_masked_by_bias_are_counted(self):
        tensors = small()
        tensors["bias"] = numpy.zeros((1, 1, 3, 5))
        tensors["bias"][0, 0, 1] = -numpy.inf
        tensors["bias"][0, 0, 2, 1:] = -numpy.inf
        self.attend(tensors)
        self.assertIn("fully masked rows: 8 of 24", self.stdout)
        # Two masks that leave nothing together.
        tensors["key_starts"] = numpy.array([1, 0])
        self.attend(tensors)
        self.assertIn("fully masked rows: 12 of 24", self.stdout)

    def test_same_command_same_bytes(self):
        tensors = small()
        self.attend(tensors, "--weights")
        with open(self.output, "rb") as file:
            first = file.read()
        self.attend(tensors, "--weights")
        with open(self.output, "rb") as file:
            self.assertEqual(file.read(), first)


class SummaryTest(AttendTestCase):

    def test_plain(self):
        self.attend(small())
        self.assertEqual(
            self.stdout, "sizes: B 2, H 4, Hkv 2, Tq 3, Tk 5, D 4, Dv 3\n"
            "scale: 0.5 (1 / sqrt(D))\n"
            "masks and bias: none\n"
            "backend: reference, precision: float64\n"
            "fully masked rows: 0 of 24 (rule: zero)\n"
            "wrote %s:\n"
            "  output [2, 4, 3, 3]\n"
            "  log_sum_exp [2, 4, 3]\n" % self.output)

    def test_everything(self):
        tensors = small()
        tensors.update(
            mask=numpy.ones((1, 1, 3, 5), bool), bias=numpy.zeros((2, 1, 1, 5)),
            key_lengths=numpy.array([5, 5]), key_starts=numpy.array([0, 0]),
            output_gradient=numpy.ones((2, 4, 3, 3)))
        self.attend(tensors, "--causal=bottom_right", "--scale=-0.25",
                    "--weights", "--precision=float32", "--fully_masked=error")
        self.assertEqual(
            self.stdout, "sizes: B 2, H 4, Hkv 2, Tq 3, Tk 5, D 4, Dv 3\n"
            "scale: -0.25\n"
            "masks and bias: causal bottom_right, mask [1, 1, 3, 5], "
            "key_lengths, key_starts, bias [2, 1, 1, 5]\n"
            "backend: reference, precision: float32\n"
            "fully masked rows: 0 of 24 (rule: error)\n"
            "wrote %s:\n"
            "  output [2, 4, 3, 3]\n"
            "  log_sum_exp [2, 4, 3]\n"
            "  weights [2, 4, 3, 5]\n"
            "  query_gradient [2, 4, 3, 4]\n"
            "  key_gradient [2, 2, 5, 4]\n"
            "  value_gradient [2, 2, 5, 3]\n"
            "  bias_gradient [2, 1, 1, 5]\n" % self.output)


class BadInputTest(AttendTestCase):
    """One clear line on stderr, exit code 2, and no file that was not there."""

    def expect_error(self, message, *flags, code=2, **options):
        before = sorted(os.listdir(self.folder.name))
        result = self.run_program(*flags, **options)
        self.assertEqual(result.stderr, "attend: %s\n" % message)
        self.assertEqual((result.returncode, result.stdout), (code, ""))
        self.assertEqual(sorted(os.listdir(self.folder.name)), before)

    def expect_refused(self, message, tensors, *flags):
        safetensors_numpy.write(self.input, tensors)
        self.expect_error("%s: %s" % (self.input, message),
                          "--input=" + self.input, "--output=" + self.output,
                          *flags)

    def test_flags(self):
        safetensors_numpy.write(self.input, small())
        paths = ["--input=" + self.input, "--output=" + self.output]
        self.expect_error("unknown flag --casual (see --help)", *paths,
                          "--casual=top_left")
        self.expect_error(
            'flag --causal is "left"; allowed: none, top_left, bottom_right',
            *paths, "--causal=left")
        self.expect_error(
            'flag --fully_masked is "NaN"; allowed: zero, nan, error', *paths,
            "--fully_masked=NaN")
        self.expect_error(
            'flag --precision is "float16"; allowed: float64, float32', *paths,
            "--precision=float16")
        self.expect_error(
            'flag --backend is "cuda"; allowed with precision float64: '
            "reference", *paths, "--backend=cuda")
        self.expect_error(
            'flag --backend is ""; allowed with precision float32: '
            "reference", *paths, "--backend=", "--precision=float32")
        self.expect_error(
            'flag --weights: "many" is not a valid value (see --help)', *paths,
            "--weights=many")
        self.expect_error(
            'unexpected argument "in"; flags are written --name=value '
            "(see --help)", *paths, "in")
        self.expect_error(
            "flag --input is missing; give --input=FILE.safetensors", paths[1])
        self.expect_error(
            "flag --output is missing; give --output=FILE.safetensors",
            paths[0])

    def test_scale(self):
        safetensors_numpy.write(self.input, small())
        paths = ["--input=" + self.input, "--output=" + self.output]
        for text in ["half", "0.5x", "--"]:
            self.expect_error(
                'flag --scale is "%s"; allowed: a finite number' % text,
                *paths, "--scale=" + text)
        for text in ["nan", "inf", "-inf", "1e400"]:
            self.expect_error(
                "flag --scale is %s; allowed: a number finite in float64" %
                text, *paths, "--scale=" + text)
        self.expect_error(
            "flag --scale is 1e39; allowed: a number finite in float32",
            *paths, "--scale=1e39", "--precision=float32")
        self.attend(small(), "--scale=1e39")
        self.attend(small(), "--scale=0")

    def test_input_files(self):
        output = "--output=" + self.output
        missing = self.path("missing")
        self.expect_error(
            missing + ": cannot open: No such file or directory",
            "--input=" + missing, output)
        self.expect_error(
            self.folder.name + ": cannot read: Is a directory",
            "--input=" + self.folder.name, output)
        with open(self.input, "wb") as file:
            file.write(b"PK\3\4 no such format")
        result = self.run_program("--input=" + self.input, output)
        self.assertEqual(result.returncode, 2)
        self.assertRegex(result.stderr, r"^attend: .*: not a safetensors file")
        self.expect_error(
            "/dev/zero: no regular file, and more than 268435456 bytes come "
            "from it", "--input=/dev/zero", output)

    def test_every_truncation(self):
        content = safetensors_numpy.dumps(small())
        for size in [0, 7, 8, 100, len(content) - 1]:
            with open(self.input, "wb") as file:
                file.write(content[:size])
            result = self.run_program("--input=" + self.input,
                                      "--output=" + self.output)
            self.assertEqual((result.returncode, result.stdout), (2, ""))
            self.assertRegex(result.stderr, r"\Aattend: .*: truncated: .*\n\Z")
            self.assertEqual(os.listdir(self.folder.name), ["in.safetensors"])

    def test_names(self):
        for name in ["query", "key", "value"]:
            tensors = small()
            del tensors[name]
            self.expect_refused(
                'no tensor "%s"; needed: query, key, value' % name, tensors)
        self.expect_refused(
            'unknown tensor "biass"; allowed: query, key, value, bias, mask, '
            "key_lengths, key_starts, output_gradient",
            dict(small(), biass=numpy.zeros((1, 1, 1, 1))))

    def test_dtypes(self):
        floats = "F64, F32, F16, BF16"
        for name, array, dtype, allowed in [
                ("query", numpy.ones((2, 4, 3, 4), numpy.int32), "I32", floats),
                ("key", numpy.ones((2, 2, 5, 4), numpy.int64), "I64", floats),
                ("value", numpy.ones((2, 2, 5, 3), numpy.uint8), "U8", floats),
                ("bias", numpy.ones((1, 1, 1, 1), bool), "BOOL", floats),
                ("output_gradient", numpy.ones((2, 4, 3, 3), numpy.int8), "I8",
                 floats),
                ("mask", numpy.ones((1, 1, 1, 5), numpy.uint8), "U8", "BOOL"),
                ("mask", numpy.ones((1, 1, 1, 5)), "F64", "BOOL"),
                ("key_lengths", numpy.ones(2), "F64", "I64, I32"),
                ("key_lengths", numpy.ones(2, numpy.int16), "I16", "I64, I32"),
                ("key_starts", numpy.ones(2, bool), "BOOL", "I64, I32"),
        ]:
            self.expect_refused(
                "%s has dtype %s; allowed: %s" % (name, dtype, allowed),
                dict(small(), **{name: array}))

    def test_mask_bytes(self):
        content = bytearray(safetensors_numpy.dumps(
            dict(small(), mask=numpy.ones((1, 1, 3, 5), bool))))
        content[-2] = 2
        with open(self.input, "wb") as file:
            file.write(content)
        self.expect_error(
            self.input + ': tensor "mask" has 2 at element 13; allowed in '
            "BOOL: 0, 1", "--input=" + self.input, "--output=" + self.output)

    def test_shapes(self):
        def ones(*shape):
            return numpy.ones(shape)

        for name, array, message in [
                ("query", ones(4, 3, 4), "query has shape [4, 3, 4]; allowed: "
                 "rank 4, [B, H, Tq, D], each dimension at least 1"),
                ("query", ones(2, 4, 0, 4), "query has shape [2, 4, 0, 4]; "
                 "allowed: rank 4, [B, H, Tq, D], each dimension at least 1"),
                ("key", ones(0, 2, 5, 4), "key has shape [0, 2, 5, 4]; "
                 "allowed: rank 4, [B, Hkv, Tk, D], each dimension at least 1"),
                ("key", ones(2, 3, 5, 4), "key has shape [2, 3, 5, 4] and "
                 "query [2, 4, 3, 4]; allowed: H a multiple of Hkv "
                 "(dimension 1)"),
                ("key", ones(2, 2, 5, 5), "key has shape [2, 2, 5, 5] and "
                 "query [2, 4, 3, 4]; allowed: the same width D (dimension 3)"),
                ("value", ones(2, 2, 4, 3), "value has shape [2, 2, 4, 3] and "
                 "key [2, 2, 5, 4]; allowed: the same key positions Tk "
                 "(dimension 2)"),
                ("bias", ones(1, 2, 1, 1), "bias has shape [1, 2, 1, 1]; "
                 "allowed: rank 4, each dimension 1 or that of "
                 "[B, H, Tq, Tk] = [2, 4, 3, 5]"),
                ("mask", ones(3, 5) > 0, "mask has shape [3, 5]; allowed: "
                 "rank 4, each dimension 1 or that of [B, H, Tq, Tk] = "
                 "[2, 4, 3, 5]"),
                ("output_gradient", ones(2, 4, 3, 4), "output_gradient has "
                 "shape [2, 4, 3, 4]; allowed: the output's, [B, H, Tq, Dv] = "
                 "[2, 4, 3, 3]"),
        ]:
            self.expect_refused(message, dict(small(), **{name: array}))

    def test_positions(self):
        for name in ["key_lengths", "key_starts"]:
            for values, message in [
                    ([5, 6], "%s[1] is 6; allowed: 0 to Tk = 5"),
                    ([-1, 5], "%s[0] is -1; allowed: 0 to Tk = 5"),
                    ([1, 2, 3], "%s has shape [3]; allowed: [B] = [2]"),
                    ([[1, 2]], "%s has shape [1, 2]; allowed: [B] = [2]"),
                    ([], "%s has shape [0]; allowed: [B] = [2]"),
            ]:
                for dtype in [numpy.int32, numpy.int64]:
                    self.expect_refused(
                        message % name,
                        dict(small(), **{name: numpy.array(values, dtype)}))

    def test_fully_masked(self):
        gradient = numpy.ones((2, 4, 3, 3))
        self.expect_refused(
            "fully_masked is nan, which has no gradient; allowed with "
            "output_gradient: zero, error",
            dict(small(), output_gradient=gradient), "--fully_masked=nan")
        self.expect_refused(
            "query row [b = 1, h = 0, i = 0] has every key masked; allowed "
            "with fully_masked = error: at least one visible key in every row",
            dict(small(), key_lengths=numpy.array([5, 0])),
            "--fully_masked=error")

    def test_numbers_that_float32_does_not_hold(self):
        tensors = dict(small(), bias=numpy.full((1, 1, 1, 5), -1e308))
        self.expect_refused(
            'tensor "bias" has -1e+308 at element 0; allowed in F64: what is '
            "finite as a float, up to 3.4028235e38", tensors,
            "--precision=float32")
        self.attend(tensors)

    def test_absurd_sizes(self):
        # 2 MB of input, a million queries and keys: 8 TB of weights.
        tensors = {
            "query": numpy.zeros((1, 1, 1 << 20, 1), numpy.float16),
            "key": numpy.zeros((1, 1, 1 << 20, 1), numpy.float16),
            "value": numpy.zeros((1, 1, 1 << 20, 1), numpy.float16),
        }
        safetensors_numpy.write(self.input, tensors)
        result = self.run_program("--input=" + self.input,
                                  "--output=" + self.output)
        self.assertEqual((result.returncode, result.stdout), (2, ""))
        size = 1 << 20
        needed = 6 * size + 8 * 5 * size + 40 * size * size
        self.assertRegex(
            result.stderr, r"\Aattend: %s: attention with scores "
            r"\[B, H, Tq, Tk\] = \[1, 1, 1048576, 1048576\] needs %d bytes of "
            r"memory; usable here: \d+\n\Z" % (self.input, needed))

    @unittest.skipIf(SANITIZED, "sanitizers take more address space")
    def test_memory_limit(self):
        tensors = {
            "query": numpy.zeros((1, 1, 4096, 1)),
            "key": numpy.zeros((1, 1, 4096, 1)),
            "value": numpy.zeros((1, 1, 4096, 1)),
        }
        safetensors_numpy.write(self.input, tensors)
        needed = 24 * 4096 + 8 * 5 * 4096 + 40 * 4096 * 4096
        limit = needed - 1
        self.expect_error(
            "%s: attention with scores [B, H, Tq, Tk] = [1, 1, 4096, 4096] "
            "needs %d bytes of memory; usable here: %d" %
            (self.input, needed, limit), "--input=" + self.input,
            "--output=" + self.output,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS,
                                                  (limit, limit)))


class OutputTest(AttendTestCase):

    def expect_failure(self, output, reason, code, **options):
        safetensors_numpy.write(self.input, small())
        before = sorted(os.listdir(self.folder.name))
        result = self.run_program("--input=" + self.input,
                                  "--output=" + output, **options)
        self.assertEqual(result.stderr, "attend: %s: %s\n" % (output, reason))
        self.assertEqual((result.returncode, result.stdout), (code, ""))
        self.assertEqual(sorted(os.listdir(self.folder.name)), before)

    def test_unwritable(self):
        self.expect_failure(self.path("no/out"),
                            "cannot write: No such file or directory", 2)
        self.expect_failure(self.folder.name, "cannot write: Is a directory", 2)

    def test_full_disk(self):
        self.expect_failure("/dev/full",
                            "cannot write: No space left on device", 1)

    def test_file_size_limit(self):
        limit = {"preexec_fn": lambda: resource.setrlimit(
            resource.RLIMIT_FSIZE, (500, 500))}
        self.expect_failure(self.output, "cannot write: File too large", 1,
                            **limit)
        # The file that was there stays as it was.
        with open(self.output, "w") as file:
            file.write("old")
        self.expect_failure(self.output, "cannot write: File too large", 1,
                            **limit)
        with open(self.output) as file:
            self.assertEqual(file.read(), "old")

    def test_input_may_be_the_output(self):
        tensors = small()
        expected = self.attend(tensors)
        safetensors_numpy.write(self.output, tensors)
        result = self.run_program("--input=" + self.output,
                                  "--output=" + self.output)
        self.assertEqual(result.returncode, 0)
        outputs, _ = safetensors_numpy.read(self.output)
        for name, array in expected.items():
            numpy.testing.assert_array_equal(outputs[name], array)

    def test_relative_paths_are_the_callers(self):
        safetensors_numpy.write(self.input, small())
        result = self.run_program(
            "--input=in.safetensors", "--output=out.safetensors", cwd="/",
            env=dict(os.environ, BUILD_WORKING_DIRECTORY=self.folder.name))
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertTrue(os.path.exists(self.output))

    def test_output_to_a_pipe(self):
        expected = self.attend(small())
        with open(self.input, "rb") as source:
            result = subprocess.run(
                [PROGRAM, "--input=/dev/stdin", "--output=/dev/stderr"],
                input=source.read(), stdout=subprocess.PIPE,
                stderr=subprocess.PIPE, timeout=60)
        self.assertEqual(result.returncode, 0)
        outputs, _ = safetensors_numpy.loads(result.stderr)
        for name, array in expected.items():
            numpy.testing.assert_array_equal(outputs[name], array)


if __name__ == "__main__":
    unittest.main()
