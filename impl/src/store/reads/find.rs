//! From what people type to rows: uids, and any unique beginning of one.

use crate::domain::{AttemptNo, Seq, WaitId, WorkId};
use crate::store::engine::{StoreError, Tx, query_all};
use crate::store::events;

/// What a uid, or the beginning of one, stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Found<T> {
    /// Nothing.
    None,
    /// Exactly this.
    One(T),
    /// More than one thing: more characters are needed.
    Ambiguous,
}

/// The work of a uid, whole or any unique beginning of it, with or without `work_`.
///
/// # Errors
/// The machine failed.
pub fn find_work(tx: &mut dyn Tx, text: &str) -> Result<Found<WorkId>, StoreError> {
    let sql = "SELECT id FROM work WHERE uid BETWEEN ?1 AND ?2 LIMIT 2";
    Ok(found(tx, sql, uid_range("work", text))?.map(WorkId))
}

/// The wait of a uid, whole or any unique beginning of it, with or without `wait_`.
///
/// # Errors
/// The machine failed.
pub fn find_wait(tx: &mut dyn Tx, text: &str) -> Result<Found<WaitId>, StoreError> {
    let sql = "SELECT id FROM wait WHERE uid BETWEEN ?1 AND ?2 LIMIT 2";
    Ok(found(tx, sql, uid_range("wait", text))?.map(WaitId))
}

/// The event of a uid, whole or any unique beginning of it, with or without `evt_`; a number is its
/// sequence.
///
/// # Errors
/// The machine failed.
pub fn find_event(tx: &mut dyn Tx, text: &str) -> Result<Found<Seq>, StoreError> {
    if let Ok(seq) = text.parse::<i64>() {
        let there = events::place(tx, Seq(seq))?.is_some();
        return Ok(if there { Found::One(Seq(seq)) } else { Found::None });
    }
    let sql = "SELECT seq FROM event WHERE uid BETWEEN ?1 AND ?2 LIMIT 2";
    Ok(found(tx, sql, uid_range("evt", text))?.map(Seq))
}

/// The attempt of a uid, whole or any unique beginning of it, with or without `att_`.
///
/// # Errors
/// The machine failed.
pub fn find_attempt(tx: &mut dyn Tx, text: &str) -> Result<Found<(WorkId, AttemptNo)>, StoreError> {
    let Some((low, high)) = uid_range("att", text) else { return Ok(Found::None) };
    let rows = query_all(
        tx,
        "SELECT work, n FROM attempt WHERE uid BETWEEN ?1 AND ?2 LIMIT 2",
        &[low.as_slice().into(), high.as_slice().into()],
        |row| Ok((WorkId(row.int(0)?), AttemptNo(row.small(1)?))),
    )?;
    Ok(Found::of(&rows))
}

impl<T: Copy> Found<T> {
    const fn of(rows: &[T]) -> Self {
        match rows {
            [] => Self::None,
            [one] => Self::One(*one),
            [..] => Self::Ambiguous,
        }
    }

    fn map<U>(self, make: impl FnOnce(T) -> U) -> Found<U> {
        match self {
            Self::None => Found::None,
            Self::One(one) => Found::One(make(one)),
            Self::Ambiguous => Found::Ambiguous,
        }
    }
}

fn found(
    tx: &mut dyn Tx,
    sql: &'static str,
    range: Option<([u8; 16], [u8; 16])>,
) -> Result<Found<i64>, StoreError> {
    let Some((low, high)) = range else { return Ok(Found::None) };
    let rows =
        query_all(tx, sql, &[low.as_slice().into(), high.as_slice().into()], |row| row.int(0))?;
    Ok(Found::of(&rows))
}

/// The ids whose text begins like this: each of the 26 digits after the prefix is five bits.
pub(super) fn uid_range(prefix: &str, text: &str) -> Option<([u8; 16], [u8; 16])> {
    const DIGITS: &[u8] = b"0123456789abcdefghjkmnpqrstvwxyz";
    let text = text.strip_prefix(prefix).and_then(|rest| rest.strip_prefix('_')).unwrap_or(text);
    if text.is_empty() || text.len() > 26 || text.as_bytes()[0] > b'7' {
        return None;
    }
    let mut low: u128 = 0;
    for digit in text.bytes() {
        let value = DIGITS.iter().position(|known| *known == digit)?;
        low = low << 5 | value as u128;
    }
    let open = 5 * (26 - text.len());
    // The first digit holds three bits only, so that nothing is shifted out.
    let low = low.checked_shl(u32::try_from(open).ok()?)?;
    let high = low | 1u128.checked_shl(u32::try_from(open).ok()?)?.wrapping_sub(1);
    Some((low.to_be_bytes(), high.to_be_bytes()))
}
