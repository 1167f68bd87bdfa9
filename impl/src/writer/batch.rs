//! Batches: what the writer's thread does between taking requests and answering them.

use std::thread;

use tokio::sync::{mpsc, oneshot, watch};

use crate::clock::Clock;
use crate::command::{Command, Outcome};
use crate::domain::{Actor, Millis};
use crate::law;
use crate::points::{Point, Points};
use crate::store::{Engine, StoreError, journal, meta};

use super::{Answered, Once, WriteError, WriterOptions, WriterState};

/// A request, and where its answer goes.
#[derive(Debug)]
pub(super) enum Ask {
    /// Consecutive commands of one transaction.
    Commands {
        commands: Vec<(Actor, Command)>,
        answer: oneshot::Sender<Result<Vec<Outcome>, WriteError>>,
    },
    /// The same, once however often it is sent. OURS-23
    Once {
        once: Once,
        commands: Vec<(Actor, Command)>,
        answer: oneshot::Sender<Result<Answered, WriteError>>,
    },
    /// A commit of nothing but time.
    Probe { answer: oneshot::Sender<Result<(), WriteError>> },
    /// The last request.
    Stop,
}

/// What a request will be answered once its batch is durable.
#[derive(Debug)]
enum Done {
    Outcomes(Vec<Outcome>),
    Once(Answered),
    Nothing,
}

/// Where a batch failed, which decides what may be tried again.
#[derive(Debug)]
enum Failed {
    /// Nothing ran, or nothing will: the error is everybody's.
    Whole(StoreError),
    /// One request failed, or storage did while one ran.
    Midway(StoreError),
}

/// The writer's thread.
pub(super) struct Serve {
    pub(super) options: WriterOptions,
    pub(super) clock: Clock,
    pub(super) committed: watch::Sender<i64>,
    pub(super) state: watch::Sender<WriterState>,
}

impl Serve {
    /// Serves until the queue ends; `changed` hears how many rows were changed so far.
    pub(super) fn run(
        &self,
        engine: &mut dyn Engine,
        mut asks: mpsc::Receiver<Ask>,
        changed: &mut dyn FnMut(u64),
    ) {
        let mut last = 0;
        while let Some(first) = asks.blocking_recv() {
            let mut batch = vec![first];
            self.drain(&mut asks, &mut batch);
            // Gathering costs a lone caller latency and pays only where others are about to come.
            if last > 1 && batch.len() < self.options.batch {
                thread::sleep(self.options.gather);
                self.drain(&mut asks, &mut batch);
            }
            last = batch.len();
            if batch.iter().any(|ask| matches!(ask, Ask::Stop)) {
                asks.close();
            }
            self.serve(engine, batch);
            changed(engine.changed());
        }
    }

    fn drain(&self, asks: &mut mpsc::Receiver<Ask>, batch: &mut Vec<Ask>) {
        while batch.len() < self.options.batch {
            match asks.try_recv() {
                Ok(ask) => batch.push(ask),
                Err(_) => return,
            }
        }
    }

    /// Commits a batch and answers it.
    pub(super) fn serve(&self, engine: &mut dyn Engine, mut batch: Vec<Ask>) {
        match self.commit(engine, &batch) {
            Ok(done) => answer_all(batch, done),
            Err(Failed::Midway(error)) if batch.len() > 1 && !error.is_storage() => {
                tracing::warn!(%error, requests = batch.len(), "a batch failed: one at a time");
                for ask in batch.drain(..) {
                    let alone = [ask];
                    match self.commit(engine, &alone) {
                        Ok(done) => answer_all(alone.into(), done),
                        Err(Failed::Whole(error) | Failed::Midway(error)) => {
                            refuse_all(alone.into(), &error);
                        }
                    }
                }
            }
            Err(Failed::Whole(error) | Failed::Midway(error)) => refuse_all(batch, &error),
        }
    }

