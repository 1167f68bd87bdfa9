//! Random walks over the whole alphabet, from fixed seeds: no command fails, no answer without
//! effect changes anything, and the doctor finds nothing wrong wherever a walk ends.

use std::collections::BTreeSet;

use crate::command::{Command, Outcome, Receipt, Refusal};
use crate::domain::{
    AttemptNo, Authority, BindingPin, Control, ControlPolicy, Decision, Duration, Ending, Epoch,
    EventUid, Exhausted, Fallback, Incarnation, IntentStatus, MarkKind, Millis, Phase, Proposal,
    RetryHint, Segment, SendAnswer, Seq, Source, Verdict, WaitId, WaitStatus, WorkId, WorkStatus,
};
use crate::store::doctor::{Severity, examine};
use crate::store::observe::SeenWork;
use crate::store::subscriptions::{lowest_selected, of_wait};
use crate::store::words::Word as _;
use crate::store::{inputs, intents, journal, meta, reads};

use super::routing::{Snapshot, snapshot};
use super::testing::{
    Bench, LEASE, Vary as _, cancel, dispatch, event, forged, fresh_work, key, limit, nobody,
    pin_command, policy, request, settle, settle_send, store, wait_command,
};

const STEPS: u32 = 600;
const SEEDS: u64 = 40;
const KINDS: usize = 33;
const KEYS: [&str; 6] = ["u", "v", "w", "x", "y", "z"];

/// A small generator, so that a seed is the whole story of a walk.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 33).unwrap_or(0) % sides
    }

    fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.roll(from.len())]
    }
}

struct Walk<'s> {
    bench: Bench<'s>,
    dice: Dice,
    held: Vec<Authority>,
    proposals: Vec<Proposal>,
    accepted: [u32; KINDS],
    /// Of intents, as commands answered and as walks ended.
    statuses: BTreeSet<IntentStatus>,
}

