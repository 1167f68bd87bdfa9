//! `abide completions` and `abide man`: what a shell and `man` want to know of this command line.

use clap::Command;
use clap_complete::Shell;

use super::{Code, Failure, Ran, output};

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  abide completions bash > ~/.local/share/bash-completion/completions/abide
  abide completions zsh > ~/.zfunc/_abide")]
pub(super) struct Completions {
    /// The shell they are for
    shell: Shell,
}

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  abide man | man -l -
  abide man event list | man -l -")]
pub(super) struct Man {
    /// The command it is about; all of `abide` if left out
    #[arg(value_name = "COMMAND")]
    path: Vec<String>,
}

pub(super) fn completions(args: &Completions, mut line: Command) -> Ran {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut line, "abide", &mut script);
    output::bytes(&script)?;
    Ok(Code::Done)
}

pub(super) fn man(args: &Man, line: Command) -> Ran {
    let mut line = line;
    line.build();
    let mut command = &line;
    for name in &args.path {
        command = command.find_subcommand(name).ok_or_else(|| {
            Failure::new(Code::Usage, format!("there is no command `{name}`: see `abide --help`"))
        })?;
    }
    let mut page = Vec::new();
    clap_mangen::Man::new(command.clone())
        .render(&mut page)
        .map_err(|error| Failure::refused(format!("cannot write the page: {error}")))?;
    output::bytes(&page)?;
    Ok(Code::Done)
}
