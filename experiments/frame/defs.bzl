"""experiment(): a program, its cached results, their judgement, its test."""

def _experiment_results_impl(ctx):
    output = ctx.actions.declare_file(ctx.attr.experiment + ".json")
    flags = [] + ctx.attr.flags
    if ctx.files.inputs:
        flags.append("--inputs=" + ",".join([file.path for file in ctx.files.inputs]))

    # The program as a plain file: with its runfiles the ledger would become
    # an input, and every edit of a claim would run the experiment again.
    program = ctx.file.program
    # It prints its tables, which would flood the build's terminal.
    ctx.actions.run_shell(
        command = """
program="$1"; made="$2"; output="$3"; shift 3
"$program" --judge=false --output="$output.out" "$@" > /dev/null &&
mv "$output.out/$made.json" "$output"
""",
        arguments = [program.path, ctx.file.program.basename, output.path] + flags,
        inputs = ctx.files.inputs,
        tools = [program],
        outputs = [output],
        mnemonic = "Experiment",
        progress_message = "Running experiment " + ctx.attr.experiment,
    )
    return [DefaultInfo(files = depset([output]), runfiles = ctx.runfiles(files = [output]))]

# A rule of ours rather than a genrule: with `cfg = "target"` the program that
# makes the results is the very one that users run.
_experiment_results = rule(
    implementation = _experiment_results_impl,
    attrs = {
        "experiment": attr.string(mandatory = True),
        "flags": attr.string_list(),
        "inputs": attr.label_list(allow_files = True),
        "program": attr.label(mandatory = True, allow_single_file = True, cfg = "target"),
    },
)

def experiment_run(name, program, flags):
    """One run of an experiment at other than the published parameters.

    Args:
      name: of the target and, with .json, of its results file.
      program: the experiment.
      flags: its parameters.
    """
    _experiment_results(
        name = name,
        experiment = name,
        flags = flags,
        program = program,
    )

def _experiment_verified_impl(ctx):
    output = ctx.actions.declare_file(ctx.attr.experiment + ".verified.json")
    ctx.actions.run(
        executable = ctx.file._judge,
        arguments = [
            "--ledger=" + ctx.file.ledger.path,
            "--results=" + ctx.file.results.path,
            "--verified=" + output.path,
        ],
        inputs = [ctx.file.ledger, ctx.file.results],
        outputs = [output],
        mnemonic = "Judge",
        progress_message = "Judging experiment " + ctx.attr.experiment,
    )
    return [DefaultInfo(files = depset([output]), runfiles = ctx.runfiles(files = [output]))]

_experiment_verified = rule(
    implementation = _experiment_verified_impl,
    attrs = {
        "experiment": attr.string(mandatory = True),
        "ledger": attr.label(mandatory = True, allow_single_file = True),
        "results": attr.label(mandatory = True, allow_single_file = True),
        "_judge": attr.label(
            allow_single_file = True,
            cfg = "target",
            default = "//ledger:judge",
        ),
    },
)

def experiment(name, deps, srcs = None, inputs = [], size = "small", visibility = ["//experiments:__subpackages__"], tags = []):
    """An experiment: one program for one question.

    Args:
      name: the program; its source is NAME.cc.
      deps: what the source includes.
      srcs: the sources, if more than NAME.cc.
      inputs: files that the published run reads (published_inputs.h).
      size: of the test.
      visibility: who may read the verified results.
      tags: for the test.

    Makes:
      NAME           the program
      NAME_results   its results at the published parameters (NAME.json)
      NAME_verified  the results with their claims (NAME.verified.json), which
                     exists only when every verdict is as expected
      NAME_test      the judgement as a test
    """
    if "manual" in tags:
        fail("an experiment that is tagged manual is checked by nobody")
    native.cc_binary(
        name = name,
        srcs = srcs or [name + ".cc"],
        data = ["//testdata:claims.json"] + inputs,
        visibility = [
            "//experiments:__subpackages__",
            "//testdata:__subpackages__",
        ],
        deps = deps + ["//experiments/frame:experiment"],
    )
    _experiment_results(
        name = name + "_results",
        experiment = name,
        inputs = inputs,
        program = ":" + name,
        visibility = visibility,
    )
    _experiment_verified(
        name = name + "_verified",
        experiment = name,
        ledger = "//testdata:claims.json",
        results = ":" + name + "_results",
        visibility = visibility,
    )
    native.sh_test(
        name = name + "_test",
        size = size,
        srcs = ["//ledger:judge_test.sh"],
        args = [
            "$(rootpath //ledger:judge)",
            "$(rootpath //testdata:claims.json)",
            "$(rootpath :%s_results)" % name,
        ],
        data = [
            ":" + name + "_results",
            "//ledger:judge",
            "//testdata:claims.json",
        ],
        tags = tags,
    )

def experiment_labels(name):
    """//experiments:NAME and what belongs to it, for who runs an experiment.

    Args:
      name: an experiment, in the folder of its name.
    """
    for suffix in ["", "_results", "_verified"]:
        native.alias(
            name = name + suffix,
            actual = "//experiments/{}:{}".format(name, name + suffix),
            visibility = ["//visibility:public"],
        )

    # An alias of a test would not be run by its name.
    native.test_suite(
        name = name + "_test",
        tests = ["//experiments/{}:{}_test".format(name, name)],
    )
