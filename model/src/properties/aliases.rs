//! Subscriptions and their aliases.

use crate::action::{Action, Commit};
use crate::index::{EventIx, WaitIx};
use crate::mutants::Mutant;
use crate::outcome::{Outcome, Refusal, RouteMark};
use crate::properties::{Holds, Moment, Property, Step};
use crate::state::{Flag, ITSELF_REJECTED, WaitStatus};

/// The properties of this area.
pub const ALL: &[Property] = &[
    ONE_ALIAS,
    CHECKPOINT,
    NOTHING_SKIPPED,
    IN_SOURCE_ORDER,
    OWN_KEY,
    SOURCE_UNTOUCHED,
    CAUGHT_UP,
    AT_MOST_ONE,
    GOES_ON,
    SILENT,
    NEEDS_NO_ROUTE,
    ENDS_WITH_WAIT,
    READABLE,
    NO_ECHO,
];

/// Asking again finds the alias there is.
pub const ONE_ALIAS: Property = Property {
    name: "an event is translated at most once for a subscription",
    rules: &["ALIAS-06", "ALIAS-08"],
    caught: &[(Mutant::AliasTwice, "subscriptions")],
    holds: Holds::Step(|step| match step.committed() {
        Some(Commit::Translate { wait, source }) => {
            !step.world.alias_of(wait, source).is_some_and(|alias| step.before.is_accepted(alias))
        }
        Some(_) | None => true,
    }),
};

/// Whether accepted or refused by a limit, a translation is behind the subscription.
pub const CHECKPOINT: Property = Property {
    name: "a translation moves its subscription's checkpoint to its source",
    rules: &["ALIAS-07", "ALIAS-02"],
    caught: &[
        (Mutant::CheckpointStays, "subscriptions"),
        (Mutant::RefusedAliasStalls, "subscriptions"),
    ],
    holds: Holds::Step(|step| match (step.action, step.outcome) {
        (
            Action::Commit(Commit::Translate { wait, source }),
            Outcome::Accepted(_) | Outcome::Refused(Refusal::DepthLimit),
        ) => step.after.wait(wait).checkpoint == step.before.event(source).seq,
        (_, _) => true,
    }),
};

/// The checkpoint never passes what has neither an alias nor the record of its refusal.
pub const NOTHING_SKIPPED: Property = Property {
    name: "no checkpoint passes a source event without its alias or the record of its refusal",
    rules: &["ALIAS-07", "ALIAS-05", "REJECT-01"],
    caught: &[(Mutant::CheckpointWithoutAlias, "subscriptions")],
    holds: Holds::Step(|step| {
        step.before().waits().all(|wait| {
            let (before, after) = step.wait(wait);
            let stands = before.subscribed == Flag::Yes && after.subscribed == Flag::Yes;
            !stands || passed(step, wait).all(|source| settled(step, wait, source))
        })
    }),
};

fn passed<'a>(step: &'a Step<'_>, wait: WaitIx) -> impl Iterator<Item = EventIx> + 'a {
    let reached = step.after.wait(wait).checkpoint;
    step.before
        .selected(step.world, wait)
        .into_iter()
        .filter(move |source| step.before.event(*source).seq <= reached)
}

fn settled(step: &Step<'_>, wait: WaitIx, source: EventIx) -> bool {
    step.world.alias_of(wait, source).is_some_and(|alias| {
        let event = step.after.event(alias);
        event.seq > 0 || event.rejected & ITSELF_REJECTED != 0
    })
}

/// Aliases of one subscription are accepted in the order of what they stand for.
pub const IN_SOURCE_ORDER: Property = Property {
    name: "aliases follow the order of their sources",
    rules: &["ALIAS-03", "ALIAS-07", "WAKE-02"],
    caught: &[(Mutant::AliasOutOfOrder, "subscriptions")],
    holds: Holds::Step(|step| match step.committed() {
        Some(Commit::Translate { wait, source }) => step
            .before
            .selected(step.world, wait)
            .iter()
            .all(|lower| step.before.event(*lower).seq >= step.before.event(source).seq),
        Some(_) | None => true,
    }),
};

/// News of another's key reaches the dependent under its own.
pub const OWN_KEY: Property = Property {
    name: "an alias has exactly one key, and that is its dependent's own",
    rules: &["ALIAS-05", "ALIAS-01"],
    caught: &[(Mutant::AliasWithoutKey, "aliases")],
    holds: Holds::State(|now| {
        aliases(now).all(|(alias, wait, _)| {
            let owner = now.state.event(alias).key.key().and_then(|key| now.state.owner(key));
            owner == Some(now.world.wait(wait).work)
        })
    }),
};

fn aliases<'a>(now: &'a Moment<'_>) -> impl Iterator<Item = (EventIx, WaitIx, EventIx)> + 'a {
    now.accepted().filter_map(|event| {
        now.world.origin(event).alias().map(|(wait, source)| (event, wait, source))
    })
}

/// To depend on a Work is not to own anything of it.
pub const SOURCE_UNTOUCHED: Property = Property {
    name: "registering and translating leave every key with the owner it had",
    rules: &["ALIAS-01", "ALIAS-08", "BIND-06"],
    caught: &[(Mutant::AliasAttaches, "subscriptions")],
    holds: Holds::Step(|step| match step.committed() {
        Some(Commit::Translate { .. } | Commit::RegisterWait { .. }) => step
            .before()
            .works()
            .all(|work| step.before.work(work).keys == step.after.work(work).keys),
        Some(_) | None => true,
    }),
};

