//! Rows of the store as the door shows them.

use serde_json::Value;

use super::reason;
use crate::api::types::{
    AttemptRow, BackoffRow, EventRow, HintRow, IntentRow, Page, RejectionRow, SubscriptionRow,
    WaitRow, WorkRow,
};
use crate::domain::{EventUid, HintFinding, Key, Millis, RetryHint, Seq, WorkUid};
use crate::host::Context;
use crate::store::attempts::Attempt;
use crate::store::intents::Intent;
use crate::store::listed::{ListedSubscription, Relatives};
use crate::store::pages;
use crate::store::reads::ListedWait;
use crate::store::works::Work;

/// A page; `cursor` is what the following one comes after.
pub(super) fn page<T>(items: Vec<T>, limit: u32, cursor: Option<i64>) -> Page<T> {
    let full = items.len() >= limit as usize;
    Page { items, next: cursor.filter(|_| full) }
}

pub(super) fn event(row: pages::EventRow) -> EventRow {
    let pages::EventRow {
        event,
        mark,
        route,
        work,
        parent,
        root,
        reason,
        asked,
        conflicting,
        intent: _,
    } = row;
    EventRow {
        id: event.uid.to_string(),
        seq: event.seq.0,
        source: event.id.source,
        delivery: event.id.delivery,
        event_type: event.event_type,
        subject: event.subject,
        key: event.key.map(|key| key.external_id),
        scope: event.scope,
        accepted_at: event.accepted_at.to_string(),
        mark,
        work: work.map(|work| work.to_string()),
        route,
        reason: reason.filter(|reason| !reason.is_empty()),
        asked,
        conflicting,
        parent: parent.map(|parent| parent.to_string()),
        root: root.to_string(),
        depth: event.depth,
    }
}

/// A stored payload was JSON when it was accepted.
pub(super) fn data(payload: Option<String>) -> Value {
    payload.and_then(|text| serde_json::from_str(&text).ok()).unwrap_or(Value::Null)
}

pub(super) fn work(context: &Context, row: &pages::WorkRow) -> WorkRow {
    let trouble = context.troubles.of_work(row.work.id);
    let now = context.now();
    WorkRow {
        id: row.work.uid.to_string(),
        kind: row.kind.clone(),
        scope: row.scope.clone(),
        status: row.work.status,
        reason: reason::of_row(row, trouble, now),
        hold: row.work.holds.iter().next(),
        holds: row.work.holds.iter().collect(),
        standing: row.work.standing,
        predecessor: None,
        successor: None,
        parent: None,
        idle_until: row.work.idle_at.map(|at| at.to_string()),
        closed_by: row.work.closed_by.map(|seq| seq.0),
        excluded: row.work.marked.is_some(),
        failures: row.work.failures,
        backoff: backoff(&row.work),
        keys: row.keys.iter().map(key).collect(),
        attempts: row.work.attempt.map_or(0, |n| n.0),
        pending: row.work.pending_count.into(),
        created_at: row.created_at.to_string(),
    }
}

fn backoff(work: &Work) -> Option<BackoffRow> {
    let timer = work.retry;
    Some(BackoffRow {
        attempt: work.backoff?.0,
        due: timer.map(|timer| timer.fire_at.to_string()),
        disabled: timer.is_some_and(|timer| timer.disabled),
    })
}

const fn hint((hint, finding): (RetryHint, HintFinding)) -> HintRow {
    let delay_ms = match hint {
        RetryHint::Delay(delay) => Some(delay),
        RetryHint::Unreadable => None,
    };
    HintRow { delay_ms, finding }
}

/// An intent, with the id of its event.
pub(super) fn intent((row, event): (Intent, EventUid)) -> IntentRow {
    IntentRow {
        event: row.event.0,
        event_id: event.to_string(),
        attempt: row.attempt.0,
        epoch: row.epoch.0,
        kind: row.kind,
        status: row.status,
        on_error: row.on_error,
        sends: row.sends,
        committed_at: row.committed_at.to_string(),
        dispatched_at: row.dispatched_at.map(|at| at.to_string()),
        settled_at: row.settled_at.map(|at| at.to_string()),
        detail: row.detail.filter(|detail| !detail.is_empty()),
    }
}

/// An attempt, with what it consumed and the id of the event that interrupted it.
pub(super) fn attempt(
    row: &Attempt,
    inputs: Vec<Seq>,
    interrupted: Option<EventUid>,
) -> AttemptRow {
    AttemptRow {
        id: row.uid.to_string(),
        number: row.n.0,
        status: row.status,
        phase: row.phase,
        epoch: row.epoch.0,
        binding: row.pin.binding.clone(),
        generation: row.pin.generation.0,
        expires_at: row.expires_at.map(|at: Millis| at.to_string()),
        trigger: row.trigger.0,
        inputs: inputs.into_iter().map(|seq| seq.0).collect(),
        result: row.result.clone(),
        hint: row.hint.map(hint),
        injects: row.pin.injects,
        interrupts: row.pin.interrupts,
        interrupt_event_id: interrupted.map(|event| event.to_string()),
        interrupted_by: row.interrupt_event.map(|seq| seq.0),
        usage: row.usage.as_deref().and_then(|text| serde_json::from_str(text).ok()),
    }
}

/// With the Works it stands in relation to.
pub(super) fn related(row: WorkRow, relatives: &Relatives) -> WorkRow {
    let text = |uid: Option<WorkUid>| uid.map(|uid| uid.to_string());
    WorkRow {
        predecessor: text(relatives.predecessor),
        successor: text(relatives.successor),
        parent: text(relatives.parent),
        ..row
    }
}

pub(super) fn wait(row: ListedWait, subscription: Option<ListedSubscription>) -> WaitRow {
    let armed = row.wait.timeout.is_none() && row.wait.ended_at.is_none();
    WaitRow {
        id: row.wait.uid.to_string(),
        work: row.work.to_string(),
        attempt: row.wait.attempt.0,
        status: row.wait.status,
        keys: row.keys.iter().map(key).collect(),
        types: row.types,
        after: row.wait.after.0,
        deadline: row.wait.fire_at.filter(|_| armed).map(|at| at.to_string()),
        winner: row.wait.winner.map(|seq| seq.0),
        subscription: subscription.map(|source| SubscriptionRow {
            source: key(&source.key),
            scope: source.scope,
            checkpoint: source.checkpoint.0,
            active: source.active,
        }),
    }
}

pub(super) fn rejection(row: &pages::RejectionRow) -> RejectionRow {
    use crate::store::words::Word as _;

    RejectionRow {
        delivery: row.delivery.clone(),
        kind: row.kind.word().to_owned(),
        parent: row.parent.to_string(),
        reason: row.reason.clone(),
        depth: row.depth,
        at: row.at.to_string(),
    }
}

pub(super) fn key(key: &Key) -> String {
    format!("{}#{}", key.source, key.external_id)
}
