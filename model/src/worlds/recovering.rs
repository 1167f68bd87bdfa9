//! Worlds of recovery: lost leases, cancels that race, restored databases, and what becomes of processes.

use crate::action::Kind;
use crate::worlds::parts::*;
use crate::worlds::{Ask, When, WorkKind, World};

/// One Work that may fail twice and waits for a result.
const FAILS_AND_WAITS: World = World {
    keys: &["ci/1"],
    types: WITH_RESULTS,
    kinds: &[retried(TWICE)],
    works: &[work("fix", RESUMES)],
    waits: &[CI_FROM_BATCH],
    retries: &attempts::<2>(FIRST),
    ..BARE
};

/// An attempt whose lease runs out or is given up, in every phase.
pub(super) const RECOVERY: World = World {
    name: "recovery",
    shows: "leases run out and are given up in every phase; recoverers compete, crash, adopt, relaunch and give up; one attempt parks",
    keys: &["ci/1", "ship/1"],
    deliveries: &[
        note("start"),
        result("green"),
        keyed("ship-it", 1, SECOND).once(When::Started(FIRST)),
    ],
    works: &[work("fix", RESUMES), work("ship", HELD)],
    retries: &[(FIRST, 1), (FIRST, 2), (SECOND, 1)],
    lease: 2,
    offers: &[ROUTES, RUNS, EXPIRES, WAKES, &[Kind::Renew, Kind::FireRetry, Kind::Detach]],
    ..FAILS_AND_WAITS
};

/// The next larger bound of [`RECOVERY`]: one more tick of a lease.
pub(super) const RECOVERY_LARGER: World = World { name: "recovery-larger", lease: 3, ..RECOVERY };

/// A cancel in between.
pub(super) const CANCEL: World = World {
    name: "cancel",
    shows: "a cancel comes before and after a due retry, a recovery, a wake, a timeout and a completion",
    deliveries: &[
        note("start"),
        result("green"),
        asks("retry", Ask::Retry(FIRST)).once(When::Started(FIRST)),
    ],
    waits: &[CI_FROM_BATCH.timed(1)],
    offers: &[
        ROUTES,
        RUNS,
        EXPIRES,
        WAKES,
        TIMEOUTS,
        FAILS,
        &[Kind::Retry, Kind::Detach, Kind::Cancel],
    ],
    ..FAILS_AND_WAITS
};

/// The next larger bound of [`CANCEL`]: one more tick of a lease.
pub(super) const CANCEL_LARGER: World = World { name: "cancel-larger", lease: 2, ..CANCEL };

/// A database with another life.
pub(super) const RESTORE: World = World {
    name: "restore",
    shows: "the database is restored in every state; events are routed and wake, and nothing starts, is recovered or falls due before a person says so",
    deliveries: &[
        note("start"),
        result("green"),
        asks("go-on", Ask::ReleaseRestore),
        asks("still-go-on", Ask::ReleaseRestore),
    ],
    restores: 2,
    offers: &[ROUTES, RUNS, EXPIRES, WAKES, FAILS, RESTORES, &[Kind::Renew, Kind::Cancel]],
    ..FAILS_AND_WAITS
};

/// The next larger bound of [`RESTORE`]: one more tick of a lease.
pub(super) const RESTORE_LARGER: World = World { name: "restore-larger", lease: 2, ..RESTORE };

/// What failed in a database that was restored.
pub(super) const RESTORED_FAILURES: World = World {
    name: "restored-failures",
    shows: "the database is restored while a failure waits for its retry; a person retries under the restore hold, a daemon detaches",
    keys: &["issue/1"],
    kinds: &[retried(TWICE)],
    deliveries: &[
        note("start"),
        asks("go-on", Ask::ReleaseRestore),
        asks("retry", Ask::Retry(FIRST)).once(When::Started(FIRST)),
    ],
    works: &[work("fix", RUNS_ONCE)],
    retries: &attempts::<2>(FIRST),
    restores: 1,
    offers: &[ROUTES, RUNS, EXPIRES, FAILS, RESTORES, &[Kind::Retry, Kind::Detach]],
    ..BARE
};

/// The next larger bound of [`RESTORED_FAILURES`]: one more tick of a lease.
pub(super) const RESTORED_FAILURES_LARGER: World =
    World { name: "restored-failures-larger", lease: 2, ..RESTORED_FAILURES };

/// The clocks of a restored database.
pub(super) const RESTORED_CLOCKS: World = World {
    name: "restored-clocks",
    shows: "the database is restored while a wait has a timeout and handed-off Work idles; matches wake at once, deadlines wait for a person",
    kinds: &[WorkKind { close_after: Some(1), ..retried(TWICE) }],
    deliveries: &[note("start"), result("green"), asks("go-on", Ask::ReleaseRestore)],
    waits: &[CI_FROM_BATCH.timed(1)],
    retries: &[],
    restores: 1,
    offers: &[ROUTES, RUNS, EXPIRES, WAKES, TIMEOUTS, RESTORES, &[Kind::CloseIdle]],
    endings: COMPLETES_OR_HANDS_OFF,
    ..FAILS_AND_WAITS
};

/// The next larger bound of [`RESTORED_CLOCKS`]: one more tick of a lease.
pub(super) const RESTORED_CLOCKS_LARGER: World =
    World { name: "restored-clocks-larger", lease: 2, ..RESTORED_CLOCKS };

/// Hosts and processes.
///
/// A host that loses its attempt right before it calls its executor may call late, which this world does not offer. Where
/// the executor holds its processes that is one more held process, which nobody can pin, so it is let go (LEASE-07 OURS-20).
/// Where it does not, no commit stops what somebody else starts: the law promises that nothing is relaunched there and that
/// the next attempt waits until the marked segment is seen to have ended, and no more than that. Whoever writes such an
/// executor looks at the lease again in the call itself, or keeps its processes.
pub(super) const CRASH_GRAIN: World = World {
    name: "crash-grain",
    shows: "the daemon crashes or detaches between any two steps of a launch and of a run, and keepers die; processes do not care",
    keys: &["issue/1", "ship/1"],
    kinds: &[retried(TWICE)],
    deliveries: &[note("start"), keyed("ship-it", 1, SECOND).once(When::Ended(FIRST))],
    works: &[work("fix", RUNS_ONCE), work("ship", HELD)],
    retries: &[(FIRST, 1), (SECOND, 1)],
    processes: 2,
    offers: &[ROUTES, RUNS, EXPIRES, FAILS, PROCESSES, &[Kind::Detach, Kind::Cancel, Kind::Crash]],
    ..BARE
};

/// The next larger bound of [`CRASH_GRAIN`]: one more process at once.
pub(super) const CRASH_GRAIN_LARGER: World =
    World { name: "crash-grain-larger", processes: 3, ..CRASH_GRAIN };
