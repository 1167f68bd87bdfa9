//! Claims ready Work while its scope and those above it have room: round the scopes, and in each
//! the longest ready first. OURS-26 ROUTE-22 POLICY-06

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use type_safe_id::TypeSafeId;
use uuid::Uuid;

use super::each::{Quarantine, apply_each};
use super::lease::Lease;
use super::looping::{LookError, Next, look};
use super::segments::{self, Held};
use crate::command::{Command, Outcome, Receipt};
use crate::domain::{AttemptUid, Authority, Millis, ScopeLimit, StartReason, Token, WorkId};
use crate::host::{Context, Current, Pinned};
use crate::store::engine::Listed;
use crate::store::reads::{self, Claimable};
use crate::store::{StoreError, Tx, meta, works};

pub(super) const NAME: &str = "scheduler";

/// Works of one scope read at once, and claimed in one look at most.
const LIMIT: u32 = 1024;

pub(super) async fn run(context: Arc<Context>) {
    let failing = Failing::default();
    look(&context, NAME, || pass(&context, &failing)).await;
}

/// Works that are not tried again before their time.
type Failing = Quarantine<WorkId>;

/// A Work to claim, and what its claim says.
struct Chosen {
    work: Claimable,
    pinned: Pinned,
    capacity: Vec<ScopeLimit>,
}

async fn pass(context: &Arc<Context>, failing: &Failing) -> Result<Next, LookError> {
    // A daemon that is about to go begins nothing.
    if context.drain.is_on() {
        return Ok(Next::Commit);
    }
    let mut claims = Vec::new();
    for chosen in choose(context, failing).await? {
        claims.push((chosen, Token::random()?));
    }
    if claims.is_empty() || context.stopping() || context.drain.is_on() {
        return Ok(Next::Commit);
    }
    let sent = context.now();
    let commands = claims.iter().map(|(chosen, token)| claim(chosen, token)).collect();
    let answers = apply_each(context, NAME, commands).await?;
    for ((chosen, token), answer) in claims.into_iter().zip(answers) {
        match answer {
            Ok(outcome) => start(context, token, sent, chosen, &outcome).await,
            Err(error) => fails(context, failing, chosen.work.work, &error),
        }
    }
    Ok(Next::Commit)
}

/// A damaged Work takes no other's turn.
fn fails(context: &Context, failing: &Failing, work: WorkId, error: &StoreError) {
    tracing::error!(row = %work, %error, "a work cannot be claimed");
    context.troubles.work(work, error.to_string());
    failing.put(work);
}

/// The Works to claim now: as many as there is room for, one of each scope in turn. OURS-26
async fn choose(context: &Arc<Context>, failing: &Failing) -> Result<Vec<Chosen>, LookError> {
    let current = context.current();
    let of = Arc::clone(&current);
    let (names, mut room) = context.read(move |tx| look_around(tx, &of)).await?;
    let mut scopes = Vec::with_capacity(names.len());
    for scope in names {
        scopes.push(offered(context, &current, &scope, &room, failing).await?);
    }
    let mut chosen = Vec::new();
    while scopes.iter().any(|works| !works.is_empty()) {
        for works in &mut scopes {
            let Some(next) = works.front() else { continue };
            if take_room(&mut room, &next.capacity) {
                chosen.extend(works.pop_front());
            } else {
                works.clear();
            }
        }
    }
    Ok(chosen)
}

/// Attempts that may still start, by scope; counted in the scope and below.
type Room = BTreeMap<String, u32>;

fn look_around(tx: &mut dyn Tx, current: &Current) -> Result<(Vec<String>, Room), StoreError> {
    // Nothing starts in a restored database before somebody says so. OURS-21
    if meta::restored(tx)? {
        return Ok((Vec::new(), Room::new()));
    }
    let scopes = reads::claimable_scopes(tx)?;
    let mut room = Room::new();
    for scope in &scopes {
        for (name, limit) in current.config.capacities(scope) {
            if let Entry::Vacant(free) = room.entry(name) {
                let running = works::running_below(tx, free.key())?;
                free.insert(limit.saturating_sub(running));
            }
        }
    }
    Ok((scopes, room))
}

fn take_room(room: &mut Room, capacity: &[ScopeLimit]) -> bool {
    let free = capacity.iter().all(|bound| room.get(&bound.scope).is_none_or(|left| *left > 0));
    if free {
        for bound in capacity {
            if let Some(left) = room.get_mut(&bound.scope) {
                *left -= 1;
            }
        }
    }
    free
}

