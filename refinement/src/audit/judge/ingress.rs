//! What is kept: deliveries, and the requests of operators.

use abide_model::action::{Commit, Expect};
use abide_model::index::{DeliveryIx, EventIx, WorkIx};
use serde_json::json;

use super::super::args::{Accept, CreateWork, Operator};
use super::super::facts::{Born, Event, NameNo};
use super::super::stage::{Asks, At, Offer, Stage};
use super::{Judge, Made, Skip, Trial};

/// Types that begin like this are core's own. CAUSE-07
const CORE: &str = "core.";
/// The source of what core makes itself.
const CORE_SOURCE: &str = "core";

impl Judge {
    pub(super) fn accept(&mut self, now: i64, accept: &Accept) -> Result<Trial, Skip> {
        let identity = (accept.source.clone(), accept.delivery.clone());
        let known = self.ledger.identities.get(&identity).copied();
        let same = known
            .and_then(|seq| self.ledger.bodies.get(&seq))
            .is_none_or(|body| Some(body) == accept.body.as_ref());
        let kind = self.ledger.name(&accept.event_type);
        let scope = self.ledger.name(&accept.scope);
        self.ledger.depths.insert(scope, accept.max_depth);
        let key = accept.key.as_ref().map(|key| self.ledger.newest(key));
        let target = match &accept.target {
            Some(id) => Some(self.judged(id)?),
            None => None,
        };
        let signed = accept.suspect_within.zip(accept.body.clone()).map(|(within, body)| {
            let last = self.ledger.signed.get(&(accept.source.clone(), body)).copied();
            last.is_some_and(|last| now < last.saturating_add(within))
        });
        let mut stage = Stage::new(&self.ledger, now);
        let target_ix = target.map(|work| match work {
            Some(work) => stage.work(work),
            None => stage.no_work(),
        });
        let key_ix = key.map(|key| stage.owned(key));
        if let Some(seq) = known {
            stage.event(seq);
        }
        if signed == Some(true) {
            stage.lately();
        }
        let offer = stage.says(kind, scope);
        let at = stage.offer(Offer {
            key: key_ix,
            target: target_ix.map(|work| work.0),
            core: accept.event_type.starts_with(CORE) || accept.source == CORE_SOURCE,
            identity: known.map_or(offer.identity, |_| 0),
            body: u8::from(!same),
            signed: signed.is_some(),
            ..offer
        });
        let subject =
            target.flatten().or_else(|| key.and_then(|key| self.ledger.keys[key.0].owner));
        let delivery = at.delivery();
        let mut trial = self.set(stage, subject, Commit::Accept { delivery })?;
        let event = Event {
            key,
            target: target.flatten(),
            ..Event::blank(Born::Sent, kind, scope, accept.max_depth)
        };
        trial.offered.push((at, event));
        Ok(trial)
    }

    pub(super) fn replay(&mut self, now: i64, seq: i64, request: &str) -> Result<Trial, Skip> {
        let known = self.ledger.requests.get(request).copied();
        let original = self.ledger.event(seq).copied();
        if let Some(event) = &original {
            self.is_known(event)?;
        } else if self.ledger.inexact && known.is_none() {
            return Err(Skip::Unknown);
        }
        let key = original
            .and_then(|event| event.key)
            .map(|key| self.ledger.keys[self.ledger.keys[key.0].base.0].newest);
        let mut stage = Stage::new(&self.ledger, now);
        let by = stage.request(known);
        let at = match &original {
            Some(event) if event.is_cores() => stage.cores(seq),
            Some(_) => stage.event(seq),
            None => stage.offer(stage.blank()),
        };
        if let (At::Delivery(of), None) = (at, known) {
            stage.asks(by, Asks::Replay(of));
        }
        let subject = original.and_then(|event| event.work);
        let commit = Commit::Replay { event: EventIx(0), request: by.delivery() };
        // A Work that is undecided is no less replayed to.
        let mut trial = self.set(stage, subject, commit)?;
        trial.commit = Commit::Replay { event: trial.set.slot(at), request: by.delivery() };
        if let Some(original) = original {
            let left = original.left.saturating_sub(1);
            let event = Event {
                key,
                target: original.target,
                ..Event::blank(Born::Sent, original.kind, original.scope, left)
            };
            trial.offered.push((by, event));
        }
        Ok(trial)
    }

    pub(super) fn create_work(&mut self, now: i64, create: &CreateWork) -> Result<Trial, Skip> {
        let known = self.ledger.requests.get(&create.request).copied();
        let kind = self.ledger.name("core.work.created");
        let scope = self.ledger.name(&create.scope);
        self.ledger.depths.insert(scope, create.max_depth);
        let key = create.key.as_ref().map(|key| self.ledger.newest(key));
        let parent = match &create.parent {
            Some(id) => Some(self.judged(id)?),
            None => None,
        };
        let mut stage = Stage::new(&self.ledger, now);
        let fresh = stage.no_work();
        let parent = parent.map(|work| match work {
            Some(work) => stage.work(work),
            None => stage.no_work(),
        });
        let key = key.map(|key| stage.owned(key));
        let by = stage.request(known);
        let said = stage.says(kind, scope);
        stage.change(by, |offer| {
            offer.scope = said.scope;
            offer.key = key;
            offer.decides.proposes = Some(fresh.0);
            offer.decides.kind = u8::from(create.standing);
        });
        if known.is_none() {
            let authorised = create.authorised;
            stage.asks(by, Asks::Create { parent: parent.map(|work| work.0), authorised });
        }
        let mut trial = self.set(stage, None, Commit::CreateWork { request: by.delivery() })?;
        trial.made = Some(Made {
            ix: fresh,
            name: self.next_name(create.work.clone()),
            scope,
            standing: create.standing,
            succeeds: None,
        });
        trial.offered.push((by, Event::blank(Born::Asked, kind, scope, create.max_depth)));
        Ok(trial)
    }

