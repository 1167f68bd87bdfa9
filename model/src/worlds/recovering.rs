//! Worlds of recovery: lost leases, cancels that race, restored databases, and what becomes of processes.

use crate::action::{Ending, Kind, Mark};
use crate::index::WorkIx;
use crate::worlds::parts::*;
use crate::worlds::{Ask, Delivery, Exhausted, Policy, WaitDef, When, WorkKind, World};

/// Two failures, and kept for a person.
const TWICE: WorkKind =
    WorkKind { retry: Policy { budget: 2, steps: &[1], exhausted: Exhausted::Keep }, ..PLAIN };

/// An attempt whose lease runs out or is given up, in every phase.
pub(super) const RECOVERY: World = World {
    name: "recovery",
    shows: "leases run out and are given up in every phase; recoverers compete, crash, adopt, relaunch and give up; one attempt parks",
    keys: &["ci/1", "ship/1"],
    types: &["note", "result"],
    kinds: &[TWICE],
    deliveries: &[
        keyed("start", 0, 0),
        result("green"),
        Delivery { when: When::Started(WorkIx(0)), ..keyed("ship-it", 1, 1) },
    ],
    works: &[work("fix", RESUMES), work("ship", HELD)],
    waits: &[WaitDef { after: &[Mark::Batch], ..CI }],
    retries: &[(WorkIx(0), 1), (WorkIx(0), 2), (WorkIx(1), 1)],
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
        Kind::FireRetry,
        Kind::RegisterWait,
        Kind::Wake,
        Kind::ClaimRecovery,
        Kind::SettleRecovery,
        Kind::Detach,
        Kind::Vacate,
        Kind::ProcessExits,
        Kind::Tick,
    ],
    ..BARE
};

/// The next larger bound of [`RECOVERY`]: one more tick of a lease.
pub(super) const RECOVERY_LARGER: World = World { name: "recovery-larger", lease: 3, ..RECOVERY };

/// A cancel in between.
pub(super) const CANCEL: World = World {
    name: "cancel",
    shows: "a cancel comes before and after a due retry, a recovery, a wake, a timeout and a completion",
    keys: &["ci/1"],
    types: &["note", "result"],
    kinds: &[TWICE],
    deliveries: &[
        keyed("start", 0, 0),
        result("green"),
        Delivery { when: When::Started(WorkIx(0)), ..asks("retry", Ask::Retry(WorkIx(0))) },
    ],
    works: &[work("fix", RESUMES)],
    waits: &[WaitDef { timeout: Some(1), after: &[Mark::Batch], ..CI }],
    retries: &[(WorkIx(0), 1), (WorkIx(0), 2)],
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
        Kind::Detach,
        Kind::RegisterWait,
        Kind::Wake,
        Kind::FireTimer,
        Kind::AcceptTimeout,
        Kind::ClaimRecovery,
        Kind::SettleRecovery,
        Kind::Vacate,
        Kind::ProcessExits,
        Kind::Cancel,
        Kind::Tick,
    ],
    ..BARE
};

/// The next larger bound of [`CANCEL`]: one more tick of a lease.
pub(super) const CANCEL_LARGER: World = World { name: "cancel-larger", lease: 2, ..CANCEL };

/// A database with another life.
pub(super) const RESTORE: World = World {
    name: "restore",
    shows: "the database is restored in every state; events are routed and wake, and nothing starts, is recovered or falls due before a person says so",
    keys: &["ci/1"],
    types: &["note", "result"],
    kinds: &[TWICE],
    deliveries: &[
        keyed("start", 0, 0),
        result("green"),
        asks("go-on", Ask::ReleaseRestore),
        asks("still-go-on", Ask::ReleaseRestore),
    ],
    works: &[work("fix", RESUMES)],
    waits: &[WaitDef { after: &[Mark::Batch], ..CI }],
    retries: &[(WorkIx(0), 1), (WorkIx(0), 2)],
    restores: 2,
    offers: &[
        Kind::Accept,
        Kind::Evaluate,
        Kind::CommitRoute,
        Kind::Claim,
        Kind::ClearNeverHanded,
        Kind::Pin,
        Kind::Renew,
        Kind::Complete,
        Kind::Fail,
        Kind::FireRetry,
        Kind::Wake,
        Kind::RegisterWait,
        Kind::ClaimRecovery,
        Kind::SettleRecovery,
        Kind::Vacate,
        Kind::ProcessExits,
        Kind::Restore,
        Kind::ReleaseRestore,
        Kind::Cancel,
        Kind::Tick,
    ],
    ..BARE
};

