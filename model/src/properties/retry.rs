//! Failures, backoffs and retries.

use crate::action::{Action, Commit, Env, Hint};
use crate::index::{EventIx, WorkIx};
use crate::mutants::Mutant;
use crate::outcome::{Outcome, Refusal, RouteMark};
use crate::properties::attempts::claimed;
use crate::properties::{Holds, Moment, Property, Step};
use crate::state::{
    AttemptStatus, Hold, Holds as Reasons, ITSELF_REJECTED, Input, Timer, WorkStatus,
};
use crate::worlds::{Exhausted, Origin, Policy};

/// The properties of this area.
pub const ALL: &[Property] = &[
    WHOLE,
    IN_STEP,
    HINTED,
    COUNTED,
    LAST,
    BOUNDED,
    STARTS_NOT,
    ONE_FACT,
    FIRES,
    ROUTES,
    STANDS,
    BY_HAND,
    LIMITED,
    GOES_ON,
    FAILS_RIGHTLY,
];

/// The policy that the attempt which failed in this step was pinned with.
fn policy<'a>(step: &'a Step<'_>, work: WorkIx) -> &'a Policy {
    let failing = step.before.work(work);
    step.world.policy(failing.kind, failing.attempt.generation)
}

/// The Works that failed in this step, standing Work apart, each with the number of its failure.
fn failures<'a>(step: &'a Step<'_>) -> impl Iterator<Item = (WorkIx, u8)> + 'a {
    let counted = step.failed().filter(|work| !step.stands(*work));
    counted.map(|work| (work, step.before.work(work).failures + 1))
}

fn hint(step: &Step<'_>) -> Hint {
    match step.action {
        Action::Commit(Commit::Fail { hint, .. }) => hint,
        Action::Commit(_) | Action::World(_) => Hint::None,
    }
}

/// No state shows a failed attempt without what comes of it, in whichever way it failed.
pub const WHOLE: Property = Property {
    name: "a failure is one step with its backoff and timer, its hold or its failed Work",
    rules: &["RETRY-01", "RETRY-02", "ADOPT-20", "ADOPT-21"],
    caught: &[
        (Mutant::FailureWithoutTimer, "retry"),
        (Mutant::FailureWithoutBackoff, "retry"),
        (Mutant::NotAdoptableUncounted, "recovery"),
    ],
    holds: Holds::Step(|step| {
        failures(step).all(|(work, _)| {
            let seen = step.after.work(work);
            let waits = seen.backoff == seen.attempt.number;
            let timed = seen.retry.ticks().is_some();
            let over = seen.holds.has(Hold::Exhausted) || seen.status == WorkStatus::Failed;
            waits == timed && (waits || over)
        })
    }),
};

/// Five and ten minutes, and fifteen if there is one more; to the instant.
pub const IN_STEP: Property = Property {
    name: "a retry is due after the step of its failure's number, without jitter",
    rules: &["RETRY-04", "RETRY-05", "RETRY-07", "RETRY-08", "BIND-10"],
    caught: &[(Mutant::BackoffFirstStep, "retry")],
    holds: Holds::Step(|step| {
        failures(step).all(|(work, count)| {
            let after = step.after.work(work).retry;
            let given = policy(step, work).steps.get(usize::from(count) - 1).copied();
            after == Timer::NONE || hint(step) == Hint::Valid || after.ticks() == given
        })
    }),
};

/// A hint is a wish within a bound; what is none is ignored, and never a reason for haste.
pub const HINTED: Property = Property {
    name: "a valid hint sets the delay of a retry, and no other hint does",
    rules: &["RETRY-15", "RETRY-16", "RETRY-17", "JOB-16", "JOB-27"],
    caught: &[
        (Mutant::HintIgnored, "retry"),
        (Mutant::HintImmediate, "retry"),
        (Mutant::HintUnbounded, "hints"),
        (Mutant::StandingRetries, "hints"),
    ],
    holds: Holds::Step(|step| {
        step.failed().all(|work| {
            let armed = step.after.work(work).retry;
            let asked = (hint(step) == Hint::Valid).then_some(step.world.hint);
            if step.stands(work) {
                return armed == asked.map_or(Timer::NONE, Timer::due_in);
            }
            let count = step.before.work(work).failures + 1;
            let given = policy(step, work).steps.get(usize::from(count) - 1).copied();
            armed == Timer::NONE || armed.ticks() == asked.or(given)
        })
    }),
};