    pub(super) fn reopen(&mut self, now: i64, of: &Operator) -> Result<Trial, Skip> {
        let known = self.ledger.requests.get(&of.request).copied();
        let work = self.judged(&of.work)?;
        let next = work.and_then(|work| self.ledger.next_key(work));
        let kind = self.ledger.name("core.work.created");
        let scope = work.map(|work| self.ledger.works[work.0].scope);
        let mut stage = Stage::new(&self.ledger, now);
        let ix = stage.opened(work);
        let by = stage.request(known);
        let mut made = None;
        if let Some(old) = work {
            let account = &self.ledger.works[old.0];
            let successor = match account.successor {
                Some(known) => stage.work(known),
                None => {
                    let fresh = stage.no_work();
                    if let Some((first, next)) = account.first_key.zip(next) {
                        stage.generation(first, next);
                        stage.owned(next);
                    }
                    made = Some(Made {
                        ix: fresh,
                        name: self.next_name(of.successor.clone()),
                        scope: account.scope,
                        standing: account.standing,
                        succeeds: Some((old, next)),
                    });
                    fresh
                }
            };
            stage.proposes(by, successor);
        }
        if known.is_none() {
            stage.asks(by, Asks::Reopen(ix.0));
        }
        let expect = self.expect(work, of.expect);
        let commit = Commit::Reopen { work: ix, expect, request: by.delivery() };
        let mut trial = self.set(stage, work, commit)?;
        trial.made = made;
        if let Some(scope) = scope {
            trial.offered.push((
                by,
                Event::blank(Born::Asked, kind, scope, self.depth(of.max_depth, scope)),
            ));
        }
        Ok(trial)
    }

    /// A request about one Work that becomes an event.
    pub(super) fn requested(
        &mut self,
        now: i64,
        of: &Operator,
        kind: &str,
        asks: impl FnOnce(WorkIx) -> Asks,
        commit: impl FnOnce(WorkIx, Expect, DeliveryIx) -> Commit,
    ) -> Result<Trial, Skip> {
        let known = self.ledger.requests.get(&of.request).copied();
        let work = self.judged(&of.work)?;
        let kind = self.ledger.name(kind);
        let scope = work.map(|work| self.ledger.works[work.0].scope);
        let mut stage = Stage::new(&self.ledger, now);
        let ix = stage.opened(work);
        let by = stage.request(known);
        if known.is_none() {
            stage.asks(by, asks(ix));
        }
        let expect = self.expect(work, of.expect);
        let mut trial = self.set(stage, work, commit(ix, expect, by.delivery()))?;
        if let Some(scope) = scope {
            let left = self.depth(of.max_depth, scope);
            trial.offered.push((by, Event::blank(Born::Asked, kind, scope, left)));
        }
        Ok(trial)
    }

    pub(super) fn release(&mut self, now: i64, of: &Operator) -> Result<Trial, Skip> {
        let asks = |work: WorkIx| Asks::Release(work.0);
        let commit = |work, expect, request| Commit::Release { work, expect, request };
        self.requested(now, of, "core.work.released", asks, commit)
    }

    pub(super) fn retry(&mut self, now: i64, of: &Operator) -> Result<Trial, Skip> {
        let asks = |work: WorkIx| Asks::Retry(work.0);
        let commit = |work, expect, request| Commit::Retry { work, expect, request };
        self.requested(now, of, "core.retry.requested", asks, commit)
    }

    /// Above what the database knows, and above what whoever restores it knows besides. OURS-21
    pub(super) fn restore(&mut self, now: i64, above: u64) -> Result<Trial, Skip> {
        let stage = Stage::new(&self.ledger, now);
        let mut trial = self.set(stage, None, Commit::Restore)?;
        let incarnation = self.ledger.incarnation().max(above).saturating_add(1);
        trial.facts.push(("incarnation".to_owned(), json!(incarnation)));
        trial.leaves.incarnation = Some(incarnation);
        Ok(trial)
    }

    pub(super) fn release_restore(
        &mut self,
        now: i64,
        request: &str,
        max_depth: Option<u32>,
    ) -> Result<Trial, Skip> {
        let known = self.ledger.requests.get(request).copied();
        let kind = self.ledger.name("core.restore.released");
        let scope = self.ledger.name(CORE_SOURCE);
        let mut stage = Stage::new(&self.ledger, now);
        let by = stage.request(known);
        if known.is_none() {
            stage.asks(by, Asks::ReleaseRestore);
        }
        let mut trial = self.set(stage, None, Commit::ReleaseRestore { request: by.delivery() })?;
        let left = self.depth(max_depth, scope);
        trial.offered.push((by, Event::blank(Born::Asked, kind, scope, left)));
        Ok(trial)
    }

    /// How deep the root of a request allows. Where the row does not say it, its scope's deliveries do, which is a guess.
    pub(super) fn depth(&mut self, said: Option<u32>, scope: NameNo) -> u32 {
        self.ledger.guessed |= said.is_none();
        said.or_else(|| self.ledger.depths.get(&scope).copied()).unwrap_or(u32::MAX)
    }
}
