//! A request that is performed once however often it is sent. OURS-23
//!
//! The key and the answer commit together with what was asked, so that no crash can part them.

use crate::command::{Command, Outcome};
use crate::domain::{Actor, Duration, Millis};
use crate::law;
use crate::store::idempotency::{self, Kept};
use crate::store::{Engine, StoreError, Tx};

/// How long an answer is given again.
pub const REMEMBERED: Duration = Duration::seconds(24 * 3600);

/// What a repeat is known by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Once {
    /// Who asks; the keys of another are others.
    pub principal: String,
    /// The request's `Idempotency-Key`.
    pub key: String,
    /// Hash of everything the request says: the same key with another one is refused.
    pub request: [u8; 32],
}

/// What a request under a key comes to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answered {
    /// It was performed now.
    Outcomes(Vec<Outcome>),
    /// It was performed before, and this is what it came to then.
    Again(Vec<Outcome>),
    /// The key was used for another request.
    Reused,
}

impl Once {
    /// What this request was answered before, if it was.
    ///
    /// # Errors
    /// The machine failed.
    pub fn recall(&self, tx: &mut dyn Tx, now: Millis) -> Result<Option<Answered>, StoreError> {
        let since = Millis(now.0.saturating_sub_unsigned(REMEMBERED.0));
        let found = idempotency::find(tx, &self.principal, &self.key, since)?;
        let Some(Kept { request, answer }) = found else { return Ok(None) };
        if request != self.request {
            return Ok(Some(Answered::Reused));
        }
        let outcomes = serde_json::from_str(&answer).map_err(|error| {
            StoreError::corrupt(format!("a kept answer cannot be read: {error}"))
        })?;
        Ok(Some(Answered::Again(outcomes)))
    }

    /// Performs commands unless the same was asked before. What asks to be sent again is not kept.
    pub(super) fn perform(
        &self,
        engine: &mut dyn Engine,
        now: Millis,
        commands: &[(Actor, Command)],
    ) -> Result<Answered, StoreError> {
        if let Some(answered) = self.recall(engine, now)? {
            return Ok(answered);
        }
        let outcomes = commands
            .iter()
            .map(|(actor, command)| law::apply(engine, now, actor, command))
            .collect::<Result<Vec<_>, _>>()?;
        if outcomes.iter().all(settles) {
            self.keep(engine, now, &outcomes)?;
        }
        Ok(Answered::Outcomes(outcomes))
    }

    fn keep(&self, tx: &mut dyn Tx, now: Millis, outcomes: &[Outcome]) -> Result<(), StoreError> {
        let answer = serde_json::to_string(outcomes).map_err(|error| {
            StoreError::corrupt(format!("an answer cannot be written: {error}"))
        })?;
        idempotency::forget(tx, Millis(now.0.saturating_sub_unsigned(REMEMBERED.0)))?;
        let kept = Kept { request: self.request.to_vec(), answer };
        idempotency::keep(tx, &self.principal, &self.key, &kept, now)
    }
}

const fn settles(outcome: &Outcome) -> bool {
    match outcome {
        Outcome::Accepted(_) | Outcome::Duplicate(_) | Outcome::Refused(_) => true,
        Outcome::Deferred(_) | Outcome::Conflict => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::Clock;
    use crate::command::Receipt;
    use crate::domain::Generation;
    use crate::writer::{Writer, WriterOptions};

    fn reload(text: &str) -> Vec<(Actor, Command)> {
        let command = Command::Reload { digest: text.to_owned(), body: text.to_owned() };
        vec![(Actor::Principal("ops".to_owned()), command)]
    }

    fn once(request: u8) -> Once {
        Once { principal: "ops".to_owned(), key: "k".to_owned(), request: [request; 32] }
    }

    fn current(generation: i64) -> Vec<Outcome> {
        let generation = Generation(generation);
        vec![Outcome::Accepted(Receipt::Reloaded { generation })]
    }

    /// OURS-23
    #[tokio::test]
    async fn an_answer_is_as_durable_as_what_it_answers() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let file = folder.path().join("abide.db");
        let open = || Writer::open(&file, Clock::system(), WriterOptions::default());
        let writer = open().expect("it opens");
        let first = writer.apply_once(once(1), reload("a")).await;
        assert_eq!(first, Ok(Answered::Outcomes(current(1))));
        writer.shutdown().await;
        let writer = open().expect("it opens again");
        let again = writer.apply_once(once(1), reload("b")).await;
        let kept = Ok(Answered::Again(current(1)));
        assert_eq!(again, kept, "the commands are not even looked at");
        assert_eq!(writer.apply_once(once(2), reload("b")).await, Ok(Answered::Reused));
        let other = Once { principal: "eyes".to_owned(), ..once(2) };
        let performed = writer.apply_once(other, reload("b")).await;
        assert_eq!(performed, Ok(Answered::Outcomes(current(2))));
    }
}
