//! Proofs: what a process took in is consumed by the result that says so, and by nothing else.

use crate::action::{Action, Authority, Commit, Ending};
use crate::index::{EventIx, Proofs, WorkIx};
use crate::mutants::Mutant;
use crate::outcome::{Outcome, Refusal, RouteMark};
use crate::properties::intents::{failed, intents, settled};
use crate::properties::{Holds, Property, Step};
use crate::state::{
    AttemptStatus, Fallback, Input, IntentKind, IntentStatus, Message, Phase, WaitStatus,
    WorkStatus,
};

/// The properties of this area.
pub const ALL: &[Property] = &[
    EXACTLY_PROVED,
    COSTS_NOTHING,
    LEAVES_PENDING,
    CONSUMED_FOR_GOOD,
    ACCOUNTED_FOR,
    COUNTED_FIRST,
    NOT_WOKEN_BY,
    TAKEN_IN_IS_CONSUMED,
];

/// The five conditions on a proof, both ways, and the same for every outcome that can carry one.
pub const EXACTLY_PROVED: Property = Property {
    name: "a result consumes exactly those events it names that were sent to its attempt and are pending",
    rules: &[
        "DONE-05",
        "DONE-07",
        "INJECT-08",
        "INJECT-09",
        "INJECT-10",
        "INJECT-11",
        "INJECT-12",
        "INJECT-13",
        "INJECT-14",
        "INJECT-15",
        "INJECT-17",
        "INJECT-18",
        "INJECT-20",
        "INJECT-22",
        "INJECT-25",
        "INJECT-29",
        "INJECT-31",
    ],
    caught: &[
        (Mutant::ProofUndispatched, "inject"),
        (Mutant::ProofNotAccepting, "inject"),
        (Mutant::ProofOfInterrupt, "interrupt"),
        (Mutant::ProofWithoutIntent, "completion"),
        (Mutant::ProofAcrossWorks, "steer-one-of-two"),
        (Mutant::ProofOfWithdrawn, "steer-and-retry"),
        (Mutant::ProofOfClaimed, "steer-and-wait"),
        (Mutant::ProofNeedsAnswer, "inject"),
        (Mutant::ProofNeedsAnswer, "steer-and-recover"),
        (Mutant::ProofOfFallenBackIgnored, "inject"),
        (Mutant::ProofIgnoredOnCompletion, "inject"),
        (Mutant::ProofIgnoredOnHandoff, "completion"),
        (Mutant::ProofIgnoredOnFailure, "steer-and-retry"),
        (Mutant::ProofIgnoredOnWait, "steer-and-wait"),
        (Mutant::AcceptedIsProof, "inject"),
        (Mutant::AcceptedIsProof, "steer-and-wait"),
        (Mutant::AcceptedIsProof, "steer-and-end"),
        (Mutant::ProofLeavesIntent, "inject"),
        (Mutant::ProofLeavesInput, "inject"),
    ],
    holds: Holds::Step(|step| {
        let Some((work, named)) = reported(step) else {
            return true;
        };
        step.before().accepted().all(|event| {
            let proved = named.has(event) && provable(step, work, event);
            let (before, after) = intents(step, event);
            let consumed =
                before.status != IntentStatus::Consumed && after.status == IntentStatus::Consumed;
            let input = |input: Input| input == Input::Batch;
            let taken =
                !input(step.before.event(event).input) && input(step.after.event(event).input);
            (consumed, taken) == (proved, proved)
        })
    }),
};

/// The result that this step committed, and what it names as taken in.
fn reported(step: &Step<'_>) -> Option<(WorkIx, Proofs)> {
    match step.committed() {
        Some(
            Commit::Complete { work, proofs, .. }
            | Commit::Fail { work, proofs, .. }
            | Commit::RegisterWait { work, proofs, .. },
        ) => Some((work, proofs)),
        Some(_) | None => None,
    }
}

/// Whether naming an event now would prove that the attempt of a Work took it in.
fn provable(step: &Step<'_>, work: WorkIx, event: EventIx) -> bool {
    let seen = step.before.event(event);
    let sent = match seen.intent.status {
        IntentStatus::Dispatched | IntentStatus::Accepted | IntentStatus::FellBack => true,
        IntentStatus::None
        | IntentStatus::Committed
        | IntentStatus::NotAccepting
        | IntentStatus::Fenced
        | IntentStatus::Consumed
        | IntentStatus::Stale => false,
    };
    sent && seen.intent.kind == IntentKind::Inject
        && seen.intent.attempt == step.before.work(work).attempt.number
        && (seen.work, seen.input) == (work.into(), Input::Pending)
}

