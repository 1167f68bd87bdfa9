//! The command line: one file a noun, and one variant of `Noun`.

mod backup;
mod chain;
pub mod check;
mod client;
mod completions;
mod config;
mod demo;
mod doctor;
mod drain;
mod emit;
mod event;
mod hold;
pub mod init;
mod journal;
mod keeper;
mod operator;
mod output;
mod place;
mod rejection;
mod restore;
pub mod route;
mod scope;
mod serve;
mod show;
#[cfg(test)]
mod tests;
mod timer;
mod tool;
mod wait;
mod why;
mod work;

use std::io::{self, Write};
use std::process::ExitCode;

use clap::{CommandFactory, Parser, Subcommand};

use crate::config::Environment;
use crate::points::Points;

const AFTER: &str = "\
Start with `abide demo` to see it work, or `abide init` for a configuration of your own. `abide \
COMMAND --help` says more.

Exit status: 0 done; 1 failed or refused, with one line on why and what to do; 2 wrong usage; \
3 stale authority, stop; 4 wait registered, exit now; 75 not now, try later.";

/// A durable coordinator for agent and automation work
#[derive(Debug, Parser)]
#[command(name = "abide", version, max_term_width = 100, after_help = AFTER)]
struct Cli {
    #[command(subcommand)]
    noun: Noun,
}

#[derive(Debug, Subcommand)]
enum Noun {
    /// Play the whole story in a temporary folder, in less than 20 seconds
    Demo(demo::Args),
    #[command(after_help = "Example:\n  abide init my-abide && cd my-abide && abide serve")]
    Init(init::Init),
    #[command(after_help = "Example:\n  abide check -c /etc/abide/abide.toml")]
    Check(check::Check),
    #[command(after_help = "Example:\n  ABIDE_LOG=debug abide serve 2>> abide.log")]
    Serve(serve::Args),
    /// Let the daemon end once no attempt runs, and wait for it
    Drain(drain::Args),
    Route(route::Route),
    /// Offer an event of your own
    Emit(emit::Args),
    /// Why a work or an event is where it is, and the command that would move it
    Why(why::Args),
    /// What came in, and what became of it
    Event(event::Args),
    /// The objectives: where each is, and why
    Work(work::Args),
    /// What attempts wait for
    Wait(wait::Args),
    /// What the clock will do
    Timer(timer::Args),
    /// What does not start until somebody says so
    Hold(hold::Args),
    /// Events that a causal limit refused
    Rejection(rejection::Args),
    /// The tree of scopes, each as it is effective
    Scope(scope::Args),
    /// Which configuration is current, what was before, and reading it again
    Config(config::Args),
    /// What came of an event, as a tree
    Chain(chain::Args),
    /// Write one snapshot of the database into a file, whether or not the daemon runs
    Backup(backup::Args),
    /// Put a backup in the place of the database of a stopped daemon
    Restore(restore::Args),
    /// Check every invariant that can be checked on data at rest
    Doctor(doctor::Args),
    /// What was committed, as a trace
    Journal(journal::Args),
    /// Print a completion script for a shell
    Completions(completions::Completions),
    /// Print the manual page of a command
    Man(completions::Man),
    /// Holds one attempt's process; started by the daemon, never by hand
    #[command(hide = true)]
    Keeper(keeper::Args),
    /// Speak to the daemon from inside an attempt
    Tool(tool::Args),
}

/// What the process exits with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Code {
    /// It is done.
    Done,
    /// It failed or was refused.
    Refused,
    /// It was asked for in the wrong way.
    Usage,
    /// The attempt is somebody else's, or over: stop.
    Stale,
    /// A wait is registered: exit now.
    Waiting,
    /// Not now: try later.
    Later,
}

/// Why a command did not do what it was asked: one line for standard error, with the next step.
#[derive(Debug, PartialEq, Eq)]
struct Failure {
    code: Code,
    message: String,
}

type Ran = Result<Code, Failure>;

/// Runs the command line of this process.
#[must_use]
pub fn main() -> ExitCode {
    main_passing(Points::UNHEARD)
}

/// The same in a program that wants to be told where its daemon and its keepers are.
#[must_use]
pub fn main_passing(points: Points) -> ExitCode {
    let ran = match Cli::parse().noun {
        Noun::Demo(args) => demo::run(&args),
        Noun::Init(init) => streamed(|out, err| init.run(out, err)),
        Noun::Check(check) => streamed(|out, err| check.run(&Environment::of_process(), out, err)),
        Noun::Serve(args) => serve::run(&args, points),
        Noun::Drain(args) => drain::run(&args),
        Noun::Route(route) => streamed(|out, err| route.run(&Environment::of_process(), out, err)),
        Noun::Emit(args) => emit::run(&args),
        Noun::Why(args) => why::run(&args),
        Noun::Event(args) => event::run(args),
        Noun::Work(args) => work::run(args),
        Noun::Wait(args) => wait::run(args),
        Noun::Timer(args) => timer::run(&args),
        Noun::Hold(args) => hold::run(args),
        Noun::Rejection(args) => rejection::run(&args),
        Noun::Scope(args) => scope::run(&args),
        Noun::Config(args) => config::run(&args),
        Noun::Chain(args) => chain::run(&args),
        Noun::Backup(args) => backup::run(&args),
        Noun::Restore(args) => restore::run(&args),
        Noun::Doctor(args) => doctor::run(&args),
        Noun::Journal(args) => journal::run(&args),
        Noun::Completions(args) => completions::completions(&args, Cli::command()),
        Noun::Man(args) => completions::man(&args, Cli::command()),
        Noun::Keeper(args) => keeper::run(&args, points),
        Noun::Tool(args) => tool::run(args),
    };
    let code = ran.unwrap_or_else(|failure| {
        if failure.code != Code::Done {
            output::complain(&failure.message);
        }
        failure.code
    });
    ExitCode::from(code.number())
}

impl Code {
    /// The number of the interface.
    #[must_use]
    pub const fn number(self) -> u8 {
        match self {
            Self::Done => 0,
            Self::Refused => 1,
            Self::Usage => 2,
            Self::Stale => 3,
            Self::Waiting => 4,
            Self::Later => 75,
        }
    }
}

impl Failure {
    fn new(code: Code, message: impl Into<String>) -> Self {
        Self { code, message: message.into() }
    }

    fn refused(message: impl Into<String>) -> Self {
        Self::new(Code::Refused, message)
    }

    /// Nobody reads the answer any more: nothing to complain of, and nothing left to do.
    fn unheard() -> Self {
        Self::new(Code::Done, "nobody reads the answer")
    }
}

/// Runs a command that is given its streams, and says on them what it has to say.
fn streamed(run: impl FnOnce(&mut dyn Write, &mut dyn Write) -> io::Result<ExitCode>) -> Ran {
    match run(&mut io::stdout().lock(), &mut io::stderr().lock()) {
        Ok(code) if code == ExitCode::SUCCESS => Ok(Code::Done),
        Ok(_) => Ok(Code::Refused),
        Err(error) => Err(output::unwritten(&error)),
    }
}

/// Runs a short command on this thread.
fn block_on<T>(work: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.map_err(|error| Failure::refused(format!("cannot start: {error}")))?.block_on(work)
}
