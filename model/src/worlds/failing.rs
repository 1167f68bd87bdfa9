//! Worlds of failures: what they lead to, and how failed Work is tried again.

use crate::action::{Expect, Hint, Kind, Mark};
use crate::index::{DeliveryIx, WaitIx, WorkIx};
use crate::worlds::parts::*;
use crate::worlds::{Ask, Delivery, Exhausted, Policy, WaitDef, When, WorkKind, World};

/// What a host does with an attempt that may fail and be tried again.
const FAILING: &[Kind] = &[
    Kind::Accept,
    Kind::Evaluate,
    Kind::CommitRoute,
    Kind::Claim,
    Kind::ClearNeverHanded,
    Kind::Pin,
    Kind::Complete,
    Kind::Fail,
    Kind::FireRetry,
    Kind::Retry,
    Kind::Release,
    Kind::ClaimRecovery,
    Kind::SettleRecovery,
    Kind::Vacate,
    Kind::ProcessExits,
    Kind::Reload,
    Kind::Reopen,
    Kind::Tick,
];

/// The same, and a person who has had enough of it.
const FAILING_AND_CANCELLED: &[Kind] = &[
    Kind::Accept,
    Kind::Evaluate,
    Kind::CommitRoute,
    Kind::Claim,
    Kind::ClearNeverHanded,
    Kind::Pin,
    Kind::Complete,
    Kind::Fail,
    Kind::FireRetry,
    Kind::Retry,
    Kind::Release,
    Kind::ClaimRecovery,
    Kind::SettleRecovery,
    Kind::Vacate,
    Kind::ProcessExits,
    Kind::Cancel,
    Kind::Reopen,
    Kind::Tick,
];

/// Three failures, the second retry later than the first.
const THREE: Policy = Policy { budget: 3, steps: &[1, 2], exhausted: Exhausted::Keep };

/// Four failures, each retry later than the one before.
const FOUR: Policy = Policy { budget: 4, steps: &[1, 2, 3], exhausted: Exhausted::Keep };

/// Failures with hints, input and a person in between.
pub(super) const RETRY: World = World {
    name: "retry",
    shows: "an attempt fails with every hint; input comes, the only place is taken, and a person does not wait",
    keys: &["issue/1", "ship/1"],
    kinds: &[WorkKind { retry: THREE, ..PLAIN }],
    deliveries: &[
        keyed("start", 0, 0),
        Delivery { when: When::Started(WorkIx(0)), ..keyed("more", 0, 0) },
        Delivery { when: When::Attempt(WorkIx(0), 2), ..asks("retry", Ask::Retry(WorkIx(0))) },
        Delivery { when: When::Attempt(WorkIx(0), 3), ..keyed("ship-it", 1, 1) },
    ],
    works: &[work("fix", RUNS_ONCE), work("ship", HELD)],
    retries: &[(WorkIx(0), 1), (WorkIx(0), 2), (WorkIx(0), 3)],
    hints: &[Hint::None, Hint::Valid, Hint::Invalid, Hint::Excessive],
    hint: 2,
    offers: FAILING,
    expects: &[Expect::Last, Expect::Other],
    ..BARE
};

/// The next larger bound of [`RETRY`]: one more tick of a lease.
pub(super) const RETRY_LARGER: World = World { name: "retry-larger", lease: 2, ..RETRY };

/// A policy that is replaced while it counts.
pub(super) const POLICIES: World = World {
    name: "policies",
    shows: "a reload replaces a budget of three failures by one of four; each failure is judged by what its attempt was pinned with, and an exhausted Work that is released is exhausted by the next",
    keys: &["issue/1"],
    kinds: &[WorkKind { retry: THREE, reloaded: Some(FOUR), ..PLAIN }],
    deliveries: &[
        keyed("start", 0, 0),
        Delivery { when: When::Started(WorkIx(0)), ..keyed("more", 0, 0) },
        Delivery { when: When::Attempt(WorkIx(0), 3), ..asks("release", Ask::Release(WorkIx(0))) },
    ],
    works: &[work("fix", RUNS_ONCE)],
    retries: &[(WorkIx(0), 1), (WorkIx(0), 2), (WorkIx(0), 3), (WorkIx(0), 4), (WorkIx(0), 5)],
    configurations: 2,
    offers: FAILING,
    ..BARE
};

