//! Causality: what core derives stays on the chain of its cause, and chains are bounded. CAUSE-14
//! CAUSE-29

use uuid::Uuid;

use crate::domain::{AttemptNo, IngressId, Millis, Provenance, Seq, WaitId, WorkId};
use crate::store::identities::{self, IdentityHash};
use crate::store::keys::KeyId;
use crate::store::names::{self, NameId};
use crate::store::rejections::{self, Derived, Rejection};
use crate::store::{StoreError, Tx, events, meta, payloads};

/// The source of every event core makes itself; nobody else may use it.
pub(super) const CORE_SOURCE: &str = "core";

/// The type of an event that core makes.
#[derive(Debug, Clone, Copy)]
pub(super) enum Type {
    /// One of core's own.
    Core(&'static str),
    /// That of another event.
    Of(NameId),
}

/// What an event that core makes is about, whether derived or a root.
#[derive(Debug)]
pub(super) struct Made {
    pub(super) uid: Uuid,
    /// Its identity in core's namespace, so that making it again could only find it. TIMER-02
    pub(super) delivery: String,
    pub(super) event_type: Type,
    pub(super) scope: NameId,
    pub(super) key: Option<KeyId>,
    pub(super) target: Option<WorkId>,
    pub(super) wait: Option<WaitId>,
    /// The failed attempt whose retry it is.
    pub(super) failed: Option<AttemptNo>,
    pub(super) provenance: Option<Provenance>,
    pub(super) payload: Option<String>,
}

impl Made {
    /// An event that names and owns nothing.
    pub(super) fn new(uid: Uuid, delivery: String, event_type: Type, scope: NameId) -> Self {
        Self {
            uid,
            delivery,
            event_type,
            scope,
            key: None,
            target: None,
            wait: None,
            failed: None,
            provenance: None,
            payload: None,
        }
    }
}

/// Whom a diagnostic concerns. REJECT-03
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Concerns {
    pub(super) wait: Option<WaitId>,
    pub(super) work: Option<WorkId>,
    pub(super) attempt: Option<AttemptNo>,
}

/// Accepts an event that core derives from `parent`; `None` if its root does not allow it to be
/// that deep, and then the diagnostic is written instead. CAUSE-15 REJECT-11
pub(super) fn accept_derived(
    tx: &mut dyn Tx,
    now: Millis,
    kind: Derived,
    parent: Seq,
    made: &Made,
    concerns: Concerns,
) -> Result<Option<Seq>, StoreError> {
    let cause = events::referred(tx, parent)?;
    let depth = cause.depth.saturating_add(1);
    let (root, depth_max) = (cause.root, cause.depth_max);
    if depth > depth_max {
        let Concerns { wait, work, attempt } = concerns;
        let delivery = made.delivery.clone();
        let at = now;
        let refused =
            Rejection { delivery, kind, parent, root, depth, depth_max, wait, work, attempt, at };
        rejections::insert(tx, &refused)?;
        return Ok(None);
    }
    let hash = identities::hash(tx, &identity(&made.delivery))?;
    let place =
        Chain { kind: Some(kind), parent: Some(parent), root: Some(root), depth, depth_max };
    write(tx, now, &place, made, hash).map(Some)
}

/// Accepts an event that a person asked for: a root. CAUSE-01
pub(super) fn accept_root(
    tx: &mut dyn Tx,
    now: Millis,
    depth_max: u32,
    made: &Made,
    hash: IdentityHash,
) -> Result<Seq, StoreError> {
    let place = Chain { kind: None, parent: None, root: None, depth: 0, depth_max };
    write(tx, now, &place, made, hash)
}

/// The identity of an event that core makes.
pub(super) fn identity(delivery: &str) -> IngressId {
    IngressId { source: CORE_SOURCE.to_owned(), delivery: delivery.to_owned() }
}

/// Where an event stands on its chain.
struct Chain {
    kind: Option<Derived>,
    parent: Option<Seq>,
    /// `None`: itself.
    root: Option<Seq>,
    depth: u32,
    depth_max: u32,
}

fn write(
    tx: &mut dyn Tx,
    now: Millis,
    place: &Chain,
    made: &Made,
    hash: IdentityHash,
) -> Result<Seq, StoreError> {
    let seq = meta::next_seq(tx)?;
    let source = names::intern(tx, CORE_SOURCE)?;
    let event_type = match made.event_type {
        Type::Core(text) => names::intern(tx, text)?,
        Type::Of(event_type) => event_type,
    };
    events::insert(
        tx,
        &events::NewRow {
            seq,
            uid: made.uid,
            source,
            delivery: &made.delivery,
            event_type,
            subject: None,
            occurred_at: None,
            accepted_at: now,
            scope: made.scope,
            key: made.key,
            target: made.target,
            wait: made.wait,
            failed: made.failed,
            parent: place.parent,
            root: place.root.unwrap_or(seq),
            depth: place.depth,
            depth_max: place.depth_max,
            derived: place.kind,
            body: None,
            provenance: made.provenance,
        },
    )?;
    identities::insert(tx, hash, seq)?;
    if let Some(payload) = &made.payload {
        payloads::insert(tx, seq, payload)?;
    }
    Ok(seq)
}
