//! `abide-refine`: the runtime held to the law.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use abide_model::worlds::{self, World};
use abide_refinement::audit::{AuditError, Report, audit};
use abide_refinement::broken::Fault;
use abide_refinement::crash::Crashed;
use abide_refinement::difference::Divergence;
use abide_refinement::replay;
use abide_refinement::runs::{Beside, Lockstep, crash_points, lockstep};
use clap::{Parser, Subcommand, ValueEnum};

/// Performs the actions of the model's worlds on the production transactions and compares outcome and durable state
/// after each.
///
/// Exit codes: 0 no difference, 1 a difference (reported with its trace), 2 wrong usage.
#[derive(Debug, Parser)]
#[command(name = "abide-refine", version)]
struct Arguments {
    #[command(subcommand)]
    run: Run,
}

#[derive(Debug, Subcommand)]
enum Run {
    /// Perform every transition of a world, and at one state of each class everything the law forbids.
    ///
    /// Example: abide-refine lockstep --world waits
    Lockstep {
        /// The world; `all` for every one.
        #[arg(long, default_value = "all")]
        world: String,
        /// What is put beside the model.
        #[arg(long, value_enum, default_value_t = Named::Sqlite)]
        subject: Named,
        /// One JSON line a world instead of text.
        #[arg(long)]
        json: bool,
    },
    /// Crash before and after every commit along the trace to each class, and repeat what was not answered.
    Crash {
        /// The world; `all` for every one.
        #[arg(long, default_value = "all")]
        world: String,
        /// One JSON line a world instead of text.
        #[arg(long)]
        json: bool,
    },
    /// Perform a trace file and compare with what it says and with the model.
    Replay {
        /// An NDJSON trace, as `abide-model check` or a divergence writes it.
        trace: PathBuf,
        /// What performs it.
        #[arg(long, value_enum, default_value_t = Named::Sqlite)]
        subject: Named,
    },
    /// Replay a finished journal against the law and name the first step that it does not allow.
    ///
    /// Takes a database, which is opened for reading and must not be changed meanwhile, or what `abide journal export`
    /// printed. What cannot be judged is counted, with the reason.
    Audit {
        /// A database or a journal export.
        #[arg(value_name = "DB|JOURNAL")]
        file: PathBuf,
        /// One JSON object instead of text.
        #[arg(long)]
        json: bool,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Named {
    /// The runtime on SQLite in memory, the whole graph.
    Sqlite,
    /// The runtime on a file reopened after every step, the class traces.
    File,
    /// The model itself: a check of the harness.
    Model,
    /// A runtime that claims to wake and does not: must be reported.
    WakeSuppressed,
    /// A runtime that takes any authority: must be reported.
    AuthorityNotChecked,
    /// A runtime that starts what is held: must be reported.
    HoldsIgnored,
    /// A runtime that does not note what it has translated: must be reported.
    CheckpointIgnored,
    /// A runtime that starts what waits for its retry: must be reported.
    BackoffIgnored,
    /// A runtime that lets an old retry end a later backoff: must be reported.
    StaleRetryClears,
    /// A runtime that cuts excessive hints down to the bound: must be reported.
    HintsClamped,
    /// A runtime that does not give up what it detaches from: must be reported.
    DetachIgnored,
    /// A runtime that takes the tokens of a backup: must be reported.
    TokensKeptOverRestore,
    /// A runtime that consumes whatever a result names: must be reported.
    ProofsUnchecked,
    /// A runtime that takes what was delivered for consumed: must be reported.
    AcceptanceConsumes,
    /// A runtime that sends to a segment what was meant for an earlier one: must be reported.
    IntentRetargeted,
    /// A runtime that ends interrupted attempts as failed: must be reported.
    InterruptCountsAsFailure,
    /// A runtime that fences and forgets the process: must be reported.
    FenceWithoutMark,
    /// A runtime that queues where no route said so: must be reported.
    FallbackInferred,
}

impl From<Named> for Beside {
    fn from(named: Named) -> Self {
        match named {
            Named::Sqlite => Self::Sqlite,
            Named::File => Self::File,
            Named::Model => Self::Model,
            Named::WakeSuppressed => Self::Broken(Fault::WakeSuppressed),
            Named::AuthorityNotChecked => Self::Broken(Fault::AuthorityNotChecked),
            Named::HoldsIgnored => Self::Broken(Fault::HoldsIgnored),
            Named::CheckpointIgnored => Self::Broken(Fault::CheckpointIgnored),
            Named::BackoffIgnored => Self::Broken(Fault::BackoffIgnored),
            Named::StaleRetryClears => Self::Broken(Fault::StaleRetryClears),
            Named::HintsClamped => Self::Broken(Fault::HintsClamped),
            Named::DetachIgnored => Self::Broken(Fault::DetachIgnored),
            Named::TokensKeptOverRestore => Self::Broken(Fault::TokensKeptOverRestore),
            Named::ProofsUnchecked => Self::Broken(Fault::ProofsUnchecked),
            Named::AcceptanceConsumes => Self::Broken(Fault::AcceptanceConsumes),
            Named::IntentRetargeted => Self::Broken(Fault::IntentRetargeted),
            Named::InterruptCountsAsFailure => Self::Broken(Fault::InterruptCountsAsFailure),
            Named::FenceWithoutMark => Self::Broken(Fault::FenceWithoutMark),
            Named::FallbackInferred => Self::Broken(Fault::FallbackInferred),
        }
    }
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    if let Run::Audit { file, json } = &arguments.run {
        return run_audit(file, *json);
    }
    let folder = match folder() {
        Ok(folder) => folder,
        Err(error) => return fail(&format!("no temporary folder for the databases: {error}"), 1),
    };
    match arguments.run {
        Run::Lockstep { world, subject, json } => match chosen(&world) {
            Ok(worlds) => run_lockstep(&worlds, subject.into(), json, folder.path()),
            Err(unknown) => fail(&unknown, 2),
        },
        Run::Crash { world, json } => match chosen(&world) {
            Ok(worlds) => run_crash(&worlds, json, folder.path()),
            Err(unknown) => fail(&unknown, 2),
        },
        Run::Replay { trace, subject } => run_replay(&trace, subject.into(), folder.path()),
        Run::Audit { file, json } => run_audit(&file, json),
    }
}

fn run_audit(file: &Path, json: bool) -> ExitCode {
    match audit(file) {
        Ok(report) => {
            say(&if json { json_line(&report) } else { audit_lines(&report) });
            ExitCode::SUCCESS
        }
        Err(AuditError::Illegal(found)) if json => {
            say(&json_line(&serde_json::json!({ "illegal": found })));
            ExitCode::from(1)
        }
        Err(found) if found.is_finding() => {
            say(&format!("unlawful: {found}"));
            ExitCode::from(1)
        }
        Err(error) => fail(&error.to_string(), 2),
    }
}

fn audit_lines(report: &Report) -> String {
    let mut lines = format!(
        "no unlawful step: {} rows, {} works; {} rows replayed, {} not judged, {} suppressed",
        report.rows,
        report.works,
        report.replayed,
        report.unjudged(),
        report.suppressed
    );
    for (why, rows) in &report.not_judged {
        // Writing to a String cannot fail.
        let _ = write!(lines, "\n  {rows} rows not judged: {why}");
    }
    for (work, why) in &report.undecided {
        let _ = write!(lines, "\n  undecided: {work}: {why}");
    }
    let _ = match report.seals {
        Some(seals) => write!(lines, "\n{seals} seals fit; {} rows unsealed", report.unsealed),
        None => write!(lines, "\nan export has no seals: whether rows were changed is not known"),
    };
    lines
}

/// Where databases are made: in memory where the system has such a place. What is crashed here is the process, never the
/// machine, so that nothing would be learnt from waiting for a disk.
fn folder() -> std::io::Result<tempfile::TempDir> {
    tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir())
}

fn chosen(name: &str) -> Result<Vec<&'static World>, String> {
    if name == "all" {
        return Ok(worlds::ALL.to_vec());
    }
    worlds::named(name).map(|world| vec![world]).ok_or_else(|| {
        let names: Vec<&str> = worlds::ALL.iter().map(|world| world.name).collect();
        format!("there is no world `{name}`; choose one of {}, or all", names.join(", "))
    })
}

