//! A world just large enough for one row: the Works, keys, waits and events that the law would look at, and the state that
//! the rows before left them in.
//!
//! Events leave the stage once nothing can come of them any more: what is staged is what is unrouted or pending, what the
//! row names, and what its effects descend from. Sequences are staged as their ranks, so that a Work may live as long as
//! it likes. The model takes its worlds as constants; a shape is therefore made once and kept, and a row that would need
//! more than 20,000 of them is not judged.

mod shape;

use std::collections::BTreeSet;

use abide_model::index::{DeliveryIx, EventIx, Maybe, WaitIx, WorkIx, below};
use abide_model::outcome::RouteMark;
use abide_model::state::{
    Event, Facts, Flag, Input, Proposal, State, Timer, Wait, Work, WorkStatus,
};
use abide_model::worlds::{self, World};

use super::act::Exhausted;
use super::ledger::{Born, KeyNo, Ledger, NameNo, WaitNo, WorkNo};

pub(super) use shape::{Asks, Decides, DoesWhat, Offer, shapes};
use shape::{Kind, SUBJECT, Shape, WaitShape, kept};

/// Works on a stage: the one concerned, a successor or parent, and owners of keys.
const WORKS: usize = 4;
/// Events that may be open at once.
const OPEN: usize = 64;
/// Events on a stage: what is open, and what the row and its effects name besides.
const EVENTS: usize = 96;
/// Waits on a stage: the last of the Work, the one concerned, and the subscription before it.
const WAITS: usize = 3;
/// Keys on a stage, as many as the model has bits for.
const KEYS: usize = 8;
/// How deep an event may be on a stage; deeper chains are staged by what they have left.
const DEPTH: u8 = 200;

/// The state of a stage.
pub(super) type Staged = State<WORKS, EVENTS, WAITS>;

/// Why a row cannot be staged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TooLarge(pub(super) &'static str);

/// Where an event stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum At {
    Delivery(u8),
    Timeout(u8),
    Continuation(u8),
    Alias(u8, u8),
    Ended(u8, u8),
    Created(u8),
    Retry(u8, u8),
}

/// An event of a stage: where it stands, which it is if it is accepted, and how it is staged.
#[derive(Debug, Clone, Copy)]
struct Placed {
    at: At,
    seq: Option<i64>,
    staged: Event,
    key: Option<KeyNo>,
    work: Option<u8>,
    /// It stands for a sequence only.
    boundary: bool,
}

/// A stage that is being set.
pub(super) struct Stage<'l> {
    ledger: &'l Ledger,
    now: i64,
    shape: Shape,
    works: Vec<Option<WorkNo>>,
    keys: Vec<KeyNo>,
    types: Vec<NameNo>,
    scopes: Vec<NameNo>,
    waits: Vec<(Option<WaitNo>, Wait)>,
    placed: Vec<Placed>,
    marks: BTreeSet<i64>,
    too_large: Option<TooLarge>,
    full: bool,
}

/// A stage that is set: the world, the state, and which is which.
pub(super) struct Set {
    pub(super) world: &'static World,
    pub(super) state: Staged,
    pub(super) works: Vec<Option<WorkNo>>,
    pub(super) keys: Vec<KeyNo>,
    pub(super) waits: Vec<Option<WaitNo>>,
    /// Events by slot: where each stands, and its sequence.
    pub(super) slots: Vec<(EventIx, At, Option<i64>)>,
    ranks: Vec<i64>,
}

impl<'l> Stage<'l> {
    /// An empty stage.
    pub(super) fn new(ledger: &'l Ledger, now: i64) -> Self {
        Self {
            ledger,
            now,
            shape: Shape::default(),
            works: Vec::new(),
            keys: Vec::new(),
            types: Vec::new(),
            scopes: Vec::new(),
            waits: Vec::new(),
            placed: Vec::new(),
            marks: BTreeSet::new(),
            too_large: None,
            full: false,
        }
    }

