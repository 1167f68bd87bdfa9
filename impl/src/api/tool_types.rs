//! The words of the tool door, which speaks to processes of attempts and to nothing else.
//!
//! HTTP/1.1 on the Unix socket `ABIDE_SOCKET`, `Authorization: Bearer TOKEN` with the text in
//! `ABIDE_TOKEN_FILE`. The token alone says which attempt speaks, under which epoch.
//!
//! | call | body | answer |
//! |---|---|---|
//! | `GET /tool/inputs?attempt=N&after=SEQ&limit=N` | | 200 [`InputsAnswer`] |
//! | `POST /tool/wait` | [`WaitRequest`] | 201, or 200 for a repeat: [`WaitAnswer`] |
//! | `POST /tool/beat` | | 200 [`BeatAnswer`] |
//! | `POST /tool/result` | [`ResultRequest`] | reserved for attempts without a keeper |
//!
//! Every POST carries an `Idempotency-Key`; the client repeats a call whose answer was lost under
//! the same key. A repeat of a `wait` that committed answers as the first did, although the token
//! lost its authority with that commit.
//!
//! A result is not sent: `abide tool result` writes a [`ResultRequest`] into the keeper's folder,
//! beside the token file, and the daemon commits it when the process has exited. So a result
//! survives a daemon that is down, is the last one declared, and needs no authority of its own.
//! A wait commits at the call, so that its caller sees a refusal.
//!
//! Anything else is a [`Problem`] (RFC 9457, `application/problem+json`). Its `code` is the name of
//! a refusal or a deferral, or one of the codes below; the client exits
//!
//! - 3 on `stale_authority`, after it has read the token file once more and it had not changed;
//! - 75 on `lease_expired` (recovery will decide, and may adopt the process), [`RECOVERING`],
//!   [`CONFLICT`], a deferral, and statuses 429 and 503;
//! - 1 on every other code.
//!
//! A token that the door does not know at all is `stale_authority` too. But to the last token before
//! a recovery claim it answers [`RECOVERING`] until that recovery is settled, because the process's
//! next token is on its way.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::domain::{AttemptNo, Millis, Seq};

/// The attempt is being adopted and its credentials are about to be replaced: 503.
pub const RECOVERING: &str = "recovering";

/// What was read has moved, the law's `Conflict`: 409.
pub const CONFLICT: &str = "conflict";

/// Registers a Wait and ends or parks the attempt, in one commit. WAIT-16
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WaitRequest {
    /// Keys of the caller's own Work; any of them will do. Empty: only the timeout ends it.
    #[serde(default)]
    pub keys: Vec<WaitKey>,
    /// Event types; empty means any. WAIT-03
    #[serde(default)]
    pub types: Vec<String>,
    /// What else it waits for: an external resource that another Work, or none, may own. One of
    /// `keys` is then needed, too: what comes of the resource arrives under the first. ALIAS-05
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on: Option<WaitSource>,
    /// The last sequence the caller has observed. Absent: the highest of the batch its segment was
    /// handed. WAIT-12
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<Seq>,
    /// When it gives up; absent: never.
    #[serde(default, flatten)]
    pub deadline: Option<WaitDeadline>,
}

/// A key as a caller writes it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum WaitKey {
    /// In two fields.
    Parts {
        /// The namespace. Absent: the one source under which the Work owns this id.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        source: Option<String>,
        /// The identity inside it.
        external_id: String,
    },
    /// `SOURCE#EXTERNAL-ID`, parted at the first `#`; without one, the external id alone.
    Text(String),
}

/// An external resource as a caller writes it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum WaitSource {
    /// In its fields.
    Parts {
        /// The namespace.
        source: String,
        /// The identity inside it.
        external_id: String,
        /// The scope its events are accepted into; absent: the caller's own.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        scope: Option<String>,
    },
    /// `SOURCE#EXTERNAL-ID`, parted at the first `#`, or `SCOPE:SOURCE#EXTERNAL-ID`: what stands
    /// before the first `:` is a scope if the configuration has one of that name.
    Text(String),
}

/// When a Wait gives up; one of the two.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum WaitDeadline {
    /// So many milliseconds after the registration commits.
    TimeoutMs(u64),
    /// At this instant, in RFC 3339.
    Until(#[schemars(with = "String")] jiff::Timestamp),
}

/// The Wait is registered. The process must exit now: its token has no authority any more.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WaitAnswer {
    /// The Wait: `wait_…`.
    pub wait: String,
    /// The Event that woke it in the same commit, if any did. The process exits all the same.
    pub winner: Option<Seq>,
}

/// What an attempt was handed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct InputsAnswer {
    /// The attempt's number.
    pub attempt: AttemptNo,
    /// The Event that started it, as CloudEvents JSON.
    pub trigger: Option<Value>,
    /// What it was handed, in acceptance order: a page of it.
    pub inputs: Vec<Value>,
    /// Ask again with `after` set to this; absent at the end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<Seq>,
}

/// The lease is extended. LEASE-11
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BeatAnswer {
    /// When it now ends, in milliseconds of trusted time.
    pub expires_at: Millis,
}

/// What a process says came of its work; the content of `result.json`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ResultRequest {
    /// Whether it did what it was asked to.
    pub outcome: ResultOutcome,
    /// What it says of its result; never interpreted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<String>,
    /// What it leaves for the next attempt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub continuation: Option<String>,
    /// With `failed`: when to try again, as it was given: a duration like `90s` or `2h30m`, or an
    /// instant in RFC 3339. Anything else is a hint that nobody can read. RETRY-16
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_after: Option<String>,
}

/// The outcomes a process may declare.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ResultOutcome {
    /// Done.
    Completed,
    /// Done for now: the Work stays open for its next input. DONE-03
    Handoff,
    /// Not done.
    Failed,
}

/// An error as every door answers it (RFC 9457); unknown members are ignored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Problem {
    /// The HTTP status, repeated.
    pub status: u16,
    /// The name of the refusal.
    pub code: String,
    /// One line on what is so.
    pub title: String,
    /// What is so here, and the next step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_wait_is_written_in_the_words_of_the_interface() {
        let wait = json!({
            "keys": [{"source": "github:h/1", "external_id": "7"}, "github:h/1#8"],
            "types": ["ci.done"],
            "on": {"source": "github:h/2", "external_id": "9", "scope": "acme/api"},
            "after": 12,
            "timeout_ms": 5000,
        });
        let read: WaitRequest = serde_json::from_value(wait.clone()).expect("the words are known");
        assert_eq!(read.deadline, Some(WaitDeadline::TimeoutMs(5000)));
        assert_eq!(serde_json::to_value(read).expect("it is plain data"), wait);
    }

    #[test]
    fn an_unknown_word_is_refused() {
        let read = serde_json::from_value::<WaitRequest>(json!({"keys": ["8"], "timeout": 5}));
        assert!(read.is_err(), "a misspelt timeout must not become a wait without one");
    }

    #[test]
    fn a_wait_without_a_deadline_has_none() {
        let read: WaitRequest =
            serde_json::from_value(json!({"keys": ["8"]})).expect("the words are known");
        assert_eq!(read.deadline, None);
        assert_eq!(read.keys, [WaitKey::Text("8".into())]);
    }
}
