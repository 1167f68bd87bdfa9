//! What `--help` says, on every command: a person reads it before anything else.

use std::process::Command;

/// Every command a person may type.
const COMMANDS: &[&str] = &[
    "",
    "demo",
    "init",
    "check",
    "serve",
    "drain",
    "route",
    "route test",
    "emit",
    "why",
    "event",
    "event list",
    "event show",
    "event tail",
    "event replay",
    "event drop",
    "work",
    "work list",
    "work show",
    "work logs",
    "work create",
    "work hold",
    "work release",
    "work retry",
    "work interrupt",
    "work cancel",
    "work reopen",
    "wait",
    "wait list",
    "wait show",
    "timer",
    "timer list",
    "hold",
    "hold list",
    "hold release",
    "rejection",
    "rejection list",
    "scope",
    "scope list",
    "scope show",
    "config",
    "config show",
    "config history",
    "config reload",
    "chain",
    "backup",
    "restore",
    "doctor",
    "journal",
    "journal export",
    "completions",
    "man",
    "tool",
    "tool inputs",
    "tool inbox",
    "tool ack",
    "tool result",
    "tool wait",
    "tool beat",
];

fn abide(arguments: &[&str]) -> (String, Option<i32>) {
    let output = Command::new(env!("CARGO_BIN_EXE_abide"))
        .args(arguments)
        .env_remove("ABIDE_CONFIG")
        .env("COLUMNS", "90")
        .output()
        .expect("the binary runs");
    (String::from_utf8(output.stdout).expect("help is text"), output.status.code())
}

fn help(command: &str) -> String {
    let (text, code) = abide(&command.split_whitespace().chain(["--help"]).collect::<Vec<_>>());
    assert_eq!(code, Some(0), "`abide {command} --help`");
    text
}

#[test]
fn help_reads_well() {
    for command in COMMANDS {
        let name = format!("help {command}").trim().replace(' ', "-");
        insta::assert_snapshot!(name, help(command));
    }
}

#[test]
fn help_is_narrow_and_says_everything_it_lists() {
    for command in COMMANDS {
        let text = help(command);
        for line in text.lines() {
            assert!(line.chars().count() <= 100, "`abide {command} --help`: {line}");
        }
    }
    let listed = |command: &str| -> Vec<String> {
        let text = help(command);
        let commands = text.split("Commands:\n").nth(1).unwrap_or_default();
        let lines = commands.lines().take_while(|line| line.starts_with("  "));
        let names = lines.filter(|line| !line.starts_with("   "));
        names.filter_map(|line| Some(line.split_whitespace().next()?.to_owned())).collect()
    };
    let parents = [
        "",
        "route",
        "event",
        "work",
        "wait",
        "timer",
        "hold",
        "rejection",
        "scope",
        "config",
        "journal",
        "tool",
    ];
    for parent in parents {
        for name in listed(parent) {
            let command = format!("{parent} {name}").trim().to_owned();
            assert!(name == "help" || COMMANDS.contains(&command.as_str()), "{command} is new");
        }
    }
}

#[test]
fn every_command_has_an_example() {
    for command in COMMANDS {
        let text = help(command);
        let leads_on = text.contains("Commands:\n");
        assert!(leads_on || text.contains("Example"), "`abide {command} --help` has no example");
    }
}

#[test]
fn wrong_usage_exits_with_2_and_a_missing_daemon_with_1() {
    assert_eq!(abide(&["event", "list", "--no-such"]).1, Some(2));
    assert_eq!(abide(&["event", "list", "-c", "/nowhere/abide.toml"]).1, Some(1));
    assert_eq!(abide(&["man", "nothing"]).1, Some(2));
}

#[test]
fn completions_and_manual_pages_are_made_for_every_shell() {
    for shell in ["bash", "zsh", "fish"] {
        let (script, code) = abide(&["completions", shell]);
        assert_eq!(code, Some(0), "{shell}");
        assert!(script.contains("journal"), "{shell}");
    }
    let (page, code) = abide(&["man", "event", "list"]);
    assert_eq!(code, Some(0));
    assert!(page.contains(".TH") && page.contains("unmatched"), "{page}");
}
