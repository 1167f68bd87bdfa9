//! What the surroundings may do: they speak the truth, and a world says which kinds of action they offer at all.

use crate::action::{Action, Authority, Commit, Env, Verdict};
use crate::index::{DeliveryIx, EventIx, WaitIx, WorkIx, below};
use crate::state::{AttemptStatus, Exclusion, Facts, Flag, Proposal, Timer, WaitStatus};
use crate::worlds::{Ask, When, World};

/// Every action the surroundings offer in a state, in a fixed order; what the law forbids is among them.
pub fn offered(world: &World, state: &dyn Facts) -> Vec<Action> {
    let mut actions = Vec::with_capacity(64);
    let mut push = |action: Action| {
        if world.offers(action.kind()) {
            actions.push(action);
        }
    };
    for delivery in below(world.deliveries.len()).map(DeliveryIx) {
        let def = world.delivery(delivery);
        match def.asks {
            _ if !has_come(state, def.when) => {}
            None => push(Commit::Accept { delivery }.into()),
            Some(ask) => offer_request(world, delivery, ask, &mut push),
        }
    }
    for event in below(world.slots()).map(EventIx) {
        offer_routing(state, event, &mut push);
    }
    for work in below(world.works.len()).map(WorkIx) {
        offer_work(world, state, work, &mut push);
    }
    for wait in below(world.waits.len()).map(WaitIx) {
        push(Commit::Wake { wait }.into());
        push(Commit::FireTimer { wait }.into());
        push(Commit::AcceptTimeout { wait }.into());
        for source in world.sources(wait) {
            push(Commit::Translate { wait, source }.into());
        }
    }
    let configuration = state.current().configuration;
    for configuration in [configuration, configuration + 1] {
        if configuration < world.configurations {
            push(Commit::Reload { configuration }.into());
        }
    }
    if time_matters(state) {
        push(Env::Tick.into());
    }
    if state.events().iter().any(|event| event.proposal != Proposal::None) {
        push(Env::Crash.into());
    }
    actions
}

fn has_come(state: &dyn Facts, when: When) -> bool {
    match when {
        When::Always => true,
        When::Exists(work) => state.exists(work),
        When::Started(work) => state.work(work).attempt.number > 0,
        When::Registered(wait) => state.wait(wait).status != WaitStatus::Unregistered,
        When::Ended(work) => state.work(work).status.terminal(),
        When::Attempt(work, number) => state.work(work).attempt.number >= number,
        When::Accepted(delivery) => state.is_accepted(delivery.into()),
    }
}

/// An operator's request is one action on one thing, under the attempts that this world lets an operator name.
fn offer_request(world: &World, request: DeliveryIx, ask: Ask, push: &mut impl FnMut(Action)) {
    match ask {
        Ask::Replay(event) => {
            push(Commit::Replay { event: world.event_of(event), request }.into());
        }
        Ask::Reopen(work) => {
            for expect in world.expects.iter().copied() {
                push(Commit::Reopen { work, expect, request }.into());
            }
        }
        Ask::Release(work) => {
            for expect in world.expects.iter().copied() {
                push(Commit::Release { work, expect, request }.into());
            }
        }
        Ask::Create { .. } => push(Commit::CreateWork { request }.into()),
    }
}

/// A handler reads unrouted events only; a commit of an unrouted event needs a proposal, any other takes any.
fn offer_routing(state: &dyn Facts, event: EventIx, push: &mut impl FnMut(Action)) {
    let proposal = state.event(event).proposal;
    if state.is_unrouted(event) && proposal != Proposal::Fresh {
        push(Env::Evaluate { event }.into());
    }
    if !state.is_unrouted(event) || proposal != Proposal::None {
        push(Commit::CommitRoute { event }.into());
    }
    push(Commit::Drop { event }.into());
}

fn offer_work(world: &World, state: &dyn Facts, work: WorkIx, push: &mut impl FnMut(Action)) {
    push(Commit::Claim { work }.into());
    for by in [Authority::Current, Authority::Stale] {
        push(Commit::ClearNeverHanded { work, by }.into());
        push(Commit::Pin { work, by }.into());
        push(Commit::Renew { work, by }.into());
        for (ending, declares) in world.endings.iter().copied() {
            if !declares || may_declare(world, state, work) {
                push(Commit::Complete { work, by, ending, declares }.into());
            }
        }
        push(Commit::Fail { work, by }.into());
        for wait in below(world.waits.len()).map(WaitIx) {
            offer_registration(world, state, work, by, wait, push);
        }
        for verdict in [Verdict::Adopted, Verdict::NotAdoptable] {
            push(Commit::SettleRecovery { work, by, verdict }.into());
        }
    }
    push(Commit::ClaimRecovery { work }.into());
    let marked = state.work(work).excluded != Exclusion::None;
    let exited = state.work(work).exited == Flag::Yes;
    if exited || (!marked && state.work(work).attempt.status != AttemptStatus::Running) {
        for segment in [Authority::Current, Authority::Stale] {
            push(Commit::Vacate { work, segment }.into());
        }
    }
    if marked && !exited {
        push(Env::ProcessExits { work }.into());
    }
    push(Commit::CloseIdle { work }.into());
    if !world.operated.contains(&work) {
        return;
    }
    let stands = world.kind(state.work(work).kind).standing;
    for expect in world.expects.iter().copied() {
        push(Commit::Cancel { work, expect, for_good: false }.into());
        if stands {
            push(Commit::Cancel { work, expect, for_good: true }.into());
        }
        push(Commit::Hold { work, expect }.into());
    }
}

/// Which turns may be published is a bound of the world.
fn may_declare(world: &World, state: &dyn Facts, work: WorkIx) -> bool {
    world.ended_of(work, state.work(work).attempt.number).is_some()
}

fn offer_registration(
    world: &World,
    state: &dyn Facts,
    work: WorkIx,
    by: Authority,
    wait: WaitIx,
    push: &mut impl FnMut(Action),
) {
    let def = world.wait(wait);
    if def.work == work && state.wait(wait).status == WaitStatus::Unregistered {
        for after in def.after.iter().copied() {
            push(Commit::RegisterWait { work, by, wait, after }.into());
        }
    }
}

/// Time matters while anything counts down.
fn time_matters(state: &dyn Facts) -> bool {
    let running = |timer: Timer| timer.ticks().is_some_and(|ticks| ticks > 0);
    state.works().iter().any(|work| {
        let charged = work.attempt.status == AttemptStatus::Running && running(work.attempt.active);
        work.attempt.lease > 0 || running(work.idle) || charged
    }) || state.events().iter().any(|event| event.suspect > 0)
        || state.waits().iter().any(|wait| running(wait.timer))
}
