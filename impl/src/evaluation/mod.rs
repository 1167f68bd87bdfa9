//! The evaluation of one event: detached views in, one proposal out. It only reads, so whoever asks why
//! an event is where it is may evaluate it once more. ROUTE-12

use std::sync::Arc;

use tokio::task::spawn_blocking;
use type_safe_id::TypeSafeId;

use crate::config::Scope;
use crate::domain::{
    Control, Decision, Event, Key, Proposal, ProposedWork, Seq, WorkId, WorkUid, derived_uuid,
};
use crate::extension::route::{self, RouteAction, RouteHandler, WorkView};
use crate::host::Context;
use crate::ingress;
use crate::law::routing::resolve;
use crate::store::rejections::Derived;
use crate::store::{StoreError, Tx, events, keys, marks, names, payloads, works};

/// What an evaluation reads, all of one snapshot.
#[derive(Debug)]
struct Snapshot {
    event: Event,
    payload: Option<String>,
    resolved: Option<(WorkId, i64, WorkView)>,
    /// The Work it resolves to is one of its own scope, so that the order of that Work binds it.
    /// OWN-03 OWN-05
    bound: bool,
    /// What becomes of core's own where no wait wants it; no handler is asked.
    own: Option<Decision>,
}

/// Why there is no proposal, for people.
#[derive(Debug)]
pub(crate) struct Undecided {
    pub(crate) why: String,
    /// Its Work is known, or may be any: the event holds it up.
    pub(crate) bound: bool,
}

/// Evaluates an event; `None` if it has its mark already.
pub(crate) async fn propose(
    context: &Arc<Context>,
    seq: Seq,
) -> Result<Option<Proposal>, Undecided> {
    let snapshot = context.read(move |tx| snapshot(tx, seq)).await;
    // What cannot be read may belong to any Work.
    let unknown = |why: String| Undecided { why, bound: true };
    let Some(snapshot) = snapshot.map_err(|error| unknown(error.to_string()))? else {
        return Ok(None);
    };
    let bound = snapshot.bound;
    let evaluated = {
        let context = Arc::clone(context);
        // A handler may block its thread, and holds no lock and no transaction while it does.
        spawn_blocking(move || evaluate(&context, snapshot)).await
    };
    let evaluated =
        evaluated.unwrap_or_else(|error| Err(format!("the route handler broke: {error}")));
    evaluated.map(Some).map_err(|why| Undecided { why, bound })
}

fn evaluate(context: &Context, snapshot: Snapshot) -> Result<Proposal, String> {
    let Snapshot { event, payload, resolved, own, bound: _ } = snapshot;
    let current = context.current();
    let (seq, generation) = (event.seq, current.generation);
    let seen = resolved.as_ref().map(|(id, revision, _)| (*id, *revision));
    if let Some(decision) = own {
        let (route, reopen) = (None, None);
        return Ok(Proposal { event: seq, resolved: seen, generation, route, decision, reopen });
    }
    let view = ingress::accepted_view(&current.config, &event, payload.as_deref());
    let work = resolved.as_ref().map(|(_, _, view)| view);
    let scope = current.config.scope(&event.scope);
    let scope =
        scope.ok_or_else(|| format!("its scope `{}` is not in the configuration", event.scope))?;
    let decision = scope.handler.evaluate(&view, work).map_err(|error| error.to_string())?;
    let reopen = decision.reopen.then(|| successor(&event));
    Ok(Proposal {
        event: seq,
        resolved: seen,
        generation,
        route: decision.route.clone(),
        decision: decided(scope, &event, &decision),
        reopen,
    })
}

/// The law's words for a handler's answer.
fn decided(scope: &Scope, event: &Event, answer: &route::Decision) -> Decision {
    let attach = || {
        let source = &event.id.source;
        let key = |id: &String| Key { source: source.clone(), external_id: id.clone() };
        answer.attach.iter().map(key).collect()
    };
    match answer.action {
        RouteAction::Decline => Decision::Decline,
        RouteAction::Drop => Decision::Drop,
        RouteAction::Close => Decision::Close,
        RouteAction::Update => Decision::Update { attach: attach(), control: answer.control },
        RouteAction::Work => Decision::Work {
            attach: attach(),
            create: created(scope, event, answer),
            control: answer.control,
        },
    }
}

fn successor(event: &Event) -> WorkUid {
    WorkUid::from_uuid(derived_uuid(event.accepted_at, event.uid.uuid(), "successor", 0))
}

/// The Work to create should the event resolve to none; its id follows from the event. ROUTE-16
fn created(scope: &Scope, event: &Event, answer: &route::Decision) -> Option<ProposedWork> {
    let kind = answer.kind.clone()?;
    // Fixed with the work, as the kind says it now. JOB-14
    let standing = scope.kinds.get(&kind).is_some_and(|kind| kind.standing);
    let uuid = derived_uuid(event.accepted_at, event.uid.uuid(), "work", 0);
    Some(ProposedWork { uid: WorkUid::from_uuid(uuid), kind, standing })
}

fn snapshot(tx: &mut dyn Tx, seq: Seq) -> Result<Option<Snapshot>, StoreError> {
    if marks::get(tx, seq)?.is_some() {
        return Ok(None);
    }
    let mut event = whole(tx, seq)?;
    let original = events::original(tx, seq)?;
    if original != seq {
        // A replay is news of who sent the original, and routed as such; its identity is its own.
        // OURS-08
        let Event { id, subject, occurred_at, .. } = whole(tx, original)?;
        event.id.source = id.source;
        (event.subject, event.occurred_at) = (subject, occurred_at);
    }
    let place = events::referred(tx, seq)?;
    let payload = payloads::get(tx, seq)?;
    let (resolved, bound) = match resolve(tx, &place)? {
        Some(id) => {
            let scope = works::referred(tx, id)?.scope;
            (Some(work_view(tx, id)?), scope == place.scope)
        }
        None => (None, false),
    };
    Ok(Some(Snapshot { event, payload, resolved, bound, own: own(place.derived) }))
}

/// Core's own have no route. A wait may want any of them, and a retry is routed by what it is; else
/// an alias is input of the work it names, and of the others nothing is. Reading B8. RETRY-21
fn own(derived: Option<Derived>) -> Option<Decision> {
    match derived {
        Some(Derived::Alias) => {
            Some(Decision::Update { attach: Vec::new(), control: Control::default() })
        }
        Some(Derived::Timeout | Derived::TurnEnded | Derived::Retry) => Some(Decision::Decline),
        Some(Derived::Continuation | Derived::Successor | Derived::Replay) | None => None,
    }
}

/// An event that is there.
pub(crate) fn whole(tx: &mut dyn Tx, seq: Seq) -> Result<Event, StoreError> {
    events::get(tx, seq)?
        .ok_or_else(|| StoreError::corrupt(format!("event {seq} is unrouted and missing")))
}

fn work_view(tx: &mut dyn Tx, id: WorkId) -> Result<(WorkId, i64, WorkView), StoreError> {
    let work = works::referred(tx, id)?;
    let view = WorkView {
        uid: TypeSafeId::from_uuid(work.uid.uuid()),
        kind: names::text(tx, work.kind)?,
        status: work.status,
        keys: keys::of_work(tx, id)?,
        attempt: work.attempt.map_or(0, |n| n.0),
    };
    Ok((id, work.revision, view))
}
