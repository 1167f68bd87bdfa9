//! A trace as a story: who did what, what changed, and which property of which rule broke.

use std::fmt::Write;

use crate::action::{
    Action, Authority, Commit, Ending, Env, Expect, Hint, Mark, SendAnswer, Verdict,
};
use crate::check::judge;
use crate::index::{EventIx, Proofs, WorkIx, below};
use crate::law::Law;
use crate::outcome::{Outcome, Receipt, Recovery, RouteMark, Start};
use crate::properties::{Property, Step};
use crate::state::{
    Facts, Fallback, Flag, Input, IntentKind, IntentStatus, Message, Process, Proposal, State,
    WaitStatus, Work, WorkStatus,
};
use crate::view::{IntentView, View, view};
use crate::worlds::{Visit, World, visit};

/// An action as a sentence.
pub fn sentence(world: &World, action: Action) -> String {
    match action {
        Action::Commit(commit) => committed(world, commit),
        Action::World(Env::Evaluate { event }) => {
            format!("the router reads {}", world.event_name(event))
        }
        Action::World(Env::Tick) => "a tick passes".into(),
        Action::World(Env::Crash) => "the daemon crashes and starts again".into(),
        Action::World(Env::ProcessExits { work }) => {
            format!("the old process of {} exits", world.work_name(work))
        }
        Action::World(Env::Launch { work }) => {
            format!("the host of {} calls its executor", world.work_name(work))
        }
        Action::World(Env::Proceed { work }) => {
            format!("the host of {} lets the held process run", world.work_name(work))
        }
        Action::World(Env::LetGo { work }) => {
            format!("a held process of {} ends without having run", world.work_name(work))
        }
        Action::World(Env::ProcessEnds { work }) => {
            format!("the process of {} runs to its end", world.work_name(work))
        }
        Action::World(Env::KeeperDies { work }) => {
            format!("the keeper of {} dies", world.work_name(work))
        }
        Action::World(Env::Deliver { event }) => {
            format!("{} reaches the keeper it was sent to", world.event_name(event))
        }
        Action::World(Env::TakeIn { event }) => {
            format!("the process takes in {}", world.event_name(event))
        }
    }
}

