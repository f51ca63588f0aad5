# Steps that end when their time is over, whatever they do. Source it after steps.sh, with `deadline` set to the value of
# SECONDS at which everything must be over.
# shellcheck shell=bash disable=SC2154

# Whether a process ends within so many fifths of a second.
ends_within() {
    local pid=$1 left=$2
    while kill -0 "$pid" 2> /dev/null; do
        [ "$left" -gt 0 ] || return 1
        left=$((left - 1))
        sleep 0.2
    done
}

# run_for SECONDS LOG COMMAND...: its exit code, or 124 where it had to be ended. A process that not even KILL ends, because
# a driver hangs in the kernel, is left behind.
run_for() {
    local seconds=$1 log=$2 pid
    shift 2
    set -m
    "$@" > "$log" 2>&1 < /dev/null &
    pid=$!
    set +m
    if ends_within $pid $((seconds * 5)); then
        wait $pid
        return
    fi
    kill -TERM -- -$pid 2> /dev/null
    ends_within $pid 10
    kill -KILL -- -$pid 2> /dev/null # what it started may be slower to go
    ends_within $pid 10
    disown $pid 2> /dev/null
    return 124
}

# timed_step NAME SECONDS COMMAND...: as `step`, but it takes at most so many seconds, and less where the deadline is near.
timed_step() {
    local name=$1 seconds=$2 left=$((deadline - SECONDS)) start=$SECONDS code=0 log
    shift 2
    log=$(log_of "$name")
    if [ "$left" -lt 1 ]; then
        skip "$name" "no time left"
        return 1
    fi
    [ "$seconds" -lt "$left" ] || seconds=$left
    run_for "$seconds" "$log" "$@" || code=$?
    case $code in
        0)
            passed=$((passed + 1))
            record PASS "$name" $((SECONDS - start)) ""
            ;;
        124)
            failed=$((failed + 1))
            record FAIL "$name" $((SECONDS - start)) "ended after $seconds s; $log"
            ;;
        *)
            failed=$((failed + 1))
            record FAIL "$name" $((SECONDS - start)) "exit code $code; $log"
            tail -n 15 "$log" | sed 's/^/      /'
            ;;
    esac
    return $code
}