/// The next larger bound of [`RESTORE`]: one more tick of a lease.
pub(super) const RESTORE_LARGER: World = World { name: "restore-larger", lease: 2, ..RESTORE };

/// What failed in a database that was restored.
pub(super) const RESTORED_FAILURES: World = World {
    name: "restored-failures",
    shows: "the database is restored while a failure waits for its retry; a person retries under the restore hold, a daemon detaches",
    keys: &["issue/1"],
    kinds: &[TWICE],
    deliveries: &[
        keyed("start", 0, 0),
        asks("go-on", Ask::ReleaseRestore),
        Delivery { when: When::Started(WorkIx(0)), ..asks("retry", Ask::Retry(WorkIx(0))) },
    ],
    works: &[work("fix", RUNS_ONCE)],
    retries: &[(WorkIx(0), 1), (WorkIx(0), 2)],
    restores: 1,
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
        Kind::ClaimRecovery,
        Kind::SettleRecovery,
        Kind::Detach,
        Kind::Vacate,
        Kind::ProcessExits,
        Kind::Restore,
        Kind::ReleaseRestore,
        Kind::Tick,
    ],
    ..BARE
};

/// The next larger bound of [`RESTORED_FAILURES`]: one more tick of a lease.
pub(super) const RESTORED_FAILURES_LARGER: World =
    World { name: "restored-failures-larger", lease: 2, ..RESTORED_FAILURES };

/// The clocks of a restored database.
pub(super) const RESTORED_CLOCKS: World = World {
    name: "restored-clocks",
    shows: "the database is restored while a wait has a timeout and handed-off Work idles; matches wake at once, deadlines wait for a person",
    keys: &["ci/1"],
    types: &["note", "result"],
    kinds: &[WorkKind { close_after: Some(1), ..TWICE }],
    deliveries: &[keyed("start", 0, 0), result("green"), asks("go-on", Ask::ReleaseRestore)],
    works: &[work("fix", RESUMES)],
    waits: &[WaitDef { timeout: Some(1), after: &[Mark::Batch], ..CI }],
    restores: 1,
    offers: &[
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
        Kind::CloseIdle,
        Kind::ClaimRecovery,
        Kind::SettleRecovery,
        Kind::Vacate,
        Kind::ProcessExits,
        Kind::Restore,
        Kind::ReleaseRestore,
        Kind::Tick,
    ],
    endings: &[(Ending::Completed, false), (Ending::Handoff, false)],
    ..BARE
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
    kinds: &[TWICE],
    deliveries: &[
        keyed("start", 0, 0),
        Delivery { when: When::Ended(WorkIx(0)), ..keyed("ship-it", 1, 1) },
    ],
    works: &[work("fix", RUNS_ONCE), work("ship", HELD)],
    retries: &[(WorkIx(0), 1), (WorkIx(1), 1)],
    processes: 2,
    offers: &[
        Kind::Accept,
        Kind::Evaluate,
        Kind::CommitRoute,
        Kind::Claim,
        Kind::ClearNeverHanded,
        Kind::Launch,
        Kind::Pin,
        Kind::Proceed,
        Kind::LetGo,
        Kind::ProcessEnds,
        Kind::KeeperDies,
        Kind::Complete,
        Kind::Fail,
        Kind::FireRetry,
        Kind::ClaimRecovery,
        Kind::SettleRecovery,
        Kind::Detach,
        Kind::Vacate,
        Kind::ProcessExits,
        Kind::Cancel,
        Kind::Crash,
        Kind::Tick,
    ],
    ..BARE
};

/// The next larger bound of [`CRASH_GRAIN`]: one more process at once.
pub(super) const CRASH_GRAIN_LARGER: World =
    World { name: "crash-grain-larger", processes: 3, ..CRASH_GRAIN };
