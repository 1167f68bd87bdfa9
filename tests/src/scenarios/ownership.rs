//! Ownership: keys attach together or not at all, stay for good, and only a successor goes on under a new one.

use crate::scenario::Wanted::{Accepted, Code, Duplicate};
use crate::scenario::{
    Scenario, Seen, Shared, accept, cancel, commit_route, crash, create_work, deliver, drop_event,
    evaluate, expecting, reopen, replay, route, start,
};
use abide_model::action::Expect;

/// Keys attach together or not at all, and the events of one owner take effect in order.
pub(super) const MULTI_KEY_ATTACHMENT_CONFLICT_AND_ORDER: Shared = Shared {
    id: "multi_key_attachment_conflict_and_order",
    rules: &[
        "OWN-01", "OWN-05", "OWN-06", "OWN-07", "OWN-08", "OWN-09", "OWN-10", "OWN-13", "ROUTE-17",
        "BIND-03", "BIND-04",
    ],
    parts: || {
        vec![
            keys_attach_all_together(),
            one_key_of_another_work_stops_the_whole_decision(),
            a_key_of_another_work_is_not_taken_by_who_has_a_free_one(),
            attaching_a_key_again_changes_nothing(),
            events_of_several_keys_take_effect_in_acceptance_order(),
            what_has_a_mark_is_no_input_of_a_later_owner(),
            a_child_lies_in_the_scope_of_its_parent_unless_authorised(),
        ]
    },
};

fn keys_attach_all_together() -> Scenario {
    Scenario::in_world("ownership", "keys attach all together").given(deliver("first")).sees(
        "one work owns both, and they stay two keys",
        |seen| {
            seen.owner("a") == Some("one")
                && seen.owner("b") == Some("one")
                && seen.owner("c").is_none()
                && seen.pending("one") == ["first"]
        },
    )
}

fn one_key_of_another_work_stops_the_whole_decision() -> Scenario {
    Scenario::in_world("ownership", "one key of another work stops the whole decision")
        .given([create_work("by-hand"), accept("second"), evaluate("second")])
        .step(commit_route("second"), Code("key_owned"))
        .sees("no key moved, no work was made and the event is unrouted", |seen| {
            seen.owner("a").is_none()
                && seen.owner("b").is_none()
                && seen.owner("c") == Some("three")
                && seen.mark("second") == "unrouted"
                && seen.0.works.len() == 1
        })
}

fn a_key_of_another_work_is_not_taken_by_who_has_a_free_one() -> Scenario {
    Scenario::in_world("ownership", "a key of another work is not taken by who has a free one")
        .given(deliver("first"))
        .given([accept("third"), evaluate("third")])
        .step(commit_route("third"), Code("key_owned"))
        .sees("the free key stays free", |seen| {
            seen.owner("c").is_none()
                && seen.owner("a") == Some("one")
                && seen.status("three") == "absent"
                && seen.mark("third") == "unrouted"
        })
}

fn attaching_a_key_again_changes_nothing() -> Scenario {
    Scenario::in_world("ownership", "attaching a key again changes nothing")
        .given(deliver("first"))
        .given(deliver("second"))
        .step(commit_route("second"), Duplicate)
        .sees("the key it had is its own still, and the new one came", |seen| {
            ["a", "b", "c"].iter().all(|key| seen.owner(key) == Some("one"))
                && seen.pending("one") == ["first", "second"]
        })
}

fn events_of_several_keys_take_effect_in_acceptance_order() -> Scenario {
    Scenario::in_world("ownership", "events of several keys take effect in acceptance order")
        .given([accept("first"), accept("second"), accept("third")])
        .given(route("second"))
        .sees("the keys it attached make the others its backlog", |seen| {
            ["a", "b", "c"].iter().all(|key| seen.owner(key) == Some("two"))
        })
        .given([evaluate("third")])
        .step(commit_route("third"), Code("out_of_turn"))
        .given(route("first"))
        .step(commit_route("third"), Accepted)
        .sees("one work has all three, in order", |seen| {
            seen.0.works.len() == 1 && seen.pending("two") == ["first", "second", "third"]
        })
}

fn what_has_a_mark_is_no_input_of_a_later_owner() -> Scenario {
    Scenario::in_world("ownership", "what has a mark is no input of a later owner")
        .given([accept("second")])
        .step(drop_event("second"), Accepted)
        .given(deliver("first"))
        .sees("its key has an owner now, and its mark stays", |seen| {
            seen.owner("b") == Some("one")
                && seen.mark("second") == "operator_drop"
                && seen.pending("one") == ["first"]
        })
}

fn a_child_lies_in_the_scope_of_its_parent_unless_authorised() -> Scenario {
    Scenario::in_world("ownership", "a child lies in the scope of its parent unless authorised")
        .step(create_work("child"), Code("unknown_work"))
        .given(deliver("first"))
        .step(create_work("stray-child"), Code("wrong_scope"))
        .sees("nothing was made", |seen| seen.status("below") == "absent")
        .step(create_work("child"), Accepted)
        .step(create_work("child"), Duplicate)
        .sees("it is a child, and its first input says so", |seen| {
            let below = seen.work("below");
            below.is_some_and(|work| work.parent.as_deref() == Some("one"))
                && seen.pending("below") == ["child"]
        })
}

