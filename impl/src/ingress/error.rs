//! What an ingress refuses, each with its own code, status and next step.

use axum::http::StatusCode;

use crate::extension::route::RouteError;

/// Why bytes from outside did not become an Event. Nothing was accepted. INGRESS-01
///
/// `Display` says what is so and the next step; it never repeats a secret, a signature or a
/// payload.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum IngressError {
    /// No `[[ingress]]` has this name.
    #[error("there is no ingress `{name}`: check the address against the configuration")]
    UnknownIngress {
        /// The name asked for.
        name: String,
    },
    /// Larger than this door takes.
    #[error("the body is larger than {max} bytes: send less, or raise `max` of this ingress")]
    PayloadTooLarge {
        /// The most this door takes.
        max: u64,
    },
    /// No signature where one is required.
    #[error("there is no `{header}` header: set the webhook's secret on the sending side")]
    MissingSignature {
        /// The header that carries it.
        header: &'static str,
    },
    /// A signature that none of the ingress's secrets made.
    #[error("the signature matches no secret of this ingress: compare the secrets on both sides")]
    WrongSignature,
    /// A header without which the delivery has no identity or type.
    #[error("there is no usable `{header}` header: every delivery needs one")]
    MissingHeader {
        /// The header.
        header: &'static str,
    },
    /// The sender gave no id, so a repeat could not be told from a new event. INGRESS-05
    #[error("the delivery has no id: send `{place}`, the same one when you repeat it")]
    MissingDeliveryId {
        /// Where it is looked for.
        place: &'static str,
    },
    /// Not one of the media types this door reads.
    #[error("this door does not read `{given}`: send {wanted}")]
    UnsupportedMediaType {
        /// The type given.
        given: String,
        /// The types it reads.
        wanted: &'static str,
    },
    /// Bytes that are not UTF-8.
    #[error("the body is not UTF-8 (first bad byte at {at}): JSON must be")]
    NotUtf8 {
        /// Offset of the first bad byte.
        at: usize,
    },
    /// UTF-8 that is not JSON.
    #[error("the body is not JSON (line {line}, column {column}): {message}")]
    NotJson {
        /// Line of the body.
        line: usize,
        /// Column of that line.
        column: usize,
        /// What the parser expected.
        message: String,
    },
    /// JSON, but not an object.
    #[error("the body is JSON but not an object: send one object")]
    NotObject,
    /// A CloudEvents attribute that is missing, empty or of the wrong form.
    #[error("the attribute `{name}` {problem}")]
    BadAttribute {
        /// The attribute.
        name: String,
        /// What is wrong with it, and what would be right.
        problem: String,
    },
    /// An attribute only Abide itself may set. INGRESS-08
    #[error("the attribute `{name}` is Abide's own and is never taken from outside: leave it out")]
    ReservedAttribute {
        /// The attribute.
        name: String,
    },
    /// A source whose prefix belongs to another kind of ingress. INGRESS-12
    #[error(
        "the source `{source_name}` belongs to another kind of ingress: choose your own prefix"
    )]
    ReservedSource {
        /// The source given.
        source_name: String,
    },
    /// A type of a core family. CAUSE-07
    #[error("types that begin with `core.` are core's own: choose another type")]
    CoreType,
    /// A payload that names no resource an identity could be formed from. INGRESS-12
    #[error("the payload names no {wanted}: such a delivery has no source")]
    NoSource {
        /// What was looked for.
        wanted: &'static str,
    },
    /// The signed resource has no scope here. INGRESS-08
    #[error("`{resource}` has no scope here: add it to `scopes` of this ingress")]
    UnknownScope {
        /// The resource, as the provider names it.
        resource: String,
    },
    /// More events in one request than are taken at once.
    #[error("the batch holds more than {max} events: send it in parts")]
    BatchTooLarge {
        /// The most that are taken.
        max: usize,
    },
    /// One event of a batch; nothing of the batch was accepted.
    #[error("event {index} of the batch: {error}")]
    InBatch {
        /// Its place, counted from 1.
        index: usize,
        /// What is wrong with it.
        error: Box<IngressError>,
    },
    /// No key could be computed, so the Event's place is not known. OURS-04
    #[error("{0}: the event is not accepted; correct the route, then have it delivered again")]
    Route(RouteError),
}

impl IngressError {
    /// The stable name, `code` of the problem document.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::UnknownIngress { .. } => "unknown_ingress",
            Self::PayloadTooLarge { .. } => "payload_too_large",
            Self::MissingSignature { .. } => "missing_signature",
            Self::WrongSignature => "wrong_signature",
            Self::MissingHeader { .. } => "missing_header",
            Self::MissingDeliveryId { .. } => "missing_delivery_id",
            Self::UnsupportedMediaType { .. } => "unsupported_media_type",
            Self::NotUtf8 { .. } => "not_utf8",
            Self::NotJson { .. } => "not_json",
            Self::NotObject => "not_object",
            Self::BadAttribute { .. } => "bad_attribute",
            Self::ReservedAttribute { .. } => "reserved_attribute",
            Self::ReservedSource { .. } => "reserved_source",
            Self::CoreType => "core_type",
            Self::NoSource { .. } => "no_source",
            Self::UnknownScope { .. } => "unknown_scope",
            Self::BatchTooLarge { .. } => "batch_too_large",
            Self::InBatch { error, .. } => error.code(),
            Self::Route(error) => error.kind.code(),
        }
    }

    /// The HTTP status that goes with it.
    #[must_use]
    pub fn status(&self) -> StatusCode {
        match self {
            Self::UnknownIngress { .. } => StatusCode::NOT_FOUND,
            Self::PayloadTooLarge { .. } | Self::BatchTooLarge { .. } => {
                StatusCode::PAYLOAD_TOO_LARGE
            }
            Self::MissingSignature { .. } | Self::WrongSignature => StatusCode::UNAUTHORIZED,
            Self::UnsupportedMediaType { .. } => StatusCode::UNSUPPORTED_MEDIA_TYPE,
            // As the law answers it for whatever reaches the law.
            Self::CoreType => StatusCode::CONFLICT,
            Self::UnknownScope { .. } | Self::ReservedSource { .. } => StatusCode::FORBIDDEN,
            Self::MissingHeader { .. }
            | Self::MissingDeliveryId { .. }
            | Self::NotUtf8 { .. }
            | Self::NotJson { .. }
            | Self::NotObject
            | Self::BadAttribute { .. }
            | Self::ReservedAttribute { .. }
            | Self::NoSource { .. } => StatusCode::BAD_REQUEST,
            Self::InBatch { error, .. } => error.status(),
            // A configuration's fault: a sender that tries again may find it corrected.
            Self::Route(_) => StatusCode::SERVICE_UNAVAILABLE,
        }
    }
}

impl From<RouteError> for IngressError {
    fn from(error: RouteError) -> Self {
        Self::Route(error)
    }
}
