//! `journal`, `seal` and `quota`: the trace of what was committed, the chain over it, and how often
//! an actor was answered without effect.

use sha2::{Digest as _, Sha256};

use crate::domain::Millis;

use super::engine::{Row, StoreError, Tx, Value, query_all, query_one};

/// A row as it is written.
#[derive(Debug, Clone, Copy)]
pub struct NewRow<'a> {
    /// Trusted time of the transaction.
    pub at: Millis,
    /// Who acted. OURS-14
    pub actor: &'a str,
    /// The command's name.
    pub action: &'a str,
    /// Its ids, and the digest of a body; never a payload, token or secret.
    pub args: &'a str,
    /// What it was answered.
    pub outcome: &'a str,
    /// The detail of that answer.
    pub facts: &'a str,
    /// Hash of the touched work's summary, if it touched one.
    pub digest: Option<i64>,
}

/// A row as it is read.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, schemars::JsonSchema)]
pub struct JournalRow {
    /// Its number; dense from 1.
    pub n: i64,
    /// Trusted time of the transaction.
    pub at: Millis,
    /// Who acted.
    pub actor: String,
    /// The command's name.
    pub action: String,
    /// Its ids, as JSON text.
    pub args: String,
    /// What it was answered.
    pub outcome: String,
    /// The detail of that answer, as JSON text.
    pub facts: String,
    /// Hash of the touched work's summary.
    pub digest: Option<i64>,
}

/// Appends a row under the next number.
///
/// # Errors
/// The machine failed.
pub fn append(tx: &mut dyn Tx, row: &NewRow<'_>) -> Result<(), StoreError> {
    tx.execute(
        "INSERT INTO journal (n, at, actor, action, args, outcome, facts, digest) \
         VALUES ((SELECT coalesce(max(n), 0) + 1 FROM journal), ?1, ?2, ?3, ?4, ?5, ?6, ?7)",
        &[
            row.at.into(),
            row.actor.into(),
            row.action.into(),
            row.args.into(),
            row.outcome.into(),
            row.facts.into(),
            row.digest.into(),
        ],
    )
    .map(drop)
}

fn read(row: &dyn Row) -> Result<JournalRow, StoreError> {
    Ok(JournalRow {
        n: row.int(0)?,
        at: Millis(row.int(1)?),
        actor: row.text(2)?.to_owned(),
        action: row.text(3)?.to_owned(),
        args: row.text(4)?.to_owned(),
        outcome: row.text(5)?.to_owned(),
        facts: row.text(6)?.to_owned(),
        digest: row.opt_int(7)?,
    })
}

/// Rows after `n`, in order.
///
/// # Errors
/// The machine failed.
pub fn since(tx: &mut dyn Tx, n: i64, limit: u32) -> Result<Vec<JournalRow>, StoreError> {
    query_all(
        tx,
        "SELECT n, at, actor, action, args, outcome, facts, digest FROM journal \
         WHERE n > ?1 ORDER BY n LIMIT ?2",
        &[n.into(), limit.into()],
        read,
    )
}

/// The number of the last row; 0 before the first.
///
/// # Errors
/// The machine failed.
pub fn last(tx: &mut dyn Tx) -> Result<i64, StoreError> {
    Ok(query_one(tx, "SELECT max(n) FROM journal", &[], |row| row.opt_int(0))?
        .flatten()
        .unwrap_or(0))
}

/// One link of the chain: the last row it covers, and the hash up to there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Seal {
    /// The last row it covers.
    pub n: i64,
    /// SHA-256 over the link before and the rows between.
    pub chain: [u8; 32],
}

impl Seal {
    /// What a chain begins with.
    pub const START: Self = Self { n: 0, chain: [0; 32] };
}

fn read_seal(row: &dyn Row) -> Result<Seal, StoreError> {
    let chain = row.blob(1)?.try_into();
    let n = row.int(0)?;
    let chain =
        chain.map_err(|_| StoreError::corrupt(format!("seal: row {n} is no 32-byte hash")))?;
    Ok(Seal { n, chain })
}

/// The newest link.
///
/// # Errors
/// The machine failed.
pub fn last_seal(tx: &mut dyn Tx) -> Result<Seal, StoreError> {
    Ok(query_one(tx, "SELECT n, chain FROM seal ORDER BY n DESC LIMIT 1", &[], read_seal)?
        .unwrap_or(Seal::START))
}

