//! A stand-in for an agent, for drills on the real binary: it records what it is handed and behaves as its input says.
//!
//! It appends one JSON line a start and one an end to the file `ABIDE_STAND_IN_LOG` names; each line is one write to a
//! file opened for appending, so lines of several processes never mix. What an input of the batch asks for:
//!
//! | type | the stand-in |
//! |---|---|
//! | `pull_request.opened` with `number` 9001 | waits for `pull_request.closed` on the key of that input |
//! | `pull_request.opened` with `number` 9002 | works until the file `release` appears beside the log |
//! | anything of a repository that stays (its copy is a multiple of five) | waits for whatever comes next |
//! | anything else | completes |

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::Duration;

use serde_json::{Value, json};

/// Waits for a wake by event.
const WAITS: i64 = 9001;
/// What keeps the repositories of the copies apart.
const SHIFT: i64 = 1_000_000_000;
/// Works until it is released.
const WORKS_ON: i64 = 9002;

fn main() -> ExitCode {
    match run() {
        Ok(code) => code,
        Err(error) => {
            eprintln!("stand-in: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> io::Result<ExitCode> {
    let log = PathBuf::from(variable("ABIDE_STAND_IN_LOG")?);
    let request: Value =
        serde_json::from_str(&std::fs::read_to_string(variable("ABIDE_REQUEST")?)?)?;
    let inputs = request["inputs"].as_array().cloned().unwrap_or_default();
    record(&log, "start", &request, &inputs)?;
    let code = match inputs.iter().find_map(asked) {
        Some((WAITS, key)) => wait(&key, &["--type", "pull_request.closed"])?,
        Some((WORKS_ON, _)) => work_until_released(&log)?,
        _ => match inputs.last().filter(|input| stays(input)).and_then(key) {
            Some(key) => wait(&key, &[])?,
            None => ExitCode::SUCCESS,
        },
    };
    record(&log, "end", &request, &[])?;
    Ok(code)
}

fn variable(name: &str) -> io::Result<String> {
    std::env::var(name).map_err(|_| io::Error::other(format!("{name} is not set")))
}

/// The number and the key of an input that asks for something.
fn asked(input: &Value) -> Option<(i64, String)> {
    if input["type"] != "pull_request.opened" {
        return None;
    }
    let number = input["data"]["number"].as_i64()?;
    [WAITS, WORKS_ON].contains(&number).then_some((number, key(input)?))
}

/// Whether the repository of an input is one whose Works stay open.
fn stays(input: &Value) -> bool {
    let data = &input["data"];
    let small =
        [WAITS, WORKS_ON].contains(&data["pull_request"]["number"].as_i64().unwrap_or_default());
    !small && (data["repository"]["id"].as_i64().unwrap_or(1) / SHIFT) % 5 == 0
}

fn key(input: &Value) -> Option<String> {
    input["abidekey"].as_str().map(str::to_owned)
}

fn wait(key: &str, filter: &[&str]) -> io::Result<ExitCode> {
    let abide = variable("ABIDE_BINARY")?;
    let status = Command::new(abide).args(["tool", "wait", "--key", key]).args(filter).status()?;
    // 4 says that the wait is registered and that this process should end.
    Ok(if status.code() == Some(4) { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn work_until_released(log: &Path) -> io::Result<ExitCode> {
    let release = log.with_file_name("release");
    while !release.exists() {
        std::thread::sleep(Duration::from_millis(20));
    }
    Ok(ExitCode::SUCCESS)
}

fn record(log: &Path, what: &str, request: &Value, inputs: &[Value]) -> io::Result<()> {
    let sequences: Vec<i64> =
        inputs.iter().filter_map(|input| input["abideseq"].as_str()?.parse().ok()).collect();
    let line = json!({
        "what": what,
        "pid": std::process::id(),
        "work": request["work"],
        "attempt": request["number"],
        "reason": request["reason"],
        "inputs": sequences,
    });
    let mut file = OpenOptions::new().create(true).append(true).open(log)?;
    file.write_all(format!("{line}\n").as_bytes())
}
