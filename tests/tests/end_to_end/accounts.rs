//! Every event, Work, wait, alias and process accounted for, once everything has come to rest.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use abide::domain::{ControlPolicy, Generation, IntentKind, IntentStatus, MarkKind};
use abide::store::{Engine as _, Observation, Store, observe};
use abide_refinement::audit::audit_database;
use abide_tests::daemon::{Daemon, abide};
use abide_tests::specs::trace::{TraceHeader, TraceStep};
use serde_json::{Value, json};

use crate::deliveries::{Delivery, WORKS_ON, bodies};
use crate::{log, say};

/// What the daemon shows at the end.
struct Rest {
    events: Vec<Value>,
    works: Vec<Value>,
    waits: Vec<Value>,
}

impl Rest {
    fn of(daemon: &Daemon) -> Self {
        let list = |what: &str| daemon.list(what).expect("it is listed");
        Self { events: list("/events"), works: list("/work"), waits: list("/waits") }
    }

    /// Events of senders.
    fn outside(&self) -> impl Iterator<Item = &Value> {
        self.events.iter().filter(|event| event["source"] != "core")
    }

    fn marked(&self, mark: &str) -> usize {
        self.outside().filter(|event| event["mark"] == mark).count()
    }

    fn works_that<'a>(
        &'a self,
        is: impl Fn(&Value) -> bool + 'a,
    ) -> impl Iterator<Item = &'a Value> {
        self.works.iter().filter(move |work| is(work))
    }

    fn event(&self, id: &Value) -> &Value {
        let found = self.events.iter().find(|event| event["id"] == *id);
        found.unwrap_or_else(|| panic!("there is no event {id}"))
    }
}

/// Whether each thing is as it should be, after these deliveries and these endings under those generations.
pub(crate) fn account(
    folder: &Path,
    daemon: &Daemon,
    deliveries: &[Delivery],
    endings: &[Delivery],
    generations: (i64, i64),
) {
    let rest = Rest::of(daemon);
    let sent: Vec<&Delivery> = deliveries.iter().chain(endings).collect();
    let stages = endings.iter().filter(|delivery| delivery.id.starts_with("locked-")).count();

    kept_once(&rest, &sent);
    let marks = marked_as_it_should_be(&rest, &sent, stages);
    let successors = succeeded_once(&rest, daemon, stages);
    one_work_a_subject(&rest, deliveries, successors, stages);
    let taken = taken_in_or_handed_again(folder, &seen(folder));
    handed_over_in_order(folder, &rest.events, &taken);
    let woken = woken_once(&rest, stages);
    let aliases = translated_once(&rest, stages);
    pinned_and_marked_under(&seen(folder), &rest, daemon, endings, generations);

    let rows = journal_reads_as_a_trace(folder);
    let starts = log(folder).iter().filter(|line| line["what"] == "start").count();
    let doctor = abide(folder, &["doctor", "-c", "abide.toml"]).expect("doctor runs");
    assert!(doctor.status.success(), "doctor: {}", String::from_utf8_lossy(&doctor.stdout));
    let audit = audit_database(&folder.join("state/abide.db"));
    let audit = audit.unwrap_or_else(|error| panic!("the audit objects: {error}"));
    assert!(audit.rows >= rows && audit.replayed > 0, "{audit:?}");
    say(&format!(
        "audit: {} of {} journal rows as the law has them, not judged {:?}, {} works undecided",
        audit.replayed,
        audit.rows,
        audit.not_judged,
        audit.undecided.len(),
    ));
    say(&format!(
        "{} works; {marks}; {woken} waits woken once, {aliases} aliases, {successors} successors, \
         {starts} processes started, {rows} journal rows; doctor clean",
        rest.works.len(),
    ));
}

/// Each delivery is accepted once.
fn kept_once(rest: &Rest, sent: &[&Delivery]) {
    let kept: Vec<&str> = rest.outside().filter_map(|event| event["delivery"].as_str()).collect();
    let ids: BTreeSet<&str> = kept.iter().copied().collect();
    assert_eq!(ids.len(), kept.len(), "a delivery was accepted twice");
    assert_eq!(
        ids,
        sent.iter().map(|delivery| delivery.id.as_str()).collect(),
        "a delivery was lost"
    );
}

