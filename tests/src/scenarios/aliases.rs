//! Aliases: what happens to one Work is news to another, once, under the dependent's own key.

use abide_model::action::{Mark, NamedAction};

use crate::scenario::Wanted::{Accepted, Code, Duplicate};
use crate::scenario::{
    Scenario, Shared, accept, cancel, claim, commit_route, create_work, deliver, evaluate,
    hand_off_declaring, register, replay, route, start, translate, wake,
};

/// One alias with its source as the cause wakes the dependent, and the source's key stays where it is.
pub(super) const DEPENDENCY_SUBSCRIPTION_ALIAS: Shared = Shared {
    id: "dependency_subscription_alias",
    rules: &[
        "ALIAS-01", "ALIAS-03", "ALIAS-05", "ALIAS-06", "ALIAS-07", "ALIAS-08", "ALIAS-09",
        "ALIAS-11", "BIND-05", "BIND-06", "OWN-01", "OWN-07", "WAIT-07",
    ],
    parts: || {
        vec![
            the_key_of_a_source_cannot_be_taken(),
            one_alias_with_its_source_as_cause_wakes_the_dependent(),
            a_repeated_translation_is_a_duplicate(),
            what_was_accepted_before_the_registration_is_translated_by_it(),
            aliases_of_one_subscription_are_made_in_order(),
            each_dependent_gets_an_alias_of_its_own(),
            a_cancelled_subscription_says_nothing_more(),
            a_woken_wait_says_nothing_more(),
            an_alias_too_deep_is_on_record_and_the_next_one_is_made(),
            another_scope_is_read_only_where_that_is_granted(),
            a_subscription_needs_a_key_for_its_aliases(),
            what_a_work_published_itself_is_no_news_to_it(),
        ]
    },
};

/// One attempt of the dependent runs.
fn running() -> Vec<NamedAction> {
    deliver("start-deploy").into_iter().chain(start("deploy")).collect()
}

/// The dependent waits for its source.
fn subscribed() -> Vec<NamedAction> {
    running().into_iter().chain([register("deploy", "built", Mark::Latest)]).collect()
}

fn the_key_of_a_source_cannot_be_taken() -> Scenario {
    Scenario::in_world("ownership", "the key of a source cannot be taken")
        .given([create_work("by-hand"), accept("second"), evaluate("second")])
        .step(commit_route("second"), Code("key_owned"))
        .sees("its owner has it still", |seen| seen.owner("c") == Some("three"))
}

fn one_alias_with_its_source_as_cause_wakes_the_dependent() -> Scenario {
    Scenario::in_world("aliases", "one alias with its source as cause wakes the dependent")
        .given(subscribed())
        .given([accept("green")])
        .step(wake("built"), Code("nothing_to_wake_from"))
        .step(translate("built", "green"), Accepted)
        .sees("the alias has the dependent's key and descends from its source", |seen| {
            let alias = seen.event("alias/built/green");
            alias.is_some_and(|alias| alias.key.as_deref() == Some("deploy/1"))
                && seen.chain("alias/built/green") == Some(("green", 1))
                && seen.mark("alias/built/green") == "unrouted"
        })
        .step(wake("built"), Accepted)
        .sees("it woke the dependent, and the source's key is nobody's of ours", |seen| {
            seen.winner("deploy").as_deref() == Some("alias/built/green")
                && seen.pending("deploy") == ["alias/built/green"]
                && seen.owner("ci/1").is_none()
                && seen.mark("green") == "unrouted"
        })
}

fn a_repeated_translation_is_a_duplicate() -> Scenario {
    Scenario::in_world("aliases", "a repeated translation is a duplicate")
        .given(subscribed())
        .given([accept("green"), translate("built", "green")])
        .step(translate("built", "green"), Duplicate)
        .given(route("alias/built/green"))
        .step(translate("built", "green"), Duplicate)
        .sees("there is one alias, and it woke once", |seen| {
            let aliases = seen.0.events.iter().filter(|event| event.event.starts_with("alias/"));
            aliases.count() == 1
                && seen.mark("alias/built/green") == "woke"
                && seen.pending("deploy") == ["alias/built/green"]
        })
}

fn what_was_accepted_before_the_registration_is_translated_by_it() -> Scenario {
    Scenario::in_world("aliases", "what was accepted before the registration is translated by it")
        .given(running())
        .given(deliver("green"))
        .step(register("deploy", "built", Mark::Batch), Accepted)
        .sees("it woke in the registering transaction, however its source was routed", |seen| {
            seen.mark("green") == "unmatched"
                && seen.wait_status("deploy") == "woken"
                && seen.winner("deploy").as_deref() == Some("alias/built/green")
        })
        .step(translate("built", "green"), Duplicate)
}

/// A Work of another world waits for a source that has more to say.
fn subscribed_to_more() -> Vec<NamedAction> {
    let registered = [register("deploy", "built", Mark::Latest)];
    deliver("start").into_iter().chain(start("deploy")).chain(registered).collect()
}

