//! What drills have run to be told things while it works: it keeps a record of its own of each message that it takes in,
//! on disk before it says so, and of what it was handed when it began.
//!
//! It appends one JSON line for each thing it does to the file `ABIDE_DRILL_LOG` names, and ends as it is told to by files
//! beside that, which it looks for all the time:
//!
//! | file | the listener |
//! |---|---|
//! | `order.N`, for the Nth process of its Work | does what the file says |
//! | `release` | completes |
//!
//! | order | the listener |
//! |---|---|
//! | `complete`, `handoff`, `fail` | ends so |
//! | `park` | waits for whatever comes on its key |
//! | `deaf` | takes in nothing more, and hands off once `order.N` is gone |
//!
//! If the type of the first message ends in `talks` it needs no order: it listens for a while and ends as it likes.
//!
//! As a `shell` command it reads its inbox and acknowledges; with `--agent` it reads messages and echoes them, and
//! answers in stream-json last.

use std::fs::{File, OpenOptions, TryLockError};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use abide::domain::EventUid;
use serde_json::{Value, json};

/// Between two looks.
const LOOK: Duration = Duration::from_millis(10);

/// A daemon that is killed and started again answers within this time.
const ANSWER_MAX: Duration = Duration::from_secs(60);

fn main() -> ExitCode {
    match run(std::env::args().any(|argument| argument == "--agent")) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("drill-listener: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(agent: bool) -> io::Result<ExitCode> {
    let mut ears = if agent { Ears::of_an_agent()? } else { Ears::of_a_command()? };
    let listener = Listener::begin()?;
    let order = listener.listen(&mut ears)?;
    let code = listener.end(order)?;
    if agent && code == ExitCode::SUCCESS {
        print(&json!({
            "type": "result", "subtype": "success", "is_error": false, "result": "Done.",
            "session_id": "drill",
        }))?;
    }
    Ok(code)
}

/// Where messages come from, and how it is said that they were taken in.
enum Ears {
    /// The file that `ABIDE_INBOX` names, and how far it is read.
    Inbox { path: PathBuf, read: usize },
    /// Lines of its input that are not heard yet.
    Input(mpsc::Receiver<Value>),
}

impl Ears {
    fn of_a_command() -> io::Result<Self> {
        Ok(Self::Inbox { path: variable("ABIDE_INBOX")?.into(), read: 0 })
    }

    /// An agent is told something first, and says which session that begins.
    fn of_an_agent() -> io::Result<Self> {
        let mut first = String::new();
        if io::stdin().read_line(&mut first)? == 0 {
            return Err(io::Error::other("an agent is told something first"));
        }
        print(&json!({ "type": "system", "subtype": "init", "session_id": "drill" }))?;
        let (tell, heard) = mpsc::channel();
        std::thread::spawn(move || {
            for line in io::stdin().lines().map_while(Result::ok) {
                let message = serde_json::from_str(&line).unwrap_or_default();
                if tell.send(message).is_err() {
                    return;
                }
            }
        });
        Ok(Self::Input(heard))
    }

    /// What is new: the id of each message, and the message.
    fn news(&mut self) -> io::Result<Vec<(EventUid, Value)>> {
        let messages: Vec<Value> = match self {
            Self::Inbox { path, read } => {
                let text = std::fs::read(path)?;
                let whole = text.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
                let new = text.get(*read..whole).unwrap_or_default();
                *read = whole;
                let lines = new.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
                lines.map(serde_json::from_slice).collect::<Result<_, _>>()?
            }
            Self::Input(heard) => heard.try_iter().collect(),
        };
        messages.into_iter().map(|message| Ok((identity(&message)?, message))).collect()
    }
}

/// The event of a message: `abideid` in an inbox, `uuid` in an agent's input.
fn identity(message: &Value) -> io::Result<EventUid> {
    let named = message["abideid"].as_str().and_then(|id| id.parse().ok());
    let found = named.or_else(|| message["uuid"].as_str()?.parse().ok().map(EventUid::from_uuid));
    found.ok_or_else(|| io::Error::other(format!("a message without id: {message}")))
}

/// How it ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Order {
    Complete,
    HandOff,
    Fail,
    Park,
}

