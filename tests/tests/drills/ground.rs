//! One drill: a folder with a daemon that is started again whenever it was killed, and what it was made to do.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use abide::domain::{Seq, WorkStatus};
use abide::keeper::identity::Stat;
use abide::store::journal::{self, JournalRow};
use abide::store::observe::SeenWork;
use abide::store::{Observation, Store, StoreError, Tx, observe};
use abide_refinement::audit::{Report, audit_database};
use abide_tests::daemon::{Daemon, abide, binary};
use abide_tests::drill::{Drill, Fired, Held, Step, Victim};
use abide_tests::http::Connection;
use serde_json::json;

use crate::accounts::Line;
use crate::heard::Heard;

/// A drill that has not come to its end by then is stuck, and says where.
const STUCK: Duration = Duration::from_secs(120);

/// The source of what is sent to the HTTP door.
pub(crate) const SENDER: &str = "test:drill";

/// What listeners record.
const LISTENER_LOG: &str = "listener.log";

/// A keeper without anything to keep is gone after so long.
const GOING_MAX: Duration = Duration::from_secs(45);

/// Between two looks.
const LOOK: Duration = Duration::from_millis(15);

/// Daemons at once, whatever tests run side by side.
const AT_ONCE: usize = 3;

static SLOTS: (Mutex<usize>, Condvar) = (Mutex::new(AT_ONCE), Condvar::new());

/// The right to run a daemon.
struct Slot;

impl Slot {
    fn take() -> Self {
        let mut free = SLOTS.0.lock().unwrap_or_else(PoisonError::into_inner);
        while *free == 0 {
            free = SLOTS.1.wait(free).unwrap_or_else(PoisonError::into_inner);
        }
        *free -= 1;
        Self
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        *SLOTS.0.lock().unwrap_or_else(PoisonError::into_inner) += 1;
        SLOTS.1.notify_one();
    }
}

/// Why a drill failed: a sentence, with what is known of where it stood.
pub(crate) type Failed = String;

/// What a drill fails with whose plan found somebody gone; it is taken again.
pub(crate) const NOBODY: &str = "there was nobody to kill";

/// Rows of a drill's journal that the audit may leave without a judgment: what no journal says. Nothing in a drill is
/// unlawful or undecided for another reason.
const UNJUDGED: [&str; 2] = [
    "refused for a token, and no token is in a journal",
    "a lease that is live by a renewal, which writes no row",
];

/// An event that a drill sent and that was answered.
#[derive(Debug, Clone)]
pub(crate) struct Sent {
    pub(crate) seq: Seq,
    /// Whether an attempt is to be handed it.
    pub(crate) is_input: bool,
}

/// The folder of a drill, and what serves it.
pub(crate) struct Ground {
    folder: tempfile::TempDir,
    drill: Drill,
    steps: usize,
    /// Whether a daemon was asked to stop.
    stopping: bool,
    program: PathBuf,
    daemon: Option<Daemon>,
    begun: Instant,
    /// Daemons that ended as one that is killed does.
    pub(crate) killed: usize,
    pub(crate) sent: BTreeMap<String, Sent>,
    /// Ids of messages that the HTTP door has answered.
    pub(crate) posted: Vec<String>,
    _slot: Slot,
}

impl Ground {
    /// A folder with a configuration and a plan, and the first daemon.
    pub(crate) fn new(plan: &[Step]) -> Result<Self, Failed> {
        let program = binary("abide-drill").map_err(said)?;
        Self::with(plan, program)
    }

