# The steps on the device, and their summary.
# shellcheck shell=bash disable=SC2154

# to FILE COMMAND...: its output in a file of the results.
to() {
    local file=$out/$1
    shift
    "$@" > "$file"
}

check_all() {
    timed_step "probe" 10 to probe.txt "$build/bin/oclattn-probe" --device "$spec" || true
    timed_step "probe, all facts" 10 to probe-all.txt "$build/bin/oclattn-probe" --device "$spec" --all || true
    timed_step "probe, as JSON" 10 to probe.json "$build/bin/oclattn-probe" --device "$spec" --json || true
    timed_step "self-test" 45 to selftest.txt "$build/bin/oclattn-probe" --device "$spec" --selftest || true
    check_tests
    timed_step "speed, with results checked" 25 measure quick --suite quick --check || true
    check_speed
    check_tuning
    check_pytorch
}

# measure NAME OPTION...: in bench-NAME.json, from which the summary's tables are made where there is a python3.
measure() {
    local name=$1
    shift
    "$build/bin/oclattn-bench" --device "$spec" --json "$@" > "$out/bench-$name.json"
}

# In parts, since one that has to be ended leaves no numbers.
check_speed() {
    local suite type
    for type in f32 f16 bf16; do
        for suite in prefill decode layer; do
            timed_step "speed: $suite, $type" 15 measure "$suite-$type" --suite $suite --dtype $type --rounds 10 \
                --budget 0.3 || true
        done
    done
}

# ---- the tests ------------------------------------------------------------------------------------------------------

# Counts in ctest's output: lines such as " 3/31 Test  #5: test_cases ......   Passed    0.52 sec".
count_tests() {
    grep -cE "^ *[0-9]+/[0-9]+ Test .*$1" "$2" || true
}

run_tests() {
    local threads
    threads=$(nproc)
    OCLATTN_DEVICE=$spec ctest --test-dir "$build" -L device -LE counted --timeout 60 --output-on-failure \
        -j $((threads < 4 ? threads : 4))
}

check_tests() {
    local name="tests on the device" log start=$SECONDS code=0 seconds=90 ran bad all
    if [ ! -e "$build/CTestTestfile.cmake" ] || [ ! -e "$build/bin/test_cases" ]; then
        skip "$name" "they are not built: they need libcmocka-dev, g++ and python3"
        return 0
    fi
    log=$(log_of "$name")
    [ $((deadline - SECONDS)) -ge $seconds ] || seconds=$((deadline - SECONDS > 0 ? deadline - SECONDS : 0))
    run_for "$seconds" "$log" run_tests || code=$?
    all=$(sed -n 's|^ *[0-9]*/\([0-9]*\) Test .*|\1|p' "$log" | head -n 1)
    ran=$(count_tests '' "$log") bad=$(count_tests '(\*\*\*Failed|\*\*\*Timeout|\*\*\*Exception)' "$log")
    if [ "$bad" = 0 ] && [ "$ran" -gt 0 ] && { [ $code = 0 ] || [ $code = 124 ]; }; then
        passed=$((passed + 1))
        record PASS "$name" $((SECONDS - start)) "$ran tests"
    else
        failed=$((failed + 1))
        record FAIL "$name" $((SECONDS - start)) "$bad of $ran tests; $log"
        grep -E '^ *[0-9]+/[0-9]+ Test .*\*\*\*' "$log" | sed 's/^ */      /' || true
    fi
    if [ $code = 124 ]; then
        skip "the other $((${all:-0} - ran)) tests" "no time left"
    fi
}

# ---- tuning, and PyTorch --------------------------------------------------------------------------------------------

check_tuning() {
    timed_step "tuning" 40 to tune.txt "$build/bin/oclattn-tune" --device "$spec" --budget 20 --out "$out/tuned.txt" || true
    if [ ! -e "$out/tuned.txt" ]; then
        skip "speed as tuned" "nothing was tuned"
        return 0
    fi
    OCLATTN_TUNING=$out/tuned.txt timed_step "speed as tuned" 15 measure tuned --suite quick || true
}

check_pytorch() {
    local name="speed of PyTorch"
    if ! command -v python3 > /dev/null || ! python3 -c 'import torch' 2> /dev/null; then
        skip "$name" "python3 has no PyTorch here"
        return 0
    fi
    timed_step "$name" 30 to pytorch.json python3 -B "$root/tools/gpu-check/pytorch_speed.py" "$out"/bench-*.json || true
}

# ---- the summary ----------------------------------------------------------------------------------------------------

describe_source() {
    git -C "$root" log -1 --format='%h of %cs' 2> /dev/null || say "not a clone"
}

# write_summary FILE
write_summary() {
    {
        say "oclattn on \"$spec\", $(date -u '+%Y-%m-%d %H:%M') UTC, in $SECONDS s"
        say "source: $(describe_source); $(uname -srm), $(nproc) processors"
        say
        say "$passed passed, $failed failed, $skipped skipped"
        printf '%s\n' ${summary[@]+"${summary[@]}"}
        for log in "$out/probe.txt" "$logs/device.log"; do
            if [ -s "$log" ]; then
                say
                say "---- $(basename "$log")"
                cat "$log"
                break
            fi
        done
        if command -v python3 > /dev/null; then
            python3 -B "$root/tools/gpu-check/tables.py" "$out" || true
        fi
    } > "$1"
}
