//! The facts that tell one class from another.

use crate::action::Kind;
use crate::index::{DeliveryIx, EventIx, Proofs, WaitIx, WorkIx, below};
use crate::outcome::{Outcome, Receipt, Recovery, Refusal, RouteMark, Start};
use crate::state::{
    AttemptStatus, Exclusion, Facts, Fallback, Flag, Holds, Input, IntentKind, IntentStatus,
    Message, Phase, Process, Proposal, Timer, WaitStatus, WorkStatus,
};
use crate::view::{LeaseView, lease};
use crate::worlds::{Control, ControlPolicy, Decision, Does, Exhausted, Origin, World};

/// The guard facts of a Work.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WorkFacts {
    /// Its status.
    pub status: WorkStatus,
    /// Its holds.
    pub holds: Holds,
    /// It outlives its attempts.
    pub stands: bool,
    /// Its idle timer.
    pub idle: TimerFacts,
    /// It was reopened.
    pub succeeded: bool,
    /// It owns a key, which a successor would go on from.
    pub keyed: bool,
    /// The next segment goes on from a release.
    pub released: bool,
    /// Its last attempt is pinned to an earlier generation than the current one.
    pub outdated: bool,
    /// Its last attempt has used some of its active time.
    pub worn: bool,
    /// The end of its turn would be as deep as its root allows, or deeper.
    pub at_limit: bool,
    /// Failures counted: none, one, or two for more.
    pub failures: u8,
    /// Another failure would be the last of its budget: kept (1) or failed for good (2).
    pub last: u8,
    /// The number of its attempt is another than that of its next failure.
    pub renumbered: bool,
    /// It is in backoff.
    pub backoff: bool,
    /// Its retry timer.
    pub retry: TimerFacts,
    /// The database was restored, and the hold stands.
    pub restored: bool,
    /// Its authority was voided by a restore.
    pub voided: bool,
    /// Its executor holds a process until the pin, where processes are known.
    pub holding: bool,
    /// It is handed to an executor that holds nothing back.
    pub launched: bool,
    /// Its process, where that is known.
    pub process: Process,
    /// A held process of an earlier segment is left.
    pub left: bool,
    /// Its exclusion mark.
    pub excluded: Exclusion,
    /// Status of its last attempt.
    pub attempt: AttemptStatus,
    /// Phase of its last attempt.
    pub phase: Phase,
    /// Its lease, if the action needs one.
    pub lease: Option<LeaseView>,
    /// A wake is recorded for the next claim.
    pub woken: bool,
    /// The winner of that wake is not its lowest pending input, so that a wrong trigger shows.
    pub winner_later: bool,
    /// Pending inputs: none, one, or two for more.
    pub pending: u8,
    /// An unrouted event resolves to it.
    pub owed: bool,
    /// Its scope, or one above it, runs as many attempts as it may.
    pub full: bool,
    /// Its own scope alone, without what lies in it or above it, would have room.
    pub full_elsewhere: bool,
    /// An intent for its running attempt is open.
    pub intents: bool,
    /// Its attempt supports interrupt.
    pub interruptible: bool,
    /// The current configuration would say otherwise.
    pub repinned: bool,
}

/// The guard facts of a wait.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WaitFacts {
    /// Its status.
    pub status: WaitStatus,
    /// Its timer.
    pub timer: TimerFacts,
    /// Events that match it: none, one, or two for more.
    pub matches: u8,
    /// The lowest match by number is the first by slot as well, so that a wrong tie-break shows.
    pub lowest_is_first: bool,
    /// Its own timeout is accepted.
    pub timed_out: bool,
    /// What would win is as deep as its root allows, so the continuation would be refused.
    pub at_limit: bool,
    /// Its subscription stands.
    pub subscribed: bool,
    /// Events that it would translate: none, one, or two for more.
    pub selected: u8,
    /// Another subscription of the Work to the same source had not come as far as the latest event.
    pub resumes_source: bool,
}

/// The guard facts of a timer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TimerFacts {
    /// None, or gone.
    #[default]
    None,
    /// Disabled by a causal limit.
    Disabled,
    /// Armed, not due.
    Armed,
    /// Armed and due.
    Due,
}

