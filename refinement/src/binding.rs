//! Which runtime id stands for which index of the world, learnt from receipts.
//!
//! It is cloned with every save, because a row id that was rolled back is given again to something else.

use std::rc::Rc;

use abide::domain::{
    AttemptNo, Authority, Epoch, Generation, Millis, Proposal, Segment, Seq, TokenHash, WaitId,
    WorkId,
};
use abide_model::action::{self, Expect};
use abide_model::index::{EventIx, WaitIx, WorkIx};
use abide_model::worlds::World;

/// Where the harness's time starts. Any instant will do; this one is easy to recognise in a dump.
const START: Millis = Millis(1_700_000_000_000);

/// An id no database hands out.
const NOWHERE: i64 = i64::MAX;

/// What the harness knows of one runtime.
#[derive(Debug, Clone)]
pub struct Binding {
    now: Millis,
    tokens: u64,
    first: Generation,
    current: (u8, Generation),
    events: Vec<Option<Seq>>,
    proposals: Vec<Option<Rc<Proposal>>>,
    works: Vec<BoundWork>,
    waits: Vec<Option<WaitId>>,
}

#[derive(Debug, Clone, Default)]
struct BoundWork {
    id: Option<WorkId>,
    current: Option<Authority>,
    stale: Option<Authority>,
}

impl Binding {
    /// Nothing is bound yet.
    #[must_use]
    pub fn of(world: &World) -> Self {
        Self {
            now: START,
            tokens: 0,
            first: Generation(0),
            current: (0, Generation(0)),
            events: vec![None; world.slots()],
            proposals: vec![None; world.slots()],
            works: vec![BoundWork::default(); world.works.len()],
            waits: vec![None; world.waits.len()],
        }
    }

    /// Trusted time.
    #[must_use]
    pub const fn now(&self) -> Millis {
        self.now
    }

    /// Moves time; never backwards in a walk, and back with a restored binding.
    pub fn set_now(&mut self, now: Millis) {
        self.now = now;
    }

    /// The generation under which the world begins: whatever number the runtime gives its first configuration.
    pub fn begin(&mut self, first: Generation) {
        self.first = first;
        self.current = (0, first);
    }

    /// Notes that a configuration of the world is current, and under which number.
    pub fn load(&mut self, configuration: u8, generation: Generation) {
        self.current = (configuration, generation);
    }

    /// The current configuration of the world.
    #[must_use]
    pub const fn configuration(&self) -> u8 {
        self.current.0
    }

    /// The current generation.
    #[must_use]
    pub const fn generation(&self) -> Generation {
        self.current.1
    }

    /// How many configurations came between the first and this one.
    #[must_use]
    pub fn reloads(&self, generation: Generation) -> Option<u8> {
        generation.0.checked_sub(self.first.0).and_then(|count| u8::try_from(count).ok())
    }

    /// A token that was never used before in this history.
    pub fn mint(&mut self) -> TokenHash {
        self.tokens += 1;
        let mut bits = [0; 32];
        bits[..8].copy_from_slice(&self.tokens.to_be_bytes());
        TokenHash(bits)
    }

    /// The sequence of an event; one that was never given, if it is not accepted.
    #[must_use]
    pub fn event(&self, event: EventIx) -> Seq {
        self.events[event.at()].unwrap_or(Seq(NOWHERE))
    }

    /// Binds an event to its sequence.
    pub fn bind_event(&mut self, event: EventIx, seq: Seq) {
        self.events[event.at()] = Some(seq);
    }

    /// The event of a sequence.
    #[must_use]
    pub fn event_of(&self, seq: Seq) -> Option<EventIx> {
        position(&self.events, &Some(seq)).map(EventIx)
    }

    /// The row of a Work; one that does not exist, if it was never created.
    #[must_use]
    pub fn work(&self, work: WorkIx) -> WorkId {
        self.works[work.at()].id.unwrap_or(WorkId(NOWHERE))
    }

    /// Binds a Work to its row.
    pub fn bind_work(&mut self, work: WorkIx, id: WorkId) {
        self.works[work.at()].id = Some(id);
    }

    /// The Work of a row.
    #[must_use]
    pub fn work_of(&self, id: WorkId) -> Option<WorkIx> {
        let at = self.works.iter().position(|work| work.id == Some(id))?;
        u8::try_from(at).ok().map(WorkIx)
    }

    /// The row of a wait; one that does not exist, if it was never registered.
    #[must_use]
    pub fn wait(&self, wait: WaitIx) -> WaitId {
        self.waits[wait.at()].unwrap_or(WaitId(NOWHERE))
    }

    /// Binds a wait to its row.
    pub fn bind_wait(&mut self, wait: WaitIx, id: WaitId) {
        self.waits[wait.at()] = Some(id);
    }

    /// The wait of a row.
    #[must_use]
    pub fn wait_of(&self, id: WaitId) -> Option<WaitIx> {
        position(&self.waits, &Some(id)).map(WaitIx)
    }

    /// The proposal last evaluated for an event.
    #[must_use]
    pub fn proposal(&self, event: EventIx) -> Option<&Proposal> {
        self.proposals[event.at()].as_deref()
    }

    /// Keeps a proposal until the next crash.
    pub fn propose(&mut self, event: EventIx, proposal: Proposal) {
        self.proposals[event.at()] = Some(Rc::new(proposal));
    }

    /// Loses what a crash loses.
    pub fn crash(&mut self) {
        self.proposals.iter_mut().for_each(|proposal| *proposal = None);
    }

    /// Makes a claim the current authority of a Work and the one before it the stale one.
    pub fn grant(&mut self, work: WorkIx, authority: Authority) {
        let work = &mut self.works[work.at()];
        work.stale = work.current.replace(authority);
    }

    /// The authority an actor shows; one never granted, where there is none.
    #[must_use]
    pub fn authority(&self, work: WorkIx, by: action::Authority) -> Authority {
        let bound = &self.works[work.at()];
        let granted = match by {
            action::Authority::Current => bound.current,
            action::Authority::Stale => bound.stale,
        };
        granted.unwrap_or(Authority {
            work: self.work(work),
            attempt: AttemptNo(1),
            epoch: Epoch(0),
            token: TokenHash([0xff; 32]),
        })
    }

    /// The number of an attempt that an operator names; 0 before the first.
    #[must_use]
    pub fn expected(&self, work: WorkIx, expect: Expect) -> Option<AttemptNo> {
        let last = self.works[work.at()].current.map_or(0, |authority| authority.attempt.0);
        match expect {
            Expect::Any => None,
            Expect::Last => Some(AttemptNo(last)),
            Expect::Other => Some(AttemptNo(last + 1)),
        }
    }

    /// The segment an exit is reported of.
    #[must_use]
    pub fn segment(&self, work: WorkIx, by: action::Authority) -> Segment {
        let Authority { attempt, epoch, .. } = self.authority(work, by);
        Segment { attempt, epoch }
    }
}

fn position<T: PartialEq>(list: &[T], wanted: &T) -> Option<u8> {
    list.iter().position(|item| item == wanted).and_then(|at| u8::try_from(at).ok())
}
