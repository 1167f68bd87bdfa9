//! What worlds are put together from, so that a world says only what is special of it.
//!
//! A world starts from [`BARE`] and names what it adds: groups of offers, the Works and their bindings, deliveries,
//! waits, and the sets of things its hosts and operators say. Whatever two worlds share is a part here and has a name.

use crate::action::{Ending, Expect, Hint, Kind, Mark, SendAnswer};
use crate::index::{Proofs, WaitIx, WorkIx};
use crate::worlds::{
    Ask, Binding, Controls, Decision, Delivery, Does, Exhausted, Of, Policy, Source, WaitDef, When,
    WorkDef, WorkKind, World,
};

/// One scope, one kind, one configuration, nothing offered: what a world does not say of itself.
pub(super) const BARE: World = World {
    name: "bare",
    shows: "nothing",
    scopes: &["main"],
    inside: &[],
    reads: &[],
    keys: &[],
    generations: &[],
    types: &["note"],
    kinds: &[PLAIN],
    deliveries: &[],
    works: &[],
    waits: &[],
    turns: &[],
    retries: &[],
    successors: &[],
    operated: &[FIRST, SECOND, THIRD, FOURTH],
    lease: 1,
    capacity: 1,
    depth_max: 3,
    suspect_window: 0,
    configurations: 1,
    hints: &[Hint::None],
    hint: 1,
    restores: 0,
    processes: 0,
    offers: &[],
    endings: &[(Ending::Completed, false)],
    expects: &[Expect::Any],
    answers: &SendAnswer::ALL,
    proofs: &[Proofs::NONE],
};

// Offers. A world lists the groups it needs and after them the kinds that are its own.

/// What comes is accepted and routed; every world needs it.
pub(super) const ROUTES: &[Kind] = &[Kind::Accept, Kind::Evaluate, Kind::CommitRoute];

/// Attempts start, run and are completed, and what ran is seen to have exited.
pub(super) const RUNS: &[Kind] = &[
    Kind::Claim,
    Kind::ClearNeverHanded,
    Kind::Pin,
    Kind::Complete,
    Kind::Vacate,
    Kind::ProcessExits,
];

/// Time passes, so leases run out and are recovered. Without it nothing expires.
pub(super) const EXPIRES: &[Kind] = &[Kind::Tick, Kind::ClaimRecovery, Kind::SettleRecovery];

/// Attempts wait and matches wake them.
pub(super) const WAKES: &[Kind] = &[Kind::RegisterWait, Kind::Wake];

/// Waits time out, in one step or in two.
pub(super) const TIMEOUTS: &[Kind] = &[Kind::FireTimer, Kind::AcceptTimeout];

/// Attempts fail and their retries fall due.
pub(super) const FAILS: &[Kind] = &[Kind::Fail, Kind::FireRetry];

/// The database is restored, and released by a person.
pub(super) const RESTORES: &[Kind] = &[Kind::Restore, Kind::ReleaseRestore];

/// Hosts call executors, and processes go their way; for worlds with the crash grain. OURS-19 OURS-20
pub(super) const PROCESSES: &[Kind] =
    &[Kind::Launch, Kind::Proceed, Kind::LetGo, Kind::ProcessEnds, Kind::KeeperDies];

// What hosts and operators say.

/// Turns complete or are handed off, and nothing is declared.
pub(super) const COMPLETES_OR_HANDS_OFF: &[(Ending, bool)] =
    &[(Ending::Completed, false), (Ending::Handoff, false)];

/// Every hint that an executor may give.
pub(super) const EVERY_HINT: &[Hint] = &[Hint::None, Hint::Valid, Hint::Invalid, Hint::Excessive];

/// An operator names an attempt, the right one or another.
pub(super) const NAMES_ATTEMPT: &[Expect] = &[Expect::Last, Expect::Other];

/// Every watermark that a registration may declare.
pub(super) const EVERY_MARK: &[Mark] = &[Mark::Start, Mark::Batch, Mark::Latest, Mark::Beyond];

// Works: their places, their bindings, their kinds.

pub(super) const FIRST: WorkIx = WorkIx(0);
pub(super) const SECOND: WorkIx = WorkIx(1);
pub(super) const THIRD: WorkIx = WorkIx(2);
pub(super) const FOURTH: WorkIx = WorkIx(3);

/// A parked attempt goes on in a process of its own.
pub(super) const RESUMES: Binding =
    Binding { name: "agent", resumes: true, holds: false, active: None, controls: Controls::NONE };

/// An attempt that waits ends.
pub(super) const RUNS_ONCE: Binding = Binding { name: "shell", resumes: false, ..RESUMES };

/// The same, and its processes are held until they are pinned.
pub(super) const HELD: Binding = Binding { name: "keeper", holds: true, ..RUNS_ONCE };

/// A Work of the universe.
pub(super) const fn work(name: &'static str, binding: Binding) -> WorkDef {
    WorkDef { name, binding, reloaded: None }
}

/// The first attempts of a Work: as many turns that are published, or failures that are retried.
pub(super) const fn attempts<const N: usize>(work: WorkIx) -> [(WorkIx, u8); N] {
    let mut all = [(work, 1); N];
    let mut at = 1;
    while at < N {
        all[at].1 = all[at - 1].1 + 1;
        at += 1;
    }
    all
}

/// The policy of worlds that are not about retries: the first failure is the last, and leaves the Work held.
pub(super) const ONCE: Policy = Policy { budget: 1, steps: &[], exhausted: Exhausted::Keep };

/// Two failures.
pub(super) const TWICE: Policy = Policy { budget: 2, steps: &[1], ..ONCE };

/// Three failures, the second retry later than the first.
pub(super) const THRICE: Policy = Policy { budget: 3, steps: &[1, 2], ..ONCE };