/// A result that names what nobody sent is as good as any other, and no better.
pub const COSTS_NOTHING: Property = Property {
    name: "no result is refused for what it names",
    rules: &["INJECT-16"],
    caught: &[(Mutant::FalseProofRefused, "inject"), (Mutant::FalseProofRefused, "steer-and-wait")],
    holds: Holds::Step(|step| {
        let (work, by) = match step.action {
            Action::Commit(
                Commit::Complete { work, by, .. }
                | Commit::Fail { work, by, .. }
                | Commit::RegisterWait { work, by, .. },
            ) => (work, by),
            Action::Commit(_) | Action::World(_) => return true,
        };
        let attempt = &step.before.work(work).attempt;
        let holds = by == Authority::Current && attempt.epochs > 0 && attempt.lease > 0;
        if !holds || attempt.phase != Phase::Pinned {
            return true;
        }
        match step.outcome {
            Outcome::Accepted(_) | Outcome::Duplicate(_) => true,
            Outcome::Conflict => step.before.owed_a_route(step.world, work),
            Outcome::Refused(refusal) => matches!(
                refusal,
                Refusal::WaitCannotEnd
                    | Refusal::KeyNotOwned
                    | Refusal::ScopeNotReadable
                    | Refusal::WatermarkAhead
            ),
            Outcome::Deferred(_) => false,
        }
    }),
};

/// No answer removes it, and neither does the end of the attempt that it was sent to.
pub const LEAVES_PENDING: Property = Property {
    name: "input leaves pending by a claim, by a proof, or by the error fallback that its route configured",
    rules: &[
        "POLICY-13",
        "POLICY-14",
        "POLICY-15",
        "POLICY-20",
        "POLICY-33",
        "POLICY-35",
        "INJECT-01",
        "INJECT-04",
        "INJECT-06",
        "INJECT-08",
        "INJECT-23",
        "INJECT-31",
        "CTRL-03",
        "DONE-05",
    ],
    caught: &[
        (Mutant::AcceptedConsumes, "inject"),
        (Mutant::DispatchConsumes, "inject"),
        (Mutant::NotAcceptingWithdraws, "inject"),
        (Mutant::AmbiguousWithdraws, "inject"),
        (Mutant::QueueFallbackWithdraws, "inject"),
        (Mutant::FenceLosesPending, "interrupt"),
        (Mutant::FenceTakesItsEvent, "interrupt"),
        (Mutant::StaleLosesInput, "inject"),
        (Mutant::AcceptedIsProof, "inject"),
    ],
    holds: Holds::Step(|step| {
        let pending = |event: &EventIx| step.before.event(*event).input == Input::Pending;
        step.before().accepted().filter(pending).all(|event| match step.after.event(event).input {
            Input::Pending => true,
            Input::Batch => claimed(step, event) || proved(step, event),
            Input::Withdrawn => withdrawn_rightly(step, event),
            Input::No | Input::Consumed => false,
        })
    }),
};

fn claimed(step: &Step<'_>, event: EventIx) -> bool {
    match step.committed() {
        Some(Commit::Claim { work }) => step.before.event(event).work == work.into(),
        Some(_) | None => false,
    }
}

fn proved(step: &Step<'_>, event: EventIx) -> bool {
    reported(step).is_some_and(|(work, named)| named.has(event) && provable(step, work, event))
}

fn withdrawn_rightly(step: &Step<'_>, event: EventIx) -> bool {
    settled(step).is_some_and(|(settled, intent, answer)| {
        settled == event && intent.on_error == Fallback::Drop && failed(intent, answer)
    })
}

/// A retry is handed neither what the failed attempt was claimed with nor what it took in; a resumed turn neither.
pub const CONSUMED_FOR_GOOD: Property = Property {
    name: "input that was consumed or withdrawn is never pending again",
    rules: &["POLICY-10", "INJECT-14", "INJECT-20", "INJECT-27", "INJECT-29", "INJECT-30"],
    caught: &[
        (Mutant::FailureReturnsInput, "steer-and-retry"),
        (Mutant::WakeByConsumed, "steer-and-wait"),
        (Mutant::LateAnswerReturnsInput, "steer-and-wait"),
    ],
    holds: Holds::Step(|step| {
        step.before().accepted().all(|event| {
            let after = step.after.event(event).input;
            match step.before.event(event).input {
                Input::No | Input::Pending => true,
                Input::Batch => matches!(after, Input::Batch | Input::Consumed),
                Input::Consumed => after == Input::Consumed,
                Input::Withdrawn => after == Input::Withdrawn,
            }
        })
    }),
};

