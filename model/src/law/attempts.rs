//! Attempts: claimed under a lease, launched in two steps, ended once.

use crate::action::{Authority, Ending, Hint};
use crate::index::{EventIx, Maybe, Proofs, WorkIx, below};
use crate::law::{
    Law, causality, exclude_segment, intents, processes, release, retry, unauthorised,
};
use crate::mutants::Mutant;
use crate::outcome::{Deferral, Outcome, Receipt, Refusal, Start};
use crate::state::{
    Attempt, AttemptStatus, Exclusion, Facts, Flag, Hold, Holds, ITSELF_REJECTED, Input, Phase,
    Timer, Work, WorkStatus,
};

/// Starts or resumes an attempt with all pending input, under a fresh lease and the next epoch.
/// POLICY-05 to POLICY-09, LEASE-03, LEASE-10, WAKE-16 to WAKE-20, WAKE-25, WAKE-26, OURS-28
pub(super) fn claim(law: &Law, state: &mut impl Facts, work: WorkIx) -> Outcome {
    if let Some(answer) = not_startable(law, state, work) {
        return answer;
    }
    let wake = state.work(work).wake.wait();
    let winner = wake.and_then(|wait| state.wait(wait).winner.event());
    let before = state.work(work).attempt;
    let resumes = before.status == AttemptStatus::Parked && !law.broken(Mutant::ResumeNewAttempt);
    let trigger = if resumes {
        replaced(law, before.trigger, winner)
    } else {
        first_input(law, state, work, winner)
    };
    let start = match (resumes, before.number) {
        (true, _) => Start::Resume,
        (false, 0) => Start::Start,
        (false, _) => Start::Next,
    };
    let attempt = if resumes { before.number } else { before.number + 1 };
    let released = state.work(work).released;
    let cause = match wake {
        // What an operator released goes on from the release: the chain before it is at its end. WAKE-24
        Some(_) | None if released != Maybe::NONE => released,
        Some(wait) if !law.broken(Mutant::WakeKeepsCause) => law.world.continuation_of(wait).into(),
        Some(_) if resumes => before.cause,
        Some(_) | None => trigger,
    };
    take_input(law, state, work, trigger);
    processes::leave_behind(state, work);
    processes::attach(law, state, work);
    let (generation, active) = pinned(law, state, work, resumes);
    let claimed = state.work_mut(work);
    claimed.status = WorkStatus::Running;
    claimed.wake = Maybe::NONE;
    claimed.released = Maybe::NONE;
    if !law.broken(Mutant::ClaimLeavesIdleTimer) {
        claimed.idle = Timer::NONE;
    }
    if claimed.excluded != Exclusion::None {
        claimed.excluded = Exclusion::EarlierSegment;
    }
    claimed.attempt = Attempt {
        number: attempt,
        status: AttemptStatus::Running,
        phase: Phase::NeverHanded,
        lease: law.world.lease,
        epochs: if resumes && law.broken(Mutant::ResumeKeepsEpoch) { 2 } else { 1 },
        trigger,
        cause,
        generation,
        active,
        interrupted_by: if resumes || law.broken(Mutant::CauseOutlivesAttempt) {
            before.interrupted_by
        } else {
            Maybe::NONE
        },
    };
    if law.broken(Mutant::IntentRetargeted) {
        intents::retarget(state, work);
    }
    Receipt::Claimed { attempt, start }.into()
}

