//! What a route says of a running attempt, and whether its scope can do that.

use std::fmt::Write;

use super::{SMALL, environment, folder, read_in, valid};
use crate::config::{Config, ExecutorKind, Scope};
use crate::domain::{Control, ControlPolicy, Fallback};
use crate::extension::executor::Capabilities;
use crate::extension::route::RouteHandler;

/// A configuration whose one route says this beside, and whose one binding advertises that.
fn saying(words: &str, capabilities: &str) -> String {
    SMALL
        .replace("do = \"work\"", &format!("do = \"work\"\n{words}"))
        .replace("isolation", &format!("capabilities = {capabilities}\nisolation"))
}

/// Renders what is said about each, or that nothing is.
fn refusals(texts: &[(String, String)]) -> String {
    let mut all = String::new();
    for (title, text) in texts {
        let errors = read_in(&folder(), text, &environment()).err();
        let errors = errors.unwrap_or_else(|| "ACCEPTED\n".to_owned());
        writeln!(all, "# {title}\n{errors}").expect("a text takes any text");
    }
    all
}

/// The same of the words of one route, whose binding advertises everything.
fn refused(words: &[&str]) -> String {
    let texts: Vec<_> = words
        .iter()
        .map(|words| ((*words).to_owned(), saying(words, "[\"inject\", \"interrupt\"]")))
        .collect();
    refusals(&texts)
}

fn control(config: &Config) -> Control {
    config.scopes["main"].routes[0].control
}

/// POLICY-27 POLICY-33 POLICY-34
#[test]
fn the_policy_and_both_fallbacks_are_what_the_route_says_and_nothing_else() {
    use ControlPolicy as Policy;

    let can = "[\"inject\", \"interrupt\"]";
    let said = |policy, fallback, on_error| Control { policy, fallback, on_error };
    let (queue, drop) = (Some(Fallback::Queue), Some(Fallback::Drop));
    let cases = [
        ("", said(Policy::Queue, None, None)),
        ("active = \"queue\"", said(Policy::Queue, None, None)),
        ("active = \"drop\"", said(Policy::Drop, None, None)),
        ("active = \"inject\"", said(Policy::Inject, None, None)),
        ("active = \"interrupt\"", said(Policy::Interrupt, None, None)),
        ("active = \"inject\"\nfallback = \"drop\"", said(Policy::Inject, drop, None)),
        ("active = \"inject\"\non_error = \"queue\"", said(Policy::Inject, None, queue)),
        (
            "active = \"interrupt\"\nfallback = \"queue\"\non_error = \"drop\"",
            said(Policy::Interrupt, queue, drop),
        ),
        (
            "active = \"interrupt\"\nfallback = { interrupt = \"drop\" }",
            said(Policy::Interrupt, drop, None),
        ),
    ];
    for (words, wanted) in cases {
        let config = valid(&saying(words, can));
        assert_eq!(control(&config), wanted, "{words}");
        let routes = config.scopes["main"].handler.clone();
        let event = super::routing::keyed("push", serde_json::json!({ "number": 1 }));
        let decision = routes.evaluate(&event, None).expect("it decides");
        assert_eq!(decision.control, wanted, "its decision carries it: {words}");
    }
}

/// POLICY-29 POLICY-36
#[test]
fn unknown_policies_are_refused_and_coalesce_is_told_why_there_is_none() {
    insta::assert_snapshot!(refused(&[
        "active = \"coalesce\"",
        "active = \"injct\"",
        "active = \"steer\"",
        "active = \"Queue\"",
        "active = \"\"",
        "active = 1",
        "active = \"inject\"\nfallback = \"coalesce\"",
        "active = \"inject\"\non_error = \"coalesce\"",
        "active = \"inject\"\nfallback = \"retry\"",
        "active = \"inject\"\nfallback = { inject = \"wait\", coalesce = \"queue\" }",
        "active = \"inject\"\non_error = \"retry\"",
    ]));
}