/// The next larger bound of [`POLICIES`]: one more tick of a lease.
pub(super) const POLICIES_LARGER: World = World { name: "policies-larger", lease: 2, ..POLICIES };

/// The end of a budget.
pub(super) const EXHAUSTION: World = World {
    name: "exhaustion",
    shows: "a budget of two is used up and fails the Work for good, unless something came; only a successor goes on",
    keys: &["issue/1", "issue/1/generation/1"],
    generations: &[(0, 1)],
    kinds: &[WorkKind {
        retry: Policy { budget: 2, steps: &[1], exhausted: Exhausted::Fail },
        ..PLAIN
    }],
    deliveries: &[
        keyed("start", 0, 0),
        Delivery { when: When::Started(WorkIx(0)), ..keyed("more", 0, 0) },
        Delivery { when: When::Attempt(WorkIx(0), 2), ..asks("retry", Ask::Retry(WorkIx(0))) },
        Delivery {
            decides: starts(1),
            when: When::Ended(WorkIx(0)),
            ..asks("reopen", Ask::Reopen(WorkIx(0)))
        },
    ],
    works: &[work("fix", RUNS_ONCE), work("fix-again", RUNS_ONCE)],
    retries: &[(WorkIx(0), 1), (WorkIx(0), 2), (WorkIx(0), 3), (WorkIx(1), 1)],
    offers: FAILING,
    ..BARE
};

/// The next larger bound of [`EXHAUSTION`]: one more tick of a lease.
pub(super) const EXHAUSTION_LARGER: World =
    World { name: "exhaustion-larger", lease: 2, ..EXHAUSTION };

/// What a person does about a failure, one thing after the other.
pub(super) const SECOND_THOUGHTS: World = World {
    name: "second-thoughts",
    shows: "a person retries twice over, or cancels over a due retry and reopens before that is routed",
    keys: &["issue/1", "issue/1/generation/1"],
    generations: &[(0, 1)],
    kinds: &[WorkKind {
        retry: Policy { budget: 2, steps: &[1], exhausted: Exhausted::Keep },
        ..PLAIN
    }],
    deliveries: &[
        keyed("start", 0, 0),
        Delivery { when: When::Started(WorkIx(0)), ..asks("retry", Ask::Retry(WorkIx(0))) },
        Delivery {
            when: When::Accepted(DeliveryIx(1)),
            ..asks("retry-again", Ask::Retry(WorkIx(0)))
        },
        Delivery {
            decides: starts(1),
            when: When::Ended(WorkIx(0)),
            ..asks("reopen", Ask::Reopen(WorkIx(0)))
        },
    ],
    works: &[work("fix", RUNS_ONCE), work("fix-again", RUNS_ONCE)],
    successors: &[WorkIx(1)],
    retries: &[(WorkIx(0), 1), (WorkIx(0), 2)],
    operated: &[WorkIx(0)],
    offers: FAILING_AND_CANCELLED,
    ..BARE
};

/// The next larger bound of [`SECOND_THOUGHTS`]: one more tick of a lease.
pub(super) const SECOND_THOUGHTS_LARGER: World =
    World { name: "second-thoughts-larger", lease: 2, ..SECOND_THOUGHTS };

/// Standing Work that fails.
pub(super) const HINTS: World = World {
    name: "hints",
    shows: "standing Work is tried again where its executor says when, and counts nothing; a chain that may not go on is left to the next event",
    keys: &["job/1"],
    kinds: &[WorkKind { name: "job", standing: true, ..PLAIN }],
    deliveries: &[
        keyed("start", 0, 0),
        Delivery { when: When::Started(WorkIx(0)), ..keyed("more", 0, 0) },
        Delivery { when: When::Started(WorkIx(0)), ..asks("retry", Ask::Retry(WorkIx(0))) },
        Delivery { when: When::Attempt(WorkIx(0), 2), ..asks("release", Ask::Release(WorkIx(0))) },
    ],
    works: &[work("watch", RUNS_ONCE)],
    retries: &[(WorkIx(0), 1), (WorkIx(0), 2), (WorkIx(0), 3)],
    depth_max: 1,
    hints: &[Hint::None, Hint::Valid, Hint::Invalid, Hint::Excessive],
    hint: 2,
    offers: FAILING_AND_CANCELLED,
    ..BARE
};