/// The guard facts of an event.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EventFacts {
    /// Accepted already.
    pub accepted: bool,
    /// Its mark.
    pub mark: RouteMark,
    /// Its proposal.
    pub proposal: Proposal,
    /// Which kind of event it is: a delivery, a timeout or a continuation.
    pub origin: u8,
    /// Its target or the owner of its key lies in its own scope, in another one, or there is none.
    pub resolves: u8,
    /// A lower unrouted event resolves to the same Work.
    pub out_of_turn: bool,
    /// It matches the active wait of its Work.
    pub matches: bool,
    /// What its handler decides.
    pub decides: Option<Does>,
    /// The decision would reopen ended Work.
    pub reopens: bool,
    /// The decision has keys to attach: free ones (1), another Work's (2), both (3).
    pub attaches: u8,
    /// The decision names a kind that its Work is not of.
    pub other_kind: bool,
    /// An execution of the Work that owns its key, or that waits for it, published it.
    pub published: bool,
    /// Its resource has a newer generation than its key.
    pub mapped: bool,
    /// Its key names a generation itself.
    pub generation: bool,
    /// It came before with another body, or a body of its sender did: within the window (2) or before it (3).
    pub repeated: u8,
    /// What it derives would be deeper than its root allows.
    pub deepest: bool,
    /// The configuration was replaced before.
    pub reloaded: bool,
    /// An operator dropped it, or it is suspect.
    pub silenced: bool,
    /// It is translated for the wait in question, which selects it (2) or does not (1).
    pub translated: u8,
    /// It is the retry of the attempt whose backoff stands.
    pub retries: bool,
    /// The control its route wants of the running attempt of its Work, which has it (0), or has not, with no fallback (1), to
    /// queue (2) or to drop (3).
    pub policy: Option<(ControlPolicy, u8)>,
    /// What stands in if that control fails.
    pub on_error: Fallback,
    /// Its intent.
    pub intent: IntentKind,
    /// What became of that.
    pub intent_status: IntentStatus,
    /// It was committed for an earlier attempt than the last.
    pub of_another: bool,
    /// Where its message is, if that is known.
    pub message: Message,
    /// It is pending input.
    pub pending: bool,
}

/// An outcome without its numbers and names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Answer {
    /// The outcome's code.
    pub code: &'static str,
    /// What kind of receipt came with it.
    pub receipt: u8,
}