/// Neither attempts nor time nor recoveries count.
pub const COUNTED: Property = Property {
    name: "failures are counted one by one, from the last success or manual retry on",
    rules: &["RETRY-09", "RETRY-10", "RETRY-11", "RETRY-12", "ADOPT-11"],
    caught: &[
        (Mutant::CountFromAttempt, "retry"),
        (Mutant::SuccessKeepsCount, "retry"),
        (Mutant::ManualKeepsCount, "retry"),
        (Mutant::RelaunchCounts, "recovery"),
    ],
    holds: Holds::Step(|step| {
        let again = match step.committed() {
            Some(Commit::Complete { work, .. } | Commit::Retry { work, .. }) => Some(work),
            Some(_) | None => None,
        };
        step.before().works().all(|work| {
            let (before, after) = (step.before.work(work).failures, step.after.work(work).failures);
            let counts = step.fails(work) && !step.stands(work);
            match again == Some(work) {
                true => after == 0,
                false => after == before + u8::from(counts),
            }
        })
    }),
};

/// What the last failure leads to is the policy's word, as pinned with the attempt.
pub const LAST: Property = Property {
    name: "the failure that uses up the pinned budget, and no other, arms nothing: its Work is kept or failed, by the policy",
    rules: &["RETRY-06", "RETRY-07", "RETRY-31", "BIND-10"],
    caught: &[
        (Mutant::ExhaustionArms, "exhaustion"),
        (Mutant::ExhaustionFails, "retry"),
        (Mutant::ExhaustionKeeps, "exhaustion"),
        (Mutant::PolicyOfTheDay, "policies"),
    ],
    holds: Holds::Step(|step| {
        failures(step).all(|(work, count)| {
            let (before, seen) = step.work(work);
            let pinned = policy(step, work);
            let armed = seen.backoff > 0 || seen.retry != Timer::NONE;
            match (pinned.uses_up(count), pinned.exhausted) {
                (false, _) => {
                    armed && seen.status == WorkStatus::Ready && seen.holds == before.holds
                }
                (true, Exhausted::Keep) => {
                    let kept = seen.status == WorkStatus::Ready;
                    !armed && kept && seen.holds == before.holds.with(Hold::Exhausted)
                }
                (true, Exhausted::Fail) => {
                    !armed && seen.status == WorkStatus::Failed && seen.holds == Reasons::NONE
                }
            }
        })
    }),
};

/// However failures and hints follow each other, a person is needed in the end.
pub const BOUNDED: Property = Property {
    name: "no more failures are retried than the budget allows, and none at once",
    rules: &["RETRY-03", "RETRY-18", "RETRY-06"],
    caught: &[(Mutant::ExhaustionArms, "retry"), (Mutant::HintImmediate, "retry")],
    holds: Holds::Step(|step| {
        step.failed().all(|work| {
            let seen = step.after.work(work);
            let budget = policy(step, work).budget;
            let within = step.stands(work) || (1..budget).contains(&seen.failures);
            seen.retry == Timer::NONE || (within && seen.retry != Timer::due_in(0))
        })
    }),
};

/// Not before its time, and not before it is routed.
pub const STARTS_NOT: Property = Property {
    name: "no attempt starts during a backoff",
    rules: &["RETRY-04", "RETRY-20", "RETRY-21", "RETRY-25"],
    caught: &[(Mutant::ClaimOverBackoff, "retry")],
    holds: Holds::Step(|step| claimed(step).is_none_or(|work| step.before.work(work).backoff == 0)),
};

/// A timer for nothing, or a backoff that nothing ends, is a lost retry.
pub const ONE_FACT: Property = Property {
    name: "Work in backoff is ready and failed last, and the retry of that attempt is armed, refused or accepted, but not routed",
    rules: &["RETRY-01", "RETRY-02", "RETRY-20", "RETRY-26", "CANCEL-02"],
    caught: &[
        (Mutant::FailureWithoutTimer, "retry"),
        (Mutant::ManualLeavesTimer, "retry"),
        (Mutant::ManualLeavesBackoff, "retry"),
        (Mutant::FiringLeavesTimer, "retry"),
        (Mutant::RetryLeavesBackoff, "retry"),
        (Mutant::CancelLeavesRetryTimer, "cancel"),
    ],
    holds: Holds::State(|now| now.existing().all(|work| one_fact(now, work))),
};

fn one_fact(now: &Moment<'_>, work: WorkIx) -> bool {
    let seen = now.state.work(work);
    if seen.backoff == 0 {
        return seen.retry == Timer::NONE;
    }
    let last = seen.attempt.status == AttemptStatus::Failed && seen.attempt.number == seen.backoff;
    let due = now.world.retry_of(work, seen.backoff);
    let fired = due.is_some_and(|due| now.state.is_unrouted(due));
    let once = fired != (seen.retry != Timer::NONE);
    seen.status == WorkStatus::Ready && last && once
}

