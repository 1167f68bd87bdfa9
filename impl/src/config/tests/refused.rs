//! A table of configurations that are refused, each with the error a person is shown.

use std::fmt::Write;

use super::{SMALL, environment, folder, read_in};
use crate::config::Environment;

/// Renders each case: what is put where, and what is said about it.
fn refusals(cases: &[(&str, &str)]) -> String {
    let mut all = String::new();
    for (from, to) in cases {
        assert!(SMALL.contains(from), "{from:?} is not in the configuration");
        let text = SMALL.replacen(from, to, 1);
        let errors = read_in(&folder(), &text, &environment()).err();
        let errors = errors.unwrap_or_else(|| "ACCEPTED\n".to_owned());
        writeln!(all, "# {}\n{errors}", to.trim()).expect("a text takes any text");
    }
    all
}

const TOP: &str = "\n[[ingress]]";

#[test]
fn unknown_words_are_refused_with_a_suggestion() {
    insta::assert_snapshot!(refusals(&[
        ("isolation", "isolatoin"),
        (TOP, "\n[deamon]\nstate = \"x\"\n[[ingress]]"),
        (TOP, "\n[daemon]\ndata = \"x\"\n[[ingress]]"),
        ("do = \"work\"", "do = \"wrok\""),
        ("\"shell\"", "\"shel\""),
        ("isolation", "capabilities = [\"resum\"]\nisolation"),
        ("isolation", "capabilities = [\"steer\"]\nisolation"),
        (TOP, "\n[principal.ops]\ntoken = { file = \"t\" }\nmay = [\"wrk\"]\n[[ingress]]"),
    ]));
}

#[test]
fn words_of_later_versions_are_refused_where_they_stand() {
    insta::assert_snapshot!(refusals(&[
        (TOP, "\n[[schedule]]\nname = \"nightly\"\n[[ingress]]"),
        (TOP, "\n[operation.merge]\n[[ingress]]"),
        (TOP, "\n[capability.gpu]\n[[ingress]]"),
        (TOP, "\n[[notify]]\n[[ingress]]"),
        (TOP, "\n[ceiling]\ntools = [\"emit:*\"]\n[[ingress]]"),
        (TOP, "\n[listen]\nconsole = \"127.0.0.1:7701\"\n[[ingress]]"),
        (TOP, "\n[daemon]\nretention = { output = \"30d\" }\n[[ingress]]"),
        (TOP, "\n[daemon]\ndatabase = \"postgres://db\"\n[[ingress]]"),
        ("kind = \"github\"", "kind = \"slack\""),
        ("scope = \"main\"", "scope = \"main\"\ncatch_up = {}"),
        ("binding = \"reviewer\"", "binding = \"reviewer\"\nrun_once = true"),
        ("binding = \"reviewer\"", "binding = \"reviewer\"\ncapacity = 1"),
        ("binding = \"reviewer\"", "binding = \"reviewer\"\naccepts = \"member\""),
        ("\"shell\"", "\"codex\""),
        ("\"none\"", "\"landlock\""),
        ("\"none\"", "\"user:bot\""),
        ("isolation", "tools = [\"emit:*\"]\nisolation"),
        ("[scope.\"main\".kind.review]", "[[scope.\"main\".budget]]\n[scope.\"main\".kind.review]"),
        (
            "[scope.\"main\".kind.review]",
            "[scope.\"main\"]\ncausal = { per_minute = 128 }\n[scope.\"main\".kind.review]"
        ),
    ]));
}

#[test]
fn missing_and_mistyped_values_are_refused() {
    insta::assert_snapshot!(refusals(&[
        ("isolation = \"none\"\n", ""),
        ("executor = \"shell\"\n", ""),
        ("command = [\"./review.sh\"]\n", ""),
        ("[\"./review.sh\"]", "[]"),
        ("[\"./review.sh\"]", "\"./review.sh\""),
        ("[\"./review.sh\"]", "[\"./reviewer.sh\"]"),
        ("[\"./review.sh\"]", "[\"./\"]"),
        ("\"shell\"", "\"agnet\""),
        ("isolation", "prompt = \"./review.sh\"\nisolation"),
        ("\"shell\"", "\"agent\"\nprompt = \"missing.md\""),
        ("\"shell\"", "\"agent\"\nprompt = true"),
        ("on = [\"*\"]\n", ""),
        ("on = [\"*\"]", "on = []"),
        ("on = [\"*\"]", "on = [1]"),
        ("on = [\"*\"]", "on = [\"a[\"]"),
        ("on = [\"*\"]", "on = [\"core.turn.*\"]"),
        ("do = \"work\"\n", ""),
        ("name = \"all\"", "name = \"a b\""),
        ("name = \"all\"", "name = true"),
        ("kind = \"review\"", "kind = \"reviw\""),
        ("binding = \"reviewer\"", "binding = \"other\""),
        ("isolation", "lease = \"10\"\nisolation"),
        ("isolation", "lease = \"2h\"\nisolation"),
        ("isolation", "env = \"PATH\"\nisolation"),
        ("scope = \"main\"\n", ""),
        ("scope = \"main\"", "scope = \"mian\""),
        ("scope = \"main\"", "scope = \"main\"\nscopes = { \"a/b\" = \"main\" }"),
        ("scope = \"main\"", "scopes = { \"a/b\" = \"other\", \"c/d\" = 1 }"),
        ("scope = \"main\"", "scope = \"main\"\nmax = \"26MiB\""),
        ("[[ingress]]", "[ingress]"),
        (TOP, "\n[listen]\nhooks = \"localhost\"\n[[ingress]]"),
        (TOP, "\n[daemon]\ndatabase = \"mysql://db\"\n[[ingress]]"),
        (TOP, "\ndaemon = 1\n[[ingress]]"),
        (TOP, "\n[principal.ops]\n[[ingress]]"),
    ]));
}

