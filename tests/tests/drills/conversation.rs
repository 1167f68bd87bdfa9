//! A support conversation, carried by `abide` itself from the first message to the last.

use abide::domain::{IntentStatus, MarkKind, WorkStatus};
use abide_tests::daemon::binary;

use crate::accounts::{Accounts, Reason};
use crate::ground::{Failed, Ground, said};
use crate::heard::{Done, Handed, Heard, Message, account};

/// `TestDaemonSlackSupportConversation`. Its messages come by the generic HTTP ingress: there is no sender of Slack yet,
/// and what it asks for is about what comes after the door.
/// INJECT-01 INJECT-08 INJECT-25 INJECT-27 EXEC-05 WAIT-01 WAKE-16 POLICY-16 OURS-19
#[test]
fn test_daemon_slack_support_conversation() {
    for turns in ["chat", "hear"] {
        let carried = begin(turns).and_then(Conversation::carry);
        carried.unwrap_or_else(|failed| panic!("{turns}: {failed}"));
    }
}

/// One thread of messages, which is one Work.
struct Conversation {
    ground: Ground,
    turns: &'static str,
}

fn begin(turns: &'static str) -> Result<Conversation, Failed> {
    Ok(Conversation { ground: Ground::with(&[], binary("abide").map_err(said)?)?, turns })
}

impl Conversation {
    fn carry(mut self) -> Result<(), Failed> {
        self.a_first_message_starts_a_turn()?;
        self.what_comes_during_the_turn_is_injected_over_a_restart()?;
        self.the_turn_waits_and_what_it_took_in_wakes_nothing()?;
        self.the_next_message_wakes_it_and_is_all_that_it_is_handed()?;
        self.what_it_did_not_take_in_comes_again_with_a_mark()?;
        self.it_ends_with_nothing_lost_and_nothing_twice()
    }

    fn a_first_message_starts_a_turn(&mut self) -> Result<(), Failed> {
        self.sends("hello")?;
        let turn = self.turn(1)?;
        self.was_handed(&turn, &["hello"], false)?;
        same("its reason", &turn.reason, &Reason::Start)
    }

    fn what_comes_during_the_turn_is_injected_over_a_restart(&mut self) -> Result<(), Failed> {
        for id in ["it-breaks", "since-today"] {
            self.sends(id)?;
            self.is_taken_in(id, IntentStatus::Accepted)?;
        }
        if let Some(daemon) = self.ground.take_daemon() {
            let ended = daemon.stop().map_err(said)?;
            same("the daemon stops in order", &ended.success(), &true)?;
        }
        self.sends("any-news")?;
        self.is_taken_in("any-news", IntentStatus::Accepted)?;
        let log = self.ground.heard()?;
        let pids: Vec<i32> = log.iter().map(|line| line.pid).collect();
        same("one process", &pids.iter().all(|pid| *pid == pids[0]), &true)
    }

    /// What its process took in is consumed when it waits, and stays so over a daemon that is killed.
    fn the_turn_waits_and_what_it_took_in_wakes_nothing(&mut self) -> Result<(), Failed> {
        self.ground.order(1, "park")?;
        self.is(WorkStatus::Waiting)?;
        if let Some(daemon) = self.ground.take_daemon() {
            daemon.kill().map_err(said)?;
        }
        self.ground.keep_up()?;
        let seen = self.ground.see()?;
        let work = seen.works.first().ok_or("there is no work")?;
        same("it waits on", &work.status, &WorkStatus::Waiting)?;
        same("its input", &work.pending, &Vec::new())?;
        for id in ["it-breaks", "since-today", "any-news"] {
            same(id, &self.message(id)?.status(), &Some(IntentStatus::Consumed))?;
        }
        same("processes", &self.starts()?.len(), &1)
    }

    fn the_next_message_wakes_it_and_is_all_that_it_is_handed(&mut self) -> Result<(), Failed> {
        self.sends("still-there")?;
        let turn = self.turn(2)?;
        same("its reason", &turn.reason, &Reason::Resume)?;
        same("its attempt", &turn.attempt, &1)?;
        same("its mark", &self.message("still-there")?.mark(), &Some(MarkKind::Woke))?;
        self.was_handed(&turn, &["still-there"], false)
    }

