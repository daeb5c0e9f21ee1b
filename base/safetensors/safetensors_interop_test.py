"""Our files against an independent reader, and that writer's against ours."""

import os
import subprocess
import tempfile
import unittest

import numpy

from base.safetensors import safetensors_numpy

PROGRAM = "base/safetensors/safetensors_copy"


def copy(tensors, **options):
    """What the program makes of a file, as read in Python."""
    with tempfile.TemporaryDirectory() as folder:
        source = os.path.join(folder, "in.safetensors")
        target = os.path.join(folder, "out.safetensors")
        safetensors_numpy.write(source, tensors, **options)
        subprocess.run(
            [PROGRAM, "--input=" + source, "--output=" + target], check=True)
        return safetensors_numpy.read(target)


class SafetensorsInteropTest(unittest.TestCase):

    def expect_equal(self, actual, expected):
        self.assertEqual(set(actual), set(expected))
        for name, array in expected.items():
            self.assertEqual(actual[name].dtype, array.dtype, name)
            self.assertEqual(actual[name].shape, array.shape, name)
            self.assertEqual(actual[name].tobytes(), array.tobytes(), name)

    def test_every_type_and_shape(self):
        random = numpy.random.default_rng(5)
        tensors = {}
        for index, dtype in enumerate(
                sorted(set(safetensors_numpy.DTYPES.values()), key=str)):
            for shape in [(), (0,), (3,), (2, 3), (1, 2, 1, 5)]:
                size = int(numpy.prod(shape)) * dtype.itemsize
                content = random.integers(0, 256, size, dtype=numpy.uint8)
                if dtype == numpy.dtype("?"):
                    content %= 2
                tensors["%d %s" % (index, shape)] = numpy.frombuffer(
                    content.tobytes(), dtype).reshape(shape)
        copied, metadata = copy(tensors)
        self.assertEqual(metadata, {})
        self.expect_equal(copied, tensors)

    def test_names_and_metadata(self):
        tensors = {
            name: numpy.arange(3.0)
            for name in ["", "a.b/c", "quote\"\\", "\n\t\0", "\u67e5\u8be2",
                         "\U0001f600"]
        }
        metadata = {"\u6ce8": "\"\\\u00e9\n", "empty": ""}
        copied, copied_metadata = copy(tensors, metadata=metadata)
        self.expect_equal(copied, tensors)
        self.assertEqual(copied_metadata, metadata)

    def test_bfloat16(self):
        bits = numpy.array([0x3F80, 0xFF80, 0x7FC0], numpy.uint16)
        copied, _ = copy({"x": bits}, bfloat16={"x"})
        self.expect_equal(copied, {"x": bits})

    def test_empty(self):
        self.assertEqual(copy({}), ({}, {}))


if __name__ == "__main__":
    unittest.main()
