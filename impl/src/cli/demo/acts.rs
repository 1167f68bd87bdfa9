//! What happens in the demo, one step a function. Each says what it does, looks at what came of it
//! through the daemon's own doors, and fails if that is not what it claims.

use std::fs;

use jiff::Timestamp;

use super::cast::{Cast, unheld};
use super::daemon::Daemon;
use super::hooks::{Answered, Delivery};
use crate::api::types::{ActRequest, AttemptRow, Chain, Why, WorkDetail, WorkRow};
use crate::cli::Failure;
use crate::domain::{AttemptStatus, IntentStatus, MarkKind, Phase, WaitStatus, WorkStatus};

/// A process that runs when the daemon dies.
#[derive(Debug)]
pub(super) struct Running {
    pid: u32,
    /// When it started, by the kernel's count: with the pid it is this process and no other.
    started: String,
    epoch: u64,
    /// When the lease it runs under ends.
    expires_at: Timestamp,
}

impl Cast<'_> {
    /// A delivery that arrives twice is one event.
    pub(super) async fn keeps_once(&mut self) -> Result<(), Failure> {
        self.teller.step("A webhook delivery arrives, and arrives again")?;
        let delivery = Delivery::opened("d-1", 42);
        let (first, second) = (self.send(&delivery).await?, self.send(&delivery).await?);
        self.teller.did(&format!(
            "Pull request #42 is opened. GitHub, which never heard our first answer, repeats \
             itself; the answers were {} and {}.",
            first.0, second.0
        ))?;
        let fresh_then_known = first == Answered(202) && second == Answered(200);
        let found = format!("{first:?}, {second:?}");
        self.teller.showed("accepted first, then recognised", fresh_then_known, found)?;
        let events = self.events().await?;
        let kept = events.iter().filter(|event| event.delivery == delivery.id).count();
        self.teller.showed("it is kept once, as event 1", kept == 1 && events[0].seq == 1, kept)
    }

    /// What nobody wants is kept too, and can be seen; what nobody signed is not.
    pub(super) async fn keeps_what_nobody_wants(&mut self) -> Result<(), Failure> {
        self.teller.step("One that no route wants, and one that nobody signed")?;
        let star = Delivery::starred("d-2");
        let answer = self.send(&star).await?;
        let event = self.routed(star.id).await?;
        self.teller.did("Somebody stars the repository; somebody else makes up a delivery.")?;
        let unmatched = answer == Answered(202) && event.mark == Some(MarkKind::Unmatched);
        self.teller.showed(
            &format!("`{}` is event {}: kept, and marked unmatched", event.event_type, event.seq),
            unmatched,
            format!("{answer:?}, {:?}", event.mark),
        )?;
        let forged = Delivery::opened("d-3", 666);
        let answer = forged.send(&self.daemon()?.hooks, "a guess").await?;
        let kept = self.event(forged.id).await?.is_some();
        let refused = answer == Answered(401) && !kept;
        self.teller.showed("the forged one was answered 401 and left no trace", refused, answer.0)
    }

    /// The first event becomes a work, whose attempt waits.
    pub(super) async fn routes_and_waits(&mut self) -> Result<String, Failure> {
        self.teller.step("The event is routed to a work, and the work waits")?;
        let event = self.routed("d-1").await?;
        let work = self.waiting(42).await?;
        let route = event.route.as_deref().unwrap_or("?");
        self.teller.did(&format!(
            "Route `{route}` made {} and gave it the key #42. Its executor, a shell script, \
             reviewed the pull request, called `abide tool wait --key 42 --type \
             check_run.completed`, and ended: nothing runs, and no lease is held.",
            work.work.id
        ))?;
        let queued =
            event.mark == Some(MarkKind::Queued) && event.work.as_ref() == Some(&work.work.id);
        self.teller.showed("event 1 is input of that work", queued, format!("{:?}", event.mark))?;
        let attempt = only_attempt(&work)?;
        let parked = attempt.status == AttemptStatus::Parked && attempt.expires_at.is_none();
        let found = format!("{:?}", attempt.status);
        self.teller.showed("attempt 1 is parked, without a lease", parked, found)?;
        let active = work.waits.len() == 1 && work.waits[0].status == WaitStatus::Active;
        let found = format!("{:?}", work.waits);
        self.teller.showed("its wait is active, with a timeout", active, found)?;
        Ok(work.work.id)
    }

    /// The event it waits for wakes it; another of the same kind is input.
    pub(super) async fn wakes_once(&mut self, work: &str) -> Result<(), Failure> {
        self.teller.step("The checks pass: it is woken, once")?;
        let (first, second) =
            (Delivery::checked("d-4", 42, "tests"), Delivery::checked("d-5", 42, "lint"));
        self.send(&first).await?;
        let woke = self.routed(first.id).await?;
        let look = async || Ok(self.stage.read("pid"));
        self.teller.until("the attempt goes on", look).await?;
        self.send(&second).await?;
        let queued = self.routed(second.id).await?;
        self.teller.did(&format!(
            "Event {} says that the tests passed, event {} that the linter did.",
            woke.seq, queued.seq
        ))?;
        let mark = woke.mark == Some(MarkKind::Woke);
        let waits = self.waits(work).await?;
        let won = waits.len() == 1 && waits[0].winner == Some(woke.seq);
        self.teller.showed(
            &format!("the wait is woken by event {}, and by nothing else", woke.seq),
            mark && won,
            format!("{:?}, {:?}", woke.mark, waits),
        )?;
        let chain: Chain = self.operator.get(&format!("/events/{}/chain", woke.seq)).await?;
        let note = chain.events.last();
        let noted = note.is_some_and(|note| {
            note.mark == Some(MarkKind::Continuation)
                && note.parent.as_ref() == Some(&woke.id)
                && note.depth == 1
        });
        self.teller.showed(
            &format!(
                "event {} is core's own note of it, caused by event {}",
                woke.seq + 1,
                woke.seq
            ),
            noted && note.is_some_and(|note| note.seq == woke.seq + 1),
            format!("{:?}", chain.events),
        )?;
        let detail = self.work(work).await?;
        let pending = detail.pending_input == [queued.seq];
        self.teller.showed(
            &format!("event {} woke nobody: it is input, pending", queued.seq),
            queued.mark == Some(MarkKind::Queued) && pending,
            format!("{:?}, pending {:?}", queued.mark, detail.pending_input),
        )?;
        let attempt = only_attempt(&detail)?;
        let resumed = attempt.status == AttemptStatus::Running && attempt.epoch > 1;
        let found = format!("{:?} at epoch {}", attempt.status, attempt.epoch);
        let claim = format!("attempt 1 goes on, at epoch {}", attempt.epoch);
        self.teller.showed(&claim, resumed, found)
    }

    /// The daemon dies; the process it started does not.
    pub(super) async fn runs_when_killed(&mut self, work: &str) -> Result<Running, Failure> {
        self.teller.step("The daemon is killed while the attempt runs")?;
        let pid = self.stage.read("pid").and_then(|pid| pid.parse().ok()).unwrap_or_default();
        let started = started(pid).ok_or_else(|| Failure::refused("the merge does not run"))?;
        let attempt = only_attempt(&self.work(work).await?)?;
        let expires_at = attempt.expires_at.as_deref().and_then(|end| end.parse().ok());
        let expires_at = expires_at.ok_or_else(|| Failure::refused("the merge has no lease"))?;
        let daemon = self.daemon.take().ok_or_else(|| Failure::refused("there is no daemon"))?;
        let killed = daemon.pid();
        daemon.kill().await?;
        self.teller.did(&format!(
            "The merge is process {pid}. The daemon, process {killed}, gets SIGKILL: no chance to \
             say goodbye."
        ))?;
        let gone = self::started(killed).is_none();
        self.teller.showed("the daemon is gone", gone, killed)?;
        let lives = self::started(pid).as_ref() == Some(&started);
        self.teller.showed("the merge runs on, in its keeper's hands", lives, pid)?;
        Ok(Running { pid, started, epoch: attempt.epoch, expires_at })
    }

    /// The next daemon takes over that very process.
    pub(super) async fn adopts(&mut self, work: &str, running: &Running) -> Result<(), Failure> {
        self.teller.step("A new daemon starts, and adopts the process")?;
        self.daemon = Some(Daemon::start(self.stage).await?);
        let look = async || {
            let attempt = only_attempt(&self.work(work).await?)?;
            let adopted = attempt.epoch > running.epoch && attempt.phase == Some(Phase::Pinned);
            Ok(adopted.then_some(attempt))
        };
        let attempt = self.teller.until("the attempt is adopted", look).await?;
        let seen = Timestamp::now();
        self.teller.did(&format!(
            "It finds an attempt that is leased to a daemon it does not know. Once the lease of 2 \
             seconds is over it takes the attempt at epoch {}, and asks the keeper for proof.",
            attempt.epoch
        ))?;
        let over = seen >= running.expires_at;
        self.teller.showed("not before the lease was over", over, running.expires_at)?;
        let same = started(running.pid).as_ref() == Some(&running.started);
        self.teller.showed(&format!("it is the same process {}", running.pid), same, "another")?;
        let starts = self.stage.read("started").unwrap_or_default();
        let once = starts.lines().filter(|line| *line == "resume 42").count();
        self.teller.showed("nothing was started a second time", once == 1, &starts)?;
        let stale = self.beat("old.token").await?;
        self.teller.showed(
            &format!("the token of epoch {} is refused: `abide tool` exits 3, stop", running.epoch),
            stale == Some(3),
            format!("{stale:?}"),
        )?;
        let current = self.stage.read("token.path").unwrap_or_default();
        let fresh = self.beat(&current).await?;
        let found = format!("{fresh:?}");
        self.teller.showed(
            "the process has been given the new one, which works",
            fresh == Some(0),
            found,
        )
    }

    /// What comes for a running attempt reaches its process, adopted or not. Answers the event.
    pub(super) async fn steers(&mut self, work: &str) -> Result<i64, Failure> {
        self.teller.step("A comment reaches the running process")?;
        let comment = Delivery::commented("d-8", 42, "squash it, please");
        self.send(&comment).await?;
        let event = self.routed(comment.id).await?;
        self.teller.did(&format!(
            "Somebody comments on #42. Route `{}` says `active = \"inject\"`: event {} is kept as \
             input, and offered to the process that runs.",
            event.route.as_deref().unwrap_or("?"),
            event.seq
        ))?;
        let injected = event.mark == Some(MarkKind::Inject);
        let found = format!("{:?}", event.mark);
        self.teller.showed("the intent to send it was committed with it", injected, found)?;
        let config = self.stage.path("abide.toml").display().to_string();
        let look = async || {
            let logs = self.abide(&["work", "logs", work, "-c", &config], &[]).await?;
            let said = String::from_utf8_lossy(&logs.stdout).into_owned();
            Ok(said.contains("heard: squash it, please").then_some(()))
        };
        self.teller.until("the process hears of the comment", look).await?;
        self.teller.showed("the process took it from its inbox: `abide work logs`", true, "")?;
        let look = async || {
            let found = self.work(work).await?;
            let settled = status_of(&found, event.seq) == Some(IntentStatus::Accepted);
            Ok(settled.then_some(found))
        };
        let accepted = self.teller.until("the send is settled", look).await?;
        let pending = accepted.pending_input.contains(&event.seq);
        let found = format!("pending {:?}", accepted.pending_input);
        self.teller.showed(
            "sent is not taken in: it stays pending until a result proves it",
            pending,
            found,
        )?;
        Ok(event.seq)
    }

    /// Asks the tool door for a beat, under the token of a file.
    async fn beat(&self, token: &str) -> Result<Option<i32>, Failure> {
        let file = self.stage.path(token).display().to_string();
        let socket = self.stage.path("state/tool.sock").display().to_string();
        let environment = [("ABIDE_SOCKET", socket.as_str()), ("ABIDE_TOKEN_FILE", file.as_str())];
        Ok(self.abide(&["tool", "beat"], &environment).await?.status.code())
    }

    /// The process ends; what came in meanwhile gets an attempt of its own.
    pub(super) async fn completes(&mut self, work: &str, heard: i64) -> Result<(), Failure> {
        self.teller.step("The merge ends, and the work completes")?;
        self.stage
            .release()
            .map_err(|error| Failure::refused(format!("cannot release the merge: {error}")))?;
        let look = async || {
            let work = unheld(self.work(work).await?)?;
            Ok((work.work.status == WorkStatus::Completed).then_some(work))
        };
        let work = self.teller.until("the work of #42 completes", look).await?;
        let said = |attempt: &AttemptRow| attempt.result.clone().unwrap_or_default();
        let [first, second] = work.history.as_slice() else {
            return Err(Failure::refused(format!("not two attempts: {:?}", work.history)));
        };
        self.teller.did(&format!(
            "Attempt 1 says `{}`. The linter's event was still pending, so attempt 2 began and \
             says `{}`.",
            said(first),
            said(second)
        ))?;
        let inputs = first.inputs == [1, 3, heard] && second.inputs == [5];
        let found = format!("{:?}, {:?}", first.inputs, second.inputs);
        self.teller.showed("each event was handed to one attempt, in order", inputs, found)?;
        let proved = status_of(&work, heard) == Some(IntentStatus::Consumed);
        self.teller.showed(
            &format!("its acknowledgement came with the result: event {heard} is consumed"),
            proved,
            format!("{:?}", work.intents),
        )?;
        let done = [first, second].iter().all(|a| a.status == AttemptStatus::Completed);
        let found = format!("{:?}, {:?}", first.status, second.status);
        self.teller.showed("both attempts are completed, and so is the work", done, found)
    }

    /// What a person does to a work, as `abide work VERB` would.
    async fn act(&self, work: &str, verb: &str, reason: &str) -> Result<WorkRow, Failure> {
        let body = ActRequest { reason: reason.to_owned(), ..ActRequest::default() };
        self.operator.post(&format!("/work/{work}/{verb}"), &body).await
    }

    /// A person holds a work, lets it go, and cancels it while it waits.
    pub(super) async fn cancels(&mut self) -> Result<String, Failure> {
        self.teller.step("A person holds another work, lets it go, and cancels it")?;
        self.send(&Delivery::opened("d-6", 43)).await?;
        let work = self.waiting(43).await?.work.id;
        self.act(&work, "hold", "the deploy window is closed").await?;
        let why: Why = self.operator.get(&format!("/why/{work}")).await?;
        let held = why.sentence.contains("held by ops: the deploy window is closed");
        self.teller.showed("held: `abide why` says by whom, and why", held, &why.sentence)?;
        let released = self.act(&work, "release", "").await?;
        let free = released.holds.is_empty() && released.status == WorkStatus::Waiting;
        let found = format!("{:?}, {:?}", released.holds, released.status);
        self.teller.showed("released: it waits on as if nothing had been", free, found)?;
        self.act(&work, "cancel", "superseded").await?;
        self.send(&Delivery::checked("d-7", 43, "tests")).await?;
        let late = self.routed("d-7").await?;
        let detail = self.work(&work).await?;
        self.teller.did(&format!(
            "Pull request #43 waited like #42; `abide work cancel {}` ended it. Its checks passed \
             a moment later, as event {}.",
            work.get(..15).unwrap_or(&work),
            late.seq
        ))?;
        let cancelled = detail.work.status == WorkStatus::Cancelled
            && detail.waits.iter().all(|wait| wait.status == WaitStatus::Cancelled);
        let found = format!("{:?}, {:?}", detail.work.status, detail.waits);
        self.teller.showed("the work and its wait are cancelled", cancelled, found)?;
        let nobody = late.mark == Some(MarkKind::Terminal) && detail.history.len() == 1;
        self.teller.showed(
            &format!("event {} is kept as too late: it woke nobody, started nothing", late.seq),
            nobody,
            format!("{:?}, {} attempts", late.mark, detail.history.len()),
        )?;
        Ok(work)
    }

    /// The daemon stops, and the doctor looks at what it left. Says how long all of it took.
    pub(super) async fn ends(&mut self) -> Result<f64, Failure> {
        self.teller.step("The daemon stops, and the doctor looks at what is left")?;
        let daemon = self.daemon.take().ok_or_else(|| Failure::refused("there is no daemon"))?;
        let clean = daemon.stop().await?;
        let config = self.stage.path("abide.toml").display().to_string();
        let doctor = self.abide(&["doctor", "-c", &config], &[]).await?;
        let said = String::from_utf8_lossy(&doctor.stdout);
        self.teller.did(&format!("`abide doctor` says: {}", said.trim()))?;
        self.teller.showed(
            "the daemon ended by itself when asked (SIGTERM)",
            clean,
            "a failure",
        )?;
        let sound = doctor.status.success();
        self.teller.showed("every invariant that can be checked at rest holds", sound, &said)?;
        Ok(self.teller.seconds())
    }
}

/// What became of the send of an event.
fn status_of(work: &WorkDetail, event: i64) -> Option<IntentStatus> {
    work.intents.iter().find(|intent| intent.event == event).map(|intent| intent.status)
}

fn only_attempt(work: &WorkDetail) -> Result<AttemptRow, Failure> {
    match work.history.as_slice() {
        [attempt] => Ok(attempt.clone()),
        other => Err(Failure::refused(format!("not one attempt but {}", other.len()))),
    }
}

/// When a process started, by the kernel's count; nothing if it does not run.
fn started(pid: u32) -> Option<String> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name, in brackets, may hold anything; what follows it is plain.
    let (_, rest) = stat.rsplit_once(')')?;
    let fields: Vec<&str> = rest.split_whitespace().collect();
    let zombie = fields.first() == Some(&"Z");
    fields.get(19).filter(|_| !zombie).map(|&started| started.to_owned())
}
