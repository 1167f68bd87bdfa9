//! What there is to say of one thing each: of an event, of a key, of a wait, of a Work. The ledger holds them by number.
//!
//! A table of the runtime that rows speak of has a number and a fact here.

use std::collections::{BTreeSet, HashMap, VecDeque};

use abide_model::outcome::RouteMark;
use abide_model::state::{Fallback, IntentKind, IntentStatus, Timer, WaitStatus, Work};
use abide_model::worlds::Controls;

use super::args::{Key, Policy};

/// Steps of a Work that are told with a finding.
const STORY: usize = 10;

macro_rules! places {
    ($($(#[$doc:meta])* $name:ident)*) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub(super) struct $name(pub(super) usize);
    )*};
}

places! {
    /// A Work of the ledger.
    WorkNo
    /// A wait of the ledger.
    WaitNo
    /// A key of the ledger.
    KeyNo
    /// A type, a scope or another word of the ledger.
    NameNo
}

/// How an event came to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Born {
    /// A sender delivered it, or an operator replayed what one had delivered.
    Sent,
    /// An operator's request became it.
    Asked,
    /// The timeout of a wait.
    Timeout(WaitNo),
    /// What continues a wake.
    Continuation(WaitNo),
    /// An alias.
    Alias,
    /// The end of a turn.
    Ended,
    /// The retry of a failed attempt.
    Retry(WorkNo, u32),
    /// The first input of a successor that a route made.
    Created,
    /// A row was not judged, so that nobody knows.
    Unknown,
}

/// An accepted event.
#[derive(Debug, Clone, Copy)]
pub(super) struct Event {
    pub(super) born: Born,
    pub(super) key: Option<KeyNo>,
    pub(super) target: Option<WorkNo>,
    /// The Work whose execution published it.
    pub(super) publisher: Option<WorkNo>,
    pub(super) kind: NameNo,
    pub(super) scope: NameNo,
    /// How many derivations its root still allows below it.
    pub(super) left: u32,
    pub(super) mark: RouteMark,
    pub(super) work: Option<WorkNo>,
    pub(super) intent: Option<Intended>,
}

/// The intent of an event: how it is to reach an attempt of its Work, or was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Intended {
    pub(super) kind: IntentKind,
    pub(super) status: IntentStatus,
    /// The attempt it was committed for. POLICY-23
    pub(super) attempt: u32,
    pub(super) on_error: Fallback,
}

impl Event {
    /// An event of which nothing but its birth is known.
    pub(super) fn blank(born: Born, kind: NameNo, scope: NameNo, left: u32) -> Self {
        Self {
            born,
            key: None,
            target: None,
            publisher: None,
            kind,
            scope,
            left,
            mark: RouteMark::Unrouted,
            work: None,
            intent: None,
        }
    }

    /// Whether core made an event itself, to say what it did.
    pub(super) fn is_cores(&self) -> bool {
        match self.born {
            Born::Sent => false,
            Born::Asked
            | Born::Timeout(_)
            | Born::Continuation(_)
            | Born::Alias
            | Born::Ended
            | Born::Created
            | Born::Retry(..)
            | Born::Unknown => true,
        }
    }
}

/// An external identity.
#[derive(Debug, Clone)]
pub(super) struct KeyFact {
    pub(super) named: Key,
    pub(super) owner: Option<WorkNo>,
    /// The key it is a generation of; itself if it is none.
    pub(super) base: KeyNo,
    pub(super) generation: u32,
    /// The newest generation of a base; itself for a generation. TERM-04
    pub(super) newest: KeyNo,
    /// What of it is accepted and has no mark.
    pub(super) unrouted: BTreeSet<i64>,
    /// Every event of this base and its generations, in order.
    pub(super) events: Vec<i64>,
}

