//! The request file: what a process finds at `ABIDE_REQUEST`. Its words are a contract with every
//! script, so they may be extended, not renamed.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::executor::RunRequest;
use crate::domain::{AttemptNo, AttemptStatus, Epoch, Generation, Seq, StartReason};

/// Everything a segment is asked to do. It holds no secret: the token has a file of its own.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RequestFile {
    /// Version of this file's words; `1`.
    pub version: u32,
    /// The Work: `work_…`.
    pub work: String,
    /// The attempt: `att_…`.
    pub attempt: String,
    /// The attempt's number.
    pub number: AttemptNo,
    /// The claim under which the segment was launched; an adopted one goes on under a later one.
    pub epoch: Epoch,
    /// Why the segment starts.
    pub reason: StartReason,
    /// The Event that started the attempt, as CloudEvents JSON.
    pub trigger: Option<Value>,
    /// The batch this segment was handed, in acceptance order; the first thousand of it. One that an
    /// earlier process of the Work was sent while it ran, and never said that it took in, has a member
    /// `repeated`: the `attempt` it was sent to, and the `status` of that. POLICY-16
    pub inputs: Vec<Value>,
    /// How many more there are: the tool door has them.
    #[serde(default, skip_serializing_if = "is_none")]
    pub inputs_left: u32,
    /// The attempt before this one: context, not input. OURS-24
    pub previous: Option<PreviousAttempt>,
    /// What the failed and interrupted attempts just before `previous` were handed, if that failed or
    /// was interrupted too, attempt by attempt; the first thousand of it. Context, not input: what the
    /// Work is still about. OURS-24
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub earlier: Vec<Value>,
    /// How many more there are: the tool door has them.
    #[serde(default, skip_serializing_if = "is_none")]
    pub earlier_left: u32,
    /// What the last result left for this attempt.
    pub continuation: Option<String>,
    /// The configuration the segment is pinned to.
    pub generation: Generation,
}

/// An ended attempt as its successor is shown it. OURS-24
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PreviousAttempt {
    /// Its number.
    pub number: AttemptNo,
    /// How it ended.
    pub status: AttemptStatus,
    /// The Event that interrupted it, if one did. CTRL-09
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interrupt_event: Option<Value>,
    /// The Event that started it.
    pub trigger: Option<Value>,
    /// Everything it was handed; the first thousand of it.
    pub inputs: Vec<Value>,
    /// How many more there are: the tool door has them.
    #[serde(default, skip_serializing_if = "is_none")]
    pub inputs_left: u32,
}

impl PreviousAttempt {
    /// Whether it came to no answer to what it was about, which is then still to be done.
    #[must_use]
    pub fn leaves_open(&self) -> bool {
        self.status == AttemptStatus::Failed || self.interrupt_event.is_some()
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands over references")]
const fn is_none(left: &u32) -> bool {
    *left == 0
}

impl From<&RunRequest> for RequestFile {
    fn from(request: &RunRequest) -> Self {
        Self {
            version: 1,
            work: request.work.to_string(),
            attempt: request.attempt.to_string(),
            number: request.number,
            epoch: request.epoch,
            reason: request.reason,
            trigger: request.trigger.clone(),
            inputs: request.inputs.clone(),
            inputs_left: request.inputs_left,
            previous: request.previous.clone(),
            earlier: request.earlier.clone(),
            earlier_left: request.earlier_left,
            continuation: request.continuation.clone(),
            generation: request.generation,
        }
    }
}

impl RequestFile {
    /// The highest sequence this segment was handed, its trigger included: what its execution has
    /// observed. `None` if no Event of it says its sequence. WAIT-12
    #[must_use]
    pub fn observed(&self) -> Option<Seq> {
        self.trigger.iter().chain(&self.inputs).filter_map(sequence).max().map(Seq)
    }
}

/// `abideseq` of an Event; text, as CloudEvents has no 64-bit integers.
fn sequence(event: &Value) -> Option<i64> {
    event.get("abideseq")?.as_str()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_watermark_is_the_highest_sequence_of_the_batch() {
        let file = RequestFile {
            version: 1,
            work: "work_0".into(),
            attempt: "att_0".into(),
            number: AttemptNo(1),
            epoch: Epoch(2),
            reason: StartReason::Resume,
            trigger: Some(json!({"abideseq": "4"})),
            inputs: vec![json!({"abideseq": "11"}), json!({"abideseq": "9"}), json!({"id": "x"})],
            inputs_left: 0,
            previous: None,
            earlier: vec![json!({"abideseq": "99"})],
            earlier_left: 0,
            continuation: None,
            generation: Generation(1),
        };
        assert_eq!(file.observed(), Some(Seq(11)));
    }
}
