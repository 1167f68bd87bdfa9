//! Worlds of a running attempt: what reaches it, what ends it, and what its results say that they took in.

use crate::action::{Kind, SendAnswer};
use crate::index::{Proofs, WaitIx};
use crate::state::Fallback;
use crate::worlds::parts::*;
use crate::worlds::{
    Ask, Binding, Control, ControlPolicy, Controls, Delivery, Exhausted, Policy, When, WorkDef,
    WorkKind, World,
};

/// A control is tried, and what it came to is settled.
const SENDS: &[Kind] = &[Kind::Dispatch, Kind::SettleDispatch];

/// A parked attempt goes on in a process of its own, and can be reached and ended while it runs.
const STEERED: Binding = Binding { controls: Controls::BOTH, ..RESUMES };

/// It can be reached and not ended.
const REACHED: Binding =
    Binding { controls: Controls { injects: true, interrupts: false }, ..STEERED };

/// A route that injects.
const INJECT: Control = Control { policy: ControlPolicy::Inject, ..Control::QUEUE };

/// A route that interrupts.
const INTERRUPT: Control = Control { policy: ControlPolicy::Interrupt, ..Control::QUEUE };

/// A route whose events are nothing to a running attempt.
const IGNORE: Control = Control { policy: ControlPolicy::Drop, ..Control::QUEUE };

impl Control {
    /// The same with what stands in where the attempt lacks the control.
    const fn or(self, fallback: Fallback) -> Self {
        Self { fallback, ..self }
    }

    /// The same with what stands in where the control failed.
    const fn on_error(self, on_error: Fallback) -> Self {
        Self { on_error, ..self }
    }
}

/// An event for the first Work, with what its route wants of a running attempt.
const fn steers(name: &'static str, control: Control) -> Delivery {
    let mut steers = note(name).once(When::Started(FIRST));
    steers.decides.control = control;
    steers
}

/// Injected input that is proved, or not, or of which nothing is known.
pub(super) const INJECTING: World = World {
    name: "inject",
    shows: "two events are injected into a run of attempts; answers and proofs come in every order, true ones and others",
    keys: &["issue/1"],
    deliveries: &[
        note("start"),
        steers("steer", INJECT),
        steers("nudge", INJECT.on_error(Fallback::Queue)),
    ],
    works: &[work("fix", STEERED)],
    proofs: &[
        Proofs::NONE,
        Proofs::of(&[0]),
        Proofs::of(&[1]),
        Proofs::of(&[2]),
        Proofs::of(&[1, 2]),
    ],
    offers: &[ROUTES, RUNS, EXPIRES, SENDS, &[Kind::Cancel]],
    ..BARE
};

/// The next larger bound of [`INJECTING`]: one more tick of a lease.
pub(super) const INJECTING_LARGER: World = World { name: "inject-larger", lease: 2, ..INJECTING };

/// Attempts that are interrupted, by a route and by a person.
pub(super) const INTERRUPTING: World = World {
    name: "interrupt",
    shows: "a route and a person interrupt a run of attempts, in every phase and after the end; injected input is left over",
    keys: &["issue/1"],
    deliveries: &[
        note("start"),
        steers("halt", INTERRUPT.on_error(Fallback::Queue)),
        steers("steer", INJECT),
        asks("stop", Ask::Interrupt(FIRST)),
    ],
    works: &[work("fix", STEERED)],
    proofs: &[Proofs::NONE, Proofs::of(&[1]), Proofs::of(&[2]), Proofs::of(&[3])],
    expects: NAMES_ATTEMPT,
    offers: &[ROUTES, RUNS, EXPIRES, SENDS, &[Kind::Interrupt, Kind::Cancel]],
    ..BARE
};

/// The next larger bound of [`INTERRUPTING`]: one more tick of a lease.
pub(super) const INTERRUPTING_LARGER: World =
    World { name: "interrupt-larger", lease: 2, ..INTERRUPTING };

/// Interrupts of Work that has failed before, is held, or is handed off.
pub(super) const INTERRUPTED_FAILURES: World = World {
    name: "interrupted-failures",
    shows: "attempts of Work that has failed before and that a person holds are interrupted; failures, hold and idle timer are as if they had not been",
    keys: &["issue/1"],
    kinds: &[WorkKind { close_after: Some(1), ..retried(TWICE) }],
    deliveries: &[
        note("start"),
        steers("halt", INTERRUPT),
        asks("stop", Ask::Interrupt(FIRST)).once(When::Started(FIRST)),
    ],
    works: &[work("fix", STEERED)],
    retries: &attempts::<2>(FIRST),
    endings: COMPLETES_OR_HANDS_OFF,
    answers: &[SendAnswer::Accepted, SendAnswer::Failed],
    offers: &[ROUTES, RUNS, EXPIRES, FAILS, SENDS, &[Kind::Interrupt, Kind::Hold, Kind::CloseIdle]],
    ..BARE
};

/// The next larger bound of [`INTERRUPTED_FAILURES`]: one more tick of a lease.
pub(super) const INTERRUPTED_FAILURES_LARGER: World =
    World { name: "interrupted-failures-larger", lease: 2, ..INTERRUPTED_FAILURES };

