//! Causality: a derived event descends from an accepted one, one deeper on the same root, or is refused.

use crate::index::EventIx;
use crate::law::Law;
use crate::mutants::Mutant;
use crate::state::{Event, Facts};

/// Numbers a derived event under its parent. Over the limit nothing is written and the answer is `None`.
/// CAUSE-03 CAUSE-14 CAUSE-15 CAUSE-29
pub(super) fn accept_derived(
    law: &Law,
    state: &mut impl Facts,
    event: EventIx,
    parent: Option<EventIx>,
) -> Option<u8> {
    // Nothing derived is ever promoted to a root. CAUSE-02
    let parent = *state.event(parent?);
    let depth = if law.broken(Mutant::DepthReset) { 0 } else { parent.depth + 1 };
    if depth > law.world.depth_max && !law.broken(Mutant::DepthUnchecked) {
        return None;
    }
    let root = if law.broken(Mutant::RootForgotten) { event.into() } else { parent.root };
    let seq = state.latest() + u8::from(!law.broken(Mutant::SequenceReused));
    *state.event_mut(event) = Event { seq, root, depth, ..Event::default() };
    Some(seq)
}