fn committed(world: &World, commit: Commit) -> String {
    let name = |work| world.work_name(work);
    let wait_name = |wait| world.wait(wait).name;
    match commit {
        Commit::Accept { delivery } => {
            format!("a sender delivers {}", world.delivery(delivery).name)
        }
        Commit::CommitRoute { event } => format!("the router commits {}", world.event_name(event)),
        Commit::Claim { work } => format!("the scheduler claims {}", name(work)),
        Commit::ClearNeverHanded { work, by } => {
            format!("{} is about to be handed over{}", name(work), shown(by))
        }
        Commit::Pin { work, by } => {
            format!("the executor of {} is pinned{}", name(work), shown(by))
        }
        Commit::Renew { work, by } => {
            format!("the lease of {} is renewed{}", name(work), shown(by))
        }
        Commit::Complete { work, by, ending, declares, proofs } => {
            let (ends, took) = (ends(ending, declares), took_in(world, proofs));
            format!("the attempt of {} {ends}{took}{}", name(work), shown(by))
        }
        Commit::Fail { work, by, hint, proofs } => {
            let (hints, took) = (hints(hint), took_in(world, proofs));
            format!("the attempt of {} fails{hints}{took}{}", name(work), shown(by))
        }
        Commit::RegisterWait { work, by, wait, after, proofs } => {
            let (above, took) = (above(after), took_in(world, proofs));
            let (name, wait) = (name(work), wait_name(wait));
            format!("the attempt of {name} waits for {wait} {above}{took}{}", shown(by))
        }
        Commit::Dispatch { work, by, event } => {
            let event = world.event_name(event);
            format!("{event} is about to be sent to the attempt of {}{}", name(work), shown(by))
        }
        Commit::SettleDispatch { work, by, event, answer } => {
            let (event, says) = (world.event_name(event), answers(answer));
            format!("the executor of {} {says} {event}{}", name(work), shown(by))
        }
        Commit::Interrupt { work, expect, request, implemented } => {
            let request = world.delivery(request).name;
            let lacks = if implemented { "" } else { ", which its executor does not implement" };
            format!("an operator interrupts {} by {request}{lacks}{}", name(work), meant(expect))
        }
        Commit::Wake { wait } => format!("a scan tries to wake {}", wait_name(wait)),
        Commit::FireTimer { wait } => format!("the timer of {} fires", wait_name(wait)),
        Commit::AcceptTimeout { wait } => {
            format!("the timeout of {} is offered alone", wait_name(wait))
        }
        Commit::ClaimRecovery { work } => format!("a recoverer claims {}", name(work)),
        Commit::SettleRecovery { work, by, verdict: Verdict::Adopted } => {
            format!("the process of {} is adopted{}", name(work), shown(by))
        }
        Commit::SettleRecovery { work, by, verdict: Verdict::NotAdoptable } => {
            format!("the process of {} cannot be adopted{}", name(work), shown(by))
        }
        Commit::Vacate { work, segment: Authority::Current } => {
            format!("the exit of {} is seen", name(work))
        }
        Commit::Vacate { work, segment: Authority::Stale } => {
            format!("the exit of an earlier segment of {} is seen", name(work))
        }
        Commit::Cancel { work, expect, for_good } => {
            let good = if for_good { " for good" } else { "" };
            format!("an operator cancels {}{good}{}", name(work), meant(expect))
        }
        Commit::Reload { configuration } => format!("configuration {configuration} is loaded"),
        Commit::Drop { event } => format!("an operator drops {}", world.event_name(event)),
        Commit::Replay { event, request } => {
            let request = world.delivery(request).name;
            format!("an operator replays {} as {request}", world.event_name(event))
        }
        Commit::Reopen { work, expect, request } => {
            let request = world.delivery(request).name;
            format!("an operator reopens {} by {request}{}", name(work), meant(expect))
        }
        Commit::CreateWork { request } => {
            format!("an operator creates Work by {}", world.delivery(request).name)
        }
        Commit::Hold { work, expect } => {
            format!("an operator holds {}{}", name(work), meant(expect))
        }
        Commit::Release { work, expect, request } => {
            let request = world.delivery(request).name;
            format!("an operator releases {} by {request}{}", name(work), meant(expect))
        }
        Commit::Translate { wait, source } => {
            format!("{} is translated for {}", world.event_name(source), wait_name(wait))
        }
        Commit::CloseIdle { work } => format!("{} is closed as idle", name(work)),
        Commit::FireRetry { work, attempt } => {
            format!("the retry of {} after attempt {attempt} fires", name(work))
        }
        Commit::Retry { work, expect, request } => {
            let request = world.delivery(request).name;
            format!("an operator retries {} by {request}{}", name(work), meant(expect))
        }
        Commit::Detach { work, by } => {
            format!("the daemon detaches from {}{}", name(work), shown(by))
        }
        Commit::Restore => "the database is restored from a backup".into(),
        Commit::ReleaseRestore { request } => {
            format!(
                "an operator releases the restored database by {}",
                world.delivery(request).name
            )
        }
    }
}

fn ends(ending: Ending, declares: bool) -> &'static str {
    match (ending, declares) {
        (Ending::Completed, false) => "completes",
        (Ending::Completed, true) => "completes and declares a status",
        (Ending::Handoff, false) => "hands off",
        (Ending::Handoff, true) => "hands off and declares a status",
    }
}

fn took_in(world: &World, proofs: Proofs) -> String {
    if proofs.is_empty() {
        return String::new();
    }
    let known = proofs.events().filter(|event| event.at() < world.slots());
    let names: Vec<String> = known.map(|event| world.event_name(event)).collect();
    format!(" and says that it took in {}", names.join(" and "))
}

fn answers(answer: SendAnswer) -> &'static str {
    match answer {
        SendAnswer::Accepted => "accepted",
        SendAnswer::NotAccepting => "is not accepting",
        SendAnswer::Failed => "leaves open what became of",
    }
}

fn hints(hint: Hint) -> &'static str {
    match hint {
        Hint::None => "",
        Hint::Valid => " and says when to try again",
        Hint::Invalid => " and gives no delay to try again after",
        Hint::Excessive => " and asks to be tried again too late",
    }
}

fn meant(expect: Expect) -> &'static str {
    match expect {
        Expect::Any => "",
        Expect::Last => ", naming its last attempt",
        Expect::Other => ", naming another attempt",
    }
}

fn shown(by: Authority) -> &'static str {
    match by {
        Authority::Current => "",
        Authority::Stale => ", by a superseded authority",
    }
}

fn above(after: Mark) -> &'static str {
    match after {
        Mark::Start => "above 0",
        Mark::Batch => "above its batch",
        Mark::Latest => "above the latest event",
        Mark::Beyond => "above the future",
    }
}

