#!/bin/sh
# The main job of agentctl, on the offline model and in a folder of its own: an agent runs until a call
# needs a person, the call is looked at and approved in another process, the agent goes on to its answer.
# Needs `agentctl` on PATH. Fails where anything is not as it should be.
set -eu

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cp -R "$(dirname "$0")" "$scratch/sample-agents"
cd "$scratch"
unset AGENTCTL_STORE AGENTCTL_MODEL

fail() {
    echo "demo: $1" >&2
    exit 1
}

# show STATUS COMMAND...: print the command, run it as a script would, insist on its exit status.
show() {
    expected=$1
    shift
    printf '\n$'
    for word in "$@"; do
        case $word in
            *\ *) printf ' "%s"' "$word" ;;
            *) printf ' %s' "$word" ;;
        esac
    done
    printf '\n'
    # Through a pipe, as a script would read it, and on the screen in the order in which it happens.
    { status=0; "$@" </dev/null || status=$?; echo "$status" >status; } | tee stdout
    status=$(cat status)
    [ -z "$(tail -c 1 stdout)" ] || echo
    [ "$status" -eq "$expected" ] || fail "exit status $status instead of $expected"
}

show 8 agentctl run sample-agents/records "Delete record abc-123" --model scripted/demo.yaml
echo "(exit status 8: nothing failed, a person is needed)"
[ ! -e records.json ] || fail "the record was deleted before anyone approved"

show 0 agentctl pending
echo "(as a script reads it: tabs, and no header)"
[ "$(wc -l <stdout)" -eq 1 ] || fail "one call should wait"
id=$(cut -f 1 stdout)

show 0 agentctl approve "$id"
grep -q abc-123 stdout || fail "the answer does not name the record"
grep -q abc-124 records.json || fail "the other records are gone"
! grep -q abc-123 records.json || fail "the record is still there"

show 0 agentctl pending
[ ! -s stdout ] || fail "something still waits"
echo "(nothing waits any more)"

printf '\nNow by hand: put .venv/bin on your PATH, and go on with "A session" in README.md.\n'
