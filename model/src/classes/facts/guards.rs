//! What a kind of action looks at: the facts that its guards and effects read; the rest is forgotten.

use crate::action::Kind;
use crate::outcome::RouteMark;
use crate::state::{IntentKind, IntentStatus, Message};

use super::{EventFacts, WorkFacts};

/// The facts of a Work that a guard or an effect of this kind of action looks at; the rest is forgotten.
pub(in crate::classes) fn guards_on_work(kind: Kind, facts: WorkFacts) -> WorkFacts {
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

/// Acceptance and evaluation do not look at what routing would do.
pub(in crate::classes) fn guards_on_event(kind: Kind, facts: EventFacts) -> EventFacts {
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