    /// The same, served by this program.
    pub(crate) fn with(plan: &[Step], program: PathBuf) -> Result<Self, Failed> {
        let slot = Slot::take();
        let folder = tempfile::tempdir().map_err(said)?;
        configure(folder.path()).map_err(said)?;
        let drill = Drill::plan(folder.path(), plan).map_err(said)?;
        let (begun, sent) = (Instant::now(), BTreeMap::new());
        let mut ground = Self {
            folder,
            drill,
            steps: plan.len(),
            stopping: false,
            program,
            daemon: None,
            begun,
            killed: 0,
            sent,
            posted: Vec::new(),
            _slot: slot,
        };
        ground.keep_up()?;
        Ok(ground)
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    /// How many kills are planned.
    pub(crate) fn steps(&self) -> usize {
        self.steps
    }

    pub(crate) fn daemon(&mut self) -> Result<&Daemon, Failed> {
        self.keep_up()?;
        self.daemon.as_ref().ok_or_else(|| "no daemon serves".to_owned())
    }

    /// Gives the daemon away, to be ended by the caller's hand.
    pub(crate) fn take_daemon(&mut self) -> Option<Daemon> {
        self.daemon.take()
    }

    /// Asks the daemon to stop, and goes on as if it had not been asked.
    pub(crate) fn ask_to_stop(&mut self) -> Result<(), Failed> {
        self.stopping = true;
        self.daemon()?.ask_to_stop().map_err(said)
    }

    /// Starts a daemon if none runs. What its predecessor left is sound, or it is a finding.
    pub(crate) fn keep_up(&mut self) -> Result<(), Failed> {
        if let Some(daemon) = &mut self.daemon {
            let Some(ended) = daemon.ended().map_err(said)? else { return Ok(()) };
            self.daemon = None;
            if ended.signal() == Some(9) {
                self.killed += 1;
            } else if !(self.stopping && ended.success()) {
                return Err(self.stuck(&format!("the daemon ended by itself: {ended}")));
            }
            self.stopping = false;
        }
        if self.database().is_file() {
            self.doctor()?;
        }
        // It may be killed before it is ready, once for each step of the plan at most.
        for _ in 0..=self.steps {
            let fired = self.fired()?.len();
            match Daemon::start_as(&self.program, self.path()) {
                Ok(daemon) => {
                    self.daemon = Some(daemon);
                    return self.doctor();
                }
                Err(error) if self.fired()?.len() == fired => {
                    return Err(self.stuck(&format!("no daemon starts: {error}")));
                }
                Err(_) => self.killed += 1,
            }
        }
        Err(self.stuck("no daemon starts"))
    }

    /// Looks until something is so; a daemon that is killed meanwhile is started again.
    pub(crate) fn until<T>(
        &mut self,
        what: &str,
        mut look: impl FnMut(&mut Self) -> Result<Option<T>, Failed>,
    ) -> Result<T, Failed> {
        loop {
            self.keep_up()?;
            if self.fired()?.contains(&Fired::Nobody) {
                // What works on for long would do so for ever.
                self.release()?;
                return Err(NOBODY.to_owned());
            }
            if let Some(found) = look(self)? {
                return Ok(found);
            }
            if self.begun.elapsed() > STUCK {
                return Err(self.stuck(&format!("it never came to this: {what}")));
            }
            std::thread::sleep(LOOK);
        }
    }

    /// A drill that went on for long on purpose has as long as any other to come to rest.
    pub(crate) fn rest_from_now(&mut self) {
        self.begun = Instant::now();
    }

    /// One more look, unless it takes too long.
    pub(crate) fn pause(&mut self, what: &str) -> Result<(), Failed> {
        if self.begun.elapsed() > STUCK {
            return Err(self.stuck(&format!("it never came to this: {what}")));
        }
        std::thread::sleep(LOOK);
        self.keep_up()
    }

    /// Offers an event until it is answered, under one id.
    pub(crate) fn emit(&mut self, id: &str, event_type: &str, key: &str) -> Result<Seq, Failed> {
        let body = json!({
            "specversion": "1.0", "id": id, "source": "op:drill", "type": event_type, "abidekey": key,
        })
        .to_string();
        let seq = self.until("an event is kept", |ground| ground.offer(&body))?;
        self.sent.insert(id.to_owned(), Sent { seq, is_input: true });
        Ok(seq)
    }

    fn offer(&mut self, body: &str) -> Result<Option<Seq>, Failed> {
        let Some(daemon) = &self.daemon else { return Ok(None) };
        // A lost answer says nothing; the same id again does.
        let Ok(answer) = daemon.operator("POST", "/events", body) else { return Ok(None) };
        match (answer.status, answer.json()["seq"].as_i64()) {
            (200..300, Some(seq)) => Ok(Some(Seq(seq))),
            (503, _) => Ok(None),
            _ => Err(format!("an event was answered {} {}", answer.status, answer.body)),
        }
    }

    /// Sends a message to the HTTP door until it is answered, under one id.
    pub(crate) fn post(&mut self, id: &str, event_type: &str, to: &str) -> Result<(), Failed> {
        let body = json!({
            "specversion": "1.0", "id": id, "source": SENDER, "type": event_type,
            "data": { "to": to },
        })
        .to_string();
        self.until("a message is kept", |ground| ground.offer_at_the_door(&body))?;
        self.posted.push(id.to_owned());
        Ok(())
    }

    fn offer_at_the_door(&self, body: &str) -> Result<Option<()>, Failed> {
        let Some(daemon) = &self.daemon else { return Ok(None) };
        let headers = [("content-type", "application/cloudevents+json")];
        let answer = Connection::tcp(daemon.hooks())
            .and_then(|mut door| door.send("POST", "/hooks/door", &headers, body.to_owned()));
        // A lost answer says nothing; the same id again does.
        let Ok(answer) = answer else { return Ok(None) };
        match answer.status {
            200..300 => Ok(Some(())),
            503 => Ok(None),
            status => Err(format!("a message was answered {status} {}", answer.body)),
        }
    }

    /// What listeners recorded.
    pub(crate) fn heard(&self) -> Result<Vec<Heard>, Failed> {
        match fs::read_to_string(self.path().join(LISTENER_LOG)) {
            Ok(text) => text.lines().map(|line| Heard::read(line).map_err(said)).collect(),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Vec::new()),
            Err(error) => Err(said(error)),
        }
    }

