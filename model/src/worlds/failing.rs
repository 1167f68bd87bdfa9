//! Worlds of failures: what they lead to, and how failed Work is tried again.

use crate::action::Kind;
use crate::index::{DeliveryIx, WaitIx};
use crate::worlds::parts::*;
use crate::worlds::{Ask, Exhausted, Policy, WaitDef, When, WorkKind, World};

/// What a host does with an attempt that may fail and be tried again.
const FAILING: &[&[Kind]] =
    &[ROUTES, RUNS, EXPIRES, FAILS, &[Kind::Retry, Kind::Release, Kind::Reload, Kind::Reopen]];

/// The same, and a person who has had enough of it.
const FAILING_AND_CANCELLED: &[&[Kind]] =
    &[ROUTES, RUNS, EXPIRES, FAILS, &[Kind::Retry, Kind::Release, Kind::Cancel, Kind::Reopen]];

/// Four failures, each retry later than the one before.
const FOUR_TIMES: Policy = Policy { budget: 4, steps: &[1, 2, 3], ..ONCE };

/// Failures with hints, input and a person in between.
pub(super) const RETRY: World = World {
    name: "retry",
    shows: "an attempt fails with every hint; input comes, the only place is taken, and a person does not wait",
    keys: &["issue/1", "ship/1"],
    kinds: &[retried(THRICE)],
    deliveries: &[
        note("start"),
        note("more").once(When::Started(FIRST)),
        asks("retry", Ask::Retry(FIRST)).once(When::Attempt(FIRST, 2)),
        keyed("ship-it", 1, SECOND).once(When::Attempt(FIRST, 3)),
    ],
    works: &[work("fix", RUNS_ONCE), work("ship", HELD)],
    retries: &attempts::<3>(FIRST),
    hints: EVERY_HINT,
    hint: 2,
    offers: FAILING,
    expects: NAMES_ATTEMPT,
    ..BARE
};

/// The next larger bound of [`RETRY`]: one more tick of a lease.
pub(super) const RETRY_LARGER: World = World { name: "retry-larger", lease: 2, ..RETRY };

/// What worlds of one Work that fails have.
const ONE_FAILING: World = World {
    keys: &["issue/1"],
    kinds: &[retried(THRICE)],
    works: &[work("fix", RUNS_ONCE)],
    retries: &attempts::<5>(FIRST),
    offers: FAILING,
    ..BARE
};

/// A policy that is replaced while it counts.
pub(super) const POLICIES: World = World {
    name: "policies",
    shows: "a reload replaces a budget of three failures by one of four; each failure is judged by what its attempt was pinned with, and an exhausted Work that is released is exhausted by the next",
    kinds: &[WorkKind { reloaded: Some(FOUR_TIMES), ..retried(THRICE) }],
    deliveries: &[
        note("start"),
        note("more").once(When::Started(FIRST)),
        asks("release", Ask::Release(FIRST)).once(When::Attempt(FIRST, 3)),
    ],
    configurations: 2,
    ..ONE_FAILING
};

/// The next larger bound of [`POLICIES`]: one more tick of a lease.
pub(super) const POLICIES_LARGER: World = World { name: "policies-larger", lease: 2, ..POLICIES };

/// What worlds of failed Work have that is reopened.
const ONE_REOPENED: World = World {
    keys: &["issue/1", "issue/1/generation/1"],
    generations: &[(0, 1)],
    kinds: &[retried(TWICE)],
    works: &[work("fix", RUNS_ONCE), work("fix-again", RUNS_ONCE)],
    ..BARE
};

/// The end of a budget.
pub(super) const EXHAUSTION: World = World {
    name: "exhaustion",
    shows: "a budget of two is used up and fails the Work for good, unless something came; only a successor goes on",
    kinds: &[retried(Policy { exhausted: Exhausted::Fail, ..TWICE })],
    deliveries: &[
        note("start"),
        note("more").once(When::Started(FIRST)),
        asks("retry", Ask::Retry(FIRST)).once(When::Attempt(FIRST, 2)),
        asks("reopen", Ask::Reopen(FIRST)).deciding(starts(SECOND)).once(When::Ended(FIRST)),
    ],
    retries: &[(FIRST, 1), (FIRST, 2), (FIRST, 3), (SECOND, 1)],
    offers: FAILING,
    ..ONE_REOPENED
};

