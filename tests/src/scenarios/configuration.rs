//! Configuration: what a scope's routes are, taken from files as they are written, and what comes of them.

use std::path::Path;
use std::sync::Arc;

use abide::config::{Config, Environment, Scope};
use abide::domain::{EventUid, Key};
use abide::extension::route::{EventView, RouteAction, RouteHandler, Sender};
use abide_model::action::Mark;

use crate::scenario::Wanted::{Accepted, Conflict, Duplicate};
use crate::scenario::{
    Scenario, Shared, accept, commit_route, crash, deliver, evaluate, leave, register, reload,
    route, start, wake,
};

/// A nearer route takes the slot of its namesake, new names follow, and no slot moves.
pub(super) const SCOPE_ROUTE_INHERITANCE: Shared = Shared {
    id: "scope_route_inheritance",
    rules: &[
        "ROUTE-04", "ROUTE-06", "ROUTE-07", "ROUTE-08", "BIND-01", "BIND-02", "BIND-07", "BIND-09",
        "BIND-10", "BIND-12", "BIND-13",
    ],
    parts: || {
        vec![
            inherited_routes_come_first_and_new_names_follow(),
            a_nearer_route_takes_the_slot_over_whole_and_decides(),
            no_slot_moves_over_a_reload(),
            an_attempt_keeps_the_generation_it_was_pinned_in(),
        ]
    },
};

/// The root, with three routes and a binding; `main/team` has nothing of its own.
const ROOT: &str = r#"
[scope."main"]
[[scope."main".route]]
name = "starts"
on = ["note"]
do = "work"
kind = "run"
[[scope."main".route]]
name = "results"
on = ["result"]
do = "work"
kind = "run"
config = { level = 1, deep = { x = 1 } }
[[scope."main".route]]
name = "rest"
on = ["*"]
do = "update"
[scope."main".kind.run]
binding = "agent"
[scope."main".binding.agent]
executor = "shell"
command = ["/bin/true"]
capabilities = ["resume"]
isolation = "none"
timeout = "2h"
[scope."main/team"]
"#;

/// What the team says afterwards: a namesake of an inherited route, and two names of its own.
const TEAM: &str = r#"
[[scope."main/team".route]]
name = "later"
on = ["result"]
do = "close"
[[scope."main/team".route]]
name = "results"
on = ["result", "outcome"]
do = "drop"
[[scope."main/team".route]]
name = "last"
on = ["z"]
do = "drop"
[scope."main/team".binding.agent]
executor = "shell"
command = ["/bin/false"]
isolation = "none"
"#;

fn configured(below: &str) -> Config {
    let text = format!("{ROOT}{below}");
    Config::parse(text, Path::new("/etc/abide.toml"), &Environment::default())
        .unwrap_or_else(|errors| panic!("{errors}"))
}

fn scope(config: &Config, name: &str) -> Arc<Scope> {
    Arc::clone(config.scope(name).unwrap_or_else(|| panic!("there is no scope {name}")))
}

fn slots(config: &Config, name: &str) -> Vec<String> {
    scope(config, name).routes.iter().map(|route| route.name.clone()).collect()
}

/// The route that decides an event of this type in `main/team`, and what it does.
fn decides(config: &Config, event_type: &str) -> (Option<String>, RouteAction) {
    let key = Key { source: "test".into(), external_id: "ci/1".into() };
    let event = EventView {
        uid: EventUid::new(),
        seq: Some(1),
        source: "test".into(),
        event_type: event_type.into(),
        key: Some(key),
        subject: None,
        time: None,
        scope: "main/team".into(),
        sender: Sender::default(),
        data: serde_json::Value::Null,
    };
    let decision = scope(config, "main/team").handler.evaluate(&event, None);
    let decision = decision.unwrap_or_else(|error| panic!("{error}"));
    (decision.route, decision.action)
}