    /// Tells the `nth` process of each Work something.
    pub(crate) fn order(&self, nth: usize, order: &str) -> Result<(), Failed> {
        let (file, new) = (format!("order.{nth}"), format!("order.{nth}.new"));
        fs::write(self.path().join(&new), order).map_err(said)?;
        fs::rename(self.path().join(new), self.path().join(file)).map_err(said)
    }

    /// Reads something from the database.
    pub(crate) fn read<T>(
        &self,
        read: impl FnOnce(&mut dyn Tx) -> Result<T, StoreError>,
    ) -> Result<T, Failed> {
        let store = Store::open_reader(&self.database()).map_err(said)?;
        let mut session = store.session();
        session.begin_snapshot().map_err(said)?;
        read(&mut session).map_err(said)
    }

    /// What is left of keepers and of what they started, once they had the time to go: one that nobody let proceed goes by
    /// itself.
    pub(crate) fn running(&self) -> Result<Vec<String>, Failed> {
        let begun = Instant::now();
        loop {
            let found = self.runs()?;
            if found.is_empty() || begun.elapsed() > GOING_MAX {
                return Ok(found);
            }
            std::thread::sleep(LOOK);
        }
    }

    /// Keepers that live, and processes of whatever they started, by what their environment names.
    fn runs(&self) -> Result<Vec<String>, Failed> {
        let mut found: Vec<String> = Held::all(&self.path().join("state"))
            .map_err(said)?
            .into_iter()
            .map(|held| format!("keeper {} of {}", held.keeper.pid, held.segment.display()))
            .collect();
        let folder = self.path().as_os_str().as_encoded_bytes();
        for stat in Stat::all().map_err(said)? {
            // One that is gone by now, or another's, has no environment to read.
            let environment = fs::read(format!("/proc/{}/environ", stat.pid)).unwrap_or_default();
            let of_ours = environment.split(|byte| *byte == 0).any(|variable| {
                variable.starts_with(b"ABIDE_DRILL_LOG=")
                    && variable.windows(folder.len()).any(|part| part == folder)
            });
            if of_ours && stat.runs() {
                found.push(format!("process {}", stat.pid));
            }
        }
        Ok(found)
    }