/// An outcome as a clause.
pub fn answer(world: &World, outcome: Outcome) -> String {
    match outcome {
        Outcome::Accepted(receipt) => receipt_says(world, receipt),
        Outcome::Duplicate(receipt) => format!("already so ({})", receipt_says(world, receipt)),
        Outcome::Deferred(deferral) => format!("not now, {deferral}"),
        Outcome::Conflict => "conflict: what was read has moved".into(),
        Outcome::Refused(refusal) => format!("refused, {refusal}"),
    }
}

fn receipt_says(world: &World, receipt: Receipt) -> String {
    match receipt {
        Receipt::Done => "done".into(),
        Receipt::Sequence(seq) => format!("number {seq}"),
        Receipt::Routed { mark, work: Some(work) } => {
            format!("{} on {}", mark_name(mark), world.work_name(work))
        }
        Receipt::Routed { mark, work: None } => mark_name(mark).into(),
        Receipt::Claimed { attempt, start: Start::Start } => format!("attempt {attempt} starts"),
        Receipt::Claimed { attempt, start: Start::Next } => {
            format!("attempt {attempt} starts next")
        }
        Receipt::Claimed { attempt, start: Start::Resume } => format!("attempt {attempt} resumes"),
        Receipt::Recovered(Recovery::Relaunch) => "to be launched again".into(),
        Receipt::Recovered(Recovery::Adopt) => "to be adopted".into(),
        Receipt::Registered { winner: None } => "it waits".into(),
        Receipt::Registered { winner: Some(winner) } => {
            format!("woken at once by {}", world.event_name(winner))
        }
        Receipt::Woken { winner } => format!("woken by {}", world.event_name(winner)),
        Receipt::Dispatched { attempt, kind: IntentKind::Interrupt } => {
            format!("attempt {attempt} may be interrupted")
        }
        Receipt::Dispatched { attempt, kind: IntentKind::Inject | IntentKind::None } => {
            format!("it may be sent to attempt {attempt}")
        }
        Receipt::Settled(status) => status_name(status).into(),
    }
}

fn status_name(status: IntentStatus) -> &'static str {
    match status {
        IntentStatus::None => "no intent",
        IntentStatus::Committed => "committed",
        IntentStatus::Dispatched => "dispatched",
        IntentStatus::Accepted => "accepted",
        IntentStatus::NotAccepting => "not accepting",
        IntentStatus::Fenced => "fenced",
        IntentStatus::FellBack => "fell back",
        IntentStatus::Consumed => "consumed",
        IntentStatus::Stale => "stale",
    }
}

fn kind_name(kind: IntentKind) -> &'static str {
    match kind {
        IntentKind::None => "queue",
        IntentKind::Inject => "inject",
        IntentKind::Interrupt => "interrupt",
    }
}

/// An intent as a clause.
fn intent_says(intent: &IntentView) -> String {
    let (kind, status) = (kind_name(intent.kind), status_name(intent.status));
    let on_error = match intent.on_error {
        None | Some(Fallback::None) => "",
        Some(Fallback::Queue) => ", on error queue",
        Some(Fallback::Drop) => ", on error drop",
    };
    format!(", {kind} of attempt {} {status}{on_error}", intent.attempt)
}

fn mark_name(mark: RouteMark) -> &'static str {
    match mark {
        RouteMark::Unrouted => "unrouted",
        RouteMark::Queued => "queued",
        RouteMark::Inject => "inject",
        RouteMark::Interrupt => "interrupt",
        RouteMark::Woke => "woke",
        RouteMark::Unmatched => "unmatched",
        RouteMark::Drop => "dropped",
        RouteMark::Close => "closing",
        RouteMark::OperatorDrop => "dropped by an operator",
        RouteMark::ReplaySuspect => "suspect",
        RouteMark::Release => "release",
        RouteMark::Terminal => "terminal",
        RouteMark::Continuation => "continuation",
        RouteMark::StaleRetry => "stale",
    }
}

/// What a step changed, one fact a line, and its answer.
pub fn difference(
    world: &World,
    before: &dyn Facts,
    outcome: Outcome,
    after: &dyn Facts,
) -> String {
    let mut lines = changes(&facts(world, before), &facts(world, after));
    lines.push(format!("=> {}", answer(world, outcome)));
    lines.join("\n")
}

