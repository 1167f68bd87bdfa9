//! Routes accepted events: in order for one Work, side by side for independent ones. ROUTE-20
//!
//! Events that may belong to one Work (the same target, or the same key) form a line, and one
//! event of a line is evaluated at a time. That is only to save work: the law itself refuses a
//! commit out of turn, so that two lines that turn out to be one Work's are still kept in order.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinSet;
use tokio::time::Instant;

use super::evaluation::{self, Lacking, Routed};
use crate::domain::{Key, Seq, WorkId};
use crate::host::Bell;
use crate::host::Context;
use crate::store::{StoreError, marks, reads};

pub(super) const NAME: &str = "router";

/// Events evaluated at once. Each waits for a commit most of its time.
const AT_ONCE: usize = 32;

/// Events read in one look.
const LIMIT: u32 = 1024;

/// Paused lines whose first event is looked at in one look.
const PAUSED: usize = 256;

/// Pause before an event is tried again whose route could not be evaluated; it doubles up to the
/// longest.
const AGAIN: Duration = Duration::from_secs(1);
const AGAIN_MAX: Duration = Duration::from_secs(60);

/// Pause before an event is tried again that another line was in the way of; it doubles up to the
/// longest, because that line may be stuck.
const TURN: Duration = Duration::from_millis(20);
const TURN_MAX: Duration = Duration::from_secs(2);

/// What events have in common that may belong to one Work.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum Line {
    /// They name it.
    Target(WorkId),
    /// It owns, or will own, their key.
    Key(Key),
    /// Nothing: each is alone.
    Alone(Seq),
}

/// What the router has in memory; all of it can be read again.
#[derive(Debug, Default)]
struct Lines {
    /// The last event that was put into a line.
    read: Seq,
    waiting: HashMap<Line, VecDeque<Seq>>,
    /// Lines whose first event may be evaluated.
    ready: VecDeque<Line>,
    /// Lines that are tried again at their time.
    later: HashMap<Line, Instant>,
    /// How long a line waits should it fail once more.
    pauses: HashMap<Line, Duration>,
    /// What the first events of some of them wait for. POLICY-32
    lacking: HashMap<Line, Lacking>,
}

pub(super) async fn run(context: Arc<Context>) {
    let mut lines = Lines::default();
    let mut tasks = JoinSet::new();
    let mut bell = context.bell();
    loop {
        context.health.looks(NAME);
        bell.hears();
        if context.can_commit() {
            if let Err(error) = read_on(&context, &mut lines).await {
                look_failed(&error, "unrouted events cannot be read");
            }
            lines.wake_due(Instant::now());
            if let Err(error) = lines.wake_moved(&context).await {
                look_failed(&error, "paused events cannot be read");
            }
            while tasks.len() < AT_ONCE {
                let Some((line, seq)) = lines.take() else { break };
                let context = Arc::clone(&context);
                tasks.spawn(async move { (line, seq, evaluate(context, seq).await) });
            }
        }
        if !settle(&context, &mut lines, &mut tasks, &mut bell).await {
            return;
        }
    }
}

