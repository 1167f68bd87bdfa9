//! What becomes of events: routes, drops and the configuration they are decided under.

use abide_model::action::Commit;
use abide_model::index::EventIx;
use abide_model::outcome::RouteMark;
use abide_model::state::{Fallback, Proposal};
use serde_json::json;

use super::super::answer::Answer;
use super::super::args::{CommitRoute, Decision};
use super::super::facts::{Born, Event, KeyNo};
use super::super::stage::{Decides, DoesWhat, Stage, Steers};
use super::{Judge, Made, Skip, Trial};

impl Judge {
    pub(super) fn commit_route(
        &mut self,
        now: i64,
        route: &CommitRoute,
        said: &Answer,
    ) -> Result<Trial, Skip> {
        let seq = route.event;
        let Some(event) = self.ledger.event(seq).copied() else {
            return self.unknown_event(now, |event| Commit::CommitRoute { event });
        };
        self.is_known(&event)?;
        if event.mark != RouteMark::Unrouted {
            return self.marked(now, seq, event, |event| Commit::CommitRoute { event });
        }
        let attach: Vec<KeyNo> = route.attach.iter().map(|key| self.ledger.newest(key)).collect();
        let work = self.ledger.speaks_of(&event);
        if let Some(work) = work {
            self.decided(work)?;
        }
        let next = work.filter(|_| route.reopen).and_then(|work| self.ledger.next_key(work));
        let resolved = route.resolved.as_ref().map(|(id, revision)| (self.work(id), *revision));
        let stands = work.map(|work| (Some(work), self.ledger.works[work.0].revision));
        let fresh = resolved == stands && route.generation == self.ledger.generation;
        let ended = work.filter(|work| self.ledger.works[work.0].state.status.terminal());
        let mut stage = Stage::new(&self.ledger, now);
        let subject = match work {
            Some(work) => stage.open(work),
            None => stage.no_work(),
        };
        let mut made = None;
        let successor = ended.filter(|_| route.reopen).and_then(|old| {
            self.ledger.works[old.0].successor.map(|known| stage.work(known)).or_else(|| {
                let fresh = stage.no_work();
                stage.successor(fresh);
                if let Some((first, next)) = self.ledger.works[old.0].first_key.zip(next) {
                    stage.generation(first, next);
                    stage.owned(next);
                }
                made = Some(Made {
                    ix: fresh,
                    name: self.next_name(route.successor.clone()),
                    scope: self.ledger.works[old.0].scope,
                    standing: self.ledger.works[old.0].standing,
                    succeeds: Some((old, next)),
                });
                Some(fresh)
            })
        });
        let proposes = (work.is_none() && route.create.is_some()).then_some(subject);
        if let Some(ix) = proposes {
            made = Some(Made {
                ix,
                name: self.next_name(said.name("work")),
                scope: event.scope,
                standing: route.standing,
                succeeds: None,
            });
        }
        let decides = Decides {
            does: does(route.decision),
            attaches: attach.iter().map(|key| stage.owned(*key)).collect(),
            proposes: proposes.map(|work| work.0),
            kind: u8::from(route.standing),
            reopens: successor.map(|successor| (subject.0, successor.0)),
            steers: Steers {
                policy: route.policy,
                fallback: route.fallback.unwrap_or(Fallback::None),
                on_error: route.on_error.unwrap_or(Fallback::None),
            },
        };
        let own = work.is_none() && event.publisher.is_some();
        let at = match event.born {
            Born::Alias => stage.alias(seq),
            Born::Timeout(wait) => {
                stage.wait(wait);
                stage.event(seq)
            }
            Born::Ended if own => stage.published(seq, decides),
            Born::Retry(of, attempt) => {
                let of = stage.work(of);
                stage.retry(of, attempt, Some(seq))
            }
            Born::Sent
            | Born::Asked
            | Born::Continuation(_)
            | Born::Ended
            | Born::Created
            | Born::Unknown => stage.decided(seq, decides),
        };
        stage.staged(at, |event| event.proposal = proposal(fresh));
        let mut trial = self.set(stage, work, Commit::CommitRoute { event: EventIx(0) })?;
        trial.commit = Commit::CommitRoute { event: trial.set.slot(at) };
        trial.made = made;
        Ok(trial)
    }

    pub(super) fn unknown_event(
        &mut self,
        now: i64,
        commit: impl FnOnce(EventIx) -> Commit,
    ) -> Result<Trial, Skip> {
        if self.ledger.inexact {
            return Err(Skip::Unknown);
        }
        let mut stage = Stage::new(&self.ledger, now);
        let at = stage.offer(stage.blank());
        self.set(stage, None, commit(at.delivery().into()))
    }

    /// An event that has a mark answers by the mark alone.
    pub(super) fn marked(
        &mut self,
        now: i64,
        seq: i64,
        event: Event,
        commit: impl FnOnce(EventIx) -> Commit,
    ) -> Result<Trial, Skip> {
        let mut stage = Stage::new(&self.ledger, now);
        let at = stage.event(seq);
        self.set(stage, event.work, commit(at.delivery().into()))
    }

    pub(super) fn reload(&mut self, now: i64, config: &str) -> Result<Trial, Skip> {
        let again = self.ledger.configuration.as_deref() == Some(config);
        let stage = Stage::new(&self.ledger, now);
        let configuration = u8::from(!again);
        let mut trial = self.set(stage, None, Commit::Reload { configuration })?;
        let generation = self.ledger.generation + i64::from(!again);
        trial.facts.push(("generation".to_owned(), json!(generation)));
        if !again {
            self.ledger.configuration = Some(config.to_owned());
            trial.leaves.reloads = true;
        }
        Ok(trial)
    }

    pub(super) fn drop(&mut self, now: i64, seq: i64) -> Result<Trial, Skip> {
        let Some(event) = self.ledger.event(seq).copied() else {
            return self.unknown_event(now, |event| Commit::Drop { event });
        };
        self.is_known(&event)?;
        let commit = |event| Commit::Drop { event };
        if event.mark != RouteMark::Unrouted {
            return self.marked(now, seq, event, commit);
        }
        let work = self.ledger.speaks_of(&event);
        if let Some(work) = work {
            self.decided(work)?;
        }
        let mut stage = Stage::new(&self.ledger, now);
        if let Some(work) = work {
            stage.open(work);
        }
        let at = if event.is_cores() { stage.cores(seq) } else { stage.event(seq) };
        let mut trial = self.set(stage, work, commit(EventIx(0)))?;
        trial.commit = commit(trial.set.slot(at));
        Ok(trial)
    }
}

/// Whether a proposal reads what stands.
fn proposal(fresh: bool) -> Proposal {
    if fresh { Proposal::Fresh } else { Proposal::Stale }
}

const fn does(decision: Decision) -> DoesWhat {
    match decision {
        Decision::Decline => DoesWhat::Decline,
        Decision::Drop => DoesWhat::Drop,
        Decision::Close => DoesWhat::Close,
        Decision::Update => DoesWhat::Update,
        Decision::Work => DoesWhat::Work,
    }
}
