//! Rewrites every generated file of `specs/`; `--check` only says which are stale.

use std::io::{self, Write};
use std::process::ExitCode;

use abide_tests::specs::Specs;
use abide_tests::specs::finding::Finding;
use abide_tests::specs::generated::{generated, stale, write};

const USAGE: &str = "usage: regenerate [--check]";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let done = match arguments[..] {
        [] => Specs::read().and_then(|specs| rewrite(&specs)),
        ["--check"] => Specs::read().map(|specs| check(&specs)),
        _ => {
            say(&mut io::stderr(), &[USAGE.to_owned()]);
            return ExitCode::from(2);
        }
    };
    match done {
        Ok(exit) => exit,
        Err(sentence) => {
            say(&mut io::stderr(), &[sentence]);
            ExitCode::FAILURE
        }
    }
}

fn rewrite(specs: &Specs) -> Result<ExitCode, String> {
    let expected = generated(&specs.book, &specs.registry, &specs.files);
    let touched = write(&specs.root, &expected, &specs.files)
        .map_err(|cause| format!("a generated file cannot be written: {cause}"))?;
    say(&mut io::stdout(), &[format!("{} files, {} rewritten", expected.len(), touched.len())]);
    say(&mut io::stdout(), &touched);
    Ok(ExitCode::SUCCESS)
}

fn check(specs: &Specs) -> ExitCode {
    let expected = generated(&specs.book, &specs.registry, &specs.files);
    let stale: Vec<String> =
        stale(&expected, &specs.files).iter().map(Finding::to_string).collect();
    say(&mut io::stderr(), &stale);
    if stale.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Prints lines; a closed pipe on the other side is nobody's failure.
fn say(out: &mut impl Write, lines: &[String]) {
    for line in lines {
        let _ = writeln!(out, "{line}");
    }
}
