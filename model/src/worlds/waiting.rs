//! Worlds of waits, wakes and timers.

use crate::action::{Ending, Kind, Mark};
use crate::index::WorkIx;
use crate::worlds::parts::*;
use crate::worlds::{Ask, Delivery, Of, Source, WaitDef, When, World};

/// A resumable Work, a match, a timer.
pub(super) const WAITS: World = World {
    name: "waits",
    shows: "match, timeout, cancel and registration in every order, for an attempt that resumes",
    scopes: &["main"],
    keys: &["ci/1", "ci/2"],
    types: &["note", "result"],
    deliveries: WAIT_DELIVERIES,
    works: &[work("fix", RESUMES)],
    waits: WAIT_DEFS,
    lease: 1,
    capacity: 2,
    depth_max: 5,
    offers: WAITING,
    ..BARE
};

/// The next larger bound of [`WAITS`]: one more tick of a lease.
pub(super) const WAITS_LARGER: World = World { name: "waits-larger", lease: 2, ..WAITS };

/// The same for an attempt that ends as it waits.
pub(super) const WAITS_NEXT_ATTEMPT: World = World {
    name: "waits-next-attempt",
    shows: "the same for an attempt that ends when it waits, so that the wake starts the next one",
    deliveries: &[keyed("start", 0, 0), result("green"), result("red")],
    works: &[work("fix", RUNS_ONCE)],
    ..WAITS
};

/// The next larger bound of [`WAITS_NEXT_ATTEMPT`]: one more tick of a lease.
pub(super) const WAITS_NEXT_ATTEMPT_LARGER: World =
    World { name: "waits-next-attempt-larger", lease: 2, ..WAITS_NEXT_ATTEMPT };

/// No timer hides a lost wake here.
pub(super) const WAIT_NO_TIMERS: World = World {
    name: "wait-no-timers",
    shows: "two Works wait without timeouts, so that no timer hides a lost wake",
    scopes: &["main"],
    keys: &["ci/1", "ci/2"],
    types: &["note", "result"],
    deliveries: &[
        keyed("start", 0, 0),
        result("green"),
        keyed("other", 1, 1),
        Delivery { kind: 1, when: When::Started(WorkIx(1)), ..keyed("blue", 1, 1) },
    ],
    works: &[work("fix", RESUMES), work("ship", RUNS_ONCE)],
    waits: &[
        CI,
        WaitDef { name: "deploy", work: WorkIx(1), keys: &[1], after: &[Mark::Start], ..CI },
    ],
    lease: 1,
    capacity: 1,
    depth_max: 5,
    offers: WAITING_UNTIMED,
    ..BARE
};

/// The next larger bound of [`WAIT_NO_TIMERS`]: room for both Works at once.
pub(super) const WAIT_NO_TIMERS_LARGER: World =
    World { name: "wait-no-timers-larger", capacity: 2, ..WAIT_NO_TIMERS };

/// A wait after a wait.
pub(super) const PAUSES: World = World {
    name: "pauses",
    shows: "one wait follows another: a pause that only its timeout ends, and a wait for a result",
    deliveries: &[keyed("start", 0, 0), result("green")],
    waits: &[PAUSE, WaitDef { timeout: Some(1), ..CI }],
    ..WAITS
};

/// The next larger bound of [`PAUSES`]: one more tick of a lease.
pub(super) const PAUSES_LARGER: World = World { name: "pauses-larger", lease: 2, ..PAUSES };

/// Chains end at their limit.
pub(super) const DEPTH: World = World {
    name: "depth",
    shows: "a root allows one derivation: a timeout is refused, and so is the continuation of one",
    scopes: &["main"],
    keys: &["ci/1"],
    types: &["note", "result"],
    deliveries: &[keyed("start", 0, 0), result("green"), result("red")],
    works: &[work("fix", RESUMES)],
    waits: &[
        WaitDef { timeout: Some(1), ..CI },
        WaitDef { name: "again", timeout: Some(1), after: &[Mark::Latest], ..CI },
    ],
    lease: 1,
    capacity: 1,
    depth_max: 1,
    offers: WAITING,
    ..BARE
};

/// The next larger bound of [`DEPTH`]: one more tick of a lease.
pub(super) const DEPTH_LARGER: World = World { name: "depth-larger", lease: 2, ..DEPTH };

/// Everything that may end a wait, with a person in between.
pub(super) const WAIT_RACES: World = World {
    name: "wait-races",
    shows: "a match, a timeout, a cancel and a hold race for a wait of Work that published news about itself before",
    keys: &["ci/1"],
    types: &["note", "result", "core.turn.ended"],
    deliveries: &[
        keyed("start", 0, 0),
        result("green"),
        Delivery { when: When::Exists(WorkIx(0)), ..asks("release", Ask::Release(WorkIx(0))) },
    ],
    works: &[work("fix", RESUMES)],
    waits: &[
        WaitDef { types: &[], timeout: Some(1), after: &[Mark::Start], ..CI },
        WaitDef {
            name: "echo",
            types: &[2],
            timeout: Some(1),
            source: Some(Source { key: 0, scope: 0, events: &[Of::Ended(0, 1)] }),
            after: &[Mark::Start],
            ..CI
        },
    ],
    turns: &[(WorkIx(0), 1)],
    lease: 1,
    capacity: 1,
    depth_max: 2,
    offers: &[
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
        Kind::Translate,
        Kind::Vacate,
        Kind::ProcessExits,
        Kind::Hold,
        Kind::Release,
        Kind::Cancel,
        Kind::Tick,
    ],
    endings: &[(Ending::Completed, false), (Ending::Handoff, true)],
    ..BARE
};

/// The next larger bound of [`WAIT_RACES`]: one more tick of a lease.
pub(super) const WAIT_RACES_LARGER: World =
    World { name: "wait-races-larger", lease: 2, ..WAIT_RACES };
