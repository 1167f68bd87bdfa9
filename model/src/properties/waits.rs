//! Waits, wakes and timers.

use crate::action::{Action, Commit, Mark};
use crate::index::{EventIx, WaitIx};
use crate::mutants::Mutant;
use crate::outcome::{Outcome, Refusal, RouteMark};
use crate::properties::{Holds, Moment, Property, Step};
use crate::state::{AttemptStatus, Facts, Input, TIMEOUT_REJECTED, Timer, WaitStatus, WorkStatus};

/// The properties of this area.
pub const ALL: &[Property] = &[
    WOKEN_ONCE,
    LOWEST_WINS,
    NO_LOST_WAKE,
    ABOVE_WATERMARK,
    WATERMARK_KEPT,
    WATERMARK_SEEN,
    OWN_KEYS,
    LISTED_KEYS,
    CAN_END,
    WAITING_HAS_WAIT,
    WINNER_IS_INPUT,
    TIMEOUT_DUE,
    TIMEOUT_YIELDS,
    TIMER_GONE,
];

/// However a match, a timeout, a replay and a scan interleave, one wait yields one wake.
pub const WOKEN_ONCE: Property = Property {
    name: "a wait wakes at most once",
    rules: &["WAKE-10", "WAKE-01", "WAKE-15"],
    caught: &[(Mutant::WakeTwice, "waits")],
    holds: Holds::State(|now| {
        now.state
            .waits()
            .iter()
            .all(|wait| wait.wakes == u8::from(wait.status == WaitStatus::Woken))
    }),
};

/// Among all accepted events that match, the lowest wins; a timeout is one of them.
pub const LOWEST_WINS: Property = Property {
    name: "the lowest match wins",
    rules: &["WAKE-02", "WAKE-03", "WAKE-07", "WAIT-14"],
    caught: &[(Mutant::WakeHighest, "waits")],
    holds: Holds::Step(|step| {
        step.after().waits().all(|wait| !woke(step, wait) || won_rightly(step, wait))
    }),
};

fn woke(step: &Step<'_>, wait: WaitIx) -> bool {
    step.before.wait(wait).status != WaitStatus::Woken
        && step.after.wait(wait).status == WaitStatus::Woken
}

/// What matches after the wake and did not win was beaten rightly only by a lower number.
fn won_rightly(step: &Step<'_>, wait: WaitIx) -> bool {
    let Some(winner) = step.after.wait(wait).winner.event() else {
        return false;
    };
    let seq = step.after.event(winner).seq;
    step.after
        .matched(step.world, wait)
        .into_iter()
        .all(|event| event == winner || step.after.event(event).seq > seq)
}

/// A match that is routed, or was before the wait was registered, wakes; it is not left as mere context.
pub const NO_LOST_WAKE: Property = Property {
    name: "no active wait leaves a routed match unserved",
    rules: &["WAIT-14", "WAIT-15", "WAIT-17", "WAIT-18", "POLICY-02"],
    caught: &[
        (Mutant::SkipRegistrationScan, "wait-no-timers"),
        (Mutant::ScanSkipsQueued, "wait-no-timers"),
        (Mutant::MatchAsContext, "wait-no-timers"),
    ],
    holds: Holds::State(|now| {
        active(now).all(|wait| {
            !now.state.matched(now.world, wait).into_iter().any(|event| routed(now, event))
        })
    }),
};

fn active(now: &Moment<'_>) -> impl Iterator<Item = WaitIx> {
    now.waits().filter(|wait| now.state.wait(*wait).status == WaitStatus::Active)
}

fn routed(now: &Moment<'_>, event: EventIx) -> bool {
    now.state.event(event).mark != RouteMark::Unrouted
}

/// What the execution says it saw never wakes it.
pub const ABOVE_WATERMARK: Property = Property {
    name: "a winner lies above the watermark, unless it is the wait's own timeout",
    rules: &["WAIT-04", "WAIT-12"],
    caught: &[(Mutant::WatermarkIgnored, "waits")],
    holds: Holds::State(|now| {
        now.waits().all(|wait| match now.state.wait(wait).winner.event() {
            Some(winner) if winner != now.world.timeout_of(wait) => {
                now.state.event(winner).seq > now.state.wait(wait).watermark
            }
            Some(_) | None => true,
        })
    }),
};