fn run_lockstep(worlds: &[&'static World], beside: Beside, json: bool, folder: &Path) -> ExitCode {
    let mut transitions = 0;
    let mut probes = 0;
    for world in worlds {
        let begun = Instant::now();
        let run = match lockstep(world, beside, folder) {
            Ok(run) => run,
            Err(divergence) => return report(&divergence),
        };
        transitions += run.transitions();
        probes += run.probes();
        say(&if json {
            json_line(&run)
        } else {
            lockstep_line(&run, begun.elapsed().as_secs_f64())
        });
    }
    if !json {
        say(&format!(
            "total: {transitions} transitions and {probes} probes compared, no difference"
        ));
    }
    ExitCode::SUCCESS
}

fn lockstep_line(run: &Lockstep, seconds: f64) -> String {
    let mut line = format!("{:<20}", run.world);
    if let Some(walked) = run.walked {
        // Writing to a String cannot fail.
        let _ = write!(
            line,
            "{:>8} states {:>9} transitions {:>7} probes {:>7} just before a tick",
            walked.states, walked.transitions, walked.probes, walked.instants
        );
    }
    if let Some(covered) = run.covered {
        let _ = write!(line, "{:>8} traces {:>9} steps", covered.traces, covered.steps);
    }
    let _ = write!(line, "  {seconds:.1} s");
    line
}

fn run_crash(worlds: &[&'static World], json: bool, folder: &Path) -> ExitCode {
    let mut total = Crashed::default();
    for world in worlds {
        let crashed = match crash_points(world, folder) {
            Ok(crashed) => crashed,
            Err(divergence) => return report(&divergence),
        };
        total.traces += crashed.traces;
        total.before += crashed.before;
        total.after += crashed.after;
        total.repeated += crashed.repeated;
        say(&if json {
            json_line(&serde_json::json!({ "world": world.name, "crashed": crashed }))
        } else {
            format!(
                "{:<20}{:>6} traces {:>7} crashes before a commit {:>7} after one {:>7} repeated",
                world.name, crashed.traces, crashed.before, crashed.after, crashed.repeated
            )
        });
    }
    if !json {
        let Crashed { traces, before, after, repeated } = total;
        say(&format!(
            "total: {} crash points along {traces} traces, {before} before a commit, \
             {after} after; {repeated} actions repeated",
            before + after
        ));
    }
    ExitCode::SUCCESS
}

fn run_replay(trace: &Path, beside: Beside, folder: &Path) -> ExitCode {
    match replay::replay(trace, beside, folder) {
        Ok(steps) => {
            say(&format!("no difference: {steps} steps performed and compared"));
            ExitCode::SUCCESS
        }
        Err(replay::ReplayError::Parted(divergence)) => report(&divergence),
        Err(error) => fail(&error.to_string(), 2),
    }
}

/// Prints the divergence and keeps its trace beside the caller, so that it can be replayed and opened.
fn report(divergence: &Divergence) -> ExitCode {
    say(&divergence.report());
    let file = PathBuf::from(format!("divergence-{}.ndjson", divergence.world.name));
    match replay::write(divergence, &file) {
        Ok(()) => say(&format!(
            "the trace is in {0}\nnext: abide-refine replay {0}, or abide-model explore --trace {0}",
            file.display()
        )),
        Err(error) => {
            say(&format!("the trace could not be written to {}: {error}", file.display()))
        }
    }
    ExitCode::from(1)
}

fn json_line(value: &impl serde::Serialize) -> String {
    serde_json::to_string(value).unwrap_or_else(|error| format!("{{\"error\":\"{error}\"}}"))
}

#[expect(clippy::print_stdout, reason = "the one place that prints what a run found")]
fn say(line: &str) {
    println!("{line}");
}

fn fail(line: &str, code: u8) -> ExitCode {
    eprintln!("error: {line}");
    ExitCode::from(code)
}
