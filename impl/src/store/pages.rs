//! What the operator door shows: pages that only go forward, each row with every id spelled out, so
//! that a page costs one statement and not one a row.

use type_safe_id::TypeSafeId;

use crate::domain::{
    AttemptNo, ControlPolicy, Epoch, EventUid, IntentKind, IntentStatus, Key, MarkKind, Millis,
    Seq, TokenHash, WaitId, WaitUid, WorkId, WorkStatus, WorkUid,
};

use super::engine::{Row, StoreError, Tx, Value, query_all, query_one};
use super::rejections::Derived;
use super::words::{Word as _, opt_word, word};
use super::works::{self, Work};
use super::{attempts, events, keys, marks, names};

/// An event with everything a row of a list shows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EventRow {
    /// The event.
    pub event: crate::domain::Event,
    /// Its mark; `None` while unrouted.
    pub mark: Option<MarkKind>,
    /// The route that decided.
    pub route: Option<String>,
    /// Why, where a person decided, its route dropped it or a fallback stood in.
    pub reason: Option<String>,
    /// The policy that was asked for, where a fallback stood in.
    pub asked: Option<ControlPolicy>,
    /// How it is to reach a running attempt, and how far that came.
    pub intent: Option<(IntentKind, IntentStatus)>,
    /// Its identity came again with another body. OURS-17
    pub conflicting: bool,
    /// The work its mark associates it with.
    pub work: Option<WorkUid>,
    /// The event that caused it.
    pub parent: Option<EventUid>,
    /// The root of its chain.
    pub root: EventUid,
}

/// Which events to list; what is `None` excludes nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EventFilter {
    /// Of this type.
    pub event_type: Option<String>,
    /// On this key: `source#external-id`, or the external id alone.
    pub key: Option<String>,
    /// With this mark, or without one.
    pub mark: Option<Marked>,
}

/// What a list of events asks of marks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Marked {
    /// None yet.
    Unrouted,
    /// This one.
    As(MarkKind),
}

macro_rules! select_event_row {
    ($rest:literal) => {
        concat!(
            "SELECT e.seq, e.uid, s.text, e.delivery, t.text, e.subject, e.occurred_at, \
             e.accepted_at, c.text, ks.text, k.external_id, e.target, e.parent, e.root, e.depth, \
             e.by_work, e.by_attempt, m.kind, m.route, w.uid, p.uid, r.uid, m.reason, f.event, \
             m.asked, i.kind, i.status \
             FROM event AS e \
             JOIN name AS s ON s.id = e.source \
             JOIN name AS t ON t.id = e.type \
             JOIN name AS c ON c.id = e.scope \
             JOIN event AS r ON r.seq = e.root \
             LEFT JOIN event AS p ON p.seq = e.parent \
             LEFT JOIN key AS k ON k.id = e.key \
             LEFT JOIN name AS ks ON ks.id = k.source \
             LEFT JOIN mark AS m ON m.event = e.seq \
             LEFT JOIN conflict AS f ON f.event = e.seq \
             LEFT JOIN intent AS i ON i.event = e.seq \
             LEFT JOIN work AS w ON w.id = m.work ",
            $rest
        )
    };
}

fn event_row(row: &dyn Row) -> Result<EventRow, StoreError> {
    Ok(EventRow {
        event: events::read(row)?,
        mark: opt_word(row, 17, "mark.kind")?,
        route: row.opt_text(18)?.map(str::to_owned),
        work: opt_uuid(row, 19)?.map(TypeSafeId::from_uuid),
        parent: opt_uuid(row, 20)?.map(TypeSafeId::from_uuid),
        root: TypeSafeId::from_uuid(row.uuid(21)?),
        reason: row.opt_text(22)?.map(str::to_owned),
        conflicting: row.opt_int(23)?.is_some(),
        asked: opt_word(row, 24, "mark.asked")?,
        intent: opt_word(row, 25, "intent.kind")?.zip(opt_word(row, 26, "intent.status")?),
    })
}

fn opt_uuid(row: &dyn Row, column: usize) -> Result<Option<uuid::Uuid>, StoreError> {
    match row.opt_blob(column)? {
        None => Ok(None),
        Some(_) => row.uuid(column).map(Some),
    }
}

/// One event.
///
/// # Errors
/// The machine failed.
pub fn event(tx: &mut dyn Tx, seq: Seq) -> Result<Option<EventRow>, StoreError> {
    query_one(tx, select_event_row!("WHERE e.seq = ?1"), &[seq.into()], event_row)
}