/// The facts of a Work that a guard or an effect of this kind of action looks at; the rest is forgotten.
pub(super) fn guards_on_work(kind: Kind, facts: WorkFacts) -> WorkFacts {
    let WorkFacts { status, holds, stands, attempt, phase, lease, woken, pending, .. } = facts;
    let blank = WorkFacts::default();
    let held = WorkFacts { attempt, phase, lease, ..blank };
    let (intents, interruptible) = (facts.intents, facts.interruptible);
    match kind {
        Kind::CommitRoute => WorkFacts {
            status,
            succeeded: facts.succeeded,
            keyed: facts.keyed,
            stands: stands && !status.terminal(),
            backoff: facts.backoff,
            ..blank
        },
        Kind::Claim => WorkFacts {
            backoff: facts.backoff,
            restored: facts.restored,
            status,
            holds,
            excluded: facts.excluded,
            attempt,
            woken,
            winner_later: facts.winner_later,
            pending,
            full: facts.full,
            full_elsewhere: facts.full_elsewhere,
            released: facts.released,
            outdated: facts.outdated,
            worn: facts.worn,
            idle: facts.idle,
            ..blank
        },
        Kind::ClearNeverHanded | Kind::Pin | Kind::Renew => held,
        Kind::Detach => WorkFacts { process: facts.process, ..held },
        Kind::SettleRecovery => WorkFacts {
            stands,
            failures: facts.failures,
            last: facts.last,
            owed: facts.owed && facts.last == 2,
            process: facts.process,
            intents,
            ..held
        },
        Kind::Complete => WorkFacts {
            intents,
            pending,
            owed: facts.owed,
            stands,
            at_limit: facts.at_limit,
            failures: facts.failures,
            ..held
        },
        Kind::Fail => WorkFacts {
            intents,
            pending,
            stands,
            failures: facts.failures,
            last: facts.last,
            owed: facts.owed && facts.last == 2,
            outdated: facts.outdated,
            renumbered: facts.renumbered && !stands,
            launched: facts.launched,
            ..held
        },
        Kind::RegisterWait => WorkFacts { pending, intents, ..held },
        Kind::Dispatch | Kind::SettleDispatch => {
            WorkFacts { pending, holds, failures: facts.failures, ..held }
        }
        Kind::Interrupt => {
            WorkFacts { status, attempt, phase, interruptible, repinned: facts.repinned, ..blank }
        }
        Kind::ClaimRecovery => WorkFacts {
            intents,
            pending,
            restored: facts.restored,
            voided: facts.voided,
            holding: facts.holding,
            process: facts.process,
            ..held
        },
        Kind::FireRetry => {
            let (backoff, retry, restored) = (facts.backoff, facts.retry, facts.restored);
            WorkFacts { status, stands, backoff, retry, restored, ..blank }
        }
        Kind::Retry => WorkFacts {
            status,
            holds,
            attempt,
            backoff: facts.backoff,
            retry: facts.retry,
            failures: facts.failures,
            ..blank
        },
        Kind::Launch
        | Kind::Proceed
        | Kind::LetGo
        | Kind::ProcessEnds
        | Kind::KeeperDies
        | Kind::Deliver
        | Kind::TakeIn => WorkFacts {
            attempt,
            phase,
            process: facts.process,
            left: facts.left,
            holding: facts.holding,
            ..blank
        },
        Kind::Vacate | Kind::ProcessExits => {
            WorkFacts { status, excluded: facts.excluded, ..blank }
        }
        Kind::Cancel => WorkFacts {
            intents,
            status,
            holds,
            excluded: facts.excluded,
            attempt,
            phase,
            woken,
            pending,
            stands,
            idle: facts.idle,
            backoff: facts.backoff,
            retry: facts.retry,
            ..blank
        },
        Kind::Wake | Kind::FireTimer | Kind::AcceptTimeout | Kind::Translate => {
            let timed = matches!(kind, Kind::FireTimer | Kind::AcceptTimeout);
            WorkFacts { status, attempt, restored: facts.restored && timed, ..blank }
        }
        Kind::Reopen => {
            WorkFacts { status, succeeded: facts.succeeded, keyed: facts.keyed, ..blank }
        }
        Kind::Hold => WorkFacts { status, holds, attempt, ..blank },
        Kind::Release => WorkFacts { status, holds, attempt, woken, retry: facts.retry, ..blank },
        Kind::CloseIdle => {
            let (owed, idle, restored) = (facts.owed, facts.idle, facts.restored);
            WorkFacts { status, holds, pending, owed, idle, restored, ..blank }
        }
        Kind::CreateWork => WorkFacts { status, ..blank },
        Kind::Accept
        | Kind::Reload
        | Kind::Drop
        | Kind::Replay
        | Kind::Evaluate
        | Kind::Tick
        | Kind::Restore
        | Kind::ReleaseRestore
        | Kind::Crash => blank,
    }
}

/// What the law comes to look at of a Work before it answers so, as far as controls and proofs go.
pub(super) fn seen_of_work(
    kind: Kind,
    outcome: Outcome,
    proofs: u16,
    facts: WorkFacts,
) -> WorkFacts {
    let WorkFacts { attempt, phase, lease, .. } = facts;
    let blank = WorkFacts::default();
    let unknown = outcome == Outcome::Refused(Refusal::UnknownIntent);
    let unauthorised =
        matches!(outcome, Outcome::Refused(Refusal::StaleAuthority | Refusal::LeaseExpired));
    let repeated = matches!(outcome, Outcome::Duplicate(_));
    // A late answer is late whatever became of its attempt, and an answer to nothing is that first of all.
    if kind == Kind::SettleDispatch && (repeated || unknown) {
        return blank;
    }
    // A request made before is answered as it was then.
    if kind == Kind::Interrupt && repeated {
        return blank;
    }
    // Authority is looked at first, so the rest of the Work has no say; of results, those that name nothing show that.
    if unauthorised {
        let held = WorkFacts { attempt, phase, lease, ..blank };
        return if proofs == 0 { held } else { WorkFacts { phase, ..blank } };
    }
    // Only what is done ends what is on its way, and a fence has to leave the rest of its Work alone.
    let sends = matches!(kind, Kind::Dispatch | Kind::SettleDispatch);
    if sends && !outcome.accepted() {
        return WorkFacts { attempt, phase, lease, ..blank };
    }
    WorkFacts { intents: facts.intents && outcome.accepted(), ..facts }
}

