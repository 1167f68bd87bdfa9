//! Scenarios: actions with expected outcomes, the same for every subject.
//!
//! A shared scenario carries the exact id of the specification; its parts are scenarios named by sentences that are
//! true when they pass. Every part runs on the model, on the runtime in memory, and on the runtime reopened after each
//! step, and must fail on the runtimes that are broken where it looks.

use abide_model::action::{
    Action, Authority, Commit, Ending, Env, Expect, Hint, Mark, NamedAction, SendAnswer, Verdict,
};
use abide_model::outcome::Outcome;
use abide_model::view::{EventView, TimerView, View, WorkView};
use abide_model::worlds::{World, named};
use abide_refinement::subject::Subject;

/// A scenario of the specification, by its exact id.
pub struct Shared {
    /// The id, which may contain `/`.
    pub id: &'static str,
    /// Rules whose meaning it shows.
    pub rules: &'static [&'static str],
    /// Its parts.
    pub parts: fn() -> Vec<Scenario>,
}

/// One sentence, shown by actions.
pub struct Scenario {
    /// True when it passes.
    pub name: &'static str,
    /// Whose universe it speaks of.
    pub world: &'static World,
    steps: Vec<Step>,
}

enum Step {
    Act { action: NamedAction, wanted: Wanted },
    See { what: &'static str, holds: Box<dyn Fn(&Seen) -> bool> },
}

/// What an action must answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wanted {
    /// It becomes true.
    Accepted,
    /// It was so already.
    Duplicate,
    /// What was read has moved.
    Conflict,
    /// Deferred or refused with this code.
    Code(&'static str),
    /// Nothing: the surroundings acted.
    Nothing,
}

/// A view with questions a scenario asks of it.
pub struct Seen(pub View);

impl Seen {
    /// A Work by name.
    #[must_use]
    pub fn work(&self, name: &str) -> Option<&WorkView> {
        self.0.works.iter().find(|work| work.work == name)
    }

    /// The status of a Work, as its code; `absent` if there is none.
    #[must_use]
    pub fn status(&self, work: &str) -> String {
        self.work(work).map_or_else(|| "absent".to_owned(), |work| code(&work.status))
    }

    /// The mark of an event, as its code; `absent` if it is not accepted.
    #[must_use]
    pub fn mark(&self, event: &str) -> String {
        let found = self.0.events.iter().find(|seen| seen.event == event);
        found.map_or_else(|| "absent".to_owned(), |seen| code(&seen.mark))
    }

    /// An accepted event by name.
    #[must_use]
    pub fn event(&self, event: &str) -> Option<&EventView> {
        self.0.events.iter().find(|seen| seen.event == event)
    }

    /// The root and the depth of an event.
    #[must_use]
    pub fn chain(&self, event: &str) -> Option<(&str, u8)> {
        self.event(event).map(|seen| (seen.root.as_str(), seen.depth))
    }

    /// The Work that owns a key.
    #[must_use]
    pub fn owner(&self, key: &str) -> Option<&str> {
        self.0.keys.iter().find(|seen| seen.key == key)?.owner.as_deref()
    }

    /// Why a Work is not started, as codes.
    #[must_use]
    pub fn holds(&self, work: &str) -> Vec<String> {
        let holds = self.work(work).map(|work| work.holds.as_slice()).unwrap_or_default();
        holds.iter().map(code).collect()
    }

    /// How many events are accepted.
    #[must_use]
    pub fn accepted(&self) -> usize {
        self.0.events.len()
    }

    /// The winner of the last wait of a Work.
    #[must_use]
    pub fn winner(&self, work: &str) -> Option<String> {
        self.work(work)?.wait.as_ref()?.winner.clone()
    }

    /// Pending input of a Work, in order.
    #[must_use]
    pub fn pending(&self, work: &str) -> Vec<String> {
        self.work(work).map(|work| work.pending.clone()).unwrap_or_default()
    }

    /// What the last segment of a Work was handed, in order.
    #[must_use]
    pub fn batch(&self, work: &str) -> Vec<String> {
        let attempt = self.work(work).and_then(|work| work.attempt.as_ref());
        attempt.map(|attempt| attempt.batch.clone()).unwrap_or_default()
    }

    /// What started the last attempt of a Work.
    #[must_use]
    pub fn trigger(&self, work: &str) -> Option<&str> {
        Some(self.work(work)?.attempt.as_ref()?.trigger.as_str())
    }

