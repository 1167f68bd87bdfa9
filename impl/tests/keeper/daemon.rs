//! A whole daemon over its keepers: stopped, killed, signalled, replaced.

use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use abide::keeper::folder::{Folder, KeeperFile, read_json};
use abide::keeper::identity::Identity;
use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use serde_json::Value;

use crate::support::{ABIDE, STALL, STAND_IN, runs};

/// A folder with a configuration, and `abide` run in it.
struct House {
    root: tempfile::TempDir,
    program: PathBuf,
}

impl Drop for House {
    /// Keepers of a test that failed would go on for ever.
    fn drop(&mut self) {
        for folder in self.segments() {
            let Ok(Some(KeeperFile { keeper, .. })) = read_json(&folder.file("keeper.json")) else {
                continue;
            };
            if keeper.is_alive().unwrap_or(false)
                && let Some(pid) = Pid::from_raw(keeper.pid)
            {
                let _ = kill_process(pid, Signal::TERM);
            }
        }
    }
}

/// A daemon of it, which leads a process group; killed when it is dropped.
struct Daemon(Child);

impl Drop for Daemon {
    fn drop(&mut self) {
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

impl Daemon {
    fn pid(&self) -> Pid {
        i32::try_from(self.0.id()).ok().and_then(Pid::from_raw).expect("a process")
    }

    fn kill(mut self) {
        self.0.kill().expect("it is ours");
        self.0.wait().expect("it is ours");
    }

    /// Waits until it has ended by itself.
    fn ended(mut self) {
        let ended = || self.0.try_wait().expect("it is ours").is_some();
        until("the daemon has ended", ended);
    }
}

fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !holds() {
        assert!(begun.elapsed() < STALL, "it never was so that {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// What a Work is run by: an executor, and the words of its command.
fn configuration(executor: &str, command: &[&str]) -> String {
    let command = serde_json::to_string(command).expect("a list of texts");
    format!(
        r#"
[principal.ops]
token = {{ file = "state/ops.token" }}
may = ["view", "work"]

[[scope.main.route]]
name = "all"
on = ["*"]
key = 'string(event.data.n)'
do = "work"
kind = "k"

[scope.main.kind.k]
binding = "b"

[scope.main.binding.b]
executor = "{executor}"
command = {command}
capabilities = ["resume"]
isolation = "none"
env = ["PATH"]
lease = "2s"
"#
    )
}

impl House {
    fn new(configuration: &str) -> Self {
        let root = tempfile::tempdir().expect("a temporary folder");
        fs::write(root.path().join("abide.toml"), configuration).expect("it is written");
        Self { root, program: ABIDE.into() }
    }

    fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        command.current_dir(self.root.path()).stdin(Stdio::null());
        command.env_remove("ABIDE_CONFIG");
        command
    }

    fn serve(&self) -> Daemon {
        let log = fs::OpenOptions::new().create(true).append(true).open(self.file("log"));
        let child = self
            .command()
            .arg("serve")
            .process_group(0)
            .stdout(Stdio::piped())
            .stderr(log.expect("a log"))
            .spawn();
        let mut daemon = Daemon(child.expect("it starts"));
        let out = daemon.0.stdout.take().expect("it is piped");
        let mut lines = BufReader::new(out).lines().map_while(Result::ok);
        assert!(lines.any(|line| line == "ready"), "{}", self.log());
        daemon
    }

    fn log(&self) -> String {
        fs::read_to_string(self.file("log")).unwrap_or_default()
    }

    fn file(&self, name: &str) -> PathBuf {
        self.root.path().join(name)
    }

    fn run(&self, line: &[&str]) -> String {
        let output = self.command().args(line).output().expect("it runs");
        assert!(output.status.success(), "{line:?}: {output:?}\n{}", self.log());
        String::from_utf8(output.stdout).expect("it is text")
    }

    fn emit(&self, kind: &str, n: u32) {
        let data = format!("{{\"n\":{n}}}");
        self.run(&["emit", "--source", "op:me", "--type", kind, "--data", &data]);
    }

    /// The Work of a number, as it is shown.
    fn work(&self, n: u32) -> Option<Value> {
        let list = self.run(&["work", "list", "--json"]);
        let rows = list.lines().map(|row| serde_json::from_str::<Value>(row).expect("JSON"));
        let key = format!("#{n}");
        let mut owns = rows.filter(|row| {
            let keys = row["keys"].as_array().expect("keys");
            keys.iter().any(|owned| owned.as_str().is_some_and(|owned| owned.ends_with(&key)))
        });
        owns.next()
    }

    fn shown(&self, n: u32) -> Value {
        let work = self.work(n).expect("there is one");
        let id = work["id"].as_str().expect("an id").to_owned();
        serde_json::from_str(&self.run(&["work", "show", &id, "--json"])).expect("JSON")
    }

    fn is_completed(&self, n: u32) {
        let done = || self.work(n).is_some_and(|work| work["status"] == "completed");
        let begun = Instant::now();
        while !done() {
            assert!(begun.elapsed() < STALL, "{:?}\n{}", self.work(n), self.log());
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// The one folder of a Work, in which its command runs.
    fn work_dir(&self, n: u32) -> PathBuf {
        let work = self.work(n).expect("there is one");
        let id = work["id"].as_str().expect("an id").to_owned();
        self.file("state/works").join(id)
    }

    /// Waits for a file that a command leaves.
    fn left(&self, n: u32, name: &str) -> String {
        let mut text = String::new();
        until(name, || {
            let read =
                self.work(n).is_some().then(|| fs::read_to_string(self.work_dir(n).join(name)));
            match read {
                Some(Ok(read)) if !read.is_empty() => {
                    text = read.trim().to_owned();
                    true
                }
                Some(Ok(_) | Err(_)) | None => false,
            }
        });
        text
    }

    fn go(&self, n: u32) {
        fs::write(self.work_dir(n).join("go"), "go").expect("it is written");
    }

    /// Every segment that was launched.
    fn segments(&self) -> Vec<Folder> {
        let entries = fs::read_dir(self.file("state/segments")).into_iter().flatten();
        entries.map(|entry| Folder::at(entry.expect("an entry").path())).collect()
    }

    /// Keeper and command of so many segments, once every command is recorded: it may be up before.
    fn held(&self, segments: usize) -> Vec<Identity> {
        let mut held = Vec::new();
        until("every command is recorded", || {
            held.clear();
            for folder in self.segments() {
                let keeper = read_json::<KeeperFile>(&folder.file("keeper.json"));
                held.extend(keeper.expect("readable").map(|file| file.keeper));
                held.extend(folder.read_process().expect("readable").map(|file| file.leader));
            }
            held.len() == 2 * segments
        });
        held
    }
}

/// How often a Work was tried, and under which claim the last attempt ended.
fn tries(work: &Value) -> (usize, Value) {
    let attempts = work["history"].as_array().expect("attempts");
    let last = attempts.last().expect("one");
    (attempts.len(), last["epoch"].clone())
}

const WAITING: &str = "echo $$ > up.new; mv up.new up; while [ ! -e go ]; do sleep 0.02; done";

/// OURS-19 ADOPT-17, L14: the service manager stops the daemon, or the machine kills it.
#[test]
fn a_stopped_and_a_killed_daemon_leave_the_turn_of_an_agent_whose_answer_the_next_one_has() {
    let command = ["/bin/sh", STAND_IN, ABIDE, "init", "up", "until:go", "answer"];
    let house = House::new(&configuration("agent", &command));
    let first = house.serve();
    house.emit("opened", 1);
    assert_eq!(house.left(1, "up"), "up");
    first.kill();
    let held = house.held(1);
    assert!(held.iter().all(runs), "{held:?}");

    let second = house.serve();
    until("it is adopted", || tries(&house.shown(1)).1 == 2);
    kill_process(second.pid(), Signal::TERM).expect("it is ours");
    second.ended();
    assert!(held.iter().all(runs));

    let _third = house.serve();
    house.go(1);
    house.is_completed(1);
    assert_eq!(tries(&house.shown(1)).0, 1, "one attempt");
    assert_eq!(house.segments().len(), 1, "no further launch");
}

/// OURS-19 ADOPT-18: the turn ends while no daemon runs.
#[test]
fn an_answer_that_came_while_no_daemon_ran_is_had_by_the_next() {
    let command = ["/bin/sh", STAND_IN, ABIDE, "init", "up", "until:go", "answer"];
    let house = House::new(&configuration("agent", &command));
    let first = house.serve();
    house.emit("opened", 1);
    house.left(1, "up");
    let held = house.held(1);
    let go = house.work_dir(1).join("go");
    first.kill();
    fs::write(go, "go").expect("it is written");
    let answered = |folder: &Folder| {
        fs::read_to_string(folder.stdout()).is_ok_and(|said| said.contains("\"result\""))
    };
    until("it has answered", || house.segments().iter().all(answered));
    assert!(held.iter().all(runs), "its input is open, so it stays");
    let _second = house.serve();
    house.is_completed(1);
    assert_eq!(tries(&house.shown(1)).0, 1);
}

/// OURS-19: a terminal or a service manager that signals the daemon's whole process group.
#[test]
fn signals_to_the_daemons_process_group_reach_no_keeper_and_no_command() {
    let house = House::new(&configuration("shell", &["/bin/sh", "-c", WAITING]));
    let mut daemon = house.serve();
    house.emit("opened", 1);
    house.left(1, "up");
    let held = house.held(1);
    for signal in [Signal::HUP, Signal::INT] {
        kill_process_group(daemon.pid(), signal).expect("it is ours");
        if signal == Signal::INT {
            daemon.ended();
            daemon = house.serve();
        }
        assert!(held.iter().all(runs), "{signal:?}");
    }
    until("it is adopted", || tries(&house.shown(1)).1 == 2);
    kill_process_group(daemon.pid(), Signal::TERM).expect("it is ours");
    daemon.ended();
    assert!(held.iter().all(runs));
    let _last = house.serve();
    house.go(1);
    house.is_completed(1);
    assert_eq!(tries(&house.shown(1)).0, 1);
}

/// OURS-19: an upgrade replaces the file of a daemon that still runs.
#[test]
fn a_daemon_whose_program_was_replaced_goes_on_and_the_new_one_adopts_what_it_launched() {
    let mut house = House::new(&configuration("shell", &["/bin/sh", "-c", WAITING]));
    let program = house.file("bin");
    fs::copy(ABIDE, &program).expect("it is copied");
    house.program.clone_from(&program);
    let old = house.serve();
    house.emit("opened", 1);
    house.left(1, "up");

    // Something else lies there now, which is no keeper.
    house.program = ABIDE.into();
    fs::remove_file(&program).expect("it was there");
    fs::write(&program, "#!/bin/sh\nexit 1\n").expect("it is written");
    house.emit("opened", 2);
    house.left(2, "up");
    // And then nothing at all.
    fs::remove_file(&program).expect("it was there");
    house.emit("opened", 3);
    house.left(3, "up");
    let held = house.held(3);
    assert!(held.iter().all(runs), "{held:?}");
    old.kill();

    fs::copy(ABIDE, &program).expect("it is copied");
    house.program.clone_from(&program);
    let _new = house.serve();
    for n in 1..=3 {
        house.go(n);
        house.is_completed(n);
        assert_eq!(tries(&house.shown(n)).0, 1, "{n}");
    }
    assert_eq!(house.segments().len(), 3);
}

/// WAKE-16: an agent waits in its turn, and goes on with its session when it is woken.
#[test]
fn an_agent_that_waits_goes_on_with_its_session() {
    let command = ["/bin/sh", STAND_IN, ABIDE, "init", "start/wait:1", "answer"];
    let house = House::new(&configuration("agent", &command));
    let _daemon = house.serve();
    house.emit("opened", 1);
    until("it waits", || {
        house.work(1).is_some_and(|work| work["status"] == "waiting" && work["excluded"] == false)
    });
    house.emit("news", 1);
    house.is_completed(1);
    assert_eq!(house.left(1, "session-resume"), house.left(1, "session-start"));
    assert_eq!(tries(&house.shown(1)).0, 1, "the same attempt");
}

/// LEASE-05: a silent command takes several terms of its lease.
#[test]
fn an_observation_that_outlasts_its_lease_loses_nothing() {
    let house = House::new(&configuration("shell", &["/bin/sh", "-c", "sleep 5"]));
    let _daemon = house.serve();
    house.emit("opened", 1);
    house.is_completed(1);
    assert_eq!(tries(&house.shown(1)), (1, Value::from(1)), "one claim for all of it");
}

/// LEASE-05: the launch waits for a file for several terms of its lease.
#[test]
fn a_launch_that_outlasts_its_lease_loses_nothing() {
    let command = ["/bin/sh", STAND_IN, ABIDE, "init", "answer"];
    let configuration = configuration("agent", &command);
    let house = House::new(&configuration.replace("lease", "prompt = \"prompt.md\"\nlease"));
    let prompt = house.file("prompt.md");
    fs::write(&prompt, "at first").expect("it is written");
    let _daemon = house.serve();
    fs::remove_file(&prompt).expect("it was there");
    let made = Command::new("mkfifo").arg(&prompt).status().expect("it runs");
    assert!(made.success());
    house.emit("opened", 1);
    // Opens once the launch reads.
    let mut words = fs::OpenOptions::new().write(true).open(&prompt).expect("it is read");
    std::thread::sleep(Duration::from_secs(5));
    std::io::Write::write_all(&mut words, b"at last").expect("it is read");
    drop(words);
    house.is_completed(1);
    assert!(house.left(1, "heard-start").contains("at last"));
    assert_eq!(tries(&house.shown(1)), (1, Value::from(1)), "one claim for all of it");
}

/// C12 LEASE-13: what was cancelled goes on for a moment, and can do nothing any more.
#[test]
fn a_cancelled_command_is_refused_whatever_it_asks_for() {
    let script = format!(
        "trap '' TERM; {WAITING}; {ABIDE} tool wait --key 1 --type x > said 2>&1; echo $? > code.new; \
         mv code.new code; sleep 1000"
    );
    let configuration = configuration("shell", &["/bin/sh", "-c", &script]);
    let house = House::new(&configuration.replace("lease", "stop_grace = \"10m\"\nlease"));
    let _daemon = house.serve();
    house.emit("opened", 1);
    house.left(1, "up");
    let work = house.work(1).expect("there is one");
    let id = work["id"].as_str().expect("an id").to_owned();
    house.run(&["work", "cancel", &id]);
    house.go(1);
    assert_eq!(house.left(1, "code"), "3", "stale authority");
    assert_eq!(house.work(1).expect("there is one")["status"], "cancelled");
    stop(&house);
}

/// Ends what a test leaves on purpose: the groups of the commands.
fn stop(house: &House) {
    for folder in house.segments() {
        let leader = folder.read_process().expect("readable").map(|file| file.leader);
        for process in leader.iter().filter(|process| runs(process)) {
            let group = Pid::from_raw(process.pid).expect("a process");
            kill_process_group(group, Signal::KILL).expect("it is ours");
        }
    }
}

/// I12: the active time ends while the wrapper waits for what works.
#[test]
fn a_command_that_uses_up_its_time_goes_with_its_whole_tree() {
    let script = "sleep 1000 & echo $! > child.new; mv child.new child; wait";
    let configuration = configuration("shell", &["/bin/sh", "-c", script]);
    let house = House::new(&configuration.replace("lease", "timeout = \"1s\"\nlease"));
    let _daemon = house.serve();
    house.emit("opened", 1);
    let child = house.left(1, "child").parse().expect("an id");
    let ended = || {
        let history = &house.shown(1)["history"];
        history[0]["status"] == "failed"
            && house.work(1).is_some_and(|work| work["excluded"] == false)
    };
    until("its time is over", ended);
    let left = abide::keeper::identity::Stat::read(child).expect("/proc is there");
    assert!(left.is_none_or(|stat| !stat.runs()), "{left:?}");
    assert!(!house.held(1).iter().any(runs));
}

/// OURS-24
#[test]
fn a_request_carries_the_attempt_before_it_as_context() {
    let script =
        format!("cp \"$ABIDE_REQUEST\" new; mv new \"$ABIDE_REASON\"; {ABIDE} tool result handoff");
    let house = House::new(&configuration("shell", &["/bin/sh", "-c", &script]));
    let _daemon = house.serve();
    house.emit("opened", 1);
    let first: Value = serde_json::from_str(&house.left(1, "start")).expect("JSON");
    until("it is handed off", || house.shown(1)["history"][0]["status"] == "completed");
    house.emit("changed", 1);
    let second: Value = serde_json::from_str(&house.left(1, "next")).expect("JSON");

    assert_eq!(first["previous"], Value::Null);
    let previous = &second["previous"];
    assert_eq!((&previous["number"], &previous["status"]), (&1.into(), &"completed".into()));
    assert_eq!((&previous["trigger"], &previous["inputs"]), (&first["trigger"], &first["inputs"]));
    assert_eq!(first["trigger"]["type"], "opened");
    let types = |request: &Value| {
        let inputs = request["inputs"].as_array().expect("a list").iter();
        inputs.map(|event| event["type"].clone()).collect::<Vec<_>>()
    };
    assert_eq!((types(&first), types(&second)), (vec!["opened".into()], vec!["changed".into()]));
}
