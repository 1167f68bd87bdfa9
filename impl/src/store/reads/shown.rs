//! What is shown to people: events, works, waits, chains and counts.

use crate::domain::{Event, Key, MarkKind, Seq, WaitId, WaitStatus, WorkId, WorkStatus, WorkUid};
use crate::store::attempts::{self, Attempt};
use crate::store::engine::{Row, StoreError, Tx, query_all, query_one};
use crate::store::events::{self, select_event};
use crate::store::waits::{self, Wait, select_wait};
use crate::store::words::{Word as _, opt_word};
use crate::store::works::{self, Work, select_work};
use crate::store::{meta, names};

/// An event and what became of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedEvent {
    /// The event.
    pub event: Event,
    /// Its mark; `None` while unrouted.
    pub mark: Option<MarkKind>,
    /// The work its mark associates it with.
    pub work: Option<WorkId>,
    /// The route that decided.
    pub route: Option<String>,
}

/// Which events to list; what is `None` or `false` excludes nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EventFilter {
    /// Of this scope.
    pub scope: Option<String>,
    /// Of this type.
    pub event_type: Option<String>,
    /// From this source.
    pub source: Option<String>,
    /// Associated with this work.
    pub work: Option<WorkId>,
    /// Not routed yet.
    pub unrouted: bool,
}

macro_rules! select_listed {
    ($rest:literal) => {
        concat!(
            "SELECT e.seq, e.uid, s.text, e.delivery, t.text, e.subject, e.occurred_at, \
             e.accepted_at, c.text, ks.text, k.external_id, e.target, e.parent, e.root, e.depth, \
             e.by_work, e.by_attempt, m.kind, m.work, m.route FROM event AS e \
             JOIN name AS s ON s.id = e.source \
             JOIN name AS t ON t.id = e.type \
             JOIN name AS c ON c.id = e.scope \
             LEFT JOIN key AS k ON k.id = e.key \
             LEFT JOIN name AS ks ON ks.id = k.source \
             LEFT JOIN mark AS m ON m.event = e.seq ",
            $rest
        )
    };
}

fn listed(row: &dyn Row) -> Result<ListedEvent, StoreError> {
    Ok(ListedEvent {
        event: events::read(row)?,
        mark: opt_word(row, 17, "mark.kind")?,
        work: row.opt_int(18)?.map(WorkId),
        route: row.opt_text(19)?.map(str::to_owned),
    })
}

/// One event and what became of it.
///
/// # Errors
/// The machine failed.
pub fn event(tx: &mut dyn Tx, seq: Seq) -> Result<Option<ListedEvent>, StoreError> {
    query_one(tx, select_listed!("WHERE e.seq = ?1"), &[seq.into()], listed)
}

/// Events above `after` that pass the filter, in acceptance order.
///
/// # Errors
/// The machine failed.
pub fn list_events(
    tx: &mut dyn Tx,
    filter: &EventFilter,
    after: Seq,
    limit: u32,
) -> Result<Vec<ListedEvent>, StoreError> {
    query_all(
        tx,
        select_listed!(
            "WHERE e.seq > ?1 AND (?3 IS NULL OR c.text = ?3) AND (?4 IS NULL OR t.text = ?4) \
             AND (?5 IS NULL OR s.text = ?5) AND (?6 IS NULL OR m.work = ?6) \
             AND (?7 = 0 OR m.kind IS NULL) ORDER BY e.seq LIMIT ?2"
        ),
        &[
            after.into(),
            limit.into(),
            filter.scope.as_deref().into(),
            filter.event_type.as_deref().into(),
            filter.source.as_deref().into(),
            filter.work.into(),
            u32::from(filter.unrouted).into(),
        ],
        listed,
    )
}

/// The newest events first.
///
/// # Errors
/// The machine failed.
pub fn latest_events(
    tx: &mut dyn Tx,
    before: Seq,
    limit: u32,
) -> Result<Vec<ListedEvent>, StoreError> {
    query_all(
        tx,
        select_listed!("WHERE e.seq < ?1 ORDER BY e.seq DESC LIMIT ?2"),
        &[before.into(), limit.into()],
        listed,
    )
}