fn changes(before: &[(String, String)], after: &[(String, String)]) -> Vec<String> {
    let old =
        |name: &str| before.iter().find(|(known, _)| known == name).map_or("-", |(_, value)| value);
    let changed = after.iter().filter(|(name, value)| old(name) != value);
    let mut lines: Vec<String> =
        changed.map(|(name, value)| format!("{name}: {} -> {value}", old(name))).collect();
    let gone = before.iter().filter(|(name, _)| !after.iter().any(|(known, _)| known == name));
    lines.extend(gone.map(|(name, value)| format!("{name}: {value} -> -")));
    lines
}

/// The named view as flat facts, with the volatile ones that a view leaves out.
fn facts(world: &World, state: &dyn Facts) -> Vec<(String, String)> {
    let mut flat = view_facts(&view(world, state));
    for (ix, event) in (0_u8..).zip(state.events()) {
        if event.proposal != Proposal::None {
            let name = world.event_name(EventIx(ix));
            flat.push((format!("proposal.{name}"), format!("{:?}", event.proposal).to_lowercase()));
        }
        let came = match event.intent.message {
            Message::None => continue,
            Message::Delivered => "delivered",
            Message::TakenIn => "taken in",
        };
        flat.push((format!("message.{}", world.event_name(EventIx(ix))), came.into()));
    }
    // A state may have room for more Works than the world has.
    for work in below(world.works.len()).map(WorkIx) {
        if state.work(work).attempt.lease > 0 {
            let ticks = format!("{} ticks", state.work(work).attempt.lease);
            flat.push((format!("{}.lease_left", world.work_name(work)), ticks));
        }
        flat.extend(grain(&world.work_name(work), state.work(work)));
    }
    flat
}

/// What a world with the crash grain knows of host and processes.
fn grain(name: &str, work: &Work) -> Vec<(String, String)> {
    let mut flat = Vec::new();
    if work.host == Flag::Yes {
        flat.push((format!("{name}.host"), "attached".into()));
    }
    if work.process != Process::None {
        flat.push((format!("{name}.process"), format!("{:?}", work.process).to_lowercase()));
    }
    for (left, what) in [(work.left_held, "held"), (work.left_running, "running")] {
        if left > 0 {
            flat.push((format!("{name}.left_{what}"), left.to_string()));
        }
    }
    flat
}

/// A named view as flat facts: `fix.status` is `running`.
pub fn view_facts(view: &View) -> Vec<(String, String)> {
    let mut flat = Vec::new();
    for event in &view.events {
        let work = event.work.as_ref().map(|work| format!(" on {work}")).unwrap_or_default();
        let chain = if event.depth > 0 {
            format!(", {} below {}", event.depth, event.root)
        } else {
            String::new()
        };
        let generation = match event.generation {
            Some(generation) if generation > 0 => format!(" in generation {generation}"),
            Some(_) | None => String::new(),
        };
        let conflict = if event.conflicting { ", conflicting" } else { "" };
        let mark = mark_name(event.mark);
        let asked = event.asked.map(|kind| format!(" instead of {}", kind_name(kind)));
        let asked = asked.unwrap_or_default();
        let intent = event.intent.as_ref().map(intent_says).unwrap_or_default();
        let says = format!("{mark}{asked}{work}{generation}{chain}{conflict}{intent}");
        flat.push((event.event.clone(), says));
    }
    if view.generation > 0 {
        flat.push(("generation".into(), view.generation.to_string()));
    }
    if view.incarnation > 1 {
        flat.push(("incarnation".into(), view.incarnation.to_string()));
    }
    if view.restore_hold {
        flat.push(("restore_hold".into(), "stands".into()));
    }
    for key in view.keys.iter().filter(|key| key.owner.is_some()) {
        flat.push((format!("key {}", key.key), key.owner.clone().unwrap_or_default()));
    }
    for work in &view.works {
        flatten(&work.work, &json(work), &mut flat);
    }
    for rejection in &view.rejections {
        flat.push((
            format!("rejection {}", rejection.of),
            format!("{:?}", rejection.kind).to_lowercase(),
        ));
    }
    flat
}

fn json(work: &impl serde::Serialize) -> serde_json::Value {
    serde_json::to_value(work).expect("a view is plain data and always serializes")
}

fn flatten(name: &str, value: &serde_json::Value, flat: &mut Vec<(String, String)>) {
    match value {
        serde_json::Value::Object(fields) => {
            for (field, value) in fields.iter().filter(|(field, _)| *field != "work") {
                flatten(&format!("{name}.{field}"), value, flat);
            }
        }
        serde_json::Value::Array(items) if items.is_empty() => {}
        serde_json::Value::Array(items) => {
            let items: Vec<String> = items.iter().map(plain).collect();
            flat.push((name.into(), items.join(", ")));
        }
        serde_json::Value::Null => {}
        serde_json::Value::Number(zero) if says_nothing(name) && zero.as_u64() == Some(0) => {}
        serde_json::Value::String(word) if word == "none" => {}
        serde_json::Value::String(_)
        | serde_json::Value::Number(_)
        | serde_json::Value::Bool(_) => {
            flat.push((name.into(), plain(value)));
        }
    }
}

