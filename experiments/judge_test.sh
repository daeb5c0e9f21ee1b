#!/bin/sh
# Judges one experiment's results: judge_test.sh JUDGE LEDGER RESULTS.
exec "$1" --ledger="$2" --results="$3"