/// POLICY-27 POLICY-30, reading B20
#[test]
fn circles_of_fallbacks_are_named_and_only_queue_and_drop_stand_in() {
    insta::assert_snapshot!(refused(&[
        "active = \"inject\"\nfallback = \"inject\"",
        "active = \"queue\"\nfallback = \"queue\"",
        "active = \"drop\"\nfallback = { drop = \"drop\" }",
        "active = \"inject\"\nfallback = { inject = \"interrupt\", interrupt = \"inject\" }",
        "active = \"interrupt\"\nfallback = { inject = \"interrupt\", interrupt = \"inject\" }",
        "active = \"inject\"\nfallback = { inject = \"queue\", interrupt = \"interrupt\" }",
        "active = \"inject\"\nfallback = { inject = \"queue\", queue = \"inject\" }",
        "active = \"inject\"\nfallback = \"interrupt\"",
        "active = \"interrupt\"\nfallback = \"inject\"",
        "active = \"inject\"\nfallback = { inject = \"interrupt\", interrupt = \"queue\" }",
        "active = \"inject\"\nfallback = { inject = \"interrupt\" }",
        "active = \"inject\"\non_error = \"interrupt\"",
        "active = \"interrupt\"\non_error = \"interrupt\"",
    ]));
}

#[test]
fn fallbacks_that_nothing_could_need_are_refused() {
    insta::assert_snapshot!(refused(&[
        "fallback = \"drop\"",
        "active = \"drop\"\nfallback = \"queue\"",
        "active = \"inject\"\nfallback = { inject = \"queue\", interrupt = \"queue\" }",
        "active = \"inject\"\nfallback = { inject = \"queue\", drop = \"queue\" }",
        "active = \"inject\"\nfallback = {}",
        "active = \"inject\"\nfallback = [\"queue\"]",
        "active = \"inject\"\nfallback = { inject = true }",
        "on_error = \"queue\"",
        "active = \"drop\"\non_error = \"drop\"",
        "active = \"inject\"\non_error = true",
    ]));
    let drop =
        SMALL.replace("do = \"work\"\nkind = \"review\"", "do = \"drop\"\nactive = \"drop\"");
    let close = SMALL.replace(
        "do = \"work\"\nkind = \"review\"",
        "do = \"close\"\nactive = \"interrupt\"\nfallback = \"queue\"\non_error = \"queue\"",
    );
    let update =
        SMALL.replace("do = \"work\"\nkind = \"review\"", "do = \"update\"\nactive = \"drop\"");
    let texts = [("drop", drop), ("close", close), ("update", update)];
    insta::assert_snapshot!(refusals(&texts.map(|(title, text)| (title.to_owned(), text))));
}

/// POLICY-26 POLICY-27 POLICY-32
#[test]
fn a_control_that_the_binding_does_not_advertise_is_refused_without_a_fallback() {
    let cases = [
        ("active = \"inject\"", "[]"),
        ("active = \"inject\"", "[\"interrupt\", \"resume\"]"),
        ("active = \"interrupt\"", "[\"inject\"]"),
        ("active = \"inject\"\non_error = \"queue\"", "[]"),
        ("active = \"inject\"", "[\"inject\"]"),
        ("active = \"interrupt\"", "[\"interrupt\"]"),
        ("active = \"inject\"\nfallback = \"queue\"", "[]"),
        ("active = \"interrupt\"\nfallback = \"drop\"", "[]"),
        ("active = \"drop\"", "[]"),
    ];
    let texts = cases.map(|(words, can)| (format!("{words}\n# {can}"), saying(words, can)));
    insta::assert_snapshot!(refusals(&texts));
}

/// POLICY-26
#[test]
fn an_update_may_reach_work_of_every_kind_of_its_scope() {
    let update = SMALL
        .replace("do = \"work\"\nkind = \"review\"", "do = \"update\"\nactive = \"interrupt\"");
    let kinds = format!(
        "{}\n[scope.\"main\".kind.fix]\nbinding = \"fixer\"\n[scope.\"main\".binding.fixer]\n\
         executor = \"agent\"\ncommand = [\"./review.sh\"]\nisolation = \"none\"\n",
        update.replace("isolation", "capabilities = [\"interrupt\"]\nisolation")
    );
    let both = kinds.replace("\"agent\"", "\"agent\"\ncapabilities = [\"interrupt\"]");
    let texts = [("one of two", kinds), ("both", both)];
    insta::assert_snapshot!(refusals(&texts.map(|(title, text)| (title.to_owned(), text))));
}

