//! Routing and ownership: who gets an event, and that nobody else is held up by it.

use abide_model::action::Mark;

use super::policies;
use crate::scenario::Wanted::{Accepted, Code, Conflict, Duplicate};
use crate::scenario::{
    Scenario, Shared, accept, claim, commit_route, complete, crash, deliver, drop_event, evaluate,
    hand_over, hold, register, reload, replay, route, start, tick,
};

/// Events of one key end at one Work, and competing starts leave one attempt.
pub(super) const CONCURRENT_CORRELATIONS_AND_ATTEMPTS: Shared = Shared {
    id: "concurrent_correlations_and_attempts",
    rules: &["OWN-01", "OWN-04", "OWN-08", "ROUTE-15", "ROUTE-16", "LEASE-03"],
    parts: || {
        vec![
            events_of_one_key_evaluated_together_end_at_one_work(),
            of_two_decisions_that_want_each_others_key_one_commits(),
            of_two_starts_one_is_refused(),
            a_route_committed_twice_is_committed_once(),
        ]
    },
};

fn events_of_one_key_evaluated_together_end_at_one_work() -> Scenario {
    Scenario::in_world("acceptance", "events of one key evaluated together end at one work")
        .given([accept("first"), accept("second"), evaluate("first"), evaluate("second")])
        .step(commit_route("second"), Accepted)
        .step(commit_route("first"), Conflict)
        .given(route("first"))
        .sees("one work owns the key and has both events in order", |seen| {
            seen.0.works.len() == 1
                && seen.0.keys[0].owner.as_deref() == Some("fix-too")
                && seen.pending("fix-too") == ["first", "second"]
        })
}

fn of_two_decisions_that_want_each_others_key_one_commits() -> Scenario {
    Scenario::in_world("ownership", "of two decisions that want each other's key one commits")
        .given([accept("first"), accept("second"), evaluate("first"), evaluate("second")])
        .step(commit_route("second"), Accepted)
        .step(commit_route("first"), Conflict)
        .given(route("first"))
        .sees("the other joined it, and both keys are its own", |seen| {
            seen.owner("a") == Some("two")
                && seen.owner("b") == Some("two")
                && seen.status("one") == "absent"
                && seen.pending("two") == ["first", "second"]
        })
}

fn of_two_starts_one_is_refused() -> Scenario {
    Scenario::in_world("attempts", "of two starts one is refused")
        .given(deliver("fix-it"))
        .step(claim("fix"), Accepted)
        .step(claim("fix"), Code("attempt_open"))
        .sees("one attempt runs", |seen| {
            seen.attempt("fix") == 1 && seen.attempt_status("fix") == "running"
        })
}

fn a_route_committed_twice_is_committed_once() -> Scenario {
    Scenario::in_world("acceptance", "a route committed twice is committed once")
        .given(deliver("first"))
        .step(commit_route("first"), Duplicate)
        .sees("the event is pending once", |seen| seen.pending("fix") == ["first"])
}

/// A handler that is blocked for one key holds up no other.
pub(super) const INDEPENDENT_WORK_PROGRESS: Shared = Shared {
    id: "independent_work_progress",
    rules: &["ROUTE-20", "ROUTE-22", "OWN-12"],
    parts: || {
        vec![
            another_key_is_routed_and_started_while_a_handler_is_blocked(),
            a_full_scope_defers_a_start_and_nothing_else(),
            a_waiting_work_holds_up_no_other(),
            a_held_work_holds_up_no_other(),
        ]
    },
};

fn another_key_is_routed_and_started_while_a_handler_is_blocked() -> Scenario {
    Scenario::in_world("attempts", "another key is routed and started while a handler is blocked")
        .given([accept("fix-it"), evaluate("fix-it")])
        .given(deliver("ship-it"))
        .given(start("ship"))
        .sees("the blocked event is still unrouted", |seen| seen.mark("fix-it") == "unrouted")
        .step(commit_route("fix-it"), Accepted)
        .sees("it is routed once its handler is free", |seen| seen.pending("fix") == ["fix-it"])
}