/// Events above `after` that pass the filter, in acceptance order.
///
/// # Errors
/// The machine failed.
pub fn events(
    tx: &mut dyn Tx,
    filter: &EventFilter,
    after: Seq,
    limit: u32,
) -> Result<Vec<EventRow>, StoreError> {
    let mark = match filter.mark {
        None => Value::Null,
        Some(Marked::Unrouted) => Value::Text("unrouted"),
        Some(Marked::As(mark)) => Value::Text(mark.word()),
    };
    query_all(
        tx,
        select_event_row!(
            "WHERE e.seq > ?1 AND (?3 IS NULL OR t.text = ?3) \
             AND (?4 IS NULL OR k.external_id = ?4 OR ks.text || '#' || k.external_id = ?4) \
             AND (?5 IS NULL OR coalesce(m.kind, 'unrouted') = ?5) ORDER BY e.seq LIMIT ?2"
        ),
        &[
            after.into(),
            limit.into(),
            filter.event_type.as_deref().into(),
            filter.key.as_deref().into(),
            mark,
        ],
        event_row,
    )
}

/// Every event of a chain, from its root on, in acceptance order.
///
/// # Errors
/// The machine failed.
pub fn chain(tx: &mut dyn Tx, root: Seq, limit: u32) -> Result<Vec<EventRow>, StoreError> {
    query_all(
        tx,
        concat!(
            "WITH RECURSIVE down (seq) AS ( \
               SELECT seq FROM event WHERE seq = ?1 \
               UNION SELECT c.seq FROM event AS c JOIN down ON c.parent = down.seq) ",
            select_event_row!("WHERE e.seq IN (SELECT seq FROM down) ORDER BY e.seq LIMIT ?2")
        ),
        &[root.into(), limit.into()],
        event_row,
    )
}

/// A refused derived event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RejectionRow {
    /// The identity it would have had in core's namespace.
    pub delivery: String,
    /// The wait concerned, if one is.
    pub wait: Option<WaitUid>,
    /// What it would have been.
    pub kind: Derived,
    /// What would have caused it.
    pub parent: EventUid,
    /// Why it was refused.
    pub reason: String,
    /// The depth it would have had.
    pub depth: u32,
    /// When it was first refused.
    pub at: Millis,
}

/// What was refused on a chain.
///
/// # Errors
/// The machine failed.
pub fn rejections(tx: &mut dyn Tx, root: Seq, limit: u32) -> Result<Vec<RejectionRow>, StoreError> {
    query_all(
        tx,
        "SELECT w.uid, j.kind, p.uid, j.reason, j.depth, j.at, j.delivery FROM rejection AS j \
         LEFT JOIN wait AS w ON w.id = j.wait JOIN event AS p ON p.seq = j.parent \
         WHERE j.root = ?1 ORDER BY j.id LIMIT ?2",
        &[root.into(), limit.into()],
        |row| {
            Ok(RejectionRow {
                delivery: row.text(6)?.to_owned(),
                wait: opt_uuid(row, 0)?.map(TypeSafeId::from_uuid),
                kind: word(row, 1, "rejection.kind")?,
                parent: TypeSafeId::from_uuid(row.uuid(2)?),
                reason: row.text(3)?.to_owned(),
                depth: row.small(4)?,
                at: Millis(row.int(5)?),
            })
        },
    )
}

/// A work with everything a row of a list shows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkRow {
    /// The work.
    pub work: Work,
    /// Its scope.
    pub scope: String,
    /// Its kind.
    pub kind: String,
    /// When it was created.
    pub created_at: Millis,
    /// Its keys.
    pub keys: Vec<Key>,
    /// Failures in total that use up the budget its last attempt is pinned to; `None` where no
    /// failure is counted.
    pub budget: Option<u32>,
}

/// One work.
///
/// # Errors
/// The machine failed.
pub fn work(tx: &mut dyn Tx, id: WorkId) -> Result<Option<WorkRow>, StoreError> {
    let created_at =
        query_one(tx, "SELECT created_at FROM work WHERE id = ?1", &[id.into()], |row| {
            Ok(Millis(row.int(0)?))
        })?;
    let (Some(created_at), Some(work)) = (created_at, works::get(tx, id)?) else { return Ok(None) };
    let scope = names::text(tx, work.scope)?;
    let kind = names::text(tx, work.kind)?;
    let keys = keys::of_work(tx, id)?;
    let budget = match work.attempt.filter(|_| work.failures > 0) {
        Some(n) => attempts::get(tx, id, n)?.map(|attempt| attempt.pin.retry.attempts),
        None => None,
    };
    Ok(Some(WorkRow { work, scope, kind, created_at, keys, budget }))
}