impl Walk<'_> {
    fn work(&mut self) -> WorkId {
        WorkId(i64::try_from(self.dice.roll(6)).unwrap_or(0) + 1)
    }

    /// Mostly a wait that is active, if one is.
    fn wait(&mut self) -> WaitId {
        let any = WaitId(i64::try_from(self.dice.roll(8)).unwrap_or(0) + 1);
        let seen = self.bench.see().works.into_iter().filter_map(|seen| seen.wait);
        let active: Vec<_> =
            seen.filter(|wait| wait.status == WaitStatus::Active).map(|wait| wait.wait).collect();
        if active.is_empty() || self.dice.roll(6) == 0 { any } else { self.dice.pick(&active) }
    }

    /// Mostly an authority that stands, sometimes an older or a forged one.
    fn by(&mut self) -> Authority {
        let Some(newest) = self.held.len().checked_sub(1) else { return nobody(WorkId(1)) };
        let any = self.held[self.dice.roll(newest + 1)];
        match self.dice.roll(12) {
            0 => forged(any),
            1 => any,
            _ => self.standing().unwrap_or(any),
        }
    }

    fn standing(&mut self) -> Option<Authority> {
        let works = self.bench.see().works;
        let stands = |by: &&Authority| {
            works.iter().any(|seen| {
                let last = seen.attempt.as_ref();
                seen.work == by.work
                    && last.is_some_and(|last| {
                        (last.n, last.epoch) == (by.attempt, by.epoch) && last.phase.is_some()
                    })
            })
        };
        let standing: Vec<_> = self.held.iter().filter(stands).copied().collect();
        (!standing.is_empty()).then(|| self.dice.pick(&standing))
    }

    /// What a daemon would do next with some work, so that walks get far.
    fn advance(&mut self, step: u32) -> Command {
        let works = self.bench.see().works;
        if works.is_empty() {
            return self.accept(step);
        }
        let seen = &works[self.dice.roll(works.len())];
        let work = seen.work;
        match (seen.excluded, seen.status) {
            (Some(segment), _) if self.dice.roll(2) == 0 => Command::Vacate { work, segment },
            (_, WorkStatus::Ready) if !seen.holds.is_empty() => {
                let request = request(&format!("go-{step}"));
                Command::Release { work, expect: None, request }
            }
            (_, WorkStatus::Ready) if seen.backoff.is_some() => self.fire_retry(),
            (_, WorkStatus::Ready) => self.claim_of(work),
            (_, WorkStatus::Running) => self.run(seen, step),
            (_, WorkStatus::Waiting) => seen
                .wait
                .as_ref()
                .map_or_else(|| self.route(), |one| Command::Wake { wait: one.wait }),
            (_, WorkStatus::Completed | WorkStatus::Failed | WorkStatus::Cancelled) => self.route(),
        }
    }

    /// The next step of a running attempt.
    fn run(&mut self, seen: &SeenWork, step: u32) -> Command {
        let newest = self.held.iter().rev().find(|by| by.work == seen.work).copied();
        let by = newest.unwrap_or_else(|| nobody(seen.work));
        let live = seen.attempt.as_ref().and_then(|last| last.expires_at) > Some(self.bench.now);
        match seen.attempt.as_ref().and_then(|last| last.phase) {
            _ if !live => {
                let (work, token) = (seen.work, self.bench.token());
                Command::ClaimRecovery { work, token, lease: LEASE }
            }
            Some(Phase::NeverHanded) => Command::ClearNeverHanded { by },
            Some(Phase::Handed) => pin_command(by),
            Some(Phase::Recovering) => {
                let verdicts = [Verdict::Adopted, Verdict::Adopted, Verdict::NotAdoptable];
                settle(by, self.dice.pick(&verdicts))
            }
            Some(Phase::Pinned) | None => match self.dice.roll(12) {
                0 => self.complete(by),
                1 => self.register(by),
                2 => self.fail(by),
                3 => Command::Renew { by, lease: LEASE },
                4..=6 => self.route(),
                _ => self.send(by, step),
            },
        }
    }

    /// A key that the work owns, if it owns one.
    fn key_of(&mut self, work: WorkId) -> &'static str {
        let keys = self.bench.see().keys;
        let own = |name: &&&str| {
            keys.iter().any(|seen| seen.owner == work && seen.key.external_id == **name)
        };
        let any = self.dice.pick(&KEYS);
        KEYS.iter().find(own).copied().unwrap_or(any)
    }

    fn command(&mut self, step: u32) -> Command {
        // A person is not long in coming.
        if self.dice.roll(4) == 0 && self.bench.see().restored {
            return Command::ReleaseRestore { request: request(&format!("ok-{step}")) };
        }
        match self.dice.roll(52) {
            0..=2 => self.accept(step),
            3..=6 => self.route(),
            7..=8 => self.claim(),
            9..=10 => Command::ClearNeverHanded { by: self.by() },
            11..=12 => pin_command(self.by()),
            13 => match self.dice.roll(9) {
                0..=2 => Command::Renew { by: self.by(), lease: LEASE },
                3 => {
                    let by = self.by();
                    self.fail(by)
                }
                _ => {
                    let by = self.by();
                    self.complete(by)
                }
            },
            14..=15 => {
                let by = self.by();
                self.register(by)
            }
            16 => Command::Wake { wait: self.wait() },
            17 => match self.dice.roll(2) {
                0 => Command::FireTimer { wait: self.wait() },
                _ => Command::AcceptTimeout { wait: self.wait() },
            },
            18 => self.recover(),
            19 => self.vacate_or_cancel(),
            20..=22 => self.translate(),
            23..=24 => match self.dice.roll(4) {
                0 => {
                    let body = (step / 40).to_string();
                    Command::Reload { digest: "d".to_owned(), body }
                }
                _ => {
                    let idle =
                        self.bench.see().works.into_iter().find(|seen| seen.idle_at.is_some());
                    let work = idle.map_or_else(|| self.work(), |seen| seen.work);
                    Command::CloseIdle { work }
                }
            },
            25 => self.operate(step),
            26..=27 => self.fire_retry(),
            28 => self.rarely(),
            29..=30 => {
                let by = self.by();
                self.send(by, step)
            }
            31..=47 => self.advance(step),
            _ => self.route(),
        }
    }

    fn accept(&mut self, step: u32) -> Command {
        let delivery = self.dice.pick(&[step, step, step, step / 2]);
        let mut offered = event(&format!("delivery-{delivery}"))
            .with_depth(self.dice.pick(&[0, 1, 2, 3, 32, 32, 32, 32]))
            .with_type(self.dice.pick(&["build.done", "build.done", "deploy.done", "core.forged"]));
        if self.dice.roll(5) > 0 {
            offered = offered.with_key(self.dice.pick(&KEYS));
        }
        if self.dice.roll(5) == 0 {
            offered = offered.with_target(self.work());
        }
        if self.dice.roll(30) == 0 {
            offered = offered.in_scope("other");
        }
        Command::Accept { event: Box::new(offered) }
    }

    /// A fresh proposal, or one that was made a while ago.
    fn route(&mut self) -> Command {
        let last = usize::try_from(self.bench.last_seq().0).unwrap_or(0);
        let seq = Seq(i64::try_from(self.dice.roll(last + 1)).unwrap_or(0) + 1);
        let unrouted = reads::unrouted(&mut self.bench.tx, Seq(0), 1);
        let seq = match unrouted.expect("a read").first() {
            Some(first) if self.dice.roll(3) > 0 => *first,
            Some(_) | None => seq,
        };
        if let Some(seen) = snapshot(&mut self.bench.tx, seq).expect("a read") {
            let route = if self.dice.roll(9) == 0 { None } else { Some("route") };
            let kind = if self.dice.roll(9) == 0 { None } else { Some("task") };
            let mut proposal = seen.propose(route, kind);
            self.vary(&mut proposal, &seen);
            self.proposals.push(proposal);
        }
        let old = self.dice.roll(5) == 0;
        let newest = self.proposals.len().saturating_sub(1);
        let index = if old { self.dice.roll(newest + 1) } else { newest };
        match self.proposals.get(index) {
            Some(proposal) => Command::CommitRoute { proposal: proposal.clone() },
            None => self.accept(0),
        }
    }

    /// What a handler may decide beside finding or creating work.
    fn vary(&mut self, proposal: &mut Proposal, seen: &Snapshot) {
        let asks = self.control();
        let attach = match self.dice.roll(5) {
            0 => vec![key(self.dice.pick(&KEYS))],
            _ => Vec::new(),
        };
        if let Decision::Work { attach: to, create, control } = &mut proposal.decision {
            *control = asks;
            *to = attach;
            if let Some(create) = create {
                create.standing = self.dice.roll(4) == 0;
            }
        }
        proposal.decision = match self.dice.roll(16) {
            0 => Decision::Drop,
            1 => Decision::Close,
            2 => Decision::Update { attach: Vec::new(), control: asks },
            3 if seen.event.key.is_none() => Decision::Work {
                attach: Vec::new(),
                create: Some(seen.fresh("task")),
                control: asks,
            },
            _ => return,
        };
    }

    /// What a route may say of running attempts.
    fn control(&mut self) -> Control {
        let policies = [
            ControlPolicy::Queue,
            ControlPolicy::Queue,
            ControlPolicy::Inject,
            ControlPolicy::Inject,
            ControlPolicy::Interrupt,
            ControlPolicy::Drop,
        ];
        let fallbacks = [None, Some(Fallback::Queue), Some(Fallback::Drop)];
        Control {
            policy: self.dice.pick(&policies),
            fallback: self.dice.pick(&fallbacks),
            on_error: self.dice.pick(&fallbacks),
        }
    }

    /// Mostly the next step of an open intent, by whoever holds the attempt or held it once.
    fn send(&mut self, by: Authority, step: u32) -> Command {
        if self.dice.roll(20) == 0 {
            let running = |seen: &SeenWork| seen.status == WorkStatus::Running;
            let works = self.bench.see().works;
            let work = works.iter().find(|seen| running(seen)).map(|seen| seen.work);
            let work = work.unwrap_or_else(|| self.work());
            let expect = self.dice.pick(&[None, None, Some(AttemptNo(1))]);
            let request = request(&format!("stop-{}", self.dice.pick(&[step, step, step / 2])));
            return Command::Interrupt {
                work,
                expect,
                request,
                implemented: self.dice.roll(6) > 0,
            };
        }
        let open = intents::open_of(&mut self.bench.tx, by.work, 9).expect("a read");
        let last = usize::try_from(self.bench.last_seq().0).unwrap_or(0);
        let any = Seq(i64::try_from(self.dice.roll(last + 1)).unwrap_or(0) + 1);
        let known = (!open.is_empty() && self.dice.roll(6) > 0)
            .then(|| open[self.dice.roll(open.len())].clone());
        let tried = known.as_ref().is_some_and(|one| one.status == IntentStatus::Dispatched);
        let event = known.map_or(any, |one| one.event);
        let answers = [SendAnswer::Accepted, SendAnswer::NotAccepting, SendAnswer::Failed];
        match self.dice.roll(5) {
            0 => dispatch(by, event),
            1 => settle_send(by, event, self.dice.pick(&answers)),
            _ if tried => settle_send(by, event, self.dice.pick(&answers)),
            _ => dispatch(by, event),
        }
    }

    /// Sometimes everything that is pending, sometimes an event that proves nothing.
    fn proofs(&mut self, by: Authority) -> Vec<EventUid> {
        let mut named = match self.dice.roll(3) {
            0 => Vec::new(),
            _ => inputs::pending(&mut self.bench.tx, by.work, 9).expect("a read"),
        };
        let last = usize::try_from(self.bench.last_seq().0).unwrap_or(0);
        if last > 0 && self.dice.roll(3) == 0 {
            named.push(Seq(i64::try_from(self.dice.roll(last)).unwrap_or(0) + 1));
        }
        named.into_iter().map(|event| self.bench.uid(event)).collect()
    }

    fn fail(&mut self, by: Authority) -> Command {
        let hints = [None, Some(0), Some(1), Some(400), Some(10_001)];
        let hint = self.dice.pick(&hints).map(RetryHint::Delay);
        let (reason, proofs) = ("exit status 1".to_owned(), self.proofs(by));
        Command::Fail { by, reason, hint, proofs, usage: None }
    }

    /// Mostly a retry that is waited for.
    fn fire_retry(&mut self) -> Command {
        let works = self.bench.see().works;
        let named = works.iter().find_map(|seen| Some((seen.work, seen.backoff?)));
        let (work, attempt) = match named.filter(|_| self.dice.roll(5) > 0) {
            Some(named) => named,
            None => (self.work(), self.dice.pick(&[AttemptNo(1), AttemptNo(2)])),
        };
        match self.dice.roll(4) {
            0 => {
                let request = request(&format!("retry-{}", self.dice.roll(200)));
                Command::Retry { work, expect: None, request }
            }
            _ => Command::FireRetry { work, attempt },
        }
    }

    /// What happens to a whole daemon or database.
    fn rarely(&mut self) -> Command {
        match self.dice.roll(24) {
            0 => Command::Restore { above: Incarnation(self.dice.pick(&[0, 1, 4])) },
            1..=3 => Command::Detach { by: self.by() },
            _ => self.route(),
        }
    }

    fn complete(&mut self, by: Authority) -> Command {
        let close_after = self.dice.pick(&[None, Some(Duration(400))]);
        let ending = self.dice.pick(&[Ending::Completed, Ending::Handoff { close_after }]);
        let status = self.dice.pick(&[None, Some("fine")]).map(str::to_owned);
        Command::Complete { by, ending, status, proofs: self.proofs(by), usage: None }
    }

    fn translate(&mut self) -> Command {
        let active = crate::store::subscriptions::active(&mut self.bench.tx, 0, 9).expect("a read");
        let last = usize::try_from(self.bench.last_seq().0).unwrap_or(0);
        let any = Seq(i64::try_from(self.dice.roll(last + 1)).unwrap_or(0) + 1);
        let Some(one) = active.first().filter(|_| self.dice.roll(6) > 0) else {
            return Command::Translate { wait: self.wait(), event: any };
        };
        let (tx, wait) = (&mut self.bench.tx, one.1);
        let one = of_wait(tx, wait).expect("a read").expect("it is active");
        let next = lowest_selected(tx, &one, one.checkpoint).expect("a read");
        Command::Translate { wait, event: next.unwrap_or(any) }
    }

    fn operate(&mut self, step: u32) -> Command {
        let work = self.work();
        let expect = self.dice.pick(&[None, None, None, Some(AttemptNo(1))]);
        let step = self.dice.pick(&[step, step, step, step / 2]);
        let request = request(&format!("r{step}"));
        let last = usize::try_from(self.bench.last_seq().0).unwrap_or(0);
        let event = Seq(i64::try_from(self.dice.roll(last + 1)).unwrap_or(0) + 1);
        match self.dice.roll(8) {
            0 => Command::Drop { event, reason: "not wanted".to_owned() },
            1 => Command::Replay { event, request },
            2 | 3 => {
                let ended =
                    self.bench.see().works.into_iter().find(|seen| {
                        seen.status.is_terminal() && seen.work.0 > i64::from(step % 4)
                    });
                let work = ended.map_or(work, |seen| seen.work);
                let successor = fresh_work(&format!("s{step}")).uid;
                Command::Reopen { work, expect, request, successor }
            }
            4 => Command::CreateWork {
                request,
                scope: self.dice.pick(&["acme", "acme/web"]).to_owned(),
                create: fresh_work(&format!("c{step}")),
                key: self.dice.pick(&[None, Some("new")]).map(key),
                parent: self.dice.pick(&[None, Some(work)]),
                authorised: self.dice.roll(2) == 0,
                data: None,
            },
            5 if step.is_multiple_of(3) => {
                Command::Hold { work, expect, reason: "wait".to_owned() }
            }
            _ => Command::Release { work, expect, request },
        }
    }

    fn claim(&mut self) -> Command {
        let work = self.work();
        self.claim_of(work)
    }

    fn claim_of(&mut self, work: WorkId) -> Command {
        let (mut command, _) = self.bench.claim_command(work);
        if let Command::Claim { pin, capacity, .. } = &mut command {
            *capacity = limit("acme", self.dice.pick(&[1, 2, 9]));
            *pin = BindingPin {
                resumes: self.dice.roll(2) == 0,
                holds_until_pin: self.dice.roll(2) == 0,
                injects: self.dice.roll(8) > 0,
                interrupts: self.dice.roll(8) > 0,
                retry: policy(
                    self.dice.pick(&[1, 2, 3]),
                    self.dice.pick(&[Exhausted::Keep, Exhausted::Fail]),
                ),
                ..pin.clone()
            };
        }
        command
    }

    fn register(&mut self, by: Authority) -> Command {
        let last = self.bench.last_seq().0;
        let after = self.dice.pick(&[0, last, last, last, last, last - 1, last + 1]).max(0);
        let timeout = self.dice.pick(&[None, Some(0), Some(400)]);
        let keys: &[&str] = match self.dice.roll(6) {
            0 => &[],
            1 => &["x", "y"],
            _ => &[self.key_of(by.work)],
        };
        let mut command = wait_command(by, keys, Seq(after), timeout);
        let named = self.proofs(by);
        if let Command::RegisterWait { proofs, .. } = &mut command {
            *proofs = named;
        }
        if let Command::RegisterWait { types, .. } = &mut command
            && self.dice.roll(3) == 0
        {
            types.push("deploy.done".to_owned());
        }
        if let Command::RegisterWait { source, .. } = &mut command
            && self.dice.roll(3) == 0
        {
            let (extension, scope) = ("tool".to_owned(), "acme".to_owned());
            *source = Some(Source { extension, key: key(self.dice.pick(&KEYS)), scope });
        }
        command
    }

    fn recover(&mut self) -> Command {
        match self.dice.roll(2) {
            0 => {
                let (work, token) = (self.work(), self.bench.token());
                Command::ClaimRecovery { work, token, lease: LEASE }
            }
            _ => {
                let verdict = self.dice.pick(&[Verdict::Adopted, Verdict::NotAdoptable]);
                settle(self.by(), verdict)
            }
        }
    }

    fn vacate_or_cancel(&mut self) -> Command {
        let work = self.work();
        if self.dice.roll(9) == 0 {
            let mut cancel = cancel(work);
            if let Command::Cancel { for_good, .. } = &mut cancel {
                *for_good = self.dice.roll(2) == 0;
            }
            return cancel;
        }
        let marked = self
            .bench
            .see()
            .works
            .into_iter()
            .find_map(|seen| seen.excluded.map(|segment| (seen.work, segment)));
        match marked {
            Some((work, segment)) => Command::Vacate { work, segment },
            None => Command::Vacate {
                work,
                segment: Segment { attempt: AttemptNo(1), epoch: Epoch(1) },
            },
        }
    }

    fn step(&mut self, step: u32) {
        if self.dice.roll(30) == 0 {
            let by = self.dice.pick(&[1, 399, 400, 999, 1_000]);
            self.bench.later(by);
        }
        let command = self.command(step);
        let before = self.bench.see();
        match self.bench.apply(&command) {
            Outcome::Accepted(receipt) => self.note(&command, &receipt),
            Outcome::Duplicate(Receipt::Event { .. }) if kind(&command) == 0 => {}
            Outcome::Refused(Refusal::DepthLimit) => {
                assert_eq!(self.bench.see().events, before.events, "a refused event was kept");
            }
            Outcome::Duplicate(_)
            | Outcome::Deferred(_)
            | Outcome::Conflict
            | Outcome::Refused(_) => assert_eq!(self.bench.see(), before, "{command:?}"),
        }
    }

    #[expect(clippy::wildcard_enum_match_arm, reason = "only grants are noted")]
    fn note(&mut self, command: &Command, receipt: &Receipt) {
        self.accepted[kind(command)] += 1;
        if let Receipt::Intent { status, .. } = receipt {
            self.statuses.insert(*status);
        }
        let token = match command {
            Command::Claim { token, .. } | Command::ClaimRecovery { token, .. } => *token,
            _ => return,
        };
        match *receipt {
            Receipt::Claimed { work, attempt, epoch, .. }
            | Receipt::Recovering { work, attempt, epoch, .. } => {
                self.held.push(Authority { work, attempt, epoch, token });
            }
            _ => {}
        }
    }
}

