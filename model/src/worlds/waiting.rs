//! Worlds of waits, wakes and timers.

use crate::action::{Ending, Kind, Mark};
use crate::worlds::parts::*;
use crate::worlds::{Ask, Delivery, Of, WaitDef, When, World};

/// Whatever may happen to a wait, and a person who has had enough of it.
const WAITING: &[&[Kind]] = &[ROUTES, RUNS, EXPIRES, WAKES, TIMEOUTS, &[Kind::Cancel]];

/// A resumable Work, a match, a timer.
pub(super) const WAITS: World = World {
    name: "waits",
    shows: "match, timeout, cancel and registration in every order, for an attempt that resumes",
    keys: &["ci/1", "ci/2"],
    types: WITH_RESULTS,
    deliveries: WAIT_DELIVERIES,
    works: &[work("fix", RESUMES)],
    waits: &[CI.timed(1).after(EVERY_MARK), FOREIGN, ENDLESS],
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
    deliveries: &[note("start"), result("green"), result("red")],
    works: &[work("fix", RUNS_ONCE)],
    ..WAITS
};

/// The next larger bound of [`WAITS_NEXT_ATTEMPT`]: one more tick of a lease.
pub(super) const WAITS_NEXT_ATTEMPT_LARGER: World =
    World { name: "waits-next-attempt-larger", lease: 2, ..WAITS_NEXT_ATTEMPT };

/// No timer hides a lost wake here: without a clock nothing expires, so nothing needs recovery.
pub(super) const WAIT_NO_TIMERS: World = World {
    name: "wait-no-timers",
    shows: "two Works wait without timeouts, so that no timer hides a lost wake",
    keys: &["ci/1", "ci/2"],
    types: WITH_RESULTS,
    deliveries: &[
        note("start"),
        result("green"),
        keyed("other", 1, SECOND),
        Delivery { kind: 1, ..keyed("blue", 1, SECOND) }.once(When::Started(SECOND)),
    ],
    works: &[work("fix", RESUMES), work("ship", RUNS_ONCE)],
    waits: &[CI, WaitDef { name: "deploy", work: SECOND, keys: &[1], ..CI }.after(&[Mark::Start])],
    depth_max: 5,
    offers: &[ROUTES, RUNS, WAKES, TIMEOUTS, &[Kind::Cancel]],
    ..BARE
};

/// The next larger bound of [`WAIT_NO_TIMERS`]: room for both Works at once.
pub(super) const WAIT_NO_TIMERS_LARGER: World =
    World { name: "wait-no-timers-larger", capacity: 2, ..WAIT_NO_TIMERS };

/// A wait after a wait.
pub(super) const PAUSES: World = World {
    name: "pauses",
    shows: "one wait follows another: a pause that only its timeout ends, and a wait for a result",
    deliveries: &[note("start"), result("green")],
    waits: &[PAUSE, CI.timed(1)],
    ..WAITS
};

/// The next larger bound of [`PAUSES`]: one more tick of a lease.
pub(super) const PAUSES_LARGER: World = World { name: "pauses-larger", lease: 2, ..PAUSES };

/// Chains end at their limit.
pub(super) const DEPTH: World = World {
    name: "depth",
    shows: "a root allows one derivation: a timeout is refused, and so is the continuation of one",
    keys: &["ci/1"],
    types: WITH_RESULTS,
    deliveries: &[note("start"), result("green"), result("red")],
    works: &[work("fix", RESUMES)],
    waits: &[CI.timed(1), WaitDef { name: "again", ..CI }.timed(1).after(&[Mark::Latest])],
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
        note("start"),
        result("green"),
        asks("release", Ask::Release(FIRST)).once(When::Exists(FIRST)),
    ],
    works: &[work("fix", RESUMES)],
    waits: &[
        WaitDef { types: &[], ..CI }.timed(1).after(&[Mark::Start]),
        WaitDef { name: "echo", types: &[2], ..CI }
            .subscribing(&[Of::Ended(0, 1)])
            .timed(1)
            .after(&[Mark::Start]),
    ],
    turns: &attempts::<1>(FIRST),
    depth_max: 2,
    offers: &[
        ROUTES,
        RUNS,
        EXPIRES,
        WAKES,
        TIMEOUTS,
        &[Kind::Translate, Kind::Hold, Kind::Release, Kind::Cancel],
    ],
    endings: &[(Ending::Completed, false), (Ending::Handoff, true)],
    ..BARE
};

/// The next larger bound of [`WAIT_RACES`]: one more tick of a lease.
pub(super) const WAIT_RACES_LARGER: World =
    World { name: "wait-races-larger", lease: 2, ..WAIT_RACES };