/// What a `work` route may meet beside the kind it creates is said, and not refused.
#[test]
fn work_of_another_kind_that_lacks_the_control_is_a_note() {
    let other = format!(
        "{}\n[scope.\"main\".kind.fix]\nbinding = \"fixer\"\n[scope.\"main\".binding.fixer]\n\
         executor = \"agent\"\ncommand = [\"./review.sh\"]\nisolation = \"none\"\n",
        saying("active = \"inject\"", "[\"inject\"]")
    );
    let said = |text: &str| {
        let notes = valid(text).notes();
        notes.into_iter().filter(|note| note.starts_with("route")).collect::<Vec<_>>()
    };
    insta::assert_snapshot!(said(&other).join("\n"));
    let none: [String; 0] = [];
    assert_eq!(said(&other.replace("\"inject\"\n", "\"inject\"\nfallback = \"queue\"\n")), none);
    assert_eq!(said(&other.replace("\"agent\"", "\"agent\"\ncapabilities = [\"inject\"]")), none);
    assert_eq!(said(&saying("active = \"inject\"", "[\"inject\"]")), none);
}

/// A root whose route injects, and a scope below it.
fn inheriting(below: &str) -> String {
    format!("{}\n{below}\n", saying("active = \"inject\"", "[\"inject\"]"))
}

/// BIND-01 POLICY-26
#[test]
fn an_inherited_route_is_judged_by_the_bindings_of_the_scope_it_is_effective_in() {
    let weaker = "[scope.\"main/web\".binding.reviewer]\nexecutor = \"shell\"\n\
                  command = [\"./review.sh\"]\nisolation = \"none\"";
    let kind = "[scope.\"main/web\".kind.review]\nbinding = \"other\"\n\
                [scope.\"main/web\".binding.other]\nexecutor = \"shell\"\n\
                command = [\"./review.sh\"]\nisolation = \"none\"";
    let texts = [
        ("a weaker binding below", weaker.to_owned()),
        ("a kind below with another binding", kind.to_owned()),
        ("once, however many inherit it", format!("{weaker}\n[scope.\"main/web/api\"]")),
        ("as capable", weaker.replace("isolation", "capabilities = [\"inject\"]\nisolation")),
    ];
    insta::assert_snapshot!(refusals(
        &texts.map(|(title, below)| (title.to_owned(), inheriting(&below)))
    ));
}

/// ROUTE-07 BIND-07
#[test]
fn a_route_of_the_same_name_replaces_policy_and_fallbacks_whole() {
    let text = saying("active = \"inject\"\non_error = \"drop\"", "[\"inject\"]");
    let below = "[[scope.\"main/web\".route]]\nname = \"all\"\non = [\"*\"]\ndo = \"update\"\n\
                 active = \"interrupt\"\nfallback = \"queue\"\n\
                 [[scope.\"main/api\".route]]\nname = \"all\"\non = [\"*\"]\ndo = \"update\"";
    let config = valid(&format!("{text}\n{below}\n"));
    let of = |scope: &Scope| scope.routes[0].control;
    let inject =
        Control { policy: ControlPolicy::Inject, fallback: None, on_error: Some(Fallback::Drop) };
    assert_eq!(of(&config.scopes["main"]), inject);
    let web = of(&config.scopes["main/web"]);
    assert_eq!((web.policy, web.fallback), (ControlPolicy::Interrupt, Some(Fallback::Queue)));
    assert_eq!(web.on_error, None, "nothing of the farther one survives");
    assert_eq!(of(&config.scopes["main/api"]), Control::default());
}

/// POLICY-26 POLICY-31
#[test]
fn what_an_executor_does_not_implement_cannot_be_advertised() {
    fn only_resumes(_: ExecutorKind) -> Capabilities {
        Capabilities { resumes: true, ..Capabilities::default() }
    }

    let dir = folder();
    let read = |text: String| {
        let file = std::path::Path::new("abide.toml");
        let text = text.replace("./review.sh", &dir.path().join("review.sh").to_string_lossy());
        let read = Config::parse_where(text, file, &environment(), only_resumes);
        read.map(|_| ()).map_err(|errors| errors.to_string())
    };
    assert_eq!(read(saying("", "[\"resume\"]")), Ok(()));
    let text = saying("active = \"inject\"", "[\"inject\", \"interrupt\", \"resume\"]");
    insta::assert_snapshot!(read(text).expect_err("it cannot be done"));
}

/// BIND-10
#[test]
fn a_kept_generation_has_the_policies_it_was_kept_with() {
    let text = saying(
        "active = \"inject\"\nfallback = { inject = \"queue\" }\non_error = \"drop\"",
        "[\"inject\"]",
    );
    let config = valid(&text);
    let again = Config::of_generation(config.body().to_owned(), &config.file, &environment());
    let again = again.expect("it was valid");
    assert_eq!(control(&again), control(&config));
    assert!(again.scopes["main"].bindings["reviewer"].injects);
}
