//! `event`: accepted facts. Rows are written once.

use type_safe_id::TypeSafeId;
use uuid::Uuid;

use crate::domain::{
    AttemptNo, Event, EventUid, IngressId, Key, Millis, Provenance, Seq, WaitId, WorkId,
};

use super::engine::{Row, StoreError, Tx, query_one};
use super::keys::KeyId;
use super::names::NameId;
use super::rejections::Derived;
use super::words::{Word as _, opt_word};

/// An event row about to be written, its names and key already stored.
#[derive(Debug, Clone, Copy)]
pub struct NewRow<'a> {
    /// Its sequence.
    pub seq: Seq,
    /// Its id at the edge.
    pub uid: Uuid,
    /// Its source.
    pub source: NameId,
    /// The sender's id of the delivery.
    pub delivery: &'a str,
    /// Its type.
    pub event_type: NameId,
    /// CloudEvents `subject`.
    pub subject: Option<&'a str>,
    /// When the sender says it happened.
    pub occurred_at: Option<Millis>,
    /// Trusted time of acceptance.
    pub accepted_at: Millis,
    /// Its scope.
    pub scope: NameId,
    /// Its key.
    pub key: Option<KeyId>,
    /// The work it names.
    pub target: Option<WorkId>,
    /// The wait whose timeout, continuation or alias it is.
    pub wait: Option<WaitId>,
    /// The failed attempt whose retry it is.
    pub failed: Option<AttemptNo>,
    /// What caused it.
    pub parent: Option<Seq>,
    /// The root of its chain.
    pub root: Seq,
    /// Steps from the root.
    pub depth: u32,
    /// The deepest its chain may go.
    pub depth_max: u32,
    /// What core derived it as, if it did.
    pub derived: Option<Derived>,
    /// The digest of its body.
    pub body: Option<&'a BodyDigest>,
    /// The execution that published it.
    pub provenance: Option<Provenance>,
}

/// Half a SHA-256 of a body: it tells bodies apart. OURS-17
pub type BodyDigest = [u8; 16];

/// Writes an event.
///
/// # Errors
/// The machine failed.
pub fn insert(tx: &mut dyn Tx, row: &NewRow<'_>) -> Result<(), StoreError> {
    tx.execute(
        "INSERT INTO event (seq, uid, source, delivery, type, subject, occurred_at, accepted_at, \
         scope, key, target, wait, parent, root, depth, depth_max, derived, body, by_work, \
         by_attempt, failed) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, \
         ?15, ?16, ?17, ?18, ?19, ?20, ?21)",
        &[
            row.seq.into(),
            (&row.uid).into(),
            row.source.into(),
            row.delivery.into(),
            row.event_type.into(),
            row.subject.into(),
            row.occurred_at.into(),
            row.accepted_at.into(),
            row.scope.into(),
            row.key.into(),
            row.target.into(),
            row.wait.into(),
            row.parent.into(),
            row.root.into(),
            row.depth.into(),
            row.depth_max.into(),
            row.derived.map(Derived::word).into(),
            row.body.map(<[u8; 16]>::as_slice).into(),
            row.provenance.map(|by| by.work).into(),
            row.provenance.map(|by| by.attempt).into(),
            row.failed.into(),
        ],
    )
    .map(drop)
}

/// What routing and ancestry need of an event, by row ids.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// Its sequence.
    pub seq: Seq,
    /// Its scope.
    pub scope: NameId,
    /// Its type.
    pub event_type: NameId,
    /// Its key.
    pub key: Option<KeyId>,
    /// The work it names.
    pub target: Option<WorkId>,
    /// The wait whose timeout, continuation or alias it is.
    pub wait: Option<WaitId>,
    /// The failed attempt whose retry it is. RETRY-22
    pub failed: Option<AttemptNo>,
    /// What core derived it as, if it did.
    pub derived: Option<Derived>,
    /// The work of the execution that published it. Never its own input. WAIT-06
    pub by_work: Option<WorkId>,
    /// The root of its chain.
    pub root: Seq,
    /// Steps from the root.
    pub depth: u32,
    /// The deepest its chain may go.
    pub depth_max: u32,
}

/// What routing and ancestry need of one event.
///
/// # Errors
/// The machine failed.
pub fn place(tx: &mut dyn Tx, seq: Seq) -> Result<Option<Place>, StoreError> {
    query_one(
        tx,
        "SELECT seq, scope, type, key, target, wait, root, depth, depth_max, derived, by_work, \
         failed FROM event WHERE seq = ?1",
        &[seq.into()],
        |row| {
            Ok(Place {
                seq: Seq(row.int(0)?),
                scope: NameId(row.int(1)?),
                event_type: NameId(row.int(2)?),
                key: row.opt_int(3)?.map(KeyId),
                target: row.opt_int(4)?.map(WorkId),
                wait: row.opt_int(5)?.map(WaitId),
                root: Seq(row.int(6)?),
                depth: row.small(7)?,
                depth_max: row.small(8)?,
                derived: opt_word(row, 9, "event.derived")?,
                by_work: row.opt_int(10)?.map(WorkId),
                failed: row.opt_small(11)?.map(AttemptNo),
            })
        },
    )
}

