//! What the writer costs: reported, never asserted. Ratios of one run mean something; absolute rates depend on the disk.
//!
//! `cargo bench -p abide` runs everything; `-- --quick` a short version; `-- --retained 1000000` one growth step.

use std::path::Path;
use std::sync::Barrier;
use std::time::{Duration, Instant};

use abide::clock::Clock;
use abide::command::{Command, Outcome, Receipt};
use abide::domain::{
    Actor, AttemptUid, Authority, BindingPin, CausalLimits, Duration as Length, EventUid,
    Generation, IngressId, Key, Millis, NewEvent, RetryPolicy, Seq, TokenHash,
};
use abide::law;
use abide::store::{Engine, Session, Store};
use abide::writer::{Writer, WriterOptions};
use rusqlite::{Connection, params};
use rustix::time::{ClockId, clock_gettime};

/// Callers at once, as the table's rows.
const CALLERS: [usize; 3] = [1, 16, 64];
const BENCH: Actor = Actor::Loop("bench");

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let quick = arguments.iter().any(|argument| argument == "--quick");
    let retained = arguments.iter().skip_while(|argument| *argument != "--retained").nth(1);
    match retained.and_then(|count| count.parse().ok()) {
        Some(count) => growth(&[1_000, count]),
        None => {
            throughput(if quick { 300 } else { 2_000 });
            growth(if quick { &[1_000, 10_000] } else { &[1_000, 100_000] });
        }
    }
}

#[expect(clippy::print_stdout, reason = "a benchmark's output is its result")]
fn say(line: &str) {
    println!("{line}");
}

/// Accepts with one fsync a batch, beside the same rows written by bare rusqlite in groups of the same size.
fn throughput(each: usize) {
    say("accepting events, synchronous=FULL");
    say("callers    writer/s   bare rusqlite/s, as many a commit   ratio");
    for callers in CALLERS {
        let total = (each * callers.min(16)).max(each);
        let bare = rate(total, |folder| bare_rows(&folder.join("bare.db"), total, callers));
        let ours = rate(total, |folder| by_writer(&folder.join("abide.db"), total, callers));
        say(&format!("{callers:>7} {ours:>11.0} {bare:>35.0} {:>7.2}", ours / bare));
    }
}

fn rate(total: usize, run: impl FnOnce(&Path) -> Duration) -> f64 {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let took = run(folder.path()).as_secs_f64();
    f64::from(u32::try_from(total).unwrap_or(u32::MAX)) / took
}

fn by_writer(file: &Path, total: usize, callers: usize) -> Duration {
    let writer = Writer::open(file, Clock::system(), WriterOptions::default()).expect("it opens");
    let gate = Barrier::new(callers + 1);
    let mut begun = Instant::now();
    std::thread::scope(|scope| {
        for caller in 0..callers {
            let (writer, gate) = (writer.clone(), &gate);
            scope.spawn(move || {
                gate.wait();
                for nth in (caller..total).step_by(callers) {
                    let command = Command::Accept { event: Box::new(event(nth)) };
                    writer.apply_blocking(BENCH, command).expect("the writer answers");
                }
            });
        }
        gate.wait();
        begun = Instant::now();
    });
    let took = begun.elapsed();
    writer.shutdown_blocking();
    took
}

/// The rows of an acceptance (event, identity, queue, counter, journal) on the same schema, with statements held.
fn bare_rows(file: &Path, total: usize, group: usize) -> Duration {
    drop(Store::open(file).expect("it opens"));
    let conn = Connection::open(file).expect("it opens");
    conn.execute_batch(
        "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON; \
         PRAGMA cache_size = -65536; \
         INSERT INTO name (id, text) VALUES (1, 'bench'), (2, 'note'), (3, 'main');",
    )
    .expect("the schema is ours");
    let begun = Instant::now();
    for first in (1..=total).step_by(group) {
        conn.execute_batch("BEGIN IMMEDIATE").expect("nobody else writes");
        for seq in first..(first + group).min(total + 1) {
            bare_row(&conn, i64::try_from(seq).unwrap_or(i64::MAX)).expect("the schema is ours");
        }
        conn.execute_batch("COMMIT").expect("the disk has room");
    }
    begun.elapsed()
}

