#!/bin/sh
# Judges one experiment's results: judge_test.sh JUDGE LEDGER RESULTS.
# Absolute paths: a relative one would be the caller's under `bazel run`.
exec "$1" --ledger="$PWD/$2" --results="$PWD/$3"
