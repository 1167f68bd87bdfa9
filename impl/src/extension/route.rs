//! The contract of a route handler: detached views in, one decision out.
//!
//! The routes of a configuration file are the shipped implementation
//! ([`crate::config::Routes`]); a program that embeds the runtime may bring its own. A handler is
//! deterministic local computation: it calls no service, keeps no state, and what it returns is
//! its only effect. ROUTE-03 ROUTE-12 ROUTE-13 ROUTE-14

use serde::Serialize;
use serde_json::Value;

use crate::domain::{Control, EventUid, Key, Millis, NewEvent, WorkStatus, WorkUid};

/// Decides which Work an Event belongs to.
///
/// Both methods are called outside every transaction and may be called any number of times for one
/// Event: equal views must give equal answers. ROUTE-13 ROUTE-14
///
/// ```
/// use abide::extension::route::{
///     Decision, EventView, RouteAction, RouteError, RouteHandler, Tried, Why, WorkView,
/// };
///
/// /// One Work for each subject.
/// struct BySubject;
///
/// impl RouteHandler for BySubject {
///     fn identify(&self, event: &EventView) -> Result<Option<String>, RouteError> {
///         Ok(event.subject.clone())
///     }
///
///     fn evaluate(
///         &self,
///         event: &EventView,
///         _work: Option<&WorkView>,
///     ) -> Result<Decision, RouteError> {
///         let name = "by-subject".to_owned();
///         let matched = event.key.is_some();
///         let why = if matched { Why::Matched } else { Why::NoKey };
///         let tried = vec![Tried { route: name.clone(), why }];
///         if !matched {
///             return Ok(Decision { tried, ..Decision::default() });
///         }
///         Ok(Decision {
///             route: Some(name),
///             action: RouteAction::Work,
///             kind: Some("review".to_owned()),
///             tried,
///             ..Decision::default()
///         })
///     }
/// }
/// ```
pub trait RouteHandler: Send + Sync {
    /// The external id of the Event's key, computed once, before acceptance; `None` leaves the
    /// Event without one. It becomes part of the immutable Event, so that the order of a Work's
    /// events is known from acceptance on. INGRESS-03 OWN-05
    ///
    /// Not called for an Event whose sender named a key.
    ///
    /// # Errors
    /// The handler could not decide: nothing is accepted, and the sender is told.
    fn identify(&self, event: &EventView) -> Result<Option<String>, RouteError>;

    /// What should become of an accepted Event, given the Work it resolves to, if there is one.
    ///
    /// # Errors
    /// The handler could not decide: nothing commits, later routes are not tried and the Event
    /// stays unrouted until it is evaluated again. ROUTE-09
    fn evaluate(&self, event: &EventView, work: Option<&WorkView>) -> Result<Decision, RouteError>;
}

/// A detached copy of an Event, as a handler sees it. ROUTE-12
#[derive(Debug, Clone, PartialEq)]
pub struct EventView {
    /// Its id at the edge.
    pub uid: EventUid,
    /// Its acceptance order; `None` while it is only offered.
    pub seq: Option<i64>,
    /// Names the resource it is about.
    pub source: String,
    /// What kind of fact it is.
    pub event_type: String,
    /// Its key, once it has one.
    pub key: Option<Key>,
    /// What of the source it is about.
    pub subject: Option<String>,
    /// When the sender says it happened.
    pub time: Option<Millis>,
    /// The scope trusted configuration selected. INGRESS-08
    pub scope: String,
    /// Who did it and how far they are trusted, as its sender's payload says.
    pub sender: Sender,
    /// The payload; `null` where there is none.
    pub data: Value,
}

/// What a payload says of the person or program behind an Event.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Sender {
    /// The account's name at the provider.
    pub actor: Option<String>,
    /// Its standing towards the resource, in the provider's word, lower case: `member`.
    pub trust: Option<String>,
    /// It is this installation's own account: no route is tried. OURS-12
    pub is_self: bool,
}

impl EventView {
    /// The view of an Event that is only offered: without a sequence.
    #[must_use]
    pub fn offered(event: &NewEvent, data: Value, sender: Sender) -> Self {
        Self {
            uid: event.uid,
            seq: None,
            source: event.id.source.clone(),
            event_type: event.event_type.clone(),
            key: event.key.clone(),
            subject: event.subject.clone(),
            time: event.occurred_at,
            scope: event.scope.clone(),
            sender,
            data,
        }
    }

    /// The view of an accepted Event.
    #[must_use]
    pub fn accepted(event: &crate::domain::Event, data: Value, sender: Sender) -> Self {
        Self {
            uid: event.uid,
            seq: Some(event.seq.0),
            source: event.id.source.clone(),
            event_type: event.event_type.clone(),
            key: event.key.clone(),
            subject: event.subject.clone(),
            time: event.occurred_at,
            scope: event.scope.clone(),
            sender,
            data,
        }
    }
}