const fn kind(command: &Command) -> usize {
    match command {
        Command::Accept { .. } => 0,
        Command::CommitRoute { .. } => 1,
        Command::Claim { .. } => 2,
        Command::ClearNeverHanded { .. } => 3,
        Command::Pin { .. } => 4,
        Command::Renew { .. } => 5,
        Command::Complete { .. } => 6,
        Command::Fail { .. } => 7,
        Command::RegisterWait { .. } => 8,
        Command::Wake { .. } => 9,
        Command::FireTimer { .. } => 10,
        Command::AcceptTimeout { .. } => 11,
        Command::ClaimRecovery { .. } => 12,
        Command::SettleRecovery { .. } => 13,
        Command::Vacate { .. } => 14,
        Command::Cancel { .. } => 15,
        Command::Reload { .. } => 16,
        Command::Drop { .. } => 17,
        Command::Replay { .. } => 18,
        Command::Reopen { .. } => 19,
        Command::CreateWork { .. } => 20,
        Command::Hold { .. } => 21,
        Command::Release { .. } => 22,
        Command::Translate { .. } => 23,
        Command::CloseIdle { .. } => 24,
        Command::FireRetry { .. } => 25,
        Command::Retry { .. } => 26,
        Command::Detach { .. } => 27,
        Command::Restore { .. } => 28,
        Command::ReleaseRestore { .. } => 29,
        Command::Dispatch { .. } => 30,
        Command::SettleDispatch { .. } => 31,
        Command::Interrupt { .. } => 32,
    }
}

