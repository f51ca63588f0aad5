# Steps of a test run and their summary. Source it with `logs` set to a folder for the steps' output.
# shellcheck shell=bash disable=SC2154

passed=0 failed=0 skipped=0
summary=()

# record STATUS NAME SECONDS NOTE
record() {
    summary+=("$(printf '%-4s  %-58s %5s s  %s' "$1" "$2" "$3" "$4")")
    printf '%s\n' "${summary[-1]}"
}

skip() {
    skipped=$((skipped + 1))
    record SKIP "$1" 0 "$2"
}

# log_of NAME: where a step's output goes.
log_of() {
    printf '%s/%s.log' "$logs" "$(printf '%s' "$1" | tr -c 'A-Za-z0-9._\n-' '_')"
}

show_failure() {
    printf '%s\n' "---- the end of $1 ----"
    tail -n 60 "$1"
    printf '%s\n' "----"
}

# step NAME COMMAND...: one check. Returns 1 when it fails, and the run goes on.
step() {
    local name=$1 log start=$SECONDS
    shift
    log=$(log_of "$name")
    if "$@" > "$log" 2>&1 < /dev/null; then
        passed=$((passed + 1))
        record PASS "$name" $((SECONDS - start)) ""
        return 0
    fi
    failed=$((failed + 1))
    record FAIL "$name" $((SECONDS - start)) "$log"
    show_failure "$log"
    return 1
}

# suite NAME CTEST_ARGUMENT...: a run of ctest, whose tests are counted one by one.
suite() {
    local name=$1 log start=$SECONDS code=0 counts tests failures skips
    shift
    log=$(log_of "$name")
    ctest --output-on-failure --output-junit "$log.xml" --output-log "$log.all" "$@" > "$log" 2>&1 < /dev/null || code=$?
    counts=$(sed -n '/^<testsuite/,/>/p' "$log.xml" 2> /dev/null | tr '\n' ' ')
    tests=$(attribute tests "$counts") failures=$(attribute failures "$counts") skips=$(attribute skipped "$counts")
    if [ "$tests" = 0 ]; then
        code=1 failures=1 tests=1
    elif [ "$code" != 0 ] && [ "$failures" = 0 ]; then
        failures=1
    fi
    passed=$((passed + tests - failures - skips)) failed=$((failed + failures)) skipped=$((skipped + skips))
    if [ "$code" = 0 ]; then
        record PASS "$name" $((SECONDS - start)) "$tests tests, $skips skipped"
    else
        record FAIL "$name" $((SECONDS - start)) "$failures of $tests tests; $log"
        show_failure "$log"
    fi
    list_skips "$log.all"
}

# attribute NAME TEXT: the number in NAME="number", 0 without one.
attribute() {
    local number
    number=$(printf '%s' "$2" | sed -n "s/.*[[:space:]]$1=\"\([0-9]*\)\".*/\1/p")
    printf '%s' "${number:-0}"
}

# list_skips FILE: says once each what tests did not run, and why.
list_skips() {
    local line
    [ -r "$1" ] || return 0
    while IFS= read -r line; do
        summary+=("      $line")
        printf '      %s\n' "$line"
    done < <(grep -h '^ *SKIP' "$1" | sed 's/^ *//' | sort | uniq)
}

# finish: prints the summary and returns 1 if anything failed, or nothing ran.
finish() {
    printf '\n== Summary (%d min %d s)\n' $((SECONDS / 60)) $((SECONDS % 60))
    printf '%s\n' "${summary[@]}"
    printf '%d passed, %d failed, %d skipped\n' "$passed" "$failed" "$skipped"
    [ "$failed" = 0 ] && [ "$passed" -gt 0 ]
}