/// What the law comes to look at of an event before it answers so, as far as controls go.
pub(super) fn seen_of_event(outcome: Outcome, facts: EventFacts) -> EventFacts {
    match outcome {
        Outcome::Accepted(_) | Outcome::Deferred(_) => facts,
        // Nothing was tried, so nothing failed.
        Outcome::Duplicate(_) | Outcome::Conflict | Outcome::Refused(_) => {
            EventFacts { policy: None, on_error: Fallback::None, ..facts }
        }
    }
}

/// Acceptance and evaluation do not look at what routing would do.
pub(super) fn guards_on_event(kind: Kind, facts: EventFacts) -> EventFacts {
    let EventFacts { accepted, mark, proposal, origin, resolves, out_of_turn, .. } = facts;
    let blank = EventFacts::default();
    match kind {
        Kind::Accept => EventFacts {
            accepted,
            resolves,
            mapped: facts.mapped,
            generation: facts.generation,
            repeated: facts.repeated,
            ..blank
        },
        Kind::Evaluate => EventFacts { proposal, resolves, ..blank },
        Kind::CommitRoute => EventFacts {
            mapped: false,
            generation: false,
            repeated: 0,
            translated: 0,
            deepest: facts.deepest && facts.reopens,
            policy: facts.policy.filter(|_| mark == RouteMark::Unrouted),
            on_error: if mark == RouteMark::Unrouted { facts.on_error } else { blank.on_error },
            intent: IntentKind::None,
            intent_status: IntentStatus::None,
            of_another: false,
            message: Message::None,
            pending: false,
            ..facts
        },
        Kind::Dispatch | Kind::SettleDispatch => EventFacts {
            intent: facts.intent,
            intent_status: facts.intent_status,
            of_another: facts.of_another,
            on_error: if kind == Kind::SettleDispatch { facts.on_error } else { blank.on_error },
            pending: facts.pending,
            ..blank
        },
        Kind::Deliver | Kind::TakeIn => EventFacts {
            intent: facts.intent,
            intent_status: facts.intent_status,
            message: facts.message,
            ..blank
        },
        Kind::Drop => {
            EventFacts { accepted, mark, origin, resolves, out_of_turn, proposal, ..blank }
        }
        Kind::Replay => EventFacts {
            accepted,
            mark,
            origin,
            mapped: facts.mapped,
            deepest: facts.deepest,
            ..blank
        },
        Kind::Translate => EventFacts {
            accepted,
            origin,
            mark: if facts.silenced { mark } else { RouteMark::Unrouted },
            published: facts.published,
            deepest: facts.deepest,
            translated: facts.translated,
            ..blank
        },
        Kind::Claim
        | Kind::ClearNeverHanded
        | Kind::Pin
        | Kind::Renew
        | Kind::Complete
        | Kind::Fail
        | Kind::RegisterWait
        | Kind::Wake
        | Kind::FireTimer
        | Kind::AcceptTimeout
        | Kind::ClaimRecovery
        | Kind::SettleRecovery
        | Kind::Vacate
        | Kind::Cancel
        | Kind::Reload
        | Kind::Reopen
        | Kind::CreateWork
        | Kind::Hold
        | Kind::Release
        | Kind::CloseIdle
        | Kind::FireRetry
        | Kind::Retry
        | Kind::Detach
        | Kind::Restore
        | Kind::ReleaseRestore
        | Kind::Interrupt
        | Kind::Tick
        | Kind::Crash
        | Kind::ProcessExits
        | Kind::Launch
        | Kind::Proceed
        | Kind::LetGo
        | Kind::ProcessEnds
        | Kind::KeeperDies => blank,
    }
}