    fn local<T: PartialEq + Copy>(
        list: &mut Vec<T>,
        wanted: T,
        most: usize,
        too_large: &mut Option<TooLarge>,
        why: &'static str,
    ) -> u8 {
        let at = list.iter().position(|known| *known == wanted).unwrap_or_else(|| {
            list.push(wanted);
            list.len() - 1
        });
        if at >= most {
            too_large.get_or_insert(TooLarge(why));
            return 0;
        }
        u8::try_from(at).unwrap_or_default()
    }

    /// The place of a Work.
    pub(super) fn work(&mut self, work: WorkNo) -> WorkIx {
        self.scope(self.ledger.works[work.0].scope);
        WorkIx(Self::local(
            &mut self.works,
            Some(work),
            WORKS,
            &mut self.too_large,
            "one row concerns more Works than a stage holds",
        ))
    }

    /// The place of a Work that is not there yet, or never will be.
    pub(super) fn no_work(&mut self) -> WorkIx {
        self.works.push(None);
        if self.works.len() > WORKS {
            self.too_large
                .get_or_insert(TooLarge("one row concerns more Works than a stage holds"));
            return WorkIx(0);
        }
        WorkIx(below(self.works.len()).end - 1)
    }

    /// The place of a key.
    pub(super) fn key(&mut self, key: KeyNo) -> u8 {
        Self::local(
            &mut self.keys,
            key,
            KEYS,
            &mut self.too_large,
            "more than 8 keys matter at once",
        )
    }

    /// Puts the owner of a key on the stage, if it has one.
    pub(super) fn owned(&mut self, key: KeyNo) -> u8 {
        if let Some(owner) = self.ledger.keys[key.0].owner {
            self.work(owner);
        }
        self.key(key)
    }

    fn kind(&mut self, name: NameNo) -> u8 {
        Self::local(
            &mut self.types,
            name,
            EVENTS,
            &mut self.too_large,
            "more than 96 types matter at once",
        )
    }

    /// The place of a scope.
    pub(super) fn scope(&mut self, name: NameNo) -> u8 {
        Self::local(
            &mut self.scopes,
            name,
            EVENTS,
            &mut self.too_large,
            "more than 96 scopes matter at once",
        )
    }

    /// Says that one key is the next generation of another.
    pub(super) fn generation(&mut self, key: KeyNo, next: KeyNo) {
        let pair = (self.key(key), self.key(next));
        if !self.shape.generations.contains(&pair) {
            self.shape.generations.push(pair);
        }
    }

    /// Grants one scope to read another.
    pub(super) fn grant(&mut self, reader: NameNo, other: NameNo) {
        let pair = (self.scope(reader), self.scope(other));
        self.shape.reads.push(pair);
    }

    /// The handoff of this row names a time after which idle Work is closed.
    pub(super) fn closes_after(&mut self) {
        self.shape.subject.close_after = true;
    }

    /// A scope above the Work concerned runs as many attempts as it may.
    pub(super) fn is_full(&mut self) {
        self.full = true;
    }

    /// An attempt may publish how its turn ended.
    pub(super) fn turn(&mut self, work: WorkIx, attempt: u8) -> At {
        self.shape.turns.push((work.0, attempt));
        At::Ended(work.0, attempt)
    }

    /// A route may make this Work as a successor.
    pub(super) fn successor(&mut self, work: WorkIx) {
        self.shape.successors.push(work.0);
    }

    /// The same of a Work that may not exist.
    pub(super) fn opened(&mut self, work: Option<WorkNo>) -> WorkIx {
        match work {
            Some(work) => self.open(work),
            None => self.no_work(),
        }
    }

    /// Puts a wait on the stage that may not exist.
    pub(super) fn waited(&mut self, wait: Option<WaitNo>) -> WaitIx {
        match wait {
            Some(wait) => self.wait(wait),
            None => self.no_wait(),
        }
    }

