use std::sync::Arc;

use super::*;
use crate::command::{Command, Outcome, Receipt};
use crate::daemon::evaluation;
use crate::daemon::tests::Bench;
use crate::domain::{AttemptNo, Deadline, Duration, Segment, Verdict, WorkId};
use crate::store::{pages, reads};

/// What `why` says of the first Work, ids and times as they are on the bench.
async fn why(bench: &Bench, change: impl FnOnce(&mut Facts<'_>)) -> String {
    let (row, attempt, wait) = bench
        .context
        .read(|tx| {
            let row = pages::work(tx, WorkId(1))?.expect("there is one");
            let wait = row.work.wait.map_or(Ok(None), |wait| reads::wait(tx, wait))?;
            Ok((row, reads::last_attempt(tx, WorkId(1))?, wait))
        })
        .await
        .expect("it reads");
    let mut facts = Facts {
        row: &row,
        attempt: attempt.as_ref(),
        wait: wait.as_ref(),
        disabled: false,
        source: None,
        control: None,
        holds_up: None,
        full: None,
        unrouted: None,
        relatives: Relatives::default(),
        restored: false,
        pause: None,
        trouble: None,
        now: bench.context.now(),
    };
    change(&mut facts);
    let Reason { sentence, next } = of_work(&facts);
    let said = format!("{sentence}\n  next: {}", next.unwrap_or_default());
    said.replace(&row.work.uid.to_string(), "WORK")
}

fn full() -> Option<Full> {
    Some(Full { scope: "main".to_owned(), running: 2, limit: 2 })
}

async fn ready() -> Arc<Bench> {
    let bench = Arc::new(Bench::new().await);
    let seq = bench.event("t.a", "k", "{}").await;
    evaluation::route(&bench.context, seq).await;
    bench
}

#[test]
fn a_word_from_outside_is_one_word_of_a_command() {
    for plain in ["github:github.com/77", "9", "t.b", "op:me#1", "WORK-42"] {
        assert_eq!(quoted(plain), plain);
    }
    assert_eq!(quoted("$(reboot); a b"), "'$(reboot); a b'");
    assert_eq!(quoted("it's"), r"'it'\''s'");
    assert_eq!(quoted("-x"), "'-x'");
    assert_eq!(quoted("#1"), "'#1'");
    assert_eq!(quoted(""), "''");
    assert_eq!(quoted("\u{1b}["), r"'\u{1b}['");
}

#[tokio::test]
async fn a_command_names_the_key_that_is_waited_for_and_not_another() {
    let bench = ready().await;
    let by = bench.pinned("WORK-4 $(x)", "b").await;
    bench.waits(by, "WORK-4 $(x)", None).await;
    let work = by.work;
    let (row, wait) = bench
        .context
        .read(move |tx| {
            let row = pages::work(tx, work)?.expect("there is one");
            let wait = row.work.wait.map_or(Ok(None), |wait| reads::wait(tx, wait))?;
            Ok((row, wait))
        })
        .await
        .expect("it reads");
    let facts = Facts {
        row: &row,
        attempt: None,
        wait: wait.as_ref(),
        disabled: false,
        source: None,
        control: None,
        holds_up: None,
        full: None,
        unrouted: None,
        relatives: Relatives::default(),
        restored: false,
        pause: None,
        trouble: None,
        now: bench.context.now(),
    };
    let next = of_work(&facts).next;
    let expected = "abide emit --source x:y --key 'WORK-4 $(x)' --type t.b";
    assert_eq!(next.as_deref(), Some(expected));
}

#[tokio::test]
async fn a_work_says_where_it_is_and_what_would_move_it() {
    let bench = ready().await;
    let mut said = vec![why(&bench, |_| {}).await];
    said.push(why(&bench, |facts| facts.full = full()).await);
    bench.claim().await;
    said.push(why(&bench, |_| {}).await);
    let by = bench.authority(1).await;
    bench.commit(Command::ClearNeverHanded { by }).await;
    said.push(why(&bench, |_| {}).await);
    bench.commit(Command::Pin { by, metadata: "m".to_owned() }).await;
    said.push(why(&bench, |_| {}).await);
    said.push(why(&bench, |facts| facts.now = facts.now + Duration::seconds(30)).await);
    let keys = bench.context.read(|tx| crate::store::keys::of_work(tx, WorkId(1))).await;
    let wait = Command::RegisterWait {
        by,
        uid: type_safe_id::TypeSafeId::from_uuid(uuid::Uuid::now_v7()),
        keys: keys.expect("it reads"),
        types: vec!["t.b".to_owned()],
        after: Seq(1),
        deadline: Some(Deadline::After(Duration::seconds(60))),
        source: None,
        read_scopes: Vec::new(),
        proofs: Vec::new(),
        usage: None,
    };
    bench.commit(wait).await;
    said.push(why(&bench, |_| {}).await);
    said.push(why(&bench, |facts| facts.disabled = true).await);
    let event = bench.event("t.b", "k", "{}").await;
    evaluation::route(&bench.context, event).await;
    said.push(why(&bench, |_| {}).await);
    let segment = Segment { attempt: by.attempt, epoch: by.epoch };
    bench.commit(Command::Vacate { work: WorkId(1), segment }).await;
    bench.claim().await;
    let by = bench.authority(1).await;
    bench
        .commit(Command::Fail {
            by,
            reason: "exit status 7: \u{1b}[31moops".to_owned(),
            hint: None,
            proofs: Vec::new(),
            usage: None,
        })
        .await;
    said.push(why(&bench, |_| {}).await);
    said.push(why(&bench, |facts| facts.trouble = Some("its disk is full".to_owned())).await);
    bench
        .commit(Command::Cancel {
            work: WorkId(1),
            expect: None,
            for_good: false,
            reason: "no use".to_owned(),
        })
        .await;
    said.push(why(&bench, |_| {}).await);
    insta::assert_snapshot!(said.join("\n"));
}

fn request(id: &str) -> crate::domain::Request {
    crate::domain::Request {
        uid: type_safe_id::TypeSafeId::from_uuid(uuid::Uuid::now_v7()),
        id: id.to_owned(),
        limits: crate::domain::CausalLimits { max_depth: 32 },
    }
}

/// OURS-06
#[tokio::test]
async fn a_held_work_says_by_whom_and_why_and_what_goes_on() {
    let bench = ready().await;
    let hold =
        |reason: &str| Command::Hold { work: WorkId(1), expect: None, reason: reason.to_owned() };
    bench.commit(hold("ops: the window\u{7} is closed")).await;
    let mut said = vec![why(&bench, |_| {}).await];
    let release = Command::Release { work: WorkId(1), expect: None, request: request("ops/1") };
    bench.commit(release).await;
    said.push(why(&bench, |_| {}).await);
    bench.claim().await;
    bench.commit(hold("ops")).await;
    said.push(why(&bench, |_| {}).await);
    let by = bench.authority(1).await;
    bench
        .commit(Command::Fail {
            by,
            reason: "exit status 7".to_owned(),
            hint: None,
            proofs: Vec::new(),
            usage: None,
        })
        .await;
    said.push(why(&bench, |_| {}).await);
    insta::assert_snapshot!(said.join("\n"));
}

/// OURS-02 OURS-10 OURS-11
#[tokio::test]
async fn a_quiet_or_ended_work_says_what_it_is_open_to() {
    use crate::store::listed::ListedSubscription;

    let bench = ready().await;
    let row = bench.context.read(|tx| pages::work(tx, WorkId(1))).await.expect("it reads");
    let mut row = row.expect("there is one");
    row.work.pending_count = 0;
    let said_of = |row: &WorkRow, relatives: Relatives| {
        let facts = Facts {
            row,
            attempt: None,
            wait: None,
            source: None,
            control: None,
            holds_up: None,
            disabled: false,
            full: None,
            unrouted: None,
            relatives,
            restored: false,
            pause: None,
            trouble: None,
            now: bench.context.now(),
        };
        let Reason { sentence, next } = of_work(&facts);
        let said = format!("{sentence}\n  next: {}", next.unwrap_or_default());
        said.replace(&row.work.uid.to_string(), "WORK")
    };
    let mut said = vec![said_of(&row, Relatives::default())];
    row.work.standing = true;
    said.push(said_of(&row, Relatives::default()));
    row.work.standing = false;
    row.work.idle_at = Some(Millis(86_400_000));
    said.push(said_of(&row, Relatives::default()));
    row.work.idle_at = None;
    row.work.status = WorkStatus::Cancelled;
    row.work.closed_by = Some(Seq(7));
    said.push(said_of(&row, Relatives::default()));
    let uuid = uuid::Uuid::nil();
    let successor = Some(type_safe_id::TypeSafeId::from_uuid(uuid));
    said.push(said_of(&row, Relatives { successor, ..Relatives::default() }));
    let source = ListedSubscription {
        key: crate::domain::Key { source: "github:h/2".into(), external_id: "9".into() },
        scope: "acme/api".to_owned(),
        checkpoint: Seq(12),
        active: true,
    };
    said.push(subscribed(&source));
    insta::assert_snapshot!(said.join("\n"));
}

/// Claims the first Work and fails it, and says what is listed of it and what `why` says.
async fn failed(bench: &Bench) -> String {
    bench.claim().await;
    let by = bench.authority(1).await;
    let reason = "exit status 7".to_owned();
    bench.commit(Command::Fail { by, reason, hint: None, proofs: Vec::new(), usage: None }).await;
    both(bench).await
}

async fn both(bench: &Bench) -> String {
    let row = bench.context.read(|tx| pages::work(tx, WorkId(1))).await.expect("it reads");
    let row = row.expect("there is one");
    let listed = of_row(&row, None, bench.context.now());
    format!("{listed}\n{}", why(bench, |_| {}).await)
}

/// The retry of a failed attempt comes, and is routed.
async fn retried_in(bench: &Bench, delay: Duration, attempt: u32) -> Seq {
    bench.later(delay.std());
    let fire = Command::FireRetry { work: WorkId(1), attempt: AttemptNo(attempt) };
    let Outcome::Accepted(Receipt::Event { seq }) = bench.commit(fire).await else {
        panic!("it is due");
    };
    seq
}

/// RETRY-04 RETRY-05 RETRY-06 RETRY-19 RETRY-27
#[tokio::test]
async fn a_failed_work_says_when_it_is_retried_and_what_retries_it_at_once() {
    let bench = ready().await;
    let mut said = vec![failed(&bench).await];
    bench.later(Duration::seconds(50).std());
    said.push(both(&bench).await);
    bench.later(Duration::seconds(250).std());
    said.push(both(&bench).await);
    let seq = retried_in(&bench, Duration(0), 1).await;
    said.push(why(&bench, |facts| facts.unrouted = Some(seq)).await);
    evaluation::route(&bench.context, seq).await;
    said.push(both(&bench).await);
    said.push(failed(&bench).await);
    let seq = retried_in(&bench, Duration::seconds(600), 2).await;
    evaluation::route(&bench.context, seq).await;
    said.push(failed(&bench).await);
    let hold = Command::Hold { work: WorkId(1), expect: None, reason: "ops: a look".to_owned() };
    bench.commit(hold).await;
    said.push(both(&bench).await);
    let release = Command::Release { work: WorkId(1), expect: None, request: request("ops/1") };
    bench.commit(release).await;
    let retry = Command::Retry { work: WorkId(1), expect: None, request: request("ops/2") };
    bench.commit(retry).await;
    said.push(both(&bench).await);
    insta::assert_snapshot!(said.join("\n"));
}

/// OURS-21
#[tokio::test]
async fn under_the_restore_hold_a_work_says_what_would_let_everything_go_on() {
    let bench = ready().await;
    let restored = |facts: &mut Facts<'_>| facts.restored = true;
    let mut said = vec![why(&bench, restored).await];
    bench.claim().await;
    said.push(why(&bench, restored).await);
    let over = |facts: &mut Facts<'_>| {
        facts.restored = true;
        facts.now = facts.now + Duration::seconds(30);
    };
    said.push(why(&bench, over).await);
    let by = bench.authority(1).await;
    bench
        .commit(Command::Fail {
            by,
            reason: "exit status 7".to_owned(),
            hint: None,
            proofs: Vec::new(),
            usage: None,
        })
        .await;
    said.push(why(&bench, restored).await);
    insta::assert_snapshot!(said.join("\n"));
}

