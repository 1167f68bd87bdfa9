//! What differs between the worlds that rows are staged in, and the worlds made of it, each once.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use abide_model::index::WorkIx;
use abide_model::state::Fallback;
use abide_model::worlds::{
    self, Ask, Binding, Control, ControlPolicy, Controls, Decision, Delivery, Does, Of, Policy,
    Source, WaitDef, When, WorkDef, WorkKind, World,
};

use super::{DEPTH, EVENTS, TooLarge};

/// Shapes of worlds kept for the life of the process.
const SHAPES: usize = 20_000;

/// A delivery as a shape has it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(in crate::audit) struct Offer {
    pub(in crate::audit) key: Option<u8>,
    pub(in crate::audit) target: Option<u8>,
    pub(in crate::audit) scope: u8,
    pub(in crate::audit) kind: u8,
    pub(in crate::audit) core: bool,
    pub(in crate::audit) identity: u8,
    pub(in crate::audit) body: u8,
    pub(in crate::audit) signed: bool,
    pub(in crate::audit) decides: Decides,
    pub(in crate::audit) asks: Option<Asks>,
}

/// A decision as a shape has it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(in crate::audit) struct Decides {
    pub(in crate::audit) does: DoesWhat,
    pub(in crate::audit) attaches: Vec<u8>,
    pub(in crate::audit) proposes: Option<u8>,
    pub(in crate::audit) kind: u8,
    pub(in crate::audit) reopens: Option<(u8, u8)>,
    pub(in crate::audit) steers: Steers,
}

/// What a route says of a running attempt, as a shape has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(in crate::audit) struct Steers {
    pub(in crate::audit) policy: ControlPolicy,
    pub(in crate::audit) fallback: Fallback,
    pub(in crate::audit) on_error: Fallback,
}

/// What a decision does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(in crate::audit) enum DoesWhat {
    Decline,
    Drop,
    Close,
    Update,
    Work,
}

impl Decides {
    /// No route matched.
    pub(in crate::audit) const NOTHING: Self = Self {
        does: DoesWhat::Decline,
        attaches: Vec::new(),
        proposes: None,
        kind: 0,
        reopens: None,
        steers: Steers {
            policy: ControlPolicy::Queue,
            fallback: Fallback::None,
            on_error: Fallback::None,
        },
    };
}

/// Whose request a delivery is, as a shape has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(in crate::audit) enum Asks {
    Replay(u8),
    Reopen(u8),
    Release(u8),
    Create { parent: Option<u8>, authorised: bool },
    Retry(u8),
    Interrupt(u8),
    ReleaseRestore,
}

/// A wait as a shape has it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct WaitShape {
    pub(super) work: u8,
    pub(super) keys: Vec<u8>,
    pub(super) types: Vec<u8>,
    pub(super) timeout: bool,
    pub(super) source: Option<(u8, u8, Vec<u8>)>,
}

/// Everything about a world that differs between rows.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub(super) struct Shape {
    pub(super) scopes: usize,
    pub(super) keys: usize,
    pub(super) generations: Vec<(u8, u8)>,
    pub(super) reads: Vec<(u8, u8)>,
    pub(super) works: Vec<Bound>,
    pub(super) deliveries: Vec<Offer>,
    pub(super) waits: Vec<WaitShape>,
    pub(super) turns: Vec<(u8, u8)>,
    pub(super) successors: Vec<u8>,
    pub(super) retries: Vec<(u8, u8)>,
    pub(super) subject: Kind,
}

/// What the binding of a Work can do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub(super) struct Bound {
    pub(super) resumes: bool,
    pub(super) holds: bool,
    pub(super) injects: bool,
    pub(super) interrupts: bool,
}

/// The kind of the Work concerned, with what its failures lead to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub(super) struct Kind {
    pub(super) standing: bool,
    pub(super) close_after: bool,
    pub(super) budget: u8,
    pub(super) fails: bool,
}

static KEPT: Mutex<Option<HashMap<Shape, &'static World>>> = Mutex::new(None);

/// How many shapes are kept.
pub(in crate::audit) fn shapes() -> usize {
    KEPT.lock().unwrap_or_else(PoisonError::into_inner).as_ref().map_or(0, HashMap::len)
}

/// The world of a shape; the same one for every row of that shape, in every audit of this process.
pub(super) fn kept(shape: &Shape) -> Result<&'static World, TooLarge> {
    let mut kept = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
    let kept = kept.get_or_insert_default();
    if let Some(world) = kept.get(shape) {
        return Ok(world);
    }
    if kept.len() >= SHAPES {
        return Err(TooLarge("more than 20000 shapes of worlds would have to be kept"));
    }
    let world: &'static World = Box::leak(Box::new(made(shape)));
    kept.insert(shape.clone(), world);
    Ok(world)
}

fn leak<T>(list: Vec<T>) -> &'static [T] {
    if list.is_empty() { &[] } else { list.leak() }
}