fn a_full_scope_defers_a_start_and_nothing_else() -> Scenario {
    Scenario::in_world("attempts", "a full scope defers a start and nothing else")
        .given(deliver("ship-it"))
        .given(start("ship"))
        .given(deliver("fix-it"))
        .step(claim("fix"), Code("capacity"))
        .given(deliver("and-this"))
        .sees("input goes on being queued", |seen| seen.pending("fix") == ["fix-it", "and-this"])
}

fn a_waiting_work_holds_up_no_other() -> Scenario {
    Scenario::in_world("wait-no-timers", "a waiting work holds up no other")
        .given(deliver("start"))
        .given(start("fix"))
        .step(register("fix", "ci", Mark::Latest), Accepted)
        .given(deliver("other"))
        .given(start("ship"))
        .sees("one waits and the other runs", |seen| {
            seen.status("fix") == "waiting" && seen.status("ship") == "running"
        })
}

fn a_held_work_holds_up_no_other() -> Scenario {
    Scenario::in_world("attempts", "a held work holds up no other")
        .given(deliver("fix-it"))
        .step(hold("fix"), Accepted)
        .step(hold("fix"), Duplicate)
        .given(deliver("ship-it"))
        .step(claim("fix"), Code("held"))
        .given(start("ship"))
        .sees("the held one keeps its input", |seen| {
            seen.holds("fix") == ["operator"] && seen.pending("fix") == ["fix-it"]
        })
}

/// The first match decides once and for good, and what was dropped stays on record.
pub(super) const FIRST_MATCH_REPLAY_AND_DROP_AUDIT: Shared = Shared {
    id: "first_match_replay_and_drop_audit",
    rules: &[
        "ROUTE-08",
        "ROUTE-11",
        "ROUTE-15",
        "ROUTE-16",
        "ROUTE-19",
        "OWN-05",
        "OWN-11",
        "BIND-12",
        "BIND-13",
        "POLICY-24",
        "POLICY-25",
        "OURS-01",
        "OURS-07",
        "OURS-08",
        "OURS-17",
    ],
    parts: || {
        vec![
            a_committed_decision_stands_whatever_is_configured_later(),
            a_decision_that_was_not_committed_is_made_anew_after_a_reload(),
            a_decision_lost_in_a_crash_is_made_again_and_is_the_same(),
            a_drop_is_kept_with_its_work_and_starts_nothing(),
            a_drop_does_not_ask_what_its_work_is_doing(),
            policies::what_a_policy_dropped_stays_dropped_once_the_attempt_is_over(),
            an_operator_takes_an_event_out_once_and_in_its_turn(),
            marks_of_one_work_are_made_in_acceptance_order(),
            a_replay_is_an_event_of_its_own_and_the_original_stays(),
        ]
    },
};

fn a_committed_decision_stands_whatever_is_configured_later() -> Scenario {
    Scenario::in_world("configuration", "a committed decision stands whatever is configured later")
        .given(deliver("start"))
        .given(deliver("green"))
        .given([crash(), reload(1)])
        .step(commit_route("green"), Duplicate)
        .sees("its mark, its generation and its input are as they were", |seen| {
            seen.mark("green") == "queued"
                && seen.event("green").and_then(|event| event.generation) == Some(0)
                && seen.pending("fix") == ["start", "green"]
        })
}

fn a_decision_that_was_not_committed_is_made_anew_after_a_reload() -> Scenario {
    Scenario::in_world(
        "configuration",
        "a decision that was not committed is made anew after a reload",
    )
    .given(deliver("start"))
    .given([accept("green"), evaluate("green"), reload(1)])
    .step(commit_route("green"), Conflict)
    .given(route("green"))
    .sees("the configuration of now dropped it and is named by its mark", |seen| {
        seen.mark("green") == "drop"
            && seen.event("green").and_then(|event| event.generation) == Some(1)
            && seen.pending("fix") == ["start"]
    })
    .step(reload(1), Duplicate)
}

fn a_decision_lost_in_a_crash_is_made_again_and_is_the_same() -> Scenario {
    Scenario::in_world("routing", "a decision lost in a crash is made again and is the same")
        .given([accept("open"), evaluate("open"), crash(), evaluate("open")])
        .step(commit_route("open"), Accepted)
        .step(commit_route("open"), Duplicate)
        .sees("one work came of it", |seen| {
            seen.0.works.len() == 1 && seen.pending("fix") == ["open"]
        })
}

