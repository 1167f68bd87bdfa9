#!/bin/sh
# A sample executor. Abide starts it once for each attempt, and again when its wait is over.
#
# ABIDE_REASON is start, next or resume; ABIDE_REQUEST is a JSON file with the trigger and the
# inputs; ABIDE_DIR is a folder of this Work's own. Exit 0 completes the attempt. What is printed
# is kept and shown by `abide work logs`.
set -eu

echo "reason: ${ABIDE_REASON:-none}"
echo "request: ${ABIDE_REQUEST:-none}"
if [ -n "${ABIDE_REQUEST:-}" ] && [ -r "$ABIDE_REQUEST" ]; then
    cat "$ABIDE_REQUEST"
    echo
fi

# Here a real executor reviews, builds or asks an agent. To wait for the next comment on pull
# request 7 instead of ending, register a wait on its key and exit:
#
#   abide tool wait --key 7 --type issue_comment.created --timeout 7d
echo "done"
