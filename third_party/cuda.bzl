"""CUDA, cuDNN and cudnn-frontend, as two repositories.

`cuda_wheels` downloads the pinned wheels of cuda_wheels.txt with pip, which
knows where from and checks their sha256. Bazel fetches it only when `cuda`
asks, that is, once, however often the flag is turned on and off.

`cuda` is what the build loads. The environment variable SOFTLOOKUP_CUDA says
where it comes from (`--config=cuda` sets it to "wheels"):

    unset        nothing is fetched; AVAILABLE makes targets incompatible, so
                 that they are reported as skipped
    wheels       the pinned wheels
    DIR[:DIR..]  installed toolkits: the folders, in the order given, whose
                 include/ has cuda.h, cudnn.h and cudnn_frontend.h and whose
                 lib64/, lib/ or lib/x86_64-linux-gnu/ the shared libraries

    load("@cuda//:defs.bzl", "AVAILABLE")

AVAILABLE is a list for `target_compatible_with`, CUDA whether it is empty.
Targets: `@cuda//:headers`,
as system headers, so that their warnings are not ours; `@cuda//:libraries`, the
shared libraries, all in the runfiles folder `../cuda/lib`; `@cuda//:cuda.h`.
"""

# What cuDNN 9 needs to plan and run attention. The names are sonames.
_LIBRARIES = [
    "libcudnn.so.9",
    "libcudnn_engines_precompiled.so.9",
    "libcudnn_engines_runtime_compiled.so.9",
    "libcudnn_graph.so.9",
    "libcudnn_heuristic.so.9",
]

# The major version of CUDA is the toolkit's. cuBLAS: cuDNN asks it even for plans
# that have no use for it, and ends the process where it is missing. The CUDA
# runtime: cuDNN has its own inside, but cudnn-frontend opens this one to run a
# plan once when it reads it.
_CUDA_LIBRARIES = [
    "libcublasLt.so.",
    "libcudart.so.",
    "libnvrtc.so.",
    "libnvrtc-builtins.so.",
]

_PLATFORMS = [
    "manylinux_2_28_x86_64",
    "manylinux_2_27_x86_64",
    "manylinux2014_x86_64",
    "manylinux2010_x86_64",
]

def _run(repository_ctx, what, arguments, **kwargs):
    result = repository_ctx.execute(arguments, **kwargs)
    if result.return_code != 0:
        fail("%s failed (%d):\n%s%s" % (
            what,
            result.return_code,
            result.stdout,
            result.stderr,
        ))

def _cuda_wheels_impl(repository_ctx):
    python = repository_ctx.which("python3")
    if python == None:
        fail("cuda_wheels: no python3 on PATH")
    if repository_ctx.execute([python, "-m", "pip", "--version"]).return_code != 0:
        fail("cuda_wheels: %s has no pip. Install it (python3-pip), or give " % python +
             "an installed toolkit: --repo_env=SOFTLOOKUP_CUDA=/usr/local/cuda")
    platforms = []
    for platform in _PLATFORMS:
        platforms += ["--platform", platform]
    _run(
        repository_ctx,
        "pip download of third_party/cuda_wheels.txt",
        [
            python,
            "-m",
            "pip",
            "download",
            "--quiet",
            "--disable-pip-version-check",
            "--no-cache-dir",
            "--no-deps",
            "--only-binary=:all:",
            "--require-hashes",
            "--implementation=cp",
            # Of the frontend only the headers are used, so that one Python
            # version's wheel serves them all.
            "--python-version=3.11",
            "--dest=wheels",
            "-r",
            repository_ctx.path(repository_ctx.attr.requirements),
        ] + platforms,
        timeout = 3600,
    )
    for wheel in repository_ctx.path("wheels").readdir():
        _run(
            repository_ctx,
            "unzipping %s" % wheel.basename,
            [python, "-m", "zipfile", "-e", wheel, "root"],
        )
    repository_ctx.delete("wheels")
    repository_ctx.file("BUILD", "")

cuda_wheels = repository_rule(
    implementation = _cuda_wheels_impl,
    attrs = {
        "requirements": attr.label(mandatory = True, allow_single_file = True),
    },
    doc = "Pinned wheels, unzipped together; see the top of this file.",
)