/// The next larger bound of [`EXHAUSTION`]: one more tick of a lease.
pub(super) const EXHAUSTION_LARGER: World =
    World { name: "exhaustion-larger", lease: 2, ..EXHAUSTION };

/// What a person does about a failure, one thing after the other.
pub(super) const SECOND_THOUGHTS: World = World {
    name: "second-thoughts",
    shows: "a person retries twice over, or cancels over a due retry and reopens before that is routed",
    deliveries: &[
        note("start"),
        asks("retry", Ask::Retry(FIRST)).once(When::Started(FIRST)),
        asks("retry-again", Ask::Retry(FIRST)).once(When::Accepted(DeliveryIx(1))),
        asks("reopen", Ask::Reopen(FIRST)).deciding(starts(SECOND)).once(When::Ended(FIRST)),
    ],
    successors: &[SECOND],
    retries: &attempts::<2>(FIRST),
    operated: &[FIRST],
    offers: FAILING_AND_CANCELLED,
    ..ONE_REOPENED
};

/// The next larger bound of [`SECOND_THOUGHTS`]: one more tick of a lease.
pub(super) const SECOND_THOUGHTS_LARGER: World =
    World { name: "second-thoughts-larger", lease: 2, ..SECOND_THOUGHTS };

/// Standing Work that fails.
pub(super) const HINTS: World = World {
    name: "hints",
    shows: "standing Work is tried again where its executor says when, and counts nothing; a chain that may not go on is left to the next event",
    keys: &["job/1"],
    kinds: &[JOB],
    deliveries: &[
        note("start"),
        note("more").once(When::Started(FIRST)),
        asks("retry", Ask::Retry(FIRST)).once(When::Started(FIRST)),
        asks("release", Ask::Release(FIRST)).once(When::Attempt(FIRST, 2)),
    ],
    works: &[work("watch", RUNS_ONCE)],
    retries: &attempts::<3>(FIRST),
    depth_max: 1,
    hints: EVERY_HINT,
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
    deliveries: &[
        note("start"),
        note("more").once(When::Attempt(FIRST, 2)),
        asks("release", Ask::Release(FIRST)).once(When::Attempt(FIRST, 2)),
        asks("retry", Ask::Retry(FIRST)).once(When::Attempt(FIRST, 2)),
    ],
    depth_max: 1,
    offers: &[
        ROUTES,
        RUNS,
        EXPIRES,
        FAILS,
        &[Kind::Retry, Kind::Hold, Kind::Release, Kind::Cancel],
    ],
    ..ONE_FAILING
};

/// The next larger bound of [`RETRY_LIMIT`]: one more tick of a lease.
pub(super) const RETRY_LIMIT_LARGER: World =
    World { name: "retry-limit-larger", lease: 2, ..RETRY_LIMIT };

/// Three clocks.
pub(super) const DEADLINES: World = World {
    name: "deadlines",
    shows: "a lease, the timer of a wait and a retry run out at the same tick, each of another Work",
    keys: &["ci/1", "ship/1", "note/1"],
    types: WITH_RESULTS,
    kinds: &[retried(TWICE)],
    deliveries: &[
        note("start"),
        keyed("ship-it", 1, SECOND).once(When::Registered(WaitIx(0))),
        keyed("note-it", 2, THIRD).once(When::Started(SECOND)),
    ],
    works: &[work("fix", RUNS_ONCE), work("ship", RUNS_ONCE), work("note", RUNS_ONCE)],
    waits: &[WaitDef { types: &[], ..CI_FROM_BATCH }.timed(1)],
    retries: &attempts::<1>(SECOND),
    offers: &[ROUTES, RUNS, EXPIRES, FAILS, &[Kind::RegisterWait, Kind::FireTimer]],
    ..BARE
};

/// The next larger bound of [`DEADLINES`]: one more tick of a lease.
pub(super) const DEADLINES_LARGER: World =
    World { name: "deadlines-larger", lease: 2, ..DEADLINES };