/// ADOPT-21: a process that was lost may still run, and its retry waits for both.
#[tokio::test]
async fn a_failure_over_a_lost_process_says_both_what_it_waits_for() {
    let bench = ready().await;
    bench.pinned("k", "b").await;
    bench.later(Duration::seconds(31).std());
    let token = crate::domain::Token::from_bytes([2; 32]).hash();
    let lease = Duration::seconds(30);
    bench.commit(Command::ClaimRecovery { work: WorkId(1), token, lease }).await;
    let mut said = vec![why(&bench, |_| {}).await];
    let by = bench.authority(1).await;
    let reason = "its process is gone".to_owned();
    let verdict = Verdict::NotAdoptable;
    bench.commit(Command::SettleRecovery { by, verdict, reason }).await;
    said.push(both(&bench).await);
    insta::assert_snapshot!(said.join("\n"));
}

/// Nothing is about to start in a daemon that starts nothing.
#[tokio::test]
async fn ready_work_says_that_the_daemon_starts_nothing() {
    let bench = ready().await;
    let pauses = [
        (Pause::Draining, "nothing starts: the daemon drains\n  next: abide drain --cancel"),
        (Pause::Stopping, "nothing starts: the daemon is stopping"),
        (Pause::Storage, "nothing starts: the daemon can commit nothing at present"),
    ];
    for (pause, says) in pauses {
        let said = why(&bench, |facts| facts.pause = Some(pause)).await;
        assert!(said.contains(says) && !said.contains("about to start"), "{said}");
    }
}
