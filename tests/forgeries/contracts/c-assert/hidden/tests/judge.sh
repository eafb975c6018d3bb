#!/bin/sh
# Builds each file of tests, runs every test in a process of its own and reports it as one line of TAP.
set -eu

build=$(mktemp -d)
results=$PROCTOR_RESULTS/tests.tap
: > "$results"
cd tests
for suite in basic texts "$@"; do
    cc -g -o "$build/$suite" "$suite.c" ../src/*.c -I ../src
    number=0
    for test in $(sed -n 's/^static void \([a-z0-9_]*\)(void)$/\1/p' "$suite.c"); do
        if "$build/$suite" "$number" 2>&1; then
            echo "ok - $suite::$test" >> "$results"
        else
            echo "not ok - $suite::$test" >> "$results"
        fi
        number=$((number + 1))
    done
done
echo "1..$(wc -l < "$results")" >> "$results"
