"""Python modules that may be absent, as a repository.

`load("@NAME//:defs.bzl", "AVAILABLE", "PYTHON")`: AVAILABLE is a list for
`target_compatible_with`, empty where the interpreter PYTHON finds the modules,
incompatible elsewhere, so that targets that need it are reported as skipped.
PYTHON is the system's, or what the environment variable names.
"""

def _optional_python_package_impl(repository_ctx):
    attr = repository_ctx.attr
    system = "/usr/bin/python3"
    python = repository_ctx.os.environ.get(attr.environment, "") or system
    found = False
    if repository_ctx.path(python).exists:
        # Finding a module is quick; importing PyTorch takes seconds.
        result = repository_ctx.execute([
            python,
            "-c",
            "import importlib.util, sys; sys.exit(" +
            "None in map(importlib.util.find_spec, sys.argv[1:]))",
        ] + attr.modules)
        found = result.return_code == 0
    if not found and python != system:
        # Whoever sets the variable wants the tests to run, not to be skipped.
        fail("%s = %s: no Python interpreter there that has %s" % (
            attr.environment,
            python,
            " and ".join(attr.modules),
        ))
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
        "modules": attr.string_list(mandatory = True),
    },
    configure = True,
    # Must name every `environment` that WORKSPACE gives: a rule cannot take
    # the list from an attribute.
    environ = ["SOFTLOOKUP_PYTORCH_PYTHON"],
    local = True,
    doc = "Probes for Python modules; see the top of this file.",
)
