#!/bin/sh
# The executor of `abide demo`: reviews a pull request, waits for its checks, merges it.
set -eu
abide=@ABIDE@
demo=@DEMO@

# The external id of the key of what triggered this attempt.
number=$(grep -o '"abidekey": *"[^"]*"' "$ABIDE_REQUEST" | head -n 1 | sed 's/.*[#"]\([0-9]*\)"$/\1/')
echo "$ABIDE_REASON $number" >> "$demo/started"

case "$ABIDE_REASON" in
start)
    echo "reviewed #$number; it may be merged once its checks have passed"
    exec "$abide" tool wait --key "$number" --type check_run.completed --timeout 10m
    ;;
resume)
    echo "the checks of #$number have passed: merging"
    # A copy of the credential, to show later what it is worth under another epoch.
    (umask 077 && cp "$ABIDE_TOKEN_FILE" "$demo/old.token")
    echo "$ABIDE_TOKEN_FILE" > "$demo/token.path"
    echo $$ > "$demo/pid"
    # A merge that takes long, and hears what is said meanwhile. It also ends if the demo goes away.
    while [ ! -e "$demo/go" ] && [ -d "$demo" ]; do
        "$abide" tool inbox | while read -r id event; do
            echo "heard: $(printf '%s' "$event" | sed 's/.*"body": *"\([^"]*\)".*/\1/')"
            "$abide" tool ack "$id"
        done
        sleep 0.1
    done
    "$abide" tool result completed --status "merged #$number"
    ;;
*)
    echo "#$number is merged: nothing left to do"
    "$abide" tool result completed --status "nothing left to do"
    ;;
esac