    /// Puts a Work on the stage with everything of it that the law may look at.
    pub(super) fn open(&mut self, work: WorkNo) -> WorkIx {
        let ix = self.work(work);
        let account = &self.ledger.works[work.0];
        if ix == WorkIx(0) {
            let close_after = self.shape.subject.close_after;
            self.shape.subject = Kind {
                standing: account.standing,
                close_after,
                budget: u8::try_from(account.policy.budget()).unwrap_or(u8::MAX),
                fails: account.policy.exhausted == Exhausted::Fail,
            };
        }
        if let Some(first) = account.first_key {
            self.key(first);
        }
        if let Some(wait) = account.last_wait {
            self.wait(wait);
        }
        let open: BTreeSet<i64> =
            self.ledger.unrouted_of(work).union(&account.pending).copied().collect();
        if open.len() > OPEN {
            self.too_large.get_or_insert(TooLarge("more than 64 events are open at once"));
            return ix;
        }
        for seq in open {
            self.event(seq);
        }
        for seq in [account.trigger, account.cause, account.released].into_iter().flatten() {
            self.event(seq);
        }
        ix
    }

    /// Puts a wait on the stage, with what it was woken by or would time out from.
    pub(super) fn wait(&mut self, wait: WaitNo) -> WaitIx {
        if let Some(at) = self.waits.iter().position(|(known, _)| *known == Some(wait)) {
            return WaitIx(u8::try_from(at).unwrap_or_default());
        }
        let fact = &self.ledger.waits[wait.0];
        let work = self.work(fact.work);
        let keys = fact.keys.iter().map(|key| self.key(*key)).collect();
        let types = fact.types.iter().map(|name| self.kind(*name)).collect();
        let source = fact.source.map(|(key, scope)| (self.key(key), self.scope(scope), Vec::new()));
        let shape =
            WaitShape { work: work.0, keys, types, timeout: fact.fire_at.is_some(), source };
        let staged = Wait {
            status: fact.status,
            timer: due(fact.timer, fact.fire_at, self.now),
            subscribed: if fact.subscribed { Flag::Yes } else { Flag::No },
            subscription: fact.subscription,
            ..Wait::default()
        };
        let ix = self.add_wait(Some(wait), shape, staged);
        self.marks.extend([fact.watermark, fact.checkpoint]);
        if let Some(seq) = fact.timeout {
            self.put(At::Timeout(ix.0), seq);
        }
        if let Some(seq) = fact.continuation {
            self.put(At::Continuation(ix.0), seq);
        }
        for seq in [fact.winner, fact.cause].into_iter().flatten() {
            self.event(seq);
        }
        ix
    }

    /// A wait that is not registered, with nothing to say of itself.
    pub(super) fn no_wait(&mut self) -> WaitIx {
        let work = if self.works.is_empty() { self.no_work() } else { WorkIx(0) };
        let shape = WaitShape {
            work: work.0,
            keys: Vec::new(),
            types: Vec::new(),
            timeout: false,
            source: None,
        };
        self.add_wait(None, shape, Wait::default())
    }

    /// A wait that is to be registered.
    pub(super) fn new_wait(
        &mut self,
        work: WorkIx,
        keys: &[KeyNo],
        types: &[NameNo],
        timeout: bool,
        source: Option<(KeyNo, NameNo)>,
    ) -> WaitIx {
        let shape = WaitShape {
            work: work.0,
            keys: keys.iter().map(|key| self.owned(*key)).collect(),
            types: types.iter().map(|name| self.kind(*name)).collect(),
            timeout,
            source: source.map(|(key, scope)| (self.key(key), self.scope(scope), Vec::new())),
        };
        self.add_wait(None, shape, Wait::default())
    }

    fn add_wait(&mut self, wait: Option<WaitNo>, shape: WaitShape, staged: Wait) -> WaitIx {
        if self.waits.len() >= WAITS {
            self.too_large.get_or_insert(TooLarge("one row concerns more than 3 waits"));
            return WaitIx(0);
        }
        self.shape.waits.push(shape);
        self.waits.push((wait, staged));
        WaitIx(below(self.waits.len()).end - 1)
    }