fn not_startable(law: &Law, state: &impl Facts, ix: WorkIx) -> Option<Outcome> {
    let work = state.work(ix);
    match work.status {
        WorkStatus::Absent => return Some(Refusal::UnknownWork.into()),
        WorkStatus::Completed | WorkStatus::Failed | WorkStatus::Cancelled => {
            return Some(Refusal::Terminal.into());
        }
        // A lease that is over ends no attempt: it is recovered, not replaced. LEASE-03
        WorkStatus::Running
            if law.broken(Mutant::ReplacementBeforeFence)
                && intents::interrupting(state, ix).is_some() =>
        {
            return None;
        }
        WorkStatus::Running if !law.broken(Mutant::ClaimWhileRunning) => {
            return Some(Refusal::AttemptOpen.into());
        }
        WorkStatus::Waiting => return Some(Refusal::WorkWaiting.into()),
        WorkStatus::Running | WorkStatus::Ready => {}
    }
    // Not before its retry is due and routed, whatever else comes. RETRY-04 RETRY-20 RETRY-25
    if work.backoff > 0 && !law.broken(Mutant::ClaimOverBackoff) {
        return Some(Deferral::Backoff.into());
    }
    if !state.has_pending(ix) && work.wake == Maybe::NONE {
        return Some(Refusal::NothingToStart.into());
    }
    if state.current().restore_hold == Flag::Yes && !law.broken(Mutant::ClaimOverRestore) {
        return Some(Deferral::Restored.into());
    }
    let overlooked = match work.holds {
        holds if law.broken(Mutant::ClaimOverOperator) => holds.without(Hold::Operator).is_empty(),
        holds => holds.is_empty() || law.broken(Mutant::ClaimOverHold),
    };
    if !overlooked {
        return Some(Deferral::Held.into());
    }
    if work.excluded != Exclusion::None && !law.broken(Mutant::ClaimOverExclusion) {
        return Some(Deferral::Excluded.into());
    }
    if full(law, state, work.scope) && !law.broken(Mutant::ClaimOverCapacity) {
        return Some(Deferral::Capacity.into());
    }
    None
}

/// A scope counts what runs in it and below, and so does each scope above it. POLICY-06
fn full(law: &Law, state: &impl Facts, scope: u8) -> bool {
    let running = |scope: u8| {
        let in_it = |work: &&Work| law.world.lies_in(work.scope, scope);
        let here = |work: &&Work| work.scope == scope;
        let runs =
            state.works().iter().filter(|work| work.attempt.status == AttemptStatus::Running);
        match law.broken(Mutant::CapacityWithoutBelow) {
            true => runs.filter(here).count(),
            false => runs.filter(in_it).count(),
        }
    };
    let mut scopes = law
        .world
        .upwards(scope)
        .take_while(|at| *at == scope || !law.broken(Mutant::CapacityOfOwnScope));
    scopes.any(|scope| running(scope) >= law.world.capacity)
}

/// What the attempt is pinned to: an attempt that goes on keeps its generation and the active time it has left.
/// BIND-10 WAKE-28
fn pinned(law: &Law, state: &impl Facts, work: WorkIx, resumes: bool) -> (u8, Timer) {
    let before = state.work(work).attempt;
    let (generation, whole) = (
        state.current().generation,
        law.world.binding(work).active.map_or(Timer::NONE, Timer::due_in),
    );
    (
        if resumes && !law.broken(Mutant::ResumeRepins) { before.generation } else { generation },
        if resumes && !law.broken(Mutant::ResumeRestoresTime) { before.active } else { whole },
    )
}

/// A resume never replaces the trigger. WAKE-17
fn replaced(law: &Law, trigger: Maybe, winner: Option<EventIx>) -> Maybe {
    match winner {
        Some(winner) if law.broken(Mutant::ResumeReplacesTrigger) => winner.into(),
        Some(_) | None => trigger,
    }
}

/// A new attempt starts from the wake's winner, else from its lowest pending input. WAKE-19
fn first_input(law: &Law, state: &impl Facts, work: WorkIx, winner: Option<EventIx>) -> Maybe {
    match winner {
        Some(winner) if !law.broken(Mutant::NextForgetsWinner) => winner.into(),
        Some(_) | None => {
            state.input(work, Input::Pending).first().map_or(Maybe::NONE, |event| (*event).into())
        }
    }
}

