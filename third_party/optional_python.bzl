"""A Python package that may be absent, as a repository.

`@NAME//:available` is a list for `target_compatible_with`: empty where a
Python interpreter imports the module, incompatible elsewhere, so that targets
that need it are reported as skipped. `PYTHON` in `@NAME//:defs.bzl` is that
interpreter.
"""

def _optional_python_package_impl(repository_ctx):
    attr = repository_ctx.attr
    python = repository_ctx.os.environ.get(attr.environment, "") or "/usr/bin/python3"
    found = False
    if repository_ctx.path(python).exists:
        result = repository_ctx.execute([python, "-c", "import " + attr.module], timeout = 120)
        found = result.return_code == 0
    repository_ctx.file("BUILD", "")
    repository_ctx.file("defs.bzl", "AVAILABLE = %r\nPYTHON = %r\n" % (
        [] if found else ["@platforms//:incompatible"],
        python,
    ))

optional_python_package = repository_rule(
    implementation = _optional_python_package_impl,
    attrs = {
        "environment": attr.string(
            mandatory = True,
            doc = "Environment variable that names another interpreter.",
        ),
        "module": attr.string(mandatory = True),
    },
    configure = True,
    environ = ["SOFTLOOKUP_PYTORCH_PYTHON"],
    local = True,
    doc = "Probes for a Python module; see the top of this file.",
)
