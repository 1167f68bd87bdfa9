//! What can be checked on data at rest. It reads one snapshot and repairs nothing.

use serde::Serialize;

use crate::domain::{Seq, WaitId, WorkId};

use super::engine::{StoreError, Tx, query_all, query_one};
use super::events::{self, select_event};
use super::journal::Seal;
use super::waits::{self, select_wait};
use super::{attempts, identities, journal, meta};

/// One thing that was found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// How bad it is.
    pub severity: Severity,
    /// The check that found it.
    pub check: &'static str,
    /// What, with its ids.
    pub what: String,
    /// What to do about it.
    pub remedy: &'static str,
}

/// How bad a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// Worth knowing; the daemon will deal with it.
    Info,
    /// A rule is broken in what is stored.
    Damage,
}

/// Findings of one check that are shown; a broken table would drown the rest.
const SHOWN: usize = 20;

const RESTORE: &str =
    "stop the daemon and `abide restore` the last good backup, which keeps the damaged file";

/// A check in SQL: each row of its answer is the text of one finding.
struct Check {
    name: &'static str,
    sql: &'static str,
}

/// Each states the opposite of its name.
const CHECKS: &[Check] = &[
    // POLICY-05
    Check {
        name: "a work has at most one open attempt",
        sql: "SELECT 'work ' || work || ' has ' || count(*) || ' open attempts' FROM attempt \
              WHERE status IN ('running', 'parked') GROUP BY work HAVING count(*) > 1",
    },
    // LEASE-06
    Check {
        name: "exactly the running attempts hold a lease",
        sql: "SELECT 'attempt ' || n || ' of work ' || work || ' is ' || status FROM attempt \
              WHERE (status = 'running') <> (expires_at IS NOT NULL) \
              OR (status <> 'running' AND token IS NOT NULL) \
              OR (status = 'running') <> (phase IS NOT NULL)",
    },
    // OURS-21 LEASE-15
    Check {
        name: "a running attempt has a token exactly in the incarnation it was granted in",
        sql: "SELECT 'attempt ' || a.n || ' of work ' || a.work || ' at epoch ' || a.epoch \
              FROM attempt AS a JOIN counter AS c ON c.id = 1 WHERE a.status = 'running' \
              AND (a.token IS NOT NULL) <> (a.epoch > (c.incarnation - 1) * 1000000000)",
    },
    // OURS-21
    Check {
        name: "no epoch is of an incarnation to come",
        sql: "SELECT 'attempt ' || a.n || ' of work ' || a.work || ' at epoch ' || a.epoch \
              FROM attempt AS a JOIN counter AS c ON c.id = 1 \
              WHERE a.epoch > c.incarnation * 1000000000 OR a.batch_epoch > a.epoch",
    },
    Check {
        name: "only a restored database is under the restore hold",
        sql: "SELECT 'incarnation ' || incarnation FROM counter \
              WHERE restored = 1 AND incarnation = 1",
    },
    // RETRY-20 RETRY-21
    Check {
        name: "only ready work whose last attempt failed is in backoff",
        sql: "SELECT 'work ' || id || ' is ' || status || ' in the backoff of attempt ' || backoff \
              FROM work WHERE backoff IS NOT NULL AND (status <> 'ready' OR attempt IS NULL \
              OR backoff <> attempt OR attempt_status <> 'failed')",
    },
    // RETRY-02 CANCEL-02
    Check {
        name: "a retry timer belongs to a backoff",
        sql: "SELECT 'work ' || id FROM work WHERE (retry_at IS NULL) <> (retry_disabled IS NULL) \
              OR (retry_at IS NOT NULL AND backoff IS NULL)",
    },
    // RETRY-02 RETRY-19 RETRY-20
    Check {
        name: "a backoff has its timer or its unrouted retry, not both",
        sql: "SELECT 'work ' || w.id || ' and its attempt ' || w.backoff FROM work AS w \
              WHERE w.backoff IS NOT NULL AND (w.retry_at IS NULL) <> EXISTS \
              (SELECT 1 FROM unrouted AS u JOIN event AS e ON e.seq = u.event \
               WHERE u.target = w.id AND e.derived = 'retry' AND e.failed = w.backoff)",
    },
    // RETRY-20 CAUSE-32
    Check {
        name: "a disabled retry timer is a person's to end",
        sql: "SELECT 'work ' || id FROM work WHERE retry_disabled = 1 AND (holds / 2) % 2 = 0",
    },
    // RETRY-01 RETRY-06
    Check {
        name: "something follows a failure",
        sql: "SELECT 'work ' || w.id || ' after its attempt ' || w.attempt FROM work AS w \
              JOIN attempt AS a ON a.work = w.id AND a.n = w.attempt \
              WHERE w.status = 'ready' AND w.standing = 0 AND w.attempt_status = 'failed' \
              AND w.backoff IS NULL AND w.holds = 0 AND w.pending_count = 0 \
              AND NOT EXISTS (SELECT 1 FROM mark AS m WHERE m.work = w.id \
              AND m.kind = 'release' AND m.at >= a.ended_at)",
    },
    // POLICY-22
    Check {
        name: "a mark names a segment that there was",
        sql: "SELECT 'work ' || w.id || ' and segment ' || w.marked_attempt || '-' || \
              coalesce(w.marked_epoch, 0) FROM work AS w LEFT JOIN attempt AS a \
              ON a.work = w.id AND a.n = w.marked_attempt WHERE w.marked_attempt IS NOT NULL \
              AND (a.n IS NULL OR w.marked_epoch IS NULL OR w.marked_epoch NOT BETWEEN 1 AND a.epoch)",
    },
    // RETRY-19 RETRY-22
    Check {
        name: "a retry names a failed attempt of its work, once",
        sql: "SELECT 'event ' || e.seq FROM event AS e LEFT JOIN attempt AS a \
              ON a.work = e.target AND a.n = e.failed \
              WHERE (coalesce(e.derived, '') = 'retry') <> (e.failed IS NOT NULL) \
              OR (e.failed IS NOT NULL AND (a.n IS NULL OR a.status <> 'failed' \
                  OR e.parent IS NULL OR a.trigger_event <> e.parent)) \
              UNION ALL SELECT 'work ' || target || ' and its attempt ' || failed FROM event \
              WHERE failed IS NOT NULL GROUP BY target, failed HAVING count(*) > 1",
    },
    // RETRY-05 RETRY-10 JOB-16
    Check {
        name: "failures are counted on work that has failed",
        sql: "SELECT 'work ' || id || ' counts ' || failures FROM work WHERE failures < 0 \
              OR failures > coalesce(attempt, 0) OR (standing = 1 AND failures <> 0) \
              OR (status = 'completed' AND failures <> 0) OR (status = 'failed' AND failures = 0)",
    },
    // RETRY-06 RETRY-27
    Check {
        name: "an exhausted work is ready after a failure",
        sql: "SELECT 'work ' || id || ' is ' || status FROM work WHERE holds % 2 = 1 \
              AND (status <> 'ready' OR coalesce(attempt_status, '') <> 'failed' \
                   OR failures = 0 OR backoff IS NOT NULL)",
    },
    // RETRY-16
    Check {
        name: "only a failure has a hint",
        sql: "SELECT 'attempt ' || n || ' of work ' || work || ' is ' || status FROM attempt \
              WHERE (hint IS NOT NULL AND status <> 'failed') \
              OR (hint_ms IS NOT NULL AND hint IS NULL)",
    },
    Check {
        name: "a work's summary is that of its last attempt",
        sql: "SELECT 'work ' || w.id || ' and its attempt ' || coalesce(w.attempt, 0) FROM work \
              AS w LEFT JOIN attempt AS a ON a.work = w.id AND a.n = w.attempt \
              WHERE w.attempt IS NOT NULL AND (a.n IS NULL OR a.status <> w.attempt_status \
              OR a.epoch <> w.epoch)",
    },
    // RETRY-12
    Check {
        name: "attempts are numbered without gaps",
        sql: "SELECT 'work ' || w.id || ' names attempt ' || coalesce(w.attempt, 0) || ' of ' || \
              (SELECT count(*) FROM attempt AS a WHERE a.work = w.id) FROM work AS w \
              WHERE coalesce(w.attempt, 0) <> (SELECT count(*) FROM attempt AS a \
              WHERE a.work = w.id)",
    },
    Check {
        name: "a work's summary is that of its last wait",
        sql: "SELECT 'work ' || w.id || ' and its wait ' || w.wait FROM work AS w \
              JOIN wait AS x ON x.id = w.wait WHERE x.work <> w.id OR x.status <> w.wait_status \
              OR coalesce(x.winner, 0) <> coalesce(w.winner, 0)",
    },
    Check {
        name: "a work runs exactly while its attempt does",
        sql: "SELECT 'work ' || id || ' is ' || status FROM work \
              WHERE (status = 'running') <> (coalesce(attempt_status, '') = 'running')",
    },
    // WAKE-07
    Check {
        name: "a work waits exactly while its wait is active",
        sql: "SELECT 'work ' || id || ' is ' || status FROM work \
              WHERE (status = 'waiting') <> (coalesce(wait_status, '') = 'active')",
    },
    // CANCEL-04 TERM-01
    Check {
        name: "an ended work has nothing open",
        sql: "SELECT 'work ' || w.id || ' is ' || w.status FROM work AS w \
              WHERE w.status IN ('completed', 'failed', 'cancelled') AND (w.holds <> 0 \
              OR w.idle_at IS NOT NULL OR w.backoff IS NOT NULL OR w.retry_at IS NOT NULL \
              OR w.next_trigger IS NOT NULL \
              OR EXISTS (SELECT 1 FROM attempt AS a WHERE a.work = w.id \
                         AND a.status IN ('running', 'parked')) \
              OR EXISTS (SELECT 1 FROM wait AS x WHERE x.work = w.id AND x.status = 'active'))",
    },
    // DONE-06
    Check {
        name: "a completed work has no pending input",
        sql: "SELECT 'work ' || id FROM work WHERE status = 'completed' AND pending_count > 0",
    },
    // CANCEL-02 TIMER-04
    Check {
        name: "a timer belongs to an active wait that has not fired",
        sql: "SELECT 'timer of wait ' || t.wait FROM timer AS t JOIN wait AS x ON x.id = t.wait \
              WHERE x.status <> 'active' OR x.timeout_event IS NOT NULL OR x.fire_at <> t.fire_at \
              OR x.fire_at IS NULL",
    },
    Check {
        name: "an active wait with a timeout has its timer or its accepted timeout",
        sql: "SELECT 'wait ' || x.id FROM wait AS x WHERE x.status = 'active' \
              AND x.fire_at IS NOT NULL AND x.timeout_event IS NULL \
              AND NOT EXISTS (SELECT 1 FROM timer AS t WHERE t.wait = x.id)",
    },
    // WAKE-07 WAKE-09
    Check {
        name: "a woken wait names a winner that is input of its work",
        sql: "SELECT 'wait ' || x.id FROM wait AS x WHERE (x.status = 'woken') <> \
              (x.winner IS NOT NULL) OR (x.status = 'woken' AND NOT EXISTS \
              (SELECT 1 FROM input AS i WHERE i.work = x.work AND i.event = x.winner))",
    },
    // ROUTE-11
    Check {
        name: "an event is either unrouted or marked",
        sql: "SELECT 'event ' || e.seq FROM event AS e \
              LEFT JOIN unrouted AS u ON u.event = e.seq LEFT JOIN mark AS m ON m.event = e.seq \
              WHERE (u.event IS NULL) = (m.event IS NULL)",
    },
    // POLICY-08 POLICY-11 POLICY-19
    Check {
        name: "a queued or waking event is input of its work",
        sql: "SELECT 'event ' || m.event || ' and work ' || coalesce(m.work, 0) FROM mark AS m \
              JOIN event AS e ON e.seq = m.event JOIN name AS t ON t.id = e.type \
              WHERE (m.kind IN ('queued', 'woke', 'inject') \
                  OR (m.kind = 'interrupt' AND t.text <> 'core.manual.interrupt')) AND NOT EXISTS \
              (SELECT 1 FROM input AS i WHERE i.work = m.work AND i.event = m.event)",
    },
    // POLICY-23 INJECT-24
    Check {
        name: "an open intent is for the running attempt of its work",
        sql: "SELECT 'event ' || i.event || ' and attempt ' || i.attempt || ' of work ' || i.work \
              FROM intent AS i LEFT JOIN attempt AS a ON a.work = i.work AND a.n = i.attempt \
              WHERE i.status IN ('committed', 'dispatched') \
              AND (coalesce(a.status, '') <> 'running' OR i.epoch > a.epoch)",
    },
    Check {
        name: "a work counts its open intents",
        sql: "SELECT 'work ' || w.id || ' counts ' || w.open_intents FROM work AS w \
              WHERE w.open_intents <> (SELECT count(*) FROM intent AS i WHERE i.work = w.id \
              AND (i.status = 'committed' OR i.status = 'dispatched'))",
    },
    // POLICY-11 POLICY-19 CTRL-02
    Check {
        name: "an intent is of an event that its mark says it of",
        sql: "SELECT 'event ' || m.event || ' is ' || m.kind FROM mark AS m \
              LEFT JOIN intent AS i ON i.event = m.event \
              WHERE (m.kind IN ('inject', 'interrupt')) <> (i.event IS NOT NULL) \
              OR (i.event IS NOT NULL AND (i.kind <> m.kind OR i.work <> coalesce(m.work, 0))) \
              UNION ALL SELECT 'event ' || i.event || ' has no mark' FROM intent AS i \
              WHERE NOT EXISTS (SELECT 1 FROM mark AS m WHERE m.event = i.event)",
    },
    // POLICY-26
    Check {
        name: "an intent is for an attempt that supports it",
        sql: "SELECT 'event ' || i.event || ' and attempt ' || i.attempt || ' of work ' || i.work \
              FROM intent AS i LEFT JOIN attempt AS a ON a.work = i.work AND a.n = i.attempt \
              WHERE a.n IS NULL OR (i.kind = 'inject' AND a.injects = 0) \
              OR (i.kind = 'interrupt' AND a.interrupts = 0)",
    },
    // POLICY-12 INJECT-12 INJECT-21
    Check {
        name: "an intent was tried exactly if its status says so",
        sql: "SELECT 'event ' || event || ' is ' || status || ' after ' || sends || ' sends' \
              FROM intent WHERE (dispatched_at IS NULL) <> (sends = 0) OR sends < 0 \
              OR (status = 'committed' AND sends > 0) \
              OR (status <> 'committed' AND status <> 'stale' AND sends = 0) \
              OR (status IN ('committed', 'dispatched')) <> (settled_at IS NULL)",
    },
    // POLICY-20 POLICY-21 CTRL-09
    Check {
        name: "a fenced intent is what interrupted its attempt",
        sql: "SELECT 'attempt ' || a.n || ' of work ' || a.work || ' and event ' || \
              a.interrupt_event FROM attempt AS a WHERE a.interrupt_event IS NOT NULL \
              AND (a.status <> 'cancelled' OR NOT EXISTS (SELECT 1 FROM intent AS i \
              WHERE i.event = a.interrupt_event AND i.work = a.work AND i.attempt = a.n \
              AND i.kind = 'interrupt' AND i.status = 'fenced')) \
              UNION ALL SELECT 'event ' || i.event || ' fenced nothing' FROM intent AS i \
              WHERE i.status = 'fenced' AND NOT EXISTS (SELECT 1 FROM attempt AS a \
              WHERE a.work = i.work AND a.n = i.attempt AND a.interrupt_event = i.event)",
    },
    // INJECT-08 INJECT-17
    Check {
        name: "an input is proved exactly if its intent is consumed",
        sql: "SELECT 'event ' || p.event || ' of work ' || p.work FROM input AS p \
              WHERE p.proved <> 0 AND NOT EXISTS (SELECT 1 FROM intent AS i \
              WHERE i.event = p.event AND i.work = p.work AND i.attempt = p.attempt \
              AND i.kind = 'inject' AND i.status = 'consumed') \
              UNION ALL SELECT 'event ' || i.event || ' of work ' || i.work FROM intent AS i \
              WHERE i.status = 'consumed' AND NOT EXISTS (SELECT 1 FROM input AS p \
              WHERE p.work = i.work AND p.attempt = i.attempt AND p.event = i.event \
              AND p.proved = 1)",
    },
    // POLICY-33
    Check {
        name: "an input is withdrawn exactly if its error fallback was to drop it",
        sql: "SELECT 'event ' || p.event || ' of work ' || p.work FROM input AS p \
              WHERE p.attempt < 0 AND (p.attempt <> -1 OR NOT EXISTS (SELECT 1 FROM intent AS i \
              WHERE i.event = p.event AND i.work = p.work AND i.status = 'fell_back' \
              AND i.on_error = 'drop')) \
              UNION ALL SELECT 'event ' || i.event || ' of work ' || i.work FROM intent AS i \
              WHERE i.status = 'fell_back' AND (i.on_error IS NULL OR (i.on_error = 'drop') <> \
              EXISTS (SELECT 1 FROM input AS p WHERE p.work = i.work AND p.attempt = -1 \
              AND p.event = i.event))",
    },
    // POLICY-24 POLICY-28
    Check {
        name: "a fallback and its reason are recorded",
        sql: "SELECT 'event ' || event || ' is ' || kind FROM mark WHERE asked IS NOT NULL \
              AND (reason IS NULL OR work IS NULL OR (kind <> 'queued' AND kind <> 'drop'))",
    },
    // POLICY-10 WAKE-09
    Check {
        name: "an event is input of one work, once",
        sql: "SELECT 'event ' || event || ' is input ' || count(*) || ' times' FROM input \
              GROUP BY event HAVING count(*) > 1",
    },
    // OURS-07 OURS-17 POLICY-25
    Check {
        name: "what is kept inert is no input",
        sql: "SELECT 'event ' || m.event || ' is ' || m.kind FROM mark AS m \
              JOIN event AS e ON e.seq = m.event JOIN name AS t ON t.id = e.type \
              WHERE m.kind <> 'queued' AND m.kind <> 'woke' AND m.kind <> 'inject' \
              AND (m.kind <> 'interrupt' OR t.text = 'core.manual.interrupt') AND EXISTS \
              (SELECT 1 FROM input AS i WHERE i.event = m.event)",
    },
    // OURS-02
    Check {
        name: "a closed work names the event that closed it",
        sql: "SELECT 'event ' || m.event || ' and work ' || coalesce(m.work, 0) FROM mark AS m \
              WHERE m.kind = 'close' AND NOT EXISTS (SELECT 1 FROM work AS w WHERE w.id = m.work \
              AND w.status = 'cancelled' AND w.closed_by = m.event)",
    },
    // BIND-10
    Check {
        name: "a mark's generation was current",
        sql: "SELECT 'event ' || m.event FROM mark AS m WHERE m.generation <> 0 AND NOT EXISTS \
              (SELECT 1 FROM generation AS g WHERE g.n = m.generation)",
    },
    // WAIT-06 DONE-02
    Check {
        name: "no work is handed what its own execution published",
        sql: "SELECT 'event ' || e.seq FROM event AS e JOIN input AS i ON i.event = e.seq \
              AND i.work = e.by_work",
    },
    // TERM-03 TERM-04
    Check {
        name: "a key's newest generation is the highest",
        sql: "SELECT 'key ' || k.id FROM key AS k WHERE (k.base IS NULL) <> (k.generation = 0) \
              OR (k.base IS NOT NULL AND k.generation > (SELECT n.generation FROM key AS b \
                  JOIN key AS n ON n.id = b.newest WHERE b.id = k.base)) \
              OR (k.newest IS NOT NULL AND NOT EXISTS (SELECT 1 FROM key AS n \
                  WHERE n.id = k.newest AND n.base = k.id))",
    },
    // TERM-03 TERM-05
    Check {
        name: "a successor follows an ended work of its scope and kind",
        sql: "SELECT 'work ' || w.id FROM work AS w JOIN work AS p ON p.id = w.predecessor \
              WHERE p.scope <> w.scope OR p.kind <> w.kind \
              OR p.status NOT IN ('completed', 'failed', 'cancelled')",
    },
    // TERM-03
    Check {
        name: "a work owns its first key",
        sql: "SELECT 'work ' || w.id FROM work AS w WHERE (w.first_key IS NULL) <> NOT EXISTS \
              (SELECT 1 FROM key AS k WHERE k.work = w.id) OR (w.first_key IS NOT NULL AND NOT \
              EXISTS (SELECT 1 FROM key AS k WHERE k.id = w.first_key AND k.work = w.id))",
    },
    Check {
        name: "only idle work has an idle timer",
        sql: "SELECT 'work ' || id || ' is ' || status FROM work WHERE idle_at IS NOT NULL \
              AND (status <> 'ready' OR standing = 1)",
    },
    // ALIAS-02 ALIAS-03 ALIAS-11: it goes on where the last one to the same source ended, which can
    // be below the watermark.
    Check {
        name: "a subscription is active exactly while its wait is",
        sql: "SELECT 'subscription ' || s.id FROM subscription AS s JOIN wait AS x ON x.id = s.wait \
              WHERE (s.status = 'active') <> (x.status = 'active') OR s.work <> x.work \
              OR (s.checkpoint < x.after_seq AND NOT EXISTS (SELECT 1 FROM subscription AS p \
                  WHERE p.checkpoint <= s.checkpoint AND p.id = (SELECT max(l.id) \
                  FROM subscription AS l WHERE l.work = s.work AND l.key = s.key \
                  AND l.scope = s.scope AND l.id < s.id)))",
    },
    // ALIAS-05 ALIAS-07
    Check {
        name: "an alias descends from what its subscription has passed",
        sql: "SELECT 'event ' || e.seq FROM event AS e \
              LEFT JOIN subscription AS s ON s.wait = e.wait \
              WHERE e.derived = 'alias' AND (s.id IS NULL OR e.parent > s.checkpoint \
              OR e.target <> s.work)",
    },
    // WAKE-27
    Check {
        name: "active time left is within what the pin allows",
        sql: "SELECT 'attempt ' || n || ' of work ' || work FROM attempt \
              WHERE (active IS NULL) <> (active_left IS NULL) OR active_left > active \
              OR active_left < 0",
    },
    // CAUSE-14 CAUSE-15
    Check {
        name: "root and depth follow from the parent",
        sql: "SELECT 'event ' || e.seq FROM event AS e LEFT JOIN event AS p ON p.seq = e.parent \
              WHERE e.depth > e.depth_max \
              OR (e.parent IS NULL AND (e.root <> e.seq OR e.depth <> 0)) \
              OR (e.parent IS NOT NULL AND (p.seq IS NULL OR p.seq >= e.seq OR e.root <> p.root \
                  OR e.depth <> p.depth + 1 OR e.depth_max <> p.depth_max))",
    },
];