    fn what_it_did_not_take_in_comes_again_with_a_mark(&mut self) -> Result<(), Failed> {
        self.ground.order(2, "deaf")?;
        self.ground.until("it takes in nothing more", |ground| {
            let log = ground.heard()?;
            Ok(log.iter().any(|line| line.what == Done::Deaf).then_some(()))
        })?;
        self.sends("thanks")?;
        self.settles("thanks", IntentStatus::Accepted)?;
        std::fs::remove_file(self.ground.path().join("order.2")).map_err(said)?;
        let turn = self.turn(3)?;
        same("its attempt", &turn.attempt, &2)?;
        self.was_handed(&turn, &["thanks"], true)?;
        same("it", &self.message("thanks")?.status(), &Some(IntentStatus::Accepted))
    }

    fn it_ends_with_nothing_lost_and_nothing_twice(mut self) -> Result<(), Failed> {
        self.ground.order(3, "complete")?;
        self.ground.settle(1)?;
        self.ground.end()?;
        let (seen, log) = (self.ground.see()?, self.ground.heard()?);
        let messages = Message::all(&self.ground, &seen)?;
        let (tally, accounts) = account(&seen, &messages, &log, &self.ground.posted);
        same("the accounts", &accounts, &Accounts::default())?;
        same("proved, again, handed", &(tally.proved, tally.again, tally.handed), &(3, 1, 2))?;
        same("what still runs", &self.ground.running()?, &Vec::new())?;
        self.ground.audit().map(drop)
    }

    fn sends(&mut self, id: &str) -> Result<(), Failed> {
        let event_type = format!("{}.message", self.turns);
        self.ground.post(id, &event_type, "thread-1")
    }

    fn message(&self, id: &str) -> Result<Message, Failed> {
        Message::find(&self.ground, id)?.ok_or_else(|| format!("there is no message {id}"))
    }

    fn starts(&self) -> Result<Vec<Heard>, Failed> {
        let log = self.ground.heard()?;
        Ok(log.into_iter().filter(|line| line.what == Done::Start).collect())
    }

    /// The `nth` process, once it has begun.
    fn turn(&mut self, nth: usize) -> Result<Heard, Failed> {
        self.ground.until("a turn begins", |ground| {
            let log = ground.heard()?;
            Ok(log.into_iter().filter(|line| line.what == Done::Start).nth(nth - 1))
        })
    }

    fn is(&mut self, status: WorkStatus) -> Result<(), Failed> {
        self.ground.until("its work comes so far", |ground| {
            let seen = ground.see()?;
            Ok(seen.works.iter().any(|work| work.status == status).then_some(()))
        })
    }

    fn settles(&mut self, id: &str, status: IntentStatus) -> Result<(), Failed> {
        self.ground.until("what came of it is on record", |ground| {
            let message = Message::find(ground, id)?;
            Ok(message.filter(|message| message.status() == Some(status)).map(drop))
        })
    }

    /// Its process has it, which is no proof yet.
    fn is_taken_in(&mut self, id: &str, status: IntentStatus) -> Result<(), Failed> {
        self.ground.until("its process takes it in", |ground| {
            let Some(message) = Message::find(ground, id)? else { return Ok(None) };
            let log = ground.heard()?;
            Ok(log.iter().any(|line| line.is(Done::Said, &message.uid)).then_some(()))
        })?;
        self.settles(id, status)
    }

    fn was_handed(&self, turn: &Heard, ids: &[&str], repeated: bool) -> Result<(), Failed> {
        let wanted: Result<Vec<Handed>, Failed> = ids
            .iter()
            .map(|id| {
                let event = self.message(id)?.uid;
                Ok(Handed { event, attempt: turn.attempt, repeated })
            })
            .collect();
        same("what it is handed", &turn.handed, &wanted?)
    }
}

fn same<T: PartialEq + std::fmt::Debug>(what: &str, found: &T, wanted: &T) -> Result<(), Failed> {
    if found == wanted {
        return Ok(());
    }
    Err(format!("{what}: {found:?}, and not {wanted:?}"))
}
