//! What a configuration says once it is read: typed, validated and immutable.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::PathBuf;

use serde_json::Value;

use super::Secret;
use crate::domain::{CausalLimits, Duration};

/// Where the daemon keeps what it knows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Daemon {
    /// The folder of database, sockets, attempt folders and output; created 0700.
    pub state: PathBuf,
    /// The database file; relative paths are relative to `state`.
    pub database: PathBuf,
}

/// The doors of the daemon.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listen {
    /// Where webhooks arrive; `None` without the word.
    pub hooks: Option<SocketAddr>,
    /// The principals' socket; relative paths are relative to `state`.
    pub operator: PathBuf,
    /// The attempts' socket; relative paths are relative to `state`.
    pub tool: PathBuf,
}

/// What a principal may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Right {
    /// Read everything.
    View,
    /// Send events and act on Work.
    Work,
    /// Give verdicts.
    Consent,
    /// Reload and inspect configuration.
    Config,
}

/// A person or program with a token of its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Principal {
    /// Its name, as the journal shows it.
    pub name: String,
    /// Where its token is; not read at load, since the first start creates an absent file.
    pub token: SecretSource,
    /// What it may do.
    pub may: Vec<Right>,
}

/// Where a secret is kept. Configuration files hold no secrets themselves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SecretSource {
    /// An environment variable of the daemon.
    Env(String),
    /// A file; its trailing line break is not part of the secret.
    File(PathBuf),
}

/// What kind of sender an ingress is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IngressKind {
    /// GitHub webhooks.
    Github,
    /// CloudEvents over HTTP.
    Http,
}

/// How trusted configuration selects the scope of a delivery. INGRESS-08
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ScopeRule {
    /// Every delivery goes to this scope.
    One(String),
    /// By the exact name of the signed resource: GitHub's `owner/repository`, a CloudEvent's
    /// source.
    ByResource(BTreeMap<String, String>),
}

/// A configured way in: `POST /hooks/NAME`.
#[derive(Debug, Clone)]
pub struct Ingress {
    /// Its name in the address.
    pub name: String,
    /// Its kind.
    pub kind: IngressKind,
    /// How its deliveries get their scope.
    pub scope: ScopeRule,
    /// Any of these may have signed a delivery; empty only on an unsigned loopback ingress.
    pub secrets: Vec<Secret>,
    /// Accounts of this installation: their events are accepted and no route is tried. OURS-12
    pub self_accounts: Vec<String>,
    /// The largest body it takes, in bytes.
    pub max: u64,
}

/// The one scope of this version.
#[derive(Debug, Clone)]
pub struct Scope {
    /// Its name; `/` makes the hierarchy of later versions.
    pub name: String,
    /// Running attempts at once. POLICY-06
    pub capacity: u32,
    /// Limits pinned with each root accepted into it. CAUSE-23
    pub limits: CausalLimits,
    /// Its routes in evaluation order. ROUTE-06
    pub routes: Vec<Route>,
    /// Its one kind of Work.
    pub kind: Kind,
    /// The binding of that kind.
    pub binding: Binding,
}

/// One route as it is written; [`super::Routes`] is what evaluates it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Route {
    /// Its name, unique in its scope. ROUTE-05
    pub name: String,
    /// Type patterns, of which one must match first.
    pub on: Vec<String>,
    /// An expression that must hold.
    pub when: Option<String>,
    /// An expression that yields the external id of the Event's key.
    pub key: Option<String>,
    /// The kind of a Work it creates.
    pub kind: String,
    /// `route.config` of its expressions; opaque. BIND-07
    pub config: Value,
}

/// A kind of Work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kind {
    /// Its name.
    pub name: String,
    /// The name of its binding.
    pub binding: String,
}

/// A named executor configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Binding {
    /// Its name.
    pub name: String,
    /// The program, with its path resolved, and its arguments.
    pub command: Vec<String>,
    /// Its executor continues a parked attempt. BIND-10
    pub resumes: bool,
    /// Variables of the daemon's environment it is given; nothing else is.
    pub env: Vec<String>,
    /// How long a lease lasts between renewals.
    pub lease: Duration,
    /// How long a process may take to stop before it is killed.
    pub stop_grace: Duration,
}
