//! A world just large enough for one row: the Works, keys, waits and events that the law would look at, and the state that
//! the rows before left them in.
//!
//! Events leave the stage once nothing can come of them any more: what is staged is what is unrouted or pending, what the
//! row names, and what its effects descend from. Sequences are staged as their ranks, so that a Work may live as long as
//! it likes. The model takes its worlds as constants; a shape is therefore made once and kept, and a row that would need
//! more than 20,000 of them is not judged.
//!
//! Here are the shapes that all of it shares: a [`Stage`] that is being set, and a [`Set`] that is. What is put on a stage
//! has a file each: [`places`] gives what the ledger numbers its small number, [`offers`] is what the step may accept,
//! [`events`], [`intents`], [`works`] and [`waits`] are what the rows before left. A table that the law reads besides is
//! staged in one more file like these. [`set`] makes the world and the state of it, [`slots`] says where each event stands in that world,
//! and [`shape`] is all that differs between worlds.

mod events;
mod intents;
mod offers;
mod places;
mod set;
mod shape;
mod slots;
mod waits;
mod works;

use std::collections::BTreeSet;

use abide_model::index::EventIx;
use abide_model::state::{Event, State, Timer, Wait};
use abide_model::worlds::World;

use super::facts::{KeyNo, NameNo, WaitNo, WorkNo};
use super::ledger::Ledger;

use shape::Shape;
pub(super) use shape::{Asks, Decides, DoesWhat, Offer, Steers, shapes};
pub(super) use slots::{At, derived};

/// Works on a stage: the one concerned, a successor or parent, and owners of keys.
const WORKS: usize = 4;
/// Events that may be open at once.
const OPEN: usize = 64;
/// Events on a stage: what is open, and what the row and its effects name besides.
const EVENTS: usize = 96;
/// Waits on a stage: the last of the Work, the one concerned, and the subscription before it.
const WAITS: usize = 3;
/// Keys on a stage, as many as the model has bits for.
const KEYS: usize = 8;
/// How deep an event may be on a stage; deeper chains are staged by what they have left.
const DEPTH: u8 = 200;

/// The state of a stage.
pub(super) type Staged = State<WORKS, EVENTS, WAITS>;

/// Why a row cannot be staged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TooLarge(pub(super) &'static str);

/// An event of a stage: where it stands, which it is if it is accepted, and how it is staged.
#[derive(Debug, Clone, Copy)]
struct Placed {
    at: At,
    seq: Option<i64>,
    staged: Event,
    key: Option<KeyNo>,
    work: Option<u8>,
    /// It stands for a sequence only.
    boundary: bool,
}

/// A stage that is being set.
pub(super) struct Stage<'l> {
    ledger: &'l Ledger,
    now: i64,
    shape: Shape,
    works: Vec<Option<WorkNo>>,
    keys: Vec<KeyNo>,
    types: Vec<NameNo>,
    scopes: Vec<NameNo>,
    waits: Vec<(Option<WaitNo>, Wait)>,
    placed: Vec<Placed>,
    marks: BTreeSet<i64>,
    too_large: Option<TooLarge>,
    full: bool,
}

/// A stage that is set: the world, the state, and which is which.
pub(super) struct Set {
    pub(super) world: &'static World,
    pub(super) state: Staged,
    pub(super) works: Vec<Option<WorkNo>>,
    pub(super) keys: Vec<KeyNo>,
    pub(super) waits: Vec<Option<WaitNo>>,
    /// Events by slot: where each stands, and its sequence.
    pub(super) slots: Vec<(EventIx, At, Option<i64>)>,
    ranks: Vec<i64>,
}

impl<'l> Stage<'l> {
    /// An empty stage.
    pub(super) fn new(ledger: &'l Ledger, now: i64) -> Self {
        Self {
            ledger,
            now,
            shape: Shape::default(),
            works: Vec::new(),
            keys: Vec::new(),
            types: Vec::new(),
            scopes: Vec::new(),
            waits: Vec::new(),
            placed: Vec::new(),
            marks: BTreeSet::new(),
            too_large: None,
            full: false,
        }
    }
}

/// A countdown by the clock: reached or not.
fn due(timer: Timer, at: Option<i64>, now: i64) -> Timer {
    match (timer.ticks(), at) {
        (Some(_), Some(at)) => Timer::due_in(u8::from(now < at)),
        (Some(_) | None, _) => timer,
    }
}

/// The number of an attempt, as far as the model counts.
pub(super) fn number(attempt: u32) -> u8 {
    u8::try_from(attempt).map_or(DEPTH, |attempt| attempt.min(DEPTH))
}