/// Links after row `n`, in order.
///
/// # Errors
/// The machine failed.
pub fn seals_since(tx: &mut dyn Tx, n: i64, limit: u32) -> Result<Vec<Seal>, StoreError> {
    query_all(
        tx,
        "SELECT n, chain FROM seal WHERE n > ?1 ORDER BY n LIMIT ?2",
        &[n.into(), limit.into()],
        read_seal,
    )
}

/// Closes a batch: one link over the rows since the last one, and none if there are no rows.
/// Answers the last row's number.
///
/// # Errors
/// The machine failed.
pub fn seal(tx: &mut dyn Tx) -> Result<i64, StoreError> {
    let before = last_seal(tx)?;
    let now = link(tx, before, None)?;
    if now.n != before.n {
        tx.execute(
            "INSERT INTO seal (n, chain) VALUES (?1, ?2)",
            &[now.n.into(), now.chain.as_slice().into()],
        )?;
    }
    Ok(now.n)
}

/// The link over the rows after `before`, up to and with row `until` or the last one.
///
/// # Errors
/// The machine failed.
pub fn link(tx: &mut dyn Tx, before: Seal, until: Option<i64>) -> Result<Seal, StoreError> {
    let mut hasher = Sha256::new();
    hasher.update(before.chain);
    let mut n = before.n;
    tx.query(
        "SELECT n, at, actor, action, args, outcome, facts, digest FROM journal \
         WHERE n > ?1 AND n <= ?2 ORDER BY n",
        &[before.n.into(), until.unwrap_or(i64::MAX).into()],
        &mut |row| {
            n = row.int(0)?;
            (0..8).try_for_each(|column| absorb(&mut hasher, row.value(column)?))
        },
    )?;
    Ok(if n == before.n { before } else { Seal { n, chain: hasher.finalize().into() } })
}

/// Adds one column so that no two rows give the same bytes: its kind, its length, itself.
fn absorb(hasher: &mut Sha256, value: Value<'_>) -> Result<(), StoreError> {
    match value {
        Value::Null => hasher.update([0]),
        Value::Int(value) => {
            hasher.update([1]);
            hasher.update(value.to_le_bytes());
        }
        Value::Text(value) => {
            hasher.update([2]);
            hasher.update((value.len() as u64).to_le_bytes());
            hasher.update(value);
        }
        Value::Blob(_) => return Err(StoreError::corrupt("journal: a column holds bytes")),
    }
    Ok(())
}

/// How often an actor was answered without effect in one minute.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Quota {
    /// Which minute of trusted time.
    pub minute: i64,
    /// Answers that got a row.
    pub written: u32,
    /// Answers that got none.
    pub suppressed: u32,
}

/// The quota of an actor, of whichever minute it was last used in.
///
/// # Errors
/// The machine failed.
pub fn quota(tx: &mut dyn Tx, actor: &str) -> Result<Option<Quota>, StoreError> {
    query_one(
        tx,
        "SELECT minute, written, suppressed FROM quota WHERE actor = ?1",
        &[actor.into()],
        |row| Ok(Quota { minute: row.int(0)?, written: row.small(1)?, suppressed: row.small(2)? }),
    )
}

/// Stores the quota of an actor.
///
/// # Errors
/// The machine failed.
pub fn set_quota(tx: &mut dyn Tx, actor: &str, quota: Quota) -> Result<(), StoreError> {
    tx.execute(
        "INSERT INTO quota (actor, minute, written, suppressed) VALUES (?1, ?2, ?3, ?4) \
         ON CONFLICT (actor) DO UPDATE SET minute = excluded.minute, written = excluded.written, \
         suppressed = excluded.suppressed",
        &[actor.into(), quota.minute.into(), quota.written.into(), quota.suppressed.into()],
    )
    .map(drop)
}

/// Forgets quotas of earlier minutes that suppressed nothing, so that the table stays small.
///
/// # Errors
/// The machine failed.
pub fn forget_quotas(tx: &mut dyn Tx, minute: i64) -> Result<(), StoreError> {
    tx.execute("DELETE FROM quota WHERE minute < ?1 AND suppressed = 0", &[minute.into()]).map(drop)
}
