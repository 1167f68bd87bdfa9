//! Intents: committed for one attempt, sent to it or to none, and settled once.

use crate::action::{Action, Authority, Commit, Env, SendAnswer};
use crate::index::{EventIx, WorkIx};
use crate::mutants::Mutant;
use crate::outcome::Outcome;
use crate::properties::{Holds, Property, Step};
use crate::state::{
    AttemptStatus, Fallback, Input, Intent, IntentKind, IntentStatus, Message, Phase, WorkStatus,
};

/// The properties of this area.
pub const ALL: &[Property] = &[
    ONE_WAY,
    OPEN_WHILE_RUNS,
    STALE_AT_THE_END,
    SENT_RIGHTLY,
    SENT_AGAIN,
    CERTAIN_ANSWERS,
    FAILED_ANSWERS,
    LATE_ANSWERS,
    DELIVERED_ONCE_SENT,
    MESSAGES_KEPT,
];

/// What is settled stays so; only a proof may still show that what was sent has arrived. It is never for another attempt.
pub const ONE_WAY: Property = Property {
    name: "an intent goes one way, keeps its attempt, and once settled is only ever consumed",
    rules: &[
        "POLICY-15",
        "POLICY-17",
        "POLICY-23",
        "INJECT-02",
        "INJECT-13",
        "INJECT-14",
        "INJECT-19",
        "INJECT-20",
        "INJECT-24",
    ],
    caught: &[
        (Mutant::LateAnswerSettles, "inject"),
        (Mutant::SettledResent, "inject"),
        (Mutant::UndispatchedSettles, "inject"),
        (Mutant::IntentRetargeted, "inject"),
        (Mutant::StaleDispatched, "inject"),
        (Mutant::AcceptedGoesStale, "inject"),
        (Mutant::RestoreForgetsSends, "steered-restore"),
        (Mutant::ProofNotAccepting, "inject"),
        (Mutant::ProofUndispatched, "inject"),
    ],
    holds: Holds::Step(|step| {
        step.before().accepted().all(|event| {
            let (before, after) = intents(step, event);
            let fixed = |intent: &Intent| (intent.kind, intent.attempt, intent.on_error);
            let made = before.kind == IntentKind::None;
            made || (fixed(before) == fixed(after) && leads(before.status, after.status))
        })
    }),
};

pub(super) fn intents<'a>(step: &Step<'a>, event: EventIx) -> (&'a Intent, &'a Intent) {
    (&step.before.event(event).intent, &step.after.event(event).intent)
}

/// Whether an intent may be in the second status after it was in the first.
fn leads(before: IntentStatus, after: IntentStatus) -> bool {
    use IntentStatus::{
        Accepted, Committed, Consumed, Dispatched, FellBack, Fenced, None, NotAccepting, Stale,
    };
    match before {
        _ if before == after => true,
        Committed => matches!(after, Dispatched | Stale),
        Dispatched => match after {
            Accepted | NotAccepting | Fenced | FellBack | Consumed | Stale => true,
            None | Committed | Dispatched => false,
        },
        Accepted | FellBack => after == Consumed,
        None | NotAccepting | Fenced | Consumed | Stale => false,
    }
}

/// It acts on the attempt that it was committed for, or on none.
pub const OPEN_WHILE_RUNS: Property = Property {
    name: "an intent is open only while the attempt runs that it was committed for",
    rules: &["POLICY-23", "INJECT-23", "INJECT-24"],
    caught: &[
        (Mutant::IntentSurvivesPark, "steer-and-wait"),
        (Mutant::IntentSurvivesEnd, "inject"),
        (Mutant::IntentSurvivesFence, "interrupt"),
        (Mutant::InterruptOfReady, "interrupt"),
    ],
    holds: Holds::State(|now| {
        now.accepted().all(|event| {
            let event = now.state.event(event);
            let theirs = event.work.work().is_some_and(|work| {
                let attempt = &now.state.work(work).attempt;
                attempt.status == AttemptStatus::Running && attempt.number == event.intent.attempt
            });
            !event.intent.status.open() || theirs
        })
    }),
};

/// A crash, a detached host, a restore and a recovery are no end of an attempt.
pub const STALE_AT_THE_END: Property = Property {
    name: "an intent goes stale with the end of its attempt and with nothing else",
    rules: &["POLICY-23", "INJECT-10", "INJECT-23"],
    caught: &[
        (Mutant::IntentDiesWithRecovery, "steer-and-recover"),
        (Mutant::IntentDiesWithRecovery, "steer-and-retry"),
        (Mutant::IntentDiesWithCrash, "steer-and-recover"),
        (Mutant::IntentDiesWithRestore, "steered-restore"),
        (Mutant::IntentDiesWithDetach, "steered-restore"),
    ],
    holds: Holds::Step(|step| {
        step.before().accepted().all(|event| {
            let (before, after) = intents(step, event);
            let gone_stale =
                before.status != IntentStatus::Stale && after.status == IntentStatus::Stale;
            !gone_stale || ends_attempt_of(step, event)
        })
    }),
};