    /// Says that an event may be of the source of a wait, and answers where its alias stands.
    pub(super) fn source(&mut self, wait: WaitIx, event: At) -> At {
        let (Some(shape), At::Delivery(delivery)) = (self.shape.waits.get_mut(wait.at()), event)
        else {
            self.too_large.get_or_insert(TooLarge("a source that is none of a sender's events"));
            return event;
        };
        if let Some((_, _, events)) = &mut shape.source
            && !events.contains(&delivery)
        {
            events.push(delivery);
        }
        At::Alias(wait.0, delivery)
    }

    /// Puts an accepted event on the stage as one that a sender delivered: all that counts of it is what it says.
    pub(super) fn event(&mut self, seq: i64) -> At {
        if let Some(placed) =
            self.placed.iter().find(|placed| !placed.boundary && placed.seq == Some(seq))
        {
            return placed.at;
        }
        let Some(event) = self.ledger.event(seq) else {
            return self.offer(self.blank());
        };
        if let Born::Timeout(wait) = event.born
            && let Some(at) = self.waits.iter().position(|(known, _)| *known == Some(wait))
        {
            let at = At::Timeout(u8::try_from(at).unwrap_or_default());
            self.put(at, seq);
            return at;
        }
        let event = *event;
        let target = event.target.map(|work| self.work(work).0);
        let key = event.key.map(|key| self.key(key));
        let (scope, kind) = (self.scope(event.scope), self.kind(event.kind));
        let offer = Offer { key, target, scope, kind, ..self.blank() };
        let at = self.offer(offer);
        self.put(at, seq);
        at
    }

    /// Puts an accepted event on the stage with a decision about it.
    pub(super) fn decided(&mut self, seq: i64, decides: Decides) -> At {
        let at = self.event(seq);
        if let At::Delivery(delivery) = at {
            self.shape.deliveries[usize::from(delivery)].decides = decides;
        }
        at
    }

    /// Puts an accepted event of core's own on the stage, of which nothing counts but that.
    pub(super) fn cores(&mut self, seq: i64) -> At {
        let at = self.event(seq);
        if let At::Delivery(delivery) = at {
            self.shape.deliveries[usize::from(delivery)].asks = Some(Asks::Release(0));
        }
        at
    }

    /// Puts an accepted alias on the stage as one, for a wait that is over.
    pub(super) fn alias(&mut self, seq: i64) -> At {
        let Some(event) = self.ledger.event(seq).copied() else { return self.event(seq) };
        let Some(work) = event.target else { return self.event(seq) };
        let (work, kind) = (self.work(work), self.kind(event.kind));
        let scope = self.scope(event.scope);
        let offer = Offer { kind, scope, ..self.blank() };
        let source = self.offer(offer);
        let At::Delivery(delivery) = source else { return source };
        let shape = WaitShape {
            work: work.0,
            keys: Vec::new(),
            types: Vec::new(),
            timeout: false,
            source: Some((0, scope, vec![delivery])),
        };
        let wait = self.add_wait(None, shape, Wait::default());
        let at = At::Alias(wait.0, delivery);
        self.replace(at, seq);
        at
    }

    /// Puts an accepted event on the stage of which a subscription can select nothing.
    pub(super) fn mute(&mut self, seq: i64) -> At {
        let at = self.offer(self.blank());
        self.replace(at, seq);
        if let Some(placed) = self.placed.iter_mut().find(|placed| placed.at == at) {
            placed.key = None;
        }
        at
    }

    /// Puts the end of a turn on the stage, which never resolves to the Work that published it. WAIT-06
    pub(super) fn published(&mut self, seq: i64, decides: Decides) -> At {
        let publisher = self.ledger.event(seq).and_then(|event| event.publisher);
        match publisher {
            Some(work) if decides.does == DoesWhat::Decline => {
                let work = self.work(work);
                let at = self.turn(work, 1);
                self.put(at, seq);
                at
            }
            Some(_) | None => {
                // Its key has an owner, so that it makes no Work.
                let at = self.mute(seq);
                if let At::Delivery(delivery) = at {
                    let decides = Decides { proposes: None, ..decides };
                    self.shape.deliveries[usize::from(delivery)].decides = decides;
                }
                at
            }
        }
    }