/// The segment consumes all pending input; what earlier segments consumed stays theirs. OURS-28
fn take_input(law: &Law, state: &mut impl Facts, work: WorkIx, trigger: Maybe) {
    for ix in below(state.events().len()).map(EventIx) {
        let left = law.broken(Mutant::ClaimTakesTriggerOnly) && trigger != ix.into();
        let event = state.event_mut(ix);
        if event.work != work.into() {
            continue;
        }
        event.input = match event.input {
            Input::Pending if left => Input::Pending,
            Input::Pending => Input::Batch,
            Input::Batch | Input::Consumed => Input::Consumed,
            Input::No => Input::No,
            // What an error fallback withdrew comes to no attempt. POLICY-33
            Input::Withdrawn => Input::Withdrawn,
        };
    }
}

/// Withdraws the record that no executor was handed the segment. ADOPT-06
pub(super) fn clear_never_handed(
    law: &Law,
    state: &mut impl Facts,
    work: WorkIx,
    by: Authority,
) -> Outcome {
    if let Some(refusal) = unauthorised(law, state, work, by) {
        return refusal.into();
    }
    match state.work(work).attempt.phase {
        Phase::None | Phase::Pinned | Phase::Recovering => Refusal::NotLaunching.into(),
        Phase::Handed => Outcome::Duplicate(Receipt::Done),
        Phase::NeverHanded => {
            state.work_mut(work).attempt.phase = Phase::Handed;
            Receipt::Done.into()
        }
    }
}

/// Saves the executor's metadata with the segment. ADOPT-04 ADOPT-09
pub(super) fn pin(law: &Law, state: &mut impl Facts, work: WorkIx, by: Authority) -> Outcome {
    if let Some(refusal) = unauthorised(law, state, work, by) {
        return refusal.into();
    }
    match state.work(work).attempt.phase {
        Phase::Pinned => return Outcome::Duplicate(Receipt::Done),
        Phase::None | Phase::Recovering => return Refusal::NotLaunching.into(),
        Phase::NeverHanded if !law.broken(Mutant::PinBeforeHandOver) => {
            return Refusal::NotHanded.into();
        }
        Phase::NeverHanded | Phase::Handed => {}
    }
    state.work_mut(work).attempt.phase = Phase::Pinned;
    Receipt::Done.into()
}

/// Extends the lease of the live epoch. LEASE-11
pub(super) fn renew(law: &Law, state: &mut impl Facts, work: WorkIx, by: Authority) -> Outcome {
    if let Some(refusal) = unauthorised(law, state, work, by) {
        return refusal.into();
    }
    state.work_mut(work).attempt.lease = law.world.lease;
    Receipt::Done.into()
}

/// Ends the attempt, and with it the Work unless input is pending, it stands or it is handed off. DONE-01 to DONE-06,
/// ALIAS-15, JOB-14, JOB-17
pub(super) fn complete(
    law: &Law,
    state: &mut impl Facts,
    work: WorkIx,
    by: Authority,
    (ending, declares): (Ending, bool),
    proofs: Proofs,
) -> Outcome {
    let granted = !proofs.is_empty() && law.broken(Mutant::ProofGrantsAuthority);
    if let Some(refusal) = unauthorised(law, state, work, by)
        && !granted
    {
        return refusal.into();
    }
    if state.work(work).attempt.phase != Phase::Pinned {
        return Refusal::NotRunning.into();
    }
    if let Some(refusal) = intents::unproved(law, state, work, proofs) {
        return refusal.into();
    }
    // What the result proves is consumed before anything is judged. DONE-07
    let ignored = match ending {
        Ending::Completed => law.broken(Mutant::ProofIgnoredOnCompletion),
        Ending::Handoff => law.broken(Mutant::ProofIgnoredOnHandoff),
    };
    let named = if ignored { Proofs::NONE } else { proofs };
    let proved = intents::proved(law, state, work, named);
    let pending = match law.broken(Mutant::CompletionJudgesFirst) {
        true => state.has_pending(work),
        false => intents::leaves_pending(law, state, work, proved),
    };
    let more = pending && !law.broken(Mutant::CompleteDropsPending);
    let stands = law.stands(state, work) && !law.broken(Mutant::StandingCompletes);
    let handed_off = ending == Ending::Handoff && !law.broken(Mutant::HandoffCompletes);
    let open = more || stands || handed_off;
    // An event that already resolves to the Work would otherwise come to a Work that has ended. DONE-02
    let overlooked = law.broken(Mutant::CompleteOverUnrouted)
        || (state.has_pending(work) && law.broken(Mutant::CompleteOverProofs));
    if !open && owed_a_route(law, state, work) && !overlooked {
        if law.broken(Mutant::ConflictKeepsProof) {
            intents::consume(law, state, proved);
        }
        return Outcome::Conflict;
    }
    let cause = state.work(work).attempt.cause.event();
    intents::consume(law, state, proved);
    release(law, state, work, AttemptStatus::Completed);
    let ended = state.work_mut(work);
    ended.status = if open { WorkStatus::Ready } else { WorkStatus::Completed };
    // The next failure is the first again. RETRY-10
    if !law.broken(Mutant::SuccessKeepsCount) {
        ended.failures = 0;
    }
    // A hold says why Work does not start, which ended Work never does. TERM-01
    if !open {
        ended.holds = Holds::NONE;
    }
    let kind = law.world.kind(state.work(work).kind);
    let idles = handed_off && !more && (!kind.standing || law.broken(Mutant::StandingIdles));
    if idles && !law.broken(Mutant::HandoffWithoutIdleTimer) {
        state.work_mut(work).idle = kind.close_after.map_or(Timer::NONE, Timer::due_in);
    }
    if declares && !law.broken(Mutant::TurnEndUnpublished) {
        publish(law, state, work, cause);
    }
    Receipt::Done.into()
}