/// Completions over what is on its way.
pub(super) const COMPLETING: World = World {
    name: "completion",
    shows: "an attempt completes or hands off while events are accepted, routed, injected, answered and proved",
    keys: &["issue/1"],
    deliveries: &[
        note("start"),
        steers("steer", INJECT),
        note("more").once(When::Started(FIRST)),
        steers("quiet", IGNORE),
        asks("stop", Ask::Interrupt(FIRST)),
    ],
    works: &[work("fix", REACHED)],
    proofs: &[Proofs::NONE, Proofs::of(&[1]), Proofs::of(&[1, 2])],
    endings: COMPLETES_OR_HANDS_OFF,
    offers: &[ROUTES, RUNS, EXPIRES, SENDS, &[Kind::Interrupt]],
    ..BARE
};

/// The next larger bound of [`COMPLETING`]: one more tick of a lease.
pub(super) const COMPLETING_LARGER: World =
    World { name: "completion-larger", lease: 2, ..COMPLETING };

/// Attempts that lack what a route wants, and controls that fail.
pub(super) const FALLING_BACK: World = World {
    name: "fallback",
    shows: "a reload gives bindings their controls and a route its policy, while an attempt of the old pin runs; controls fail, and a person drops what waits",
    keys: &["issue/1"],
    deliveries: &[
        note("start"),
        Delivery {
            reloaded: Some(steers("steer", INJECT).decides),
            ..note("steer").once(When::Started(FIRST))
        },
        steers("halt", INTERRUPT.or(Fallback::Queue).on_error(Fallback::Drop)),
        steers("hush", INJECT.or(Fallback::Drop).on_error(Fallback::Queue)),
    ],
    works: &[WorkDef { reloaded: Some(Controls::BOTH), ..work("fix", RUNS_ONCE) }],
    kinds: &[retried(Policy { exhausted: Exhausted::Fail, ..ONCE })],
    configurations: 2,
    proofs: &[Proofs::NONE, Proofs::of(&[3])],
    offers: &[ROUTES, RUNS, SENDS, &[Kind::Reload, Kind::Drop, Kind::Fail]],
    ..BARE
};

/// The next larger bound of [`FALLING_BACK`]: one more configuration.
pub(super) const FALLING_BACK_LARGER: World =
    World { name: "fallback-larger", configurations: 3, ..FALLING_BACK };

/// Controls over the end of a lease, with hosts and processes.
pub(super) const STEER_AND_RECOVER: World = World {
    name: "steer-and-recover",
    shows: "the daemon crashes or detaches between any two steps of an injection and of an interrupt, and keepers die; what was taken in is proved",
    keys: &["issue/1"],
    deliveries: &[
        note("start"),
        steers("steer", INJECT),
        steers("nudge", INJECT.on_error(Fallback::Queue)),
        asks("stop", Ask::Interrupt(FIRST)).once(When::Started(FIRST)),
    ],
    works: &[work("fix", Binding { controls: Controls::BOTH, ..HELD })],
    processes: 1,
    offers: &[
        ROUTES,
        RUNS,
        EXPIRES,
        SENDS,
        PROCESSES,
        &[Kind::Deliver, Kind::TakeIn, Kind::Fail, Kind::Interrupt, Kind::Detach, Kind::Crash],
    ],
    ..BARE
};

/// The next larger bound of [`STEER_AND_RECOVER`]: one more tick of a lease.
pub(super) const STEER_AND_RECOVER_LARGER: World =
    World { name: "steer-and-recover-larger", lease: 2, ..STEER_AND_RECOVER };

/// Injected results that a wait would wake by.
pub(super) const STEER_AND_WAIT: World = World {
    name: "steer-and-wait",
    shows: "results are injected before a turn waits for such, and a person interrupts it; it is woken by none that it took in, and resumes with what is left",
    keys: &["ci/1"],
    types: WITH_RESULTS,
    deliveries: &[
        note("start"),
        injected_result("green"),
        injected_result("red"),
        asks("stop", Ask::Interrupt(FIRST)).once(When::Started(FIRST)),
    ],
    works: &[work("fix", STEERED)],
    waits: &[CI],
    proofs: &[Proofs::NONE, Proofs::of(&[1]), Proofs::of(&[2]), Proofs::of(&[1, 2])],
    offers: &[ROUTES, RUNS, EXPIRES, WAKES, SENDS, &[Kind::Interrupt]],
    ..BARE
};

const fn injected_result(name: &'static str) -> Delivery {
    let mut injected = result(name);
    injected.decides.control = INJECT;
    injected
}

/// The next larger bound of [`STEER_AND_WAIT`]: one more tick of a lease.
pub(super) const STEER_AND_WAIT_LARGER: World =
    World { name: "steer-and-wait-larger", lease: 2, ..STEER_AND_WAIT };