    /// A delivery whose sender signs bodies only, accepted so lately that the same body is suspect. OURS-17
    pub(super) fn lately(&mut self) {
        let offer = Offer { signed: true, ..self.blank() };
        let at = self.offer(offer);
        let seq = self.ledger.latest();
        self.marks.insert(seq);
        let staged = Event { mark: RouteMark::Unmatched, suspect: 1, ..Event::default() };
        self.placed.push(Placed {
            at,
            seq: Some(seq),
            staged,
            key: None,
            work: None,
            boundary: true,
        });
    }

    /// The retry of an attempt may be accepted, or is.
    pub(super) fn retry(&mut self, work: WorkIx, attempt: u32, known: Option<i64>) -> At {
        let pair = (work.0, number(attempt));
        if !self.shape.retries.contains(&pair) {
            self.shape.retries.push(pair);
        }
        let at = At::Retry(pair.0, pair.1);
        if let Some(seq) = known {
            self.replace(at, seq);
        }
        at
    }

    /// Puts an accepted event at a place of its own, wherever it stands.
    pub(super) fn replace(&mut self, at: At, seq: i64) {
        self.placed.retain(|placed| placed.boundary || placed.seq != Some(seq));
        self.put(at, seq);
    }

    /// A request: the event it became, if it was made before.
    pub(super) fn request(&mut self, known: Option<i64>) -> At {
        match known {
            Some(seq) => self.mute(seq),
            None => self.offer(self.blank()),
        }
    }

    /// Says whose request a delivery is.
    pub(super) fn asks(&mut self, by: At, asks: Asks) {
        self.change(by, |offer| offer.asks = Some(asks));
    }

    /// Says which Work a request would make.
    pub(super) fn proposes(&mut self, by: At, work: WorkIx) {
        self.change(by, |offer| offer.decides.proposes = Some(work.0));
    }

    /// Changes what a delivery says.
    pub(super) fn change(&mut self, at: At, change: impl FnOnce(&mut Offer)) {
        if let At::Delivery(delivery) = at {
            change(&mut self.shape.deliveries[usize::from(delivery)]);
        }
    }

    /// Stands at a place, as accepted.
    pub(super) fn put(&mut self, at: At, seq: i64) {
        if self.placed.iter().any(|placed| !placed.boundary && placed.seq == Some(seq)) {
            return;
        }
        let Some(event) = self.ledger.event(seq).copied() else { return };
        let work = event.work.map(|work| self.work(work).0);
        if let Some(key) = event.key {
            self.key(key);
        }
        let pending =
            event.work.is_some_and(|work| self.ledger.works[work.0].pending.contains(&seq));
        let staged = Event {
            mark: event.mark,
            depth: DEPTH - u8::try_from(event.left).map_or(DEPTH, |left| left.min(DEPTH)),
            input: if pending { Input::Pending } else { Input::No },
            ..Event::default()
        };
        self.marks.insert(seq);
        self.placed.push(Placed {
            at,
            seq: Some(seq),
            staged,
            key: event.key,
            work,
            boundary: false,
        });
    }

    /// Changes how an event is staged.
    pub(super) fn staged(&mut self, at: At, change: impl FnOnce(&mut Event)) {
        if let Some(placed) = self.placed.iter_mut().find(|placed| placed.at == at) {
            change(&mut placed.staged);
        }
    }

    /// A delivery with nothing to say, under an identity of its own.
    pub(super) fn blank(&self) -> Offer {
        Offer {
            key: None,
            target: None,
            scope: 0,
            kind: 0,
            core: false,
            identity: below(self.shape.deliveries.len().min(usize::from(u8::MAX))).end,
            body: 0,
            signed: false,
            decides: Decides::NOTHING,
            asks: None,
        }
    }