/// A work with its names spelled out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedWork {
    /// Its row.
    pub work: Work,
    /// Its scope.
    pub scope: String,
    /// Its kind.
    pub kind: String,
}

/// One work with its names spelled out.
///
/// # Errors
/// The machine failed.
pub fn work(tx: &mut dyn Tx, id: WorkId) -> Result<Option<ListedWork>, StoreError> {
    works::get(tx, id)?.map(|work| spell_out(tx, work)).transpose()
}

fn spell_out(tx: &mut dyn Tx, work: Work) -> Result<ListedWork, StoreError> {
    let scope = names::text(tx, work.scope)?;
    let kind = names::text(tx, work.kind)?;
    Ok(ListedWork { work, scope, kind })
}

/// Works below `before`, the newest first, of one status or of any.
///
/// # Errors
/// The machine failed.
pub fn list_works(
    tx: &mut dyn Tx,
    status: Option<WorkStatus>,
    before: Option<WorkId>,
    limit: u32,
) -> Result<Vec<ListedWork>, StoreError> {
    let before = before.unwrap_or(WorkId(i64::MAX));
    let rows = match status {
        None => query_all(
            tx,
            select_work!("WHERE id < ?1 ORDER BY id DESC LIMIT ?2"),
            &[before.into(), limit.into()],
            works::read,
        )?,
        // The index holds open work only, and is used where the query says so in its words.
        Some(open) if !open.is_terminal() => query_all(
            tx,
            select_work!(
                "WHERE status = ?3 AND status <> 'completed' AND status <> 'failed' \
                 AND status <> 'cancelled' AND id < ?1 ORDER BY id DESC LIMIT ?2"
            ),
            &[before.into(), limit.into(), open.word().into()],
            works::read,
        )?,
        Some(ended) => query_all(
            tx,
            select_work!("WHERE id < ?1 AND status = ?3 ORDER BY id DESC LIMIT ?2"),
            &[before.into(), limit.into(), ended.word().into()],
            works::read,
        )?,
    };
    rows.into_iter().map(|work| spell_out(tx, work)).collect()
}

/// A wait with what it waits for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedWait {
    /// Its row.
    pub wait: Wait,
    /// The work that waits.
    pub work: WorkUid,
    /// Its keys.
    pub keys: Vec<Key>,
    /// Its types; empty means any.
    pub types: Vec<String>,
}

/// One wait with what it waits for.
///
/// # Errors
/// The machine failed.
pub fn wait(tx: &mut dyn Tx, id: WaitId) -> Result<Option<ListedWait>, StoreError> {
    waits::get(tx, id)?.map(|wait| describe(tx, wait)).transpose()
}

/// Waits above `after`, in the order they were registered, of one status or of any.
///
/// # Errors
/// The machine failed.
pub fn list_waits(
    tx: &mut dyn Tx,
    status: Option<WaitStatus>,
    after: WaitId,
    limit: u32,
) -> Result<Vec<ListedWait>, StoreError> {
    let rows = query_all(
        tx,
        select_wait!("WHERE id > ?1 AND (?3 IS NULL OR status = ?3) ORDER BY id LIMIT ?2"),
        &[after.into(), limit.into(), status.map(WaitStatus::word).into()],
        waits::read,
    )?;
    rows.into_iter().map(|wait| describe(tx, wait)).collect()
}

fn describe(tx: &mut dyn Tx, wait: Wait) -> Result<ListedWait, StoreError> {
    let keys = query_all(
        tx,
        "SELECT s.text, k.external_id FROM wait_key AS wk JOIN key AS k ON k.id = wk.key \
         JOIN name AS s ON s.id = k.source WHERE wk.wait = ?1 ORDER BY k.id",
        &[wait.id.into()],
        |row| Ok(Key { source: row.text(0)?.to_owned(), external_id: row.text(1)?.to_owned() }),
    )?;
    let types = query_all(
        tx,
        "SELECT t.text FROM wait_type AS wt JOIN name AS t ON t.id = wt.type \
         WHERE wt.wait = ?1 ORDER BY t.text",
        &[wait.id.into()],
        |row| Ok(row.text(0)?.to_owned()),
    )?;
    let work = works::referred(tx, wait.work)?.uid;
    Ok(ListedWait { wait, work, keys, types })
}

