//! What a door would answer, for tests of how it is shown.

use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::Screen;
use crate::api::types::{
    Chain, ConfigHistory, EventRow, HoldRow, IntentRow, ScopeRow, TimerRow, WaitRow, WorkDetail,
    WorkRow,
};
use crate::store::copy::Contents;

/// Eighty columns, at a fixed instant.
pub(in crate::cli) fn screen() -> Screen {
    Screen { width: 80, now: "2026-03-01T12:00:00Z".parse().expect("an instant") }
}

fn read<T: DeserializeOwned>(value: Value) -> T {
    serde_json::from_value(value).expect("the canned answer has the door's form")
}

const WORK: &str = "work_01kb3n8x9qf8vta3g5w2m6r1zd";
const OTHER: &str = "work_01kb3n8x9rf8vta3g5w2m6r2aa";
const ROOT: &str = "evt_01kb3n8x9qf8vta3g5w2m6r100";
const SOURCE: &str = "github:github.com/1296269";

pub(in crate::cli) fn data() -> Value {
    json!({ "action": "completed", "check_run": { "conclusion": "success", "name": "\u{1b}[31mci" } })
}

fn event(seq: i64, event_type: &str, more: &Value) -> Value {
    let mut event = json!({
        "id": format!("evt_01kb3n8x9qf8vta3g5w2m6r1{:02}", seq - 1), "seq": seq, "source": SOURCE,
        "delivery": format!("72d3162e-cc78-11e3-81ab-4c9367dc09{seq:02}"), "type": event_type,
        "scope": "acme/web", "accepted_at": "2026-03-01T11:57:00Z", "root": ROOT, "depth": 0,
    });
    let more = more.as_object().expect("an object").clone();
    event.as_object_mut().expect("an object").extend(more);
    event
}

pub(in crate::cli) fn events() -> Vec<EventRow> {
    let key = |mark: &str, work: &str| json!({ "key": "42", "mark": mark, "work": work });
    read(json!([
        event(1, "pull_request.opened", &key("queued", WORK)),
        event(2, "ping", &json!({ "mark": "unmatched" })),
        event(3, "pull_request_review_comment.created", &key("queued", WORK)),
        event(4, "check_run.completed", &key("terminal", OTHER)),
        event(
            5,
            "check_run.completed",
            &json!({
                "key": "42", "mark": "woke", "work": WORK, "route": "ci", "subject": "ci\u{7}",
                "parent": ROOT, "depth": 1,
            })
        ),
        event(
            6,
            "core.wait.woken",
            &json!({
                "source": "core", "mark": "continuation", "work": WORK, "depth": 2,
                "parent": "evt_01kb3n8x9qf8vta3g5w2m6r104",
            })
        ),
        event(7, "pull_request.\u{1b}[2Jclosed", &json!({ "key": "\u{202e}42" })),
    ]))
}

pub(in crate::cli) fn chain() -> Chain {
    let all = events();
    let in_chain = |event: &EventRow| event.parent.is_some() || event.id == ROOT;
    let rejection = json!({
        "delivery": "wait_1/timeout", "parent": ROOT, "reason": "depth_limit", "depth": 33,
        "at": "2026-03-01T11:59:00Z",
    });
    let rejections = vec![
        read(rejection.clone()),
        read({
            let mut late = rejection;
            late["parent"] = "evt_01kb3n8x9qf8vta3g5w2m6r105".into();
            late
        }),
    ];
    Chain { events: all.into_iter().filter(in_chain).collect(), rejections }
}

fn work_row(id: &str, status: &str, reason: &str, more: &Value) -> Value {
    let mut row = json!({
        "id": id, "kind": "review", "scope": "acme/web", "status": status, "reason": reason,
        "excluded": false, "keys": [format!("{SOURCE}#42")], "attempts": 1, "pending": 0,
        "created_at": "2026-03-01T11:30:00Z",
    });
    let more = more.as_object().expect("an object").clone();
    row.as_object_mut().expect("an object").extend(more);
    row
}