/// Of each body the first that was accepted is what it is, and every other is a suspect that started nothing. Everything
/// about a pull request or issue went to its Work, and everything else is visible as unmatched.
fn marked_as_it_should_be(rest: &Rest, sent: &[&Delivery], stages: usize) -> String {
    let by_delivery: BTreeMap<&str, &Value> =
        rest.outside().filter_map(|event| Some((event["delivery"].as_str()?, event))).collect();
    let (mut suspects, mut wanted, mut unwanted) = (0, 0, 0);
    for same in bodies(sent.iter().copied()).values() {
        let mut accepted: Vec<&Value> =
            same.iter().map(|delivery| by_delivery[delivery.id.as_str()]).collect();
        accepted.sort_by_key(|event| event["seq"].as_i64());
        for (nth, event) in accepted.iter().enumerate() {
            let suspect = event["mark"] == "replay_suspect";
            assert_eq!(suspect, nth > 0, "of one body only the first is no suspect: {event}");
            assert!(!suspect || event["work"].is_null(), "a suspect is nobody's: {event}");
        }
        suspects += same.len() - 1;
        match same[0].subject {
            Some(_) => wanted += 1,
            None => unwanted += 1,
        }
    }
    let input = rest.marked("queued") + rest.marked("woke") + rest.marked("inject");
    let (late, dropped, closed) =
        (rest.marked("terminal"), rest.marked("drop"), rest.marked("close"));
    assert_eq!((dropped, closed), (stages, stages), "one drop and one closing a copy");
    assert_eq!(
        input + late + dropped + closed,
        wanted,
        "every event of a work is its, or came late"
    );
    assert_eq!(rest.marked("unmatched"), unwanted, "everything else is unmatched");
    assert_eq!(rest.marked("replay_suspect"), suspects);
    assert!(suspects >= stages, "known bodies came under new identities");
    format!(
        "{} events kept: {input} inputs, {late} late, {dropped} dropped, {closed} closing, {suspects} suspects, \
         {unwanted} unmatched",
        sent.len()
    )
}

/// One Work a pull request or issue, its successors, and nothing else; what a route closed is cancelled by that event.
fn one_work_a_subject(rest: &Rest, deliveries: &[Delivery], successors: usize, stages: usize) {
    let subjects: BTreeSet<(i64, i64)> =
        deliveries.iter().filter_map(|delivery| delivery.subject).collect();
    assert_eq!(rest.works.len(), subjects.len() + successors, "one work a pull request or issue");
    let count = |status: &str| rest.works_that(|work| work["status"] == status).count();
    let ended = (count("waiting"), count("completed"), count("cancelled"));
    assert_eq!(ended.0 + ended.1 + ended.2, rest.works.len(), "every work waits or has ended");
    assert_eq!(ended.2, stages, "what was closed is cancelled, and nothing else is");
    for event in rest.outside().filter(|event| event["mark"] == "close") {
        let mut closed = rest.works_that(|work| work["closed_by"] == event["seq"]);
        let work = closed.next().unwrap_or_else(|| panic!("nothing was closed by {event}"));
        assert_eq!((&work["status"], &work["id"]), (&json!("cancelled"), &event["work"]));
    }
}

/// What was reopened has one successor, under a key of its own, started by a child of the event that reopened it; the
/// old Work is as it was.
fn succeeded_once(rest: &Rest, daemon: &Daemon, stages: usize) -> usize {
    let mut predecessors = BTreeSet::new();
    let mut count = 0;
    for work in rest.works_that(|work| work["kind"] == "returning") {
        let id = work["id"].as_str().expect("an id");
        let shown = daemon.operator("GET", &format!("/work/{id}"), "").expect("it is shown").json();
        let Some(old) = shown["predecessor"].as_str() else {
            assert_eq!(work["attempts"], 1, "what ended was not started again: {work}");
            continue;
        };
        count += 1;
        assert!(predecessors.insert(old.to_owned()), "{old} has two successors");
        let keys = shown["keys"].as_array().expect("keys");
        let generation =
            |key: &Value| key.as_str().is_some_and(|key| key.ends_with("/generation/1"));
        assert!(keys.len() == 1 && generation(&keys[0]), "{shown}");
        assert!(shown["parent"].is_null() && shown["status"] == "completed", "{shown}");

        let of_it: Vec<&Value> = rest.events.iter().filter(|event| event["work"] == id).collect();
        let types: Vec<&Value> = of_it.iter().map(|event| &event["type"]).collect();
        assert_eq!(types, ["core.work.created", "pull_request.edited"], "{of_it:?}");
        assert_eq!(of_it[0]["mark"], "queued");
        assert_eq!(of_it[1]["mark"], "terminal", "the successor was done by then: {of_it:?}");
        let reopened = rest.event(&of_it[0]["parent"]);
        assert_eq!(
            (&reopened["type"], &reopened["mark"]),
            (&json!("pull_request.reopened"), &json!("terminal"))
        );
        assert_eq!(reopened["work"], old);
    }
    assert_eq!(count, stages, "one successor a copy");
    count
}

