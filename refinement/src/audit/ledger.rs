//! What the rows so far say, across Works: identities, events, keys, waits, and each Work as the law left it.
//!
//! Everything is by position: the event of sequence n stands at n - 1. Nothing is looked up twice, so that an audit takes
//! time in proportion to the rows.

use std::collections::{BTreeSet, HashMap};

use abide_model::outcome::RouteMark;
use abide_model::state::WorkStatus;

use super::args::Key;
use super::facts::{Account, Event, KeyFact, KeyNo, NameNo, WaitFact, WaitNo, WorkNo};

/// Everything the rows so far say.
#[derive(Debug, Default)]
pub(super) struct Ledger {
    /// The incarnation, less one. OURS-21
    pub(super) restores: u64,
    pub(super) restore_hold: bool,
    pub(super) events: Vec<Event>,
    pub(super) works: Vec<Account>,
    pub(super) waits: Vec<WaitFact>,
    pub(super) keys: Vec<KeyFact>,
    names: Vec<String>,
    name_at: HashMap<String, NameNo>,
    key_at: HashMap<Key, KeyNo>,
    work_at: HashMap<String, WorkNo>,
    wait_at: HashMap<String, WaitNo>,
    /// Sequences by identity: of deliveries, and of requests.
    pub(super) identities: HashMap<(String, String), i64>,
    pub(super) requests: HashMap<String, i64>,
    /// Bodies of deliveries by sequence, while they can be asked for.
    pub(super) bodies: HashMap<i64, String>,
    /// When a sender that signs bodies only last sent a body. OURS-17
    pub(super) signed: HashMap<(String, String), i64>,
    /// Running attempts by scope.
    running: HashMap<NameNo, u32>,
    /// How deep a root of a scope allows, as its last delivery said.
    pub(super) depths: HashMap<NameNo, u32>,
    /// How deep the root of some request allows is a guess.
    pub(super) guessed: bool,
    /// The current configuration.
    pub(super) generation: i64,
    pub(super) configuration: Option<String>,
    /// Rows were passed over whose effect on other Works nobody knows.
    pub(super) inexact: bool,
}

impl Ledger {
    /// Which life of the database the rows are in, from 1. OURS-21
    pub(super) fn incarnation(&self) -> u64 {
        self.restores.saturating_add(1)
    }

    /// The latest sequence given.
    pub(super) fn latest(&self) -> i64 {
        i64::try_from(self.events.len()).unwrap_or(i64::MAX)
    }

    /// The event of a sequence, if it is accepted.
    pub(super) fn event(&self, seq: i64) -> Option<&Event> {
        self.events.get(position(seq)?)
    }

    /// The same, to be changed.
    pub(super) fn event_mut(&mut self, seq: i64) -> Option<&mut Event> {
        self.events.get_mut(position(seq)?)
    }

    /// The number of a word.
    pub(super) fn name(&mut self, text: &str) -> NameNo {
        if let Some(known) = self.name_at.get(text) {
            return *known;
        }
        let fresh = NameNo(self.names.len());
        self.names.push(text.to_owned());
        self.name_at.insert(text.to_owned(), fresh);
        fresh
    }

    /// The word of a number.
    pub(super) fn text(&self, name: NameNo) -> &str {
        &self.names[name.0]
    }

    /// The number of a key.
    pub(super) fn key(&mut self, key: &Key) -> KeyNo {
        if let Some(known) = self.key_at.get(key) {
            return *known;
        }
        let fresh = KeyNo(self.keys.len());
        self.keys.push(KeyFact {
            named: key.clone(),
            owner: None,
            base: fresh,
            generation: 0,
            newest: fresh,
            unrouted: BTreeSet::new(),
            events: Vec::new(),
        });
        self.key_at.insert(key.clone(), fresh);
        fresh
    }

    /// A key in its newest generation. TERM-04
    pub(super) fn newest(&mut self, key: &Key) -> KeyNo {
        let key = self.key(key);
        self.keys[key.0].newest
    }

    /// The key that a successor of a Work would own.
    pub(super) fn next_key(&mut self, work: WorkNo) -> Option<KeyNo> {
        let first = self.works[work.0].first_key?;
        let base = self.keys[first.0].base;
        let newest = self.keys[base.0].newest;
        let generation = self.keys[newest.0].generation + 1;
        let Key { source, external_id } = self.keys[base.0].named.clone();
        let external_id = format!("{external_id}/generation/{generation}");
        Some(self.key(&Key { source, external_id }))
    }

