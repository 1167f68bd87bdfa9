//! Ids and records: what the runtime talks about. No I/O, no SQL, no rules.

/// A type of its own for a number of one meaning; written, it is the number alone.
macro_rules! number {
    ($(#[$doc:meta])* $name:ident($inner:ty)) => {
        $(#[$doc])*
        #[derive(
            Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default,
            serde::Serialize, serde::Deserialize, schemars::JsonSchema,
        )]
        #[serde(transparent)]
        pub struct $name(pub $inner);
    };
}

mod actor;
mod attempt;
mod control;
mod event;
mod ids;
mod retry;
mod secret;
mod time;
mod wait;
mod work;

pub use actor::Actor;
pub use attempt::{
    AttemptStatus, Authority, BindingPin, Ending, Phase, ScopeLimit, Segment, StartReason, Verdict,
};
pub use control::{Control, ControlPolicy, Fallback, IntentKind, IntentStatus, SendAnswer};
pub use event::{
    CORE_PREFIX, CausalLimits, Decision, Event, IngressId, Key, MarkKind, NewEvent, Proposal,
    ProposedWork, Provenance, Request, SUSPECT_WITHIN,
};
pub use ids::{
    AttemptNo, AttemptUid, Epoch, EventUid, Generation, Incarnation, Seq, WaitId, WaitUid, WorkId,
    WorkUid, derived_uuid,
};
pub use retry::{Exhausted, HintFinding, RetryHint, RetryPolicy};
pub use secret::{Token, TokenHash};
pub use time::{Duration, Millis};
pub use wait::{Deadline, Source, WaitStatus};
pub use work::{Hold, Holds, WorkStatus};
