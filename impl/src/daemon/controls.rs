//! Carries out what is recorded for a running attempt, as whoever holds it: Dispatch is committed,
//! then the executor called, then its answer committed. POLICY-12 INJECT-21
//!
//! Injects of an attempt go one after the other in acceptance order, interrupts beside them, and
//! attempts beside one another: an executor that hangs holds up no other segment, and no interrupt.
//! All of it is part of the task that runs the segment. It stops where that loses its lease, and a
//! call that is cut off there is ambiguous: whoever holds the attempt next makes it again. POLICY-17

use std::convert::Infallible;
use std::time::Duration;

use tokio::sync::{Notify, watch};
use tokio::time::{sleep, timeout};

use super::lease::Lost;
use super::segments::Held;
use crate::command::{Command, Outcome, Receipt, Refusal};
use crate::domain::{IntentKind, IntentStatus, SendAnswer, Seq};
use crate::extension::executor::{InjectError, Injection, Metadata};
use crate::points::Point;
use crate::store::reads::{self, ToSend};
use crate::store::words::Word as _;
use crate::store::{StoreError, Tx};

/// Pause before what could not be read is read again.
const AGAIN: Duration = Duration::from_secs(1);

/// How often a send is tried before it counts as failed, where an error fallback stands in for it.
const TRIES: u32 = 3;

/// The most of an answer that is recorded, in characters.
const DETAIL_MAX: usize = 500;

/// Carries out the controls of one segment.
#[derive(Debug)]
pub(super) struct Controls<'a> {
    held: &'a Held,
    metadata: &'a Metadata,
    /// The segment proceeds: there is a process to inject into.
    proceeds: Notify,
    /// An interrupt is being told: what it may have stopped is not reported before that is answered.
    telling: watch::Sender<bool>,
}

/// What came of one send.
#[derive(Debug)]
enum Sent {
    /// Its answer is committed.
    Settled(Outcome),
    /// Nobody can tell; it is made again.
    Ambiguous(String),
    /// It is not to be sent any more.
    Over,
}

/// What an executor said, or did not say.
#[derive(Debug, PartialEq, Eq)]
enum Answer {
    Accepted,
    NotAccepting(String),
    Unknown(String),
}

impl<'a> Controls<'a> {
    pub(super) fn new(held: &'a Held, metadata: &'a Metadata) -> Self {
        let telling = watch::Sender::new(false);
        Self { held, metadata, proceeds: Notify::new(), telling }
    }

    /// The segment was let proceed.
    pub(super) fn begin(&self) {
        self.proceeds.notify_one();
    }

    /// Resolves while no interrupt is being told.
    pub(super) async fn told(&self) {
        // The sender is part of what is waited on.
        drop(self.telling.subscribe().wait_for(|telling| !telling).await);
    }

    /// Injects as long as it is let to.
    pub(super) async fn injects(&self) -> Result<Infallible, Lost> {
        self.proceeds.notified().await;
        loop {
            // What an inject settles ends nothing.
            self.next(IntentKind::Inject).await?;
        }
    }

    /// Interrupts until that has fenced the attempt.
    pub(super) async fn interrupts(&self) -> Result<Outcome, Lost> {
        loop {
            let settled = self.next(IntentKind::Interrupt).await?;
            if fenced(&settled) {
                return Ok(settled);
            }
            self.heard(IntentKind::Interrupt);
        }
    }

    /// Waits for the next intent of a kind and sends it until its answer is settled.
    async fn next(&self, kind: IntentKind) -> Result<Outcome, Lost> {
        let mut knocks = self.held.knocks.clone();
        let mut tries = Tries::new(self.held);
        loop {
            let Some(open) = self.look(kind).await else {
                tries.forget();
                wait(self.held, &mut knocks).await;
                continue;
            };
            let n = tries.begin(open.event);
            match self.send(kind, open, n).await? {
                Sent::Settled(outcome) => {
                    tries.forget();
                    return Ok(outcome);
                }
                Sent::Ambiguous(why) => {
                    self.heard(kind);
                    sleep(tries.again(&why)).await;
                }
                Sent::Over => {
                    self.heard(kind);
                    wait(self.held, &mut knocks).await;
                }
            }
        }
    }

    /// The next intent of a kind; no inject while there is an interrupt.
    async fn look(&self, kind: IntentKind) -> Option<ToSend> {
        first(self.held).await.filter(|open| open.kind == kind)
    }

    /// No interrupt is being told: an end of the segment may be reported.
    fn heard(&self, kind: IntentKind) {
        match kind {
            IntentKind::Interrupt => drop(self.telling.send_replace(false)),
            IntentKind::Inject => {}
        }
    }

