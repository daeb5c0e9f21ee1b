"""Rules for what is built with --config=cuda only; elsewhere incompatible.

`cuda_library(name = "half_tensor", deps = [...])` is half_tensor.h and .cc.
"""

load("@cuda//:defs.bzl", "AVAILABLE")
load("@rules_python//python:defs.bzl", "py_test")

def cuda_library(name, srcs = None, hdrs = None, **kwargs):
    native.cc_library(
        name = name,
        srcs = [name + ".cc"] if srcs == None else srcs,
        hdrs = [name + ".h"] if hdrs == None else hdrs,
        target_compatible_with = AVAILABLE,
        **kwargs
    )

def cuda_binary(name, **kwargs):
    native.cc_binary(name = name, target_compatible_with = AVAILABLE, **kwargs)

def cuda_genrule(name, **kwargs):
    native.genrule(name = name, target_compatible_with = AVAILABLE, **kwargs)

def cuda_test(name, deps, srcs = None, size = "small", **kwargs):
    native.cc_test(
        name = name,
        size = size,
        srcs = [name + ".cc"] if srcs == None else srcs,
        target_compatible_with = AVAILABLE,
        deps = deps + ["@googletest//:googletest_main"],
        **kwargs
    )

def cuda_py_test(name, size = "small", **kwargs):
    py_test(
        name = name,
        size = size,
        srcs = [name + ".py"],
        target_compatible_with = AVAILABLE,
        **kwargs
    )
