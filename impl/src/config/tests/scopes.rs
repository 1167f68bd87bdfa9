//! The tree of scopes: what is inherited, replaced, disabled and bounded.

use std::fmt::Write;

use crate::config::tests::{environment, folder, read_in};
use crate::config::{Config, Scope};
use crate::domain::Duration;

/// A root with one of everything.
const ROOT: &str = r#"
[scope."acme"]
capacity = 8
causal = { max_depth = 20 }

[[scope."acme".route]]
name = "first"
on = ["a.*"]
do = "work"
kind = "fix"
config = { level = 1, deep = { x = 1 } }

[[scope."acme".route]]
name = "second"
on = ["b.*"]
do = "update"

[[scope."acme".route]]
name = "third"
on = ["c.*"]
do = "drop"

[scope."acme".kind.fix]
binding = "fixer"
reopen = ["a.again"]

[scope."acme".binding.fixer]
executor = "shell"
command = ["./review.sh"]
capabilities = ["resume"]
isolation = "none"
timeout = "2h"
"#;

fn read(below: &str) -> Result<Config, String> {
    read_in(&folder(), &format!("{ROOT}{below}"), &environment())
}

fn valid(below: &str) -> Config {
    read(below).unwrap_or_else(|errors| panic!("{errors}"))
}

fn names(scope: &Scope) -> Vec<&str> {
    scope.routes.iter().map(|route| route.name.as_str()).collect()
}

fn refusals(cases: &[&str]) -> String {
    let mut all = String::new();
    for below in cases {
        let errors = read(below).err().unwrap_or_else(|| "ACCEPTED\n".to_owned());
        writeln!(all, "# {}\n{errors}", below.trim()).expect("a text takes any text");
    }
    all
}

/// ROUTE-04 ROUTE-06
#[test]
fn inherited_routes_come_first_and_new_ones_follow_in_their_order() {
    let config = valid(
        r#"
        [[scope."acme/web".route]]
        name = "z"
        on = ["z"]
        do = "drop"
        [[scope."acme/web".route]]
        name = "y"
        on = ["y"]
        do = "drop"
        [[scope."acme/web/api".route]]
        name = "x"
        on = ["x"]
        do = "drop"
        "#,
    );
    assert_eq!(names(&config.scopes["acme"]), ["first", "second", "third"]);
    assert_eq!(names(&config.scopes["acme/web"]), ["first", "second", "third", "z", "y"]);
    let leaf = &config.scopes["acme/web/api"];
    assert_eq!(names(leaf), ["first", "second", "third", "z", "y", "x"]);
    assert_eq!(leaf.routes[3].declared_in, "acme/web");
}

/// ROUTE-07 BIND-07 BIND-09
#[test]
fn a_route_of_the_same_name_takes_the_slot_over_whole() {
    let config = valid(
        r#"
        [[scope."acme/web".route]]
        name = "new"
        on = ["n"]
        do = "drop"
        [[scope."acme/web".route]]
        name = "first"
        on = ["other"]
        do = "update"
        "#,
    );
    let scope = &config.scopes["acme/web"];
    assert_eq!(names(scope), ["first", "second", "third", "new"]);
    let first = &scope.routes[0];
    assert_eq!((first.on.as_slice(), first.kind.as_deref()), (&["other".to_owned()][..], None));
    assert_eq!(first.config, serde_json::json!({}), "nothing inside it is merged");
    assert_eq!(config.scopes["acme"].routes[0].on, ["a.*"], "the root keeps its own");
}

/// BIND-08 BIND-09
#[test]
fn a_disabled_route_leaves_without_moving_the_others() {
    let config = valid(
        r#"
        [[scope."acme/web".route]]
        name = "second"
        disable = true
        [[scope."acme/web/api".route]]
        name = "second"
        on = ["again"]
        do = "drop"
        "#,
    );
    assert_eq!(names(&config.scopes["acme/web"]), ["first", "third"]);
    let below = &config.scopes["acme/web/api"];
    assert_eq!(names(below), ["first", "third", "second"], "its slot was given up");
    assert_eq!(names(&config.scopes["acme"]), ["first", "second", "third"]);
}

/// ROUTE-05
#[test]
fn two_routes_of_one_name_in_one_scope_are_refused() {
    let twice = r#"
        [[scope."acme/web".route]]
        name = "n"
        on = ["n"]
        do = "drop"
        [[scope."acme/web".route]]
        name = "n"
        on = ["m"]
        do = "drop"
        "#;
    insta::assert_snapshot!(refusals(&[twice]));
}