const WAITING: &str =
    "waits for check_run.completed on github:github.com/1296269#42, for 27 minutes more";

pub(in crate::cli) fn works() -> Vec<WorkRow> {
    read(json!([
        work_row(WORK, "waiting", WAITING, &json!({})),
        work_row(
            OTHER,
            "ready",
            "its attempt 3 failed: exit status 1\u{1b}[0m; nothing is retried",
            &json!({
                "hold": "exhausted", "attempts": 3, "pending": 2,
                "keys": [format!("{SOURCE}#43"), "github:github.com/1296269#44"],
            })
        ),
        work_row(
            "work_01kb3n8x9sf8vta3g5w2m6r2ab",
            "completed",
            "its attempt 2 said `merged`",
            &json!({
                "attempts": 2, "keys": [],
            })
        ),
    ]))
}

pub(in crate::cli) fn intents() -> Vec<IntentRow> {
    let id = |n: u8| format!("evt_01kb3n8x9qf8vta3g5w2m6r1{n:02}");
    let at = "2026-03-01T11:58:00Z";
    read(json!([
        {
            "event": 7, "event_id": id(6), "attempt": 1, "epoch": 1, "kind": "inject",
            "status": "dispatched", "on_error": "drop", "sends": 3, "committed_at": at,
            "dispatched_at": at, "detail": "the inbox is \u{1b}[31mfull",
        },
        {
            "event": 8, "event_id": id(7), "attempt": 1, "epoch": 1, "kind": "inject",
            "status": "not_accepting", "sends": 1, "committed_at": at,
        },
        {
            "event": 9, "event_id": id(8), "attempt": 1, "epoch": 1, "kind": "interrupt",
            "status": "fenced", "sends": 1, "committed_at": at, "settled_at": at,
        },
    ]))
}

pub(in crate::cli) fn waits() -> Vec<WaitRow> {
    read(json!([
        {
            "id": "wait_01kb3n8x9tf8vta3g5w2m6r3aa", "work": WORK, "attempt": 1, "status": "woken",
            "keys": [format!("{SOURCE}#42")], "types": [], "after": 1, "winner": 3,
        },
        {
            "id": "wait_01kb3n8xatf8vta3g5w2m6r3ab", "work": WORK, "attempt": 2, "status": "active",
            "keys": [format!("{SOURCE}#42"), format!("{SOURCE}#43")],
            "types": ["check_run.completed", "check_suite.completed"], "after": 3,
            "deadline": "2026-03-01T12:27:00Z",
        },
        {
            "id": "wait_01kb3n8xbtf8vta3g5w2m6r3ac", "work": OTHER, "attempt": 1,
            "status": "cancelled", "keys": [], "types": [], "after": 4,
        },
    ]))
}

pub(in crate::cli) fn work() -> WorkDetail {
    let mut detail = work_row(WORK, "waiting", WAITING, &json!({ "attempts": 2 }));
    detail["history"] = json!([
        {
            "id": "att_01kb3n8x9uf8vta3g5w2m6r4aa", "number": 1, "status": "waiting", "epoch": 1,
            "trigger": 1, "inputs": [1],
        },
        {
            "id": "att_01kb3n8x9vf8vta3g5w2m6r4ab", "number": 2, "status": "running",
            "phase": "pinned", "epoch": 3, "expires_at": "2026-03-01T12:00:20Z", "trigger": 3,
            "inputs": [3, 4, 5], "result": "the review was posted and the checks are awaited",
        },
    ]);
    detail["pending_input"] = json!([6, 7]);
    detail["waits"] = serde_json::to_value(waits()).expect("waits are plain data");
    read(detail)
}

pub(in crate::cli) fn timers() -> Vec<TimerRow> {
    read(json!([
        {
            "kind": "wait", "work": WORK, "wait": "wait_01kb3n8xatf8vta3g5w2m6r3ab",
            "due": "2026-03-01T12:27:00Z", "disabled": false,
        },
        {
            "kind": "retry", "work": OTHER, "attempt": 2, "due": "2026-03-01T12:04:10Z",
            "disabled": false,
        },
        { "kind": "idle", "work": OTHER, "due": "2026-03-03T12:00:00Z", "disabled": false },
        {
            "kind": "wait", "work": OTHER, "wait": "wait_01kb3n8xbtf8vta3g5w2m6r3ac",
            "due": "2026-03-01T11:00:00Z", "disabled": true,
        },
    ]))
}

