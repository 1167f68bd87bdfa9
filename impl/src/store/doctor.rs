//! What can be checked on data at rest. It reads one snapshot and repairs nothing.
//!
//! A check of one statement stands with its concern in a file of its own; those that take more are
//! in `computed`.

mod chains;
mod computed;
mod intents;
mod keys;
mod leases;
mod marks;
mod retries;
mod waits;
mod works;

#[cfg(test)]
mod tests;

use serde::Serialize;

use super::engine::{StoreError, Tx, query_all};

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

/// Runs every check on what `tx` sees, which should be one snapshot.
///
/// # Errors
/// The machine failed, so that the checks could not be run.
pub fn examine(tx: &mut dyn Tx) -> Result<Vec<Finding>, StoreError> {
    let mut findings = Vec::new();
    for check in CHECKS.iter().copied().flatten() {
        let found = query_all(tx, check.sql, &[], |row| Ok(row.text(0)?.to_owned()))?;
        report(&mut findings, check.name, found);
    }
    report(&mut findings, "pending counts are those of the input", computed::pending(tx)?);
    report(&mut findings, "a pinned retry policy can be read", computed::policies(tx)?);
    report(&mut findings, "sequences are dense and counted", computed::sequences(tx)?);
    report(&mut findings, "every event is found by its identity", computed::identified(tx)?);
    report(&mut findings, "the journal's chain holds", computed::chain(tx)?);
    report(&mut findings, "the file is sound", computed::engine(tx)?);
    computed::unserved(tx, &mut findings)?;
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

/// Findings of one check that are shown; a broken table would drown the rest.
const SHOWN: usize = 20;

const RESTORE: &str =
    "stop the daemon and `abide restore` the last good backup, which keeps the damaged file";

/// A check in SQL, which states the opposite of its name: each row of its answer is the text of one
/// finding.
struct Check {
    name: &'static str,
    sql: &'static str,
}

/// In the order of the report.
const CHECKS: &[&[Check]] = &[
    leases::CHECKS,
    retries::CHECKS,
    works::CHECKS,
    waits::CHECKS,
    marks::ARRIVES,
    intents::CHECKS,
    marks::BOUNDS,
    keys::CHECKS,
    chains::CHECKS,
];