fn a_drop_is_kept_with_its_work_and_starts_nothing() -> Scenario {
    Scenario::in_world("routing", "a drop is kept with its work and starts nothing")
        .given(deliver("open"))
        .given(deliver("noise"))
        .step(commit_route("noise"), Duplicate)
        .given(start("fix"))
        .sees("it is on record beside its work and was handed to nobody", |seen| {
            seen.mark("noise") == "drop"
                && seen.event("noise").and_then(|event| event.work.as_deref()) == Some("fix")
                && seen.batch("fix") == ["open"]
        })
}

fn a_drop_does_not_ask_what_its_work_is_doing() -> Scenario {
    Scenario::in_world("routing", "a drop does not ask what its work is doing")
        .given(deliver("open"))
        .given(start("fix"))
        .given(deliver("noise"))
        .sees("it is dropped while an attempt runs", |seen| {
            seen.mark("noise") == "drop" && seen.pending("fix").is_empty()
        })
        .step(complete("fix"), Accepted)
        .sees("the work is done", |seen| seen.status("fix") == "completed")
}

fn an_operator_takes_an_event_out_once_and_in_its_turn() -> Scenario {
    Scenario::in_world("routing", "an operator takes an event out once, and in its turn")
        .given(deliver("open"))
        .given([accept("link"), accept("noise")])
        .step(drop_event("noise"), Code("out_of_turn"))
        .step(drop_event("link"), Accepted)
        .step(drop_event("link"), Code("already_routed"))
        .step(commit_route("link"), Duplicate)
        .step(drop_event("noise"), Accepted)
        .step(drop_event("merged"), Code("unknown_event"))
        .sees("both are on record and neither is input", |seen| {
            seen.mark("link") == "operator_drop"
                && seen.mark("noise") == "operator_drop"
                && seen.pending("fix") == ["open"]
        })
}

fn marks_of_one_work_are_made_in_acceptance_order() -> Scenario {
    Scenario::in_world("routing", "marks of one work are made in acceptance order")
        .given(deliver("open"))
        .given([accept("link"), accept("noise"), evaluate("link"), evaluate("noise")])
        .step(commit_route("noise"), Code("out_of_turn"))
        .sees("neither has a mark", |seen| {
            seen.mark("link") == "unrouted" && seen.mark("noise") == "unrouted"
        })
        .step(commit_route("link"), Accepted)
        .given(route("noise"))
        .sees("both have theirs", |seen| {
            seen.mark("link") == "queued" && seen.mark("noise") == "drop"
        })
}

fn a_replay_is_an_event_of_its_own_and_the_original_stays() -> Scenario {
    Scenario::in_world("identities", "a replay is an event of its own, and the original stays")
        .given(deliver("push"))
        .given([accept("copy")])
        .sees("a body known under another identity starts nothing", |seen| {
            seen.mark("copy") == "replay_suspect" && seen.pending("fix") == ["push"]
        })
        .step(replay("copy", "again"), Accepted)
        .step(replay("copy", "again"), Duplicate)
        .step(replay("again", "once-more"), Code("not_routed"))
        .given(route("again"))
        .sees("it is input in its stead, caused by it, and both are kept", |seen| {
            seen.mark("copy") == "replay_suspect"
                && seen.mark("again") == "queued"
                && seen.chain("again") == Some(("copy", 1))
                && seen.pending("fix") == ["push", "again"]
        })
}

/// What nothing wants is kept, and what contradicts itself is refused.
pub(super) const UNMATCHED_AND_CONTRADICTORY_TARGET: Shared = Shared {
    id: "unmatched_and_contradictory_target",
    rules: &[
        "ROUTE-10",
        "ROUTE-23",
        "ROUTE-25",
        "INGRESS-05",
        "INGRESS-09",
        "INGRESS-10",
        "INGRESS-11",
        "OWN-03",
        "OWN-07",
        "OURS-01",
        "OURS-17",
    ],
    parts: || {
        vec![
            an_event_without_key_or_route_is_kept_as_unmatched(),
            an_update_of_nothing_makes_no_work(),
            a_target_decides_and_a_foreign_key_beside_it_is_refused(),
            a_key_beside_a_target_that_is_its_own_agrees(),
            a_target_in_another_scope_is_refused(),
            a_key_of_another_scope_is_refused_before_and_after_acceptance(),
            a_core_type_from_outside_is_refused(),
            another_body_under_a_known_identity_is_noted_and_not_processed(),
            a_known_body_is_no_longer_suspect_after_its_time(),
        ]
    },
};