fn bare_row(conn: &Connection, seq: i64) -> rusqlite::Result<()> {
    let uid = EventUid::new().uuid();
    conn.prepare_cached("UPDATE counter SET seq = seq + 1 WHERE id = 1")?.execute([])?;
    conn.prepare_cached(
        "INSERT INTO event (seq, uid, source, delivery, type, accepted_at, scope, root, depth, \
         depth_max) VALUES (?1, ?2, 1, ?3, 2, ?4, 3, ?1, 0, 32)",
    )?
    .execute(params![
        seq,
        uid.as_bytes(),
        format!("delivery-{seq}"),
        1_700_000_000_000_i64
    ])?;
    conn.prepare_cached("INSERT INTO identity (hash, event) VALUES (?1, ?2)")?
        .execute(params![seq.wrapping_mul(0x9E37_79B9_7F4A_7C15_u64.cast_signed()), seq])?;
    conn.prepare_cached("INSERT INTO unrouted (event, scope) VALUES (?1, 3)")?.execute([seq])?;
    conn.prepare_cached(
        "INSERT INTO journal (n, at, actor, action, args, outcome, facts) \
         VALUES (?1, ?2, 'loop:bench', 'accept', ?3, 'accepted', ?4)",
    )?
    .execute(params![
        seq,
        1_700_000_000_000_i64,
        r#"{"source":"bench","delivery":"delivery","type":"note","scope":"main","max_depth":32}"#,
        r#"{"receipt":"event","seq":1}"#,
    ])
    .map(drop)
}

fn event(nth: usize) -> NewEvent {
    NewEvent {
        uid: EventUid::new(),
        id: IngressId { source: "bench".to_owned(), delivery: format!("delivery-{nth}") },
        event_type: "note".to_owned(),
        subject: None,
        occurred_at: None,
        scope: "main".to_owned(),
        key: None,
        target: None,
        limits: CausalLimits { max_depth: 32 },
        payload: None,
        suspect_within: None,
    }
}

/// CPU of one whole life of a Work (accept, route, claim, hand over, pin, complete) on top of so many retained ones.
fn growth(steps: &[usize]) {
    say("\none life of a work (6 commands), in memory, CPU a command");
    say("retained events   CPU us a command   against the first row");
    let store = Store::open_in_memory().expect("a database in memory");
    let mut session = store.session();
    let mut lived = 0;
    let mut first = None;
    for wanted in steps {
        lived = live_until(&mut session, lived, *wanted);
        let sample = 2_000;
        let before = cpu();
        lived = live_until(&mut session, lived, lived + sample);
        let micros = (cpu() - before).as_secs_f64() * 1e6 / 6.0 / 2_000.0;
        let base = *first.get_or_insert(micros);
        say(&format!("{wanted:>15} {micros:>18.1} {:>23.2}", micros / base));
    }
}

fn cpu() -> Duration {
    let spent = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(
        u64::try_from(spent.tv_sec).unwrap_or(0),
        u32::try_from(spent.tv_nsec).unwrap_or(0),
    )
}

/// Lives one after another, 64 a transaction, until so many are retained.
fn live_until(session: &mut Session<'_>, from: usize, to: usize) -> usize {
    for first in (from..to).step_by(64) {
        session.begin().expect("nobody else writes");
        for nth in first..(first + 64).min(to) {
            live(session, nth);
        }
        session.commit().expect("memory is enough");
    }
    to.max(from)
}

fn live(session: &mut Session<'_>, nth: usize) {
    let now = Millis(1_700_000_000_000 + i64::try_from(nth).unwrap_or(0) * 10);
    let mut offered = event(nth);
    offered.key = Some(Key { source: "bench".to_owned(), external_id: nth.to_string() });
    let mut apply =
        |command: Command| law::apply(session, now, &BENCH, &command).expect("the law answers");
    let Outcome::Accepted(Receipt::Event { seq }) =
        apply(Command::Accept { event: Box::new(offered) })
    else {
        panic!("a fresh delivery is accepted")
    };
    let by = start(session, now, seq);
    let mut apply =
        |command: Command| law::apply(session, now, &BENCH, &command).expect("the law answers");
    apply(Command::ClearNeverHanded { by });
    apply(Command::Pin { by, metadata: String::new() });
    apply(Command::Complete {
        by,
        ending: abide::domain::Ending::Completed,
        status: None,
        proofs: Vec::new(),
        usage: None,
    });
}

fn start(session: &mut Session<'_>, now: Millis, seq: Seq) -> Authority {
    let snapshot = law::routing::snapshot(session, seq).expect("it reads").expect("it is unrouted");
    let proposal = snapshot.propose(Some("route"), Some("kind"));
    let routed = law::apply(session, now, &BENCH, &Command::CommitRoute { proposal });
    let Ok(Outcome::Accepted(Receipt::Routed { work: Some(work), .. })) = routed else {
        panic!("a fresh key makes a work: {routed:?}")
    };
    let token = TokenHash([7; 32]);
    let pin = BindingPin {
        binding: "bench".to_owned(),
        generation: Generation(0),
        resumes: false,
        holds_until_pin: true,
        active: None,
        retry: RetryPolicy::default(),
        injects: false,
        interrupts: false,
    };
    let (attempt_uid, lease) = (AttemptUid::new(), Length::seconds(30));
    let claim = Command::Claim { work, attempt_uid, token, lease, pin, capacity: Vec::new() };
    let claimed = law::apply(session, now, &BENCH, &claim);
    let Ok(Outcome::Accepted(Receipt::Claimed { attempt, epoch, .. })) = claimed else {
        panic!("ready work is claimed: {claimed:?}")
    };
    Authority { work, attempt, epoch, token }
}
