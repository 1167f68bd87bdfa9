//! The suite of inject over the executors that ship, with real keepers and processes.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use abide::conformance::{Check, Conduct, Stage, Subject, Verdict, check_inject_executor};
use abide::domain::{EventUid, Token};
use abide::executor::agent::Agent;
use abide::extension::executor::{Executor, Metadata, RunRequest};
use abide::keeper::folder::Folder;

use crate::support::{ABIDE, Ground, STAND_IN, parsed};

/// An executor whose processes are of this conduct.
type Make = fn(&Ground, Conduct) -> Arc<dyn Executor>;

/// An executor that ships.
struct Shipped(Make);

impl Subject for Shipped {
    fn stage(&self, conduct: Conduct) -> Box<dyn Stage> {
        Box::new(OnDisk { ground: Ground::new(), conduct, make: self.0 })
    }
}

/// Processes that wait for the file `go` and write what they take in into the file `taken`.
struct OnDisk {
    ground: Ground,
    conduct: Conduct,
    make: Make,
}

impl Stage for OnDisk {
    fn executor(&self) -> Arc<dyn Executor> {
        (self.make)(&self.ground, self.conduct)
    }

    fn request(&self) -> RunRequest {
        self.ground.request()
    }

    fn cue(&self) {
        fs::create_dir_all(self.ground.work()).expect("a folder");
        fs::write(self.ground.file("go"), "").expect("it is written");
    }

    fn taken_in(&self) -> Vec<EventUid> {
        let taken = fs::read_to_string(self.ground.file("taken")).unwrap_or_default();
        taken.lines().filter_map(event).collect()
    }

    fn runs(&self) -> bool {
        let Ok(segments) = fs::read_dir(self.ground.place().segments) else { return false };
        let mut folders = segments.map(|entry| Folder::at(entry.expect("readable").path()));
        folders.any(|folder| match folder.read_process().expect("readable") {
            Some(process) => process.leader.is_alive().expect("/proc is there"),
            None => false,
        })
    }

    fn token(&self, segment: &Metadata) -> Option<Token> {
        let metadata = parsed(segment);
        let name = metadata["folder"].as_str().expect("it names its folder");
        Folder::at(self.ground.place().segments.join(name)).read_token().ok()
    }
}

/// As a shell names it, or as a message of an agent does.
fn event(text: &str) -> Option<EventUid> {
    let named = || text.parse().ok().map(EventUid::from_uuid);
    text.parse().ok().or_else(named)
}

/// A script with the commands that ship.
fn shell(ground: &Ground, conduct: Conduct) -> Arc<dyn Executor> {
    const TAKE: &str = "take() { abide tool inbox | while read -r id event; do \
                        abide tool ack \"$id\" && echo \"$id\" >> taken; done; }; \
                        while [ ! -e go ]; do take; sleep 0.02; done; take";
    let folder = Path::new(ABIDE).parent().expect("a folder").display();
    let acts = match conduct {
        Conduct::Cooperates => TAKE.to_owned(),
        Conduct::Ignores => "while [ ! -e go ]; do sleep 0.02; done".to_owned(),
        Conduct::Crashes => format!("{TAKE}; exit 3"),
        Conduct::Stays => "exec sleep 1000".to_owned(),
    };
    Arc::new(ground.script(&format!("PATH={folder}:$PATH; {acts}")))
}

/// An agent that echoes what it is given.
fn agent(ground: &Ground, conduct: Conduct) -> Arc<dyn Executor> {
    let acts: &[&str] = match conduct {
        Conduct::Cooperates => &["init", "listen", "until:go", "answer"],
        Conduct::Ignores => &["init", "until:go", "answer"],
        Conduct::Crashes => &["init", "listen", "until:go", "crash:3"],
        Conduct::Stays => &["init", "deaf"],
    };
    let command = [&["/bin/sh", STAND_IN, ABIDE], acts].concat();
    Arc::new(Agent::new(ground.place(), ground.binding(&command), None))
}

/// Every check but the one that needs an answer to be lost, which no process of ours does.
fn passes(make: Make) {
    let report = check_inject_executor(&Shipped(make));
    for check in Check::ALL {
        let verdict = report.verdict(check);
        let judged = verdict == Verdict::Passed;
        assert!(judged || check == Check::SaysWhenItCannotTell, "{report}");
    }
    assert!(report.passed(), "{report}");
}

/// EXEC-14 EXEC-16, CheckInjectExecutor
#[test]
fn check_inject_executor_over_the_shell() {
    passes(shell);
}

/// EXEC-14 EXEC-16, CheckInjectExecutor
#[test]
fn check_inject_executor_over_the_agent() {
    passes(agent);
}

/// What the suite finds is of the executor and not of the double it was written beside: an agent that
/// was not told to echo is found.
#[test]
fn an_agent_that_echoes_nothing_never_consumes() {
    struct Silent;
    impl Subject for Silent {
        fn stage(&self, conduct: Conduct) -> Box<dyn Stage> {
            let make: Make = match conduct {
                Conduct::Cooperates => |ground, _| {
                    let command =
                        ["/bin/sh", STAND_IN, ABIDE, "mute", "init", "listen", "until:go"];
                    let command = [&command[..], &["answer"]].concat();
                    Arc::new(Agent::new(ground.place(), ground.binding(&command), None))
                },
                Conduct::Ignores | Conduct::Crashes | Conduct::Stays => agent,
            };
            Box::new(OnDisk { ground: Ground::new(), conduct, make })
        }
    }
    let report = check_inject_executor(&Silent);
    let found: Vec<_> = report.findings().into_iter().map(|finding| finding.check).collect();
    assert_eq!(found, [Check::ConsumesWhatItAccepts], "{report}");
}
