//! Interrupts: an attempt is told, fenced, and only then stopped and replaced; and a person may do it.

use crate::action::{Action, Commit, Expect, SendAnswer};
use crate::index::{EventIx, Maybe, WorkIx};
use crate::mutants::Mutant;
use crate::outcome::{Outcome, Refusal, RouteMark};
use crate::properties::intents::settled;
use crate::properties::{Holds, Property, Step};
use crate::state::{
    AttemptStatus, Exclusion, Fallback, Input, IntentKind, IntentStatus, Work, WorkStatus,
};

/// The properties of this area.
pub const ALL: &[Property] = &[
    FENCED,
    NO_FAILURE,
    TOLD_FIRST,
    CAUSE_RECORDED,
    NO_INPUT,
    NO_FALLBACK,
    REFUSED_RIGHTLY,
    TAKEN_RIGHTLY,
];

/// The Work, and the event by which this step fenced its attempt.
fn fence(step: &Step<'_>) -> Option<(WorkIx, EventIx)> {
    let (event, intent, answer) = settled(step)?;
    let interrupts = intent.kind == IntentKind::Interrupt && answer == SendAnswer::Accepted;
    let work = step.before.event(event).work.work()?;
    interrupts.then_some((work, event))
}

/// Its authority is gone before its process is stopped, and the Work is there to go on.
pub const FENCED: Property = Property {
    name: "an interrupt that is accepted cancels its attempt, excludes the segment and leaves the Work ready",
    rules: &["POLICY-20", "POLICY-21", "POLICY-22", "CTRL-03"],
    caught: &[
        (Mutant::InterruptTerminal, "interrupt"),
        (Mutant::FenceLeavesAttempt, "interrupt"),
        (Mutant::FenceKeepsAuthority, "interrupt"),
        (Mutant::FenceFailsAttempt, "interrupt"),
        (Mutant::FenceUnmarked, "interrupt"),
        (Mutant::FenceUnsettled, "interrupt"),
        (Mutant::FenceUnmarked, "steer-and-wait"),
    ],
    holds: Holds::Step(|step| {
        fence(step).is_none_or(|(work, event)| {
            let after = step.after.work(work);
            let attempt = &after.attempt;
            attempt.status == AttemptStatus::Cancelled
                && (attempt.epochs, attempt.lease) == (0, 0)
                && after.status == WorkStatus::Ready
                && after.excluded == Exclusion::LastSegment
                && step.after.event(event).intent.status == IntentStatus::Fenced
        })
    }),
};

/// It counts against no budget, keeps nobody waiting and lifts nothing.
pub const NO_FAILURE: Property = Property {
    name: "an interrupt is no failure: it changes nothing of its Work but the attempt",
    rules: &["POLICY-21", "CTRL-03"],
    caught: &[
        (Mutant::InterruptCounts, "interrupt"),
        (Mutant::InterruptBacksOff, "interrupt"),
        (Mutant::InterruptHolds, "interrupt"),
        (Mutant::FenceForgetsFailures, "interrupted-failures"),
        (Mutant::FenceLiftsHold, "interrupted-failures"),
        (Mutant::FenceSetsIdle, "interrupted-failures"),
    ],
    holds: Holds::Step(|step| {
        fence(step).is_none_or(|(work, _)| {
            let kept = |work: &Work| {
                let input = (work.keys, work.first_key, work.kind, work.scope);
                let retry = (work.holds, work.failures, work.backoff, work.retry);
                (input, retry, work.idle, work.wake, work.released, work.last_wait)
            };
            let (before, after) = step.work(work);
            kept(before) == kept(after)
        })
    }),
};

/// The intent, the dispatch and a failed answer leave the attempt as it is: so nothing replaces it before the fence.
pub const TOLD_FIRST: Property = Property {
    name: "no control ends an attempt but an interrupt that was sent and accepted",
    rules: &["POLICY-12", "POLICY-19", "POLICY-20", "CTRL-02"],
    caught: &[
        (Mutant::InterruptFencesAtOnce, "interrupt"),
        (Mutant::DispatchFences, "interrupt"),
        (Mutant::RefusedInterruptFences, "interrupt"),
        (Mutant::UndispatchedSettles, "interrupt"),
    ],
    holds: Holds::Step(|step| {
        let controls = match step.committed() {
            Some(
                Commit::Dispatch { .. } | Commit::SettleDispatch { .. } | Commit::Interrupt { .. },
            ) => true,
            Some(Commit::CommitRoute { event }) => {
                matches!(step.after.event(event).mark, RouteMark::Inject | RouteMark::Interrupt)
            }
            Some(_) | None => false,
        };
        let told = |(work, event): (WorkIx, EventIx)| {
            let sent = step.before.event(event).intent.status == IntentStatus::Dispatched;
            sent.then_some(work)
        };
        let fenced = fence(step).and_then(told);
        !controls
            || step.before().works().all(|work| {
                let (before, after) = step.attempt(work);
                before == after || fenced == Some(work)
            })
    }),
};