/// What has no key gets Work by an explicit decision only, and what ended goes on under a new key only.
pub(super) const UNCORRELATED_AND_TERMINAL_SUCCESSOR: Shared = Shared {
    id: "uncorrelated_and_terminal_successor",
    rules: &[
        "ROUTE-16", "ROUTE-24", "ROUTE-25", "OWN-02", "TERM-01", "TERM-02", "TERM-03", "TERM-04",
        "TERM-05", "TERM-06", "TERM-07", "TERM-08", "OURS-09", "OURS-11",
    ],
    parts: || {
        vec![
            an_event_without_key_gets_work_of_its_own_by_an_explicit_decision(),
            an_event_without_key_or_decision_is_bound_to_no_work(),
            keys_of_ended_work_stay_on_it(),
            an_event_that_reopens_makes_a_successor_under_the_next_key(),
            later_events_of_the_resource_go_to_the_successor(),
            an_operator_reopens_ended_work_once(),
            a_successor_beyond_the_limit_is_not_made(),
        ]
    },
};

fn an_event_without_key_gets_work_of_its_own_by_an_explicit_decision() -> Scenario {
    Scenario::in_world(
        "routing",
        "an event without key gets work of its own by an explicit decision",
    )
    .given([accept("aside"), evaluate("aside"), crash(), evaluate("aside")])
    .step(commit_route("aside"), Accepted)
    .step(commit_route("aside"), Duplicate)
    .sees("it made one work, which owns no key", |seen| {
        seen.0.works.len() == 1
            && seen.pending("aside") == ["aside"]
            && seen.0.keys.iter().all(|key| key.owner.is_none())
    })
}

fn an_event_without_key_or_decision_is_bound_to_no_work() -> Scenario {
    Scenario::in_world("targets", "an event without key or decision is bound to no work")
        .given(deliver("first"))
        .given(start("fix"))
        .given(deliver("stray"))
        .sees("not even to the only one, which runs", |seen| {
            seen.mark("stray") == "unmatched"
                && seen.event("stray").is_some_and(|event| event.work.is_none())
                && seen.pending("fix").is_empty()
        })
}

fn ended() -> [abide_model::action::NamedAction; 4] {
    let [accept, evaluate, commit] = deliver("open");
    [accept, evaluate, commit, cancel("fix")]
}

fn keys_of_ended_work_stay_on_it() -> Scenario {
    Scenario::in_world("terminal", "keys of ended work stay on it")
        .given(ended())
        .given(deliver("late"))
        .sees("the late event is kept beside it and nothing was made", |seen| {
            seen.mark("late") == "terminal"
                && seen.event("late").and_then(|event| event.work.as_deref()) == Some("fix")
                && seen.owner("issue/1") == Some("fix")
                && seen.0.works.len() == 1
                && seen.status("fix") == "cancelled"
                && seen.pending("fix") == ["open"]
        })
}

fn succeeded(seen: &Seen) -> bool {
    let successor = seen.work("fix-again");
    successor
        .is_some_and(|work| work.predecessor.as_deref() == Some("fix") && work.parent.is_none())
        && seen.owner("issue/1") == Some("fix")
        && seen.owner("issue/1/generation/1") == Some("fix-again")
        && seen.status("fix") == "cancelled"
}

fn an_event_that_reopens_makes_a_successor_under_the_next_key() -> Scenario {
    Scenario::in_world("terminal", "an event that reopens makes a successor under the next key")
        .given(ended())
        .given(deliver("return"))
        .sees("the old work is as it was, and the new one starts from the event's child", |seen| {
            succeeded(seen)
                && seen.mark("return") == "terminal"
                && seen.status("fix-again") == "ready"
                && seen.pending("fix-again") == ["created/fix-again"]
                && seen.chain("created/fix-again") == Some(("return", 1))
        })
        .step(commit_route("return"), Duplicate)
        .step(reopen("fix", "reopen"), Code("has_successor"))
}

fn later_events_of_the_resource_go_to_the_successor() -> Scenario {
    Scenario::in_world("terminal", "later events of the resource go to the successor")
        .given(ended())
        .given(deliver("return"))
        .given(deliver("late"))
        .sees("it has the key of the successor and is its input", |seen| {
            seen.event("late").and_then(|event| event.key.as_deref())
                == Some("issue/1/generation/1")
                && seen.pending("fix-again") == ["created/fix-again", "late"]
                && seen.pending("fix") == ["open"]
        })
}

fn an_operator_reopens_ended_work_once() -> Scenario {
    Scenario::in_world("terminal", "an operator reopens ended work once")
        .step(reopen("fix", "reopen"), Code("unknown_work"))
        .given(deliver("open"))
        .step(reopen("fix", "reopen"), Code("not_terminal"))
        .given([cancel("fix")])
        .step(expecting(Expect::Other, reopen("fix", "reopen")), Code("stale_target"))
        .step(expecting(Expect::Last, reopen("fix", "reopen")), Accepted)
        .step(reopen("fix", "reopen"), Duplicate)
        .sees("the request is the first input of the successor", |seen| {
            succeeded(seen)
                && seen.pending("fix-again") == ["reopen"]
                && seen.chain("reopen") == Some(("reopen", 0))
        })
}

fn a_successor_beyond_the_limit_is_not_made() -> Scenario {
    Scenario::in_world("terminal", "a successor beyond the limit is not made")
        .given(ended())
        .given(deliver("late"))
        .given([replay("late", "again")])
        .given(route("again"))
        .sees("the event is kept with its mark, and the refusal is on record", |seen| {
            seen.mark("again") == "terminal"
                && seen.status("fix-again") == "absent"
                && seen.0.rejections.len() == 1
        })
}
