//! What the surroundings may do: they speak the truth, and a world says which kinds of action they offer at all.

use crate::action::{Action, Authority, Commit, Env, Hint, SendAnswer, Verdict};
use crate::index::{DeliveryIx, EventIx, Proofs, WaitIx, WorkIx, below};
use crate::state::{
    AttemptStatus, Exclusion, Facts, Flag, IntentKind, IntentStatus, Message, Phase, Process,
    Proposal, Timer, WaitStatus,
};
use crate::worlds::{Ask, When, World};

/// Every action the surroundings offer in a state, in a fixed order; what the law forbids is among them.
pub fn offered(world: &World, state: &dyn Facts) -> Vec<Action> {
    let mut actions = Vec::with_capacity(64);
    let mut push = |action: Action| {
        if world.offers(action.kind()) {
            actions.push(action);
        }
    };
    for delivery in below(world.deliveries.len()).map(DeliveryIx) {
        let def = world.delivery(delivery);
        match def.asks {
            _ if !has_come(state, def.when) => {}
            None => push(Commit::Accept { delivery }.into()),
            Some(ask) => offer_request(world, delivery, ask, &mut push),
        }
    }
    for event in below(world.slots()).map(EventIx) {
        offer_routing(state, event, &mut push);
        if world.processes > 0 {
            offer_messages(state, event, &mut push);
        }
    }
    for work in below(world.works.len()).map(WorkIx) {
        offer_work(world, state, work, &mut push);
    }
    for wait in below(world.waits.len()).map(WaitIx) {
        push(Commit::Wake { wait }.into());
        push(Commit::FireTimer { wait }.into());
        push(Commit::AcceptTimeout { wait }.into());
        for source in world.sources(wait) {
            push(Commit::Translate { wait, source }.into());
        }
    }
    for (work, attempt) in world.retries.iter().copied() {
        push(Commit::FireRetry { work, attempt }.into());
    }
    if state.current().restores < world.restores {
        push(Commit::Restore.into());
    }
    let configuration = state.current().configuration;
    for configuration in [configuration, configuration + 1] {
        if configuration < world.configurations {
            push(Commit::Reload { configuration }.into());
        }
    }
    if time_matters(state) {
        push(Env::Tick.into());
    }
    let hosted = state.works().iter().any(|work| work.host == Flag::Yes);
    if hosted || state.events().iter().any(|event| event.proposal != Proposal::None) {
        push(Env::Crash.into());
    }
    actions
}

fn has_come(state: &dyn Facts, when: When) -> bool {
    match when {
        When::Always => true,
        When::Exists(work) => state.exists(work),
        When::Started(work) => state.work(work).attempt.number > 0,
        When::Registered(wait) => state.wait(wait).status != WaitStatus::Unregistered,
        When::Ended(work) => state.work(work).status.terminal(),
        When::Attempt(work, number) => state.work(work).attempt.number >= number,
        When::Accepted(delivery) => state.is_accepted(delivery.into()),
    }
}

/// An operator's request is one action on one thing, under the attempts that this world lets an operator name.
fn offer_request(world: &World, request: DeliveryIx, ask: Ask, push: &mut impl FnMut(Action)) {
    match ask {
        Ask::Replay(event) => {
            push(Commit::Replay { event: world.event_of(event), request }.into());
        }
        Ask::Reopen(work) => {
            for expect in world.expects.iter().copied() {
                push(Commit::Reopen { work, expect, request }.into());
            }
        }
        Ask::Release(work) => {
            for expect in world.expects.iter().copied() {
                push(Commit::Release { work, expect, request }.into());
            }
        }
        Ask::Retry(work) => {
            for expect in world.expects.iter().copied() {
                push(Commit::Retry { work, expect, request }.into());
            }
        }
        Ask::Interrupt(work) => {
            for expect in world.expects.iter().copied() {
                for implemented in [true, false] {
                    push(Commit::Interrupt { work, expect, request, implemented }.into());
                }
            }
        }
        Ask::ReleaseRestore => push(Commit::ReleaseRestore { request }.into()),
        Ask::Create { .. } => push(Commit::CreateWork { request }.into()),
    }
}

/// A handler reads unrouted events only; a commit of an unrouted event needs a proposal, any other takes any.
fn offer_routing(state: &dyn Facts, event: EventIx, push: &mut impl FnMut(Action)) {
    let proposal = state.event(event).proposal;
    if state.is_unrouted(event) && proposal != Proposal::Fresh {
        push(Env::Evaluate { event }.into());
    }
    if !state.is_unrouted(event) || proposal != Proposal::None {
        push(Commit::CommitRoute { event }.into());
    }
    push(Commit::Drop { event }.into());
}

