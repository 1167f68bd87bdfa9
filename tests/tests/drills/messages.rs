//! Many messages to processes that run, over kills at random instants, on `abide` itself.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use abide::domain::WorkStatus;
use abide::store::observe::SeenWork;
use abide_tests::daemon::binary;
use abide_tests::drill::{Fired, Victim, kill, running_as};

use crate::accounts::Accounts;
use crate::chance::{Random, held, number, seed};
use crate::ground::{Failed, Ground, said, say};
use crate::heard::{Done, Heard, Message, Tally, account, fenced};

/// How many messages are sent, and within how long, if `ABIDE_DRILL_MESSAGES` and `ABIDE_DRILL_SECONDS` do not say.
const MESSAGES: u64 = 150;
const SECONDS: u64 = 40;

/// It goes on until each kind of victim was killed so often; fewer say nothing.
const KILLS_MIN: usize = 3;

/// For so long after that time, at most.
const LONGER_MAX: Duration = Duration::from_secs(300);

/// Works that are talked to: as many commands as agents.
const WORKS: usize = 4;

/// Of so many messages one interrupts.
const ONE_STOPS: u64 = 24;

/// POLICY-12 POLICY-14 POLICY-16 POLICY-17 POLICY-18 INJECT-06 INJECT-08 INJECT-10 EXEC-04 EXEC-05 EXEC-11
#[test]
fn messages_over_random_kills_are_consumed_once_by_proof_or_come_again_with_a_mark() {
    let messages = number("ABIDE_DRILL_MESSAGES").unwrap_or(MESSAGES);
    let seconds = number("ABIDE_DRILL_SECONDS").unwrap_or(SECONDS);
    let seed = seed();
    say(&format!("{messages} messages in {seconds} s: ABIDE_DRILL_SEED={seed}"));
    let told = Talk::begin(seed).and_then(|talk| talk.run(messages, Duration::from_secs(seconds)));
    match told {
        Ok(accounts) => assert_eq!(accounts, Accounts::default(), "seed {seed}"),
        Err(failed) => panic!("seed {seed}: {failed}"),
    }
}

struct Talk {
    ground: Ground,
    random: Random,
    /// Keys that have Work.
    told: BTreeSet<String>,
    /// Keepers and commands; daemons are counted by how they end.
    kills: BTreeMap<Victim, usize>,
    /// Daemons that were asked to stop.
    stopped: usize,
}

impl Talk {
    fn begin(seed: u64) -> Result<Self, Failed> {
        Ok(Self {
            ground: Ground::with(&[], binary("abide").map_err(said)?)?,
            random: Random::of(seed),
            told: BTreeSet::new(),
            kills: BTreeMap::new(),
            stopped: 0,
        })
    }

    fn run(mut self, messages: u64, length: Duration) -> Result<Accounts, Failed> {
        let begun = Instant::now();
        let mut next = begun + Duration::from_secs(1);
        let (mut sent, pace) =
            (0, length.as_secs_f64() / f64::from(u32::try_from(messages).map_err(said)?));
        while sent < messages || !self.is_enough() {
            if begun.elapsed() > length + LONGER_MAX {
                return Err(format!("{sent} sent, too little was killed: {}", self.killed()));
            }
            self.ground.rest_from_now();
            if begun.elapsed().as_secs_f64() >= pace * f64::from(u32::try_from(sent).map_err(said)?)
            {
                self.say()?;
                sent += 1;
            }
            if Instant::now() >= next {
                self.strike()?;
                next = Instant::now() + Duration::from_millis(150 + self.random.below(1500));
            }
            if begun.elapsed().as_secs_f64() < pace * f64::from(u32::try_from(sent).map_err(said)?)
            {
                self.ground.pause("the talk goes on")?;
            }
        }
        self.come_to_rest()?;
        self.close(begun.elapsed())
    }

    /// One more message, to somebody.
    fn say(&mut self) -> Result<(), Failed> {
        let to = self.random.index(WORKS);
        let key = format!("k{to}");
        let kind = if to.is_multiple_of(2) { "hear" } else { "chat" };
        let stops = self.random.below(ONE_STOPS) == 0 && self.told.contains(&key);
        let event_type = format!("{kind}.{}", if stops { "stop" } else { "talks" });
        let id = format!("m{}", self.ground.posted.len());
        self.ground.post(&id, &event_type, &key)?;
        self.told.insert(key);
        Ok(())
    }

    fn strike(&mut self) -> Result<(), Failed> {
        let victim = match self.random.below(8) {
            0 | 1 => Victim::Keeper,
            2 | 3 => Victim::Command,
            4 => {
                self.stopped += 1;
                return self.ground.ask_to_stop();
            }
            _ => Victim::Daemon,
        };
        let found = match victim {
            Victim::Daemon => {
                let pid = i32::try_from(self.ground.daemon()?.pid()).map_err(said)?;
                running_as(pid).map_err(said)?
            }
            Victim::Keeper | Victim::Command => {
                held(&self.ground, victim, &mut self.random)?.map(|(_, process)| process)
            }
        };
        let Some(found) = found else { return Ok(()) };
        if matches!(kill(&found).map_err(said)?, Fired::Killed(_)) && victim != Victim::Daemon {
            *self.kills.entry(victim).or_default() += 1;
        }
        Ok(())
    }