/// The same for an event that a row refers to, and that therefore exists.
///
/// # Errors
/// The machine failed, or the event is missing.
pub fn referred(tx: &mut dyn Tx, seq: Seq) -> Result<Place, StoreError> {
    place(tx, seq)?
        .ok_or_else(|| StoreError::corrupt(format!("event {seq} is referred to and missing")))
}

/// Columns of a whole event, in the order [`read`] takes them; `FROM` and joins included.
macro_rules! select_event {
    ($rest:literal) => {
        concat!(
            "SELECT e.seq, e.uid, s.text, e.delivery, t.text, e.subject, e.occurred_at, \
             e.accepted_at, c.text, ks.text, k.external_id, e.target, e.parent, e.root, e.depth, \
             e.by_work, e.by_attempt FROM event AS e \
             JOIN name AS s ON s.id = e.source \
             JOIN name AS t ON t.id = e.type \
             JOIN name AS c ON c.id = e.scope \
             LEFT JOIN key AS k ON k.id = e.key \
             LEFT JOIN name AS ks ON ks.id = k.source ",
            $rest
        )
    };
}
pub(crate) use select_event;

/// Reads the columns of `select_event!`.
///
/// # Errors
/// The row is damaged.
pub fn read(row: &dyn Row) -> Result<Event, StoreError> {
    let key = match (row.opt_text(9)?, row.opt_text(10)?) {
        (Some(source), Some(id)) => {
            Some(Key { source: source.to_owned(), external_id: id.to_owned() })
        }
        (None, None) => None,
        (Some(_), None) | (None, Some(_)) => {
            return Err(StoreError::corrupt("event: half of a key"));
        }
    };
    Ok(Event {
        seq: Seq(row.int(0)?),
        uid: TypeSafeId::from_uuid(row.uuid(1)?),
        id: IngressId { source: row.text(2)?.to_owned(), delivery: row.text(3)?.to_owned() },
        event_type: row.text(4)?.to_owned(),
        subject: row.opt_text(5)?.map(str::to_owned),
        occurred_at: row.opt_int(6)?.map(Millis),
        accepted_at: Millis(row.int(7)?),
        scope: row.text(8)?.to_owned(),
        key,
        target: row.opt_int(11)?.map(WorkId),
        parent: row.opt_int(12)?.map(Seq),
        root: Seq(row.int(13)?),
        depth: row.small(14)?,
        provenance: provenance(row)?,
    })
}

fn provenance(row: &dyn Row) -> Result<Option<Provenance>, StoreError> {
    match (row.opt_int(15)?.map(WorkId), row.opt_small(16)?.map(AttemptNo)) {
        (Some(work), Some(attempt)) => Ok(Some(Provenance { work, attempt })),
        (None, None) => Ok(None),
        (Some(_), None) | (None, Some(_)) => {
            Err(StoreError::corrupt("event: half of an execution"))
        }
    }
}

/// The digest of an event's body; `None` if it has none.
///
/// # Errors
/// The machine failed, or there is no such event.
pub fn body(tx: &mut dyn Tx, seq: Seq) -> Result<Option<BodyDigest>, StoreError> {
    query_one(tx, "SELECT body FROM event WHERE seq = ?1", &[seq.into()], |row| {
        let damaged = |_| StoreError::corrupt(format!("event {seq}: its body is no digest"));
        row.opt_blob(0)?.map(|bytes| bytes.try_into().map_err(damaged)).transpose()
    })?
    .ok_or_else(|| StoreError::corrupt(format!("event {seq} is referred to and missing")))
}

/// The id at the edge of an event that a row refers to.
///
/// # Errors
/// The machine failed, or there is no such event.
pub fn uid(tx: &mut dyn Tx, seq: Seq) -> Result<EventUid, StoreError> {
    query_one(tx, "SELECT uid FROM event WHERE seq = ?1", &[seq.into()], |row| {
        Ok(TypeSafeId::from_uuid(row.uuid(0)?))
    })?
    .ok_or_else(|| StoreError::corrupt(format!("event {seq} is referred to and missing")))
}

/// The event that this one is a replay of, through any number of replays; itself if it is none. It
/// says where the news comes from. OURS-08
///
/// # Errors
/// The machine failed, or an event on the way is missing.
pub fn original(tx: &mut dyn Tx, mut seq: Seq) -> Result<Seq, StoreError> {
    loop {
        let replays = query_one(
            tx,
            "SELECT parent, derived FROM event WHERE seq = ?1",
            &[seq.into()],
            |row| {
                let derived: Option<Derived> = opt_word(row, 1, "event.derived")?;
                let parent = row.opt_int(0)?.map(Seq);
                Ok(parent.filter(|_| derived == Some(Derived::Replay)))
            },
        )?;
        match replays {
            // A parent is lower: it ends.
            Some(Some(parent)) if parent < seq => seq = parent,
            Some(_) => return Ok(seq),
            None => {
                return Err(StoreError::corrupt(format!("event {seq} is referred to and missing")));
            }
        }
    }
}

/// A whole event.
///
/// # Errors
/// The machine failed.
pub fn get(tx: &mut dyn Tx, seq: Seq) -> Result<Option<Event>, StoreError> {
    query_one(tx, select_event!("WHERE e.seq = ?1"), &[seq.into()], read)
}