    /// Cancels every open Work until each is.
    pub(crate) fn cancel_all(&mut self) -> Result<(), Failed> {
        self.until("every work is cancelled", |ground| {
            let seen = ground.see()?;
            let Some(daemon) = &ground.daemon else { return Ok(None) };
            for work in seen.works.iter().filter(|work| !work.status.is_terminal()) {
                // Whatever it answers, the next look tells.
                drop(daemon.operator("POST", &format!("/work/{}/cancel", work.uid), "{}"));
            }
            let open = |status: WorkStatus| !status.is_terminal();
            Ok((!ground.see()?.works.iter().any(|work| open(work.status))).then_some(()))
        })
    }

    /// Lets what works on for long go on.
    pub(crate) fn release(&self) -> Result<(), Failed> {
        fs::write(self.path().join("release"), "").map_err(said)
    }

    /// Until so many Works have ended, every event is marked and no process is left over.
    pub(crate) fn settle(&mut self, works: usize) -> Result<Observation, Failed> {
        self.until(&format!("{works} works at rest"), |ground| {
            let seen = ground.see()?;
            let rests = |work: &SeenWork| work.status.is_terminal() && work.excluded.is_none();
            let at_rest = seen.works.len() == works
                && seen.works.iter().all(rests)
                && seen.events.iter().all(|event| event.mark.is_some());
            Ok(at_rest.then_some(seen))
        })
    }

    /// Ends the daemon in order, once nothing of the plan is left; what it leaves is sound.
    pub(crate) fn end(&mut self) -> Result<(), Failed> {
        // The last kill may follow upon the commit that brought everything to rest.
        let steps = self.steps;
        self.until("every kill takes place", |ground| {
            Ok((ground.fired()?.len() == steps).then_some(()))
        })?;
        if let Some(daemon) = self.daemon.take() {
            let ended = daemon.stop().map_err(said)?;
            if steps > 0 && ended.signal() == Some(9) {
                self.killed += 1;
            } else if !ended.success() {
                return Err(self.stuck(&format!("the daemon did not stop in order: {ended}")));
            }
        }
        self.doctor()
    }

    /// The state of the database, as another process reads it.
    pub(crate) fn see(&self) -> Result<Observation, Failed> {
        self.read(observe)
    }

    /// What was committed.
    pub(crate) fn journal(&self) -> Result<Vec<JournalRow>, Failed> {
        self.read(|tx| journal::since(tx, 0, u32::MAX))
    }

