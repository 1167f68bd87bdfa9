//! What a person may do to a Work: hold, release, retry, interrupt, cancel and reopen it. What is allowed is the
//! law's to say.
//!
//! Such a request is read, performed and answered in one place, [`Act`]; an act itself only says which
//! command it is.

use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::{FromRequest, Request as HttpRequest, State};
use axum::http::StatusCode;
use axum::response::Response;
use axum::{Extension, Json};
use type_safe_id::TypeSafeId;
use uuid::Uuid;

use super::lists::restore_row;
use super::once::{Acting, LIMITS};
use super::{body, ids, rows};
use crate::api::extract::Named;
use crate::api::problem::{ApiError, settled};
use crate::api::types::{ActRequest, InterruptRow, RestoreRow, WorkRow};
use crate::command::{Command, Outcome, Receipt, Refusal};
use crate::domain::{AttemptNo, AttemptStatus, CausalLimits, Request, Seq, WorkId, WorkUid};
use crate::host::Context;
use crate::store::attempts::Attempt;
use crate::store::{pages, reads};

/// The Work that was acted on.
type Acted = Result<Json<WorkRow>, ApiError>;

/// The Work that was made: 201 for what is new, 200 for what was made before.
pub(super) type Made = Result<(StatusCode, Json<WorkRow>), ApiError>;

/// Lets no attempt of a Work start; holding it again changes nothing. OURS-06
pub(super) async fn hold(act: Act) -> Acted {
    act.perform(|asked @ &Asked { work, expect, .. }| {
        Ok(Command::Hold { work, expect, reason: asked.reason()? })
    })
    .await
}

/// Lifts every hold of a Work. WAKE-24 OURS-06
pub(super) async fn release(act: Act) -> Acted {
    act.perform(|asked @ &Asked { work, expect, .. }| {
        Ok(Command::Release { work, expect, request: asked.request() })
    })
    .await
}

/// Lets the next attempt of failed Work start at once, its failures counted anew. RETRY-26 RETRY-27
pub(super) async fn retry(act: Act) -> Acted {
    act.perform(|asked @ &Asked { work, expect, .. }| {
        Ok(Command::Retry { work, expect, request: asked.request() })
    })
    .await
}

/// Stops the one running attempt of a Work, and changes no route and nothing else of it. CTRL-01
pub(super) async fn interrupt(act: Act) -> Result<Json<InterruptRow>, ApiError> {
    let prepare = async {
        let asked = act.read().await?;
        asked.says_only_which()?;
        let &Asked { work, expect, .. } = &asked;
        let implemented = implements_interrupt(&act.context, work).await?;
        Ok(Command::Interrupt { work, expect, request: asked.request(), implemented })
    };
    let outcome = act.acting.perform_one(&act.context, prepare).await?;
    let (receipt, _) = settled(outcome)?;
    let Receipt::Event { seq } = receipt else {
        tracing::error!(?receipt, "an interrupt was answered with another receipt");
        return Err(ApiError::unavailable());
    };
    let row = row(&act.context, marked(&act.context, seq).await?).await?;
    Ok(Json(InterruptRow { work: rows::work(&act.context, &row), event: seq.0 }))
}

/// Cancels a Work for good; cancelling it again changes nothing. CANCEL-01 OURS-10
pub(super) async fn cancel(act: Act) -> Acted {
    act.perform(|asked @ &Asked { work, expect, .. }| {
        Ok(Command::Cancel { work, expect, for_good: asked.said.for_good, reason: asked.reason()? })
    })
    .await
}

/// Makes a successor of ended Work, and answers it. OURS-11
pub(super) async fn reopen(act: Act) -> Made {
    act.make(|asked @ &Asked { work, expect, .. }| {
        Ok(Command::Reopen { work, expect, request: asked.request(), successor: fresh() })
    })
    .await
}

/// Lifts the restore hold: nothing of the database's other life runs on. OURS-21
pub(super) async fn release_restore(
    State(context): State<Arc<Context>>,
    Extension(acting): Extension<Acting>,
    _body: Bytes,
) -> Result<Json<RestoreRow>, ApiError> {
    // It is about no scope, and nothing descends from it.
    let command = async { Ok(Command::ReleaseRestore { request: acting.request(LIMITS) }) };
    settled(acting.perform_one(&context, command).await?)?;
    Ok(Json(restore_row(&context).await?))
}

/// A request to act on a Work, as it came: a repeat of one is answered without looking into it.
pub(super) struct Act {
    context: Arc<Context>,
    acting: Acting,
    id: String,
    body: Bytes,
}

/// What is asked of which Work, and by whom.
struct Asked<'a> {
    by: &'a Acting,
    work: WorkId,
    /// Its last attempt as whoever asks saw it. OURS-09
    expect: Option<AttemptNo>,
    /// Limits of its scope.
    limits: CausalLimits,
    said: ActRequest,
}