/// Routed or asked for by a person; attempts that end in any other way have none.
pub const CAUSE_RECORDED: Property = Property {
    name: "an attempt names the event that interrupted it exactly if an interrupt fenced it",
    rules: &["CTRL-09"],
    caught: &[
        (Mutant::FenceUnrecorded, "interrupt"),
        (Mutant::CancelRecordsInterrupt, "interrupt"),
        (Mutant::InterruptRecordedAtOnce, "interrupt"),
        (Mutant::CauseOutlivesAttempt, "interrupt"),
    ],
    holds: Holds::Step(|step| {
        step.before().works().all(|work| {
            let (before, after) = step.attempt(work);
            let same = before.number == after.number;
            let recorded = match fence(step) {
                Some((fenced, event)) if fenced == work => event.into(),
                Some(_) | None if same => before.interrupted_by,
                Some(_) | None => Maybe::NONE,
            };
            after.interrupted_by == recorded
        })
    }),
};

/// It is never in a batch and never starts anything.
pub const NO_INPUT: Property = Property {
    name: "a person's interrupt is no input and triggers nothing",
    rules: &["CTRL-04"],
    caught: &[(Mutant::OperatorInterruptIsInput, "interrupt")],
    holds: Holds::State(|now| {
        let by_hand = |event: &EventIx| {
            now.state.event(*event).mark == RouteMark::Interrupt && now.world.is_cores(*event)
        };
        now.accepted().filter(by_hand).all(|event| {
            let triggers = |work: &Work| work.attempt.trigger == event.into();
            now.state.event(event).input == Input::No && !now.state.works().iter().any(triggers)
        })
    }),
};

/// No route said what stands in for it.
pub const NO_FALLBACK: Property = Property {
    name: "a person's interrupt that failed is sent again or goes stale",
    rules: &["CTRL-08"],
    caught: &[(Mutant::OperatorInterruptFallsBack, "interrupt")],
    holds: Holds::State(|now| {
        now.accepted().filter(|event| now.world.is_cores(*event)).all(|event| {
            let intent = now.state.event(event).intent;
            intent.on_error == Fallback::None && intent.status != IntentStatus::FellBack
        })
    }),
};

/// What the pin says counts, and the executor has to be there for it.
pub const REFUSED_RIGHTLY: Property = Property {
    name: "a person interrupts only a running attempt that supports it, by an executor that implements it",
    rules: &["CTRL-05", "CTRL-06", "CTRL-07"],
    caught: &[
        (Mutant::InterruptOfReady, "interrupt"),
        (Mutant::InterruptOfReady, "steer-and-wait"),
        (Mutant::CapabilityUnchecked, "completion"),
        (Mutant::ImplementationUnchecked, "interrupt"),
    ],
    holds: Holds::Step(|step| match step.committed() {
        Some(Commit::Interrupt { work, implemented, .. }) => {
            implemented && interruptible(step, work)
        }
        Some(_) | None => true,
    }),
};

/// Whether an attempt of a Work runs whose pin has interrupt.
fn interruptible(step: &Step<'_>, work: WorkIx) -> bool {
    let attempt = &step.before.work(work).attempt;
    attempt.status == AttemptStatus::Running
        && step.world.controls(work, attempt.generation).interrupts
}

/// A person who may interrupt is not put off; who may not leaves nothing behind.
pub const TAKEN_RIGHTLY: Property = Property {
    name: "a person's interrupt of what can be interrupted is taken, and what is refused leaves no event",
    rules: &["CTRL-02", "CTRL-05", "CTRL-07"],
    caught: &[
        (Mutant::CapabilityOfTheDay, "pinned-controls"),
        (Mutant::RefusedInterruptLeavesEvent, "interrupt"),
        (Mutant::InterruptOncePerAttempt, "interrupt"),
    ],
    holds: Holds::Step(|step| {
        let Action::Commit(Commit::Interrupt { work, expect, request, implemented }) = step.action
        else {
            return true;
        };
        let event = EventIx::from(request);
        let left = !step.before.is_accepted(event) && step.after.is_accepted(event);
        match step.outcome {
            Outcome::Accepted(_) => left,
            Outcome::Duplicate(_) => !left,
            Outcome::Refused(Refusal::StaleTarget) => !left && expect == Expect::Other,
            Outcome::Refused(_) => {
                let rightly = !implemented || !interruptible(step, work);
                rightly && !left
            }
            Outcome::Deferred(_) | Outcome::Conflict => false,
        }
    }),
};
