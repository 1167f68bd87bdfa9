//! Kills at random instants while there is much to do, on `abide` itself.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use abide::domain::WorkStatus;
use abide::keeper::identity::Identity;
use abide::store::Observation;
use abide::store::observe::SeenWork;
use abide_tests::daemon::binary;
use abide_tests::drill::{Fired, Victim, kill, running_as};

use crate::accounts::{AGAIN, Accounts, CANCELLED, Course, ONCE, RESUMED, account, hold_to_course};
use crate::chance::{Random, held, number, seed};
use crate::ground::{Failed, Ground, said, say};

/// How long it kills if `ABIDE_DRILL_SECONDS` does not say.
const SECONDS: u64 = 40;

/// It goes on until each kind of victim was killed so often, and an undisturbed Work lived through a kill of its daemon;
/// fewer say nothing.
const KILLS_MIN: usize = 3;

/// For so long after that time, at most.
const LONGER_MAX: Duration = Duration::from_secs(240);

/// Works that are open at once.
const OPEN: usize = 16;

/// OURS-19 LEASE-02 LEASE-08 ADOPT-22 POLICY-22 WAKE-11
#[test]
fn kills_at_random_instants_under_load_start_nothing_twice_and_lose_nothing() {
    let seconds = number("ABIDE_DRILL_SECONDS").unwrap_or(SECONDS);
    let seed = seed();
    say(&format!("random kills for {seconds} s: ABIDE_DRILL_SEED={seed}"));
    let accounts = Load::begin(seed).and_then(|load| load.run(Duration::from_secs(seconds)));
    match accounts {
        Ok(accounts) => assert_eq!(accounts, Accounts::default(), "seed {seed}"),
        Err(failed) => panic!("seed {seed}: {failed}"),
    }
}

/// What an event asks for, and the course its Work takes if nobody but a daemon is killed.
const TASKS: [(&str, Course); 8] = [
    ("task.works", ONCE),
    ("task.fails", AGAIN),
    ("task.waits", RESUMED),
    ("task.sleeps", RESUMED),
    ("turn.works", ONCE),
    ("turn.fails", AGAIN),
    ("turn.waits", RESUMED),
    ("turn.sleeps", RESUMED),
];

struct Load {
    ground: Ground,
    random: Random,
    /// What was asked for, by key.
    asked: BTreeMap<String, (&'static str, Course)>,
    /// Keys whose news was sent.
    told: BTreeSet<String>,
    /// Works that somebody cancelled.
    cancelled: BTreeSet<String>,
    /// Works of which a keeper or a command was killed: they may need another attempt.
    disturbed: BTreeSet<String>,
    /// Works that ran when a daemon was killed.
    orphaned: BTreeSet<String>,
    /// Keepers and commands; daemons are counted by how they end.
    kills: BTreeMap<Victim, usize>,
    /// Daemons that were asked to stop.
    stopped: usize,
}

impl Load {
    fn begin(seed: u64) -> Result<Self, Failed> {
        let ground = Ground::with(&[], binary("abide").map_err(said)?)?;
        Ok(Self {
            ground,
            random: Random::of(seed),
            asked: BTreeMap::new(),
            told: BTreeSet::new(),
            cancelled: BTreeSet::new(),
            disturbed: BTreeSet::new(),
            orphaned: BTreeSet::new(),
            kills: BTreeMap::new(),
            stopped: 0,
        })
    }

    fn run(mut self, length: Duration) -> Result<Accounts, Failed> {
        let begun = Instant::now();
        let mut next = begun;
        while begun.elapsed() < length || !self.is_enough() {
            if begun.elapsed() > length + LONGER_MAX {
                return Err(format!("too little was killed: {}", self.killed()));
            }
            self.ground.rest_from_now();
            let seen = self.ground.see()?;
            self.ask(&seen)?;
            self.tell(&seen)?;
            if self.random.below(40) == 0 {
                self.cancel(&seen)?;
            }
            if Instant::now() >= next {
                match self.random.below(8) {
                    0 | 1 => self.kill(Victim::Keeper)?,
                    2 | 3 => self.kill(Victim::Command)?,
                    4 => {
                        self.ground.ask_to_stop()?;
                        self.stopped += 1;
                    }
                    _ => self.kill(Victim::Daemon)?,
                }
                next = Instant::now() + Duration::from_millis(50 + self.random.below(1000));
            }
            self.ground.pause("the load goes on")?;
        }
        self.come_to_rest()?;
        self.close()
    }