fn offer_work(world: &World, state: &dyn Facts, work: WorkIx, push: &mut impl FnMut(Action)) {
    push(Commit::Claim { work }.into());
    for by in [Authority::Current, Authority::Stale] {
        let host = Host { world, state, work, by };
        if host.is_there() {
            offer_host(host, push);
        }
    }
    push(Commit::ClaimRecovery { work }.into());
    if world.processes > 0 {
        offer_processes(world, state, work, push);
    }
    let marked = state.work(work).excluded != Exclusion::None;
    let exited = state.work(work).exited == Flag::Yes;
    if exited || (!marked && state.work(work).attempt.status != AttemptStatus::Running) {
        for segment in [Authority::Current, Authority::Stale] {
            push(Commit::Vacate { work, segment }.into());
        }
    }
    if marked && !exited {
        push(Env::ProcessExits { work }.into());
    }
    push(Commit::CloseIdle { work }.into());
    if !world.operated.contains(&work) {
        return;
    }
    let stands = world.kind(state.work(work).kind).standing;
    for expect in world.expects.iter().copied() {
        push(Commit::Cancel { work, expect, for_good: false }.into());
        if stands {
            push(Commit::Cancel { work, expect, for_good: true }.into());
        }
        push(Commit::Hold { work, expect }.into());
    }
}

/// Whoever shows an authority over the last attempt of a Work.
#[derive(Clone, Copy)]
struct Host<'a> {
    world: &'a World,
    state: &'a dyn Facts,
    work: WorkIx,
    by: Authority,
}

impl Host<'_> {
    /// Where hosts are known, the current authority is shown by a host; a former one may be shown by whoever had it.
    fn is_there(&self) -> bool {
        !self.is_known() || self.state.work(self.work).host == Flag::Yes
    }

    fn is_known(&self) -> bool {
        self.world.processes > 0 && self.by == Authority::Current
    }

    /// Whether the process of the attempt is as asked, where that is known.
    fn sees(&self, asked: impl Fn(Process) -> bool) -> bool {
        !self.is_known() || asked(self.state.work(self.work).process)
    }

    /// What a result says its process took in: exactly that where it is known, else whatever the world lets it say.
    fn reports(&self) -> Vec<Proofs> {
        if !self.is_known() {
            return self.world.proofs.to_vec();
        }
        let taken = |event: &EventIx| {
            let intent = self.state.intent(self.work, *event);
            intent.is_some_and(|intent| intent.message == Message::TakenIn)
        };
        vec![below(self.world.slots()).map(EventIx).filter(taken).collect()]
    }

    /// Where messages are known, an executor says of one that it is delivered or never will be only if that is so; and that
    /// a process is to be stopped only if its keeper was told. INJECT-01 INJECT-02 POLICY-20
    fn may_answer(&self, event: EventIx, answer: SendAnswer) -> bool {
        let intent = self.state.event(event).intent;
        if !self.is_known() || intent.status != IntentStatus::Dispatched {
            return true;
        }
        let delivered = intent.message != Message::None;
        match (answer, intent.kind) {
            (SendAnswer::Failed, _) => true,
            (SendAnswer::Accepted, IntentKind::Interrupt) => self.sees(Process::adoptable),
            (SendAnswer::NotAccepting, IntentKind::Interrupt) => !self.sees(Process::runs),
            (SendAnswer::Accepted, IntentKind::Inject | IntentKind::None) => delivered,
            (SendAnswer::NotAccepting, IntentKind::Inject | IntentKind::None) => !delivered,
        }
    }

    /// Which turns may be published is a bound of the world.
    fn may_declare(&self) -> bool {
        let attempt = self.state.work(self.work).attempt.number;
        self.world.ended_of(self.work, attempt).is_some()
    }

    /// Which failures may lead to a retry is a bound of the world.
    fn may_fail(&self, hint: Hint) -> bool {
        let failing = self.state.work(self.work);
        let kind = self.world.kind(failing.kind);
        let policy = self.world.policy(failing.kind, failing.attempt.generation);
        let last = policy.uses_up(failing.failures.saturating_add(1));
        let retried = if kind.standing { hint == Hint::Valid } else { !last };
        !retried || self.world.retry_of(self.work, failing.attempt.number).is_some()
    }
}

/// What the host of an attempt may do, as far as its process lets it.
fn offer_host(host: Host<'_>, push: &mut impl FnMut(Action)) {
    let Host { world, work, by, .. } = host;
    push(Commit::ClearNeverHanded { work, by }.into());
    if host.sees(|process| process != Process::None) {
        push(Commit::Pin { work, by }.into());
    }
    push(Commit::Renew { work, by }.into());
    offer_ends(host, push);
    offer_failures(host, push);
    for wait in below(world.waits.len()).map(WaitIx) {
        offer_registration(host, wait, push);
    }
    offer_controls(host, push);
    offer_verdicts(host, push);
    push(Commit::Detach { work, by }.into());
}