/// Runs every check on what `tx` sees, which should be one snapshot.
///
/// # Errors
/// The machine failed, so that the checks could not be run.
pub fn examine(tx: &mut dyn Tx) -> Result<Vec<Finding>, StoreError> {
    let mut findings = Vec::new();
    for check in CHECKS {
        let found = query_all(tx, check.sql, &[], |row| Ok(row.text(0)?.to_owned()))?;
        report(&mut findings, check.name, found);
    }
    report(&mut findings, "pending counts are those of the input", pending(tx)?);
    report(&mut findings, "a pinned retry policy can be read", policies(tx)?);
    report(&mut findings, "sequences are dense and counted", sequences(tx)?);
    report(&mut findings, "every event is found by its identity", identified(tx)?);
    report(&mut findings, "the journal's chain holds", chain(tx)?);
    report(&mut findings, "the file is sound", engine(tx)?);
    unserved(tx, &mut findings)?;
    Ok(findings)
}

fn report(findings: &mut Vec<Finding>, check: &'static str, found: Vec<String>) {
    let more = found.len().saturating_sub(SHOWN);
    let damage = |what| Finding { severity: Severity::Damage, check, what, remedy: RESTORE };
    findings.extend(found.into_iter().take(SHOWN).map(damage));
    if more > 0 {
        findings.push(damage(format!("and {more} more")));
    }
}