    /// A delivery that may be offered, not accepted yet.
    pub(super) fn offer(&mut self, offer: Offer) -> At {
        if self.shape.deliveries.len() >= EVENTS {
            self.too_large.get_or_insert(TooLarge("one row concerns more than 96 events"));
            return At::Delivery(0);
        }
        self.shape.deliveries.push(offer);
        At::Delivery(below(self.shape.deliveries.len()).end - 1)
    }

    /// A delivery that says something: kind and scope by name.
    pub(super) fn says(&mut self, kind: NameNo, scope: NameNo) -> Offer {
        let (kind, scope) = (self.kind(kind), self.scope(scope));
        Offer { kind, scope, ..self.blank() }
    }

    /// An event without meaning at a sequence, as if the last segment had claimed it: a watermark for the model's words.
    pub(super) fn boundary(&mut self, seq: i64) {
        let at = self.offer(self.blank());
        self.marks.insert(seq);
        let staged = Event { mark: RouteMark::Unmatched, input: Input::Batch, ..Event::default() };
        self.placed.push(Placed {
            at,
            seq: Some(seq),
            staged,
            key: None,
            work: Some(0),
            boundary: true,
        });
    }

    /// Sets the stage.
    pub(super) fn set(mut self) -> Result<Set, TooLarge> {
        let latest = self.ledger.latest();
        if latest > 0 {
            // The latest sequence counts even where its event does not.
            let at = self.offer(self.blank());
            self.marks.insert(latest);
            let staged = Event { mark: RouteMark::Unmatched, ..Event::default() };
            self.placed.push(Placed {
                at,
                seq: Some(latest),
                staged,
                key: None,
                work: None,
                boundary: true,
            });
        }
        if self.full {
            // One attempt runs beside the Work concerned, and one is as many as may.
            self.no_work();
        }
        if self.works.is_empty() {
            self.no_work();
        }
        if let Some(too_large) = self.too_large {
            return Err(too_large);
        }
        self.shape.scopes = self.scopes.len();
        self.shape.keys = self.keys.len();
        self.merge_types();
        self.shape.works = self.works.iter().map(|work| self.binding(*work)).collect();
        let world = kept(&self.shape)?;
        if world.slots() > EVENTS {
            return Err(TooLarge("one row concerns more than 96 events"));
        }
        let ranks: Vec<i64> = self.marks.iter().copied().filter(|seq| *seq > 0).collect();
        let mut state = Staged::new();
        for at in below(self.works.len()) {
            *state.work_mut(WorkIx(at)) = self.staged_work(at);
        }
        for at in below(self.waits.len()) {
            *state.wait_mut(WaitIx(at)) = self.staged_wait(at, world, &ranks);
        }
        let mut slots = Vec::with_capacity(self.placed.len());
        for placed in &self.placed {
            let Some(ix) = slot(world, placed.at) else {
                return Err(TooLarge("an event has no place on its stage"));
            };
            let key = placed.key.and_then(|key| place(&self.keys, key));
            *state.event_mut(ix) = Event {
                seq: placed.seq.map_or(0, |seq| rank(&ranks, seq)),
                key: Maybe::of_key(key),
                work: placed.work.map_or(Maybe::NONE, |work| WorkIx(work).into()),
                root: ix.into(),
                ..placed.staged
            };
            if !placed.boundary {
                slots.push((ix, placed.at, placed.seq));
            }
        }
        state.current_mut().restore_hold =
            if self.ledger.restore_hold { Flag::Yes } else { Flag::No };
        let waits = self.waits.iter().map(|(wait, _)| *wait).collect();
        Ok(Set { world, state, works: self.works, keys: self.keys, waits, slots, ranks })
    }

