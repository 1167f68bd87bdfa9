//! Causality: what core derives stays on the chain of its cause, and chains are bounded. CAUSE-14
//! CAUSE-29

use crate::domain::{EventUid, IngressId, Millis, Seq, derived_uuid};
use crate::store::rejections::{self, Derived, Rejection};
use crate::store::waits::Wait;
use crate::store::words::Word as _;
use crate::store::works::Work;
use crate::store::{StoreError, Tx, events, identities, meta, names, payloads};

/// The source of every event core makes itself; nobody else may use it.
pub(super) const CORE_SOURCE: &str = "core";

/// Accepts an event that core derives from `parent` for a wait; `None` if its root does not allow
/// it to be that deep, and then the diagnostic is written instead. CAUSE-15 REJECT-11
pub(super) fn accept_derived(
    tx: &mut dyn Tx,
    now: Millis,
    kind: Derived,
    parent: Seq,
    wait: &Wait,
    work: &Work,
) -> Result<Option<Seq>, StoreError> {
    let cause = events::referred(tx, parent)?;
    let depth = cause.depth.saturating_add(1);
    if depth > cause.depth_max {
        let (root, depth_max) = (cause.root, cause.depth_max);
        let (wait, attempt) = (wait.id, wait.attempt);
        let refused = Rejection {
            wait,
            kind,
            parent,
            root,
            depth,
            depth_max,
            work: work.id,
            attempt,
            at: now,
        };
        rejections::insert(tx, &refused)?;
        return Ok(None);
    }
    let seq = meta::next_seq(tx)?;
    let uid = derived_uuid(now, wait.uid.uuid(), kind.word(), 0);
    let (event_type, target, payload) = match kind {
        Derived::Timeout => {
            ("core.wait.timeout", Some(work.id), format!(r#"{{"wait":"{}"}}"#, wait.uid))
        }
        Derived::Continuation => {
            let winner = event_uid(tx, parent)?;
            let payload = format!(r#"{{"wait":"{}","winner":"{winner}"}}"#, wait.uid);
            ("core.wait.woken", None, payload)
        }
    };
    // The identity is the wait's own, so that firing it again could only find this event. TIMER-02
    let delivery = format!("{}/{}", wait.uid, kind.word());
    let id = IngressId { source: CORE_SOURCE.to_owned(), delivery };
    let source = names::intern(tx, CORE_SOURCE)?;
    let event_type = names::intern(tx, event_type)?;
    events::insert(
        tx,
        &events::NewRow {
            seq,
            uid,
            source,
            delivery: &id.delivery,
            event_type,
            subject: None,
            occurred_at: None,
            accepted_at: now,
            scope: work.scope,
            key: None,
            target,
            wait: Some(wait.id),
            parent: Some(parent),
            root: cause.root,
            depth,
            depth_max: cause.depth_max,
        },
    )?;
    let hash = identities::hash(tx, &id)?;
    identities::insert(tx, hash, seq)?;
    payloads::insert(tx, seq, &payload)?;
    Ok(Some(seq))
}

fn event_uid(tx: &mut dyn Tx, seq: Seq) -> Result<EventUid, StoreError> {
    events::get(tx, seq)?
        .map(|event| event.uid)
        .ok_or_else(|| StoreError::corrupt(format!("event {seq} is referred to and missing")))
}