/// Whether this step ended or parked the running attempt of an event's Work.
fn ends_attempt_of(step: &Step<'_>, event: EventIx) -> bool {
    step.before.event(event).work.work().is_some_and(|work| {
        let (before, after) = step.attempt(work);
        before.status == AttemptStatus::Running && after.status != AttemptStatus::Running
    })
}

/// Whoever is told so may call the executor.
pub const SENT_RIGHTLY: Property = Property {
    name: "a send is permitted only of an open intent, to the pinned attempt that it was committed for",
    rules: &[
        "POLICY-12",
        "POLICY-15",
        "POLICY-17",
        "POLICY-23",
        "INJECT-02",
        "INJECT-20",
        "INJECT-24",
    ],
    caught: &[
        (Mutant::SettledResent, "inject"),
        (Mutant::StaleDispatched, "inject"),
        (Mutant::DispatchBeforePin, "inject"),
        (Mutant::DispatchUnrecorded, "inject"),
        (Mutant::DispatchAcrossWorks, "steer-one-of-two"),
    ],
    holds: Holds::Step(|step| {
        let Action::Commit(Commit::Dispatch { work, event, .. }) = step.action else {
            return true;
        };
        let recorded = match step.outcome {
            Outcome::Accepted(_) => IntentStatus::Committed,
            Outcome::Duplicate(_) => IntentStatus::Dispatched,
            Outcome::Deferred(_) | Outcome::Conflict | Outcome::Refused(_) => return true,
        };
        let (before, after) = intents(step, event);
        (before.status, after.status) == (recorded, IntentStatus::Dispatched)
            && reachable(step, work, event)
    }),
};

/// Whether the attempt that an intent was committed for runs, pinned.
fn reachable(step: &Step<'_>, work: WorkIx, event: EventIx) -> bool {
    let attempt = &step.before.work(work).attempt;
    let theirs = step.before.event(event).work == work.into();
    theirs
        && step.before.event(event).intent.attempt == attempt.number
        && attempt.status == AttemptStatus::Running
        && attempt.phase == Phase::Pinned
}

/// An answer that nobody heard costs one more send of the same event under the same intent, whoever holds the attempt now.
pub const SENT_AGAIN: Property = Property {
    name: "whoever holds a pinned attempt may send what is open and settle what was sent",
    rules: &["POLICY-12", "POLICY-17", "POLICY-33", "INJECT-07", "INJECT-21"],
    caught: &[(Mutant::ResendRefused, "inject"), (Mutant::DispatchedNeverSettles, "inject")],
    holds: Holds::Step(|step| {
        let (work, by, event, settles) = match step.action {
            Action::Commit(Commit::Dispatch { work, by, event }) => (work, by, event, false),
            Action::Commit(Commit::SettleDispatch { work, by, event, .. }) => {
                (work, by, event, true)
            }
            Action::Commit(_) | Action::World(_) => return true,
        };
        let attempt = &step.before.work(work).attempt;
        let holds = by == Authority::Current && attempt.epochs > 0 && attempt.lease > 0;
        if !holds || !reachable(step, work, event) {
            return true;
        }
        match step.before.event(event).intent.status {
            IntentStatus::Committed => settles || step.accepted(),
            IntentStatus::Dispatched if settles => step.accepted(),
            IntentStatus::Dispatched => matches!(step.outcome, Outcome::Duplicate(_)),
            IntentStatus::None
            | IntentStatus::Stale
            | IntentStatus::Accepted
            | IntentStatus::NotAccepting
            | IntentStatus::Fenced
            | IntentStatus::FellBack
            | IntentStatus::Consumed => true,
        }
    }),
};

/// What this step settled: the event, its intent before, and the answer.
pub(super) fn settled<'a>(step: &Step<'a>) -> Option<(EventIx, &'a Intent, SendAnswer)> {
    match step.committed() {
        Some(Commit::SettleDispatch { event, answer, .. }) => {
            Some((event, &step.before.event(event).intent, answer))
        }
        Some(_) | None => None,
    }
}

/// Accepted is not consumed, and not accepting is no route.
pub const CERTAIN_ANSWERS: Property = Property {
    name: "an answer that is certain is the status of its injection, and nothing else comes of it",
    rules: &[
        "INJECT-01",
        "INJECT-02",
        "INJECT-04",
        "INJECT-05",
        "INJECT-06",
        "POLICY-13",
        "POLICY-15",
        "POLICY-34",
    ],
    caught: &[
        (Mutant::AcceptedConsumes, "inject"),
        (Mutant::NotAcceptingWithdraws, "inject"),
        (Mutant::NotAcceptingFallsBack, "inject"),
        (Mutant::UndispatchedSettles, "inject"),
        (Mutant::NotAcceptingRecorded, "inject"),
    ],
    holds: Holds::Step(|step| match settled(step) {
        Some((event, before, answer @ (SendAnswer::Accepted | SendAnswer::NotAccepting)))
            if before.kind == IntentKind::Inject =>
        {
            let mut expected = *step.before.event(event);
            expected.intent.status = match answer {
                SendAnswer::Accepted => IntentStatus::Accepted,
                SendAnswer::NotAccepting | SendAnswer::Failed => IntentStatus::NotAccepting,
            };
            let works = step.before.works() == step.after.works();
            before.status == IntentStatus::Dispatched
                && works
                && *step.after.event(event) == expected
        }
        Some(_) | None => true,
    }),
};