    /// The journal rows and the ends of the attempts of one Work, as text.
    pub(crate) fn rows_of(&self, uid: &str) -> Result<Vec<String>, Failed> {
        let seen = self.see()?;
        let work = seen.works.iter().find(|work| work.uid == uid).ok_or("it is not there")?.work;
        let mut rows = Vec::new();
        for row in self.journal()? {
            let args: serde_json::Value = serde_json::from_str(&row.args).map_err(said)?;
            let facts: serde_json::Value = serde_json::from_str(&row.facts).map_err(said)?;
            let names = |value: &serde_json::Value| value["work"] == json!(work.0);
            if names(&args) || names(&facts) || names(&facts["ended"]) {
                let JournalRow { n, at, action, args, outcome, facts, .. } = row;
                rows.push(format!("{n} {}: {action} {args} => {outcome} {facts}", at.0));
            }
        }
        let database = rusqlite::Connection::open(self.database()).map_err(said)?;
        let mut results = database
            .prepare("SELECT n, status, result FROM attempt WHERE work = ?1 ORDER BY n")
            .map_err(said)?;
        let result = |row: &rusqlite::Row<'_>| {
            let (n, status) = (row.get::<_, i64>(0)?, row.get::<_, String>(1)?);
            let result: Option<String> = row.get(2)?;
            Ok(format!("attempt {n}: {status} {}", result.unwrap_or_default()))
        };
        for result in results.query_map([work.0], result).map_err(said)? {
            rows.push(result.map_err(said)?);
        }
        Ok(rows)
    }

    /// What the worker recorded.
    pub(crate) fn log(&self) -> Result<Vec<Line>, Failed> {
        match fs::read_to_string(self.path().join("worker.log")) {
            Ok(text) => text.lines().map(|line| Line::read(line).map_err(said)).collect(),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Vec::new()),
            Err(error) => Err(said(error)),
        }
    }

    /// What the plan came to so far.
    pub(crate) fn fired(&self) -> Result<Vec<Fired>, Failed> {
        self.drill.fired().map_err(said)
    }

    pub(crate) fn database(&self) -> PathBuf {
        self.path().join("state/abide.db")
    }

    /// Every invariant that can be checked on data at rest.
    pub(crate) fn doctor(&self) -> Result<(), Failed> {
        let examined = abide(self.path(), &["doctor", "-c", "abide.toml"]).map_err(said)?;
        if examined.status.success() {
            return Ok(());
        }
        let (out, err) = (&examined.stdout, &examined.stderr);
        let text = format!("{}{}", String::from_utf8_lossy(out), String::from_utf8_lossy(err));
        Err(self.stuck(&format!("the doctor objects: {text}")))
    }

    /// Every committed row, held against the law.
    pub(crate) fn audit(&self) -> Result<Report, Failed> {
        let report = audit_database(&self.database())
            .map_err(|error| self.stuck(&format!("the audit objects: {error}")))?;
        let stated = |why: &String| UNJUDGED.contains(&why.as_str());
        if report.replayed > 0
            && report.undecided.is_empty()
            && report.not_judged.keys().all(stated)
        {
            return Ok(report);
        }
        Err(self.stuck(&format!("the audit leaves something open: {report:?}")))
    }

    /// A failure, with the state in which it is one.
    pub(crate) fn stuck(&self, what: &str) -> Failed {
        let tail = |name: &str, lines: usize| {
            let text = fs::read_to_string(self.path().join(name)).unwrap_or_default();
            let all: Vec<&str> = text.lines().collect();
            all[all.len().saturating_sub(lines)..].join("\n")
        };
        let works = self.see().map(|seen| {
            let shown = seen.works.iter().filter(|work| !work.status.is_terminal()).take(3);
            let why = |uid: &str| {
                let said = abide(self.path(), &["why", "-c", "abide.toml", uid]);
                said.map(|said| String::from_utf8_lossy(&said.stdout).into_owned())
            };
            let said: Vec<String> = shown
                .map(|work| format!("{work:?}\n{}", why(&work.uid).unwrap_or_default()))
                .collect();
            let open: Vec<_> = seen.events.iter().filter(|event| event.mark.is_none()).collect();
            format!("{} works, open:\n{}\nunrouted: {open:?}", seen.works.len(), said.join("\n"))
        });
        format!(
            "{what}\nfired: {:?}\nstate: {}\nworker.log:\n{}\n{LISTENER_LOG}:\n{}\ndaemon.log:\n{}",
            self.fired(),
            works.unwrap_or_else(|error| error),
            tail("worker.log", 30),
            tail(LISTENER_LOG, 30),
            tail("daemon.log", 60),
        )
    }
}

/// How many of a plan's steps killed whom.
pub(crate) fn kills(plan: &[Step], fired: &[Fired]) -> BTreeMap<Victim, usize> {
    let mut kills = BTreeMap::new();
    for (step, fired) in plan.iter().zip(fired) {
        if matches!(fired, Fired::Killed(_)) {
            *kills.entry(step.victim).or_default() += 1;
        }
    }
    kills
}

