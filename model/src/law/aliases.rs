//! Aliases: what a subscription selects reaches the dependent Work as an event of its own, once, under its own key.

use crate::index::{EventIx, Maybe, WaitIx};
use crate::law::{Law, causality, registered};
use crate::mutants::Mutant;
use crate::outcome::{Deferral, Outcome, Receipt, Refusal};
use crate::state::{Facts, Flag, ITSELF_REJECTED};
use crate::worlds::Origin;

/// Turns one event of the source into its alias, in the order of acceptance. ALIAS-01 to ALIAS-11
pub(super) fn translate(
    law: &Law,
    state: &mut impl Facts,
    wait: WaitIx,
    source: EventIx,
) -> Outcome {
    if !registered(state, wait) {
        return Refusal::UnknownWait.into();
    }
    if !state.is_accepted(source) {
        return Refusal::UnknownEvent.into();
    }
    if let Some(alias) = law.world.alias_of(wait, source)
        && state.is_accepted(alias)
        && !law.broken(Mutant::AliasTwice)
    {
        return Outcome::Duplicate(Receipt::Sequence(state.event(alias).seq));
    }
    // A wait that is over has no use for news. ALIAS-11
    if state.wait(wait).subscribed == Flag::No {
        return Refusal::SubscriptionEnded.into();
    }
    if !selects(law, state, wait, source) {
        return Refusal::NothingToTranslate.into();
    }
    let lower = state.selected(law.world, wait).first().copied();
    if lower.is_some_and(|lower| state.event(lower).seq < state.event(source).seq)
        && !law.broken(Mutant::AliasOutOfOrder)
    {
        return Deferral::OutOfTurn.into();
    }
    match alias(law, state, wait, source) {
        Some(seq) => Receipt::Sequence(seq).into(),
        None => Refusal::DepthLimit.into(),
    }
}

/// Translates what is accepted already, so that what came before registration is not missed, until one alias is
/// accepted: it wakes the wait, and the rest is for the next subscription. ALIAS-03
pub(super) fn catch_up(law: &Law, state: &mut impl Facts, wait: WaitIx) {
    if law.broken(Mutant::SubscriptionScanSkipped) {
        return;
    }
    for source in state.selected(law.world, wait) {
        let accepted = alias(law, state, wait, source).is_some();
        if accepted && !law.broken(Mutant::CatchUpRunsOn) {
            break;
        }
    }
}

fn selects(law: &Law, state: &impl Facts, wait: WaitIx, source: EventIx) -> bool {
    if state.selects(law.world, wait, source) {
        return true;
    }
    let own = state.about(law.world, source).publisher == Some(law.world.wait(wait).work);
    let again = law.world.alias_of(wait, source).is_some_and(|alias| state.is_accepted(alias));
    let of_source = state.of_source(law.world, wait, source)
        && !matches!(law.world.origin(source), Origin::Alias(..));
    let new = state.event(source).seq > state.wait(wait).checkpoint;
    let silenced = state.silenced(source);
    of_source
        && ((own && new && law.broken(Mutant::OwnPublicationTranslated))
            || (silenced && new && law.broken(Mutant::SilencedTranslated))
            || (again && law.broken(Mutant::AliasTwice)))
}

/// The alias and the checkpoint are one commit. A refused alias is on record, and the subscription goes on behind it.
/// ALIAS-05 to ALIAS-07 REJECT-01
fn alias(law: &Law, state: &mut impl Facts, wait: WaitIx, source: EventIx) -> Option<u8> {
    let alias = law.world.alias_of(wait, source).expect("a world lists what a source may select");
    let seq = if law.broken(Mutant::CheckpointWithoutAlias) {
        Some(state.event(source).seq)
    } else {
        causality::accept_derived(law, state, alias, Some(source))
    };
    let refused = seq.is_none();
    if state.is_accepted(alias) {
        let first = law.world.wait(wait).keys.first().map(|key| state.newest(law.world, *key));
        state.event_mut(alias).key = Maybe::of_key(first);
        if let (Some(key), true) =
            (state.event(source).key.key(), law.broken(Mutant::AliasAttaches))
        {
            let work = law.world.wait(wait).work;
            state.work_mut(work).keys |= 1 << key;
        }
        if law.broken(Mutant::AliasResetsDepth) {
            state.event_mut(alias).depth = 0;
        }
    } else if refused {
        state.event_mut(alias).rejected |= ITSELF_REJECTED;
    }
    let stays =
        law.broken(Mutant::CheckpointStays) || (refused && law.broken(Mutant::RefusedAliasStalls));
    if !stays {
        state.wait_mut(wait).checkpoint = state.event(source).seq;
    }
    seq
}