/// A due retry is an event among others.
pub const FIRES: Property = Property {
    name: "a due retry of the attempt in backoff is accepted as an event, and starts nothing",
    rules: &["RETRY-19", "RETRY-20"],
    caught: &[
        (Mutant::FiringClaims, "retry"),
        (Mutant::FiringEndsBackoff, "retry"),
        (Mutant::RetryBeforeDue, "retry"),
        (Mutant::RetryOfAnother, "retry"),
    ],
    holds: Holds::Step(|step| match step.committed() {
        Some(Commit::FireRetry { work, attempt }) => {
            let (before, after) = step.work(work);
            let kept = (before.status, before.attempt, before.backoff, before.holds)
                == (after.status, after.attempt, after.backoff, after.holds);
            let due = before.retry.ticks() == Some(0) && before.backoff == attempt;
            let event = step.world.retry_of(work, attempt);
            kept && due && event.is_some_and(|event| step.after.is_unrouted(event))
        }
        Some(_) | None => true,
    }),
};

/// What is late, or of another attempt, is on record and nothing else.
pub const ROUTES: Property = Property {
    name: "a routed retry ends the backoff of its own attempt and is input, or changes nothing",
    rules: &["RETRY-21", "RETRY-22", "RETRY-23", "RETRY-24", "RETRY-28"],
    caught: &[
        (Mutant::StaleRetryClears, "retry"),
        (Mutant::StaleRetryQueues, "retry"),
        (Mutant::RetryLeavesBackoff, "retry"),
        (Mutant::RetryIsNoInput, "retry"),
        (Mutant::DueRevives, "second-thoughts"),
        (Mutant::DueReopens, "second-thoughts"),
    ],
    holds: Holds::Step(|step| match routed_retry(step) {
        Some((event, work, attempt)) => {
            let (before, after) = step.work(work);
            let made = step.after.event(event);
            if before.status.terminal() {
                return made.mark == RouteMark::Terminal && only_marked(step, event);
            }
            if before.backoff == attempt {
                return after.backoff == 0
                    && made.mark == RouteMark::Queued
                    && step.after.is_input(event, work, Input::Pending);
            }
            made.mark == RouteMark::StaleRetry && only_marked(step, event)
        }
        None => true,
    }),
};

/// Whether a step changed nothing but what is on record of one event that is no input.
fn only_marked(step: &Step<'_>, event: EventIx) -> bool {
    let others = step.before().events().filter(|other| *other != event);
    let same = others.into_iter().all(|other| step.before.event(other) == step.after.event(other));
    same && step.after.event(event).input == Input::No
        && step.before.works() == step.after.works()
        && step.before.waits() == step.after.waits()
        && step.before.current() == step.after.current()
}

fn routed_retry(step: &Step<'_>) -> Option<(EventIx, WorkIx, u8)> {
    let Some(Commit::CommitRoute { event }) = step.committed() else {
        return None;
    };
    match step.world.origin(event) {
        Origin::Retry(work, attempt) => Some((event, work, attempt)),
        Origin::Delivery(_)
        | Origin::Timeout(_)
        | Origin::Continuation(_)
        | Origin::Alias(..)
        | Origin::Ended(..)
        | Origin::Created(_) => None,
    }
}

/// News is input, not a reason to hurry.
pub const STANDS: Property = Property {
    name: "a backoff ends by its own retry, by a person or with its Work, and its timer moves with time alone",
    rules: &["RETRY-25", "RETRY-28", "RETRY-22", "RETRY-26"],
    caught: &[
        (Mutant::InputEndsBackoff, "retry"),
        (Mutant::StaleRetryClears, "retry"),
        (Mutant::FiringEndsBackoff, "retry"),
    ],
    holds: Holds::Step(|step| {
        let refused = |work| step.stands(work) && refused_retry(step).map(|it| it.0) == Some(work);
        let waiting = step.before().works().filter(|work| step.before.work(*work).backoff > 0);
        waiting.into_iter().all(|work| {
            let (before, after) = step.work(work);
            if after.backoff == before.backoff {
                return after.retry == moved(step, work);
            }
            let own = routed_retry(step)
                .is_some_and(|(_, of, attempt)| (of, attempt) == (work, before.backoff));
            let person = match step.committed() {
                Some(Commit::Retry { work: of, .. }) => of == work,
                Some(Commit::Release { work: of, .. }) => {
                    of == work && before.retry == Timer::DISABLED
                }
                Some(_) | None => false,
            };
            own || person || refused(work) || after.status.terminal()
        })
    }),
};

/// What becomes of a retry timer whose backoff stands.
fn moved(step: &Step<'_>, work: WorkIx) -> Timer {
    let before = step.before.work(work).retry;
    match step.action {
        Action::World(Env::Tick) => before.later(),
        Action::Commit(Commit::FireRetry { work: of, .. }) if of == work => match step.outcome {
            Outcome::Accepted(_) => Timer::NONE,
            Outcome::Refused(Refusal::DepthLimit) => Timer::DISABLED,
            Outcome::Duplicate(_)
            | Outcome::Deferred(_)
            | Outcome::Conflict
            | Outcome::Refused(_) => before,
        },
        Action::Commit(_) | Action::World(_) => before,
    }
}