/// Every wake has a winner of its own, no Work has two active waits, and what waited for a closing got the first.
fn woken_once(rest: &Rest, stages: usize) -> usize {
    let that_are = |status: &str| -> Vec<&Value> {
        rest.waits.iter().filter(|wait| wait["status"] == status).collect()
    };
    let (active, woken, cancelled) = (that_are("active"), that_are("woken"), that_are("cancelled"));
    let waiting = rest.works_that(|work| work["status"] == "waiting").count();
    assert_eq!(active.len(), waiting, "a waiting work has one active wait");
    assert_eq!(cancelled.len(), stages, "what a route closed waits no more");
    assert_eq!(active.len() + woken.len() + cancelled.len(), rest.waits.len());
    let winners: BTreeSet<i64> = woken.iter().filter_map(|wait| wait["winner"].as_i64()).collect();
    assert_eq!(winners.len(), woken.len(), "no event woke two waits");
    let closings = woken.iter().filter(|wait| wait["types"] == json!(["pull_request.closed"]));
    assert_eq!(closings.count(), 2 * stages, "one wake a closing waited for, and one a dependent");
    woken.len()
}

/// Each dependent was woken once, by an alias of a closing of what it depends on; no closing was translated twice for
/// one dependent, and its key stayed with its owner.
fn translated_once(rest: &Rest, stages: usize) -> usize {
    let mut pairs = BTreeSet::new();
    let mut aliases = 0;
    let dependents: Vec<&Value> = rest.works_that(|work| work["kind"] == "dependent").collect();
    assert_eq!(dependents.len(), stages);
    for work in &dependents {
        // News that comes after the wake is input, and an attempt of its own if the first has ended.
        assert_eq!((&work["status"], &work["pending"]), (&json!("completed"), &json!(0)), "{work}");
        let own: Vec<&Value> =
            rest.waits.iter().filter(|wait| wait["work"] == work["id"]).collect();
        assert_eq!(own.len(), 1, "{own:?}");
        let winner = rest.events.iter().find(|event| event["seq"] == own[0]["winner"]);
        let winner = winner.unwrap_or_else(|| panic!("nothing woke {work}"));
        assert_eq!((&winner["source"], &winner["mark"]), (&json!("core"), &json!("woke")));
        assert_eq!(&winner["work"], &work["id"]);
    }
    let made = |event: &&Value| event["source"] == "core" && event["type"] == "pull_request.closed";
    for alias in rest.events.iter().filter(made) {
        aliases += 1;
        let source = rest.event(&alias["parent"]);
        assert!(source["source"] != "core" && source["type"] == "pull_request.closed", "{source}");
        assert_eq!(alias["depth"], json!(1));
        // An alias that came after the wake went to nobody, and names its dependent by its key.
        let pair =
            (alias["key"].to_string(), source["source"].to_string(), source["id"].to_string());
        assert!(pairs.insert(pair), "translated twice: {alias}");
        let owner = |work: &&Value| work["kind"] == "review" && work["id"] == source["work"];
        assert!(source["work"].is_null() || rest.works.iter().any(|work| owner(&work)), "{source}");
    }
    assert!(aliases >= stages);
    aliases
}

/// The attempt that ran through the reload keeps what it was pinned to; every mark names the generation it was made
/// under.
fn pinned_and_marked_under(
    seen: &Observation,
    rest: &Rest,
    daemon: &Daemon,
    endings: &[Delivery],
    (first, second): (i64, i64),
) {
    let works_on = format!("#{WORKS_ON}");
    let through = rest
        .works_that(|work| work["keys"].to_string().contains(&works_on))
        .next()
        .expect("the work that ran through the reload");
    let id = through["id"].as_str().expect("an id");
    let shown = daemon.operator("GET", &format!("/work/{id}"), "").expect("it is shown").json();
    let history = shown["history"].as_array().expect("its attempts");
    // What it was sent and did not take in makes another attempt.
    assert_eq!((history.len(), &history[0]["generation"]), (2, &json!(first)), "{history:?}");
    assert_eq!(history[0]["status"], "completed");

    let ending: BTreeSet<&str> = endings.iter().map(|delivery| delivery.id.as_str()).collect();
    let mut under = BTreeMap::<Generation, usize>::new();
    for event in &seen.events {
        let generation = event.generation.expect("every event has its mark");
        *under.entry(generation).or_default() += 1;
        if ending.contains(event.delivery.as_str()) {
            assert_eq!(generation, Generation(second), "event {} came after the reload", event.seq);
        }
    }
    let known = [Generation(first), Generation(second)];
    assert!(under.keys().copied().eq(known), "marks were made under {under:?}");
    assert_eq!(seen.generation, Generation(second));
    say(&format!("marks by generation: {under:?}"));
}