    fn count(&self, victim: Victim) -> usize {
        match victim {
            Victim::Daemon => self.ground.killed,
            Victim::Keeper | Victim::Command => self.kills.get(&victim).copied().unwrap_or(0),
        }
    }

    /// Works that have their undisturbed course to take, although they ran when a daemon was killed.
    fn survivors(&self) -> usize {
        let spared =
            |uid: &&String| !self.disturbed.contains(*uid) && !self.cancelled.contains(*uid);
        self.orphaned.iter().filter(spared).count()
    }

    fn is_enough(&self) -> bool {
        let victims = [Victim::Daemon, Victim::Keeper, Victim::Command];
        victims.into_iter().all(|victim| self.count(victim) >= KILLS_MIN) && self.survivors() > 0
    }

    fn killed(&self) -> String {
        format!(
            "killed {} daemon, {} keeper, {} command, stopped {}; {} undisturbed works outlived a daemon",
            self.count(Victim::Daemon),
            self.count(Victim::Keeper),
            self.count(Victim::Command),
            self.stopped,
            self.survivors(),
        )
    }

    /// Offers more, as long as there is room.
    fn ask(&mut self, seen: &Observation) -> Result<(), Failed> {
        let open = seen.works.iter().filter(|work| !work.status.is_terminal()).count();
        for _ in open..OPEN.min(open + 4) {
            let key = format!("k{}", self.asked.len());
            let task = TASKS[self.random.index(TASKS.len())];
            self.ground.emit(&format!("ask-{key}"), task.0, &key)?;
            self.asked.insert(key, task);
        }
        Ok(())
    }

    /// Tells what waits for news, once.
    fn tell(&mut self, seen: &Observation) -> Result<(), Failed> {
        let waiting = |work: &&SeenWork| work.status == WorkStatus::Waiting;
        for work in seen.works.iter().filter(waiting) {
            let Some(key) = key_of(seen, work) else { continue };
            let waits = self.asked.get(&key).is_some_and(|task| task.0.ends_with(".waits"));
            if waits && self.told.insert(key.clone()) {
                self.ground.emit(&format!("news-{key}"), "task.news", &key)?;
            }
        }
        Ok(())
    }

    fn kill(&mut self, victim: Victim) -> Result<(), Failed> {
        let found = match victim {
            Victim::Daemon => {
                let pid = i32::try_from(self.ground.daemon()?.pid()).map_err(said)?;
                running_as(pid).map_err(said)?
            }
            Victim::Keeper | Victim::Command => self.held(victim)?,
        };
        let Some(found) = found else { return Ok(()) };
        match (kill(&found).map_err(said)?, victim) {
            (Fired::Nobody, _) => {}
            (Fired::Killed(_), Victim::Daemon) => {
                let ran = |work: &SeenWork| work.status == WorkStatus::Running;
                let seen = self.ground.see()?;
                self.orphaned.extend(seen.works.into_iter().filter(ran).map(|work| work.uid));
            }
            (Fired::Killed(_), Victim::Keeper | Victim::Command) => {
                *self.kills.entry(victim).or_default() += 1;
            }
        }
        Ok(())
    }

    /// Some keeper or command that runs; its Work is disturbed from now on.
    fn held(&mut self, victim: Victim) -> Result<Option<Identity>, Failed> {
        let found = held(&self.ground, victim, &mut self.random)?;
        let Some((segment, process)) = found else { return Ok(None) };
        let text = std::fs::read_to_string(segment.join("request.json")).map_err(said)?;
        let request: serde_json::Value = serde_json::from_str(&text).map_err(said)?;
        self.disturbed.extend(request["work"].as_str().map(str::to_owned));
        Ok(Some(process))
    }