/// Whatever happened on the way.
pub const ACCOUNTED_FOR: Property = Property {
    name: "what is to reach an attempt is at every moment pending, consumed, or withdrawn as its route says",
    rules: &[
        "POLICY-11",
        "POLICY-14",
        "POLICY-19",
        "POLICY-20",
        "POLICY-35",
        "INJECT-17",
        "DONE-05",
    ],
    caught: &[
        (Mutant::InjectedIsNoInput, "inject"),
        (Mutant::InterruptIsNoInput, "interrupt"),
        (Mutant::NotAcceptingWithdraws, "inject"),
        (Mutant::ProofLeavesInput, "inject"),
    ],
    holds: Holds::State(|now| {
        now.accepted().all(|ix| {
            let event = now.state.event(ix);
            let steers = matches!(event.mark, RouteMark::Inject | RouteMark::Interrupt);
            let intent = event.intent;
            match event.input {
                Input::No => !steers || now.world.is_cores(ix),
                Input::Pending => intent.status != IntentStatus::Consumed,
                Input::Batch | Input::Consumed => true,
                Input::Withdrawn => {
                    (intent.status, intent.on_error) == (IntentStatus::FellBack, Fallback::Drop)
                }
            }
        })
    }),
};

/// What is proved is consumed when the end of the Work is judged; what is not is input of the next attempt.
pub const COUNTED_FIRST: Property = Property {
    name: "a completion ends its Work exactly if nothing is pending once its proofs are counted",
    rules: &["DONE-03", "DONE-05", "DONE-07", "INJECT-22"],
    caught: &[
        (Mutant::CompletionJudgesFirst, "inject"),
        (Mutant::AcceptedEndsWork, "inject"),
        (Mutant::CompleteDropsPending, "inject"),
    ],
    holds: Holds::Step(|step| match step.committed() {
        Some(Commit::Complete { work, ending: Ending::Completed, proofs, .. })
            if !step.stands(work) =>
        {
            let left = |event: &EventIx| !(proofs.has(*event) && provable(step, work, *event));
            let pending = step.before.input(work, Input::Pending).iter().any(left);
            (step.after.work(work).status == WorkStatus::Completed) != pending
        }
        Some(_) | None => true,
    }),
};

/// What the turn took in is no news to it, whatever its number is.
pub const NOT_WOKEN_BY: Property = Property {
    name: "no wait is woken by what its Work took in, before it or with it",
    rules: &["INJECT-25", "INJECT-26", "INJECT-27", "INJECT-28"],
    caught: &[
        (Mutant::ProofAfterScan, "steer-and-wait"),
        (Mutant::WakeByConsumed, "steer-and-wait"),
    ],
    holds: Holds::Step(|step| {
        let woken = |wait: &crate::index::WaitIx| {
            let (before, after) = step.wait(*wait);
            before.status != WaitStatus::Woken && after.status == WaitStatus::Woken
        };
        step.after().waits().filter(woken).all(|wait| {
            step.after.wait(wait).winner.event().is_none_or(|winner| {
                let before = step.before.event(winner).input;
                let taken_in = matches!(before, Input::Batch | Input::Consumed);
                !taken_in && !proved(step, winner)
            })
        })
    }),
};

/// Over any number of crashes and recoveries between the message and the result.
pub const TAKEN_IN_IS_CONSUMED: Property = Property {
    name: "a result consumes what its process took in, and what it did not stays pending",
    rules: &["INJECT-08", "INJECT-10", "INJECT-18", "INJECT-21", "INJECT-31"],
    caught: &[
        (Mutant::ProofNeedsAnswer, "steer-and-recover"),
        (Mutant::AcceptedIsProof, "steer-and-recover"),
    ],
    holds: Holds::Step(|step| {
        let Some((work, _)) = reported(step) else {
            return true;
        };
        let held = step.before.work(work).attempt.status == AttemptStatus::Running;
        let known = step.world.processes > 0 && held;
        let theirs = |event: &EventIx| step.before.event(*event).work == work.into();
        !known
            || step.before().accepted().filter(theirs).all(|event| {
                let (before, after) = intents(step, event);
                let consumed = before.status != IntentStatus::Consumed
                    && after.status == IntentStatus::Consumed;
                consumed == (before.message == Message::TakenIn)
            })
    }),
};