/// A detached copy of the Work an Event resolves to. ROUTE-12
#[derive(Debug, Clone, PartialEq)]
pub struct WorkView {
    /// Its id at the edge.
    pub uid: WorkUid,
    /// Its kind, fixed at creation.
    pub kind: String,
    /// Where it is in its lifecycle.
    pub status: WorkStatus,
    /// Every key it owns. OWN-01
    pub keys: Vec<Key>,
    /// The number of its last attempt; 0 before the first.
    pub attempt: u32,
}

/// What a handler answered for one Event.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Decision {
    /// The route that matched; `None` leaves the Event unmatched. ROUTE-10
    pub route: Option<String>,
    /// What the matching route does; [`RouteAction::Decline`] if none matched.
    pub action: RouteAction,
    /// The kind of a Work to create, should the Event resolve to none; only
    /// [`RouteAction::Work`] has one. An Event with neither key nor target gets a fresh Work by a
    /// kind here and never otherwise. ROUTE-24 ROUTE-25
    pub kind: Option<String>,
    /// What becomes of the Event while an attempt of the Work it resolves to runs; looked at only
    /// for [`RouteAction::Work`] and [`RouteAction::Update`]. POLICY-01 POLICY-26 POLICY-33
    pub control: Control,
    /// External ids, in the namespace of the Event's own source, that the Work is to own as well;
    /// only for [`RouteAction::Work`] and [`RouteAction::Update`]. OWN-03 ROUTE-24
    pub attach: Vec<String>,
    /// Should the Event resolve to terminal Work: make a successor of it. TERM-03 TERM-08
    pub reopen: bool,
    /// Every route that was tried, in order, and why it ended as it did. ROUTE-08
    pub tried: Vec<Tried>,
}

/// What a route does with an Event. OURS-01 OURS-02
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RouteAction {
    /// Nothing wanted it. ROUTE-10
    #[default]
    Decline,
    /// Input of the Work it resolves to, or of a new one.
    Work,
    /// Input of the Work it resolves to; never makes one.
    Update,
    /// Kept and never input, whatever its Work is doing.
    Drop,
    /// Cancels the Work it resolves to, with the Event as the cause.
    Close,
}

/// One route that was tried.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Tried {
    /// Its name.
    pub route: String,
    /// Why it matched or did not.
    pub why: Why,
}

/// Why a route matched or did not.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case", tag = "code", content = "detail")]
pub enum Why {
    /// It matched, and no later route was tried. ROUTE-08
    Matched,
    /// None of its `on` patterns names the Event's type.
    OtherType,
    /// Its `when` is false.
    WhenFalse,
    /// Its `when` reads a field that is not there; names the field. OURS-04
    AbsentField(String),
    /// The Event has neither key nor Work, and the route asks for one: its `key` is null, or it acts
    /// on Work that is there. OURS-04 ROUTE-25
    NoKey,
}

/// Why a handler could not decide; the Event stays as it is. ROUTE-09 OURS-04
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("route `{route}`: {kind}")]
pub struct RouteError {
    /// The route that was being tried; empty if it is not known.
    pub route: String,
    /// What went wrong.
    pub kind: RouteErrorKind,
}

/// What went wrong in a handler.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RouteErrorKind {
    /// An expression does not fit the payload's types.
    #[error("its `{field}` failed: {message}")]
    Type {
        /// The expression: `when`, `key` or `attach`.
        field: &'static str,
        /// What the evaluator said.
        message: String,
    },
    /// An expression gave another type than its place asks for.
    #[error("its `{field}` gave {got}, not {want}")]
    Result {
        /// The expression: `when`, `key` or `attach`.
        field: &'static str,
        /// The type it gave.
        got: String,
        /// The type its place asks for.
        want: &'static str,
    },
    /// An expression read a list or made a key that is longer than one may be.
    #[error("its `{field}` meets {what}")]
    TooLarge {
        /// The expression: `when`, `key` or `attach`.
        field: &'static str,
        /// What is too long.
        what: String,
    },
    /// The evaluation was abandoned.
    #[error("evaluation took longer than {ms} ms and was abandoned")]
    Deadline {
        /// The deadline.
        ms: u64,
    },
    /// The handler broke; the message is for its author.
    #[error("the handler broke: {0}")]
    Broken(String),
}

impl RouteErrorKind {
    /// The stable name, as journal and API show it.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Type { .. } => "expression_type",
            Self::Result { .. } => "expression_result",
            Self::TooLarge { .. } => "expression_size",
            Self::Deadline { .. } => "expression_deadline",
            Self::Broken(_) => "handler_broken",
        }
    }
}
