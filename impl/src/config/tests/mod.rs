//! What is accepted, what is refused and how the refusal reads.

mod controls;
mod expressions;
mod refused;
mod routing;
mod scopes;

use std::fs;
use std::os::unix::fs::PermissionsExt;

use tempfile::TempDir;

use super::{Config, Environment, ExecutorKind, ScopeRule};
use crate::domain::{Duration, Exhausted, RetryPolicy};

/// A configuration with everything it needs and nothing else.
pub(crate) const SMALL: &str = r#"
[[ingress]]
name = "github"
kind = "github"
scope = "main"
secrets = [{ env = "GH_SECRET" }]

[[scope."main".route]]
name = "all"
on = ["*"]
key = 'string(event.data.number)'
do = "work"
kind = "review"

[scope."main".kind.review]
binding = "reviewer"

[scope."main".binding.reviewer]
executor = "shell"
command = ["./review.sh"]
isolation = "none"
"#;

/// A folder with the executor that the configurations of these tests name.
pub(crate) fn folder() -> TempDir {
    let dir = TempDir::new().expect("a temporary folder can be made");
    let script = dir.path().join("review.sh");
    fs::write(&script, "#!/bin/sh\n").expect("a file can be written there");
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).expect("and made executable");
    dir
}

pub(crate) fn environment() -> Environment {
    Environment::of([("GH_SECRET", "hush")])
}

/// Reads a text; errors are rendered, without the folder's name.
pub(crate) fn read_in(dir: &TempDir, text: &str, env: &Environment) -> Result<Config, String> {
    let file = dir.path().join("abide.toml");
    let folder = format!("{}/", dir.path().display());
    let read = Config::parse(text.to_owned(), &file, env);
    read.map_err(|errors| errors.to_string().replace(&folder, ""))
}

/// Reads a text that is valid.
pub(crate) fn valid(text: &str) -> Config {
    read_in(&folder(), text, &environment()).unwrap_or_else(|errors| panic!("{errors}"))
}

#[test]
fn what_is_left_out_has_a_default() {
    let dir = folder();
    let config = read_in(&dir, SMALL, &environment()).expect("it is valid");
    assert_eq!(config.daemon.state, dir.path().join("state"));
    assert_eq!(config.daemon.database, dir.path().join("state/abide.db"));
    assert_eq!(config.listen.operator, dir.path().join("state/operator.sock"));
    assert_eq!(config.listen.hooks, None);
    let scope = config.scope("main").expect("it is configured");
    assert_eq!(scope.capacity, Some(4));
    assert_eq!(scope.limits.max_depth, 32);
    assert!(scope.read_scopes.is_empty());
    let kind = &scope.kinds["review"];
    assert!(!kind.standing && kind.reopen.is_empty() && kind.close_after.is_none());
    let binding = scope.binding_of("review").expect("it has one");
    assert_eq!(binding.lease, Duration::seconds(30));
    assert_eq!(binding.stop_grace, Duration::seconds(10));
    assert_eq!(binding.timeout, None);
    assert!(!binding.resumes);
    assert_eq!(config.ingresses[0].max, 25 << 20);
    assert_eq!(config.ingresses[0].scope, ScopeRule::One("main".into()));
    let program = dir.path().join("review.sh").display().to_string();
    assert_eq!(binding.command, [program]);
    assert_eq!((binding.executor, &binding.prompt), (ExecutorKind::Shell, &None));
}

#[test]
fn an_agent_has_the_words_of_a_shell_and_a_prompt() {
    let dir = folder();
    fs::write(dir.path().join("prompt.md"), "Review it.").expect("a file can be written there");
    let text = SMALL.replace("\"shell\"", "\"agent\"\nprompt = \"./prompt.md\"\nenv = [\"PATH\"]");
    let config = read_in(&dir, &text, &environment()).expect("it is valid");
    let binding = config.scopes["main"].binding_of("review").expect("it has one");
    assert_eq!(binding.executor, ExecutorKind::Agent);
    assert_eq!(binding.prompt, Some(dir.path().join("prompt.md")));
    assert_eq!(binding.env, ["PATH"]);
}

#[test]
fn neutral_values_of_later_words_are_accepted() {
    let text = SMALL
        .replace(
            "binding = \"reviewer\"",
            "binding = \"reviewer\"\nstanding = false\nrun_once = false\nreopen = []\n\
             retry = { attempts = 3, exhausted = \"keep\" }",
        )
        .replace("isolation", "tools = []\nisolation");
    valid(&text);
}

/// The policy of the one kind, with these words of it.
fn policy(words: &str) -> RetryPolicy {
    let kind = format!("binding = \"reviewer\"\n{words}\n");
    let config = valid(&SMALL.replacen("binding = \"reviewer\"", &kind, 1));
    config.scope("main").expect("it is configured").kinds["review"].retry.clone()
}

/// RETRY-03 RETRY-04 RETRY-05 RETRY-17 RETRY-31
#[test]
fn without_a_word_three_failures_use_up_the_budget_and_the_work_is_kept() {
    let minutes = |minutes: u64| Duration::seconds(60 * minutes);
    for words in ["", "retry = {}", "retry = { attempts = 3, exhausted = \"keep\" }"] {
        let policy = policy(words);
        assert_eq!(policy, RetryPolicy::default(), "{words}");
        assert_eq!((policy.attempts, policy.exhausted), (3, Exhausted::Keep));
        assert_eq!(policy.backoff, [minutes(5), minutes(10)]);
        assert_eq!(policy.hint_max, minutes(24 * 60));
    }
}