    fn cancel(&mut self, seen: &Observation) -> Result<(), Failed> {
        let open: Vec<_> = seen.works.iter().filter(|work| !work.status.is_terminal()).collect();
        if open.is_empty() {
            return Ok(());
        }
        let uid = open[self.random.index(open.len())].uid.clone();
        let path = format!("/work/{uid}/cancel");
        self.ground.until("a cancellation is answered", |ground| {
            Ok(ground.daemon()?.operator("POST", &path, "{}").ok())
        })?;
        self.cancelled.insert(uid);
        Ok(())
    }

    fn come_to_rest(&mut self) -> Result<(), Failed> {
        self.ground.rest_from_now();
        loop {
            let seen = self.ground.see()?;
            self.tell(&seen)?;
            let waits = seen.works.iter().any(|work| {
                let key = key_of(&seen, work);
                let told = key.as_ref().is_some_and(|key| self.told.contains(key));
                let asked = key.and_then(|key| self.asked.get(&key));
                !work.status.is_terminal()
                    && !told
                    && asked.is_some_and(|task| task.0.ends_with(".waits"))
            });
            if !waits && seen.works.len() == self.asked.len() {
                break;
            }
            self.ground.pause("everything waits or ends")?;
        }
        self.ground.settle(self.asked.len())?;
        self.ground.end()
    }

    fn close(self) -> Result<Accounts, Failed> {
        let (seen, log) = (self.ground.see()?, self.ground.log()?);
        let mut accounts = account(&seen, &log, &self.ground.sent);
        let more = hold_to_course(&seen, &log, |work| {
            let free = self.disturbed.contains(&work.uid);
            let cancelled = self.cancelled.contains(&work.uid);
            let key = key_of(&seen, work)?;
            let course = self.asked.get(&key)?.1;
            match (free, cancelled) {
                (true, _) => None,
                // It may have completed before it was cancelled.
                (false, true) if work.status == WorkStatus::Cancelled => {
                    Some(Course { ends: CANCELLED.ends, ..course })
                }
                (false, _) => Some(course),
            }
        });
        let audit = self.ground.audit()?;
        accounts.doubles.extend(more.doubles);
        accounts.losses.extend(more.losses);
        say(&format!(
            "random kills: {} works, {} segments; {}; {} losses, {} doubles; \
             {} journal rows as the law has them, not judged {:?}",
            seen.works.len(),
            log.iter().filter(|line| line.what == crate::accounts::What::Start).count(),
            self.killed(),
            accounts.losses.len(),
            accounts.doubles.len(),
            audit.replayed,
            audit.not_judged,
        ));
        for found in accounts.doubles.iter().chain(&accounts.losses) {
            say(&self.story(found));
        }
        // A later kill may have disturbed what was counted.
        if seen.works.is_empty() || !self.is_enough() {
            return Err(format!(
                "{} works, too little was killed: {}",
                seen.works.len(),
                self.killed()
            ));
        }
        Ok(accounts)
    }

    /// What happened to the Work that a finding names.
    fn story(&self, found: &str) -> String {
        let uid = found.split(|at: char| !(at.is_alphanumeric() || at == '_'));
        let Some(uid) = uid.into_iter().find(|word| word.starts_with("work_")) else {
            return found.to_owned();
        };
        let log = self.ground.log().unwrap_or_default();
        let own = log.iter().filter(|line| line.work == uid).map(|line| format!("{line:?}"));
        let own: Vec<String> = own.collect();
        let rows = self.ground.rows_of(uid).unwrap_or_else(|failed| vec![failed]);
        format!("{found}\n{}\n{}", rows.join("\n"), own.join("\n"))
    }
}

/// The key under which a Work was asked for.
fn key_of(seen: &Observation, work: &SeenWork) -> Option<String> {
    let own = seen.keys.iter().find(|key| key.owner == work.work)?;
    Some(own.key.external_id.clone())
}
