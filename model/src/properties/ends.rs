//! Ends: completion, cancellation, and that what is terminal stays as it is.

use crate::action::Commit;
use crate::index::WorkIx;
use crate::mutants::Mutant;
use crate::properties::{Holds, Property, Step};
use crate::state::{Flag, Input, Timer, WaitStatus, WorkStatus};

/// The properties of this area.
pub const ALL: &[Property] = &[TERMINAL, OVER_UNROUTED, OVER_PENDING, CANCELLED];

/// Terminal Work never changes again: no key, input, attempt, wait or timer is added. Only its exclusion mark lifts.
pub const TERMINAL: Property = Property {
    name: "terminal Work never changes",
    rules: &[
        "TERM-01",
        "TERM-02",
        "TERM-08",
        "CANCEL-07",
        "CANCEL-08",
        "CANCEL-09",
        "CANCEL-11",
        "WAKE-13",
        "DONE-04",
        "RETRY-23",
        "RETRY-32",
    ],
    caught: &[
        (Mutant::DueRevives, "cancel"),
        (Mutant::RetryRevives, "exhaustion"),
        (Mutant::CancelRewritesTerminal, "attempts"),
        (Mutant::TerminalTakesInput, "acceptance"),
        (Mutant::ReopenRevives, "terminal"),
    ],
    holds: Holds::Step(|step| {
        step.before()
            .existing()
            .filter(|work| step.before.work(*work).status.terminal())
            .all(|work| unchanged(step, work))
    }),
};

fn unchanged(step: &Step<'_>, work: WorkIx) -> bool {
    let (before, mut after) = (*step.before.work(work), *step.after.work(work));
    after.excluded = before.excluded;
    after.exited = before.exited;
    // A process goes its way whatever its Work has come to.
    (after.host, after.process) = (before.host, before.process);
    (after.left_held, after.left_running) = (before.left_held, before.left_running);
    let waits = step
        .before()
        .waits()
        .filter(|wait| step.world.wait(*wait).work == work)
        .all(|wait| step.before.wait(wait) == step.after.wait(wait));
    let inputs = [Input::Pending, Input::Batch, Input::Consumed]
        .into_iter()
        .all(|standing| step.before.input(work, standing) == step.after.input(work, standing));
    before == after && waits && inputs
}

/// No Work ends over an event that already resolves to it.
pub const OVER_UNROUTED: Property = Property {
    name: "no Work completes over an unrouted event of its own",
    rules: &["DONE-01", "DONE-02", "DONE-07"],
    caught: &[
        (Mutant::CompleteOverUnrouted, "attempts"),
        (Mutant::CompleteOverProofs, "completion"),
    ],
    holds: Holds::Step(|step| match step.committed() {
        Some(Commit::Complete { work, .. }) => {
            step.after.work(work).status != WorkStatus::Completed
                || !step.before.owed_a_route(step.world, work)
        }
        Some(_) | None => true,
    }),
};

/// Pending input starts the next attempt; completion waits for it.
pub const OVER_PENDING: Property = Property {
    name: "completed Work has no pending input",
    rules: &["DONE-03", "DONE-06", "DONE-04", "DONE-05"],
    caught: &[
        (Mutant::CompleteDropsPending, "attempts"),
        (Mutant::TerminalTakesInput, "attempts"),
        (Mutant::AcceptedEndsWork, "inject"),
    ],
    holds: Holds::State(|now| {
        now.works().all(|work| {
            now.state.work(work).status != WorkStatus::Completed || !now.state.has_pending(work)
        })
    }),
};

/// No committed state shows cancelled Work with anything that could still act.
pub const CANCELLED: Property = Property {
    name: "cancelled Work has no open attempt, active wait, timer, backoff, subscription, hold or wake",
    rules: &[
        "CANCEL-01",
        "CANCEL-02",
        "CANCEL-03",
        "CANCEL-04",
        "CANCEL-08",
        "CANCEL-09",
        "CANCEL-10",
        "CANCEL-12",
        "WAKE-12",
        "WAKE-14",
    ],
    caught: &[
        (Mutant::CancelLeavesBackoff, "cancel"),
        (Mutant::CancelLeavesRetryTimer, "cancel"),
        (Mutant::CancelLeavesAttempt, "waits"),
        (Mutant::CancelLeavesWait, "waits"),
        (Mutant::CancelLeavesTimer, "waits"),
    ],
    holds: Holds::State(|now| {
        let cancelled = |work: &WorkIx| now.state.work(*work).status == WorkStatus::Cancelled;
        let waits_over = |work: WorkIx| {
            now.waits().filter(|wait| now.world.wait(*wait).work == work).all(|wait| {
                let wait = now.state.wait(wait);
                wait.status != WaitStatus::Active
                    && wait.timer == Timer::NONE
                    && wait.subscribed == Flag::No
            })
        };
        now.works().filter(cancelled).all(|work| {
            let seen = now.state.work(work);
            !seen.attempt.status.open()
                && seen.attempt.epochs == 0
                && seen.wake.wait().is_none()
                && seen.holds.is_empty()
                && seen.idle == Timer::NONE
                && seen.backoff == 0
                && seen.retry == Timer::NONE
                && waits_over(work)
        })
    }),
};
