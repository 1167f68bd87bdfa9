//! What `why` says of controls: of events that are to reach a running attempt, and of those that
//! wait because their attempt lacks what their route wants.

use std::sync::Arc;

use super::reason::Reason;
use crate::api::text::printable;
use crate::domain::{
    AttemptNo, AttemptStatus, ControlPolicy, Fallback, IntentKind, IntentStatus, Phase, Seq,
    WorkStatus, WorkUid,
};
use crate::evaluation;
use crate::host::Context;
use crate::store::intents::Intent;
use crate::store::{StoreError, Tx, attempts, inputs, reads, works};

/// What has come since of an attempt, and of an event that was to reach it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Since {
    /// It does not run.
    over: bool,
    /// The attempt that was handed the event as input.
    handed: Option<AttemptNo>,
}

pub(super) fn since(tx: &mut dyn Tx, intent: &Intent) -> Result<Since, StoreError> {
    let Intent { work, attempt, event, .. } = *intent;
    let over = attempts::referred(tx, work, attempt)?.status != AttemptStatus::Running;
    let input = inputs::of_work(tx, work, Seq(event.0 - 1), 1)?.pop();
    let input = input.filter(|input| input.event == event && !input.proved);
    Ok(Since { over, handed: input.and_then(|input| input.consumed).map(|(n, _)| n) })
}

/// What became of an event that was to reach an attempt of `work`. A person's request is no input.
pub(super) fn told(
    intent: &Intent,
    since: Since,
    work: &str,
    by: &str,
    asked_by_hand: bool,
) -> String {
    match intent.kind {
        IntentKind::Inject => {
            let sentence = offered(intent, since, work, by);
            match since.handed {
                Some(n) => format!("{sentence}; attempt {n} was handed it"),
                None => sentence,
            }
        }
        IntentKind::Interrupt => {
            let sentence = interrupting(intent, work, by);
            match asked_by_hand {
                true => format!("{sentence}; a person asked for it, and it is never input"),
                false => sentence,
            }
        }
    }
}

fn offered(intent: &Intent, since: Since, work: &str, by: &str) -> String {
    let (seq, n) = (intent.event, intent.attempt);
    match intent.status {
        IntentStatus::Committed => {
            format!("event {seq} is input of {work}{by}, and about to be offered to attempt {n}")
        }
        IntentStatus::Dispatched => format!(
            "event {seq} is input of {work}{by}, and is being offered to attempt {n}{}",
            tries(intent)
        ),
        IntentStatus::Accepted if since.handed.is_some() => format!(
            "event {seq} was accepted for delivery to attempt {n} of {work}{by}, and no result proved \
             that its process took it in"
        ),
        IntentStatus::Accepted if since.over => format!(
            "event {seq} was accepted for delivery to attempt {n} of {work}{by}, and no result proved \
             that its process took it in: the next attempt gets it, too"
        ),
        IntentStatus::Accepted => format!(
            "event {seq} was accepted for delivery to attempt {n} of {work}{by}: only a result proves \
             that its process took it in, and without that the next attempt gets it, too"
        ),
        IntentStatus::NotAccepting => format!(
            "event {seq} is input of {work}{by}, and attempt {n} did not take it in{}",
            said(intent)
        ),
        IntentStatus::FellBack => {
            format!(
                "event {seq} could not be offered to attempt {n} of {work}{by}{}",
                fell_back(intent)
            )
        }
        IntentStatus::Consumed => {
            format!("event {seq} was taken in by attempt {n} of {work} while it ran{by}")
        }
        IntentStatus::Stale if intent.dispatched_at.is_some() => format!(
            "event {seq} is input of {work}{by}: attempt {n}, which it was being offered to, was over \
             first, and it may have arrived"
        ),
        IntentStatus::Stale | IntentStatus::Fenced => format!(
            "event {seq} is input of {work}{by}: attempt {n}, which it was to be offered to, was over \
             first"
        ),
    }
}