pub(in crate::cli) fn holds() -> Vec<HoldRow> {
    read(json!([
        {
            "work": WORK, "status": "waiting", "holds": ["operator"], "kind": "review",
            "attempts": 2, "scope": "acme/web", "reason": "the deploy\u{7} window is closed",
        },
        {
            "work": OTHER, "status": "ready", "holds": ["exhausted", "operator"], "attempts": 3,
            "kind": "review", "scope": "acme/web",
        },
    ]))
}

pub(in crate::cli) fn history() -> ConfigHistory {
    read(json!({
        "items": [
            {
                "generation": 1, "current": false, "since": "2026-02-28T12:00:00Z",
                "digest": "00d1f7c11bbf5e2f9a7a5d0e9a2c5f7b8f1d1a3c4b5a69788796a5b4c3d2e1f0",
            },
            {
                "generation": 2, "current": true, "since": "2026-03-01T11:30:00Z",
                "digest": "10d1f7c11bbf5e2f9a7a5d0e9a2c5f7b8f1d1a3c4b5a69788796a5b4c3d2e1f0",
            },
        ],
        "refused": [{
            "at": "2026-03-01T11:58:00Z", "by": "principal:ops",
            "why": "error: route `all` has no `do`\n  abide.toml:8:1\n  next: add `do = \"work\"`",
        }],
    }))
}

pub(in crate::cli) fn scopes() -> Vec<ScopeRow> {
    let routes = json!([
        {
            "name": "pr", "declared_in": "acme", "on": ["pull_request.*"], "do": "work",
            "kind": "review", "when": "event.data.action != \"labeled\"",
            "key": "string(event.data.number)", "active": "inject", "fallback": "queue",
            "on_error": "drop",
        },
        { "name": "noise", "declared_in": "acme/web", "on": ["ping", "star.*"], "do": "drop" },
    ]);
    read(json!([
        {
            "name": "acme", "capacity": 4, "running": 3, "max_depth": 32, "read_scopes": [],
            "routes": [], "kinds": [], "bindings": [],
        },
        {
            "name": "acme/web", "running": 1, "max_depth": 16, "read_scopes": ["acme/api"],
            "routes": routes,
            "kinds": [{
                "name": "review", "binding": "reviewer", "standing": true,
                "reopen": ["pull_request.reopened"], "hint_max_ms": 86_400_000,
            }, {
                "name": "fix", "binding": "reviewer", "standing": false, "reopen": [],
                "close_after_ms": 1_209_600_000, "hint_max_ms": 3_600_000,
                "retry": {
                    "attempts": 3, "backoff_ms": [300_000, 600_000], "exhausted": "keep",
                },
            }, {
                "name": "once", "binding": "reviewer", "standing": false, "reopen": [],
                "hint_max_ms": 86_400_000,
                "retry": { "attempts": 1, "backoff_ms": [], "exhausted": "fail" },
            }],
            "bindings": [{
                "name": "reviewer", "declared_in": "acme", "command": ["/srv/review.sh", "-v"],
                "resumes": true, "injects": true, "timeout_ms": 3_600_000,
            }],
        },
    ]))
}

/// What a database of a few hundred events holds.
pub(in crate::cli) fn contents(incarnation: u32) -> Contents {
    let at: jiff::Timestamp = "2026-03-01T09:00:00Z".parse().expect("an instant");
    let time_mark = crate::domain::Millis(at.as_millisecond());
    let incarnation = crate::domain::Incarnation(incarnation);
    Contents {
        id: uuid::Uuid::nil(),
        seq: crate::domain::Seq(312),
        row: 1804,
        incarnation,
        held: incarnation.0 > 1,
        time_mark,
    }
}