struct Listener {
    log: PathBuf,
    request: Value,
    /// Which process of its Work this is, from 1.
    nth: usize,
    begun: Instant,
    /// Held to the very end, and by the system, so that a killed one gives it back.
    _held: Option<File>,
}

impl Listener {
    fn begin() -> io::Result<Self> {
        let log = PathBuf::from(variable("ABIDE_DRILL_LOG")?);
        let request: Value =
            serde_json::from_str(&std::fs::read_to_string(variable("ABIDE_REQUEST")?)?)?;
        let mut listener = Self { log, request, nth: 0, begun: Instant::now(), _held: None };
        let lock = listener.lock()?;
        let handed = listener.handed()?;
        listener.record("start", json!({ "handed": handed }))?;
        if lock.is_none() {
            listener.record("overlap", json!({}))?;
        }
        std::fs::write(listener.memory("started")?, listener.number().to_string())?;
        listener.nth = listener.processes()?;
        listener._held = lock;
        Ok(listener)
    }

    fn number(&self) -> u64 {
        self.request["number"].as_u64().unwrap_or_default()
    }

    /// What this process is handed, and what attempts before it were that never came so far as to say so.
    fn handed(&self) -> io::Result<Vec<Value>> {
        let started = std::fs::read_to_string(self.memory("started")?).unwrap_or_default();
        let started: u64 = started.parse().unwrap_or_default();
        let mut handed = Vec::new();
        for n in started + 1..self.number() {
            let (code, said) = self.tool(&["inputs", "--attempt", &n.to_string()])?;
            if code != Some(0) {
                return Err(io::Error::other(format!("the inputs of attempt {n}: {code:?}")));
            }
            handed.extend(of_attempt(n, &serde_json::from_slice(&said)?));
        }
        handed.extend(of_attempt(self.number(), &self.request));
        self.remember(&handed)?;
        Ok(handed)
    }

    /// The key and the task of its Work; kept, because later attempts may be handed something else.
    fn remember(&self, handed: &[Value]) -> io::Result<()> {
        let message = handed.iter().find(|event| !event["key"].is_null());
        let Some(message) = message.filter(|_| !self.memory("key").is_ok_and(|path| path.exists()))
        else {
            return Ok(());
        };
        for name in ["type", "key"] {
            std::fs::write(self.memory(name)?, message[name].as_str().unwrap_or_default())?;
        }
        Ok(())
    }

    /// Takes in what comes until it is told how to end.
    fn listen(&self, ears: &mut Ears) -> io::Result<Order> {
        let talks = std::fs::read_to_string(self.memory("type")?)?.ends_with("talks");
        let mut deaf = false;
        loop {
            if !deaf {
                self.take_in(ears)?;
            }
            let order = std::fs::read_to_string(self.log.with_file_name(self.order()));
            match order.as_deref().map(str::trim) {
                Ok("complete") => return Ok(Order::Complete),
                Ok("handoff") => return Ok(Order::HandOff),
                Ok("fail") => return Ok(Order::Fail),
                Ok("park") => return Ok(Order::Park),
                Ok("deaf") if deaf => {}
                Ok("deaf") => {
                    self.record("deaf", json!({}))?;
                    deaf = true;
                }
                Ok(_) | Err(_) if deaf => return Ok(Order::HandOff),
                Ok(_) | Err(_) => {}
            }
            if self.log.with_file_name("release").exists() {
                return Ok(Order::Complete);
            }
            if talks && let Some(order) = self.likes() {
                return Ok(order);
            }
            if !self.log.exists() {
                // A drill that failed takes its folder with it.
                return Err(io::Error::other("the drill is over"));
            }
            std::thread::sleep(LOOK);
        }
    }

    fn order(&self) -> String {
        format!("order.{}", self.nth)
    }

    /// How it likes to end, once it has listened for long enough.
    fn likes(&self) -> Option<Order> {
        let mut hasher = DefaultHasher::new();
        let (work, epoch) = (self.request["work"].as_str(), self.request["epoch"].as_u64());
        (work, self.number(), epoch).hash(&mut hasher);
        let drawn = hasher.finish();
        let length = Duration::from_millis(400 + drawn / 16 % 2600);
        (self.begun.elapsed() > length).then_some(match drawn % 10 {
            0..5 => Order::HandOff,
            5..9 => Order::Park,
            _ => Order::Fail,
        })
    }