fn says_nothing(name: &str) -> bool {
    name.ends_with(".failures") || name.ends_with(".generation")
}

fn plain(value: &serde_json::Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), Into::into)
}

/// One told step.
#[derive(Clone, Debug)]
pub struct Told {
    /// What was done.
    pub action: Action,
    /// As a sentence.
    pub sentence: String,
    /// What was answered.
    pub outcome: Outcome,
    /// As a clause.
    pub answer: String,
    /// What changed, one fact an entry.
    pub changes: Vec<String>,
    /// The property it broke.
    pub broke: Option<&'static Property>,
    /// What could be seen afterwards.
    pub view: View,
}

/// Performs actions under a law and tells each step.
pub fn tell(law: Law, actions: &[Action]) -> Vec<Told> {
    visit(law.world, Telling { law, actions })
}

struct Telling<'a> {
    law: Law,
    actions: &'a [Action],
}

impl Visit for Telling<'_> {
    type Out = Vec<Told>;

    fn visit<const W: usize, const E: usize, const T: usize>(
        self,
        world: &'static World,
    ) -> Vec<Told> {
        let mut state = State::<W, E, T>::new();
        let mut told = Vec::with_capacity(self.actions.len());
        for action in self.actions.iter().copied() {
            let (outcome, after) = self.law.step(&state, action);
            let step = Step { world, before: &state, action, outcome, after: &after };
            told.push(Told {
                action,
                sentence: sentence(world, action),
                outcome,
                answer: answer(world, outcome),
                changes: changes(&facts(world, &state), &facts(world, &after)),
                broke: judge(self.law, &step),
                view: view(world, &after),
            });
            state = after;
        }
        told
    }
}

/// The whole story as text.
pub fn text(law: Law, actions: &[Action]) -> String {
    let mut out = String::new();
    let told = tell(law, actions);
    // Writing to a string cannot fail.
    let _ = writeln!(out, "world {}: {}", law.world.name, law.world.shows);
    if let Some(mutant) = law.mutant {
        let _ = writeln!(out, "mutant {}: {}", mutant.name(), mutant.breaks());
    }
    for (nth, step) in (1..).zip(&told) {
        let _ = writeln!(out, "\n{nth:>3}. {} => {}", step.sentence, step.answer);
        for change in &step.changes {
            let _ = writeln!(out, "       {change}");
        }
        if let Some(property) = step.broke {
            let _ =
                writeln!(out, "     ! broken: {} ({})", property.name, property.rules.join(", "));
        }
    }
    out
}

/// One line a fact group, for the Explorer.
pub(crate) fn brief(state: &dyn Facts, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
    for (ix, work) in (0..).zip(state.works()).filter(|(_, work)| work.status != WorkStatus::Absent)
    {
        writeln!(
            f,
            "w{ix} {:?} holds={:?} failures={} backoff={} retry={:?} excluded={:?} host={:?} process={:?} | attempt {} {:?} {:?} lease={} trigger={:?} cause={:?}",
            work.status,
            work.holds.reasons().collect::<Vec<_>>(),
            work.failures,
            work.backoff,
            work.retry,
            work.excluded,
            work.host,
            work.process,
            work.attempt.number,
            work.attempt.status,
            work.attempt.phase,
            work.attempt.lease,
            work.attempt.trigger,
            work.attempt.cause,
        )?;
    }
    for (ix, event) in (0..).zip(state.events()).filter(|(_, event)| event.seq > 0) {
        let input =
            if event.input == Input::No { String::new() } else { format!(" {:?}", event.input) };
        writeln!(
            f,
            "e{ix} #{} {:?}{input} depth={} proposal={:?} {:?}",
            event.seq, event.mark, event.depth, event.proposal, event.intent
        )?;
    }
    for (ix, wait) in
        (0..).zip(state.waits()).filter(|(_, wait)| wait.status != WaitStatus::Unregistered)
    {
        writeln!(
            f,
            "t{ix} {:?} above {} winner={:?} timer={:?}",
            wait.status, wait.watermark, wait.winner, wait.timer
        )?;
    }
    Ok(())
}