/// The boundary is stored as declared and never moves.
pub const WATERMARK_KEPT: Property = Property {
    name: "a watermark is kept as declared",
    rules: &["WAIT-12", "WAKE-11"],
    caught: &[(Mutant::WatermarkRaised, "waits")],
    holds: Holds::Step(|step| {
        let declared = match step.committed() {
            Some(Commit::RegisterWait { work, wait, after, .. }) => {
                let last = step
                    .before
                    .input(work, Input::Batch)
                    .last()
                    .map_or(0, |event| step.before.event(*event).seq);
                Some((wait, sequence(step.before, after, last)))
            }
            Some(_) | None => None,
        };
        step.before().waits().all(|wait| {
            let (before, after) = step.wait(wait);
            match declared {
                Some((registered, watermark)) if registered == wait => after.watermark == watermark,
                Some(_) | None => after.watermark == before.watermark,
            }
        })
    }),
};

fn sequence(facts: &dyn Facts, after: Mark, last_of_batch: u8) -> u8 {
    match after {
        Mark::Start => 0,
        Mark::Batch => last_of_batch,
        Mark::Latest => facts.latest(),
        Mark::Beyond => facts.latest() + 1,
    }
}

/// Nobody has observed what nobody has accepted.
pub const WATERMARK_SEEN: Property = Property {
    name: "no watermark is above the latest sequence",
    rules: &["WAIT-13"],
    caught: &[(Mutant::WatermarkUnchecked, "waits")],
    holds: Holds::Step(|step| match step.committed() {
        Some(Commit::RegisterWait { wait, .. }) => {
            step.after.wait(wait).watermark <= step.before.latest()
        }
        Some(_) | None => true,
    }),
};

/// A Work waits on what is its own.
pub const OWN_KEYS: Property = Property {
    name: "a wait subscribes to keys of its own Work only",
    rules: &["WAIT-02", "WAIT-05"],
    caught: &[(Mutant::ForeignKeyUnchecked, "waits")],
    holds: Holds::State(|now| {
        active(now).all(|wait| {
            let def = now.world.wait(wait);
            let owner = |key: u8| now.state.owner(now.state.newest(now.world, key));
            def.keys.iter().all(|key| owner(*key) == Some(def.work))
        })
    }),
};

/// The name of a resource stays good for whoever goes on with it.
pub const LISTED_KEYS: Property = Property {
    name: "a listed key whose newest generation is the Work's own is no foreign key",
    rules: &["TERM-04", "WAIT-02"],
    caught: &[(Mutant::ListedKeyUnmapped, "going-on")],
    holds: Holds::Step(|step| match (step.action, step.outcome) {
        (
            Action::Commit(Commit::RegisterWait { work, wait, .. }),
            Outcome::Refused(Refusal::KeyNotOwned),
        ) => {
            let def = step.world.wait(wait);
            let newest = |key: u8| step.before.newest(step.world, key);
            let own = |key: &u8| step.before.owner(newest(*key)) == Some(work);
            (def.source.is_some() && def.keys.is_empty()) || !def.keys.iter().all(own)
        }
        (_, _) => true,
    }),
};

/// A wait has something that can end it.
pub const CAN_END: Property = Property {
    name: "every wait has a key, a timeout or a source",
    rules: &["OURS-18"],
    caught: &[(Mutant::WaitCannotEndUnchecked, "waits")],
    holds: Holds::State(|now| {
        active(now).all(|wait| {
            let def = now.world.wait(wait);
            !def.keys.is_empty() || def.timeout.is_some() || def.source.is_some()
        })
    }),
};