/// Nobody knows whether it arrived: the same intent is sent again, or what the route configured for that stands in.
pub const FAILED_ANSWERS: Property = Property {
    name: "a control that failed stays to be sent again, or takes the error fallback of its route",
    rules: &[
        "INJECT-03",
        "INJECT-06",
        "INJECT-07",
        "POLICY-14",
        "POLICY-33",
        "POLICY-34",
        "CTRL-08",
    ],
    caught: &[
        (Mutant::AmbiguousIsAccepted, "inject"),
        (Mutant::AmbiguousIsNotAccepting, "inject"),
        (Mutant::AmbiguousFallsBack, "inject"),
        (Mutant::ErrorFallbackIgnored, "inject"),
        (Mutant::QueueFallbackWithdraws, "inject"),
        (Mutant::DropFallbackKeeps, "steer-and-retry"),
        (Mutant::RefusedInterruptSettles, "interrupt"),
    ],
    holds: Holds::Step(|step| match settled(step) {
        Some((event, before, answer)) if failed(before, answer) => {
            let was = step.before.event(event).input;
            let (status, input) = match before.on_error {
                Fallback::None => (IntentStatus::Dispatched, was),
                Fallback::Queue => (IntentStatus::FellBack, was),
                Fallback::Drop => (IntentStatus::FellBack, Input::Withdrawn),
            };
            let seen = step.after.event(event);
            (seen.intent.status, seen.input) == (status, input)
                && step.before.works() == step.after.works()
        }
        Some(_) | None => true,
    }),
};

/// Whether an answer says that the control failed: an interrupt that is not accepted has not stopped anything.
pub(super) fn failed(intent: &Intent, answer: SendAnswer) -> bool {
    match (intent.kind, answer) {
        (_, SendAnswer::Failed) | (IntentKind::Interrupt, SendAnswer::NotAccepting) => true,
        (_, SendAnswer::Accepted)
        | (IntentKind::Inject | IntentKind::None, SendAnswer::NotAccepting) => false,
    }
}

/// Whoever brings it, and whatever it says.
pub const LATE_ANSWERS: Property = Property {
    name: "an answer to what is settled or stale is a repetition",
    rules: &["INJECT-18", "INJECT-19", "INJECT-20", "POLICY-23"],
    caught: &[
        (Mutant::LateAnswerSettles, "inject"),
        (Mutant::LateAnswerRefused, "inject"),
        (Mutant::LateAnswerSettles, "steer-and-wait"),
    ],
    holds: Holds::Step(|step| match step.action {
        Action::Commit(Commit::SettleDispatch { work, event, .. }) => {
            let seen = step.before.event(event);
            let known = seen.intent.kind != IntentKind::None && seen.work == work.into();
            let late = known && !seen.intent.status.open();
            !late || matches!(step.outcome, Outcome::Duplicate(_))
        }
        Action::Commit(_) | Action::World(_) => true,
    }),
};

/// The call of the executor comes after the commit that it is tried.
pub const DELIVERED_ONCE_SENT: Property = Property {
    name: "no message reaches a process before its send is committed",
    rules: &["POLICY-12", "INJECT-21"],
    caught: &[(Mutant::DeliveredBeforeSent, "steer-and-recover")],
    holds: Holds::Step(|step| match step.action {
        Action::World(Env::Deliver { event }) if step.accepted() => {
            let sent = step.before.event(event).intent;
            sent.kind == IntentKind::Inject && sent.status == IntentStatus::Dispatched
        }
        Action::Commit(_) | Action::World(_) => true,
    }),
};

/// What arrived is not lost with a daemon, so that a proof made before a recovery is one after it.
pub const MESSAGES_KEPT: Property = Property {
    name: "what was delivered or taken in is lost with its keeper or the end of its attempt only",
    rules: &["INJECT-10", "INJECT-21"],
    caught: &[
        (Mutant::CrashLosesMessages, "steer-and-recover"),
        (Mutant::IntentDiesWithRecovery, "steer-and-recover"),
    ],
    holds: Holds::Step(|step| {
        step.before().accepted().all(|event| {
            let (before, after) = intents(step, event);
            let kept = after.message == before.message || before.message == Message::None;
            let further = (before.message, after.message) == (Message::Delivered, Message::TakenIn);
            let work = step.before.event(event).work;
            let keeper = match step.action {
                Action::World(Env::KeeperDies { work: of }) => work == of.into(),
                Action::Commit(_) | Action::World(_) => false,
            };
            let ended =
                work.work().is_some_and(|work| step.after.work(work).status != WorkStatus::Running);
            kept || further || keeper || ended
        })
    }),
};