pub(super) fn work_facts(world: &World, state: &dyn Facts, ix: WorkIx) -> WorkFacts {
    let work = state.work(ix);
    let winner = work.wake.wait().and_then(|wait| state.wait(wait).winner.event());
    let runs = |other: &&crate::state::Work| {
        other.attempt.status == AttemptStatus::Running && other.scope == work.scope
    };
    let whole = world.binding(ix).active;
    let deep = |event: EventIx| state.event(event).depth >= world.depth_max;
    let interruptible = state.supports(world, ix, IntentKind::Interrupt);
    WorkFacts {
        status: work.status,
        holds: work.holds,
        stands: world.kind(work.kind).standing,
        idle: timer_facts(work.idle),
        succeeded: state.successor(ix).is_some(),
        keyed: work.first_key.key().is_some(),
        released: work.released.event().is_some(),
        outdated: work.attempt.status.open()
            && work.attempt.generation != state.current().generation,
        worn: work.attempt.status.open() && work.attempt.active.ticks() != whole,
        at_limit: !world.turns.is_empty() && work.attempt.cause.event().is_some_and(deep),
        failures: few(usize::from(work.failures)),
        last: last(world, state, ix),
        renumbered: work.attempt.number != work.failures.saturating_add(1),
        backoff: work.backoff > 0,
        retry: timer_facts(work.retry),
        restored: state.current().restore_hold == Flag::Yes,
        voided: work.attempt.status == AttemptStatus::Running && work.attempt.epochs == 0,
        holding: world.processes > 0 && world.binding(ix).holds,
        launched: work.attempt.phase == Phase::Handed && !world.binding(ix).holds,
        process: work.process,
        left: work.left_held > 0,
        excluded: work.excluded,
        attempt: work.attempt.status,
        phase: work.attempt.phase,
        lease: Some(lease(work)),
        woken: work.wake.wait().is_some(),
        winner_later: winner.is_some()
            && state.input(ix, Input::Pending).first().copied() != winner,
        pending: few(state.input(ix, Input::Pending).len()),
        owed: state.owed_a_route(world, ix),
        full: state.full(world, work.scope),
        full_elsewhere: state.full(world, work.scope)
            && state.works().iter().filter(runs).count() < world.capacity,
        intents: !state.open_intents(ix).is_empty(),
        interruptible,
        repinned: world.controls(ix, state.current().generation).interrupts != interruptible,
    }
}

/// What another failure of the running attempt would use up.
fn last(world: &World, state: &dyn Facts, ix: WorkIx) -> u8 {
    let work = state.work(ix);
    let policy = world.policy(work.kind, work.attempt.generation);
    if !policy.uses_up(work.failures.saturating_add(1)) || world.kind(work.kind).standing {
        return 0;
    }
    match policy.exhausted {
        Exhausted::Keep => 1,
        Exhausted::Fail => 2,
    }
}

fn timer_facts(timer: Timer) -> TimerFacts {
    match timer.ticks() {
        Some(0) => TimerFacts::Due,
        Some(_) => TimerFacts::Armed,
        None if timer == Timer::DISABLED => TimerFacts::Disabled,
        None => TimerFacts::None,
    }
}

fn few(count: usize) -> u8 {
    match count {
        0 => 0,
        1 => 1,
        _ => 2,
    }
}

pub(super) fn wait_facts(world: &World, state: &dyn Facts, ix: WaitIx) -> WaitFacts {
    let wait = state.wait(ix);
    let matched = state.matched(world, ix);
    WaitFacts {
        status: wait.status,
        timer: timer_facts(wait.timer),
        matches: few(matched.len()),
        lowest_is_first: matched.first() == matched.iter().min(),
        timed_out: state.is_accepted(world.timeout_of(ix)),
        at_limit: matched
            .first()
            .is_some_and(|winner| state.event(*winner).depth >= world.depth_max),
        subscribed: wait.subscribed == Flag::Yes,
        selected: few(state.selected(world, ix).len()),
        resumes_source: state
            .subscribed_before(world, ix)
            .is_some_and(|before| state.wait(before).checkpoint < state.latest()),
    }
}