/// RETRY-07
#[test]
fn with_a_budget_of_four_the_third_failure_is_retried_after_a_quarter_of_an_hour() {
    let named = policy("retry = { attempts = 4, backoff = [\"5m\", \"10m\", \"15m\"] }");
    assert_eq!(named.attempts, 4);
    assert_eq!(named.backoff[2], Duration::seconds(15 * 60));
    assert_eq!(policy("retry = { attempts = 4 }"), named);
}

/// RETRY-31
#[test]
fn a_work_is_failed_for_good_only_where_its_kind_says_so() {
    let policy = policy("retry = { attempts = 1, exhausted = \"fail\", hint_max = \"1h\" }");
    assert_eq!((policy.attempts, policy.exhausted), (1, Exhausted::Fail));
    assert!(policy.backoff.is_empty(), "no failure is retried");
    assert_eq!(policy.hint_max, Duration::seconds(3600));
}

#[test]
fn the_largest_budget_has_a_step_for_each_failure_but_the_last() {
    let steps = vec!["\"365d\""; 999].join(", ");
    let policy = policy(&format!("retry = {{ attempts = 1000, backoff = [{steps}] }}"));
    assert_eq!(policy.backoff.len(), 999);
}

#[test]
fn standing_work_may_say_how_long_a_hint_may_ask_for() {
    let policy = policy("standing = true\nretry = { hint_max = \"30m\" }");
    assert_eq!(policy.hint_max, Duration::seconds(30 * 60));
}

#[test]
fn the_environment_wins_over_the_file() {
    let dir = folder();
    let text = format!("[daemon]\nstate = \"one\"\n{SMALL}");
    let env = Environment::of([
        ("GH_SECRET", "hush"),
        ("ABIDE__DAEMON__STATE", "/two"),
        ("ABIDE__LISTEN__HOOKS", "127.0.0.1:7"),
    ]);
    let config = read_in(&dir, &text, &env).expect("it is valid");
    assert_eq!(config.daemon.state.to_str(), Some("/two"));
    assert_eq!(config.listen.hooks.map(|address| address.port()), Some(7));
}

#[test]
fn a_digest_follows_what_is_said_and_not_how() {
    let dir = folder();
    let digest = |text: &str| read_in(&dir, text, &environment()).expect("it is valid").digest();
    let one = digest(SMALL);
    let same = SMALL
        .replace("name = \"all\"\n", "")
        .replace("do = \"work\"", "name    =   'all' # the same\ndo = \"work\"");
    assert_eq!(one, digest(&same));
    assert_ne!(one, digest(&SMALL.replace("\"*\"", "\"push\"")));
    assert_ne!(one, valid(SMALL).digest(), "its paths are relative to another folder");
}

#[test]
fn no_secret_is_shown_by_debug_json_or_digest_input() {
    let config = valid(SMALL);
    assert!(!format!("{config:?}").contains("hush"));
    assert!(!config.body().contains("hush"));
    assert_eq!(config.ingresses[0].secrets[0].expose(), "hush");
}

#[test]
fn a_secret_file_loses_its_line_break_only() {
    let dir = folder();
    fs::write(dir.path().join("gh"), " a b \r\n").expect("a file can be written there");
    let text = SMALL.replace("{ env = \"GH_SECRET\" }", "{ file = \"gh\" }");
    let config = read_in(&dir, &text, &environment()).expect("it is valid");
    assert_eq!(config.ingresses[0].secrets[0].expose(), " a b ");
}

#[test]
fn notes_say_that_isolation_none_is_advisory_and_hooks_are_not_open() {
    insta::assert_snapshot!(valid(SMALL).notes().join("\n"));
}

/// A file may be anything: it is read or refused.
#[test]
fn no_damage_to_a_configuration_makes_its_reader_panic() {
    let (dir, env) = (folder(), environment());
    let text = include_str!("../../cli/init/abide.toml");
    let damages = ["", "\"", "'", "[", "]", "=", "é", "\0", "\n"];
    for (n, (at, old)) in text.char_indices().step_by(37).enumerate() {
        let (head, tail) = (&text[..at], &text[at + old.len_utf8()..]);
        let _ = read_in(&dir, head, &env);
        let _ = read_in(&dir, &format!("{head}{}{tail}", damages[n % damages.len()]), &env);
    }
}

#[test]
fn units_are_read_exactly() {
    assert_eq!(super::duration("250ms"), Ok(Duration(250)));
    assert_eq!(super::duration("14d"), Ok(Duration::seconds(14 * 86_400)));
    assert_eq!(super::size("25MiB"), Ok(25 << 20));
    let said = [0, 999, 1000, 250_000, 1500, 90_061_000].map(|ms| super::length(Duration(ms)));
    assert_eq!(said, ["0s", "999ms", "1s", "4m 10s", "1s 500ms", "1d 1h 1m 1s"]);
    for wrong in ["", "s", "30", "30 s", "-1s", "1.5h", "1w", "18446744073709551615d", "1e3s"] {
        assert!(super::duration(wrong).is_err(), "{wrong}");
    }
    for wrong in ["25MB", "25", "MiB", "18446744073709551615GiB"] {
        assert!(super::size(wrong).is_err(), "{wrong}");
    }
}