/// Everything the store shows, read beside the daemon.
fn seen(folder: &Path) -> Observation {
    let store = Store::open_reader(&folder.join("state/abide.db")).expect("the database");
    let mut session = store.session();
    session.begin_snapshot().expect("a snapshot");
    let seen = observe(&mut session).expect("an observation");
    session.rollback().expect("it ends");
    seen
}

/// The production journal is in the one format of traces, row by row.
fn journal_reads_as_a_trace(folder: &Path) -> usize {
    let exported = abide(folder, &["journal", "export", "-c", "abide.toml"]).expect("it runs");
    assert!(exported.status.success(), "{}", String::from_utf8_lossy(&exported.stderr));
    let text = String::from_utf8(exported.stdout).expect("JSON is UTF-8");
    let mut lines = text.lines();
    let header = lines.next().map(serde_json::from_str::<TraceHeader>);
    assert!(matches!(header, Some(Ok(_))), "{header:?}");
    lines
        .map(|line| match serde_json::from_str::<TraceStep>(line) {
            Ok(_) => {}
            Err(error) => panic!("{error}: {line}"),
        })
        .count()
}

/// What was injected into the one that works on: it says itself which events it took in, and those are consumed with its
/// result; every other that was sent is handed to the next attempt, as a repeat. Where nothing can be injected the
/// fallback stands in. Answers what was taken in.
fn taken_in_or_handed_again(folder: &Path, seen: &Observation) -> BTreeSet<i64> {
    let lines = log(folder);
    let said = |what: &str, field: &str| -> BTreeSet<i64> {
        let of_it = lines.iter().filter(|line| line["what"] == what);
        of_it
            .flat_map(|line| line[field].as_array().into_iter().flatten())
            .filter_map(Value::as_i64)
            .collect()
    };
    let (taken, repeated) = (said("takes", "inputs"), said("start", "repeated"));
    let (mut proved, mut sent, mut fell_back) = (BTreeSet::new(), BTreeSet::new(), 0);
    for event in &seen.events {
        fell_back += usize::from(event.asked == Some(ControlPolicy::Inject));
        let Some(intent) = event.intent else { continue };
        assert_eq!((intent.kind, event.mark), (IntentKind::Inject, Some(MarkKind::Inject)));
        match intent.status {
            IntentStatus::Consumed => proved.insert(event.seq.0),
            IntentStatus::Accepted | IntentStatus::NotAccepting => sent.insert(event.seq.0),
            // The attempt may have ended before or after it was sent.
            IntentStatus::Stale => repeated.contains(&event.seq.0) && sent.insert(event.seq.0),
            open @ (IntentStatus::Committed
            | IntentStatus::Dispatched
            | IntentStatus::Fenced
            | IntentStatus::FellBack) => panic!("event {} is {open:?}", event.seq),
        };
    }
    assert_eq!(proved, taken, "what a process took in is consumed, and nothing else is by proof");
    assert_eq!(repeated, sent, "what was sent and not taken in comes again as a repeat");
    assert!(!proved.is_empty() && !sent.is_empty(), "{} proved, {} sent", proved.len(), sent.len());
    say(&format!(
        "{} injected and taken in, {} injected and handed again, {fell_back} queued because their attempt takes none",
        proved.len(),
        sent.len(),
    ));
    taken
}

/// What the processes themselves say they were handed: every input once, and in acceptance order.
fn handed_over_in_order(folder: &Path, events: &[Value], taken: &BTreeSet<i64>) {
    let mut handed: BTreeMap<String, Vec<i64>> = BTreeMap::new();
    for line in log(folder).iter().filter(|line| line["what"] == "start") {
        let work = line["work"].as_str().unwrap_or_default().to_owned();
        let inputs = line["inputs"].as_array().cloned().unwrap_or_default();
        handed.entry(work).or_default().extend(inputs.iter().filter_map(Value::as_i64));
    }
    let mut wanted: BTreeMap<String, Vec<i64>> = BTreeMap::new();
    for event in events {
        let input = ["queued", "woke", "inject"].iter().any(|mark| event["mark"] == *mark);
        let seq = event["seq"].as_i64().unwrap_or_default();
        if input && !taken.contains(&seq) {
            let work = event["work"].as_str().unwrap_or_default().to_owned();
            wanted.entry(work).or_default().push(seq);
        }
    }
    for (work, inputs) in &wanted {
        let mut sorted = inputs.clone();
        sorted.sort_unstable();
        assert_eq!(
            handed.get(work),
            Some(&sorted),
            "{work} was handed its input once and in order"
        );
    }
    assert_eq!(handed.len(), wanted.len(), "no process ran for anything else");
}