fn owed_a_route(law: &Law, state: &impl Facts, work: WorkIx) -> bool {
    let own = |event: EventIx| {
        state.is_unrouted(event) && state.about(law.world, event).publisher == Some(work)
    };
    state.owed_a_route(law.world, work)
        || (law.broken(Mutant::TurnEndBlocks) && below(law.world.slots()).map(EventIx).any(own))
}

/// `core.turn.ended` says how the turn ended, to whom it concerns; a limit that refuses it does not undo the ending.
/// ALIAS-15 REJECT-01
fn publish(law: &Law, state: &mut impl Facts, work: WorkIx, cause: Option<EventIx>) {
    let Some(ended) = law.world.ended_of(work, state.work(work).attempt.number) else {
        return;
    };
    if causality::accept_derived(law, state, ended, cause).is_some() {
        state.event_mut(ended).key = state.work(work).first_key;
    } else if !law.broken(Mutant::TurnEndRefusedSilently) {
        state.event_mut(ended).rejected |= ITSELF_REJECTED;
    }
}

/// Ends the attempt failed; what that leads to is the policy's word. OURS-28 RETRY-01
pub(super) fn fail(
    law: &Law,
    state: &mut impl Facts,
    work: WorkIx,
    by: Authority,
    hint: Hint,
    proofs: Proofs,
) -> Outcome {
    if let Some(refusal) = unauthorised(law, state, work, by) {
        return refusal.into();
    }
    if state.work(work).attempt.phase == Phase::Recovering {
        return Refusal::NotRunning.into();
    }
    if retry::conflicts(law, state, work) {
        return Outcome::Conflict;
    }
    let may_run = may_have_launched(law, state, work);
    // What it took in is consumed like what it was claimed with. INJECT-29
    let named = if law.broken(Mutant::ProofIgnoredOnFailure) { Proofs::NONE } else { proofs };
    let proved = intents::proved(law, state, work, named);
    intents::consume(law, state, proved);
    retry::admit(law, state, work, hint);
    if law.broken(Mutant::FailureReturnsInput) {
        intents::give_back(state, work);
    }
    if may_run && !law.broken(Mutant::FailedLaunchUnmarked) {
        exclude_segment(state, work);
    }
    Receipt::Done.into()
}

/// Nobody saw the launch return, so what its executor does not hold back may run for all anybody knows. OURS-20 POLICY-22
fn may_have_launched(law: &Law, state: &impl Facts, work: WorkIx) -> bool {
    state.work(work).attempt.phase == Phase::Handed && !law.world.binding(work).holds
}
