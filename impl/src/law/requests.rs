//! Requests: events that an operator's action accepts, and whom such an action is about. OURS-09
//! OURS-23

use crate::command::{Outcome, Receipt, Refusal};
use crate::domain::{AttemptNo, Millis, Request, Seq, WorkId};
use crate::store::identities::{self, IdentityHash};
use crate::store::names::NameId;
use crate::store::works::{self, Work};
use crate::store::{StoreError, Tx};

use super::Step;
use super::causality::{Made, Type, accept_root, identity};

/// The identity of a request that was not made before; else its first answer, and nothing changes.
/// OURS-23
pub(super) fn fresh(
    tx: &mut dyn Tx,
    request: &Request,
) -> Result<Result<IdentityHash, Step>, StoreError> {
    let id = identity(&delivery(request));
    let hash = identities::hash(tx, &id)?;
    Ok(match identities::find(tx, hash, &id)? {
        Some(seq) => Err(Outcome::Duplicate(Receipt::Event { seq }).into()),
        None => Ok(hash),
    })
}

/// What core's namespace knows a request by. No derived event's delivery begins so.
pub(super) fn delivery(request: &Request) -> String {
    format!("request/{}", request.id)
}

/// Accepts the event of a request, a root. CAUSE-01
pub(super) fn accept(
    tx: &mut dyn Tx,
    now: Millis,
    request: &Request,
    hash: IdentityHash,
    event_type: &'static str,
    scope: NameId,
    payload: String,
) -> Result<Seq, StoreError> {
    let (uid, delivery) = (request.uid.uuid(), delivery(request));
    let made = Made::new(uid, delivery, Type::Core(event_type), scope);
    let made = Made { payload: Some(payload), ..made };
    accept_root(tx, now, request.limits.max_depth, &made, hash)
}

/// The work an operator acts on, if its last attempt is the one that was looked at. OURS-09
pub(super) fn target(
    tx: &mut dyn Tx,
    work: WorkId,
    expect: Option<AttemptNo>,
) -> Result<Result<Work, Step>, StoreError> {
    let Some(work) = works::get(tx, work)? else { return Ok(Err(Refusal::UnknownWork.into())) };
    let last = work.attempt.unwrap_or(AttemptNo(0));
    Ok(match expect {
        Some(expected) if expected != last => Err(Refusal::StaleTarget.into()),
        Some(_) | None => Ok(work),
    })
}
