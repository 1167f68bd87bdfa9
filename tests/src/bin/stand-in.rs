//! A stand-in for an agent, for drills on the real binary: it records what it is handed and behaves as its input says.
//!
//! It appends one JSON line a start and one an end to the file `ABIDE_STAND_IN_LOG` names; each line is one write to a
//! file opened for appending, so lines of several processes never mix. What an input of the batch asks for:
//!
//! | type | the stand-in |
//! |---|---|
//! | `pull_request.opened` with `number` 9001 | waits for `pull_request.closed` on the key of that input |
//! | `pull_request.opened` with `number` 9002 | works until the file `release` appears beside the log, and takes in every second event of its inbox |
//! | `pull_request.opened` with `number` 9003 | waits for what never comes |
//! | `pull_request.opened` with `number` 9004 | waits for `pull_request.closed` of number 9001 of the same repository |
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
/// Waits until somebody closes it.
const CLOSABLE: i64 = 9003;
/// Waits for news of the one that [`WAITS`].
const DEPENDENT: i64 = 9004;
/// Below this are the numbers of real pull requests.
const STAGED: i64 = 9001;

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
        Some((WAITS, key, _)) => wait(&key, &["--type", "pull_request.closed"])?,
        Some((WORKS_ON, ..)) => work_until_released(&log, &request)?,
        Some((CLOSABLE, key, _)) => wait(&key, &["--type", "pull_request.never"])?,
        Some((DEPENDENT, key, source)) => {
            let on = format!("{source}#{WAITS}");
            wait(&key, &["--on", &on, "--type", "pull_request.closed"])?
        }
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

/// The number, the key and the source of an input that asks for something.
fn asked(input: &Value) -> Option<(i64, String, &str)> {
    if input["type"] != "pull_request.opened" {
        return None;
    }
    let number = input["data"]["number"].as_i64()?;
    (number >= STAGED).then_some((number, key(input)?, input["source"].as_str()?))
}

/// Whether the repository of an input is one whose Works stay open. What core made is of none.
fn stays(input: &Value) -> bool {
    let data = &input["data"];
    let staged = data["pull_request"]["number"].as_i64().is_some_and(|number| number >= STAGED);
    let copy = data["repository"]["id"].as_i64().map(|id| id / SHIFT);
    !staged && copy.is_some_and(|copy| copy % 5 == 0)
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

fn work_until_released(log: &Path, request: &Value) -> io::Result<ExitCode> {
    let (release, mut looked_at) = (log.with_file_name("release"), 0);
    loop {
        let released = release.exists();
        looked_at = take_in(log, request, looked_at)?;
        if released {
            return Ok(ExitCode::SUCCESS);
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Acknowledges every second event of the inbox after the first so many, and answers how many there are.
fn take_in(log: &Path, request: &Value, looked_at: usize) -> io::Result<usize> {
    let text = std::fs::read_to_string(variable("ABIDE_INBOX")?)?;
    let whole = text.rfind('\n').map_or("", |end| &text[..end]);
    let events: Vec<Value> = whole.lines().map(serde_json::from_str).collect::<Result<_, _>>()?;
    for event in events.iter().skip(looked_at).skip(looked_at % 2).step_by(2) {
        record(log, "takes", request, std::slice::from_ref(event))?;
        let id = event["abideid"].as_str().unwrap_or_default();
        let acknowledged =
            Command::new(variable("ABIDE_BINARY")?).args(["tool", "ack", id]).status()?;
        if !acknowledged.success() {
            return Err(io::Error::other(format!("ack of {id}: {acknowledged}")));
        }
    }
    Ok(events.len())
}

fn record(log: &Path, what: &str, request: &Value, inputs: &[Value]) -> io::Result<()> {
    let sequences: Vec<i64> =
        inputs.iter().filter_map(|input| input["abideseq"].as_str()?.parse().ok()).collect();
    let repeated: Vec<i64> = inputs
        .iter()
        .filter(|input| !input["repeated"].is_null())
        .filter_map(|input| input["abideseq"].as_str()?.parse().ok())
        .collect();
    let line = json!({
        "what": what,
        "pid": std::process::id(),
        "work": request["work"],
        "attempt": request["number"],
        "reason": request["reason"],
        "inputs": sequences,
        "repeated": repeated,
        "asked": inputs.iter().find_map(asked).map(|(number, ..)| number),
    });
    let mut file = OpenOptions::new().create(true).append(true).open(log)?;
    file.write_all(format!("{line}\n").as_bytes())
}