/// RETRY-03 RETRY-07 RETRY-31
#[test]
fn a_retry_policy_is_whole_and_within_bounds() {
    let policies = [
        "retry = 3",
        "retry = { atempts = 3 }",
        "retry = { attempts = 0 }",
        "retry = { attempts = -1 }",
        "retry = { attempts = 1001 }",
        "retry = { attempts = \"3\" }",
        "retry = { attempts = 5 }",
        "retry = { attempts = 4, backoff = [\"5m\", \"10m\"] }",
        "retry = { attempts = 3, backoff = [\"5m\"] }",
        "retry = { backoff = [] }",
        "retry = { backoff = \"5m\" }",
        "retry = { backoff = [5, \"10m\", \"15m\"] }",
        "retry = { backoff = [\"0s\", \"999ms\", \"366d\"] }",
        "retry = { backoff = [\"-5m\", \"99999999999999999999d\"] }",
        "retry = { exhausted = \"failed\" }",
        "retry = { hint_max = \"0s\" }",
        "retry = { hint_max = \"366d\" }",
        "standing = true\nretry = { attempts = 3 }",
        "standing = true\nretry = { hint_max = \"1h\", exhausted = \"fail\" }",
    ];
    let texts = policies.map(|words| format!("binding = \"reviewer\"\n{words}"));
    let cases = texts.each_ref().map(|text| ("binding = \"reviewer\"", text.as_str()));
    insta::assert_snapshot!(refusals(&cases));
}

/// CAUSE-22
#[test]
fn causal_bounds_are_neither_zero_negative_unlimited_nor_above_the_bound() {
    let depth = |value: &str| format!("[scope.\"main\"]\ncausal = {{ max_depth = {value} }}\n");
    let values = ["0", "-1", "inf", "\"unlimited\"", "1025", "99999999999999999999"];
    let texts = values.map(|value| format!("{}[scope.\"main\".kind.review]", depth(value)));
    let cases = texts.each_ref().map(|text| ("[scope.\"main\".kind.review]", text.as_str()));
    insta::assert_snapshot!(refusals(&cases));
}

#[test]
fn names_are_unique() {
    let route = "[[scope.\"main\".route]]\nname = \"all\"\non = [\"*\"]\ndo = \"work\"\n\
                 kind = \"review\"\n\n[scope.\"main\".kind.review]";
    let ingress = "\n[[ingress]]\nname = \"github\"\nkind = \"http\"\nscope = \"main\"\n\
                   secrets = [{ env = \"GH_SECRET\" }]\n[[ingress]]";
    insta::assert_snapshot!(refusals(&[
        ("[scope.\"main\".kind.review]", route),
        (TOP, ingress),
        ("[scope.\"main\".kind.review]", "[scope.\"main\".kind.review]\nbinding = \"reviewer\""),
    ]));
}

#[test]
fn secrets_are_named_found_and_never_shown() {
    let literal = refusals(&[("{ env = \"GH_SECRET\" }", "\"hunter2\"")]);
    assert!(!literal.trim_start_matches("# \"hunter2\"").contains("hunter2"), "{literal}");
    insta::assert_snapshot!(refusals(&[
        ("GH_SECRET", "GH_SECRT"),
        ("{ env = \"GH_SECRET\" }", "{ file = \"gh.secret\" }"),
        ("{ env = \"GH_SECRET\" }", "\"…\""),
        ("[{ env = \"GH_SECRET\" }]", "\"…\""),
        ("{ env = \"GH_SECRET\" }", "{ env = \"GH_SECRET\", file = \"x\" }"),
        ("{ env = \"GH_SECRET\" }", ""),
        ("secrets = [{ env = \"GH_SECRET\" }]\n", ""),
        (
            "secrets = [{ env = \"GH_SECRET\" }]",
            "secrets = [{ env = \"GH_SECRET\" }]\nunsigned = true"
        ),
        (
            TOP,
            "\n[listen]\nhooks = \"0.0.0.0:7700\"\n[[ingress]]\nname = \"open\"\nkind = \"http\"\n\
               scope = \"main\"\nunsigned = true\n[[ingress]]"
        ),
    ]));
}

#[test]
fn an_empty_secret_is_refused() {
    let env = Environment::of([("GH_SECRET", "")]);
    insta::assert_snapshot!(read_in(&folder(), SMALL, &env).expect_err("it is refused"));
}

#[test]
fn unknown_overrides_are_refused() {
    let env = Environment::of([("GH_SECRET", "x"), ("ABIDE__DEAMON__STATE", "/x")]);
    insta::assert_snapshot!(read_in(&folder(), SMALL, &env).expect_err("it is refused"));
}

#[test]
fn what_is_not_toml_is_located_and_the_rest_is_still_read() {
    insta::assert_snapshot!(refusals(&[
        ("kind = \"github\"", "kind = github"),
        ("on = [\"*\"]", "on = [\"*\""),
        ("do = \"work\"", "do = \"work\"\ndo = \"work\""),
    ]));
}

#[test]
fn several_problems_are_reported_at_once_in_the_order_of_the_file() {
    let text = SMALL
        .replace("GH_SECRET", "NOWHERE")
        .replace("event.data.number", "evnt.data.number")
        .replace("\"none\"", "\"container\"");
    insta::assert_snapshot!(read_in(&folder(), &text, &environment()).expect_err("it is refused"));
}

#[test]
fn an_empty_file_says_what_is_needed() {
    insta::assert_snapshot!(read_in(&folder(), "", &environment()).expect_err("it is refused"));
}