/// Waiting Work has the one active wait that can end it.
pub const WAITING_HAS_WAIT: Property = Property {
    name: "Work waits exactly while one wait of it is active",
    rules: &["WAIT-10", "WAIT-16", "WAKE-08", "WAKE-12"],
    caught: &[(Mutant::CancelLeavesWait, "waits")],
    holds: Holds::State(|now| {
        now.works().all(|work| {
            let waits = active(now).filter(|wait| now.world.wait(*wait).work == work).count();
            let waiting = now.state.work(work).status == WorkStatus::Waiting;
            let attempt = now.state.work(work).attempt.status;
            waits == usize::from(waiting)
                && (!waiting || matches!(attempt, AttemptStatus::Parked | AttemptStatus::Waiting))
        })
    }),
};

/// A wake makes its Work ready with the winner as input, in the same step.
pub const WINNER_IS_INPUT: Property = Property {
    name: "a wake leaves its Work ready with the winner pending",
    rules: &["WAKE-07", "WAKE-08", "WAKE-09"],
    caught: &[(Mutant::WakeWithoutInput, "waits")],
    holds: Holds::Step(|step| {
        step.after().waits().filter(|wait| woke(step, *wait)).all(|wait| {
            let work = step.world.wait(wait).work;
            let pending = |winner| step.after.is_input(winner, work, Input::Pending);
            step.after.work(work).status == WorkStatus::Ready
                && step.after.wait(wait).winner.event().is_some_and(pending)
        })
    }),
};

/// `now >= fire_at`, never before.
pub const TIMEOUT_DUE: Property = Property {
    name: "a timeout is accepted only when its timer is due",
    rules: &["WAKE-04", "TIMER-02"],
    caught: &[(Mutant::TimeoutBeforeDue, "waits")],
    holds: Holds::Step(|step| {
        timeouts(step).all(|wait| step.before.wait(wait).timer.ticks() == Some(0))
    }),
};

/// At and after the deadline a match already accepted keeps the timeout out.
pub const TIMEOUT_YIELDS: Property = Property {
    name: "no timeout is accepted over a match accepted before it",
    rules: &["WAKE-05", "WAKE-06", "WAKE-03"],
    caught: &[(Mutant::TimeoutOverMatch, "waits")],
    holds: Holds::Step(|step| {
        timeouts(step).all(|wait| step.before.matched(step.world, wait).is_empty())
    }),
};

/// Waits whose timeout this step accepted.
fn timeouts<'a>(step: &'a Step<'_>) -> impl Iterator<Item = WaitIx> + 'a {
    step.after().waits().filter(|wait| {
        let timeout = step.world.timeout_of(*wait);
        !step.before.is_accepted(timeout) && step.after.is_accepted(timeout)
    })
}

/// A wait that is over has no timer, and a refused firing is never tried again.
pub const TIMER_GONE: Property = Property {
    name: "a timer is armed only for an active wait whose firing was never refused",
    rules: &["WAKE-08", "WAKE-12", "CAUSE-32", "CAUSE-33"],
    caught: &[
        (Mutant::WakeLeavesTimer, "waits"),
        (Mutant::CancelLeavesTimer, "waits"),
        (Mutant::FiringNotDisabled, "depth"),
    ],
    holds: Holds::Step(|step| {
        let recorded = |wait: WaitIx| step.after.wait(wait).rejected & TIMEOUT_REJECTED != 0;
        let fired = match step.action {
            Action::Commit(Commit::FireTimer { wait } | Commit::AcceptTimeout { wait }) => {
                Some(wait)
            }
            Action::Commit(_) | Action::World(_) => None,
        };
        let in_order = step.after().waits().all(|wait| {
            let seen = step.after.wait(wait);
            match seen.status {
                WaitStatus::Active => !(recorded(wait) && seen.timer != Timer::DISABLED),
                WaitStatus::Unregistered | WaitStatus::Woken | WaitStatus::Cancelled => {
                    seen.timer == Timer::NONE
                }
            }
        });
        let refused = step.outcome == Refusal::DepthLimit.into();
        in_order && (!refused || fired.is_none_or(recorded))
    }),
};
