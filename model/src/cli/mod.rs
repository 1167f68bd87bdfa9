//! One file a subcommand; here are the arguments they share.

mod check;
mod explore;
mod listings;
mod mutants;
mod progress;
mod saturation;
mod show;
mod traces;

use std::path::PathBuf;

use abide_model::law::Law;
use abide_model::mutants::Mutant;
use abide_model::worlds::{ALL, World, named};
use clap::{Parser, Subcommand};
use comfy_table::{Table, presets};

/// The law of Abide, explored.
///
/// Every world is bounded and explored to exhaustion. A violation is told as the shortest way to it and written as a
/// trace that `show` and `explore` open.
#[derive(Debug, Parser)]
#[command(name = "abide-model", version, max_term_width = 100)]
pub(crate) struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// List the worlds: what each isolates, and how many states, transitions and steps it has.
    Worlds {
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Check every property in a world; on a violation, tell the shortest counterexample and exit 1.
    Check {
        /// A world, or `all`.
        #[arg(long, default_value = "all")]
        world: String,
        /// Break one clause of the law first; `mutants` lists them.
        #[arg(long)]
        mutant: Option<String>,
        /// Threads of the second exploration, by Stateright.
        #[arg(long, default_value_t = 1)]
        threads: usize,
        /// Folder for the trace of a counterexample.
        #[arg(long, default_value = ".")]
        out: PathBuf,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Show that every broken law is caught: by which property, where, and in how many steps.
    Mutants {
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Show that rest is reachable from every state, or the way to a state that is stuck.
    Progress {
        /// A world, or `all`.
        #[arg(long, default_value = "all")]
        world: String,
        /// Break one clause of the law first.
        #[arg(long)]
        mutant: Option<String>,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Compare the transition classes of each world with those of its next larger bound.
    Saturation {
        /// A world, or `all`.
        #[arg(long, default_value = "all")]
        world: String,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Browse a world in the Stateright Explorer, at the shortest counterexample or at the end of a trace.
    Explore {
        /// A world.
        #[arg(long, default_value = "waits")]
        world: String,
        /// Break one clause of the law first.
        #[arg(long)]
        mutant: Option<String>,
        /// Open this trace; its world and mutant are taken from it.
        #[arg(long, conflicts_with_all = ["world", "mutant"])]
        trace: Option<PathBuf>,
        /// Address to listen on. The Explorer has no authentication: keep it on the loopback.
        #[arg(long, default_value = "127.0.0.1:3000")]
        listen: String,
    },
    /// Write traces that together show every transition class of a world.
    Traces {
        /// A world, or `all`.
        #[arg(long)]
        world: String,
        /// What to cover.
        #[arg(long, value_enum, default_value_t = traces::Cover::Classes)]
        cover: traces::Cover,
        /// Folder to write to.
        #[arg(long)]
        out: PathBuf,
    },
    /// Tell a trace; exit 1 if it breaks a property or parts from the model.
    Show {
        /// The trace file.
        trace: PathBuf,
        /// How to tell it.
        #[arg(long, value_enum, default_value_t = show::Format::Text)]
        format: show::Format,
    },
    /// List the rules that properties and mutants stand for.
    Rules {
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
}

/// How a run ended, if it could be made at all.
pub(crate) enum Verdict {
    /// Nothing is wrong.
    Well,
    /// A property, a progress check or a trace failed.
    Violated,
}

impl Verdict {
    fn of(well: bool) -> Self {
        if well { Verdict::Well } else { Verdict::Violated }
    }
}

/// A mistake in the call, in words.
pub(crate) type Mistake = String;

pub(crate) fn run(cli: Cli) -> Result<Verdict, Mistake> {
    match cli.command {
        Command::Worlds { json } => listings::worlds(json),
        Command::Check { world, mutant, threads, out, json } => {
            check::run(&laws(&world, mutant.as_deref())?, &check::Options { threads, out, json })
        }
        Command::Mutants { json } => mutants::run(json),
        Command::Progress { world, mutant, json } => {
            progress::run(&laws(&world, mutant.as_deref())?, json)
        }
        Command::Saturation { world, json } => saturation::run(&worlds(&world)?, json),
        Command::Explore { world, mutant, trace, listen } => match trace {
            Some(file) => explore::trace(&file, &listen),
            None => explore::world(law(&world, mutant.as_deref())?, &listen),
        },
        Command::Traces { world, cover, out } => traces::run(&worlds(&world)?, cover, &out),
        Command::Show { trace, format } => show::run(&trace, format),
        Command::Rules { json } => listings::rules(json),
    }
}

fn worlds(name: &str) -> Result<Vec<&'static World>, Mistake> {
    match name {
        "all" => Ok(ALL.to_vec()),
        name => Ok(vec![world(name)?]),
    }
}

fn world(name: &str) -> Result<&'static World, Mistake> {
    named(name).ok_or_else(|| {
        let known: Vec<&str> = ALL.iter().map(|world| world.name).collect();
        format!("there is no world `{name}`; there are {}", known.join(", "))
    })
}

fn law(world_name: &str, mutant: Option<&str>) -> Result<Law, Mistake> {
    Ok(Law { world: world(world_name)?, mutant: mutant.map(find_mutant).transpose()? })
}

fn laws(name: &str, mutant: Option<&str>) -> Result<Vec<Law>, Mistake> {
    let mutant = mutant.map(find_mutant).transpose()?;
    Ok(worlds(name)?.into_iter().map(|world| Law { world, mutant }).collect())
}

fn find_mutant(name: &str) -> Result<Mutant, Mistake> {
    Mutant::named(name)
        .ok_or_else(|| format!("there is no mutant `{name}`; `abide-model mutants` lists them"))
}

/// A table without frames, wide cells wrapped to the terminal.
fn table(header: &[&str]) -> Table {
    let mut table = Table::new();
    table.load_style(presets::UTF8_HORIZONTAL_ONLY).set_header(header);
    table
}

fn print_json(value: &impl serde::Serialize) -> Result<(), Mistake> {
    let text = serde_json::to_string_pretty(value).map_err(|error| error.to_string())?;
    say(text);
    Ok(())
}

/// Prints a line. A reader that closes the pipe early, as `head` does, is no failure of ours.
fn say(text: impl std::fmt::Display) {
    use std::io::Write;
    let _ = writeln!(std::io::stdout(), "{text}");
}
