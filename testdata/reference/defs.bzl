"""Tests that compare with PyTorch, where it is installed.

Elsewhere they are reported as skipped. SOFTLOOKUP_PYTORCH_PYTHON names a Python
interpreter that has it, if the system's does not:

    SOFTLOOKUP_PYTORCH_PYTHON=$HOME/torch/bin/python bazel test //...
"""

load("@pytorch//:defs.bzl", "AVAILABLE", "PYTHON")
load("@rules_python//python:defs.bzl", "py_test")

def pytorch_test(name, script, data = [], **kwargs):
    """A test whose `script` runs with the Python that has PyTorch."""
    py_test(
        name = name,
        srcs = [":run_with.py"],
        main = ":run_with.py",
        args = [
            PYTHON,
            "$(location %s)" % script,
        ],
        data = data + [script],
        target_compatible_with = AVAILABLE,
        **kwargs
    )
