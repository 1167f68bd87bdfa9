use std::sync::Arc;

use super::*;
use crate::command::Command;
use crate::daemon::evaluation;
use crate::daemon::tests::Bench;
use crate::domain::{Deadline, Duration, Segment, WorkId};
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
        running: 0,
        capacity: 2,
        unrouted: None,
        trouble: None,
        now: bench.context.now(),
    };
    change(&mut facts);
    let Reason { sentence, next } = of_work(&facts);
    let said = format!("{sentence}\n  next: {}", next.unwrap_or_default());
    said.replace(&row.work.uid.to_string(), "WORK")
}

async fn ready() -> Arc<Bench> {
    let bench = Arc::new(Bench::new().await);
    let seq = bench.event("t.a", "k", "{}").await;
    evaluation::route(&bench.context, seq).await;
    bench
}

#[tokio::test]
async fn a_work_says_where_it_is_and_what_would_move_it() {
    let bench = ready().await;
    let mut said = vec![why(&bench, |_| {}).await];
    said.push(why(&bench, |facts| facts.running = 2).await);
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
    bench.commit(Command::Fail { by, reason: "exit status 7: \u{1b}[31moops".to_owned() }).await;
    said.push(why(&bench, |_| {}).await);
    said.push(why(&bench, |facts| facts.trouble = Some("its disk is full".to_owned())).await);
    bench.commit(Command::Cancel { work: WorkId(1), reason: "no use".to_owned() }).await;
    said.push(why(&bench, |_| {}).await);
    insta::assert_snapshot!(said.join("\n"));
}