fn interrupting(intent: &Intent, work: &str, by: &str) -> String {
    let (seq, n) = (intent.event, intent.attempt);
    match intent.status {
        IntentStatus::Committed => format!("event {seq} is to interrupt attempt {n} of {work}{by}"),
        IntentStatus::Dispatched | IntentStatus::Accepted | IntentStatus::NotAccepting => {
            format!("event {seq} is interrupting attempt {n} of {work}{by}{}", tries(intent))
        }
        IntentStatus::Fenced | IntentStatus::Consumed => {
            format!("event {seq} interrupted attempt {n} of {work}{by}")
        }
        IntentStatus::FellBack => {
            format!(
                "event {seq} could not interrupt attempt {n} of {work}{by}{}",
                fell_back(intent)
            )
        }
        IntentStatus::Stale => {
            format!("attempt {n} of {work} was over before event {seq} could interrupt it{by}")
        }
    }
}

/// What the running attempt of a Work is about to be told, after the sentence on that attempt.
pub(super) fn under_way(intent: &Intent) -> String {
    let seq = intent.event;
    match intent.kind {
        IntentKind::Inject => format!("event {seq} is being offered to it{}", tries(intent)),
        IntentKind::Interrupt => format!("event {seq} is interrupting it{}", tries(intent)),
    }
}

/// Sends that came to nothing that is known.
fn tries(intent: &Intent) -> String {
    match intent.sends {
        0 | 1 => String::new(),
        2 => format!(" (tried once{})", said(intent)),
        sends => format!(" (tried at least {} times{})", sends - 1, said(intent)),
    }
}

fn fell_back(intent: &Intent) -> String {
    let stands_in = match intent.on_error {
        Some(Fallback::Drop) => "its route's `on_error` withdrew it, and nothing starts from it",
        Some(Fallback::Queue) | None => "its route's `on_error` leaves it to the next attempt",
    };
    format!("{}; {stands_in}", said(intent))
}

/// What the executor said of it.
fn said(intent: &Intent) -> String {
    match intent.detail.as_deref().map(printable).filter(|detail| !detail.trim().is_empty()) {
        Some(detail) => format!(": {detail}"),
        None => String::new(),
    }
}

/// An event that waits for the end of an attempt, which lacks what its route wants. POLICY-32
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Lacking {
    pub(super) route: Option<String>,
    pub(super) policy: ControlPolicy,
    pub(super) work: WorkUid,
    pub(super) attempt: AttemptNo,
    /// That attempt can be interrupted: somebody would carry it out.
    pub(super) interruptible: bool,
}

/// Evaluates an unrouted event again, to see whether that is what it waits for.
pub(super) async fn lacking(context: &Arc<Context>, seq: Seq) -> Option<Lacking> {
    let proposal = evaluation::propose(context, seq).await.ok()??;
    let control = proposal.decision.control();
    let (work, _) = proposal.resolved.filter(|_| control.fallback.is_none())?;
    let found = context.read(move |tx| {
        let row = works::get(tx, work)?.filter(|row| row.status == WorkStatus::Running);
        Ok(row.map(|row| row.uid).zip(reads::last_attempt(tx, work)?))
    });
    let (work, attempt) = found.await.ok()??;
    let supported = match control.policy {
        ControlPolicy::Queue | ControlPolicy::Drop => true,
        ControlPolicy::Inject => attempt.pin.injects,
        ControlPolicy::Interrupt => attempt.pin.interrupts,
    };
    (!supported).then_some(Lacking {
        route: proposal.route,
        policy: control.policy,
        work,
        attempt: attempt.n,
        interruptible: attempt.pin.interrupts && attempt.phase == Some(Phase::Pinned),
    })
}

/// Why such an event is not routed, and a way out.
pub(super) fn unsupported(seq: Seq, lacking: &Lacking) -> Reason {
    let Lacking { route, policy, work, attempt, interruptible } = lacking;
    let route = route.as_deref().map_or("its route".to_owned(), |name| format!("route `{name}`"));
    let wants = match policy {
        ControlPolicy::Queue => "queue",
        ControlPolicy::Inject => "inject",
        ControlPolicy::Interrupt => "interrupt",
        ControlPolicy::Drop => "drop",
    };
    let end = if *interruptible { "interrupt the attempt, " } else { "" };
    let sentence = format!(
        "event {seq} waits for the end of attempt {attempt} of {work}, which cannot complete the work \
         before: {route} wants `{wants}`, which that attempt was started without, and has no \
         `fallback`; give it one and reload, drop the event, {end}or cancel the work"
    );
    let next = match interruptible {
        true => format!("abide work interrupt {work}"),
        false => format!("abide event drop {seq} --reason WHY"),
    };
    Reason { sentence, next: Some(next) }
}