    /// Sends an intent for the `n`th time.
    async fn send(&self, kind: IntentKind, open: ToSend, n: u32) -> Result<Sent, Lost> {
        let Held { context, lease, uid: work, .. } = self.held;
        let event = open.event;
        let mut injection = match self.injection(&open).await {
            Ok(injection) => injection,
            Err(error) => return Ok(Sent::Ambiguous(error.to_string())),
        };
        // This host dispatched it, and it still is: its attempt has neither parked nor ended.
        let dispatched = n > 1 && open.status == IntentStatus::Dispatched;
        let repeated = if dispatched && !goes_on_record(n) {
            true
        } else {
            match lease.perform(Command::Dispatch { by: lease.by(), event }).await {
                Outcome::Accepted(_) => false,
                Outcome::Duplicate(_) => true,
                refused @ (Outcome::Deferred(_) | Outcome::Conflict | Outcome::Refused(_)) => {
                    return over(&refused);
                }
            }
        };
        if let Some(injection) = &mut injection {
            injection.repeated = repeated;
        }
        let answer = self.call(injection.as_ref()).await;
        context.points.pass(Point::Answered(kind.word()));
        tracing::debug!(%work, %event, kind = kind.word(), repeated, ?answer, "sent");
        let (answer, detail) = match answer {
            Answer::Accepted => (SendAnswer::Accepted, String::new()),
            Answer::NotAccepting(detail) => (SendAnswer::NotAccepting, detail),
            Answer::Unknown(why) => {
                let commits = match open.on_error {
                    Some(_) => n >= TRIES,
                    // Without an error fallback it only goes on record. POLICY-33
                    None => goes_on_record(n),
                };
                if !commits {
                    return Ok(Sent::Ambiguous(why));
                }
                (SendAnswer::Failed, why)
            }
        };
        settle(self.held, event, answer, &detail).await
    }

    /// What an inject offers; an interrupt offers nothing.
    async fn injection(&self, open: &ToSend) -> Result<Option<Injection>, StoreError> {
        let ToSend { event, uid, kind, .. } = *open;
        match kind {
            IntentKind::Interrupt => Ok(None),
            IntentKind::Inject => {
                let work = self.held.uid;
                let read = move |tx: &mut dyn Tx| crate::host::injection(tx, event, &work);
                let body = self.held.context.read(read).await?;
                Ok(Some(Injection { event: uid, body, repeated: false }))
            }
        }
    }

    /// Calls the executor: an inject, or else an interrupt.
    async fn call(&self, injection: Option<&Injection>) -> Answer {
        let executor = &self.held.pinned.executor;
        let call = async {
            match injection {
                Some(injection) => match executor.inject(self.metadata, injection).await {
                    Ok(()) => Answer::Accepted,
                    Err(InjectError::NotAccepting { detail }) => Answer::NotAccepting(detail),
                    Err(InjectError::Ambiguous { detail }) => Answer::Unknown(detail),
                },
                None => {
                    self.telling.send_replace(true);
                    match executor.interrupt(self.metadata).await {
                        Ok(()) => Answer::Accepted,
                        Err(error) => Answer::Unknown(error.to_string()),
                    }
                }
            }
        };
        let answer = timeout(self.held.context.patience.control, call).await;
        answer.unwrap_or_else(|_| Answer::Unknown("no answer in time".to_owned()))
    }
}

/// Fences an attempt whose process is seen to have ended, if an interrupt is recorded for it: there is
/// nobody left to tell. So can be ended what could only complete its Work and may not. DONE-02
pub(super) async fn interrupt_ended(held: &Held) -> Result<Option<Outcome>, Lost> {
    let by = held.lease.by();
    let Some(ToSend { event, .. }) = interrupt_of(held).await else { return Ok(None) };
    match held.lease.perform(Command::Dispatch { by, event }).await {
        Outcome::Accepted(_) | Outcome::Duplicate(_) => {}
        refused @ (Outcome::Deferred(_) | Outcome::Conflict | Outcome::Refused(_)) => {
            return over(&refused).map(|_| None);
        }
    }
    fence(held, event).await
}

/// Fences an attempt whose process ended without a result after an interrupt was told, by this host or
/// an earlier one, and nobody knows what came of that: it may be what ended it. CTRL-09
pub(super) async fn interrupt_told(held: &Held) -> Result<Option<Outcome>, Lost> {
    let told = |open: &ToSend| open.status == IntentStatus::Dispatched;
    match interrupt_of(held).await.filter(told) {
        Some(ToSend { event, .. }) => fence(held, event).await,
        None => Ok(None),
    }
}

/// Settles a dispatched interrupt of what has ended.
async fn fence(held: &Held, event: Seq) -> Result<Option<Outcome>, Lost> {
    match settle(held, event, SendAnswer::Accepted, "its process had ended").await? {
        Sent::Settled(outcome) => Ok(fenced(&outcome).then_some(outcome)),
        Sent::Ambiguous(_) | Sent::Over => Ok(None),
    }
}

