//! What cannot be judged, and what follows from that: it is counted with its reason, and the journal's word is taken for it,
//! so that as much as possible of what comes after can be judged.

use abide_model::outcome::RouteMark;
use serde_json::json;

use super::super::AuditError;
use super::super::act::Act;
use super::super::answer::Answer;
use super::super::facts::{Born, Event, WorkNo};
use super::super::rows::Row;
use super::super::stage::TooLarge;
use super::{Judge, Skip, Trial};

impl Judge {
    /// The journal says something else than the law: unlawful, unless the journal cannot say why it was so.
    pub(super) fn differs(
        &mut self,
        row: &Row,
        act: &Act,
        said: &Answer,
        lawful: &Answer,
        trial: &Trial,
    ) -> Result<(), AuditError> {
        let token = said.code == "stale_authority" && act.shown().is_some();
        if token {
            self.not_judged("refused for a token, and no token is in a journal");
            self.narrate(trial.subject, row, said);
            return Ok(());
        }
        let deep = [&said.code, &lawful.code].into_iter().any(|code| code == "depth_limit");
        if deep && self.ledger.guessed {
            self.not_judged("rests on how deep the root of a request allows, which no row says");
            self.trust(said);
            if let Some(work) = trial.subject {
                self.give_up(work, "how deep the root of a request allows is not known");
            }
            return Ok(());
        }
        let elsewhere = |code: &str| {
            matches!(
                code,
                "capacity" | "key_owned" | "wrong_scope" | "contradictory_target" | "unknown_event"
            )
        };
        let crosses = elsewhere(&said.code) || elsewhere(&lawful.code) || said.code == lawful.code;
        if self.ledger.inexact && crosses {
            self.not_judged("rests on Works that are undecided");
            self.trust(said);
            if let Some(work) = trial.subject {
                self.give_up(work, "a row of it rests on Works that are undecided");
            }
            return Ok(());
        }
        Err(self.illegal(row, trial.subject, said.to_string(), lawful.to_string()))
    }

    /// A row that is not put before the law.
    pub(super) fn skip(&mut self, row: &Row, act: &Act, said: &Answer, skip: &Skip) {
        match skip {
            Skip::TooLarge(work, TooLarge(why)) => {
                self.not_judged(why);
                self.ledger.inexact = true;
                if let Some(work) = work {
                    self.give_up(*work, why);
                }
            }
            Skip::Undecided(work) => {
                let why = format!("a row of {}, which is undecided", self.called(*work));
                self.not_judged(&why);
            }
            Skip::Unknown => self.not_judged("names what rows that were not judged made"),
        }
        self.trust(said);
        let work = act.work().and_then(|id| self.ledger.work_of(&id.to_string()));
        self.narrate(work, row, said);
    }

    /// Counts a row that is not judged.
    pub(super) fn not_judged(&mut self, why: &str) {
        *self.report.not_judged.entry(why.to_owned()).or_default() += 1;
    }

    /// A Work that is not judged any more.
    pub(super) fn give_up(&mut self, work: WorkNo, why: &str) {
        self.ledger.inexact = true;
        let name = self.called(work);
        self.report.undecided.entry(name).or_insert_with(|| why.to_owned());
        self.ledger.works[work.0].undecided.get_or_insert_with(|| why.to_owned());
    }

    /// Takes the journal's word for what a row that is not judged accepted, so that those after it can be.
    fn trust(&mut self, said: &Answer) {
        if !said.accepted() {
            return;
        }
        self.ledger.inexact = true;
        let seqs = ["seq", "winner"].into_iter().filter_map(|name| said.number(name));
        let until = seqs.max().unwrap_or(0);
        self.fill(until);
        if let (Some(event), Some(mark)) = (said.number("event"), said.name("mark"))
            && let Some(mark) = mark_of(&mark)
        {
            let work = said.name("work").and_then(|name| self.ledger.work_of(&name));
            if let Some(event) = self.ledger.event_mut(event) {
                (event.mark, event.work) = (mark, work);
            }
            self.ledger.file(event, mark == RouteMark::Unrouted);
        }
    }

    /// Events up to a sequence that rows which were not judged have accepted.
    fn fill(&mut self, until: i64) {
        // A sequence is at most a few above the number of rows: each row accepts few events.
        let most = self.ledger.latest().saturating_add(1_000);
        while self.ledger.latest() < until.min(most) {
            let (kind, scope) = (self.ledger.name(""), self.ledger.name(""));
            let blank = Event::blank(Born::Unknown, kind, scope, 0);
            self.ledger.accept(Event { mark: RouteMark::Unmatched, ..blank });
        }
    }
}

fn mark_of(name: &str) -> Option<RouteMark> {
    serde_json::from_value(json!(name)).ok()
}