def _first(repository_ctx, folders, name):
    """The first of the folders that has the file, or None."""
    for folder in folders:
        if repository_ctx.path(folder + "/" + name).exists:
            return folder
    return None

def _symlink_headers(repository_ctx, folder, target, wanted):
    """Links the entries of a folder of headers whose names `wanted` begins."""
    for entry in repository_ctx.path(folder).readdir():
        for prefix in wanted:
            if entry.basename.startswith(prefix):
                repository_ctx.symlink(entry, target + "/" + entry.basename)
                break

def _cuda_impl(repository_ctx):
    source = repository_ctx.os.environ.get("SOFTLOOKUP_CUDA", "")
    if source == "":
        repository_ctx.file(
            "defs.bzl",
            "AVAILABLE = [\"@platforms//:incompatible\"]\nCUDA = False\n",
        )
        repository_ctx.file("BUILD", """
package(default_visibility = ["//visibility:public"])

cc_library(name = "headers")

filegroup(name = "libraries")

filegroup(name = "cuda.h")
""")
        return
    if source == "wheels":
        root = str(repository_ctx.path(Label("@cuda_wheels//:BUILD")).dirname)
        root += "/root/"
        includes = [root + "include", root + "nvidia/cu13/include", root + "nvidia/cudnn/include"]
        libraries = [root + "nvidia/cudnn/lib", root + "nvidia/cu13/lib"]
    else:
        roots = source.split(":")
        includes = [root + "/include" for root in roots]
        libraries = [
            root + "/" + folder
            for root in roots
            for folder in ["lib64", "lib", "lib/x86_64-linux-gnu"]
        ]

    for probe in ["cuda.h", "cudnn.h", "cudnn_frontend.h"]:
        folder = _first(repository_ctx, includes, probe)
        if folder == None:
            fail("SOFTLOOKUP_CUDA = %s: no %s in %s" % (
                source,
                probe,
                " or ".join(includes),
            ))
        if probe == "cuda.h":
            if folder == "/usr/include":
                # The compiler has it on its path; all of it is not ours.
                repository_ctx.symlink(folder + "/cuda.h", "cuda/include/cuda.h")
            else:
                repository_ctx.symlink(folder, "cuda/include")
        else:
            _symlink_headers(
                repository_ctx,
                folder,
                # The frontend's headers include "../include/...".
                probe[:-len(".h")] + "/include",
                ["cudnn"],
            )
    for name in _LIBRARIES:
        folder = _first(repository_ctx, libraries, name)
        if folder == None:
            fail("SOFTLOOKUP_CUDA = %s: no %s in %s" % (
                source,
                name,
                " or ".join(libraries),
            ))
        repository_ctx.symlink(folder + "/" + name, "lib/" + name)
    for prefix in _CUDA_LIBRARIES:
        found = False
        for folder in libraries:
            if found or not repository_ctx.path(folder).exists:
                continue
            for entry in repository_ctx.path(folder).readdir():
                if entry.basename.startswith(prefix):
                    repository_ctx.symlink(entry, "lib/" + entry.basename)
                    found = True
        if not found:
            fail("SOFTLOOKUP_CUDA = %s: no %s* in %s" % (
                source,
                prefix,
                " or ".join(libraries),
            ))
    repository_ctx.file("defs.bzl", "AVAILABLE = []\nCUDA = True\n")
    repository_ctx.file("BUILD", """
package(default_visibility = ["//visibility:public"])

cc_library(
    name = "headers",
    hdrs = glob([
        "cuda/include/**",
        "cudnn/include/**",
        "cudnn_frontend/include/**",
    ]),
    includes = [
        "cuda/include",
        "cudnn/include",
        "cudnn_frontend/include",
    ],
)

filegroup(
    name = "libraries",
    srcs = glob(["lib/*"]),
)

filegroup(
    name = "cuda.h",
    srcs = ["cuda/include/cuda.h"],
)
""")

cuda = repository_rule(
    implementation = _cuda_impl,
    environ = ["SOFTLOOKUP_CUDA"],
    doc = "Headers and libraries of CUDA and cuDNN; see the top of this file.",
)