pub(super) fn event_facts(world: &World, state: &dyn Facts, ix: EventIx) -> EventFacts {
    let event = state.event(ix);
    let work = state.resolves_to(world, ix);
    let decision = world.decision(ix, state.current().configuration);
    let key = event.key.key().or(world.about(ix).key);
    let lower = |other: EventIx| {
        state.event(other).seq < event.seq
            && state.is_unrouted(other)
            && state.resolves_to(world, other) == work
    };
    let wait = work.and_then(|work| state.active_wait(world, work));
    EventFacts {
        accepted: event.seq > 0,
        mark: event.mark,
        proposal: event.proposal,
        origin: match world.origin(ix) {
            Origin::Delivery(_) => 0,
            Origin::Timeout(_) => 1,
            Origin::Continuation(_) => 2,
            Origin::Alias(..) => 3,
            Origin::Ended(..) => 4,
            Origin::Created(_) => 5,
            Origin::Retry(..) => 6,
        },
        resolves: match (state.speaks_of(world, ix), work) {
            (None, _) => 0,
            (Some(_), Some(_)) => 1,
            (Some(_), None) => 2,
        },
        out_of_turn: work.is_some() && below(world.slots()).map(EventIx).any(lower),
        matches: wait.is_some_and(|wait| state.matches(world, wait, ix)),
        decides: Some(decision.does),
        reopens: work.is_some_and(|work| decision.successor_of(work).is_some()),
        attaches: attaches(world, state, &decision, work),
        other_kind: work.is_some_and(|work| state.work(work).kind != decision.kind)
            && matches!(decision.does, Does::Update | Does::Work),
        published: published(world, state, ix),
        mapped: key.is_some_and(|key| state.last_generation(world, world.resource(key)) != key),
        generation: key.is_some_and(|key| world.resource(key) != key),
        repeated: repeated(world, state, ix),
        deepest: event.depth >= world.depth_max,
        reloaded: state.current().generation > 0,
        silenced: state.silenced(ix),
        translated: 0,
        retries: match (world.origin(ix), work) {
            (Origin::Retry(_, attempt), Some(work)) => state.work(work).backoff == attempt,
            (_, _) => false,
        },
        policy: work.and_then(|work| policy_facts(world, state, work, &decision.control)),
        on_error: match event.intent.kind {
            IntentKind::None => decision.control.on_error,
            IntentKind::Inject | IntentKind::Interrupt => event.intent.on_error,
        },
        intent: event.intent.kind,
        intent_status: event.intent.status,
        of_another: event
            .work
            .work()
            .is_some_and(|work| state.work(work).attempt.number != event.intent.attempt),
        message: event.intent.message,
        pending: event.input == Input::Pending,
    }
}

/// What a route wants of a running attempt, and what stands in if it lacks that.
fn policy_facts(
    world: &World,
    state: &dyn Facts,
    work: WorkIx,
    control: &Control,
) -> Option<(ControlPolicy, u8)> {
    let queues = *control == Control::QUEUE;
    if queues || state.work(work).status != WorkStatus::Running {
        return None;
    }
    let lacks = match control.fallback {
        _ if state.supports(world, work, control.policy.needs()) => 0,
        Fallback::None => 1,
        Fallback::Queue => 2,
        Fallback::Drop => 3,
    };
    Some((control.policy, lacks))
}

/// Which kinds of proof a result brings: of a pending inject intent by its status (bits 0 to 7), of one that is pending no
/// more (8), of another attempt's (9), of an interrupt (10), of no intent of the Work (11), of what was sent to another
/// Work (12), of one that arrived and was then claimed (13).
pub(super) fn proof_facts(state: &dyn Facts, work: WorkIx, proofs: Proofs) -> u16 {
    let claimed = |status, event| {
        let arrived = matches!(status, IntentStatus::Accepted | IntentStatus::FellBack);
        arrived && !state.is_input(event, work, Input::Withdrawn)
    };
    let bit = |event: EventIx| {
        let Some(intent) = state.intent(work, event) else {
            let sent_to_another = matches!(
                state.event(event).intent.status,
                IntentStatus::Dispatched | IntentStatus::Accepted | IntentStatus::FellBack
            );
            return if sent_to_another { 1 << 12 } else { 1 << 11 };
        };
        match intent.kind {
            IntentKind::None | IntentKind::Interrupt => 1 << 10,
            IntentKind::Inject if intent.attempt != state.work(work).attempt.number => 1 << 9,
            IntentKind::Inject if state.is_input(event, work, Input::Pending) => {
                1_u16 << (intent.status as u8).saturating_sub(1)
            }
            IntentKind::Inject if claimed(intent.status, event) => 1 << 13,
            IntentKind::Inject => 1 << 8,
        }
    };
    let known = proofs.events().filter(|event| event.at() < state.events().len());
    known.map(bit).fold(0, |all, one| all | one)
}

