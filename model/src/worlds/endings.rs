//! Worlds of what ends and what comes after: successors, handoffs, standing Work.

use crate::action::{Ending, Expect, Kind, Mark};
use crate::index::{DeliveryIx, WorkIx};
use crate::worlds::parts::*;
use crate::worlds::{Ask, Does, Of, WaitDef, When, WorkKind, World};

/// Which Work succeeds which.
const SUCCESSORS: &[(WorkIx, WorkIx)] = &[(FIRST, SECOND), (SECOND, THIRD)];

/// What comes after the end of a Work.
pub(super) const TERMINAL: World = World {
    name: "terminal",
    shows: "events come to ended Work; a route or an operator reopens it under the next generation of its key, which senders may name; replays",
    keys: &["issue/1", "issue/1/generation/1", "issue/1/generation/2"],
    generations: &[(0, 1), (1, 2)],
    deliveries: &[
        note("open"),
        note("late").deciding(starts(SECOND)).once(When::Exists(FIRST)),
        note("return").deciding(starts(FIRST).reopening(SUCCESSORS)).once(When::Ended(FIRST)),
        asks("reopen", Ask::Reopen(FIRST)).deciding(starts(SECOND)),
        asks("again", Ask::Replay(Of::Delivery(1)))
            .deciding(starts(FIRST).attaching(&[0]).reopening(SUCCESSORS))
            .once(When::Ended(FIRST)),
        asks("once-more", Ask::Replay(Of::Delivery(4))).once(When::Accepted(DeliveryIx(4))),
        asks("reopen-again", Ask::Reopen(SECOND)).deciding(starts(THIRD)).once(When::Ended(SECOND)),
        // It names the generation that it is about, whatever came after that.
        keyed("of-the-first", 1, SECOND).once(When::Ended(SECOND)),
    ],
    works: &[work("fix", RUNS_ONCE), work("fix-again", RUNS_ONCE), work("fix-at-last", RUNS_ONCE)],
    successors: &[SECOND, THIRD],
    operated: &[FIRST, SECOND],
    depth_max: 1,
    offers: &[ROUTES, &[Kind::Cancel, Kind::Drop, Kind::Replay, Kind::Reopen]],
    expects: NAMES_ATTEMPT,
    ..BARE
};

/// The next larger bound of [`TERMINAL`]: one more Work that an operator may end.
pub(super) const TERMINAL_LARGER: World =
    World { name: "terminal-larger", operated: &[FIRST, SECOND, THIRD], ..TERMINAL };

/// A successor at work.
pub(super) const GOING_ON: World = World {
    name: "going-on",
    shows: "a successor attaches, waits for and is sent its resource under the name it always had",
    keys: &["issue/1", "issue/1/generation/1"],
    generations: &[(0, 1)],
    types: WITH_RESULTS,
    deliveries: &[
        note("open"),
        asks("reopen", Ask::Reopen(FIRST)).deciding(starts(SECOND)),
        note("more").deciding(starts(FIRST).attaching(&[0])).once(When::Exists(SECOND)),
        result("green").once(When::Started(SECOND)),
    ],
    works: &[work("fix", RUNS_ONCE), work("fix-again", RESUMES)],
    waits: &[
        WaitDef { work: SECOND, ..CI },
        WaitDef { name: "older", ..CI }.after(&[Mark::Latest]),
    ],
    offers: &[ROUTES, RUNS, WAKES, &[Kind::Cancel, Kind::Reopen]],
    expects: &[Expect::Last],
    ..BARE
};

/// The next larger bound of [`GOING_ON`]: room for both Works at once.
pub(super) const GOING_ON_LARGER: World =
    World { name: "going-on-larger", capacity: 2, ..GOING_ON };

/// How a turn ends.
pub(super) const ENDINGS: World = World {
    name: "endings",
    shows: "turns complete or hand off and say so; handed-off Work is closed for being idle unless something comes",
    keys: &["issue/1"],
    types: &["note", "core.turn.ended"],
    kinds: &[WorkKind { close_after: Some(1), ..PLAIN }],
    deliveries: &[
        note("start"),
        note("more").once(When::Started(FIRST)),
        note("still-more").once(When::Attempt(FIRST, 2)),
        asks("echo", Ask::Replay(Of::Ended(0, 1))).once(When::Started(FIRST)),
    ],
    works: &[work("fix", RUNS_ONCE)],
    turns: &attempts::<2>(FIRST),
    lease: 2,
    offers: &[
        ROUTES,
        RUNS,
        EXPIRES,
        &[Kind::Renew, Kind::CloseIdle, Kind::Hold, Kind::Cancel, Kind::Drop, Kind::Replay],
    ],
    endings: &[
        (Ending::Completed, false),
        (Ending::Completed, true),
        (Ending::Handoff, false),
        (Ending::Handoff, true),
    ],
    ..BARE
};

/// The next larger bound of [`ENDINGS`]: one more tick of a lease.
pub(super) const ENDINGS_LARGER: World = World { name: "endings-larger", lease: 3, ..ENDINGS };

/// Work that outlives its attempts.
pub(super) const STANDING: World = World {
    name: "standing",
    shows: "standing Work completes, hands off, fails and is held, and ends for good only",
    keys: &["job/1"],
    kinds: &[WorkKind { close_after: Some(1), ..JOB }],
    deliveries: &[
        note("start"),
        note("more").once(When::Started(FIRST)),
        note("retire").deciding(does(Does::Close)).once(When::Started(FIRST)),
        asks("release", Ask::Release(FIRST)).once(When::Exists(FIRST)),
    ],
    works: &[work("watch", RUNS_ONCE)],
    offers: &[
        ROUTES,
        RUNS,
        EXPIRES,
        &[Kind::Fail, Kind::CloseIdle, Kind::Hold, Kind::Release, Kind::Cancel],
    ],
    endings: COMPLETES_OR_HANDS_OFF,
    expects: NAMES_ATTEMPT,
    ..BARE
};

/// The next larger bound of [`STANDING`]: one more tick of a lease.
pub(super) const STANDING_LARGER: World = World { name: "standing-larger", lease: 2, ..STANDING };
