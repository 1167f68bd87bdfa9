//! How much each door takes. The numbers are limits of this version, not settings.

use std::time::Duration;

/// Limits of one door.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Open connections; one more waits in the system's backlog.
    pub connections: usize,
    /// Requests at once; one more is answered 503 with `Retry-After`.
    pub requests: usize,
    /// The largest body, in bytes; an ingress may be stricter.
    pub body: usize,
    /// Bytes of bodies held in memory at once by all requests of the door.
    pub bodies: usize,
    /// Headers of one request.
    pub headers: usize,
    /// Bytes of request line and headers.
    pub header_bytes: usize,
    /// How long a connection may take to send its headers, the time between two requests included.
    pub header_time: Duration,
    /// How long a body may take to arrive.
    pub body_time: Duration,
    /// How long a request may take in all; GitHub gives up after 10 s.
    pub time: Duration,
}

const MIB: usize = 1 << 20;

/// The hooks door faces strangers: what it holds for them is bounded before anything is verified.
pub const HOOKS: Limits = Limits {
    connections: 512,
    requests: 256,
    body: 25 * MIB,
    bodies: 128 * MIB,
    headers: 64,
    header_bytes: 32 << 10,
    header_time: Duration::from_secs(30),
    body_time: Duration::from_secs(6),
    time: Duration::from_secs(9),
};

/// The operator door serves programs of this machine; a batch of events may be large.
pub const OPERATOR: Limits = Limits {
    connections: 128,
    requests: 64,
    body: 25 * MIB,
    bodies: 128 * MIB,
    headers: 64,
    header_bytes: 32 << 10,
    header_time: Duration::from_secs(60),
    body_time: Duration::from_secs(20),
    time: Duration::from_secs(30),
};

/// The tool door serves processes of attempts: many, and each says little.
pub const TOOL: Limits = Limits {
    connections: 1024,
    requests: 256,
    body: MIB,
    bodies: 32 * MIB,
    headers: 32,
    header_bytes: 16 << 10,
    header_time: Duration::from_secs(60),
    body_time: Duration::from_secs(10),
    time: Duration::from_secs(30),
};