    /// Types that no wait lists are all alike, so that fewer shapes are needed.
    fn merge_types(&mut self) {
        let listed: BTreeSet<u8> =
            self.shape.waits.iter().flat_map(|wait| wait.types.iter().copied()).collect();
        for offer in &mut self.shape.deliveries {
            if !listed.contains(&offer.kind) {
                offer.kind = u8::MAX;
            }
        }
    }

    fn binding(&self, work: Option<WorkNo>) -> (bool, bool) {
        work.map_or((false, false), |work| {
            let account = &self.ledger.works[work.0];
            (account.resumes, account.holds_until_pin)
        })
    }

    fn staged_work(&self, at: u8) -> Work {
        let Some(work) = self.works[usize::from(at)] else {
            let stranger = self.full && usize::from(at) + 1 == self.works.len();
            return if stranger { running() } else { Work::default() };
        };
        let account = &self.ledger.works[work.0];
        let mut staged = account.state;
        let key = |key: KeyNo| place(&self.keys, key);
        staged.keys = (0u8..)
            .zip(&self.keys)
            .filter(|(_, key)| self.ledger.keys[key.0].owner == Some(work))
            .fold(0, |bits, (at, _)| bits | 1 << at);
        staged.first_key = Maybe::of_key(account.first_key.and_then(key));
        staged.scope = self
            .scopes
            .iter()
            .position(|name| *name == account.scope)
            .map_or(u8::MAX, |at| u8::try_from(at).unwrap_or(u8::MAX));
        staged.kind = if at == 0 { SUBJECT } else { u8::from(account.standing) };
        staged.backoff = account.backoff.map_or(0, number);
        staged.retry = due(account.state.retry, account.retry_at, self.now);
        let wait = |wait: Option<WaitNo>| {
            let at =
                wait.and_then(|wait| self.waits.iter().position(|(known, _)| *known == Some(wait)));
            at.map_or(Maybe::NONE, |at| WaitIx(u8::try_from(at).unwrap_or_default()).into())
        };
        staged.wake = wait(account.wake);
        staged.last_wait = wait(account.last_wait);
        staged.released = Maybe::NONE;
        staged.closed_by = Maybe::NONE;
        staged.parent = Maybe::NONE;
        let predecessor = self.works.iter().position(|other| {
            other.is_some_and(|other| self.ledger.works[other.0].successor == Some(work))
        });
        staged.predecessor = predecessor
            .map_or(Maybe::NONE, |at| WorkIx(u8::try_from(at).unwrap_or_default()).into());
        staged.idle = due(account.state.idle, account.idle_at, self.now);
        staged.attempt.number = number(account.attempt);
        staged.attempt.lease = u8::from(self.now < account.expires_at);
        staged.attempt.trigger = Maybe::NONE;
        staged.attempt.cause = Maybe::NONE;
        staged
    }

    fn staged_wait(&self, at: u8, world: &World, ranks: &[i64]) -> Wait {
        let (wait, staged) = self.waits[usize::from(at)];
        let Some(wait) = wait else { return staged };
        let fact = &self.ledger.waits[wait.0];
        let event = |seq: Option<i64>| {
            let placed = seq.and_then(|seq| {
                self.placed.iter().find(|placed| !placed.boundary && placed.seq == Some(seq))
            });
            placed.and_then(|placed| slot(world, placed.at)).map_or(Maybe::NONE, Into::into)
        };
        Wait {
            watermark: rank(ranks, fact.watermark),
            checkpoint: rank(ranks, fact.checkpoint),
            winner: event(fact.winner),
            cause: event(fact.cause),
            ..staged
        }
    }
}

/// An attempt of some other Work, that takes the place there is.
fn running() -> Work {
    let mut work = Work { status: WorkStatus::Running, ..Work::default() };
    work.attempt.status = abide_model::state::AttemptStatus::Running;
    work
}

impl Set {
    /// The slot of a place.
    pub(super) fn slot(&self, at: At) -> EventIx {
        slot(self.world, at).unwrap_or(EventIx(0))
    }