    /// Makes a key the next generation of the one that its Work's predecessor first owned.
    pub(super) fn succeed(&mut self, old: WorkNo, new: WorkNo, next: Option<KeyNo>) {
        self.works[old.0].successor = Some(new);
        let (Some(first), Some(next)) = (self.works[old.0].first_key, next) else { return };
        let base = self.keys[first.0].base;
        let generation = self.keys[self.keys[base.0].newest.0].generation + 1;
        self.keys[next.0].base = base;
        self.keys[next.0].generation = generation;
        self.keys[base.0].newest = next;
        // It may have been named before it became a generation.
        let named = std::mem::take(&mut self.keys[next.0].events);
        self.keys[base.0].events.extend(named);
        self.keys[base.0].events.sort_unstable();
    }

    /// The Work of a name.
    pub(super) fn work_of(&self, name: &str) -> Option<WorkNo> {
        self.work_at.get(name).copied()
    }

    /// Gives a Work its name.
    pub(super) fn name_work(&mut self, work: WorkNo, name: &str) {
        self.works[work.0].name = Some(name.to_owned());
        self.work_at.insert(name.to_owned(), work);
    }

    /// The wait of a name.
    pub(super) fn wait_of(&self, name: &str) -> Option<WaitNo> {
        self.wait_at.get(name).copied()
    }

    /// Gives a wait its name.
    pub(super) fn name_wait(&mut self, wait: WaitNo, name: &str) {
        self.wait_at.insert(name.to_owned(), wait);
    }

    /// The Work an event speaks of by its target or its key.
    pub(super) fn speaks_of(&self, event: &Event) -> Option<WorkNo> {
        let owner = event.key.and_then(|key| self.keys[key.0].owner);
        event.target.or(owner).filter(|work| event.publisher != Some(*work))
    }

    /// What is accepted, has no mark and resolves to a Work, in order.
    pub(super) fn unrouted_of(&self, work: WorkNo) -> BTreeSet<i64> {
        let account = &self.works[work.0];
        let keyed = account.keys.iter().flat_map(|key| &self.keys[key.0].unrouted);
        let resolves = |seq: &i64| {
            self.event(*seq).is_some_and(|event| {
                event.publisher != Some(work)
                    && event.target.is_none_or(|target| target == work)
                    && (event.target.is_some() || event.scope == account.scope)
            })
        };
        keyed.chain(&account.aimed).copied().filter(resolves).collect()
    }

    /// Keeps an event as the next one, and where it is to be found.
    pub(super) fn accept(&mut self, event: Event) -> i64 {
        self.events.push(event);
        let seq = self.latest();
        if let Some(key) = event.key {
            let base = self.keys[key.0].base;
            self.keys[base.0].events.push(seq);
        }
        self.file(seq, event.mark == RouteMark::Unrouted);
        seq
    }

    /// Notes whether an event waits to be routed.
    pub(super) fn file(&mut self, seq: i64, unrouted: bool) {
        let Some(event) = self.event(seq).copied() else { return };
        let set = |filed: &mut BTreeSet<i64>| {
            if unrouted {
                filed.insert(seq);
            } else {
                filed.remove(&seq);
            }
        };
        if let Some(key) = event.key {
            set(&mut self.keys[key.0].unrouted);
        }
        if let Some(target) = event.target {
            set(&mut self.works[target.0].aimed);
        }
    }

    /// Attempts running in a scope and below. POLICY-06
    pub(super) fn running_below(&self, scope: &str) -> u32 {
        let lies_in = |name: &NameNo| {
            let text = self.text(*name);
            text == scope || text.strip_prefix(scope).is_some_and(|rest| rest.starts_with('/'))
        };
        self.running.iter().filter(|(name, _)| lies_in(name)).map(|(_, count)| count).sum()
    }

    /// Notes how the status of a Work moved.
    pub(super) fn moved(&mut self, scope: NameNo, from: WorkStatus, to: WorkStatus) {
        let runs = |status| u32::from(status == WorkStatus::Running);
        let count = self.running.entry(scope).or_default();
        *count = (*count + runs(to)).saturating_sub(runs(from));
    }
}

fn position(seq: i64) -> Option<usize> {
    usize::try_from(seq).ok()?.checked_sub(1)
}