fn aliases_of_one_subscription_are_made_in_order() -> Scenario {
    Scenario::in_world("subscriptions", "aliases of one subscription are made in order")
        .given(subscribed_to_more())
        .given([accept("green"), accept("red")])
        .step(translate("built", "red"), Code("out_of_turn"))
        .step(translate("built", "green"), Accepted)
        .step(translate("built", "red"), Accepted)
        .step(wake("built"), Accepted)
        .sees("the lowest won", |seen| {
            seen.winner("deploy").as_deref() == Some("alias/built/green")
        })
}

fn each_dependent_gets_an_alias_of_its_own() -> Scenario {
    Scenario::in_world("aliases", "each dependent gets an alias of its own")
        .given(subscribed())
        .given(deliver("start-report"))
        .given(start("report"))
        .given([register("report", "known", Mark::Start), accept("green")])
        .step(translate("built", "green"), Accepted)
        .step(translate("known", "green"), Accepted)
        .given([wake("built"), wake("known")])
        .sees("both descend from the one source, each under its own key", |seen| {
            let key = |event: &str| seen.event(event).and_then(|seen| seen.key.clone());
            key("alias/built/green").as_deref() == Some("deploy/1")
                && key("alias/known/green").as_deref() == Some("report/1")
                && seen.chain("alias/built/green") == Some(("green", 1))
                && seen.chain("alias/known/green") == Some(("green", 1))
                && seen.status("deploy") == "ready"
                && seen.status("report") == "ready"
        })
}

fn a_cancelled_subscription_says_nothing_more() -> Scenario {
    Scenario::in_world("subscriptions", "a cancelled subscription says nothing more")
        .given(subscribed_to_more())
        .given([cancel("deploy"), accept("green")])
        .step(translate("built", "green"), Code("subscription_ended"))
        .sees("no alias was accepted and nothing runs", |seen| {
            seen.accepted() == 2 && seen.status("deploy") == "cancelled"
        })
        .step(claim("deploy"), Code("terminal"))
}

fn a_woken_wait_says_nothing_more() -> Scenario {
    Scenario::in_world("subscriptions", "a woken wait says nothing more")
        .given(subscribed_to_more())
        .given([accept("green"), translate("built", "green"), wake("built"), accept("red")])
        .step(translate("built", "red"), Code("subscription_ended"))
        .step(translate("built", "green"), Duplicate)
        .sees("there is no second alias, and the work is ready once", |seen| {
            seen.mark("alias/built/red") == "absent"
                && seen.pending("deploy") == ["alias/built/green"]
        })
}

fn an_alias_too_deep_is_on_record_and_the_next_one_is_made() -> Scenario {
    Scenario::in_world("subscriptions", "an alias too deep is on record, and the next one is made")
        .given(subscribed_to_more())
        .given(deliver("green"))
        .given([translate("built", "green"), replay("green", "again"), accept("red")])
        .step(translate("built", "again"), Code("depth_limit"))
        .step(translate("built", "red"), Accepted)
        .sees("the refusal is kept and what came after went through", |seen| {
            seen.0.rejections.len() == 1 && seen.chain("alias/built/red") == Some(("red", 1))
        })
}

fn another_scope_is_read_only_where_that_is_granted() -> Scenario {
    Scenario::in_world("aliases", "another scope is read only where that is granted")
        .given(subscribed())
        .given(deliver("start-report"))
        .given(start("report"))
        .step(register("report", "secret", Mark::Start), Code("scope_not_readable"))
        .sees("the attempt still runs", |seen| seen.attempt_status("report") == "running")
        .step(register("report", "known", Mark::Start), Accepted)
        .sees("reading gave it no key of the source", |seen| seen.owner("ci/1").is_none())
}

fn a_subscription_needs_a_key_for_its_aliases() -> Scenario {
    Scenario::in_world("aliases", "a subscription needs a key for its aliases")
        .given(running())
        .step(register("deploy", "keyless", Mark::Start), Code("key_not_owned"))
        .sees("the attempt still runs", |seen| seen.attempt_status("deploy") == "running")
}

fn what_a_work_published_itself_is_no_news_to_it() -> Scenario {
    Scenario::in_world("wait-races", "what a work published itself is no news to it")
        .given(deliver("start"))
        .given(start("fix"))
        .given(deliver("green"))
        .given([hand_off_declaring("fix")])
        .given(start("fix"))
        .step(register("fix", "echo", Mark::Batch), Accepted)
        .step(translate("echo", "ended/fix/1"), Code("nothing_to_translate"))
        .step(wake("echo"), Code("nothing_to_wake_from"))
        .given(route("ended/fix/1"))
        .sees("it waits on, and its own news woke nobody", |seen| {
            seen.status("fix") == "waiting" && seen.mark("ended/fix/1") == "unmatched"
        })
}