fn inherited_routes_come_first_and_new_names_follow() -> Scenario {
    Scenario::in_world("configuration", "inherited routes come first and new names follow")
        .sees("the table of the team is the root's, then its own in their order", |_| {
            let (before, after) = (configured(""), configured(TEAM));
            slots(&before, "main/team") == ["starts", "results", "rest"]
                && slots(&after, "main/team") == ["starts", "results", "rest", "later", "last"]
                && slots(&after, "main") == ["starts", "results", "rest"]
        })
        .sees("the first of them decides", |_| {
            decides(&configured(""), "result") == (Some("results".to_owned()), RouteAction::Work)
        })
        .given(deliver("start"))
        .given(deliver("green"))
        .sees("and does it", |seen| seen.pending("fix") == ["start", "green"])
}

fn a_nearer_route_takes_the_slot_over_whole_and_decides() -> Scenario {
    Scenario::in_world("configuration", "a nearer route takes the slot over whole, and decides")
        .sees("no field of the farther one is left, and its place is", |_| {
            let team = scope(&configured(TEAM), "main/team");
            let taken = &team.routes[1];
            taken.declared_in == "main/team"
                && taken.on == ["result", "outcome"]
                && taken.kind.is_none()
                && taken.config == serde_json::json!({})
                && scope(&configured(TEAM), "main").routes[1].action == RouteAction::Work
        })
        .sees("an inherited route means the binding of the team", |_| {
            let team = scope(&configured(TEAM), "main/team");
            let binding = team.binding_of("run").map(|binding| (binding.resumes, binding.timeout));
            binding == Some((false, None))
        })
        .sees("its slot is before the new name that would take the event too", |_| {
            decides(&configured(TEAM), "result") == (Some("results".to_owned()), RouteAction::Drop)
        })
        .given(deliver("start"))
        .given([reload(1)])
        .given(deliver("green"))
        .sees("what it decides is done", |seen| {
            seen.mark("green") == "drop" && seen.pending("fix") == ["start"]
        })
}

fn no_slot_moves_over_a_reload() -> Scenario {
    Scenario::in_world("configuration", "no slot moves over a reload")
        .sees("reading again gives the same table", |_| {
            let tables = [0; 3].map(|_| slots(&configured(TEAM), "main/team"));
            tables.iter().all(|table| *table == tables[0])
        })
        .sees("an entry that is taken out moves none of the others", |_| {
            let out = "[[scope.\"main/team\".route]]\nname = \"results\"\ndisable = true\n";
            slots(&configured(out), "main/team") == ["starts", "rest"]
        })
        .given(deliver("start"))
        .given([accept("green"), evaluate("green"), reload(1)])
        .step(commit_route("green"), Conflict)
        .given(route("green"))
        .given([reload(0), crash()])
        .step(commit_route("green"), Duplicate)
        .sees("what was decided names its generation, whatever is current", |seen| {
            seen.event("start").and_then(|event| event.generation) == Some(0)
                && seen.event("green").and_then(|event| event.generation) == Some(1)
                && seen.0.generation == 2
        })
}

fn an_attempt_keeps_the_generation_it_was_pinned_in() -> Scenario {
    let pinned = |seen: &crate::scenario::Seen| {
        let attempt = seen.work("fix").and_then(|work| work.attempt.as_ref());
        attempt.map(|attempt| attempt.generation)
    };
    Scenario::in_world("configuration", "an attempt keeps the generation it was pinned in")
        .given(deliver("start"))
        .given(start("fix"))
        .given([reload(1)])
        .sees("while it runs", move |seen| pinned(seen) == Some(0))
        .step(register("fix", "ci", Mark::Batch), Accepted)
        .given([accept("green")])
        .step(wake("ci"), Accepted)
        .given(leave("fix"))
        .given(start("fix"))
        .sees("and when it is resumed", move |seen| {
            pinned(seen) == Some(0) && seen.attempt("fix") == 1
        })
}