/// Names mean nothing on a stage, but identities are told apart by theirs.
const IDENTITIES: [&str; EVENTS + 1] = {
    const DIGITS: &str = "\
        000102030405060708091011121314151617181920212223242526272829303132333435363738394041424344454647484950515253545556\
        57585960616263646566676869707172737475767778798081828384858687888990919293949596";
    let mut names = [""; EVENTS + 1];
    let mut at = 0;
    while at <= EVENTS {
        let (_, rest) = DIGITS.split_at(2 * at);
        let (name, _) = rest.split_at(2);
        names[at] = name;
        at += 1;
    }
    names
};

fn kind(kind: Kind) -> WorkKind {
    let Kind { standing, close_after, budget, fails } = kind;
    let exhausted = if fails { worlds::Exhausted::Fail } else { worlds::Exhausted::Keep };
    WorkKind {
        name: "kind",
        standing,
        close_after: close_after.then_some(1),
        retry: Policy { budget, steps: &STEPS, exhausted },
        reloaded: None,
    }
}

/// The kind of the Work concerned, behind the two that a Work may be made of.
pub(super) const SUBJECT: u8 = 2;
/// Every delay is one tick on a stage: reached or not.
static STEPS: [u8; 255] = [1; 255];

/// Ids that stand for nothing, where a world wants as many names as things.
static NAMES: [&str; EVENTS] = [""; EVENTS];

fn made(shape: &Shape) -> World {
    World {
        name: "audit",
        shows: "one row of a journal",
        scopes: &NAMES[..shape.scopes],
        inside: &[],
        reads: leak(shape.reads.clone()),
        keys: &NAMES[..shape.keys],
        generations: leak(shape.generations.clone()),
        types: &[],
        kinds: leak(vec![
            kind(Kind::default()),
            kind(Kind { standing: true, ..Kind::default() }),
            kind(shape.subject),
        ]),
        deliveries: leak(shape.deliveries.iter().map(delivery).collect()),
        works: leak(shape.works.iter().copied().map(work).collect()),
        waits: leak(shape.waits.iter().map(wait).collect()),
        turns: leak(shape.turns.iter().map(|(work, n)| (WorkIx(*work), *n)).collect()),
        successors: leak(shape.successors.iter().map(|work| WorkIx(*work)).collect()),
        operated: &[],
        lease: 1,
        capacity: 1,
        depth_max: DEPTH,
        suspect_window: 1,
        configurations: 2,
        offers: &[],
        endings: &[],
        retries: leak(shape.retries.iter().map(|(work, n)| (WorkIx(*work), *n)).collect()),
        hints: &[],
        hint: 1,
        restores: 0,
        processes: 0,
        expects: &[],
        answers: &[],
        proofs: &[],
    }
}

fn work(bound: Bound) -> WorkDef {
    let Bound { resumes, holds, injects, interrupts } = bound;
    let controls = Controls { injects, interrupts };
    let binding = Binding { name: "binding", resumes, holds, active: None, controls };
    WorkDef { name: "work", binding, reloaded: None }
}

fn wait(shape: &WaitShape) -> WaitDef {
    let of = |delivery: &u8| Of::Delivery(*delivery);
    WaitDef {
        name: "wait",
        work: WorkIx(shape.work),
        keys: leak(shape.keys.clone()),
        types: leak(shape.types.clone()),
        timeout: shape.timeout.then_some(1),
        source: shape.source.as_ref().map(|(key, scope, events)| Source {
            key: *key,
            scope: *scope,
            events: leak(events.iter().map(of).collect()),
        }),
        after: &[],
    }
}

fn delivery(offer: &Offer) -> Delivery {
    Delivery {
        name: "event",
        identity: IDENTITIES[usize::from(offer.identity).min(EVENTS)],
        kind: offer.kind,
        core: offer.core,
        key: offer.key,
        target: offer.target.map(WorkIx),
        scope: offer.scope,
        decides: decision(&offer.decides),
        reloaded: None,
        body: offer.body,
        signs: offer.signed.then_some(0),
        asks: offer.asks.map(asks),
        when: When::Always,
    }
}

fn decision(decides: &Decides) -> Decision {
    Decision {
        does: match decides.does {
            DoesWhat::Decline => Does::Decline,
            DoesWhat::Drop => Does::Drop,
            DoesWhat::Close => Does::Close,
            DoesWhat::Update => Does::Update,
            DoesWhat::Work => Does::Work,
        },
        attaches: leak(decides.attaches.clone()),
        proposes: decides.proposes.map(WorkIx),
        kind: decides.kind,
        reopens: leak(
            decides.reopens.iter().map(|(old, new)| (WorkIx(*old), WorkIx(*new))).collect(),
        ),
        control: Control {
            policy: decides.steers.policy,
            fallback: decides.steers.fallback,
            on_error: decides.steers.on_error,
        },
    }
}

fn asks(asks: Asks) -> Ask {
    match asks {
        Asks::Replay(delivery) => Ask::Replay(Of::Delivery(delivery)),
        Asks::Reopen(work) => Ask::Reopen(WorkIx(work)),
        Asks::Release(work) => Ask::Release(WorkIx(work)),
        Asks::Retry(work) => Ask::Retry(WorkIx(work)),
        Asks::Interrupt(work) => Ask::Interrupt(WorkIx(work)),
        Asks::ReleaseRestore => Ask::ReleaseRestore,
        Asks::Create { parent, authorised } => {
            Ask::Create { parent: parent.map(WorkIx), authorised }
        }
    }
}