/// The next larger bound of [`HINTS`]: one more tick of a lease.
pub(super) const HINTS_LARGER: World = World { name: "hints-larger", lease: 2, ..HINTS };

/// A chain that ends before its budget.
pub(super) const RETRY_LIMIT: World = World {
    name: "retry-limit",
    shows: "a root allows one retry: the second is refused and holds its Work until a person releases, retries or cancels it",
    keys: &["issue/1"],
    kinds: &[WorkKind { retry: THREE, ..PLAIN }],
    deliveries: &[
        keyed("start", 0, 0),
        Delivery { when: When::Attempt(WorkIx(0), 2), ..keyed("more", 0, 0) },
        Delivery { when: When::Attempt(WorkIx(0), 2), ..asks("release", Ask::Release(WorkIx(0))) },
        Delivery { when: When::Attempt(WorkIx(0), 2), ..asks("retry", Ask::Retry(WorkIx(0))) },
    ],
    works: &[work("fix", RUNS_ONCE)],
    retries: &[(WorkIx(0), 1), (WorkIx(0), 2), (WorkIx(0), 3), (WorkIx(0), 4), (WorkIx(0), 5)],
    depth_max: 1,
    offers: &[
        Kind::Accept,
        Kind::Evaluate,
        Kind::CommitRoute,
        Kind::Claim,
        Kind::ClearNeverHanded,
        Kind::Pin,
        Kind::Complete,
        Kind::Fail,
        Kind::FireRetry,
        Kind::Retry,
        Kind::Hold,
        Kind::Release,
        Kind::ClaimRecovery,
        Kind::SettleRecovery,
        Kind::Vacate,
        Kind::ProcessExits,
        Kind::Cancel,
        Kind::Tick,
    ],
    ..BARE
};

/// The next larger bound of [`RETRY_LIMIT`]: one more tick of a lease.
pub(super) const RETRY_LIMIT_LARGER: World =
    World { name: "retry-limit-larger", lease: 2, ..RETRY_LIMIT };

/// Three clocks.
pub(super) const DEADLINES: World = World {
    name: "deadlines",
    shows: "a lease, the timer of a wait and a retry run out at the same tick, each of another Work",
    keys: &["ci/1", "ship/1", "note/1"],
    types: &["note", "result"],
    kinds: &[WorkKind {
        retry: Policy { budget: 2, steps: &[1], exhausted: Exhausted::Keep },
        ..PLAIN
    }],
    deliveries: &[
        keyed("start", 0, 0),
        Delivery { when: When::Registered(WaitIx(0)), ..keyed("ship-it", 1, 1) },
        Delivery { when: When::Started(WorkIx(1)), ..keyed("note-it", 2, 2) },
    ],
    works: &[work("fix", RUNS_ONCE), work("ship", RUNS_ONCE), work("note", RUNS_ONCE)],
    waits: &[WaitDef { types: &[], timeout: Some(1), after: &[Mark::Batch], ..CI }],
    retries: &[(WorkIx(1), 1)],
    offers: &[
        Kind::Accept,
        Kind::Evaluate,
        Kind::CommitRoute,
        Kind::Claim,
        Kind::ClearNeverHanded,
        Kind::Pin,
        Kind::Complete,
        Kind::Fail,
        Kind::FireRetry,
        Kind::FireTimer,
        Kind::RegisterWait,
        Kind::ClaimRecovery,
        Kind::SettleRecovery,
        Kind::Vacate,
        Kind::ProcessExits,
        Kind::Tick,
    ],
    ..BARE
};

/// The next larger bound of [`DEADLINES`]: one more tick of a lease.
pub(super) const DEADLINES_LARGER: World =
    World { name: "deadlines-larger", lease: 2, ..DEADLINES };