    /// The number of the last attempt of a Work; 0 if there is none.
    #[must_use]
    pub fn attempt(&self, work: &str) -> u8 {
        self.work(work).and_then(|work| work.attempt.as_ref()).map_or(0, |attempt| attempt.number)
    }

    /// The status of the last attempt of a Work, as its code.
    #[must_use]
    pub fn attempt_status(&self, work: &str) -> String {
        let attempt = self.work(work).and_then(|work| work.attempt.as_ref());
        attempt.map_or_else(|| "absent".to_owned(), |attempt| code(&attempt.status))
    }

    /// How many failures of a Work are counted.
    #[must_use]
    pub fn failures(&self, work: &str) -> u8 {
        self.work(work).map_or(0, |work| work.failures)
    }

    /// The failed attempt that a Work is in backoff of, and the ticks until its retry is due.
    #[must_use]
    pub fn backoff(&self, work: &str) -> Option<(u8, TimerView)> {
        let work = self.work(work)?;
        work.backoff.map(|failed| (failed, work.retry))
    }

    /// Whether a Work is neither in a backoff nor has a retry armed.
    #[must_use]
    pub fn retries_nothing(&self, work: &str) -> bool {
        self.work(work).is_some_and(|work| work.backoff.is_none() && work.retry == TimerView::None)
    }

    /// The control, the attempt and the status of the intent of an event, in words.
    #[must_use]
    pub fn intent(&self, event: &str) -> String {
        let intent = self.event(event).and_then(|seen| seen.intent.as_ref());
        intent.map_or_else(
            || "none".to_owned(),
            |seen| format!("{} {} {}", code(&seen.kind), seen.attempt, code(&seen.status)),
        )
    }

    /// The control that a fallback stood in for, as its code; `none` if none did.
    #[must_use]
    pub fn asked(&self, event: &str) -> String {
        let asked = self.event(event).and_then(|seen| seen.asked);
        asked.map_or_else(|| "none".to_owned(), |asked| code(&asked))
    }

    /// Whether a Work has consumed an event.
    #[must_use]
    pub fn consumed(&self, work: &str, event: &str) -> bool {
        self.work(work).is_some_and(|work| work.consumed.iter().any(|known| known == event))
    }

    /// The event that interrupted the last attempt of a Work.
    #[must_use]
    pub fn interrupted_by(&self, work: &str) -> Option<&str> {
        self.work(work)?.attempt.as_ref()?.interrupted_by.as_deref()
    }

    /// The status of the last wait of a Work, as its code.
    #[must_use]
    pub fn wait_status(&self, work: &str) -> String {
        let wait = self.work(work).and_then(|work| work.wait.as_ref());
        wait.map_or_else(|| "absent".to_owned(), |wait| code(&wait.status))
    }
}

/// The serialized name of a status.
fn code(status: &impl serde::Serialize) -> String {
    match serde_json::to_value(status) {
        Ok(serde_json::Value::String(code)) => code,
        Ok(other) => other.to_string(),
        Err(error) => error.to_string(),
    }
}

impl Scenario {
    /// A scenario in a world of the model.
    ///
    /// # Panics
    /// If there is no such world.
    #[must_use]
    pub fn in_world(world: &str, name: &'static str) -> Self {
        let world = named(world).unwrap_or_else(|| panic!("there is no world `{world}`"));
        Self::within(world, name)
    }

    /// A scenario in a world of its own.
    #[must_use]
    pub const fn within(world: &'static World, name: &'static str) -> Self {
        Self { name, world, steps: Vec::new() }
    }

    /// One action and its outcome.
    #[must_use]
    pub fn step(mut self, action: NamedAction, wanted: Wanted) -> Self {
        self.steps.push(Step::Act { action, wanted });
        self
    }

    /// Actions that are all accepted.
    #[must_use]
    pub fn given(mut self, actions: impl IntoIterator<Item = NamedAction>) -> Self {
        for action in actions {
            let wanted = match action {
                Action::Commit(_) => Wanted::Accepted,
                Action::World(_) => Wanted::Nothing,
            };
            self.steps.push(Step::Act { action, wanted });
        }
        self
    }

    /// What must be seen here, said in words for the report.
    #[must_use]
    pub fn sees(mut self, what: &'static str, holds: impl Fn(&Seen) -> bool + 'static) -> Self {
        self.steps.push(Step::See { what, holds: Box::new(holds) });
        self
    }