    /// Runs a batch in one transaction; on any failure nothing of it is true.
    fn commit(&self, engine: &mut dyn Engine, batch: &[Ask]) -> Result<Vec<Done>, Failed> {
        let now = self.clock.now();
        match transaction(engine, now, batch, self.options.points) {
            Ok((done, last)) => {
                self.report(WriterState::Running);
                self.committed.send_if_modified(|n| std::mem::replace(n, last) != last);
                Ok(done)
            }
            Err(failed) => {
                let (Failed::Whole(error) | Failed::Midway(error)) = &failed;
                let whole = matches!(failed, Failed::Whole(_));
                if whole || error.is_storage() {
                    // Of a damaged file the daemon speaks once, when it stops.
                    if !error.is_damage() {
                        tracing::error!(%error, "the writer cannot commit");
                    }
                    self.report(WriterState::Failed(error.clone()));
                }
                if let Err(error) = engine.rollback() {
                    tracing::error!(%error, "a failed transaction could not be rolled back");
                    self.report(WriterState::Failed(error));
                }
                Err(failed)
            }
        }
    }

    fn report(&self, state: WriterState) {
        self.state.send_if_modified(|current| {
            let changed = *current != state;
            *current = state;
            changed
        });
    }
}

fn transaction(
    engine: &mut dyn Engine,
    now: Millis,
    batch: &[Ask],
    points: Points,
) -> Result<(Vec<Done>, i64), Failed> {
    engine.begin().map_err(Failed::Whole)?;
    let done = batch
        .iter()
        .map(|ask| perform(engine, now, ask))
        .collect::<Result<Vec<_>, _>>()
        .map_err(Failed::Midway)?;
    meta::raise_time_mark(engine, now).map_err(Failed::Midway)?;
    let last = journal::seal(engine).map_err(Failed::Midway)?;
    pass_each(points, batch, &done, Point::Committing);
    engine.commit().map_err(Failed::Whole)?;
    pass_each(points, batch, &done, Point::Committed);
    Ok((done, last))
}

/// One point for each command that changes something.
fn pass_each(points: Points, batch: &[Ask], done: &[Done], at: fn(&'static str) -> Point) {
    for (ask, done) in batch.iter().zip(done) {
        let (Ask::Commands { commands, .. } | Ask::Once { commands, .. }) = ask else { continue };
        let (Done::Outcomes(outcomes) | Done::Once(Answered::Outcomes(outcomes))) = done else {
            continue;
        };
        for ((_, command), outcome) in commands.iter().zip(outcomes) {
            if matches!(outcome, Outcome::Accepted(_)) {
                points.pass(at(command.name()));
            }
        }
    }
}

fn perform(engine: &mut dyn Engine, now: Millis, ask: &Ask) -> Result<Done, StoreError> {
    match ask {
        Ask::Commands { commands, answer: _ } => commands
            .iter()
            .map(|(actor, command)| law::apply(engine, now, actor, command))
            .collect::<Result<_, _>>()
            .map(Done::Outcomes),
        Ask::Once { once, commands, answer: _ } => {
            once.perform(engine, now, commands).map(Done::Once)
        }
        Ask::Probe { answer: _ } | Ask::Stop => Ok(Done::Nothing),
    }
}

// A caller that has gone away does not want its answer; that is no fault.

fn answer_all(batch: Vec<Ask>, done: Vec<Done>) {
    for (ask, done) in batch.into_iter().zip(done) {
        match (ask, done) {
            (Ask::Commands { answer, .. }, Done::Outcomes(outcomes)) => {
                let _ = answer.send(Ok(outcomes));
            }
            (Ask::Once { answer, .. }, Done::Once(answered)) => {
                let _ = answer.send(Ok(answered));
            }
            (Ask::Probe { answer }, Done::Nothing) => {
                let _ = answer.send(Ok(()));
            }
            // `perform` pairs them; a dropped answer tells its caller that the writer is closed.
            (Ask::Stop | Ask::Once { .. } | Ask::Commands { .. } | Ask::Probe { .. }, _) => {}
        }
    }
}

fn refuse_all(batch: Vec<Ask>, error: &StoreError) {
    for ask in batch {
        let error = WriteError::from(error.clone());
        match ask {
            Ask::Commands { answer, .. } => {
                let _ = answer.send(Err(error));
            }
            Ask::Once { answer, .. } => {
                let _ = answer.send(Err(error));
            }
            Ask::Probe { answer } => {
                let _ = answer.send(Err(error));
            }
            Ask::Stop => {}
        }
    }
}

#[cfg(test)]
mod tests;
