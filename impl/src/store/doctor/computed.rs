//! Checks that take more than one statement: sums, pages and chains that are followed here.

use std::collections::BTreeMap;

use crate::domain::{Seq, WaitId, WorkId};

use super::super::engine::{StoreError, Tx, query_all, query_one};
use super::super::events::{self, select_event};
use super::super::journal::Seal;
use super::super::waits::{self, select_wait};
use super::super::{attempts, identities, journal, meta};
use super::{Finding, Severity};

/// Counts and XOR of pending input, summed here: portable SQL has no XOR.
pub(super) fn pending(tx: &mut dyn Tx) -> Result<Vec<String>, StoreError> {
    let mut found = Vec::new();
    let mut works = Vec::new();
    tx.query("SELECT id, pending_count, pending_xor FROM work ORDER BY id", &[], &mut |row| {
        works.push((WorkId(row.int(0)?), row.int(1)?, row.int(2)?));
        Ok(())
    })?;
    let mut inputs = BTreeMap::<WorkId, (i64, i64)>::new();
    tx.query(
        "SELECT work, event FROM input WHERE attempt = 0 ORDER BY work, event",
        &[],
        &mut |row| {
            let (count, xor) = inputs.entry(WorkId(row.int(0)?)).or_default();
            *count += 1;
            *xor ^= row.int(1)?;
            Ok(())
        },
    )?;
    for (work, count, xor) in works {
        let (is, is_xor) = inputs.get(&work).copied().unwrap_or_default();
        if (count, xor) != (is, is_xor) {
            found.push(format!("work {work} counts {count} pending inputs and has {is}"));
        }
    }
    Ok(found)
}

/// RETRY-18
pub(super) fn policies(tx: &mut dyn Tx) -> Result<Vec<String>, StoreError> {
    let sql = "SELECT work, n, coalesce(CAST(retry AS TEXT), '') FROM attempt ORDER BY work, n";
    let mut found = Vec::new();
    tx.query(sql, &[], &mut |row| {
        if attempts::policy_of(row.text(2)?).is_err() {
            found.push(format!("attempt {} of work {}", row.int(1)?, row.int(0)?));
        }
        Ok(())
    })?;
    Ok(found)
}

/// INGRESS-02
pub(super) fn sequences(tx: &mut dyn Tx) -> Result<Vec<String>, StoreError> {
    let counted = meta::last_seq(tx)?.0;
    let seen = query_one(
        tx,
        "SELECT count(*), coalesce(max(seq), 0), coalesce(min(seq), 1) FROM event",
        &[],
        |row| Ok((row.int(0)?, row.int(1)?, row.int(2)?)),
    )?;
    let Some((count, highest, lowest)) = seen else { return Ok(Vec::new()) };
    let dense = count == counted && highest == counted && lowest == 1;
    let said = format!("{count} events from {lowest} to {highest}, and {counted} are counted");
    Ok(if dense { Vec::new() } else { vec![said] })
}

/// INGRESS-05
pub(super) fn identified(tx: &mut dyn Tx) -> Result<Vec<String>, StoreError> {
    let mut found = Vec::new();
    let mut after = Seq(0);
    loop {
        let page = query_all(
            tx,
            select_event!("WHERE e.seq > ?1 ORDER BY e.seq LIMIT 256"),
            &[after.into()],
            events::read,
        )?;
        let Some(last) = page.last() else { return Ok(found) };
        after = last.seq;
        for event in page {
            let hash = identities::hash(tx, &event.id)?;
            if identities::find(tx, hash, &event.id)? != Some(event.seq) {
                found.push(format!("event {}", event.seq));
            }
        }
    }
}

/// Follows the chain link by link, and the numbers row by row.
pub(super) fn chain(tx: &mut dyn Tx) -> Result<Vec<String>, StoreError> {
    let last = journal::last(tx)?;
    let rows = query_one(tx, "SELECT count(*) FROM journal", &[], |row| row.int(0))?.unwrap_or(0);
    if rows != last {
        return Ok(vec![format!("{rows} rows and the last is number {last}")]);
    }
    let mut link = Seal::START;
    loop {
        let page = journal::seals_since(tx, link.n, 256)?;
        if page.is_empty() {
            break;
        }
        for seal in page {
            if journal::link(tx, link, Some(seal.n))? != seal {
                let (from, to) = (link.n + 1, seal.n);
                return Ok(vec![format!("rows {from} to {to} are not the ones that were sealed")]);
            }
            link = seal;
        }
    }
    let open = format!("rows {} to {last} are not sealed", link.n + 1);
    Ok(if link.n == last { Vec::new() } else { vec![open] })
}

/// What the engine says of its own file; the words are SQLite's.
pub(super) fn engine(tx: &mut dyn Tx) -> Result<Vec<String>, StoreError> {
    let mut found =
        query_all(tx, "PRAGMA integrity_check", &[], |row| Ok(row.text(0)?.to_owned()))?;
    found.retain(|said| said != "ok");
    found.extend(query_all(tx, "PRAGMA foreign_key_check", &[], |row| {
        let child = row.text(0)?;
        let id = row.opt_int(1)?.unwrap_or(0);
        Ok(format!("{child} row {id} refers to a missing {}", row.text(2)?))
    })?);
    Ok(found)
}

/// A match nobody has woken from yet is normal while the daemon is down.
pub(super) fn unserved(tx: &mut dyn Tx, findings: &mut Vec<Finding>) -> Result<(), StoreError> {
    let mut after = WaitId(0);
    loop {
        let page = query_all(
            tx,
            select_wait!("WHERE status = 'active' AND id > ?1 ORDER BY id LIMIT 256"),
            &[after.into()],
            waits::read,
        )?;
        let Some(last) = page.last() else { return Ok(()) };
        after = last.id;
        for wait in page {
            if let Some(winner) = waits::lowest_match(tx, &wait)? {
                findings.push(Finding {
                    severity: Severity::Info,
                    check: "an active wait has no accepted match",
                    what: format!("wait {} matches event {winner}", wait.uid),
                    remedy: "start the daemon: it wakes the wait",
                });
            }
        }
    }
}
