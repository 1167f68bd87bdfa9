//! Work that no event asked for: whose child it is, where, and under which key.

use crate::command::{Command, Outcome, Receipt, Refusal};
use crate::domain::{MarkKind, WorkId, WorkStatus};
use crate::law::testing::{Bench, fresh_work, key, request, store};
use crate::store::payloads;

fn create(id: &str) -> Command {
    Command::CreateWork {
        request: request(id),
        scope: "acme".to_owned(),
        create: fresh_work(&format!("work-{id}")),
        key: None,
        parent: None,
        authorised: false,
        data: Some(r#"{"goal":1}"#.to_owned()),
    }
}

fn child(id: &str, scope: &str, of: WorkId, allowed: bool) -> Command {
    let mut command = create(id);
    if let Command::CreateWork { scope: place, parent, authorised, .. } = &mut command {
        *place = scope.to_owned();
        *parent = Some(of);
        *authorised = allowed;
    }
    command
}

/// CAUSE-01 OURS-23
#[test]
fn a_created_work_has_the_request_as_its_first_input() {
    let store = store();
    let mut bench = Bench::on(&store);
    let mut command = create("r");
    if let Command::CreateWork { key: own, .. } = &mut command {
        *own = Some(key("x"));
    }
    let seq = bench.requested(&command);
    let seen = bench.event_at(seq);
    assert_eq!((seen.mark, seen.depth, seen.root), (Some(MarkKind::Queued), 0, seq));
    let work = bench.work(seen.work.expect("a work"));
    assert_eq!((work.status, work.pending, work.parent), (WorkStatus::Ready, vec![seq], None));
    assert_eq!(bench.see().keys[0].owner, work.work);
    let body = payloads::get(&mut bench.tx, seq).expect("a read").expect("a payload");
    let body: serde_json::Value = serde_json::from_str(&body).expect("JSON");
    assert_eq!((&body["work"], &body["data"]["goal"]), (&work.uid.into(), &1.into()));
    bench.inert(&command, &Outcome::Duplicate(Receipt::Event { seq }));
    if let Command::CreateWork { request: again, .. } = &mut command {
        *again = request("other");
    }
    bench.refused(&command, Refusal::KeyOwned);
}

/// BIND-03 BIND-04
#[test]
fn a_child_lies_in_its_parents_scope_unless_that_is_authorised() {
    let store = store();
    let mut bench = Bench::on(&store);
    let parent = bench.ready("x");
    bench.refused(&child("a", "acme", WorkId(9), true), Refusal::UnknownWork);
    bench.refused(&child("a", "elsewhere", parent, false), Refusal::WrongScope);
    for command in [child("b", "acme", parent, false), child("c", "elsewhere", parent, true)] {
        let seq = bench.requested(&command);
        let work = bench.event_at(seq).work.expect("a work");
        assert_eq!(bench.work(work).parent, Some(parent));
    }
}
