//! What several worlds are put together from: bindings, kinds, deliveries and sets of offers.

use crate::action::{Ending, Expect, Hint, Kind, Mark};
use crate::index::{WaitIx, WorkIx};
use crate::worlds::{
    Ask, Binding, Decision, Delivery, Does, Exhausted, Policy, WaitDef, When, WorkDef, WorkKind,
    World,
};

pub(super) const RESUMES: Binding =
    Binding { name: "agent", resumes: true, holds: false, active: None };
pub(super) const RUNS_ONCE: Binding = Binding { name: "shell", resumes: false, ..RESUMES };
pub(super) const HELD: Binding = Binding { name: "keeper", holds: true, ..RUNS_ONCE };

/// The policy of worlds that are not about retries: the first failure is the last, and leaves the Work held.
pub(super) const ONCE: Policy = Policy { budget: 1, steps: &[], exhausted: Exhausted::Keep };

/// The kind that most Works are of.
pub(super) const PLAIN: WorkKind =
    WorkKind { name: "run", standing: false, close_after: None, retry: ONCE, reloaded: None };

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
    operated: &[WorkIx(0), WorkIx(1), WorkIx(2), WorkIx(3)],
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
};

/// The decision to start a Work, or to go on with the one that owns the key.
pub(super) const fn starts(proposes: u8) -> Decision {
    Decision { does: Does::Work, proposes: Some(WorkIx(proposes)), ..Decision::DECLINES }
}

/// A delivery of its own identity, with a key and a matching route.
pub(super) const fn keyed(name: &'static str, key: u8, proposes: u8) -> Delivery {
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

/// A delivery that says nothing of any Work.
pub(super) const fn keyless(name: &'static str) -> Delivery {
    Delivery { key: None, decides: Decision { proposes: None, ..starts(0) }, ..keyed(name, 0, 0) }
}

/// A decision that makes no Work.
pub(super) const fn does(does: Does) -> Decision {
    Decision { does, ..Decision::DECLINES }
}

/// A request of an operator.
pub(super) const fn asks(name: &'static str, ask: Ask) -> Delivery {
    Delivery { core: true, asks: Some(ask), ..keyless(name) }
}

/// A Work of the universe.
pub(super) const fn work(name: &'static str, binding: Binding) -> WorkDef {
    WorkDef { name, binding }
}

pub(super) const ROUTES: &[Kind] =
    &[Kind::Accept, Kind::Evaluate, Kind::CommitRoute, Kind::Crash, Kind::Cancel];

pub(super) const RUNNING: &[Kind] = &[
    Kind::Accept,
    Kind::Evaluate,
    Kind::CommitRoute,
    Kind::Claim,
    Kind::ClearNeverHanded,
    Kind::Pin,
    Kind::Renew,
    Kind::Complete,
    Kind::Fail,
    Kind::ClaimRecovery,
    Kind::SettleRecovery,
    Kind::Vacate,
    Kind::ProcessExits,
    Kind::Cancel,
    Kind::Tick,
];

pub(super) const WAITING: &[Kind] = &[
    Kind::Accept,
    Kind::Evaluate,
    Kind::CommitRoute,
    Kind::Claim,
    Kind::ClearNeverHanded,
    Kind::Pin,
    Kind::Complete,
    Kind::ClaimRecovery,
    Kind::SettleRecovery,
    Kind::RegisterWait,
    Kind::Wake,
    Kind::FireTimer,
    Kind::AcceptTimeout,
    Kind::Vacate,
    Kind::ProcessExits,
    Kind::Cancel,
    Kind::Tick,
];

/// Waiting without a clock: nothing expires, so nothing needs recovery.
pub(super) const WAITING_UNTIMED: &[Kind] = &[
    Kind::Accept,
    Kind::Evaluate,
    Kind::CommitRoute,
    Kind::Claim,
    Kind::ClearNeverHanded,
    Kind::Pin,
    Kind::Complete,
    Kind::RegisterWait,
    Kind::Wake,
    Kind::FireTimer,
    Kind::AcceptTimeout,
    Kind::Vacate,
    Kind::ProcessExits,
    Kind::Cancel,
];

pub(super) const EVERY_MARK: &[Mark] = &[Mark::Start, Mark::Batch, Mark::Latest, Mark::Beyond];

/// A wait of the first Work on its first key, passing results only, without a timeout.
pub(super) const CI: WaitDef = WaitDef {
    name: "ci",
    work: WorkIx(0),
    keys: &[0],
    types: &[1],
    timeout: None,
    source: None,
    after: &[Mark::Start, Mark::Latest],
};

/// A wait of the first Work that only its timeout ends.
pub(super) const PAUSE: WaitDef = WaitDef {
    name: "pause",
    keys: &[],
    types: &[],
    timeout: Some(2),
    after: &[Mark::Latest],
    ..CI
};

/// A wait on a key that the first Work never owns.
pub(super) const FOREIGN: WaitDef =
    WaitDef { name: "foreign", keys: &[0, 1], after: &[Mark::Latest], ..CI };

/// A wait that nothing could end.
pub(super) const ENDLESS: WaitDef =
    WaitDef { name: "endless", keys: &[], after: &[Mark::Latest], ..CI };

/// A result for the first Work, which a sender has once an attempt of it started.
pub(super) const fn result(name: &'static str) -> Delivery {
    Delivery { kind: 1, when: When::Started(WorkIx(0)), ..keyed(name, 0, 0) }
}

pub(super) const WAIT_DELIVERIES: &[Delivery] = &[
    keyed("start", 0, 0),
    result("green"),
    result("red"),
    Delivery { kind: 0, when: When::Registered(WaitIx(0)), ..result("chatter") },
];

pub(super) const WAIT_DEFS: &[WaitDef] =
    &[WaitDef { timeout: Some(1), after: EVERY_MARK, ..CI }, FOREIGN, ENDLESS];
