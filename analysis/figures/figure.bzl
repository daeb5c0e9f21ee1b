"""figure(): drawn from verified results, or not at all.

A figure depends on //experiments:NAME_verified, which builds only when every
verdict on NAME is as the ledger has it.
"""

load("@rules_python//python:defs.bzl", "py_binary", "py_library", "py_test")

def pairs(flag, names, files):
    """The values of a repeated flag --flag=NAME=FILE."""
    return ["--{}={}={}".format(flag, name, file.path) for name, file in zip(names, files)]

def _draw_figure_impl(ctx):
    name = ctx.attr.figure
    outputs = [
        ctx.actions.declare_file("{}.{}".format(name, extension))
        for extension in ["en.svg", "en.png", "zh.svg", "zh.png", "panels.json"]
    ]
    ctx.actions.run(
        executable = ctx.executable.program,
        arguments = pairs("results", ctx.attr.experiments, ctx.files.results) +
                    ["--output=" + outputs[0].dirname],
        inputs = ctx.files.results,
        outputs = outputs,
        mnemonic = "Figure",
        progress_message = "Drawing figure " + name,
    )
    panels = outputs.pop()
    return [
        DefaultInfo(files = depset(outputs), runfiles = ctx.runfiles(files = outputs)),
        OutputGroupInfo(panels = depset([panels])),
    ]

_draw_figure = rule(
    implementation = _draw_figure_impl,
    attrs = {
        "figure": attr.string(mandatory = True),
        "experiments": attr.string_list(mandatory = True),
        "results": attr.label_list(mandatory = True, allow_files = [".verified.json"]),
        "program": attr.label(mandatory = True, executable = True, cfg = "exec"),
    },
)

def figure(name, experiments, deps = [], tags = []):
    """A figure, in English and Chinese, as SVG and PNG.

    Args:
      name: the figure; its script is NAME.py.
      experiments: whose verified results it shows.
      deps: what the script imports beyond the frame of figures.
      tags: for the test.

    Makes:
      NAME          NAME.en.svg, NAME.en.png, NAME.zh.svg, NAME.zh.png
      NAME_script   the script as a library, for tests
      NAME_panels   its panels, for the report
      NAME_test     the same bytes again; labels in place
    """
    verified = ["//experiments:%s_verified" % experiment for experiment in experiments]
    py_library(
        name = name + "_script",
        srcs = [name + ".py"],
        deps = deps + ["//analysis/lib:figure"],
    )
    py_binary(
        name = name + "_program",
        srcs = [name + ".py"],
        main = name + ".py",
        deps = deps + ["//analysis/lib:figure"],
    )
    _draw_figure(
        name = name,
        figure = name,
        experiments = experiments,
        program = ":" + name + "_program",
        results = verified,
        visibility = ["//analysis/report:__pkg__"],
    )
    native.filegroup(
        name = name + "_panels",
        srcs = [":" + name],
        output_group = "panels",
        visibility = ["//analysis/report:__pkg__"],
    )
    py_test(
        name = name + "_test",
        size = "small",
        srcs = ["drawn_test.py"],
        args = [name] + experiments,
        data = [":" + name] + verified,
        main = "drawn_test.py",
        tags = tags,
        deps = [
            ":drawn_test_library",
            ":%s_script" % name,
        ],
    )
