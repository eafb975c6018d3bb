#!/bin/sh
# Builds each suite, runs it in a process of its own and reports every test as one line of TAP.
set -eu

build=$(mktemp -d)
results=$PROCTOR_RESULTS/tests.tap
: > "$results"
cd tests
for suite in basic trims "$@"; do
    code=0
    cc -g -o "$build/$suite" "$suite.c" ../src/*.c ../unity/unity.c -I ../src -I ../unity
    "$build/$suite" > "$build/$suite.out" 2>&1 || code=$?
    awk -F: -v suite="$suite" '
        $4 == "PASS" { print "ok - " suite "::" $3 }
        $4 == "FAIL" { print "not ok - " suite "::" $3 }' "$build/$suite.out" >> "$results"
    # The framework exits with the number of failures; a signal is 128 and more.
    [ "$code" -lt 128 ] || echo "not ok - $suite::(exit)" >> "$results"
done
echo "1..$(wc -l < "$results")" >> "$results"