/// A person does not wait, and starts nothing either.
pub const BY_HAND: Property = Property {
    name: "a manual retry of failed, open Work ends backoff, timer, exhaustion and count at once and is input",
    rules: &["RETRY-11", "RETRY-26", "RETRY-27", "RETRY-28", "RETRY-32", "OURS-06"],
    caught: &[
        (Mutant::ManualLeavesTimer, "retry"),
        (Mutant::ManualLeavesBackoff, "retry"),
        (Mutant::ManualLeavesHold, "retry"),
        (Mutant::ManualLiftsOperator, "retry-limit"),
        (Mutant::ManualClaims, "retry"),
        (Mutant::RetryUnfailed, "retry"),
        (Mutant::RetryRevives, "exhaustion"),
    ],
    holds: Holds::Step(|step| match step.committed() {
        Some(Commit::Retry { work, request, .. }) => {
            let (before, after) = step.work(work);
            let mut rightful = *before;
            rightful.backoff = 0;
            rightful.retry = Timer::NONE;
            rightful.failures = 0;
            rightful.holds = before.holds.without(Hold::Exhausted).without(Hold::CausalLimit);
            let event = step.after.event(request.into());
            before.status == WorkStatus::Ready
                && before.attempt.status == AttemptStatus::Failed
                && *after == rightful
                && event.mark == RouteMark::Queued
                && event.depth == 0
                && step.after.is_input(request.into(), work, Input::Pending)
        }
        Some(_) | None => true,
    }),
};

/// A chain at its limit is not extended for a retry. Standing Work goes on with its next event as after any failure.
pub const LIMITED: Property = Property {
    name: "a retry refused by a limit is on record, is not tried again and holds its Work, unless that stands",
    rules: &["CAUSE-32", "CAUSE-33", "REJECT-01", "REJECT-08", "RETRY-18", "JOB-16"],
    caught: &[
        (Mutant::RefusedRetryRefires, "retry-limit"),
        (Mutant::RefusedRetryUnheld, "retry-limit"),
        (Mutant::StandingHeldByRefusal, "hints"),
    ],
    holds: Holds::Step(|step| match refused_retry(step) {
        Some((work, attempt)) => {
            let (before, after) = step.work(work);
            let due = step.world.retry_of(work, attempt);
            let noted =
                due.is_some_and(|due| step.after.event(due).rejected & ITSELF_REJECTED != 0);
            let mut rightful = *before;
            match step.stands(work) {
                true => (rightful.backoff, rightful.retry) = (0, Timer::NONE),
                false => {
                    rightful.retry = Timer::DISABLED;
                    rightful.holds = before.holds.with(Hold::CausalLimit);
                }
            }
            noted && *after == rightful
        }
        None => true,
    }),
};

/// The Work and the attempt whose retry a causal limit refused in this step.
fn refused_retry(step: &Step<'_>) -> Option<(WorkIx, u8)> {
    match (step.action, step.outcome) {
        (
            Action::Commit(Commit::FireRetry { work, attempt }),
            Outcome::Refused(Refusal::DepthLimit),
        ) => Some((work, attempt)),
        (_, _) => None,
    }
}

/// Nothing else would start the attempt that the limit refused.
pub const GOES_ON: Property = Property {
    name: "the release of a refused retry ends its backoff and is what the next attempt starts from",
    rules: &["OURS-06", "WAKE-24", "CAUSE-33"],
    caught: &[(Mutant::ReleaseLeavesRefusedRetry, "retry-limit")],
    holds: Holds::Step(|step| match step.committed() {
        Some(Commit::Release { work, request, .. }) => {
            let after = step.after.work(work);
            step.before.work(work).retry != Timer::DISABLED
                || (after.backoff == 0
                    && after.retry == Timer::NONE
                    && after.released == request.into()
                    && step.after.is_input(request.into(), work, Input::Pending))
        }
        Some(_) | None => true,
    }),
};

/// An event that came in time is not answered by a dead end.
pub const FAILS_RIGHTLY: Property = Property {
    name: "no Work fails for good over an unrouted event of its own",
    rules: &["RETRY-31", "DONE-02"],
    caught: &[(Mutant::ExhaustionOverUnrouted, "exhaustion")],
    holds: Holds::Step(|step| {
        failures(step).all(|(work, _)| {
            step.after.work(work).status != WorkStatus::Failed
                || !step.before.owed_a_route(step.world, work)
        })
    }),
};