/// Works of a scope that could start, the longest ready first: as many as it has room for, however
/// many that cannot start stand before them.
async fn offered(
    context: &Arc<Context>,
    current: &Current,
    scope: &str,
    room: &Room,
    failing: &Failing,
) -> Result<VecDeque<Chosen>, LookError> {
    let bounds = current.config.capacities(scope).into_iter();
    let capacity: Vec<_> = bounds.map(|(scope, limit)| ScopeLimit { scope, limit }).collect();
    let free = capacity.iter().filter_map(|bound| room.get(&bound.scope)).min();
    let wanted = free.copied().unwrap_or(LIMIT).min(LIMIT) as usize;
    let mut works = VecDeque::new();
    let mut after = (Millis(i64::MIN), WorkId(0));
    while works.len() < wanted {
        let name = scope.to_owned();
        let page = context.read(move |tx| reads::claimable(tx, &name, after, LIMIT)).await?;
        let Some(last) = page.last() else { break };
        after = (Millis(last.at), WorkId(last.id));
        for Listed { id, row, .. } in page {
            let id = WorkId(id);
            if works.len() >= wanted || failing.has(&id) {
                continue;
            }
            match row {
                Ok(work) => {
                    let pinned = pinned(context, current, scope, &work).await;
                    let capacity = capacity.clone();
                    works.extend(pinned.map(|pinned| Chosen { work, pinned, capacity }));
                }
                Err(error) => fails(context, failing, id, &error),
            }
        }
    }
    Ok(works)
}

/// What the Work would run under: its kind's binding now, or, should a parked attempt be resumed,
/// what that is pinned to. Where that is not configured, the Work stays as it is. BIND-10
async fn pinned(
    context: &Arc<Context>,
    current: &Current,
    scope: &str,
    work: &Claimable,
) -> Option<Pinned> {
    let pinned = match work.attempt.filter(|_| work.resumes) {
        Some(attempt) => context.pinned(work.work, attempt).await,
        None => context.binding(current, scope, &work.kind).ok_or_else(|| {
            let kind = &work.kind;
            format!("its kind `{kind}` is not in the configuration of `{scope}`: restore it")
        }),
    };
    match pinned {
        Ok(pinned) => Some(pinned),
        Err(why) => {
            context.troubles.work(work.work, why);
            None
        }
    }
}

fn claim(chosen: &Chosen, token: &Token) -> Command {
    let attempt_uid: AttemptUid = TypeSafeId::from_uuid(Uuid::now_v7());
    Command::Claim {
        work: chosen.work.work,
        attempt_uid,
        token: token.hash(),
        lease: chosen.pinned.binding.lease,
        pin: chosen.pinned.pin.clone(),
        capacity: chosen.capacity.clone(),
    }
}

/// Drives what was claimed; anything else than a claim is looked at again with the next commit.
async fn start(
    context: &Arc<Context>,
    token: Token,
    sent: Millis,
    chosen: Chosen,
    outcome: &Outcome,
) {
    let Claimable { work, uid, resumes, .. } = chosen.work;
    let Outcome::Accepted(Receipt::Claimed { attempt, epoch, reason, .. }) = *outcome else {
        tracing::debug!(work = %uid, ?outcome, "not claimed");
        return;
    };
    // Whatever kept it from starting is gone, should it wait for long from now on.
    context.troubles.clear_work(work);
    let length = chosen.pinned.binding.lease;
    let pinned = if resumes == (reason == StartReason::Resume) {
        chosen.pinned
    } else {
        // It parked or ended between the look and the claim: the claim knows better. BIND-10
        match context.pinned(work, attempt).await {
            Ok(pinned) => pinned,
            Err(why) => {
                tracing::warn!(work = %uid, why, "a claimed attempt cannot be run; its lease ends");
                context.troubles.work(work, why);
                return;
            }
        }
    };
    let by = Authority { work, attempt, epoch, token: token.hash() };
    let Some(drive) = context.driven.run(by) else { return };
    let lease = Lease::new(Arc::clone(context), NAME, by, length, sent);
    let knocks = drive.knocks();
    let held = Held { context: Arc::clone(context), lease, pinned, token, uid, knocks };
    tracing::info!(work = %uid, %attempt, claim = %epoch, "attempt claimed");
    tokio::spawn(async move {
        segments::launch(held).await;
        drop(drive);
    });
}