/// The open interrupt of what is held.
pub(super) async fn interrupt_of(held: &Held) -> Option<ToSend> {
    first(held).await.filter(|open| open.kind == IntentKind::Interrupt)
}

/// What is to be sent first. The store may be out of reach for a moment.
async fn first(held: &Held) -> Option<ToSend> {
    let work = held.lease.by().work;
    loop {
        match held.context.read(move |tx| reads::to_send(tx, work, 1)).await {
            Ok(mut open) => return open.pop(),
            Err(error) => {
                tracing::warn!(work = %held.uid, %error, "cannot read what is to be sent");
                sleep(AGAIN).await;
            }
        }
    }
}

async fn settle(held: &Held, event: Seq, answer: SendAnswer, detail: &str) -> Result<Sent, Lost> {
    let (by, said) = (held.lease.by(), recorded(detail));
    let command = Command::SettleDispatch { by, event, answer, detail: said };
    match held.lease.perform(command).await {
        Outcome::Accepted(Receipt::Intent { status: IntentStatus::Dispatched, .. }) => {
            Ok(Sent::Ambiguous(detail.to_owned()))
        }
        settled @ (Outcome::Accepted(_) | Outcome::Duplicate(_)) => Ok(Sent::Settled(settled)),
        refused @ (Outcome::Deferred(_) | Outcome::Conflict | Outcome::Refused(_)) => {
            over(&refused)
        }
    }
}

/// What a refused step under authority means for a send.
fn over(refused: &Outcome) -> Result<Sent, Lost> {
    match refused {
        Outcome::Refused(Refusal::StaleAuthority | Refusal::LeaseExpired) => Err(Lost),
        Outcome::Accepted(_)
        | Outcome::Duplicate(_)
        | Outcome::Deferred(_)
        | Outcome::Conflict
        | Outcome::Refused(_) => {
            tracing::debug!(?refused, "an intent is not to be sent any more");
            Ok(Sent::Over)
        }
    }
}

/// Whether what was settled ended the attempt. POLICY-20
fn fenced(settled: &Outcome) -> bool {
    matches!(settled, Outcome::Accepted(Receipt::Intent { status: IntentStatus::Fenced, .. }))
}

/// Until somebody knocks, or for as long as nobody does.
async fn wait(held: &Held, knocks: &mut watch::Receiver<()>) {
    tokio::select! {
        // Nobody can knock any more once the segment is given back, which ends this too.
        Ok(()) = knocks.changed() => {}
        () = sleep(held.context.patience.sweep) => {}
    }
}

/// Whether the `n`th send of an intent that nobody knows the end of is noted: ever more seldom, since
/// there is no last one.
const fn goes_on_record(n: u32) -> bool {
    n.is_power_of_two()
}

/// What an executor said, as people may be shown it.
fn recorded(detail: &str) -> String {
    detail.chars().filter(|c| !c.is_control()).take(DETAIL_MAX).collect()
}

/// Sends of one intent by this host. Another host counts anew: it may be better placed.
#[derive(Debug)]
struct Tries<'a> {
    held: &'a Held,
    event: Seq,
    made: u32,
    /// What is shown of the last one.
    said: Option<String>,
}

impl<'a> Tries<'a> {
    const fn new(held: &'a Held) -> Self {
        Self { held, event: Seq(0), made: 0, said: None }
    }

    /// Counts a send that is about to be made.
    fn begin(&mut self, event: Seq) -> u32 {
        if self.event != event {
            self.forget();
            self.event = event;
        }
        self.made = self.made.saturating_add(1);
        self.made
    }

    /// Shows why the last one is made again, and says after how long.
    fn again(&mut self, why: &str) -> Duration {
        let (held, event, n) = (self.held, self.event, self.made);
        tracing::warn!(work = %held.uid, %event, n, why, "nobody can tell whether it was sent");
        let why = format!("event {event} is sent to its process again: {}", recorded(why));
        held.context.troubles.work(held.lease.by().work, why.clone());
        self.said = Some(why);
        held.context.patience.pause(n)
    }

    /// What was said is over.
    fn forget(&mut self) {
        (self.event, self.made) = (Seq(0), 0);
        if let Some(said) = self.said.take() {
            self.held.context.troubles.clear_work_of(self.held.lease.by().work, &said);
        }
    }
}

/// What is sent no more is no trouble, whatever put an end to it.
impl Drop for Tries<'_> {
    fn drop(&mut self) {
        self.forget();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_an_executor_said_is_kept_short_and_plain() {
        assert_eq!(recorded("it\u{1b}[2J went\n"), "it[2J went");
        assert_eq!(recorded(&"x".repeat(9999)).len(), DETAIL_MAX);
    }
}
