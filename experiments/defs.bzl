"""experiment(): a program, its cached results, their judgement, its test."""

def _experiment_results_impl(ctx):
    output = ctx.actions.declare_file(ctx.attr.experiment + ".json")

    # The program as a plain file: with its runfiles the ledger would become
    # an input, and every edit of a claim would run the experiment again.
    program = ctx.file.program
    # It prints its tables, which would flood the build's terminal.
    ctx.actions.run_shell(
        command = '"$1" --judge=false --output="$2" > /dev/null',
        arguments = [program.path, output.dirname],
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
        "program": attr.label(mandatory = True, allow_single_file = True, cfg = "target"),
    },
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
            default = "//experiments:judge",
        ),
    },
)

def experiment(name, deps, srcs = None, visibility = ["//analysis:__pkg__", "//testdata:__pkg__"], tags = []):
    """An experiment: one program for one question.

    Args:
      name: the program; its source is NAME.cc.
      deps: what the source includes.
      srcs: the sources, if more than NAME.cc.
      visibility: who may read the verified results.
      tags: for the test.

    Makes:
      NAME           the program
      NAME_results   its results at the published parameters (NAME.json)
      NAME_verified  the results with their claims (NAME.verified.json), which
                     exists only when every verdict is as it stands
      NAME_test      the judgement as a test
    """
    native.cc_binary(
        name = name,
        srcs = srcs or [name + ".cc"],
        data = ["//testdata:claims.json"],
        deps = deps + ["//experiments:experiment"],
    )
    _experiment_results(
        name = name + "_results",
        experiment = name,
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
        size = "small",
        srcs = ["//experiments:judge_test.sh"],
        args = [
            "$(rootpath //experiments:judge)",
            "$(rootpath //testdata:claims.json)",
            "$(rootpath :%s_results)" % name,
        ],
        data = [
            ":" + name + "_results",
            "//experiments:judge",
            "//testdata:claims.json",
        ],
        tags = tags,
    )
