//! The command line of the model: check the law, break it, walk through it.
//!
//! This file and `cli/` are the only ones that print or know a command line. Results go to standard output, progress to
//! standard error. Exit codes: 0 all well, 1 a violation, 2 a mistake in the call.

mod cli;

use std::process::ExitCode;

use clap::Parser;

fn main() -> ExitCode {
    match cli::run(cli::Cli::parse()) {
        Ok(cli::Verdict::Well) => ExitCode::SUCCESS,
        Ok(cli::Verdict::Violated) => ExitCode::from(1),
        Err(mistake) => {
            eprintln!("error: {mistake}");
            ExitCode::from(2)
        }
    }
}