/// BIND-01 BIND-02
#[test]
fn the_nearest_binding_and_kind_win_whole() {
    let config = valid(
        r#"
        [scope."acme/web".binding.fixer]
        executor = "shell"
        command = ["true"]
        isolation = "none"
        [scope."acme/web/api".kind.fix]
        binding = "fixer"
        standing = true
        "#,
    );
    let root = config.scopes["acme"].binding_of("fix").expect("it has one");
    assert_eq!((root.resumes, root.timeout), (true, Some(Duration::seconds(7200))));
    let web = config.scopes["acme/web"].binding_of("fix").expect("it has one");
    assert_eq!((web.command.as_slice(), web.resumes), (&["true".to_owned()][..], false));
    assert_eq!(web.timeout, None, "no field of the farther one survives");
    assert_eq!(web.declared_in, "acme/web");
    let api = &config.scopes["acme/web/api"];
    assert_eq!(api.binding_of("fix"), Some(web));
    assert!(api.kinds["fix"].standing && api.kinds["fix"].reopen.is_empty());
    assert!(!config.scopes["acme/web"].kinds["fix"].standing);
}

/// BIND-02
#[test]
fn what_an_inherited_name_does_not_resolve_to_is_refused_where_it_stands() {
    insta::assert_snapshot!(refusals(&[
        "[scope.\"acme/web\".binding.fixer]\ndisable = true",
        "[scope.\"acme/web\".kind.fix]\ndisable = true",
        "[scope.\"acme/web\".kind.other]\nbinding = \"fixr\"",
    ]));
}

/// BIND-08
#[test]
fn what_cannot_be_disabled_is_refused() {
    insta::assert_snapshot!(refusals(&[
        "[[scope.\"acme/web\".route]]\nname = \"frist\"\ndisable = true",
        "[scope.\"acme/web\".kind.other]\ndisable = true",
        "[[scope.\"acme/web\".route]]\nname = \"first\"\non = [\"x\"]\ndisable = true",
        "[scope.\"acme/web\".binding.fixer]\ndisable = true\nexecutor = \"shell\"",
        "[[scope.\"acme/web\".route]]\nname = \"first\"\ndisable = \"yes\"",
    ]));
}

/// POLICY-06
#[test]
fn a_scope_is_bounded_by_itself_and_by_every_scope_above_it() {
    let config = valid(
        "[scope.\"acme/web\"]\n[scope.\"acme/web/a/b\"]\ncapacity = 2\n\
         [scope.\"acme-x\"]\n[scope.\"acme-x\".kind.k]\nbinding = \"b\"\n\
         [scope.\"acme-x\".binding.b]\nexecutor = \"shell\"\ncommand = [\"true\"]\n\
         isolation = \"none\"",
    );
    let bound = |name: &str| config.capacities(name);
    assert_eq!(bound("acme"), [("acme".to_owned(), 8)]);
    assert_eq!(bound("acme/web"), [("acme".to_owned(), 8)]);
    let deep = [("acme".to_owned(), 8), ("acme/web/a/b".to_owned(), 2)];
    assert_eq!(bound("acme/web/a/b"), deep);
    assert_eq!(bound("acme-x"), [("acme-x".to_owned(), 4)], "it is beside, not below");
}

/// CAUSE-23
#[test]
fn causal_limits_are_inherited_until_a_scope_says_otherwise() {
    let config = valid(
        "[scope.\"acme/web\"]\n[scope.\"acme/web/api\"]\ncausal = { max_depth = 5 }\n\
         [scope.\"acme/web/api/x\"]",
    );
    let depth = |name: &str| config.scopes[name].limits.max_depth;
    let all = ["acme", "acme/web", "acme/web/api", "acme/web/api/x"].map(depth);
    assert_eq!(all, [20, 20, 5, 5]);
}

/// BIND-05
#[test]
fn read_scopes_are_granted_to_the_scope_that_says_so_alone() {
    let config = valid(
        "[scope.\"acme/web\"]\nread_scopes = [\"acme\", \"acme/web\"]\n[scope.\"acme/web/api\"]",
    );
    assert_eq!(config.scopes["acme/web"].read_scopes, ["acme"], "its own needs no grant");
    assert!(config.scopes["acme/web/api"].read_scopes.is_empty());
    insta::assert_snapshot!(refusals(&[
        "[scope.\"acme/web\"]\nread_scopes = [\"acm\"]",
        "[scope.\"acme/web\"]\nread_scopes = \"acme\"",
    ]));
}