/// Counts and XOR of pending input, summed here: portable SQL has no XOR.
fn pending(tx: &mut dyn Tx) -> Result<Vec<String>, StoreError> {
    let mut found = Vec::new();
    let mut works = Vec::new();
    tx.query("SELECT id, pending_count, pending_xor FROM work ORDER BY id", &[], &mut |row| {
        works.push((WorkId(row.int(0)?), row.int(1)?, row.int(2)?));
        Ok(())
    })?;
    let mut inputs = std::collections::BTreeMap::<WorkId, (i64, i64)>::new();
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
fn policies(tx: &mut dyn Tx) -> Result<Vec<String>, StoreError> {
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
fn sequences(tx: &mut dyn Tx) -> Result<Vec<String>, StoreError> {
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
fn identified(tx: &mut dyn Tx) -> Result<Vec<String>, StoreError> {
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
fn chain(tx: &mut dyn Tx) -> Result<Vec<String>, StoreError> {
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
fn engine(tx: &mut dyn Tx) -> Result<Vec<String>, StoreError> {
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
fn unserved(tx: &mut dyn Tx, findings: &mut Vec<Finding>) -> Result<(), StoreError> {
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

#[cfg(test)]
mod tests {
    use super::{Finding, Severity, examine};
    use crate::command::Command;
    use crate::domain::{Actor, Millis};
    use crate::law::apply;
    use crate::store::{Engine as _, Store, journal};

    fn examined(store: &Store) -> Vec<Finding> {
        examine(&mut store.session()).expect("a report")
    }

    /// One work with a parked attempt, sealed.
    fn healthy() -> Store {
        let store = Store::open_in_memory().expect("a database");
        crate::law::testing::populate(&store);
        let mut session = store.session();
        session.begin().expect("a transaction");
        journal::seal(&mut session).expect("a seal");
        session.commit().expect("a commit");
        drop(session);
        store
    }

    /// Works with intents at rest and an open one, sealed.
    fn controlled() -> Store {
        let store = Store::open_in_memory().expect("a database");
        crate::law::testing::populate_controls(&store);
        let mut session = store.session();
        session.begin().expect("a transaction");
        journal::seal(&mut session).expect("a seal");
        session.commit().expect("a commit");
        drop(session);
        store
    }

    /// Breaks a healthy database and answers which checks noticed.
    fn broken(sql: &str) -> Vec<&'static str> {
        broken_in(&healthy(), sql)
    }

    fn broken_in(store: &Store, sql: &str) -> Vec<&'static str> {
        let conn = store.connection();
        conn.execute_batch("PRAGMA foreign_keys = OFF; PRAGMA ignore_check_constraints = ON;")
            .expect("no guards");
        conn.execute_batch(sql).expect("damage");
        let mut checks: Vec<_> = examined(store).iter().map(|found| found.check).collect();
        checks.dedup();
        checks
    }

    #[test]
    fn a_healthy_database_has_no_findings() {
        assert_eq!(examined(&healthy()), []);
    }

    #[test]
    fn damage_is_found_by_the_check_meant_for_it() {
        for (sql, check) in [
            ("UPDATE attempt SET token = x'00'", "exactly the running attempts hold a lease"),
            ("UPDATE attempt SET epoch = 7", "a work's summary is that of its last attempt"),
            ("UPDATE work SET attempt = 2", "attempts are numbered without gaps"),
            ("UPDATE work SET winner = 1", "a work's summary is that of its last wait"),
            ("UPDATE work SET status = 'running'", "a work runs exactly while its attempt does"),
            ("UPDATE work SET status = 'ready'", "a work waits exactly while its wait is active"),
            ("UPDATE work SET status = 'cancelled'", "an ended work has nothing open"),
            ("UPDATE wait SET fire_at = 5", "a timer belongs to an active wait that has not fired"),
            (
                "DELETE FROM timer",
                "an active wait with a timeout has its timer or its accepted timeout",
            ),
            (
                "UPDATE wait SET status = 'woken'",
                "a woken wait names a winner that is input of its work",
            ),
            ("DELETE FROM mark", "an event is either unrouted or marked"),
            ("DELETE FROM input", "a queued or waking event is input of its work"),
            (
                "INSERT INTO input SELECT work, 9, event, 9, 0 FROM input",
                "an event is input of one work, once",
            ),
            ("UPDATE mark SET kind = 'drop'", "what is kept inert is no input"),
            ("UPDATE mark SET kind = 'close'", "a closed work names the event that closed it"),
            ("UPDATE mark SET generation = 9", "a mark's generation was current"),
            (
                "UPDATE event SET by_work = 1, by_attempt = 1",
                "no work is handed what its own execution published",
            ),
            ("UPDATE key SET generation = 2", "a key's newest generation is the highest"),
            (
                "UPDATE work SET predecessor = 1",
                "a successor follows an ended work of its scope and kind",
            ),
            ("UPDATE work SET first_key = NULL", "a work owns its first key"),
            ("UPDATE work SET idle_at = 5", "only idle work has an idle timer"),
            (
                "INSERT INTO subscription SELECT 1, uid, 1, id, work, 1, 1, 0, 'ended' FROM wait",
                "a subscription is active exactly while its wait is",
            ),
            (
                "UPDATE event SET derived = 'alias'",
                "an alias descends from what its subscription has passed",
            ),
            ("UPDATE attempt SET active = 5", "active time left is within what the pin allows"),
            ("UPDATE event SET depth = 3", "root and depth follow from the parent"),
            ("UPDATE work SET pending_count = 4", "pending counts are those of the input"),
            ("UPDATE work SET pending_xor = 4", "pending counts are those of the input"),
            ("UPDATE counter SET seq = 9", "sequences are dense and counted"),
            ("UPDATE identity SET hash = 1", "every event is found by its identity"),
            ("UPDATE journal SET actor = 'mallory' WHERE n = 2", "the journal's chain holds"),
            ("DELETE FROM journal WHERE n = 2", "the journal's chain holds"),
            ("DELETE FROM seal", "the journal's chain holds"),
            (
                "UPDATE attempt SET status = 'running', phase = 'pinned', expires_at = 9",
                "a running attempt has a token exactly in the incarnation it was granted in",
            ),
            (
                "UPDATE attempt SET epoch = 1000000001 WHERE status = 'parked'",
                "no epoch is of an incarnation to come",
            ),
            (
                "UPDATE counter SET restored = 1",
                "only a restored database is under the restore hold",
            ),
            (
                "UPDATE work SET backoff = 1",
                "only ready work whose last attempt failed is in backoff",
            ),
            ("UPDATE work SET retry_disabled = 0", "a retry timer belongs to a backoff"),
            (
                "UPDATE work SET backoff = 1",
                "a backoff has its timer or its unrouted retry, not both",
            ),
            ("UPDATE event SET failed = 1", "a retry names a failed attempt of its work, once"),
            (
                "UPDATE event SET derived = 'retry'",
                "a retry names a failed attempt of its work, once",
            ),
            ("UPDATE work SET failures = 2", "failures are counted on work that has failed"),
            ("UPDATE work SET holds = 1", "an exhausted work is ready after a failure"),
            ("UPDATE attempt SET hint = 'valid'", "only a failure has a hint"),
            (
                "UPDATE work SET retry_disabled = 1, holds = 5",
                "a disabled retry timer is a person's to end",
            ),
            (
                "UPDATE work SET status = 'ready', attempt_status = 'failed'; \
                 UPDATE attempt SET status = 'failed', ended_at = 5",
                "something follows a failure",
            ),
            ("UPDATE work SET marked_attempt = 9", "a mark names a segment that there was"),
            ("UPDATE work SET marked_epoch = 9", "a mark names a segment that there was"),
            ("UPDATE attempt SET retry = '[]'", "a pinned retry policy can be read"),
            ("UPDATE attempt SET retry = '[3,[1]]'", "a pinned retry policy can be read"),
            ("UPDATE event SET scope = 99", "the file is sound"),
        ] {
            assert!(broken(sql).contains(&check), "{sql}: {:?}", broken(sql));
        }
    }

    #[test]
    fn a_healthy_database_with_intents_has_no_findings() {
        assert_eq!(examined(&controlled()), []);
    }

    #[test]
    fn damage_of_intents_is_found_by_the_check_meant_for_it() {
        for (sql, check) in [
            (
                "UPDATE intent SET attempt = 9 WHERE status = 'dispatched'",
                "an open intent is for the running attempt of its work",
            ),
            (
                "UPDATE intent SET epoch = 9 WHERE status = 'dispatched'",
                "an open intent is for the running attempt of its work",
            ),
            (
                "UPDATE intent SET status = 'committed' WHERE status = 'stale'",
                "an open intent is for the running attempt of its work",
            ),
            ("UPDATE work SET open_intents = 3", "a work counts its open intents"),
            (
                "UPDATE intent SET status = 'accepted' WHERE status = 'dispatched'",
                "a work counts its open intents",
            ),
            (
                "UPDATE mark SET kind = 'queued' WHERE kind = 'inject'",
                "an intent is of an event that its mark says it of",
            ),
            (
                "UPDATE intent SET kind = 'interrupt'",
                "an intent is of an event that its mark says it of",
            ),
            (
                "DELETE FROM intent WHERE status = 'stale'",
                "an intent is of an event that its mark says it of",
            ),
            (
                "DELETE FROM mark WHERE kind = 'inject'",
                "an intent is of an event that its mark says it of",
            ),
            ("UPDATE attempt SET injects = 0", "an intent is for an attempt that supports it"),
            ("UPDATE attempt SET interrupts = 0", "an intent is for an attempt that supports it"),
            (
                "UPDATE intent SET sends = 0 WHERE status = 'accepted' OR status = 'consumed'",
                "an intent was tried exactly if its status says so",
            ),
            (
                "UPDATE intent SET settled_at = NULL",
                "an intent was tried exactly if its status says so",
            ),
            (
                "UPDATE intent SET dispatched_at = NULL",
                "an intent was tried exactly if its status says so",
            ),
            (
                "UPDATE attempt SET interrupt_event = NULL",
                "a fenced intent is what interrupted its attempt",
            ),
            (
                "UPDATE attempt SET interrupt_event = 1 WHERE interrupt_event IS NULL",
                "a fenced intent is what interrupted its attempt",
            ),
            ("UPDATE input SET proved = 0", "an input is proved exactly if its intent is consumed"),
            ("UPDATE input SET proved = 1", "an input is proved exactly if its intent is consumed"),
            (
                "UPDATE intent SET status = 'accepted' WHERE status = 'consumed'",
                "an input is proved exactly if its intent is consumed",
            ),
            (
                "UPDATE input SET attempt = 0 WHERE attempt = -1",
                "an input is withdrawn exactly if its error fallback was to drop it",
            ),
            (
                "UPDATE intent SET on_error = 'queue'",
                "an input is withdrawn exactly if its error fallback was to drop it",
            ),
            (
                "UPDATE input SET attempt = -1 WHERE attempt = 0",
                "an input is withdrawn exactly if its error fallback was to drop it",
            ),
            ("UPDATE mark SET reason = NULL", "a fallback and its reason are recorded"),
            (
                "UPDATE mark SET asked = 'inject' WHERE kind = 'inject'",
                "a fallback and its reason are recorded",
            ),
            (
                "DELETE FROM input WHERE event IN (SELECT event FROM mark WHERE kind = 'inject')",
                "a queued or waking event is input of its work",
            ),
            (
                "INSERT INTO input SELECT work, 0, event, 0, 0 FROM mark WHERE kind = 'interrupt'",
                "what is kept inert is no input",
            ),
        ] {
            let noticed = broken_in(&controlled(), sql);
            assert!(noticed.contains(&check), "{sql}: {noticed:?}");
        }
    }

    #[test]
    fn a_match_nobody_woke_from_is_information() {
        let store = healthy();
        let mut session = store.session();
        session.begin().expect("a transaction");
        let event = Box::new(crate::law::testing::matching());
        let actor = Actor::Loop("test");
        apply(&mut session, Millis(20_000), &actor, &Command::Accept { event }).expect("kept");
        journal::seal(&mut session).expect("a seal");
        session.commit().expect("a commit");
        let findings = examined(&store);
        assert_eq!(findings.len(), 1);
        assert_eq!(findings[0].severity, Severity::Info);
    }
}
