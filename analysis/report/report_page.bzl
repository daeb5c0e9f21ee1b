"""report_page(): the page, from verified results and drawn figures."""

load("//analysis/figures:figure.bzl", "pairs")

def _build_page_impl(ctx):
    output = ctx.outputs.out
    arguments = [
        "--contents=" + ctx.file.contents.path,
        "--coverage=" + ctx.file.coverage.path,
        "--ledger=" + ctx.file.ledger.path,
        "--style=" + ctx.file.style.path,
        "--output=" + output.path,
    ]
    arguments += pairs("results", ctx.attr.experiments, ctx.files.results)
    arguments += pairs("panels", ctx.attr.figures, ctx.files.panels)
    ctx.actions.run(
        executable = ctx.executable.program,
        arguments = arguments,
        inputs = ctx.files.results + ctx.files.panels + [
            ctx.file.contents,
            ctx.file.coverage,
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
        "coverage": attr.label(mandatory = True, allow_single_file = True),
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
        contents = "//analysis:contents.bzl",
        coverage = "//testdata:coverage.json",
        experiments = experiments,
        figures = figures,
        ledger = "//testdata:claims.json",
        out = "report.html",
        panels = ["//analysis/figures:%s_panels" % figure for figure in figures],
        program = ":page_program",
        results = ["//experiments:%s_verified" % experiment for experiment in experiments],
        style = "page.css",
    )