/// What came just before registration is aliased like what comes just after.
pub const CAUGHT_UP: Property = Property {
    name: "registration leaves nothing of its source untranslated",
    rules: &["ALIAS-03", "WAIT-14"],
    caught: &[(Mutant::SubscriptionScanSkipped, "aliases")],
    holds: Holds::Step(|step| match step.committed() {
        Some(Commit::RegisterWait { wait, .. }) => step.after.selected(step.world, wait).is_empty(),
        Some(_) | None => true,
    }),
};

/// What is over produces nothing more.
pub const ENDS_WITH_WAIT: Property = Property {
    name: "a subscription stands only while its wait is active",
    rules: &["ALIAS-11", "WAKE-08", "WAKE-12"],
    caught: &[
        (Mutant::WakeLeavesSubscription, "subscriptions"),
        (Mutant::CancelLeavesSubscription, "subscriptions"),
    ],
    holds: Holds::State(|now| {
        now.state
            .waits()
            .iter()
            .all(|wait| wait.subscribed == Flag::No || wait.status == WaitStatus::Active)
    }),
};

/// Another scope is read by grant.
pub const READABLE: Property = Property {
    name: "a subscription reads its own scope and those that were granted",
    rules: &["ALIAS-09", "BIND-05"],
    caught: &[(Mutant::ScopeUnchecked, "aliases")],
    holds: Holds::State(|now| {
        now.waits().filter(|wait| now.state.wait(*wait).subscribed == Flag::Yes).all(|wait| {
            let def = now.world.wait(wait);
            let scope = now.state.work(def.work).scope;
            def.source.is_some_and(|source| now.world.may_read(scope, source.scope))
        })
    }),
};

/// The self-publication test is not got round by way of an alias.
pub const NO_ECHO: Property = Property {
    name: "what a Work published never comes back to it as an alias",
    rules: &["WAIT-06", "WAIT-07", "ALIAS-05"],
    caught: &[(Mutant::OwnPublicationTranslated, "wait-races")],
    holds: Holds::State(|now| {
        aliases(now).all(|(_, wait, source)| {
            now.state.about(now.world, source).publisher != Some(now.world.wait(wait).work)
        })
    }),
};

/// The alias wakes the wait; what else there is would reach a wait that is over.
pub const AT_MOST_ONE: Property = Property {
    name: "registration accepts at most one alias, and that wakes the wait",
    rules: &["ALIAS-03", "WAKE-08", "WAIT-18"],
    caught: &[(Mutant::CatchUpRunsOn, "subscriptions")],
    holds: Holds::Step(|step| match step.committed() {
        Some(Commit::RegisterWait { wait, .. }) => {
            let born = step.newly_accepted().filter(|event| is_alias(step, *event)).count();
            born == 0 || (born == 1 && step.after.wait(wait).status == WaitStatus::Woken)
        }
        Some(_) | None => true,
    }),
};

fn is_alias(step: &Step<'_>, event: EventIx) -> bool {
    step.world.origin(event).alias().is_some()
}

/// A burst at the source is not reduced to its first event.
pub const GOES_ON: Property = Property {
    name: "a subscription goes on where the last one to the same source ended",
    rules: &["ALIAS-02", "ALIAS-07", "WAIT-17"],
    caught: &[(Mutant::SubscriptionForgets, "bursts")],
    holds: Holds::Step(|step| match step.committed() {
        Some(Commit::RegisterWait { wait, .. }) => {
            let Some(last) = step.before.subscribed_before(step.world, wait) else {
                return true;
            };
            let (from, to) = (step.before.wait(last).checkpoint, step.after.wait(wait).checkpoint);
            let missed = |event: EventIx| {
                let seq = step.before.event(event).seq;
                let of_source = step.before.of_source(step.world, wait, event)
                    && !is_alias(step, event)
                    && !step.before.silenced(event)
                    && step.before.about(step.world, event).publisher
                        != Some(step.world.wait(wait).work);
                of_source && seq > from && seq <= to && !settled(step, wait, event)
            };
            !step.before().accepted().any(missed)
        }
        Some(_) | None => true,
    }),
};

/// What a person silenced is not heard by way of an alias.
pub const SILENT: Property = Property {
    name: "nothing that an operator dropped or that is suspect is translated",
    rules: &["OURS-07", "OURS-17"],
    caught: &[(Mutant::SilencedTranslated, "aliases")],
    holds: Holds::Step(|step| {
        step.newly_accepted()
            .filter_map(|event| step.world.origin(event).alias())
            .all(|(_, source)| !step.before.silenced(source))
    }),
};

/// What was translated for a Work is that Work's, whether it still waits or not.
pub const NEEDS_NO_ROUTE: Property = Property {
    name: "an alias of open Work is its input, by a wake or not",
    rules: &["ALIAS-05", "POLICY-03"],
    caught: &[(Mutant::AliasNeedsRoute, "subscriptions")],
    holds: Holds::State(|now| {
        aliases(now).all(|(alias, _, _)| {
            matches!(
                now.state.event(alias).mark,
                RouteMark::Unrouted | RouteMark::Queued | RouteMark::Woke | RouteMark::Terminal
            )
        })
    }),
};
