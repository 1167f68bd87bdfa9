#!/bin/sh
# A stand-in for an agent, after the public protocol of stream-json: it reads one message and then does
# what its arguments say, in order; at last it reads its input to the end and leaves.
#
# usage: stand-in-agent.sh ABIDE ACT… [--resume SESSION]
# An act that begins with start/, next/ or resume/ is for a segment of that reason alone.

abide=$1
shift
session=session-$$
resumed=
previous=
for act do
    [ "$previous" = --resume ] && session=$act resumed=yes
    previous=$act
done

say() { printf '%s\n' "$1"; }

IFS= read -r message || exit 90
printf '%s\n' "$message" > "heard-$ABIDE_REASON"
printf '%s\n' "$session" > "session-$ABIDE_REASON"

while [ $# -gt 0 ]; do
    act=$1
    shift
    case $act in
    start/* | next/* | resume/*)
        [ "${act%%/*}" = "$ABIDE_REASON" ] || continue
        act=${act#*/}
        ;;
    esac
    case $act in
    --resume) shift ;;
    unknown)
        if [ -n "$resumed" ]; then
            say '{"type":"result","subtype":"error_during_execution","is_error":true,"num_turns":0,"errors":["No conversation found with session ID: '"$session"'"],"session_id":"fresh"}'
            exit 1
        fi
        ;;
    init)
        say '{"type":"system","subtype":"init","cwd":"/","session_id":"'"$session"'","tools":["Bash"],"model":"stand-in","permissionMode":"default"}'
        say '{"type":"assistant","message":{"role":"assistant","content":[{"type":"text","text":"On it."}]},"parent_tool_use_id":null,"session_id":"'"$session"'"}'
        ;;
    up) echo up > up ;;
    until:*) while [ ! -e "${act#until:}" ]; do sleep 0.02; done ;;
    answer)
        say '{"type":"rate_limit_event","rate_limit_info":{"status":"allowed","resetsAt":4102444800,"rateLimitType":"five_hour","overageStatus":"rejected"},"session_id":"'"$session"'"}'
        say '{"type":"result","subtype":"success","is_error":false,"duration_ms":7,"num_turns":1,"result":"Done.","session_id":"'"$session"'","total_cost_usd":0.01,"usage":{"input_tokens":3,"output_tokens":6}}'
        ;;
    error)
        say '{"type":"result","subtype":"error_during_execution","is_error":true,"num_turns":3,"errors":["the build \u001b[31mbroke"],"session_id":"'"$session"'"}'
        ;;
    limit | limit:*)
        reset=${act#limit}
        reset=${reset#:}
        [ -n "$reset" ] && say '{"type":"rate_limit_event","rate_limit_info":{"status":"rejected","resetsAt":'"$reset"',"rateLimitType":"five_hour"},"session_id":"'"$session"'"}'
        say '{"type":"assistant","message":{"role":"assistant","content":[{"type":"text","text":"Limit reached"}]},"error":"rate_limit","session_id":"'"$session"'"}'
        say '{"type":"result","subtype":"success","is_error":true,"num_turns":1,"result":"You have hit your limit","session_id":"'"$session"'"}'
        exit 1
        ;;
    garbage) printf 'no json\n[1,2,3]\n\377\376\0\n{"type":"assistant","text":"half {"type":"rate_limit_event"}\n\n' ;;
    giant)
        head -c 9000000 /dev/zero | tr '\0' x
        echo
        ;;
    complain) echo "it hurts" >&2 ;;
    crash:*) exit "${act#crash:}" ;;
    declare:*)
        # shellcheck disable=SC2086
        "$abide" tool result ${act#declare:} || exit 91
        ;;
    wait:*)
        "$abide" tool wait --key "${act#wait:}" --type news > waited 2>&1
        [ $? -eq 4 ] || exit 92
        ;;
    deaf) exec sleep 1000 ;;
    *) exit 93 ;;
    esac
done

while IFS= read -r _; do :; done
exit 0
