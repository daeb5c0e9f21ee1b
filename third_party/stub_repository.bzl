"""Stubs for repositories that Bazel's built-in WORKSPACE suffix downloads.

Bazel 4 loads `rules_cc` and `rules_python` although its native rules do the
work, and `remote_coverage_tools` for every test. Defining repositories of
these names first keeps the build off the network.
"""

def _rules_stub_impl(repository_ctx):
    repository_ctx.file("BUILD", "")
    repository_ctx.file(repository_ctx.attr.path + "/BUILD", "")
    repository_ctx.file(
        repository_ctx.attr.path + "/defs.bzl",
        "\n".join(["%s = native.%s" % (rule, rule) for rule in repository_ctx.attr.rules]) + "\n",
    )

rules_stub = repository_rule(
    implementation = _rules_stub_impl,
    attrs = {
        "path": attr.string(mandatory = True, doc = "Package of defs.bzl."),
        "rules": attr.string_list(mandatory = True, doc = "Native rules to export."),
    },
    doc = "A repository whose PATH/defs.bzl re-exports native rules.",
)

def _coverage_stub_impl(repository_ctx):
    repository_ctx.file("BUILD", """
filegroup(
    name = "coverage_report_generator",
    visibility = ["//visibility:public"],
)
""")

coverage_stub = repository_rule(
    implementation = _coverage_stub_impl,
    doc = "An empty coverage report generator; tests depend on its label.",
)