    /// Runs on a subject that nothing was done to yet.
    ///
    /// # Errors
    /// The first step that went otherwise, with all steps before it.
    pub fn run(&self, subject: &mut dyn Subject) -> Result<(), String> {
        for at in 0..self.steps.len() {
            self.take(subject, at).map_err(|why| self.report(&subject.name(), at, &why))?;
        }
        Ok(())
    }

    fn take(&self, subject: &mut dyn Subject, at: usize) -> Result<(), String> {
        match &self.steps[at] {
            Step::Act { action, wanted } => {
                let found = self.world.find_action(action.clone());
                let action = found.map_err(|unknown| unknown.to_string())?;
                let got = perform(subject, action)?;
                (got == *wanted).then_some(()).ok_or(format!("wanted {wanted:?}, got {got:?}"))
            }
            Step::See { what, holds } => {
                let seen = Seen(subject.observe().map_err(|error| error.to_string())?);
                let shown = serde_json::to_string_pretty(&seen.0).unwrap_or_default();
                holds(&seen).then_some(()).ok_or(format!("not so: {what}\n{shown}"))
            }
        }
    }

    fn report(&self, subject: &str, at: usize, why: &str) -> String {
        let steps: Vec<String> = self.steps[..=at].iter().map(Step::line).collect();
        format!("{} on {subject}\n  {}\n{why}", self.name, steps.join("\n  "))
    }
}

impl Step {
    fn line(&self) -> String {
        match self {
            Self::Act { action, wanted } => {
                format!("{} → {wanted:?}", serde_json::to_string(action).unwrap_or_default())
            }
            Self::See { what, .. } => format!("see: {what}"),
        }
    }
}

fn perform(subject: &mut dyn Subject, action: Action) -> Result<Wanted, String> {
    match action {
        Action::Commit(commit) => {
            let outcome = subject.perform(commit).map_err(|error| error.to_string())?;
            Ok(match outcome {
                Outcome::Accepted(_) => Wanted::Accepted,
                Outcome::Duplicate(_) => Wanted::Duplicate,
                Outcome::Conflict => Wanted::Conflict,
                Outcome::Deferred(reason) => Wanted::Code(reason.code()),
                Outcome::Refused(reason) => Wanted::Code(reason.code()),
            })
        }
        Action::World(env) => {
            subject.surroundings(env).map_err(|error| error.to_string())?;
            Ok(Wanted::Nothing)
        }
    }
}

macro_rules! about_event {
    ($($(#[$doc:meta])* $name:ident = $action:expr;)*) => {$(
        $(#[$doc])*
        #[must_use]
        pub fn $name(name: &str) -> NamedAction {
            let make: fn(String) -> NamedAction = $action;
            make(name.to_owned())
        }
    )*};
}

about_event! {
    /// A delivery is offered.
    accept = |delivery| Action::Commit(Commit::Accept { delivery });
    /// A handler reads an event.
    evaluate = |event| Action::World(Env::Evaluate { event });
    /// What a handler proposed is committed.
    commit_route = |event| Action::Commit(Commit::CommitRoute { event });
    /// An attempt is started or resumed.
    claim = |work| Action::Commit(Commit::Claim { work });
    /// A recoverer takes over.
    claim_recovery = |work| Action::Commit(Commit::ClaimRecovery { work });
    /// A Work is cancelled.
    cancel = |work| {
        Action::Commit(Commit::Cancel { work, expect: Expect::Any, for_good: false })
    };
    /// A Work is cancelled, standing or not.
    cancel_for_good = |work| {
        Action::Commit(Commit::Cancel { work, expect: Expect::Any, for_good: true })
    };
    /// A Work is held.
    hold = |work| Action::Commit(Commit::Hold { work, expect: Expect::Any });
    /// An event is taken out by an operator.
    drop_event = |event| Action::Commit(Commit::Drop { event });
    /// Work is made by hand.
    create_work = |request| Action::Commit(Commit::CreateWork { request });
    /// Work that heard nothing since its handoff is closed.
    close_idle = |work| Action::Commit(Commit::CloseIdle { work });
    /// A wait is woken by what is accepted.
    wake = |wait| Action::Commit(Commit::Wake { wait });
    /// A due timeout is accepted and wakes.
    fire_timer = |wait| Action::Commit(Commit::FireTimer { wait });
    /// A due timeout is accepted alone.
    accept_timeout = |wait| Action::Commit(Commit::AcceptTimeout { wait });
    /// The process of the marked segment ends.
    process_exits = |work| Action::World(Env::ProcessExits { work });
    /// The exit of the last segment is recorded.
    vacate = |work| Action::Commit(Commit::Vacate { work, segment: Authority::Current });
    /// The holder withdraws the never-handed record.
    hand_over = |work| Action::Commit(Commit::ClearNeverHanded { work, by: Authority::Current });
    /// The holder pins.
    pin = |work| Action::Commit(Commit::Pin { work, by: Authority::Current });
    /// The holder renews.
    renew = |work| Action::Commit(Commit::Renew { work, by: Authority::Current });
    /// The holder completes.
    complete = |work| ends(work, Authority::Current, Ending::Completed, false);
    /// The holder completes and declares a status, which is published.
    declare = |work| ends(work, Authority::Current, Ending::Completed, true);
    /// The holder hands the Work off: it stays open.
    hand_off = |work| ends(work, Authority::Current, Ending::Handoff, false);
    /// The holder fails.
    fail = |work| fails(work, Authority::Current, Hint::None);
    /// A superseded holder fails.
    stale_fail = |work| fails(work, Authority::Stale, Hint::None);
    /// The holder gives its lease up.
    detach = |work| Action::Commit(Commit::Detach { work, by: Authority::Current });
    /// The holder hands the Work off and declares a status, which is published.
    hand_off_declaring = |work| ends(work, Authority::Current, Ending::Handoff, true);
    /// A superseded holder completes.
    stale_complete = |work| ends(work, Authority::Stale, Ending::Completed, false);
    /// A superseded holder renews.
    stale_renew = |work| Action::Commit(Commit::Renew { work, by: Authority::Stale });
    /// The recoverer found the attempt's own process.
    adopted = |work| {
        let (by, verdict) = (Authority::Current, Verdict::Adopted);
        Action::Commit(Commit::SettleRecovery { work, by, verdict })
    };
    /// A recoverer that was superseded found the attempt's own process.
    stale_adopted = |work| {
        let (by, verdict) = (Authority::Stale, Verdict::Adopted);
        Action::Commit(Commit::SettleRecovery { work, by, verdict })
    };
    /// The recoverer could not verify anything.
    not_adoptable = |work| {
        let (by, verdict) = (Authority::Current, Verdict::NotAdoptable);
        Action::Commit(Commit::SettleRecovery { work, by, verdict })
    };
}

fn fails(work: String, by: Authority, hint: Hint) -> NamedAction {
    Action::Commit(Commit::Fail { work, by, hint, proofs: Vec::new() })
}

/// The holder fails and says when it would try again.
#[must_use]
pub fn fail_hinting(work: &str, hint: Hint) -> NamedAction {
    fails(work.to_owned(), Authority::Current, hint)
}

/// The retry of a failed attempt is accepted.
#[must_use]
pub fn fire_retry(work: &str, attempt: u8) -> NamedAction {
    Action::Commit(Commit::FireRetry { work: work.to_owned(), attempt })
}

/// A person has failed Work tried again.
#[must_use]
pub fn retry(work: &str, request: &str) -> NamedAction {
    let (work, request) = (work.to_owned(), request.to_owned());
    Action::Commit(Commit::Retry { work, expect: Expect::Any, request })
}

fn ends(work: String, by: Authority, ending: Ending, declares: bool) -> NamedAction {
    Action::Commit(Commit::Complete { work, by, ending, declares, proofs: Vec::new() })
}

/// An operator acts on a Work and says which attempt is meant.
#[must_use]
pub fn expecting(meant: Expect, mut action: NamedAction) -> NamedAction {
    if let Action::Commit(
        Commit::Cancel { expect, .. }
        | Commit::Hold { expect, .. }
        | Commit::Release { expect, .. }
        | Commit::Retry { expect, .. }
        | Commit::Interrupt { expect, .. }
        | Commit::Reopen { expect, .. },
    ) = &mut action
    {
        *expect = meant;
    }
    action
}

/// Another configuration becomes current.
#[must_use]
pub fn reload(configuration: u8) -> NamedAction {
    Action::Commit(Commit::Reload { configuration })
}

/// The daemon stops and starts.
#[must_use]
pub fn crash() -> NamedAction {
    Action::World(Env::Crash)
}

/// A routed event is accepted once more, as a request.
#[must_use]
pub fn replay(event: &str, request: &str) -> NamedAction {
    let (event, request) = (event.to_owned(), request.to_owned());
    Action::Commit(Commit::Replay { event, request })
}

/// Ended Work is reopened by a request.
#[must_use]
pub fn reopen(work: &str, request: &str) -> NamedAction {
    let (work, request) = (work.to_owned(), request.to_owned());
    Action::Commit(Commit::Reopen { work, expect: Expect::Any, request })
}

/// Every hold of a Work is lifted by a request.
#[must_use]
pub fn release(work: &str, request: &str) -> NamedAction {
    let (work, request) = (work.to_owned(), request.to_owned());
    Action::Commit(Commit::Release { work, expect: Expect::Any, request })
}

/// An event of a wait's source is translated.
#[must_use]
pub fn translate(wait: &str, source: &str) -> NamedAction {
    let (wait, source) = (wait.to_owned(), source.to_owned());
    Action::Commit(Commit::Translate { wait, source })
}

/// The holder of a Work registers a wait.
#[must_use]
pub fn register(work: &str, wait: &str, after: Mark) -> NamedAction {
    let (work, wait) = (work.to_owned(), wait.to_owned());
    let (by, proofs) = (Authority::Current, Vec::new());
    Action::Commit(Commit::RegisterWait { work, by, wait, after, proofs })
}

/// The result of a turn says that its process took in these.
#[must_use]
pub fn taking_in(events: &[&str], mut result: NamedAction) -> NamedAction {
    if let Action::Commit(
        Commit::Complete { proofs, .. }
        | Commit::Fail { proofs, .. }
        | Commit::RegisterWait { proofs, .. },
    ) = &mut result
    {
        *proofs = events.iter().map(|event| (*event).to_owned()).collect();
    }
    result
}

/// The holder says that a control is now sent.
#[must_use]
pub fn dispatch(work: &str, event: &str) -> NamedAction {
    let (work, event) = (work.to_owned(), event.to_owned());
    Action::Commit(Commit::Dispatch { work, by: Authority::Current, event })
}

/// The holder says what the executor answered to a control.
#[must_use]
pub fn settle(work: &str, event: &str, answer: SendAnswer) -> NamedAction {
    settles(Authority::Current, work, event, answer)
}

/// A superseded holder says what the executor answered.
#[must_use]
pub fn stale_settle(work: &str, event: &str, answer: SendAnswer) -> NamedAction {
    settles(Authority::Stale, work, event, answer)
}

fn settles(by: Authority, work: &str, event: &str, answer: SendAnswer) -> NamedAction {
    let (work, event) = (work.to_owned(), event.to_owned());
    Action::Commit(Commit::SettleDispatch { work, by, event, answer })
}

/// A control is sent, and the executor answers.
#[must_use]
pub fn send(work: &str, event: &str, answer: SendAnswer) -> [NamedAction; 2] {
    [dispatch(work, event), settle(work, event, answer)]
}

/// A person interrupts the running attempt, whose executor implements that.
#[must_use]
pub fn interrupt(work: &str, request: &str) -> NamedAction {
    interrupts(work, request, true)
}

/// A person interrupts an attempt whose executor does not implement that any more.
#[must_use]
pub fn interrupt_unimplemented(work: &str, request: &str) -> NamedAction {
    interrupts(work, request, false)
}

fn interrupts(work: &str, request: &str, implemented: bool) -> NamedAction {
    let (work, request) = (work.to_owned(), request.to_owned());
    Action::Commit(Commit::Interrupt { work, expect: Expect::Any, request, implemented })
}

/// Time moves to the next tick.
#[must_use]
pub fn tick() -> NamedAction {
    Action::World(Env::Tick)
}

/// Time moves by so many ticks.
#[must_use]
pub fn ticks(count: usize) -> Vec<NamedAction> {
    vec![tick(); count]
}

/// An event is evaluated and its route committed.
#[must_use]
pub fn route(event: &str) -> [NamedAction; 2] {
    [evaluate(event), commit_route(event)]
}

/// A delivery is accepted and routed.
#[must_use]
pub fn deliver(delivery: &str) -> [NamedAction; 3] {
    [accept(delivery), evaluate(delivery), commit_route(delivery)]
}

/// An attempt is claimed, handed over and pinned.
#[must_use]
pub fn start(work: &str) -> [NamedAction; 3] {
    [claim(work), hand_over(work), pin(work)]
}

/// The process of a parked or ended segment exits and that is recorded.
#[must_use]
pub fn leave(work: &str) -> [NamedAction; 2] {
    [process_exits(work), vacate(work)]
}
