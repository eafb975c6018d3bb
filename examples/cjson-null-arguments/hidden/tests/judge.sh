#!/bin/sh
# Builds suites of the project, runs each in a process of its own and reports every test as one line of TAP. A suite
# that cannot be built, crashes or breaks off is one failing line more; the plan is kept in any case. SUITES names the
# suites to run, if not all.
set -eu

git apply --include=tests/misc_tests.c tests/0001-add-null-checkings.patch

results=$PROCTOR_RESULTS/tests.tap
: > "$results"
cd tests
all="insert_tests misc_tests compare_tests cjson_add minify_tests parse_value print_value readme_examples"
for suite in ${SUITES:-$all} "$@"; do
    if cc -g -o "/tmp/$suite" "$suite.c" unity/src/unity.c -I unity/src -lm 2> "/tmp/$suite.log"; then
        code=0
        "/tmp/$suite" > "/tmp/$suite.out" 2>&1 || code=$?
        awk -F: -v suite="$suite" '
            $4 == "PASS" { print "ok - " suite "::" $3 }
            $4 == "FAIL" { print "not ok - " suite "::" $3 }' "/tmp/$suite.out" >> "$results"
        # Unity exits with the number of failures; a signal is 128 and more.
        [ "$code" -lt 128 ] || echo "not ok - $suite::(exit)" >> "$results"
        [ "$code" -ge 128 ] || echo "ok - $suite::(exit)" >> "$results"
    else
        cat "/tmp/$suite.log"
        echo "not ok - $suite::(exit)" >> "$results"
    fi
done
echo "1..$(wc -l < "$results")" >> "$results"