/// A turn that ended well is reported by its process.
fn offer_ends(host: Host<'_>, push: &mut impl FnMut(Action)) {
    let Host { world, work, by, .. } = host;
    if !host.sees(|process| process == Process::Finished) {
        return;
    }
    for (ending, declares) in world.endings.iter().copied() {
        if !declares || host.may_declare() {
            for proofs in host.reports() {
                push(Commit::Complete { work, by, ending, declares, proofs }.into());
            }
        }
    }
}

/// A process that ended may have failed, and a launch may fail without anything that is known of it. OURS-20
fn offer_failures(host: Host<'_>, push: &mut impl FnMut(Action)) {
    let Host { world, state, work, by } = host;
    let handed = state.work(work).attempt.phase == Phase::Handed;
    if !host.sees(|process| process.ended() || (process == Process::None && handed)) {
        return;
    }
    for hint in world.hints.iter().copied().filter(|hint| host.may_fail(*hint)) {
        for proofs in host.reports() {
            push(Commit::Fail { work, by, hint, proofs }.into());
        }
    }
}

fn offer_registration(host: Host<'_>, wait: WaitIx, push: &mut impl FnMut(Action)) {
    let Host { world, state, work, by } = host;
    let def = world.wait(wait);
    if def.work == work && state.wait(wait).status == WaitStatus::Unregistered {
        for after in def.after.iter().copied() {
            for proofs in host.reports() {
                push(Commit::RegisterWait { work, by, wait, after, proofs }.into());
            }
        }
    }
}

/// Any event may be named to be sent or settled, whether there is an intent for it or not.
fn offer_controls(host: Host<'_>, push: &mut impl FnMut(Action)) {
    let Host { world, work, by, .. } = host;
    for event in below(world.deliveries.len()).map(EventIx) {
        push(Commit::Dispatch { work, by, event }.into());
        for answer in world.answers.iter().copied() {
            if host.may_answer(event, answer) {
                push(Commit::SettleDispatch { work, by, event, answer }.into());
            }
        }
    }
}

/// A message that was sent arrives or does not, and what arrived is taken in or is not, whether there is a host or not.
fn offer_messages(state: &dyn Facts, event: EventIx, push: &mut impl FnMut(Action)) {
    let intent = state.event(event).intent;
    let Some(work) = state.event(event).work.work() else {
        return;
    };
    let process = state.work(work).process;
    // Before its dispatch is committed no executor is called, which is the law's to say. POLICY-12
    let sent = intent.kind == IntentKind::Inject && intent.status.open();
    let kept = matches!(process, Process::Held | Process::Running);
    if sent && intent.message == Message::None && kept {
        push(Env::Deliver { event }.into());
    }
    if intent.message == Message::Delivered && process == Process::Running {
        push(Env::TakeIn { event }.into());
    }
}

/// An executor that can verify adopts, and one that cannot says so. ADOPT-14 ADOPT-19
fn offer_verdicts(host: Host<'_>, push: &mut impl FnMut(Action)) {
    let Host { work, by, .. } = host;
    for verdict in [Verdict::Adopted, Verdict::NotAdoptable] {
        let adopts = verdict == Verdict::Adopted;
        let truthful = host.sees(|process| process.adoptable() == adopts);
        if truthful && (adopts || host.may_fail(Hint::None)) {
            push(Commit::SettleRecovery { work, by, verdict }.into());
        }
    }
}

/// The host calls its executor, and processes go their way whether there is a host or not. OURS-19 OURS-20
fn offer_processes(world: &World, state: &dyn Facts, work: WorkIx, push: &mut impl FnMut(Action)) {
    let seen = state.work(work);
    let (hosts, phase) = (seen.host == Flag::Yes, seen.attempt.phase);
    let launches = matches!(phase, Phase::NeverHanded | Phase::Handed);
    let room = seen.left_held + seen.left_running < world.processes;
    if hosts && launches && seen.process == Process::None && room {
        push(Env::Launch { work }.into());
    }
    if hosts && seen.process == Process::Held {
        push(Env::Proceed { work }.into());
    }
    let never_pinned = seen.process == Process::Held && launches;
    if seen.left_held > 0 || never_pinned {
        push(Env::LetGo { work }.into());
    }
    let marked = seen.excluded == Exclusion::LastSegment;
    if seen.process.runs() && !marked {
        push(Env::ProcessEnds { work }.into());
    }
    if seen.process.adoptable() && !marked {
        push(Env::KeeperDies { work }.into());
    }
}

/// Time matters while anything counts down.
fn time_matters(state: &dyn Facts) -> bool {
    let running = |timer: Timer| timer.ticks().is_some_and(|ticks| ticks > 0);
    state.works().iter().any(|work| {
        let charged = work.attempt.status == AttemptStatus::Running && running(work.attempt.active);
        work.attempt.lease > 0 || running(work.idle) || running(work.retry) || charged
    }) || state.events().iter().any(|event| event.suspect > 0)
        || state.waits().iter().any(|wait| running(wait.timer))
}
