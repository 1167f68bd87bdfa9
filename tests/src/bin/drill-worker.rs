//! What drills have run: it records each of its side effects in a file of its own, outside everything that Abide keeps,
//! and notices by a lock of its own if another process works on the same Work.
//!
//! It appends one JSON line for each thing it does to the file `ABIDE_DRILL_LOG` names. What it does is what the type of
//! the first event of its Work says, which it keeps in the Work's folder:
//!
//! | type | the worker |
//! |---|---|
//! | `….works` | has three effects and completes |
//! | `….long` | has one effect, and two more once the file `release` lies beside the log |
//! | `….fails` | has three effects; its first attempt fails then |
//! | `….waits` | has an effect, waits for `….news` on its key, and has two more |
//! | `….sleeps` | the same, and waits for its timeout |
//!
//! With `--agent` it does the same as an agent: it reads one message first, and answers in stream-json last.

use std::collections::BTreeSet;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};

/// Between two effects: long enough for a kill to come between, now and then.
const PAUSE: Duration = Duration::from_millis(15);

/// A daemon that is killed and started again answers within this time.
const ANSWER_MAX: Duration = Duration::from_secs(60);

fn main() -> ExitCode {
    let agent = std::env::args().any(|argument| argument == "--agent");
    let worked = if agent { answer() } else { Worker::begin().and_then(|worker| worker.run()) };
    match worked {
        Ok(code) => code,
        Err(error) => {
            eprintln!("drill-worker: {error}");
            ExitCode::FAILURE
        }
    }
}