pub(crate) fn said(error: impl std::fmt::Display) -> Failed {
    error.to_string()
}

fn configure(folder: &Path) -> std::io::Result<()> {
    let scripts =
        [("run.sh", "worker.log", "drill-worker"), ("listen.sh", LISTENER_LOG, "drill-listener")];
    for (script, log, program) in scripts {
        let text = format!(
            "#!/bin/sh\nexport ABIDE_DRILL_LOG='{}'\nexport ABIDE_BINARY='{}'\nexec '{}' \"$@\"\n",
            folder.join(log).display(),
            binary("abide")?.display(),
            binary(program)?.display(),
        );
        let path = folder.join(script);
        fs::write(&path, text)?;
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755))?;
    }
    fs::write(folder.join("abide.toml"), CONFIGURATION)
}

const CONFIGURATION: &str = r#"
[daemon]
state = "state"

[listen]
hooks = "127.0.0.1:0"

[principal.ops]
token = { file = "state/ops.token" }
may = ["view", "work", "config"]

[[ingress]]
name = "door"
kind = "http"
scope = "main"
unsigned = true

[scope.main]
capacity = 8

[[scope.main.route]]
name = "stops"
on = ["hear.stop", "chat.stop"]
key = 'event.data.to'
do = "update"
active = "interrupt"
fallback = "queue"

[[scope.main.route]]
name = "heard"
on = ["hear.*"]
key = 'event.data.to'
do = "work"
kind = "hear"
active = "inject"

[[scope.main.route]]
name = "chats"
on = ["chat.*"]
key = 'event.data.to'
do = "work"
kind = "chat"
active = "inject"

[scope.main.kind.hear]
binding = "listener"
retry = { attempts = 16, backoff = ["1s", "1s", "1s", "1s", "1s", "1s", "1s", "1s", "1s", "1s", "1s", "1s", "1s", "1s", "1s"] }

[scope.main.binding.listener]
executor = "shell"
command = ["./listen.sh"]
capabilities = ["resume", "inject", "interrupt"]
isolation = "none"
lease = "1s"
stop_grace = "500ms"

[scope.main.kind.chat]
binding = "talker"
retry = { attempts = 16, backoff = ["1s", "1s", "1s", "1s", "1s", "1s", "1s", "1s", "1s", "1s", "1s", "1s", "1s", "1s", "1s"] }

[scope.main.binding.talker]
executor = "agent"
command = ["./listen.sh", "--agent"]
capabilities = ["resume", "inject", "interrupt"]
isolation = "none"
lease = "1s"
stop_grace = "500ms"

[[scope.main.route]]
name = "news"
on = ["*.news"]
key = 'string(event.data.number)'
do = "update"

[[scope.main.route]]
name = "tasks"
on = ["task.*"]
key = 'string(event.data.number)'
do = "work"
kind = "task"

[[scope.main.route]]
name = "turns"
on = ["turn.*"]
key = 'string(event.data.number)'
do = "work"
kind = "turn"

[scope.main.kind.turn]
binding = "agent"
retry = { attempts = 9, backoff = ["1s", "1s", "1s", "1s", "1s", "1s", "1s", "1s"] }

[scope.main.binding.agent]
executor = "agent"
command = ["./run.sh", "--agent"]
capabilities = ["resume"]
isolation = "none"
lease = "1s"
stop_grace = "500ms"

[scope.main.kind.task]
binding = "worker"
retry = { attempts = 9, backoff = ["1s", "1s", "1s", "1s", "1s", "1s", "1s", "1s"] }

[scope.main.binding.worker]
executor = "shell"
command = ["./run.sh"]
capabilities = ["resume"]
isolation = "none"
lease = "1s"
stop_grace = "500ms"
"#;

/// A line of a test's output.
pub(crate) fn say(line: &str) {
    use std::io::Write as _;
    drop(writeln!(std::io::stderr(), "{line}"));
}