    fn count(&self, victim: Victim) -> usize {
        match victim {
            Victim::Daemon => self.ground.killed,
            Victim::Keeper | Victim::Command => self.kills.get(&victim).copied().unwrap_or(0),
        }
    }

    fn is_enough(&self) -> bool {
        let victims = [Victim::Daemon, Victim::Keeper, Victim::Command];
        victims.into_iter().all(|victim| self.count(victim) >= KILLS_MIN)
    }

    fn killed(&self) -> String {
        format!(
            "killed {} daemon, {} keeper, {} command, stopped {} daemon",
            self.count(Victim::Daemon),
            self.count(Victim::Keeper),
            self.count(Victim::Command),
            self.stopped,
        )
    }

    /// Nobody is killed any more. A last message to each sees to it that a process hears of what was handed to one that
    /// never began.
    fn come_to_rest(&mut self) -> Result<(), Failed> {
        self.ground.rest_from_now();
        for key in self.told.clone() {
            let kind = if key.ends_with(['0', '2']) { "hear" } else { "chat" };
            self.ground.post(&format!("last-{key}"), &format!("{kind}.talks"), &key)?;
        }
        self.ground.until("nothing is left to do", |ground| {
            let seen = ground.see()?;
            let rests = |work: &SeenWork| {
                matches!(work.status, WorkStatus::Ready | WorkStatus::Waiting)
                    && work.pending.is_empty()
                    && work.backoff.is_none()
                    && work.excluded.is_none()
            };
            let marked = seen.events.iter().all(|event| event.mark.is_some());
            Ok((marked && seen.works.iter().all(rests)).then_some(()))
        })?;
        self.ground.end()
    }

    fn close(self, took: Duration) -> Result<Accounts, Failed> {
        let (seen, log) = (self.ground.see()?, self.ground.heard()?);
        let messages = Message::all(&self.ground, &seen)?;
        let (tally, mut accounts) = account(&seen, &messages, &log, &self.ground.posted);
        let fenced = fenced(&self.ground, &seen, &mut accounts)?;
        let running = self.ground.running()?;
        accounts.doubles.extend(running.into_iter().map(|one| format!("{one} is left over")));
        let audit = self.ground.audit()?;
        self.report(took, &messages, tally, fenced, &log);
        say(&format!(
            "messages: {} losses, {} doubles; {} journal rows as the law has them, not judged {:?}",
            accounts.losses.len(),
            accounts.doubles.len(),
            audit.replayed,
            audit.not_judged,
        ));
        for found in accounts.losses.iter().chain(&accounts.doubles) {
            say(&self.story(found, &messages, &log));
        }
        if tally.total() != self.ground.posted.len() {
            return Err(format!("{tally:?} of {} messages", self.ground.posted.len()));
        }
        let taken = log.iter().filter(|line| line.what == Done::Taken).count();
        if taken != tally.proved + tally.again_though_taken {
            return Err(format!("{taken} messages were taken in, and the database says {tally:?}"));
        }
        if tally.proved == 0 || tally.again == 0 || fenced == 0 {
            return Err(format!("this says too little: {tally:?}, {fenced} fenced"));
        }
        Ok(accounts)
    }

    fn report(
        &self,
        took: Duration,
        messages: &[Message],
        tally: Tally,
        fenced: usize,
        log: &[Heard],
    ) {
        let Tally { proved, again, again_though_taken, handed, interrupts } = tally;
        let count = |what: Done| log.iter().filter(|line| line.what == what).count();
        let mut statuses: BTreeMap<String, usize> = BTreeMap::new();
        for message in messages {
            let status = message.status().map_or("none".to_owned(), |status| format!("{status:?}"));
            *statuses.entry(status).or_default() += 1;
        }
        say(&format!(
            "messages: {} in {:.0} s over {} processes: {proved} proved, {again} handed again with a mark ({again_though_taken} \
             of them after they were taken in), {handed} handed in a batch and never sent; listeners took in {} and said so \
             of {}; {interrupts} of them interrupt, {fenced} attempts fenced; {}; intents {statuses:?}",
            tally.total(),
            took.as_secs_f64(),
            count(Done::Start),
            count(Done::Taken),
            count(Done::Said),
            self.killed(),
        ));
    }

    /// What happened to the message that a finding names.
    fn story(&self, found: &str, messages: &[Message], log: &[Heard]) -> String {
        let named = |message: &&Message| {
            found.split_whitespace().any(|word| word.trim_end_matches(':') == message.id)
        };
        let Some(message) = messages.iter().find(named) else { return found.to_owned() };
        let of_it = log.iter().filter(|line| {
            line.event.as_ref() == Some(&message.uid)
                || line.handed.iter().any(|one| one.event == message.uid)
        });
        let lines: Vec<String> = of_it.map(|line| format!("{line:?}")).collect();
        format!("{found}\n{message:?}\n{}", lines.join("\n"))
    }
}