/// Of a damaged file the daemon speaks once, when it stops.
fn look_failed(error: &StoreError, what: &str) {
    if !error.is_damage() {
        tracing::warn!(r#loop = NAME, %error, "{what}");
    }
}

type Done = (Line, Seq, Routed);

/// An evaluation that breaks fails its own event and no other.
async fn evaluate(context: Arc<Context>, seq: Seq) -> Routed {
    let route = tokio::spawn(async move { evaluation::route(&context, seq).await });
    route.await.unwrap_or_else(|error| Routed::Failed(format!("its evaluation broke: {error}")))
}

/// Waits until an evaluation has ended or something was committed; `false` once the daemon stops.
async fn settle(
    context: &Context,
    lines: &mut Lines,
    tasks: &mut JoinSet<Done>,
    bell: &mut Bell,
) -> bool {
    let due = lines.later.values().min().copied();
    tokio::select! {
        Some(Ok(done)) = tasks.join_next() => lines.note(context, done),
        goes_on = bell.rings_by(due) => return goes_on,
    }
    while let Some(Ok(done)) = tasks.try_join_next() {
        lines.note(context, done);
    }
    !context.stopping()
}

/// Puts newly accepted events into their lines.
async fn read_on(context: &Context, lines: &mut Lines) -> Result<(), StoreError> {
    loop {
        let after = lines.read;
        let page = context
            .read(move |tx| {
                let page = reads::unrouted(tx, after, LIMIT)?;
                Ok(page.into_iter().map(|seq| (seq, evaluation::line(tx, seq))).collect())
            })
            .await;
        let page: Vec<(Seq, Result<Line, StoreError>)> = page?;
        let full = page.len() >= LIMIT as usize;
        for (seq, line) in page {
            // What cannot be read stands in nobody's way here: the law keeps the order.
            let line = line.unwrap_or_else(|error| {
                context.troubles.event(seq, error.to_string());
                Line::Alone(seq)
            });
            lines.add(line, seq);
        }
        if !full {
            return Ok(());
        }
    }
}

impl Lines {
    fn add(&mut self, line: Line, seq: Seq) {
        self.read = self.read.max(seq);
        let waiting = self.waiting.entry(line.clone()).or_default();
        waiting.push_back(seq);
        // Any other line is busy, waits for its time or is ready already.
        if waiting.len() == 1 {
            self.ready.push_back(line);
        }
    }

    /// The next event to evaluate. It stays first in its line until that has ended, so that none
    /// behind it is taken.
    fn take(&mut self) -> Option<(Line, Seq)> {
        let line = self.ready.pop_front()?;
        let seq = *self.waiting.get(&line)?.front()?;
        Some((line, seq))
    }

    fn wake_due(&mut self, now: Instant) {
        let due = self.later.extract_if(|_, at| *at <= now);
        self.ready.extend(due.map(|(line, _)| line));
    }

    /// Goes on with lines whose first event somebody else has marked, as an operator who dropped it
    /// or a wake, and with those that have got what they lacked. OURS-07 POLICY-32
    async fn wake_moved(&mut self, context: &Context) -> Result<(), StoreError> {
        let first = |line: &Line| {
            let seq = *self.waiting.get(line)?.front()?;
            Some((line.clone(), seq, self.lacking.get(line).copied()))
        };
        let paused: Vec<_> = self.later.keys().filter_map(first).take(PAUSED).collect();
        if paused.is_empty() {
            return Ok(());
        }
        let current = context.current().generation;
        let moved = context.read(move |tx| {
            let mut moved = Vec::new();
            for (line, seq, lacking) in paused {
                let got = match lacking {
                    Some(lacking) => lacking.is_over(tx, current)?,
                    None => false,
                };
                if got || marks::get(tx, seq)?.is_some() {
                    moved.push(line);
                }
            }
            Ok(moved)
        });
        for line in moved.await? {
            self.later.remove(&line);
            self.ready.push_back(line);
        }
        Ok(())
    }

    /// Goes on with a line whose evaluation has ended.
    fn note(&mut self, context: &Context, (line, seq, routed): Done) {
        self.lacking.remove(&line);
        match routed {
            Routed::Done => {
                context.troubles.clear_event(seq);
                self.pauses.remove(&line);
                self.advance(line);
            }
            Routed::OutOfTurn => self.pause(line, TURN, TURN_MAX),
            Routed::Failed(why) => {
                if !context.is_damaged() {
                    tracing::warn!(event = %seq, why, "an event could not be routed; it is tried again");
                }
                context.troubles.event(seq, why);
                self.pause(line, AGAIN, AGAIN_MAX);
            }
            Routed::Unsupported(why, lacking) => {
                tracing::debug!(event = %seq, why, "an event waits for its work's attempt to end");
                context.troubles.event(seq, why);
                self.lacking.insert(line.clone(), lacking);
                self.pause(line, AGAIN, AGAIN_MAX);
            }
            Routed::Stranded(why) => {
                tracing::warn!(event = %seq, why, "an event could not be routed; it holds up no other");
                context.troubles.event(seq, why);
                self.step_aside(line, seq);
            }
        }
    }

    /// Tries the first of a line again, each time later.
    fn pause(&mut self, line: Line, first: Duration, longest: Duration) {
        let pause = self.pauses.get(&line).copied().unwrap_or(first).clamp(first, longest);
        self.pauses.insert(line.clone(), (pause * 2).min(longest));
        self.later.insert(line, Instant::now() + pause);
    }

    /// Gives an event a line of its own, so that none waits behind it. OWN-12
    fn step_aside(&mut self, line: Line, seq: Seq) {
        let alone = Line::Alone(seq);
        if line != alone {
            self.pauses.remove(&line);
            self.advance(line);
            self.waiting.insert(alone.clone(), VecDeque::from([seq]));
        }
        self.pause(alone, AGAIN, AGAIN_MAX);
    }

    fn advance(&mut self, line: Line) {
        if let Entry::Occupied(mut waiting) = self.waiting.entry(line.clone()) {
            waiting.get_mut().pop_front();
            if waiting.get().is_empty() {
                waiting.remove();
            } else {
                self.ready.push_back(line);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::Command;
    use crate::daemon::tests::{Bench, CONFIGURATION};

    /// E13
    #[test]
    fn what_always_fails_is_tried_again_at_growing_and_bounded_pauses() {
        let mut lines = Lines::default();
        let line = Line::Alone(Seq(7));
        lines.add(line.clone(), Seq(7));
        let mut pauses = Vec::new();
        for _ in 0..9 {
            assert_eq!(lines.take(), Some((line.clone(), Seq(7))));
            let now = Instant::now();
            lines.pause(line.clone(), AGAIN, AGAIN_MAX);
            let due = lines.later[&line];
            pauses.push((due - now).as_secs());
            lines.wake_due(now);
            assert_eq!(lines.take(), None, "it is not due yet");
            lines.wake_due(due);
        }
        assert_eq!(pauses, [1, 2, 4, 8, 16, 32, 60, 60, 60]);
    }

    /// Reading B19: not the next second, but the commit that may have changed it.
    #[tokio::test]
    async fn what_an_attempt_lacks_is_asked_again_once_that_may_have_changed() {
        let bench = Bench::new().await;
        let by = bench.pinned("k", "b").await;
        let seq = bench.event("t.a", "k", "{}").await;
        let context = &bench.context;
        let proposal = crate::evaluation::propose(context, seq).await;
        let proposal = proposal.expect("it is decided").expect("it is unrouted");
        let lacking = evaluation::lacking(&proposal).expect("it has a work");
        let (mut lines, line) = (Lines::default(), Line::Alone(seq));
        lines.add(line.clone(), seq);
        let asked = async |lines: &mut Lines| {
            lines.wake_moved(context).await.expect("it reads");
            let taken = lines.take();
            if let Some((line, seq)) = taken.clone() {
                lines.note(context, (line, seq, Routed::Unsupported(String::new(), lacking)));
            }
            taken.is_some()
        };
        assert!(asked(&mut lines).await, "the first time");
        assert!(!asked(&mut lines).await, "nothing has changed");
        bench.event("t.a", "k", "{}").await;
        assert!(!asked(&mut lines).await, "nothing that matters");
        let ending = crate::domain::Ending::Handoff { close_after: None };
        let (proofs, usage) = (Vec::new(), None);
        bench.commit(Command::Complete { by, ending, status: None, proofs, usage }).await;
        assert!(asked(&mut lines).await, "its attempt is over");
    }

    /// Reading B19
    #[tokio::test]
    async fn what_an_attempt_lacks_is_asked_again_under_another_configuration() {
        let bench = Bench::new().await;
        bench.pinned("k", "b").await;
        let seq = bench.event("t.a", "k", "{}").await;
        let proposal = crate::evaluation::propose(&bench.context, seq).await;
        let proposal = proposal.expect("it is decided").expect("it is unrouted");
        let lacking = evaluation::lacking(&proposal).expect("it has a work");
        let (mut lines, line) = (Lines::default(), Line::Alone(seq));
        lines.add(line.clone(), seq);
        assert_eq!(lines.take(), Some((line.clone(), seq)));
        let unsupported = Routed::Unsupported(String::new(), lacking);
        lines.note(&bench.context, (line.clone(), seq, unsupported));
        lines.wake_moved(&bench.context).await.expect("it reads");
        assert_eq!(lines.take(), None, "nothing has changed");
        bench.reload(&CONFIGURATION.replace("capacity = 2", "capacity = 3")).await;
        lines.wake_moved(&bench.context).await.expect("it reads");
        assert_eq!(lines.take(), Some((line, seq)));
    }
}