    /// Points to the events that the Works descend from, which have slots only now.
    pub(super) fn refer(&mut self, ledger: &Ledger) {
        for at in below(self.works.len()) {
            let Some(work) = self.works[usize::from(at)] else { continue };
            let account = &ledger.works[work.0];
            let find = |seq: Option<i64>| {
                let slot = self.slots.iter().find(|(_, _, known)| seq.is_some() && *known == seq);
                slot.map_or(Maybe::NONE, |(ix, _, _)| (*ix).into())
            };
            let (trigger, cause) = (find(account.trigger), find(account.cause));
            let released = find(account.released);
            let staged = self.state.work_mut(WorkIx(at));
            staged.attempt.trigger = trigger;
            staged.attempt.cause = cause;
            staged.released = released;
        }
    }

    /// The sequence of a rank: one that was given, or one that this step gives.
    pub(super) fn seq(&self, rank: u8) -> i64 {
        let at = usize::from(rank);
        match at.checked_sub(self.ranks.len() + 1) {
            Some(beyond) => {
                let latest = self.ranks.last().copied().unwrap_or(0);
                latest + 1 + i64::try_from(beyond).unwrap_or(i64::MAX - latest - 1)
            }
            None => at.checked_sub(1).map_or(0, |at| self.ranks[at]),
        }
    }

    /// The key of a place.
    pub(super) fn key(&self, key: Option<u8>) -> Option<KeyNo> {
        self.keys.get(usize::from(key?)).copied()
    }
}

/// The rank of a sequence: how many that count are not above it.
fn rank(ranks: &[i64], seq: i64) -> u8 {
    u8::try_from(ranks.partition_point(|known| *known <= seq)).unwrap_or(u8::MAX)
}

fn place(keys: &[KeyNo], key: KeyNo) -> Option<u8> {
    keys.iter().position(|known| *known == key).and_then(|at| u8::try_from(at).ok())
}

/// A countdown by the clock: reached or not.
fn due(timer: Timer, at: Option<i64>, now: i64) -> Timer {
    match (timer.ticks(), at) {
        (Some(_), Some(at)) => Timer::due_in(u8::from(now < at)),
        (Some(_) | None, _) => timer,
    }
}

fn slot(world: &World, at: At) -> Option<EventIx> {
    match at {
        At::Delivery(delivery) => Some(EventIx(delivery)),
        At::Timeout(wait) => Some(world.timeout_of(WaitIx(wait))),
        At::Continuation(wait) => Some(world.continuation_of(WaitIx(wait))),
        At::Alias(wait, delivery) => world.alias_of(WaitIx(wait), EventIx(delivery)),
        At::Ended(work, attempt) => world.ended_of(WorkIx(work), attempt),
        At::Created(work) => world.created_of(WorkIx(work)),
        At::Retry(work, attempt) => world.retry_of(WorkIx(work), attempt),
    }
}

/// Which place a slot is, of those that only a step may fill.
pub(super) fn derived(world: &World, ix: EventIx) -> At {
    use worlds::Origin;
    match world.origin(ix) {
        Origin::Delivery(DeliveryIx(delivery)) => At::Delivery(delivery),
        Origin::Timeout(wait) => At::Timeout(wait.0),
        Origin::Continuation(wait) => At::Continuation(wait.0),
        Origin::Alias(wait, source) => At::Alias(wait.0, source.0),
        Origin::Ended(work, attempt) => At::Ended(work.0, attempt),
        Origin::Created(work) => At::Created(work.0),
        Origin::Retry(work, attempt) => At::Retry(work.0, attempt),
    }
}

/// The number of an attempt, as far as the model counts.
pub(super) fn number(attempt: u32) -> u8 {
    u8::try_from(attempt).map_or(DEPTH, |attempt| attempt.min(DEPTH))
}

/// Whether a proposal reads what stands.
pub(super) fn proposal(fresh: bool) -> Proposal {
    if fresh { Proposal::Fresh } else { Proposal::Stale }
}