#[test]
fn wherever_a_walk_ends_nothing_is_wrong() {
    let mut accepted = [0; KINDS];
    let mut statuses = BTreeSet::new();
    for seed in 1..=SEEDS {
        let store = store();
        let bench = Bench::on(&store);
        let dice = Dice(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let (held, proposals) = (Vec::new(), Vec::new());
        let (accepted_here, answered) = ([0; KINDS], BTreeSet::new());
        let mut walk =
            Walk { bench, dice, held, proposals, accepted: accepted_here, statuses: answered };
        for step in 1..=STEPS {
            walk.step(step);
        }
        let tx = &mut walk.bench.tx;
        journal::seal(tx).expect("a seal");
        let damage: Vec<_> = examine(tx)
            .expect("a report")
            .into_iter()
            .filter(|found| found.severity == Severity::Damage)
            .collect();
        assert_eq!(damage, [], "seed {seed}");
        let seen = walk.bench.see();
        let marked = |kind| seen.events.iter().filter(|event| event.mark == Some(kind)).count();
        let continued = marked(MarkKind::Continuation);
        let winners = [MarkKind::Woke, MarkKind::Queued, MarkKind::Inject, MarkKind::Interrupt];
        assert!(continued <= winners.map(marked).into_iter().sum(), "seed {seed}");
        let last = meta::last_seq(&mut walk.bench.tx).expect("the counter");
        assert_eq!(seen.events.len(), usize::try_from(last.0).unwrap_or(0), "seed {seed}");
        nothing_is_stuck(&mut walk.bench, seed);
        statuses.append(&mut walk.statuses);
        for event in &seen.events {
            statuses.extend(event.intent.map(|intent| intent.status));
        }
        for (all, one) in accepted.iter_mut().zip(walk.accepted) {
            *all += one;
        }
    }
    // A walk that never gets anywhere would prove nothing.
    assert!(accepted.iter().all(|count| *count > 0), "accepted by kind: {accepted:?}");
    assert_eq!(statuses.len(), IntentStatus::WORDS.len(), "intents ended as {statuses:?}");
}

/// L07: ready work can be claimed, or it says what it waits for; and what the scheduler is offered
/// is just what can be claimed.
fn nothing_is_stuck(bench: &mut Bench<'_>, seed: u64) {
    if bench.see().restored {
        bench.requested(&Command::ReleaseRestore { request: request("the end of the walk") });
    }
    let offered = |bench: &mut Bench<'_>| {
        let first = (Millis(0), WorkId(0));
        let mut works = Vec::new();
        for scope in reads::claimable_scopes(&mut bench.tx).expect("a read") {
            let listed = reads::claimable(&mut bench.tx, &scope, first, 99).expect("a read");
            works.extend(listed.into_iter().map(|listed| WorkId(listed.id)));
        }
        works
    };
    for seen in bench.see().works {
        let blocked = seen.backoff.is_some() || !seen.holds.is_empty() || seen.excluded.is_some();
        let woken = seen
            .wait
            .is_some_and(|wait| wait.winner.is_some_and(|winner| seen.pending.contains(&winner)));
        let asked = !seen.pending.is_empty() || woken;
        let can = seen.status == WorkStatus::Ready && asked && !blocked;
        assert_eq!(offered(bench).contains(&seen.work), can, "seed {seed}, {}", seen.work);
        let (mut claim, _) = bench.claim_command(seen.work);
        if let Command::Claim { capacity, .. } = &mut claim {
            *capacity = limit("acme", 99);
        }
        let claimed = matches!(bench.apply(&claim), Outcome::Accepted(_));
        assert_eq!(claimed, can, "seed {seed}, {}", seen.work);
    }
}