/// BIND-08
#[test]
fn a_ceiling_bounds_what_scopes_grant() {
    insta::assert_snapshot!(refusals(&[
        "[ceiling]\ncapacity = 7",
        "[ceiling]\ncausal = { max_depth = 19 }",
        "[scope.\"acme/web\"]\ncapacity = 5\n[scope.\"acme\".ceiling]\ncapacity = 4",
        "[ceiling]\nread_scopes = [\"acme/web\"]\n[scope.\"acme/api\"]\n\
         read_scopes = [\"acme/web\", \"acme\"]\n[scope.\"acme/web\"]",
        "[ceiling]\ncapacity = 0",
        "[ceiling]\ncapcity = 1",
        "[scope.\"acme/web\"]\nceiling = 1",
    ]));
}

/// BIND-08
#[test]
fn what_nobody_wrote_is_lowered_to_the_ceiling() {
    let config = valid(
        "[scope.\"acme/web\"]\nceiling = { capacity = 1, causal = { max_depth = 3 } }\n\
         [scope.\"acme/web/api\"]\n[scope.\"other\"]\n[scope.\"other\".kind.k]\nbinding = \"b\"\n\
         [scope.\"other\".binding.b]\nexecutor = \"shell\"\ncommand = [\"true\"]\n\
         isolation = \"none\"\n[ceiling]\ncapacity = 8\ncausal = { max_depth = 25 }",
    );
    assert_eq!(config.scopes["acme/web"].capacity, Some(1), "though one above bounds it, too");
    assert_eq!(config.scopes["acme/web/api"].capacity, None);
    let bounds = config.capacities("acme/web/api");
    assert!(bounds.contains(&("acme/web".to_owned(), 1)), "{bounds:?}");
    assert_eq!(config.scopes["acme/web"].limits.max_depth, 3);
    assert_eq!(config.scopes["acme/web/api"].limits.max_depth, 3);
    let other = &config.scopes["other"];
    assert_eq!((other.capacity, other.limits.max_depth), (Some(4), 25));
}

#[test]
fn names_of_scopes_are_parts_between_single_slashes() {
    insta::assert_snapshot!(refusals(&["[scope.\"acme//web\"]", "[scope.\"/acme\"]"]));
    // What reads like the source of a key, or moves a terminal, would be taken for something else.
    for name in ["team:x", "acme/\\u001b[31m", "github", "slack", "schedule", "op"] {
        let refused = refusals(&[&format!("[scope.\"{name}\"]")]);
        assert!(refused.contains("cannot be the name of a scope"), "{name}: {refused}");
    }
}

#[test]
fn words_without_an_effect_are_refused() {
    let route =
        |lines: &str| format!("[[scope.\"acme/web\".route]]\nname = \"n\"\non = [\"n\"]\n{lines}");
    let cases = [
        "do = \"update\"\nkind = \"fix\"",
        "do = \"drop\"\nattach = '[\"x\"]'",
        "do = \"close\"\nactive = \"queue\"",
        "do = \"work\"",
        "do = \"cancel\"",
    ]
    .map(route);
    let standing = "[scope.\"acme/web\".kind.k]\nbinding = \"fixer\"\nstanding = true\n\
                    close_after = \"1d\""
        .to_owned();
    let all: Vec<&str> = cases.iter().chain([&standing]).map(String::as_str).collect();
    insta::assert_snapshot!(refusals(&all));
}

/// BIND-10 BIND-11
#[test]
fn a_kept_text_is_readable_without_what_it_names() {
    let text = format!("{}{ROOT}", crate::config::tests::SMALL);
    let dir = folder();
    let file = dir.path().join("abide.toml");
    let config = read_in(&dir, &text, &environment()).expect("it is valid");
    std::fs::remove_file(dir.path().join("review.sh")).expect("it was there");
    let none = crate::config::Environment::default();
    assert!(Config::parse(text.clone(), &file, &none).is_err(), "no program and no secret");
    for kept in [text, config.body().to_owned()] {
        let again = Config::of_generation(kept, &file, &none).expect("it was valid");
        assert_eq!(again.digest(), config.digest());
        assert_eq!(again.scopes["acme"].bindings, config.scopes["acme"].bindings);
    }
    // Neither another folder nor other overrides change what was kept.
    let moved = std::path::Path::new("/elsewhere/abide.toml");
    let other = crate::config::Environment::of([("ABIDE__LISTEN__HOOKS", "127.0.0.1:1")]);
    let again = Config::of_generation(config.body().to_owned(), moved, &other);
    let again = again.expect("it was valid");
    assert_eq!(again.scopes["acme"].bindings, config.scopes["acme"].bindings);
    assert_eq!(again.listen, config.listen);
    // What people are shown of it is the same configuration.
    let shown = crate::config::shown(config.body());
    let again = Config::of_generation(shown, &file, &none).expect("it is TOML");
    assert_eq!(again.digest(), config.digest());
}