    fn take_in(&self, ears: &mut Ears) -> io::Result<()> {
        let news = ears.news()?;
        for (event, _) in &news {
            self.record("taken", json!({ "event": event.to_string() }))?;
        }
        match ears {
            Ears::Inbox { .. } if !news.is_empty() => {
                let ids: Vec<String> = news.iter().map(|(event, _)| event.to_string()).collect();
                let mut arguments = vec!["ack"];
                arguments.extend(ids.iter().map(String::as_str));
                let (code, _) = self.tool(&arguments)?;
                if code != Some(0) {
                    return Err(io::Error::other(format!("ack: {code:?}")));
                }
            }
            Ears::Inbox { .. } => {}
            Ears::Input(_) => {
                for (_, message) in &news {
                    let mut echo = message.clone();
                    (echo["isReplay"], echo["session_id"]) = (json!(true), json!("drill"));
                    print(&echo)?;
                }
            }
        }
        for (event, _) in &news {
            self.record("said", json!({ "event": event.to_string() }))?;
        }
        Ok(())
    }

    fn end(&self, order: Order) -> io::Result<ExitCode> {
        let done = match order {
            Order::Complete => true,
            Order::Fail => return Ok(ExitCode::from(9)),
            Order::HandOff => self.tool(&["result", "handoff"])?.0 == Some(0),
            Order::Park => {
                let key = std::fs::read_to_string(self.memory("key")?)?;
                // 4 says that the wait is registered and that this process should end.
                self.tool(&["wait", "--key", &key])?.0 == Some(4)
            }
        };
        if !done {
            return Ok(ExitCode::FAILURE);
        }
        self.record("end", json!({}))?;
        Ok(ExitCode::SUCCESS)
    }

    /// Asks the toolbelt, for as long as a daemon may take to come back.
    fn tool(&self, arguments: &[&str]) -> io::Result<(Option<i32>, Vec<u8>)> {
        let begun = Instant::now();
        loop {
            let asked =
                Command::new(variable("ABIDE_BINARY")?).arg("tool").args(arguments).output()?;
            let code = asked.status.code();
            if code != Some(75) || begun.elapsed() > ANSWER_MAX {
                eprint!("{}", String::from_utf8_lossy(&asked.stderr));
                return Ok((code, asked.stdout));
            }
        }
    }

    /// A file of the Work's own.
    fn memory(&self, name: &str) -> io::Result<PathBuf> {
        Ok(Path::new(&variable("ABIDE_DIR")?).join(name))
    }

    /// How many processes of this Work have begun.
    fn processes(&self) -> io::Result<usize> {
        let text = std::fs::read_to_string(&self.log)?;
        let lines = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        let own = |line: &Value| line["what"] == "start" && line["work"] == self.request["work"];
        Ok(lines.filter(own).count())
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

    /// One write to a file opened for appending, so that lines of several processes never mix; on disk when it returns.
    fn record(&self, what: &str, more: Value) -> io::Result<()> {
        let mut line = json!({
            "what": what,
            "work": self.request["work"],
            "attempt": self.request["number"],
            "epoch": self.request["epoch"],
            "reason": self.request["reason"],
            "pid": std::process::id(),
        });
        if let (Value::Object(line), Value::Object(more)) = (&mut line, more) {
            line.extend(more);
        }
        let mut file = OpenOptions::new().create(true).append(true).open(&self.log)?;
        file.write_all(format!("{line}\n").as_bytes())?;
        file.sync_data()
    }
}

/// The inputs that an attempt was handed.
fn of_attempt(n: u64, from: &Value) -> Vec<Value> {
    let inputs = from["inputs"].as_array().into_iter().flatten();
    let shown = inputs.map(|event| {
        json!({
            "event": event["abideid"],
            "attempt": n,
            "repeated": !event["repeated"].is_null(),
            "type": event["type"],
            "key": event["abidekey"],
        })
    });
    shown.collect()
}

fn print(message: &Value) -> io::Result<()> {
    let mut out = io::stdout().lock();
    writeln!(out, "{message}")?;
    out.flush()
}

fn variable(name: &str) -> io::Result<String> {
    std::env::var(name).map_err(|_| io::Error::other(format!("{name} is not set")))
}
