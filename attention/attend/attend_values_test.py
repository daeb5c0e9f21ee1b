"""Runs attend from file to file and checks the values that it gives.

Values are compared with a second method, textbook attention on whole matrices
in numpy, which shares no code with the program.
"""

import unittest

import numpy

from attention.attend.attend_testing import AttendTestCase, SEED, attention, small
from base.safetensors import safetensors_numpy


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

    def test_simd(self):
        random = numpy.random.default_rng(SEED + 2)
        for case in range(200):
            tensors, chosen = draw(random, numpy.float32)
            flags = ["--precision=float32",
                     *("--%s=%s" % option for option in chosen.items())]
            outputs = self.attend(tensors, "--backend=simd", *flags)
            expected = attention(tensors, **chosen)
            del expected["weights"]
            self.assertEqual(set(outputs), set(expected))
            self.expect_close(outputs, expected, self.UNITS * 2.0**-24,
                              "case %d, %s" % (case, chosen))

    def test_simd_bytes_do_not_depend_on_how_it_runs(self):
        random = numpy.random.default_rng(SEED + 3)
        # Several tiles of queries and of keys.
        shape = (2, 2, 150, 20)
        tensors = {name: random.standard_normal(shape).astype(numpy.float32)
                   for name in ["query", "key", "value", "output_gradient"]}
        expected = None
        for isa in ["portable", "avx2", "avx512", "auto"]:
            for threads in [1, 2, 3, 16]:
                safetensors_numpy.write(self.input, tensors)
                result = self.run_program(
                    "--input=" + self.input, "--output=" + self.output,
                    "--backend=simd", "--precision=float32",
                    "--causal=top_left", "--isa=" + isa,
                    "--threads=%d" % threads)
                if "which this processor lacks" in result.stderr:
                    continue
                self.assertEqual(result.stderr, "")
                self.assertIn("threads: %d)" % threads, result.stdout)
                with open(self.output, "rb") as file:
                    content = file.read()
                expected = expected or content
                self.assertEqual(content, expected, (isa, threads))

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


if __name__ == "__main__":
    unittest.main()