/// A wait.
#[derive(Debug, Clone)]
pub(super) struct WaitFact {
    pub(super) work: WorkNo,
    pub(super) keys: Vec<KeyNo>,
    pub(super) types: Vec<NameNo>,
    pub(super) source: Option<(KeyNo, NameNo)>,
    pub(super) status: WaitStatus,
    pub(super) watermark: i64,
    pub(super) winner: Option<i64>,
    pub(super) fire_at: Option<i64>,
    /// Its timer as the law left it; how much remains is told by `fire_at`.
    pub(super) timer: Timer,
    pub(super) cause: Option<i64>,
    pub(super) subscribed: bool,
    pub(super) checkpoint: i64,
    pub(super) subscription: u8,
    pub(super) timeout: Option<i64>,
    pub(super) continuation: Option<i64>,
    /// The aliases it made, by their sources.
    pub(super) aliases: HashMap<i64, i64>,
}

/// A Work as the law left it. What the model's `Work` names by index stands beside it.
#[derive(Debug, Clone)]
pub(super) struct Account {
    pub(super) name: Option<String>,
    pub(super) state: Work,
    pub(super) scope: NameNo,
    pub(super) standing: bool,
    pub(super) keys: Vec<KeyNo>,
    pub(super) first_key: Option<KeyNo>,
    pub(super) trigger: Option<i64>,
    pub(super) cause: Option<i64>,
    pub(super) released: Option<i64>,
    pub(super) wake: Option<WaitNo>,
    pub(super) last_wait: Option<WaitNo>,
    pub(super) successor: Option<WorkNo>,
    /// The number of its last attempt; 0 before the first.
    pub(super) attempt: u32,
    /// The last epoch of that attempt.
    pub(super) epoch: u64,
    pub(super) expires_at: i64,
    pub(super) resumes: bool,
    pub(super) holds_until_pin: bool,
    /// What the pin of its last attempt supports. POLICY-26
    pub(super) controls: Controls,
    /// The segment that the exclusion mark names.
    pub(super) marked: Option<(u32, u64)>,
    pub(super) idle_at: Option<i64>,
    /// The failed attempt that its backoff names.
    pub(super) backoff: Option<u32>,
    pub(super) retry_at: Option<i64>,
    /// What its last attempt's failures lead to.
    pub(super) policy: Policy,
    /// The retry events of its attempts.
    pub(super) retries: HashMap<u32, i64>,
    /// How often what a handler sees of it changed. ROUTE-15
    pub(super) revision: i64,
    pub(super) pending: BTreeSet<i64>,
    /// What is to reach its running attempt and was not answered.
    pub(super) intents: BTreeSet<i64>,
    /// What names it and has no mark.
    pub(super) aimed: BTreeSet<i64>,
    pub(super) subscriptions: HashMap<(KeyNo, NameNo), WaitNo>,
    /// Why it is not judged any more.
    pub(super) undecided: Option<String>,
    pub(super) story: VecDeque<String>,
}

impl Account {
    /// Work that is being made.
    pub(super) fn new(name: Option<String>, scope: NameNo, standing: bool) -> Self {
        Self {
            name,
            state: Work::default(),
            scope,
            standing,
            keys: Vec::new(),
            first_key: None,
            trigger: None,
            cause: None,
            released: None,
            wake: None,
            last_wait: None,
            successor: None,
            attempt: 0,
            epoch: 0,
            expires_at: 0,
            resumes: false,
            holds_until_pin: false,
            controls: Controls::NONE,
            marked: None,
            idle_at: None,
            backoff: None,
            retry_at: None,
            policy: Policy::default(),
            retries: HashMap::new(),
            revision: 1,
            pending: BTreeSet::new(),
            intents: BTreeSet::new(),
            aimed: BTreeSet::new(),
            subscriptions: HashMap::new(),
            undecided: None,
            story: VecDeque::new(),
        }
    }

    /// Tells one more step, and forgets what is long ago.
    pub(super) fn tell(&mut self, step: String) {
        tell(&mut self.story, step);
    }
}

/// Tells one more step, and forgets what is long ago.
pub(super) fn tell(story: &mut VecDeque<String>, step: String) {
    if story.len() == STORY {
        story.pop_front();
    }
    story.push_back(step);
}
