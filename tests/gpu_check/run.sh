#!/bin/bash
# Tests of tools/gpu-check.sh, with programs of its own in place of the tools: what it says of steps that pass, fail and
# hang, of a machine without a GPU, and of one whose driver is not entered; and its tables.
#
#     run.sh ROOT
set -euo pipefail
root=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failures=0

# fake NAME: a tool, whose text is on stdin.
fake() {
    cat > "$work/build/bin/$1"
    chmod +x "$work/build/bin/$1"
}

make_tools() {
    rm -rf "$work/build"
    mkdir -p "$work/build/bin"
    fake oclattn-probe <<'END'
#!/bin/sh
case $* in
    *nothing*) echo "choice none"; exit 3 ;;
    *entered*) [ -n "${OCL_ICD_VENDORS:-}" ] || exit 3 ;;
esac
case $* in
    *--selftest*) echo "all right"; exit ${FAKE_SELFTEST:-0} ;;
    *--json*) echo '{}' ;;
    *) echo "A GPU of tests" ;;
esac
END
    fake oclattn-bench <<END
#!/bin/sh
case \$* in
    *decode*) [ -z "\${FAKE_HANG:-}" ] || { echo \$\$ > "$work/hung"; sleep 1000; } ;;
esac
cat "$root/tests/gpu_check/bench.json"
END
    fake oclattn-tune <<'END'
#!/bin/sh
while [ "$1" != --out ]; do shift; done
[ -z "${FAKE_TUNED:-}" ] || echo "oclattn tuning 1" > "$2"
echo "measured"
END
}

# run CODE OPTION...: expects that exit code; what it prints is in $work/out.
run() {
    local expected=$1 code=0
    shift
    rm -rf "$work/results" "$work/results.tar.gz"
    "$root/tools/gpu-check.sh" --build "$work/build" --out "$work/results" "$@" > "$work/out" 2>&1 || code=$?
    if [ $code != "$expected" ]; then
        printf 'exit code %d, not %d, of: %s\n' $code "$expected" "$*"
        cat "$work/out"
        failures=$((failures + 1))
    fi
}

# has FILE PATTERN, and lacks FILE PATTERN: a line that matches.
has() {
    grep -qE -- "$2" "$1" || { printf 'no line like "%s" in %s:\n' "$2" "$1"; cat "$1"; failures=$((failures + 1)); }
}

lacks() {
    if grep -qE -- "$2" "$1"; then
        printf 'a line like "%s" in %s\n' "$2" "$1"
        failures=$((failures + 1))
    fi
}

make_tools
summary=$work/results/summary.txt

"$root/tools/gpu-check.sh" --help > "$work/out"
has "$work/out" '^Usage: tools/gpu-check.sh'
run 2 --nonsense
run 2 --minutes
run 2 --minutes none
run 2 --build "$work/nowhere"
has "$work/out" 'there is no bin/oclattn-probe'

FAKE_TUNED=1 run 0
for step in 'probe' 'probe, as JSON' 'self-test' 'speed: prefill, f32' 'speed: decode, bf16' 'speed: layer, f16' 'tuning' 'speed as tuned'; do
    has "$summary" "^PASS  $step "
done
has "$summary" '^SKIP  tests on the device .*not built'
has "$summary" '^A GPU of tests'
has "$summary" 'of 1, 12, 512, 64|1, 12, 512, 64'
has "$summary" ' f16 .* 3.25 .* 41 % .*attention_tiled'
has "$summary" 'WRONG RESULT'
has "$summary" 'the driver gave up'
tar -tzf "$work/results.tar.gz" > "$work/files"
for file in summary.txt bench-prefill-f32.json probe.json logs/self-test.log tuned.txt; do
    has "$work/files" "^results/$file\$"
done
lacks "$work/files" 'private'

FAKE_SELFTEST=1 run 1
has "$summary" '^FAIL  self-test .*exit code 1'
has "$summary" '^PASS  speed: prefill, f32 '
has "$summary" '^SKIP  speed as tuned .*nothing was tuned'

# A hung step ends with the time that is left, and what comes after it is told.
OCLATTN_GPU_CHECK_SECONDS=4 FAKE_HANG=1 run 1
has "$summary" '^FAIL  speed: decode, f32 .*ended after [0-9]+ s'
has "$summary" '^SKIP  speed: layer, f32 .*no time left'
for _ in 1 2 3 4 5 6 7 8 9 10; do
    kill -0 "$(cat "$work/hung")" 2> /dev/null || break
    sleep 1
done
if kill -0 "$(cat "$work/hung")" 2> /dev/null; then
    printf 'the hung step is still there\n'
    failures=$((failures + 1))
fi

run 3 --device nothing
has "$summary" '^FAIL  device .*there is no device "nothing"'
has "$summary" 'choice none'

# The driver is there, but no .icd file names it.
mkdir -p "$work/lib"
touch "$work/lib/libnvidia-opencl.so.1"
OCL_ICD_VENDORS='' OCLATTN_GPU_CHECK_LIBRARIES=$work/lib run 0 --device entered
has "$work/out" "drivers that /etc/OpenCL/vendors does not name: .*$work/lib/libnvidia-opencl.so.1"
OCL_ICD_VENDORS='' OCLATTN_GPU_CHECK_LIBRARIES=$work/none run 3 --device entered

# Tables of damaged and missing files.
mkdir -p "$work/tables"
python3 -B "$root/tools/gpu-check/tables.py" "$work/tables" > "$work/out"
has "$work/out" 'Nothing was measured'
printf '{"results": [' > "$work/tables/bench-prefill.json"
cp "$root/tests/gpu_check/bench.json" "$work/tables/bench-tuned.json"
cp "$root/tests/gpu_check/bench.json" "$work/tables/bench-quick.json"
printf '{"version": "2", "device": "a GPU", "results": [{"group": "prefill", "problem": "1, 12, 512, 64", "dtype": "f16", "min_ms": 1.5}]}' \
    > "$work/tables/pytorch.json"
python3 -B "$root/tools/gpu-check/tables.py" "$work/tables" > "$work/out"
has "$work/out" '^\(bench-prefill.json: '
has "$work/out" ' f16 +3.25 +3.25 +1.5 +41 %'
has "$work/out" 'PyTorch 2 on a GPU'

if [ $failures != 0 ]; then
    printf '%d checks failed\n' $failures
    exit 1
fi