/// The last attempt of a work.
///
/// # Errors
/// The machine failed.
pub fn last_attempt(tx: &mut dyn Tx, work: WorkId) -> Result<Option<Attempt>, StoreError> {
    match works::get(tx, work)?.and_then(|work| work.attempt) {
        Some(n) => attempts::referred(tx, work, n).map(Some),
        None => Ok(None),
    }
}

/// An event in its chain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chain {
    /// From the root down to the event's parent.
    pub ancestors: Vec<Event>,
    /// The event.
    pub event: Event,
    /// What was derived from it, directly or not, in acceptance order.
    pub descendants: Vec<Event>,
}

/// The causal chain of an event, with `limit` descendants at most.
///
/// # Errors
/// The machine failed.
pub fn chain(tx: &mut dyn Tx, seq: Seq, limit: u32) -> Result<Option<Chain>, StoreError> {
    let Some(event) = events::get(tx, seq)? else { return Ok(None) };
    let ancestors = query_all(
        tx,
        concat!(
            "WITH RECURSIVE up (seq, parent) AS ( \
               SELECT seq, parent FROM event WHERE seq = ?1 \
               UNION SELECT p.seq, p.parent FROM event AS p JOIN up ON p.seq = up.parent) ",
            select_event!("WHERE e.seq IN (SELECT seq FROM up) AND e.seq <> ?1 ORDER BY e.seq")
        ),
        &[seq.into()],
        events::read,
    )?;
    let descendants = query_all(
        tx,
        concat!(
            "WITH RECURSIVE down (seq) AS ( \
               SELECT seq FROM event WHERE parent = ?1 \
               UNION SELECT c.seq FROM event AS c JOIN down ON c.parent = down.seq) ",
            select_event!("WHERE e.seq IN (SELECT seq FROM down) ORDER BY e.seq LIMIT ?2")
        ),
        &[seq.into(), limit.into()],
        events::read,
    )?;
    Ok(Some(Chain { ancestors, event, descendants }))
}

/// How much there is of what.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize)]
pub struct Counts {
    /// The highest sequence, which is how many events were accepted.
    pub events: i64,
    /// Events not routed yet.
    pub unrouted: i64,
    /// Ready works.
    pub ready: i64,
    /// Of these, held ones.
    pub held: i64,
    /// Running works.
    pub running: i64,
    /// Waiting works.
    pub waiting: i64,
    /// Works with an exclusion mark.
    pub excluded: i64,
    /// Armed timers.
    pub timers: i64,
    /// Diagnostics of refused events.
    pub rejections: i64,
}

/// Counts what is open; its cost grows with that and not with history.
///
/// # Errors
/// The machine failed.
pub fn counts(tx: &mut dyn Tx) -> Result<Counts, StoreError> {
    let mut count = |sql: &'static str| {
        query_one(tx, sql, &[], |row| row.int(0)).map(Option::unwrap_or_default)
    };
    Ok(Counts {
        unrouted: count("SELECT count(*) FROM unrouted")?,
        ready: count(
            "SELECT count(*) FROM work WHERE status = 'ready' \
             AND status <> 'completed' AND status <> 'failed' AND status <> 'cancelled'",
        )?,
        held: count("SELECT count(*) FROM work WHERE holds <> 0")?,
        running: count("SELECT count(*) FROM work WHERE status = 'running'")?,
        waiting: count(
            "SELECT count(*) FROM work WHERE status = 'waiting' \
             AND status <> 'completed' AND status <> 'failed' AND status <> 'cancelled'",
        )?,
        excluded: count("SELECT count(*) FROM work WHERE marked_attempt IS NOT NULL")?,
        timers: count("SELECT count(*) FROM timer WHERE disabled = 0")?,
        rejections: count("SELECT count(*) FROM rejection")?,
        events: meta::last_seq(tx)?.0,
    })
}
