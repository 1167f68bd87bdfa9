//! What a configuration says once it is read: typed, validated and immutable.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use serde_json::Value;

use super::{Routes, Secret};
use crate::domain::{CausalLimits, Control, Duration, RetryPolicy};
use crate::extension::executor::Capabilities;
use crate::extension::route::RouteAction;

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

/// A place in the tree that owns routes, capacity and authority, with what it inherits resolved.
///
/// Everything here is *effective*: inherited from the scopes above it by name, the definition
/// nearest to it winning whole. ROUTE-04 ROUTE-07 BIND-01 BIND-02
#[derive(Debug, Clone)]
pub struct Scope {
    /// Its name; `/` makes the hierarchy.
    pub name: String,
    /// Running attempts at once in it and below; `None` leaves that to the scopes above. POLICY-06
    pub capacity: Option<u32>,
    /// Limits pinned with each root accepted into it. CAUSE-23
    pub limits: CausalLimits,
    /// Other scopes on whose keys its Work may wait; not inherited. BIND-05 ALIAS-09
    pub read_scopes: Vec<String>,
    /// Its routes in evaluation order, as they are written. ROUTE-04 ROUTE-06
    pub routes: Vec<Arc<Route>>,
    /// The same routes, compiled.
    pub handler: Routes,
    /// Its kinds of Work.
    pub kinds: BTreeMap<String, Arc<Kind>>,
    /// Its bindings.
    pub bindings: BTreeMap<String, Arc<Binding>>,
}

impl Scope {
    /// The binding that runs a kind of Work here; `None` if there is no such kind.
    #[must_use]
    pub fn binding_of(&self, kind: &str) -> Option<&Arc<Binding>> {
        self.bindings.get(&self.kinds.get(kind)?.binding)
    }
}

/// One route as it is written; [`super::Routes`] is what evaluates it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Route {
    /// Its name, unique in its scope. ROUTE-05
    pub name: String,
    /// The scope that declares it, which may be above the one it is effective in.
    pub declared_in: String,
    /// Type patterns, of which one must match first.
    pub on: Vec<String>,
    /// An expression that must hold.
    pub when: Option<String>,
    /// An expression that yields the external id of the Event's key.
    pub key: Option<String>,
    /// An expression that yields external ids that the Work is to own as well.
    pub attach: Option<String>,
    /// What becomes of the Event. OURS-01 OURS-02
    pub action: RouteAction,
    /// The kind of a Work it creates; only a route that creates has one.
    pub kind: Option<String>,
    /// What becomes of the Event while an attempt of its Work runs. POLICY-01 POLICY-27
    pub control: Control,
    /// `route.config` of its expressions; opaque. BIND-07
    pub config: Value,
}

/// A kind of Work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kind {
    /// Its name.
    pub name: String,
    /// The name of its binding, resolved in the scope its Work is in. BIND-02
    pub binding: String,
    /// Its Work outlives its attempts and is cancelled for good or not at all. OURS-10
    pub standing: bool,
    /// Type patterns of Events that make a successor of its terminal Work. TERM-03 TERM-08
    pub reopen: Vec<String>,
    /// How long its Work may be idle after a handoff before it is closed.
    pub close_after: Option<Duration>,
    /// What the failures of its attempts lead to; pinned with each. RETRY-03 RETRY-31
    pub retry: RetryPolicy,
}

/// The executors that a binding may name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExecutorKind {
    /// Any command; its exit status tells what came of it.
    Shell,
    /// A command that speaks stream-json on its standard input and output; its answer tells.
    Agent,
}

impl ExecutorKind {
    /// Its name in a configuration.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Shell => "shell",
            Self::Agent => "agent",
        }
    }

    /// What it implements; a binding advertises a part of that. POLICY-26
    #[must_use]
    pub const fn implements(self) -> Capabilities {
        match self {
            Self::Shell | Self::Agent => Capabilities {
                resumes: true,
                holds_until_pin: true,
                injects: true,
                interrupts: true,
            },
        }
    }
}

/// A named executor configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Binding {
    /// Its name.
    pub name: String,
    /// The scope that declares it: with the name it says which definition this is.
    pub declared_in: String,
    /// What runs it.
    pub executor: ExecutorKind,
    /// The program, with its path resolved, and its arguments.
    pub command: Vec<String>,
    /// A file whose text an agent is told first of all.
    pub prompt: Option<PathBuf>,
    /// It advertises that its executor continues a parked attempt. BIND-10
    pub resumes: bool,
    /// It advertises that an Event can be offered to its running process. POLICY-26
    pub injects: bool,
    /// It advertises that its running process can be interrupted. POLICY-26
    pub interrupts: bool,
    /// Variables of the daemon's environment it is given; nothing else is.
    pub env: Vec<String>,
    /// Active time an attempt may use, waits not counted; `None`: as much as it takes. WAKE-27
    pub timeout: Option<Duration>,
    /// How long a lease lasts between renewals.
    pub lease: Duration,
    /// How long a process may take to stop before it is killed.
    pub stop_grace: Duration,
}
