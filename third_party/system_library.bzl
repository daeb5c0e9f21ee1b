"""A library installed by the system's package manager, as a repository.

Only the headers named are visible to the build, through symbolic links; the
BUILD file links the shared library by name (`-lNAME`).
"""

def _system_library_impl(repository_ctx):
    attr = repository_ctx.attr
    roots = [root for root in attr.include_roots if repository_ctx.path(root + "/" + attr.probe).exists]
    if not roots:
        fail("%s: %s not found in %s. Run: tools/setup   (it installs %s)" % (
            attr.name,
            attr.probe,
            " or ".join(attr.include_roots),
            attr.package,
        ))
    for header in attr.headers:
        repository_ctx.symlink(roots[0] + "/" + header, "include/" + header)
    repository_ctx.symlink(attr.build_file, "BUILD")

system_library = repository_rule(
    implementation = _system_library_impl,
    attrs = {
        "build_file": attr.label(mandatory = True, allow_single_file = True),
        "headers": attr.string_list(mandatory = True, doc = "Files or folders under the root."),
        "include_roots": attr.string_list(
            default = ["/usr/include"],
            doc = "Folders to look in; the first that has the probe is used.",
        ),
        "package": attr.string(mandatory = True, doc = "Debian package, for the error."),
        "probe": attr.string(mandatory = True, doc = "A header that must exist."),
    },
    configure = True,
    local = True,
    doc = "Symlinks a system library's headers, or fails naming its package.",
)