/// The kind that most Works are of.
pub(super) const PLAIN: WorkKind =
    WorkKind { name: "run", standing: false, close_after: None, retry: ONCE, reloaded: None };

/// Work that stands.
pub(super) const JOB: WorkKind = WorkKind { name: "job", standing: true, ..PLAIN };

/// The kind of Work that is tried again.
pub(super) const fn retried(retry: Policy) -> WorkKind {
    WorkKind { retry, ..PLAIN }
}

// Decisions and deliveries.

/// Types of worlds where something is waited for: a result is of type 1.
pub(super) const WITH_RESULTS: &[&str] = &["note", "result"];

/// The decision to start a Work, or to go on with the one that owns the key.
pub(super) const fn starts(proposes: WorkIx) -> Decision {
    Decision { does: Does::Work, proposes: Some(proposes), ..Decision::DECLINES }
}

/// A decision that makes no Work.
pub(super) const fn does(does: Does) -> Decision {
    Decision { does, ..Decision::DECLINES }
}

impl Decision {
    /// The same, with keys to attach.
    pub(super) const fn attaching(self, attaches: &'static [u8]) -> Self {
        Self { attaches, ..self }
    }

    /// The same, with successors for Works that have ended.
    pub(super) const fn reopening(self, reopens: &'static [(WorkIx, WorkIx)]) -> Self {
        Self { reopens, ..self }
    }

    /// The same, for a Work of another kind.
    pub(super) const fn of_kind(self, kind: u8) -> Self {
        Self { kind, ..self }
    }
}

/// A delivery of its own identity, with a key and a route that starts a Work.
pub(super) const fn keyed(name: &'static str, key: u8, proposes: WorkIx) -> Delivery {
    Delivery {
        name,
        identity: name,
        kind: 0,
        core: false,
        key: Some(key),
        target: None,
        scope: 0,
        decides: starts(proposes),
        reloaded: None,
        body: 0,
        signs: None,
        asks: None,
        when: When::Always,
    }
}

/// A delivery with the first key, which starts the first Work or is more for it.
pub(super) const fn note(name: &'static str) -> Delivery {
    keyed(name, 0, FIRST)
}

/// A result for the first Work, which a sender has once an attempt of it started.
pub(super) const fn result(name: &'static str) -> Delivery {
    Delivery { kind: 1, ..note(name) }.once(When::Started(FIRST))
}

/// A delivery that says nothing of any Work.
pub(super) const fn keyless(name: &'static str) -> Delivery {
    Delivery { key: None, decides: does(Does::Work), ..note(name) }
}

/// A request of an operator.
pub(super) const fn asks(name: &'static str, ask: Ask) -> Delivery {
    Delivery { core: true, asks: Some(ask), ..keyless(name) }
}

impl Delivery {
    /// The same, which its sender has from then on.
    pub(super) const fn once(self, when: When) -> Self {
        Self { when, ..self }
    }

    /// The same, with another decision of its handler.
    pub(super) const fn deciding(self, decides: Decision) -> Self {
        Self { decides, ..self }
    }

    /// The same in another scope.
    pub(super) const fn within(self, scope: u8) -> Self {
        Self { scope, ..self }
    }

    /// The same, which names a Work.
    pub(super) const fn to(self, work: WorkIx) -> Self {
        Self { target: Some(work), ..self }
    }
}

/// Those deliveries and one more: the next larger bound where the deliveries are what bounds a world.
pub(super) const fn and_one<const N: usize>(those: &[Delivery], one: Delivery) -> [Delivery; N] {
    assert!(those.len() + 1 == N, "one more delivery than there are");
    let mut all = [one; N];
    let mut at = 0;
    while at < those.len() {
        all[at] = those[at];
        at += 1;
    }
    all
}

// Waits.

/// A wait of the first Work on its first key, passing results only, without a timeout.
pub(super) const CI: WaitDef = WaitDef {
    name: "ci",
    work: FIRST,
    keys: &[0],
    types: &[1],
    timeout: None,
    source: None,
    after: &[Mark::Start, Mark::Latest],
};

/// The same for an attempt that has seen no more than the batch it was given.
pub(super) const CI_FROM_BATCH: WaitDef = CI.after(&[Mark::Batch]);

/// A wait of the first Work that only its timeout ends.
pub(super) const PAUSE: WaitDef =
    WaitDef { name: "pause", keys: &[], types: &[], ..CI }.after(&[Mark::Latest]).timed(2);

/// A wait on a key that the first Work never owns.
pub(super) const FOREIGN: WaitDef =
    WaitDef { name: "foreign", keys: &[0, 1], ..CI }.after(&[Mark::Latest]);

/// A wait that nothing could end.
pub(super) const ENDLESS: WaitDef =
    WaitDef { name: "endless", keys: &[], ..CI }.after(&[Mark::Latest]);

/// What a world of one wait is about: a result, another, and something that is none and comes while it stands.
pub(super) const WAIT_DELIVERIES: &[Delivery] = &[
    note("start"),
    result("green"),
    result("red"),
    note("chatter").once(When::Registered(WaitIx(0))),
];

impl WaitDef {
    /// The same with a timeout, in ticks.
    pub(super) const fn timed(self, ticks: u8) -> Self {
        Self { timeout: Some(ticks), ..self }
    }

    /// The same with other watermarks to declare.
    pub(super) const fn after(self, after: &'static [Mark]) -> Self {
        Self { after, ..self }
    }

    /// The same with a subscription to the first key of the first scope, of which these events may ever be.
    pub(super) const fn subscribing(self, events: &'static [Of]) -> Self {
        Self { source: Some(Source { key: 0, scope: 0, events }), ..self }
    }
}