fn an_event_without_key_or_route_is_kept_as_unmatched() -> Scenario {
    Scenario::in_world("targets", "an event without key or route is kept as unmatched")
        .given(deliver("stray"))
        .given(deliver("unwanted"))
        .sees("both are kept and no work exists", |seen| {
            seen.mark("stray") == "unmatched"
                && seen.mark("unwanted") == "unmatched"
                && seen.0.works.is_empty()
        })
        .step(accept("stray"), Duplicate)
}

fn a_target_decides_and_a_foreign_key_beside_it_is_refused() -> Scenario {
    Scenario::in_world("targets", "a target decides, and a foreign key beside it is refused")
        .step(accept("named"), Code("unknown_work"))
        .given(deliver("first"))
        .step(accept("contradiction"), Code("contradictory_target"))
        .given(deliver("named"))
        .sees("the named work has both, and nothing else was kept", |seen| {
            seen.pending("fix") == ["first", "named"] && seen.0.events.len() == 2
        })
        .step(hand_over("fix"), Code("stale_authority"))
}

fn a_target_in_another_scope_is_refused() -> Scenario {
    Scenario::in_world("targets", "a target in another scope is refused")
        .given(deliver("first"))
        .step(accept("trespass"), Code("wrong_scope"))
        .sees("nothing was kept of it", |seen| seen.0.events.len() == 1)
}

fn a_core_type_from_outside_is_refused() -> Scenario {
    Scenario::in_world("targets", "a core type from outside is refused")
        .step(accept("forged"), Code("core_type"))
        .sees("nothing was kept of it", |seen| seen.0.events.is_empty())
}

fn an_update_of_nothing_makes_no_work() -> Scenario {
    Scenario::in_world("routing", "an update, a closing and a drop of nothing make no work")
        .given(deliver("link"))
        .given(deliver("merged"))
        .given(deliver("noise"))
        .sees("each is kept and no work exists", |seen| {
            seen.mark("link") == "unmatched"
                && seen.mark("merged") == "unmatched"
                && seen.mark("noise") == "drop"
                && seen.0.works.is_empty()
        })
}

fn a_key_beside_a_target_that_is_its_own_agrees() -> Scenario {
    Scenario::in_world("targets", "a key beside a target that is its own agrees")
        .given(deliver("first"))
        .step(accept("agreeing"), Accepted)
        .given(route("agreeing"))
        .sees("no route wanted it, so it is kept and no input", |seen| {
            seen.mark("agreeing") == "unmatched" && seen.pending("fix") == ["first"]
        })
}

fn a_key_of_another_scope_is_refused_before_and_after_acceptance() -> Scenario {
    Scenario::in_world(
        "acceptance",
        "a key of another scope is refused before acceptance and stays unrouted after",
    )
    .given([accept("abroad")])
    .given(deliver("first"))
    .given([evaluate("abroad")])
    .step(commit_route("abroad"), Code("wrong_scope"))
    .sees("the one that came before stays unrouted and moved nothing", |seen| {
        seen.mark("abroad") == "unrouted"
            && seen.owner("issue/1") == Some("fix")
            && seen.0.works.len() == 1
    })
}

fn another_body_under_a_known_identity_is_noted_and_not_processed() -> Scenario {
    Scenario::in_world(
        "identities",
        "another body under a known identity is noted and not processed",
    )
    .given(deliver("push"))
    .step(accept("push-altered"), Duplicate)
    .sees("the original says so and is as it was", |seen| {
        seen.accepted() == 1
            && seen.event("push").is_some_and(|event| event.conflicting)
            && seen.pending("fix") == ["push"]
    })
}

fn a_known_body_is_no_longer_suspect_after_its_time() -> Scenario {
    Scenario::in_world("identities", "a known body is no longer suspect after its time")
        .given(deliver("push"))
        .given([tick()])
        .given(deliver("copy"))
        .sees("it is input like any other", |seen| seen.pending("fix") == ["push", "copy"])
}
