"""Runs attend from file to file: its flags, and every kind of bad input."""

import os
import resource
import subprocess
import unittest

import numpy

from attention.attend.attend_testing import AttendTestCase, PROGRAM, small
from base.safetensors import safetensors_numpy
from base.sanitizers import sanitizer

SANITIZER = sanitizer(PROGRAM)


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
            "reference, simd", *paths, "--backend=", "--precision=float32")
        self.expect_error(
            'flag --backend is "simd"; allowed with precision float64: '
            "reference", *paths, "--backend=simd")
        simd = [*paths, "--backend=simd", "--precision=float32"]
        self.expect_error(
            "flag --weights with --backend=simd, which never forms them; "
            "allowed: --backend=reference", *simd, "--weights")
        for threads in ["0", "-1", "10000", "many"]:
            self.expect_error(
                'flag --threads is "%s"; allowed: 1 to 1024, or nothing for '
                "all processors" % threads, *simd, "--threads=" + threads)
        self.expect_error(
            "flag --threads with --backend=reference, which has one way to "
            "run; allowed: --backend=simd --precision=float32", *paths, "--threads=2")
        self.expect_error(
            "flag --isa with --backend=reference, which has one way to run; "
            "allowed: --backend=simd --precision=float32", *paths, "--isa=avx2")
        self.expect_error(
            'flag --isa is "sse"; allowed: auto, portable, avx2, avx512',
            *simd, "--isa=sse")
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

    @unittest.skipIf(SANITIZER, "sanitizers take more address space")
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

    @unittest.skipIf(SANITIZER == "thread", "the limit stops its runtime")
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

    def test_the_input_is_not_overwritten(self):
        safetensors_numpy.write(self.input, small())
        with open(self.input, "rb") as file:
            content = file.read()
        link = self.path("link")
        os.symlink(self.input, link)
        for output in [self.input, link]:
            result = self.run_program("--input=" + self.input,
                                      "--output=" + output)
            self.assertEqual(
                (result.returncode, result.stderr),
                (2, "attend: flag --output is %s, the file of --input; "
                 "allowed: another file\n" % output))
            with open(self.input, "rb") as file:
                self.assertEqual(file.read(), content)

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
