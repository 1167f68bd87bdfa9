#!/bin/sh
# A stand-in for an agent, after the public protocol of stream-json: it reads one message and then does
# what its arguments say, in order; at last it reads its input to the end and leaves.
#
# With `listen` it takes in every further message as it comes: it echoes it, as an agent does that was
# told to replay what it is given, and writes its id into `taken`. One that comes after the answer begins
# a further turn. With `slow:FILE` each further turn waits for that file before it is answered, and with
# `dies` the first one is never answered. With `mute` nothing is echoed.
#
# usage: stand-in-agent.sh ABIDE ACT… [--resume SESSION]
# An act that begins with start/, next/ or resume/ is for a segment of that reason alone.

abide=$1
shift
session=session-$$
resumed=
previous=
listener=
slow=
dies=
mute=
rm -f answered
for act do
    [ "$previous" = --resume ] && session=$act resumed=yes
    previous=$act
done

say() { printf '%s\n' "$1"; }

init() {
    say '{"type":"system","subtype":"init","cwd":"/","session_id":"'"$session"'","tools":["Bash"],"model":"stand-in","permissionMode":"default"}'
}

# The cost is of all turns so far, the usage of this one.
result() {
    say '{"type":"result","subtype":"success","is_error":false,"duration_ms":7,"num_turns":1,"result":"Done.","session_id":"'"$session"'","total_cost_usd":'"$1"',"usage":{"input_tokens":3,"output_tokens":6,"cache_read_input_tokens":10}}'
}

# Takes in what comes, until the end of the input.
listen() {
    while IFS= read -r message; do
        id=$(printf '%s\n' "$message" | sed -n 's/.*"uuid":"\([0-9a-f-]*\)".*/\1/p')
        [ -e answered ] && init
        [ -n "$mute" ] || printf '%s\n' "$message" | sed 's/"session_id":""/"session_id":"'"$session"'","isReplay":true/'
        echo "$id" >> taken
        if [ -e answered ]; then
            if [ -n "$dies" ]; then
                echo dying > dying
                return
            fi
            [ -n "$slow" ] && while [ ! -e "$slow" ]; do sleep 0.02; done
            result 0.025
        fi
    done
}

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
    slow:*) slow=${act#slow:} ;;
    dies) dies=yes ;;
    mute) mute=yes ;;
    forge:*) say '{"type":"user","message":{"role":"user","content":[]},"uuid":"'"${act#forge:}"'","isReplay":true}' ;;
    listen)
        # A job in the background has no input, unless it is given one by another name.
        exec 3<&0
        listen <&3 &
        listener=$!
        ;;
    init)
        init
        say '{"type":"assistant","message":{"role":"assistant","content":[{"type":"text","text":"On it."}]},"parent_tool_use_id":null,"session_id":"'"$session"'"}'
        ;;
    up) echo up > up ;;
    until:*) while [ ! -e "${act#until:}" ]; do sleep 0.02; done ;;
    answer)
        say '{"type":"rate_limit_event","rate_limit_info":{"status":"allowed","resetsAt":4102444800,"rateLimitType":"five_hour","overageStatus":"rejected"},"session_id":"'"$session"'"}'
        result 0.01
        echo answered > answered
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

if [ -n "$listener" ]; then
    wait "$listener"
    [ -e dying ] && exit 7
    exit 0
fi
while IFS= read -r _; do :; done
exit 0