/// One turn of an agent.
fn answer() -> io::Result<ExitCode> {
    let mut message = String::new();
    if io::stdin().read_line(&mut message)? == 0 {
        return Err(io::Error::other("an agent is told something first"));
    }
    let mut out = io::stdout();
    writeln!(out, r#"{{"type":"system","subtype":"init","session_id":"drill"}}"#)?;
    out.flush()?;
    let code = Worker::begin()?.run()?;
    if code == ExitCode::SUCCESS {
        let said = json!({
            "type": "result", "subtype": "success", "is_error": false, "result": "Done.",
            "session_id": "drill",
        });
        writeln!(out, "{said}")?;
        out.flush()?;
    }
    Ok(code)
}

struct Worker {
    log: PathBuf,
    request: Value,
    /// Held to the very end, and by the system, so that a killed one gives it back.
    held: Option<File>,
}

impl Worker {
    fn begin() -> io::Result<Self> {
        let log = PathBuf::from(variable("ABIDE_DRILL_LOG")?);
        let request: Value =
            serde_json::from_str(&std::fs::read_to_string(variable("ABIDE_REQUEST")?)?)?;
        let mut worker = Self { log, request, held: None };
        let lock = worker.lock()?;
        let seen: Vec<i64> = worker.seen()?.iter().filter_map(sequence).collect();
        worker.record("start", json!({ "seen": seen }))?;
        if lock.is_none() {
            worker.record("overlap", json!({}))?;
        }
        worker.held = lock;
        Ok(worker)
    }

    fn run(&self) -> io::Result<ExitCode> {
        let task = self.task()?;
        let code = match task.split_once('.').map_or("", |(_, task)| task) {
            "long" => {
                self.effects(1)?;
                while !self.log.with_file_name("release").exists() {
                    // A drill that failed takes its folder with it.
                    if !self.log.exists() {
                        return Err(io::Error::other("the drill is over"));
                    }
                    std::thread::sleep(Duration::from_millis(10));
                }
                self.effects(2)?;
                ExitCode::SUCCESS
            }
            "fails" => {
                self.effects(3)?;
                ExitCode::from(if self.request["number"] == 1 { 9 } else { 0 })
            }
            "waits" => self.waits(&["--type", "task.news", "--type", "turn.news"])?,
            "sleeps" => self.waits(&["--type", "task.never", "--timeout", "200ms"])?,
            _ => {
                self.effects(3)?;
                ExitCode::SUCCESS
            }
        };
        self.record("end", json!({}))?;
        Ok(code)
    }

    /// Waits once, and goes on in the segment that the wake starts.
    fn waits(&self, filter: &[&str]) -> io::Result<ExitCode> {
        let came = ["task.news", "turn.news", "core.wait.timeout"];
        let woken = self.seen()?.iter().any(|event| came.iter().any(|one| event["type"] == *one));
        if woken {
            self.effects(2)?;
            return Ok(ExitCode::SUCCESS);
        }
        self.effects(1)?;
        let key = std::fs::read_to_string(self.memory("key")?)?;
        let arguments = [&["wait", "--key", &key], filter].concat();
        // 4 says that the wait is registered and that this process should end.
        Ok(if self.tool(&arguments)?.0 == Some(4) { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }

    /// What this Work was made for; kept, because later attempts are handed something else.
    fn task(&self) -> io::Result<String> {
        let path = self.memory("task")?;
        if let Ok(task) = std::fs::read_to_string(&path) {
            return Ok(task);
        }
        let seen = self.seen()?;
        let first = seen.iter().find(|event| {
            let of = event["type"].as_str().unwrap_or_default();
            (of.starts_with("task.") || of.starts_with("turn.")) && !of.ends_with(".news")
        });
        let first = first.ok_or_else(|| io::Error::other("nothing says what to do"))?;
        let text = |name: &str| first[name].as_str().unwrap_or_default().to_owned();
        std::fs::write(self.memory("key")?, text("abidekey"))?;
        std::fs::write(&path, text("type"))?;
        Ok(text("type"))
    }

    /// Every event that this process can know of: what it is handed, and what the attempts before it were, which may
    /// never have run.
    fn seen(&self) -> io::Result<Vec<Value>> {
        let number = self.request["number"].as_u64().unwrap_or_default();
        let mut seen = Vec::new();
        for n in 1..number.saturating_sub(1) {
            let (code, said) = self.tool(&["inputs", "--attempt", &n.to_string()])?;
            if code != Some(0) {
                return Err(io::Error::other(format!("the inputs of attempt {n}: {code:?}")));
            }
            seen.extend(handed(&serde_json::from_slice(&said)?));
        }
        seen.extend(handed(&self.request["previous"]));
        seen.extend(handed(&self.request));
        let mut once = BTreeSet::new();
        seen.retain(|event| once.insert(sequence(event)));
        Ok(seen)
    }

    /// Asks the toolbelt, for as long as a daemon may take to come back.
    fn tool(&self, arguments: &[&str]) -> io::Result<(Option<i32>, Vec<u8>)> {
        let begun = Instant::now();
        loop {
            let asked =
                Command::new(variable("ABIDE_BINARY")?).arg("tool").args(arguments).output()?;
            let code = asked.status.code();
            if code != Some(75) || begun.elapsed() > ANSWER_MAX {
                if !asked.stderr.is_empty() {
                    eprint!("{}", String::from_utf8_lossy(&asked.stderr));
                }
                return Ok((code, asked.stdout));
            }
        }
    }

    fn effects(&self, count: u32) -> io::Result<()> {
        for _ in 0..count {
            std::thread::sleep(PAUSE);
            self.record("effect", json!({}))?;
        }
        Ok(())
    }

    /// A file of the Work's own.
    fn memory(&self, name: &str) -> io::Result<PathBuf> {
        Ok(Path::new(&variable("ABIDE_DIR")?).join(name))
    }

    fn lock(&self) -> io::Result<Option<File>> {
        let locks = self.log.with_file_name("locks");
        std::fs::create_dir_all(&locks)?;
        let work = self.request["work"].as_str().unwrap_or_default();
        let file =
            OpenOptions::new().create(true).truncate(false).write(true).open(locks.join(work))?;
        match file.try_lock() {
            Ok(()) => Ok(Some(file)),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }

    /// One write to a file opened for appending, so that lines of several processes never mix.
    fn record(&self, what: &str, more: Value) -> io::Result<()> {
        let at = SystemTime::now().duration_since(UNIX_EPOCH).map_err(io::Error::other)?;
        let mut line = json!({
            "what": what,
            "work": self.request["work"],
            "attempt": self.request["number"],
            "epoch": self.request["epoch"],
            "reason": self.request["reason"],
            "pid": std::process::id(),
            "at": u64::try_from(at.as_millis()).unwrap_or_default(),
        });
        if let (Value::Object(line), Value::Object(more)) = (&mut line, more) {
            line.extend(more);
        }
        let mut file = OpenOptions::new().create(true).append(true).open(&self.log)?;
        file.write_all(format!("{line}\n").as_bytes())
    }
}

/// The trigger and the inputs that somebody was handed.
fn handed(from: &Value) -> Vec<Value> {
    let inputs = from["inputs"].as_array().cloned().unwrap_or_default();
    let trigger = from["trigger"].is_object().then(|| from["trigger"].clone());
    trigger.into_iter().chain(inputs).collect()
}

fn sequence(event: &Value) -> Option<i64> {
    event["abideseq"].as_str()?.parse().ok()
}

fn variable(name: &str) -> io::Result<String> {
    std::env::var(name).map_err(|_| io::Error::other(format!("{name} is not set")))
}