/// Which command an act is.
type ToCommand = fn(&Asked<'_>) -> Result<Command, ApiError>;

impl FromRequest<Arc<Context>> for Act {
    type Rejection = Response;

    async fn from_request(request: HttpRequest, context: &Arc<Context>) -> Result<Self, Response> {
        type Parts = (Extension<Acting>, Named, Bytes);

        let (Extension(acting), Named(id), body) = Parts::from_request(request, context).await?;
        Ok(Self { context: Arc::clone(context), acting, id, body })
    }
}

impl Act {
    /// Performs it, and answers the Work.
    async fn perform(self, command: ToCommand) -> Acted {
        let outcome = self.outcome(command).await?;
        let (row, _) = answer(&self.context, outcome).await?;
        Ok(row)
    }

    /// The same of what makes a Work, which is the one that is answered.
    async fn make(self, command: ToCommand) -> Made {
        let outcome = self.outcome(command).await?;
        made(&self.context, outcome).await
    }

    async fn outcome(&self, command: ToCommand) -> Result<Outcome, ApiError> {
        let prepare = async { command(&self.read().await?) };
        self.acting.perform_one(&self.context, prepare).await
    }

    async fn read(&self) -> Result<Asked<'_>, ApiError> {
        let said: ActRequest = body::parse_any(&self.body, "no request to act on a work")?;
        let expect = said.expect_attempt.map(AttemptNo);
        let id = self.id.clone();
        let found = self.context.read(move |tx| {
            Ok(match ids::work(tx, &id)? {
                Ok(work) => Ok((work, pages::work(tx, work)?)),
                Err(error) => Err(error),
            })
        });
        let (work, row) = found.await??;
        let limits = limits(&self.context, &row.ok_or(Refusal::UnknownWork)?.scope);
        Ok(Asked { by: &self.acting, work, expect, limits, said })
    }
}

/// Whether the executor that a Work's last attempt is pinned to implements interrupt now, whatever
/// the pin claims. Whether there is such an attempt, and what its pin claims, is the law's to ask. CTRL-06
async fn implements_interrupt(context: &Arc<Context>, work: WorkId) -> Result<bool, ApiError> {
    let mut running = running_of(context, work).await?;
    if running.is_none() {
        // One may be claimed just now, and its executor would be said to lack what nobody asked.
        running = running_of(context, work).await?;
    }
    let Some(attempt) = running.filter(|attempt| attempt.pin.interrupts) else { return Ok(false) };
    let pinned = context.pinned(work, attempt.n).await;
    let pinned = pinned.map_err(|why| ApiError::unconfigured(&why))?;
    Ok(pinned.executor.capabilities().interrupts)
}

async fn running_of(context: &Arc<Context>, work: WorkId) -> Result<Option<Attempt>, ApiError> {
    let last = context.read(move |tx| reads::last_attempt(tx, work)).await?;
    Ok(last.filter(|attempt| attempt.status == AttemptStatus::Running))
}

impl Asked<'_> {
    /// Why, as it is kept.
    fn reason(&self) -> Result<String, ApiError> {
        self.by.says(&self.said.reason)
    }

    /// Refuses what nothing would come of: an interrupt has no other form, and no reason is kept of
    /// it, as of every act that accepts an event.
    fn says_only_which(&self) -> Result<(), ApiError> {
        let word = match self.said {
            ActRequest { for_good: true, .. } => "for_good",
            ActRequest { ref reason, .. } if !reason.is_empty() => "reason",
            ActRequest { .. } => return Ok(()),
        };
        Err(ApiError::malformed(format!("an interrupt takes no `{word}`"))
            .next("leave it out; to end the work itself, cancel it"))
    }

    /// The identity of the event that this accepts.
    fn request(&self) -> Request {
        self.by.request(self.limits)
    }
}

/// An id for a Work that is to be made.
pub(super) fn fresh() -> WorkUid {
    TypeSafeId::from_uuid(Uuid::now_v7())
}

/// A scope that is not configured any more gets what one without a word would.
pub(super) fn limits(context: &Context, scope: &str) -> CausalLimits {
    context.current().config.scope(scope).map_or(LIMITS, |scope| scope.limits)
}

/// What is answered where a Work was made, now or before.
pub(super) async fn made(context: &Arc<Context>, outcome: Outcome) -> Made {
    let (row, before) = answer(context, outcome).await?;
    Ok((if before { StatusCode::OK } else { StatusCode::CREATED }, row))
}

/// The Work that was acted on, or that was made, and whether it was so before.
async fn answer(
    context: &Arc<Context>,
    outcome: Outcome,
) -> Result<(Json<WorkRow>, bool), ApiError> {
    let (receipt, before) = settled(outcome)?;
    let work = if let Receipt::Held { work } | Receipt::Cancelled { work } = receipt {
        work
    } else if let Receipt::Event { seq } = receipt {
        marked(context, seq).await?
    } else {
        tracing::error!(?receipt, "an action was answered with another receipt");
        return Err(ApiError::unavailable());
    };
    let row = row(context, work).await?;
    Ok((Json(rows::work(context, &row)), before))
}

/// The Work that the event of a request is associated with.
async fn marked(context: &Arc<Context>, seq: Seq) -> Result<WorkId, ApiError> {
    let mark = context.read(move |tx| pages::mark(tx, seq)).await?;
    mark.and_then(|(_, work)| work).ok_or_else(|| {
        tracing::error!(%seq, "the event of a request is associated with no work");
        ApiError::unavailable()
    })
}

/// A Work as it is now.
pub(super) async fn row(context: &Arc<Context>, work: WorkId) -> Result<pages::WorkRow, ApiError> {
    let row = context.read(move |tx| pages::work(tx, work)).await?;
    Ok(row.ok_or(Refusal::UnknownWork)?)
}
