"""figure() and report_page(): drawn from verified results, or not at all.

A figure depends on //experiments:NAME_verified, which builds only when every
verdict on NAME is as the ledger has it.
"""

load("@rules_python//python:defs.bzl", "py_binary", "py_library", "py_test")

def _pairs(flag, names, files):
    return ["--{}={}={}".format(flag, name, file.path) for name, file in zip(names, files)]

def _draw_figure_impl(ctx):
    name = ctx.attr.figure
    outputs = [
        ctx.actions.declare_file("{}.{}".format(name, extension))
        for extension in ["en.svg", "en.png", "zh.svg", "zh.png", "panels.json"]
    ]
    ctx.actions.run(
        executable = ctx.executable.program,
        arguments = _pairs("results", ctx.attr.experiments, ctx.files.results) +
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
        deps = deps + [":figure"],
    )
    py_binary(
        name = name + "_program",
        srcs = [name + ".py"],
        main = name + ".py",
        deps = deps + [":figure"],
    )
    _draw_figure(
        name = name,
        figure = name,
        experiments = experiments,
        program = ":" + name + "_program",
        results = verified,
    )
    native.filegroup(
        name = name + "_panels",
        srcs = [":" + name],
        output_group = "panels",
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

def _build_page_impl(ctx):
    output = ctx.outputs.out
    arguments = [
        "--contents=" + ctx.file.contents.path,
        "--ledger=" + ctx.file.ledger.path,
        "--style=" + ctx.file.style.path,
        "--output=" + output.path,
    ]
    arguments += ["--coverage=" + file.path for file in ctx.files.coverage]
    arguments += _pairs("results", ctx.attr.experiments, ctx.files.results)
    arguments += _pairs("panels", ctx.attr.figures, ctx.files.panels)
    ctx.actions.run(
        executable = ctx.executable.program,
        arguments = arguments,
        inputs = ctx.files.results + ctx.files.panels + ctx.files.coverage + [
            ctx.file.contents,
            ctx.file.ledger,
            ctx.file.style,
        ],
        outputs = [output],
        mnemonic = "ReportPage",
        progress_message = "Writing the report page",
    )
    return [DefaultInfo(files = depset([output]), runfiles = ctx.runfiles(files = [output]))]

_build_page = rule(
    implementation = _build_page_impl,
    attrs = {
        "contents": attr.label(mandatory = True, allow_single_file = True),
        "coverage": attr.label(mandatory = True, allow_files = True),
        "experiments": attr.string_list(mandatory = True),
        "figures": attr.string_list(mandatory = True),
        "ledger": attr.label(mandatory = True, allow_single_file = True),
        "out": attr.output(mandatory = True),
        "panels": attr.label_list(mandatory = True, allow_files = [".json"]),
        "program": attr.label(mandatory = True, executable = True, cfg = "exec"),
        "results": attr.label_list(mandatory = True, allow_files = [".json"]),
        "style": attr.label(mandatory = True, allow_single_file = True),
    },
)

def report_page(name, overview, sections):
    """The report page, report.html.

    Args:
      name: the target.
      overview: OVERVIEW of contents.bzl.
      sections: SECTIONS of contents.bzl.
    """
    experiments = [section["experiment"] for section in sections]
    figures = [figure["name"] for figure in overview]
    figures += [figure["name"] for section in sections for figure in section["figures"]]
    _build_page(
        name = name,
        contents = "contents.bzl",
        coverage = "//testdata:coverage",
        experiments = experiments,
        figures = figures,
        ledger = "//testdata:claims.json",
        out = "report.html",
        panels = [":%s_panels" % figure for figure in figures],
        program = ":page_program",
        results = ["//experiments:%s_verified" % experiment for experiment in experiments],
        style = "page.css",
    )
