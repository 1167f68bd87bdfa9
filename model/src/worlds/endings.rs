//! Worlds of what ends and what comes after: successors, handoffs, standing Work.

use crate::action::{Ending, Expect, Kind, Mark};
use crate::index::{DeliveryIx, WorkIx};
use crate::worlds::parts::*;
use crate::worlds::{Ask, Decision, Delivery, Does, Of, WaitDef, When, WorkKind, World};

/// Which Work succeeds which.
const SUCCESSORS: &[(WorkIx, WorkIx)] = &[(WorkIx(0), WorkIx(1)), (WorkIx(1), WorkIx(2))];

/// What comes after the end of a Work.
pub(super) const TERMINAL: World = World {
    name: "terminal",
    shows: "events come to ended Work; a route or an operator reopens it under the next generation of its key, which senders may name; replays",
    keys: &["issue/1", "issue/1/generation/1", "issue/1/generation/2"],
    generations: &[(0, 1), (1, 2)],
    deliveries: &[
        keyed("open", 0, 0),
        Delivery { decides: starts(1), when: When::Exists(WorkIx(0)), ..keyed("late", 0, 1) },
        Delivery {
            decides: Decision { reopens: SUCCESSORS, ..starts(0) },
            when: When::Ended(WorkIx(0)),
            ..keyed("return", 0, 0)
        },
        Delivery { decides: starts(1), ..asks("reopen", Ask::Reopen(WorkIx(0))) },
        Delivery {
            decides: Decision { attaches: &[0], reopens: SUCCESSORS, ..starts(0) },
            when: When::Ended(WorkIx(0)),
            ..asks("again", Ask::Replay(Of::Delivery(1)))
        },
        Delivery {
            when: When::Accepted(DeliveryIx(4)),
            ..asks("once-more", Ask::Replay(Of::Delivery(4)))
        },
        Delivery {
            decides: starts(2),
            when: When::Ended(WorkIx(1)),
            ..asks("reopen-again", Ask::Reopen(WorkIx(1)))
        },
        // It names the generation that it is about, whatever came after that.
        Delivery { when: When::Ended(WorkIx(1)), ..keyed("of-the-first", 1, 1) },
    ],
    works: &[work("fix", RUNS_ONCE), work("fix-again", RUNS_ONCE), work("fix-at-last", RUNS_ONCE)],
    successors: &[WorkIx(1), WorkIx(2)],
    operated: &[WorkIx(0), WorkIx(1)],
    depth_max: 1,
    offers: &[
        Kind::Accept,
        Kind::Evaluate,
        Kind::CommitRoute,
        Kind::Cancel,
        Kind::Drop,
        Kind::Replay,
        Kind::Reopen,
    ],
    expects: &[Expect::Last, Expect::Other],
    ..BARE
};

/// The next larger bound of [`TERMINAL`]: one more Work that an operator may end.
pub(super) const TERMINAL_LARGER: World =
    World { name: "terminal-larger", operated: &[WorkIx(0), WorkIx(1), WorkIx(2)], ..TERMINAL };

/// A successor at work.
pub(super) const GOING_ON: World = World {
    name: "going-on",
    shows: "a successor attaches, waits for and is sent its resource under the name it always had",
    keys: &["issue/1", "issue/1/generation/1"],
    generations: &[(0, 1)],
    types: &["note", "result"],
    deliveries: &[
        keyed("open", 0, 0),
        Delivery { decides: starts(1), ..asks("reopen", Ask::Reopen(WorkIx(0))) },
        Delivery {
            decides: Decision { attaches: &[0], ..starts(0) },
            when: When::Exists(WorkIx(1)),
            ..keyed("more", 0, 0)
        },
        Delivery { kind: 1, when: When::Started(WorkIx(1)), ..keyed("green", 0, 0) },
    ],
    works: &[work("fix", RUNS_ONCE), work("fix-again", RESUMES)],
    waits: &[
        WaitDef { work: WorkIx(1), ..CI },
        WaitDef { name: "older", work: WorkIx(0), after: &[Mark::Latest], ..CI },
    ],
    offers: &[
        Kind::Accept,
        Kind::Evaluate,
        Kind::CommitRoute,
        Kind::Claim,
        Kind::ClearNeverHanded,
        Kind::Pin,
        Kind::RegisterWait,
        Kind::Wake,
        Kind::Vacate,
        Kind::ProcessExits,
        Kind::Complete,
        Kind::Cancel,
        Kind::Reopen,
    ],
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
        keyed("start", 0, 0),
        Delivery { when: When::Started(WorkIx(0)), ..keyed("more", 0, 0) },
        Delivery { when: When::Attempt(WorkIx(0), 2), ..keyed("still-more", 0, 0) },
        Delivery { when: When::Started(WorkIx(0)), ..asks("echo", Ask::Replay(Of::Ended(0, 1))) },
    ],
    works: &[work("fix", RUNS_ONCE)],
    turns: &[(WorkIx(0), 1), (WorkIx(0), 2)],
    lease: 2,
    offers: &[
        Kind::Accept,
        Kind::Evaluate,
        Kind::CommitRoute,
        Kind::Claim,
        Kind::ClearNeverHanded,
        Kind::Pin,
        Kind::Renew,
        Kind::Complete,
        Kind::ClaimRecovery,
        Kind::SettleRecovery,
        Kind::Vacate,
        Kind::ProcessExits,
        Kind::CloseIdle,
        Kind::Hold,
        Kind::Cancel,
        Kind::Drop,
        Kind::Replay,
        Kind::Tick,
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
    kinds: &[WorkKind { name: "job", standing: true, close_after: Some(1), ..PLAIN }],
    deliveries: &[
        keyed("start", 0, 0),
        Delivery { when: When::Started(WorkIx(0)), ..keyed("more", 0, 0) },
        Delivery {
            decides: does(Does::Close),
            when: When::Started(WorkIx(0)),
            ..keyed("retire", 0, 0)
        },
        Delivery { when: When::Exists(WorkIx(0)), ..asks("release", Ask::Release(WorkIx(0))) },
    ],
    works: &[work("watch", RUNS_ONCE)],
    lease: 1,
    offers: &[
        Kind::Accept,
        Kind::Evaluate,
        Kind::CommitRoute,
        Kind::Claim,
        Kind::ClearNeverHanded,
        Kind::Pin,
        Kind::Complete,
        Kind::Fail,
        Kind::ClaimRecovery,
        Kind::SettleRecovery,
        Kind::Vacate,
        Kind::ProcessExits,
        Kind::CloseIdle,
        Kind::Hold,
        Kind::Release,
        Kind::Cancel,
        Kind::Tick,
    ],
    endings: &[(Ending::Completed, false), (Ending::Handoff, false)],
    expects: &[Expect::Last, Expect::Other],
    ..BARE
};

/// The next larger bound of [`STANDING`]: one more tick of a lease.
pub(super) const STANDING_LARGER: World = World { name: "standing-larger", lease: 2, ..STANDING };