/// The same where waiting ends the attempt.
pub(super) const STEER_AND_END: World = World {
    name: "steer-and-end",
    shows: "results are injected before a turn ends waiting for such; the next attempt is started by the one that wakes it and takes what has come since",
    deliveries: &[
        note("start"),
        injected_result("green"),
        injected_result("red"),
        note("chatter").once(When::Registered(WaitIx(0))),
    ],
    works: &[work("fix", Binding { controls: Controls::BOTH, ..RUNS_ONCE })],
    offers: &[ROUTES, RUNS, EXPIRES, WAKES, SENDS],
    ..STEER_AND_WAIT
};

/// The next larger bound of [`STEER_AND_END`]: one more tick of a lease.
pub(super) const STEER_AND_END_LARGER: World =
    World { name: "steer-and-end-larger", lease: 2, ..STEER_AND_END };

/// Controls over a backup.
pub(super) const STEERED_RESTORE: World = World {
    name: "steered-restore",
    shows: "the database is restored, or a daemon detaches, while an injection and an interrupt are on their way; neither ends an attempt",
    keys: &["issue/1"],
    deliveries: &[
        note("start"),
        steers("steer", INJECT),
        asks("stop", Ask::Interrupt(FIRST)).once(When::Started(FIRST)),
        asks("go-on", Ask::ReleaseRestore),
    ],
    works: &[work("fix", STEERED)],
    restores: 1,
    proofs: &[Proofs::NONE, Proofs::of(&[1])],
    offers: &[ROUTES, RUNS, EXPIRES, SENDS, RESTORES, &[Kind::Interrupt, Kind::Detach]],
    ..BARE
};

/// The next larger bound of [`STEERED_RESTORE`]: one more tick of a lease.
pub(super) const STEERED_RESTORE_LARGER: World =
    World { name: "steered-restore-larger", lease: 2, ..STEERED_RESTORE };

/// What is on its way to one Work is no other's to send, to settle or to prove.
pub(super) const STEER_ONE_OF_TWO: World = World {
    name: "steer-one-of-two",
    shows: "events are injected into one of two running Works, and whoever holds the other names them as well",
    keys: &["issue/1", "ship/1"],
    deliveries: &[note("start"), keyed("ship-it", 1, SECOND), steers("steer", INJECT)],
    works: &[work("fix", STEERED), work("ship", STEERED)],
    capacity: 2,
    proofs: &[Proofs::NONE, Proofs::of(&[2])],
    offers: &[ROUTES, RUNS, EXPIRES, SENDS],
    ..BARE
};

/// The next larger bound of [`STEER_ONE_OF_TWO`]: one more tick of a lease.
pub(super) const STEER_ONE_OF_TWO_LARGER: World =
    World { name: "steer-one-of-two-larger", lease: 2, ..STEER_ONE_OF_TWO };

/// Failures with and without proof.
pub(super) const STEER_AND_RETRY: World = World {
    name: "steer-and-retry",
    shows: "attempts fail and leases run out while events are injected; what was proved is consumed, the rest is input of the retry",
    keys: &["issue/1"],
    kinds: &[retried(TWICE)],
    deliveries: &[
        note("start"),
        steers("steer", INJECT),
        steers("nudge", INJECT.on_error(Fallback::Drop)),
    ],
    works: &[work("fix", STEERED)],
    retries: &attempts::<2>(FIRST),
    proofs: &[Proofs::NONE, Proofs::of(&[1]), Proofs::of(&[1, 2])],
    offers: &[ROUTES, RUNS, FAILS, EXPIRES, SENDS],
    ..BARE
};

/// The next larger bound of [`STEER_AND_RETRY`]: one more tick of a lease.
pub(super) const STEER_AND_RETRY_LARGER: World =
    World { name: "steer-and-retry-larger", lease: 2, ..STEER_AND_RETRY };

/// What an attempt supports is what it was claimed with, whatever is configured since.
pub(super) const PINNED_CONTROLS: World = World {
    name: "pinned-controls",
    shows: "a reload takes a binding its interrupt and gives it inject, while events and a person ask for either; turns are handed off",
    keys: &["issue/1", "pull/9"],
    deliveries: &[
        note("start"),
        steers("steer", INJECT),
        attaches("hush", INJECT.or(Fallback::Drop)),
        asks("stop", Ask::Interrupt(FIRST)).once(When::Started(FIRST)),
    ],
    works: &[WorkDef {
        reloaded: Some(Controls { injects: true, interrupts: false }),
        ..work(
            "fix",
            Binding { controls: Controls { injects: false, interrupts: true }, ..RUNS_ONCE },
        )
    }],
    configurations: 2,
    endings: COMPLETES_OR_HANDS_OFF,
    offers: &[ROUTES, RUNS, EXPIRES, SENDS, &[Kind::Interrupt, Kind::Reload]],
    ..BARE
};

/// An event for the first Work that would also give it the second key.
const fn attaches(name: &'static str, control: Control) -> Delivery {
    let steers = steers(name, control);
    steers.deciding(steers.decides.attaching(&[1]))
}

/// The next larger bound of [`PINNED_CONTROLS`]: one more tick of a lease.
pub(super) const PINNED_CONTROLS_LARGER: World =
    World { name: "pinned-controls-larger", lease: 2, ..PINNED_CONTROLS };
