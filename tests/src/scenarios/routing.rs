//! Routing and ownership: who gets an event, and that nobody else is held up by it.

use crate::scenario::Wanted::{Accepted, Code, Conflict, Duplicate};
use crate::scenario::{
    Scenario, Shared, accept, claim, commit_route, deliver, evaluate, hand_over, route, start,
};

/// Events of one key end at one Work, and competing starts leave one attempt.
pub(super) const CONCURRENT_CORRELATIONS_AND_ATTEMPTS: Shared = Shared {
    id: "concurrent_correlations_and_attempts",
    rules: &["OWN-01", "OWN-04", "ROUTE-15", "ROUTE-16", "LEASE-03"],
    parts: || {
        vec![
            events_of_one_key_evaluated_together_end_at_one_work(),
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
    rules: &["ROUTE-20", "ROUTE-22"],
    parts: || {
        vec![
            another_key_is_routed_and_started_while_a_handler_is_blocked(),
            a_full_scope_defers_a_start_and_nothing_else(),
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

/// What nothing wants is kept, and what contradicts itself is refused.
pub(super) const UNMATCHED_AND_CONTRADICTORY_TARGET: Shared = Shared {
    id: "unmatched_and_contradictory_target",
    rules: &["ROUTE-10", "ROUTE-23", "ROUTE-25", "INGRESS-09", "INGRESS-10", "INGRESS-11"],
    parts: || {
        vec![
            an_event_without_key_or_route_is_kept_as_unmatched(),
            a_target_decides_and_a_foreign_key_beside_it_is_refused(),
            a_target_in_another_scope_is_refused(),
            a_core_type_from_outside_is_refused(),
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
