//! Hosts and processes, in worlds with the crash grain: volatile facts, which commits do not look at.
//!
//! A host is gone with its daemon; a process is not. What the surroundings offer depends on these facts (`worlds/`), so a
//! law that starts too much or too early shows here.

use crate::index::{EventIx, WorkIx, below};
use crate::law::Law;
use crate::mutants::Mutant;
use crate::outcome::{Outcome, Receipt, Refusal};
use crate::state::{AttemptStatus, Facts, Flag, IntentKind, IntentStatus, Message, Phase, Process};

/// A claim brings a host; in worlds without the crash grain nobody knows of it.
pub(super) fn attach(law: &Law, state: &mut impl Facts, work: WorkIx) {
    if law.world.processes > 0 {
        state.work_mut(work).host = Flag::Yes;
    }
}

/// The next segment starts without a process; what the last one left behind is counted.
pub(super) fn leave_behind(state: &mut impl Facts, work: WorkIx) {
    let left = state.work_mut(work);
    match left.process {
        Process::Held => left.left_held += 1,
        Process::Running | Process::Unkept => left.left_running += 1,
        Process::None | Process::Finished | Process::Lost => {}
    }
    left.process = Process::None;
}

/// The daemon stops: no host is left, and every process is as it was. OURS-19
pub(super) fn lose_hosts(law: &Law, state: &mut impl Facts) {
    for work in state.works_mut() {
        work.host = Flag::No;
        if law.broken(Mutant::CrashKillsProcesses) && work.process.runs() {
            work.process = Process::Lost;
        }
    }
}

/// The host calls the executor: a keeper holds a process, or the process runs at once. OURS-20 ADOPT-06 ADOPT-07
pub(super) fn launch(law: &Law, state: &mut impl Facts, work: WorkIx) -> Outcome {
    let attempt = state.work(work).attempt;
    if attempt.status != AttemptStatus::Running || state.work(work).process != Process::None {
        return Refusal::NotLaunching.into();
    }
    match attempt.phase {
        Phase::None | Phase::Pinned | Phase::Recovering => return Refusal::NotLaunching.into(),
        // The record that nothing was handed over is withdrawn first. ADOPT-06
        Phase::NeverHanded if !law.broken(Mutant::LaunchBeforeRecord) => {
            return Refusal::NotHanded.into();
        }
        Phase::NeverHanded | Phase::Handed => {}
    }
    let holds = law.world.binding(work).holds && !law.broken(Mutant::ProcessBeforePin);
    state.work_mut(work).process = if holds { Process::Held } else { Process::Running };
    Receipt::Done.into()
}

/// The host lets the held process of a pinned segment run. OURS-20
pub(super) fn proceed(law: &Law, state: &mut impl Facts, work: WorkIx) -> Outcome {
    let pinned = state.work(work).attempt.phase == Phase::Pinned;
    if !pinned && !law.broken(Mutant::ProceedBeforePin) {
        return Refusal::NotRunning.into();
    }
    let going = state.work_mut(work);
    if going.process != Process::Held {
        return Refusal::NotLaunching.into();
    }
    going.process = Process::Running;
    Receipt::Done.into()
}

/// A held process that was never pinned ends without having run: an earlier segment's first.
pub(super) fn let_go(state: &mut impl Facts, work: WorkIx) -> Outcome {
    let left = state.work_mut(work);
    if left.left_held > 0 {
        left.left_held -= 1;
    } else if left.process == Process::Held {
        left.process = Process::Lost;
    } else {
        return Refusal::NotLaunching.into();
    }
    Receipt::Done.into()
}

/// A process ends; if it is kept, its result stays with the keeper. OURS-19
pub(super) fn ends(state: &mut impl Facts, work: WorkIx) -> Outcome {
    let over = state.work_mut(work);
    over.process = match over.process {
        Process::Running => Process::Finished,
        Process::Unkept => Process::Lost,
        Process::None | Process::Held | Process::Finished | Process::Lost => {
            return Refusal::NotRunning.into();
        }
    };
    Receipt::Done.into()
}

/// The message of an inject intent that was dispatched reaches the keeper, which has it for good. INJECT-03
pub(super) fn deliver(law: &Law, state: &mut impl Facts, event: EventIx) -> Outcome {
    let sent = state.event(event).intent;
    let tried = match sent.status {
        IntentStatus::Dispatched => true,
        IntentStatus::Committed => law.broken(Mutant::DeliveredBeforeSent),
        IntentStatus::None
        | IntentStatus::Accepted
        | IntentStatus::NotAccepting
        | IntentStatus::Fenced
        | IntentStatus::FellBack
        | IntentStatus::Consumed
        | IntentStatus::Stale => false,
    };
    let under_way = sent.kind == IntentKind::Inject && tried;
    if !under_way || sent.message != Message::None || !kept(state, event) {
        return Refusal::NotDispatched.into();
    }
    state.event_mut(event).intent.message = Message::Delivered;
    Receipt::Done.into()
}

/// The process takes in what its keeper has, and its result will name it. INJECT-08
pub(super) fn take_in(state: &mut impl Facts, event: EventIx) -> Outcome {
    let delivered = state.event(event).intent.message == Message::Delivered;
    if !delivered || process_of(state, event) != Process::Running {
        return Refusal::NotRunning.into();
    }
    state.event_mut(event).intent.message = Message::TakenIn;
    Receipt::Done.into()
}

/// A keeper takes messages as long as it has a process that may take them in.
fn kept(state: &impl Facts, event: EventIx) -> bool {
    matches!(process_of(state, event), Process::Held | Process::Running)
}

fn process_of(state: &impl Facts, event: EventIx) -> Process {
    state.event(event).work.work().map_or(Process::None, |work| state.work(work).process)
}

/// With the keeper goes what it was given and what it would have reported.
fn lose_messages(law: &Law, state: &mut impl Facts, work: WorkIx) {
    for event in below(law.world.slots()).map(EventIx) {
        if state.intent(work, event).is_some() {
            state.event_mut(event).intent.message = Message::None;
        }
    }
}

/// The keeper dies: a held process with it, a running one runs on, a result is lost. ADOPT-19
pub(super) fn keeper_dies(law: &Law, state: &mut impl Facts, work: WorkIx) -> Outcome {
    let lost = state.work_mut(work);
    lost.process = match lost.process {
        Process::Running => Process::Unkept,
        Process::Held | Process::Finished => Process::Lost,
        Process::None | Process::Unkept | Process::Lost => return Refusal::NotRunning.into(),
    };
    lose_messages(law, state, work);
    Receipt::Done.into()
}