/// Works above `after`, in the order they were created, of one status or of any.
///
/// # Errors
/// The machine failed.
pub fn works(
    tx: &mut dyn Tx,
    status: Option<WorkStatus>,
    after: WorkId,
    limit: u32,
) -> Result<Vec<WorkRow>, StoreError> {
    let ids = query_all(
        tx,
        "SELECT id FROM work WHERE id > ?1 AND (?3 IS NULL OR status = ?3) ORDER BY id LIMIT ?2",
        &[after.into(), limit.into(), status.map(WorkStatus::word).into()],
        |row| Ok(WorkId(row.int(0)?)),
    )?;
    let mut rows = Vec::with_capacity(ids.len());
    for id in ids {
        rows.extend(work(tx, id)?);
    }
    Ok(rows)
}

/// Input of a work: the event, and the claim that consumed it.
pub type Handed = (Seq, Option<(AttemptNo, Epoch)>);

/// The wait of a whole uid.
///
/// # Errors
/// The machine failed.
pub fn wait_of(tx: &mut dyn Tx, uid: WaitUid) -> Result<Option<WaitId>, StoreError> {
    query_one(tx, "SELECT id FROM wait WHERE uid = ?1", &[(&uid.uuid()).into()], |row| {
        Ok(WaitId(row.int(0)?))
    })
}

/// A running attempt by the token it is held under.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Holder {
    /// Its work.
    pub work: WorkId,
    /// Its number.
    pub attempt: AttemptNo,
    /// Its last claim.
    pub epoch: Epoch,
}

/// Who holds an attempt under this token, if anyone does; and whether any attempt is under
/// recovery, so that a token that is not known may be about to be replaced.
///
/// # Errors
/// The machine failed.
pub fn holder(tx: &mut dyn Tx, token: &TokenHash) -> Result<(Option<Holder>, bool), StoreError> {
    let mut found = None;
    let mut recovering = false;
    // Running attempts are as many as the capacity allows: few. Each is compared in constant time.
    tx.query(
        "SELECT work, n, epoch, token, phase FROM attempt WHERE status = 'running'",
        &[],
        &mut |row| {
            recovering |= row.opt_text(4)? == Some("recovering");
            let held = row.opt_blob(3)?.and_then(|bytes| bytes.try_into().ok()).map(TokenHash);
            if held.is_some_and(|held| held.matches(token)) {
                found = Some(Holder {
                    work: WorkId(row.int(0)?),
                    attempt: AttemptNo(row.small(1)?),
                    epoch: Epoch(row.unsigned(2)?),
                });
            }
            Ok(())
        },
    )?;
    Ok((found, recovering))
}

/// The lowest unrouted event that stands before this one in its work's order.
///
/// # Errors
/// The machine failed.
pub fn ahead_of(tx: &mut dyn Tx, seq: Seq) -> Result<Option<Seq>, StoreError> {
    let Some(place) = events::place(tx, seq)? else { return Ok(None) };
    let owner = match (place.target, place.key) {
        (Some(target), _) => Some(target),
        (None, Some(key)) => keys::owner(tx, key)?,
        (None, None) => None,
    };
    let lowest = match (owner, place.key) {
        (Some(work), _) => super::unrouted::lowest_of(tx, work, place.scope)?,
        // Order binds once a work owns the key (OWN-05), and the router keeps it before that too, so
        // that the work begins with its first event.
        (None, Some(key)) => query_one(
            tx,
            "SELECT min(event) FROM unrouted WHERE key = ?1 AND scope = ?2",
            &[key.into(), place.scope.into()],
            |row| Ok(row.opt_int(0)?.map(Seq)),
        )?
        .flatten(),
        (None, None) => None,
    };
    Ok(lowest.filter(|lowest| *lowest < seq))
}

/// The mark of an event, with its work.
///
/// # Errors
/// The machine failed.
pub fn mark(tx: &mut dyn Tx, seq: Seq) -> Result<Option<(MarkKind, Option<WorkId>)>, StoreError> {
    marks::get(tx, seq)
}
