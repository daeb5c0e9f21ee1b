"""Runs a script with another Python: run_with.py PYTHON SCRIPT [ARGUMENT...].

A py_test runs with the toolchain's Python; this hands over to the one that has
PyTorch, with the same environment and so the same import path.
"""

import os
import sys

os.execv(sys.argv[1], sys.argv[1:])