/// What a wait's subscription has to do with a source event.
pub(super) fn source_facts(
    world: &World,
    state: &dyn Facts,
    wait: WaitIx,
    source: EventIx,
) -> EventFacts {
    let alias = world.alias_of(wait, source).is_some_and(|alias| state.is_accepted(alias));
    let own = state.about(world, source).publisher == Some(world.wait(wait).work);
    EventFacts {
        translated: u8::from(alias) + 2 * u8::from(state.selects(world, wait, source)),
        published: own,
        ..event_facts(world, state, source)
    }
}

fn attaches(world: &World, state: &dyn Facts, decision: &Decision, work: Option<WorkIx>) -> u8 {
    let kinds = decision.attaches.iter().map(|key| match state.owner(state.newest(world, *key)) {
        None => 1,
        Some(owner) if Some(owner) == work => 0,
        Some(_) => 2,
    });
    kinds.fold(0, |all, kind| all | kind)
}

fn published(world: &World, state: &dyn Facts, event: EventIx) -> bool {
    state.is_accepted(event) && state.about(world, event).publisher.is_some()
}

fn repeated(world: &World, state: &dyn Facts, event: EventIx) -> u8 {
    let Origin::Delivery(delivery) = world.origin(event) else {
        return 0;
    };
    let def = world.delivery(delivery);
    let others = || {
        below(world.deliveries.len())
            .map(DeliveryIx)
            .filter(|other| *other != delivery && state.is_accepted((*other).into()))
    };
    let same_identity = |other: &DeliveryIx| world.delivery(*other).identity == def.identity;
    let same_body = |other: &DeliveryIx| {
        let sent = world.delivery(*other);
        def.signs.is_some() && sent.signs == def.signs && sent.body == def.body
    };
    let within = |other: DeliveryIx| state.event(other.into()).suspect > 0;
    match others().find(same_identity) {
        Some(original) if world.delivery(original).body != def.body => 1,
        Some(_) => 0,
        None if others().filter(same_body).any(within) => 2,
        None if others().any(|other| same_body(&other)) => 3,
        None => 0,
    }
}

pub(super) fn answer(world: &World, outcome: Outcome) -> Answer {
    let receipt = match outcome {
        Outcome::Accepted(receipt) | Outcome::Duplicate(receipt) => receipt_kind(world, receipt),
        Outcome::Deferred(_) | Outcome::Conflict | Outcome::Refused(_) => 0,
    };
    Answer { code: outcome.code(), receipt }
}

fn receipt_kind(world: &World, receipt: Receipt) -> u8 {
    let by_timeout = |event| u8::from(matches!(world.origin(event), Origin::Timeout(_)));
    match receipt {
        Receipt::Done => 0,
        Receipt::Sequence(_) => 1,
        Receipt::Routed { mark: RouteMark::Unrouted, .. } => 2,
        Receipt::Routed { mark: RouteMark::Queued, .. } => 3,
        Receipt::Routed { mark: RouteMark::Woke, .. } => 4,
        Receipt::Routed { mark: RouteMark::Unmatched, .. } => 5,
        Receipt::Routed { mark: RouteMark::Terminal, .. } => 6,
        Receipt::Routed { mark: RouteMark::Continuation, .. } => 7,
        Receipt::Claimed { start: Start::Start, .. } => 8,
        Receipt::Claimed { start: Start::Next, .. } => 9,
        Receipt::Claimed { start: Start::Resume, .. } => 10,
        Receipt::Recovered(Recovery::Relaunch) => 11,
        Receipt::Recovered(Recovery::Adopt) => 12,
        Receipt::Registered { winner: None } => 13,
        Receipt::Registered { winner: Some(_) } => 14,
        Receipt::Woken { winner } => 15 + by_timeout(winner),
        Receipt::Routed { mark: RouteMark::Drop, .. } => 17,
        Receipt::Routed { mark: RouteMark::Close, .. } => 18,
        Receipt::Routed { mark: RouteMark::OperatorDrop, .. } => 19,
        Receipt::Routed { mark: RouteMark::ReplaySuspect, .. } => 20,
        Receipt::Routed { mark: RouteMark::Release, .. } => 21,
        Receipt::Routed { mark: RouteMark::StaleRetry, .. } => 22,
        Receipt::Routed { mark: RouteMark::Inject, .. } => 23,
        Receipt::Routed { mark: RouteMark::Interrupt, .. } => 24,
        Receipt::Dispatched { kind, .. } => 25 + kind as u8,
        Receipt::Settled(status) => 28 + status as u8,
    }
}
