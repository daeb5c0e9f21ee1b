"""The packed gpu_check where there is no GPU."""

import ctypes
import io
import os
import subprocess
import tarfile
import tempfile
import unittest

BUNDLE = os.path.abspath("attention/cudnn/check/gpu_check.run")
SCRIPT = os.path.abspath("tools/gpu_check")
PYTORCH_SCRIPT = os.path.abspath("attention/cudnn/check/pytorch_speed.py")
NULL_DRIVER = os.path.abspath("attention/cudnn/testing/null_driver")


def has_driver():
    try:
        ctypes.CDLL("libcuda.so.1")
    except OSError:
        return False
    return True


no_driver = unittest.skipIf(has_driver(), "this machine has a driver")


def run(*command, **environment):
    clean = {"PATH": "/usr/bin:/bin", **environment}
    return subprocess.run(command, env=clean, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, timeout=50,
                          cwd=tempfile.mkdtemp(dir=os.environ["TEST_TMPDIR"]))


class GpuCheckTest(unittest.TestCase):

    @no_driver
    def test_no_driver(self):
        # PyTorch is not asked then, nor what no Python there can say.
        result = run(BUNDLE, SOFTLOOKUP_PYTORCH_PYTHON="/no/python3")
        self.assertEqual(
            (result.returncode, result.stdout, result.stderr),
            (3, "", "gpu_check: no GPU: no NVIDIA driver: libcuda.so.1 cannot "
             "be opened\n"))

    def test_no_device(self):
        result = run(BUNDLE, LD_LIBRARY_PATH=NULL_DRIVER)
        self.assertEqual(
            (result.returncode, result.stderr),
            (3, "gpu_check: no GPU: no CUDA device: the NVIDIA driver sees "
             "none\n"))

    def test_no_gpu_that_computes(self):
        # No cuDNN where the system has none, else what cuDNN says.
        result = run(BUNDLE, LD_LIBRARY_PATH=NULL_DRIVER,
                     NULL_DRIVER_DEVICES="1")
        self.assertEqual((result.returncode, result.stdout), (2, ""))
        self.assertRegex(
            result.stderr,
            r"\Agpu_check: (no cuDNN: libcudnn\.so\.9 cannot be opened; put its "
            r"folder into LD_LIBRARY_PATH|cuDNN is .*; needed: .*|no cuBLAS, .*|"
            r"cuDNN creates a handle: CUDNN_STATUS_NOT_INITIALIZED)\n\Z")

    def test_bad_usage(self):
        result = run(BUNDLE, "--nothing")
        self.assertEqual(result.returncode, 2)
        self.assertIn("unknown flag --nothing", result.stderr)

    def test_values_out_of_range(self):
        for flag, value, allowed in (("cases", "-1", "0 to 1000"),
                                     ("longest", "512", "1024 to 65536"),
                                     ("seconds", "0", "1 to 86400")):
            result = run(BUNDLE, "--%s=%s" % (flag, value))
            self.assertEqual(
                (result.returncode, result.stderr),
                (2, "gpu_check: flag --%s is %s; allowed: %s\n" % (
                    flag, value, allowed)))

    def test_has_what_it_needs(self):
        with open(BUNDLE, "rb") as bundle:
            archive = bundle.read().split(b"\nARCHIVE\n", 1)[1]
        with tarfile.open(fileobj=io.BytesIO(archive), mode="r:gz") as pack:
            packed = pack.extractfile("./pytorch_speed.py").read()
            names = pack.getnames()
        with open(PYTORCH_SCRIPT, "rb") as script:
            self.assertEqual(packed, script.read())
        # And the CUDA runtime, which reads a serialized plan.
        self.assertIn("./libcudart.so.13", names)

    def test_size(self):
        self.assertLess(os.stat(BUNDLE).st_size, 40 << 20)

    @no_driver
    def test_script_finds_the_program(self):
        result = run(SCRIPT, SOFTLOOKUP_GPU_CHECK=BUNDLE)
        self.assertEqual(result.returncode, 3, result.stderr)
        self.assertIn("no GPU", result.stderr)

    def test_script_without_the_program(self):
        folder = tempfile.mkdtemp(dir=os.environ["TEST_TMPDIR"])
        copy = os.path.join(folder, "gpu_check")
        with open(SCRIPT, encoding="utf-8") as script:
            text = script.read()
        with open(copy, "w", encoding="utf-8") as script:
            script.write(text)
        result = run("/bin/sh", copy)
        self.assertEqual(result.returncode, 2)
        self.assertIn("no gpu_check.run", result.stderr)


if __name__ == "__main__":
    unittest.main()
