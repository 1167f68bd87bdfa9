//! A running attempt is interrupted by hand, and what controls did is shown.

use serde_json::{Value, json};
use type_safe_id::TypeSafeId;

use super::{Door, code};
use crate::command::{Command, Outcome};
use crate::daemon::evaluation::{self, Routed};
use crate::daemon::tests::{Bench, CONFIGURATION};
use crate::domain::{Authority, BindingPin, Duration, RetryPolicy, SendAnswer, Seq, Token, WorkId};

impl Door {
    /// The first Work has a pinned attempt, whose pin has these controls.
    async fn runs(&self, binding: &str, injects: bool, interrupts: bool) -> Authority {
        let pin = BindingPin {
            binding: binding.to_owned(),
            generation: self.bench.context.current().generation,
            resumes: false,
            holds_until_pin: true,
            injects,
            interrupts,
            active: None,
            retry: RetryPolicy::default(),
        };
        let claim = Command::Claim {
            work: WorkId(1),
            attempt_uid: TypeSafeId::from_uuid(uuid::Uuid::now_v7()),
            token: Token::from_bytes([1; 32]).hash(),
            lease: Duration::seconds(30),
            pin,
            capacity: Vec::new(),
        };
        self.bench.commit(claim).await;
        let by = self.bench.authority(1).await;
        self.bench.commit(Command::ClearNeverHanded { by }).await;
        self.bench.commit(Command::Pin { by, metadata: "m".to_owned() }).await;
        by
    }

    /// What of its Events and steps there is: a refusal leaves both as they were.
    async fn kept(&self) -> (Value, usize) {
        (self.get("/events").await, self.steps().await)
    }

    async fn why(&self, id: &str) -> String {
        let why = self.get(&format!("/why/{id}")).await;
        let text = |word: &str| why[word].as_str().unwrap_or_default().to_owned();
        format!("{}\n  next: {}", text("sentence"), text("next"))
    }

    /// What the executor answered to a send that was tried.
    async fn answered(&self, by: Authority, event: i64, answer: SendAnswer, detail: &str) {
        let event = Seq(event);
        self.bench.commit(Command::Dispatch { by, event }).await;
        let detail = detail.to_owned();
        let settled =
            self.bench.commit(Command::SettleDispatch { by, event, answer, detail }).await;
        assert!(matches!(settled, Outcome::Accepted(_)), "{settled:?}");
    }
}

/// CTRL-01 CTRL-02 CTRL-03 CTRL-04 CTRL-09 OURS-09 OURS-23
#[tokio::test]
async fn a_running_attempt_is_interrupted_by_a_person_once_and_no_route_is_altered() {
    let door = Door::at(Bench::steerable(false).await);
    let work = door.work("k").await;
    let (path, interrupt) = (format!("/work/{work}"), format!("/work/{work}/interrupt"));
    let by = door.runs("b", true, true).await;
    let scopes = door.get("/scopes").await;

    let other = json!({ "expect_attempt": 2 });
    assert_eq!(code(&door.post(&interrupt, other).await), (409, "stale_target"));
    let eyes = door.post_as(&door.eyes, None, &interrupt, &json!({})).await;
    assert_eq!(code(&eyes), (403, "forbidden"));

    let seen = json!({ "expect_attempt": 1 });
    let (status, row) = door.post_once("i", &interrupt, seen.clone()).await;
    assert_eq!((status.as_u16(), &row["status"]), (200, &json!("running")), "it is told first");
    assert_eq!((&row["id"], &row["event"]), (&json!(work), &json!(2)));
    let steps = door.steps().await;
    let (status, again) = door.post_once("i", &interrupt, seen).await;
    assert_eq!((status.as_u16(), &again["status"]), (200, &json!("running")));
    assert_eq!(again["event"], row["event"]);
    assert_eq!(door.steps().await, steps, "a repeat changes nothing");
    let asked = door.get("/events?type=core.manual.interrupt").await;
    assert_eq!(asked["items"].as_array().map(Vec::len), Some(1));
    let asked = &asked["items"][0];
    assert_eq!((&asked["mark"], &asked["work"]), (&json!("interrupt"), &json!(work)));
    let seq = asked["seq"].as_i64().expect("it is kept");

    let shown = door.get(&path).await;
    let intent = &shown["intents"][0];
    assert_eq!((&intent["kind"], &intent["status"]), (&json!("interrupt"), &json!("committed")));
    assert_eq!((&intent["event"], &intent["attempt"]), (&json!(seq), &json!(1)));
    assert_eq!(intent["event_id"], asked["id"]);
    assert_eq!(door.get(&format!("/events/{seq}")).await["intent"], *intent);
    assert_eq!(shown["pending_input"], json!([]), "a control is no input");
    let mut said = vec![door.why(&work).await, door.why(&seq.to_string()).await];

    door.answered(by, seq, SendAnswer::Failed, "its keeper is busy").await;
    said.push(door.why(&work).await);
    door.answered(by, seq, SendAnswer::Accepted, "").await;
    let shown = door.get(&path).await;
    assert_eq!((&shown["status"], &shown["pending"]), (&json!("ready"), &json!(0)));
    assert_eq!(shown["failures"], Value::Null, "it is no failure");
    let attempt = &shown["history"][0];
    assert_eq!(attempt["status"], "cancelled");
    assert_eq!(attempt["interrupt_event_id"], asked["id"]);
    assert_eq!(attempt["interrupted_by"], json!(seq));
    assert_eq!(shown["intents"][0]["status"], "fenced");
    said.extend([door.why(&work).await, door.why(&seq.to_string()).await]);
    let segment = crate::domain::Segment { attempt: by.attempt, epoch: by.epoch };
    door.bench.commit(Command::Vacate { work: WorkId(1), segment }).await;
    said.push(door.why(&work).await);
    let said: Vec<String> = said.iter().map(|said| said.replace(&work, "WORK")).collect();
    insta::assert_snapshot!(said.join("\n"));
    assert_eq!(door.get("/scopes").await["items"][0]["routes"], scopes["items"][0]["routes"]);
}

/// CTRL-05 CTRL-06 CTRL-07
#[tokio::test]
async fn what_cannot_be_interrupted_is_refused_and_leaves_nothing_behind() {
    let door = Door::at(Bench::steerable(false).await);
    let work = door.work("k").await;
    let interrupt = format!("/work/{work}/interrupt");
    let refused = async |wanted: &str| {
        let before = door.kept().await;
        let answer = door.post(&interrupt, json!({})).await;
        assert_eq!(code(&answer), (409, wanted));
        assert_eq!(door.kept().await, before, "{wanted} leaves nothing");
        assert!(answer.1["detail"].is_string(), "it says what to do: {answer:?}");
        let shown = door.get(&format!("/work/{work}")).await;
        assert_eq!(shown["intents"], Value::Null, "{wanted}");
    };
    refused("nothing_to_interrupt").await;
    // The configuration of now does not stand in for the pin.
    let by = door.runs("b", true, false).await;
    refused("not_interruptible").await;
    let fail = |by| Command::Fail {
        by,
        reason: String::new(),
        hint: None,
        proofs: Vec::new(),
        usage: None,
    };
    door.bench.commit(fail(by)).await;
    refused("nothing_to_interrupt").await;
    // What the pin names is nothing that could be told.
    door.post(&format!("/work/{work}/retry"), json!({})).await;
    let by = door.runs("gone", true, true).await;
    let before = door.kept().await;
    let answer = door.post(&interrupt, json!({})).await;
    assert_eq!(code(&answer), (503, "unconfigured"), "nobody can tell");
    assert_eq!(door.kept().await, before);
    door.bench.commit(fail(by)).await;
    door.post(&format!("/work/{work}/retry"), json!({})).await;
    let by = door.runs("b", true, true).await;
    door.bench.waits(by, "k", None).await;
    assert_eq!(door.get(&format!("/work/{work}")).await["status"], "waiting");
    refused("nothing_to_interrupt").await;
    door.post(&format!("/work/{work}/cancel"), json!({})).await;
    refused("terminal").await;
    let unknown = door.post("/work/work_7zzzzzzzzz/interrupt", json!({})).await;
    assert_eq!(code(&unknown), (404, "unknown_work"));
    let misspelt = door.post(&interrupt, json!({ "expect_atempt": 1 })).await;
    assert_eq!(code(&misspelt), (400, "malformed"));
    // What nothing would come of is not taken in silence.
    for said in [json!({ "reason": "too slow" }), json!({ "for_good": true })] {
        let (status, problem) = door.post(&interrupt, said.clone()).await;
        assert_eq!((status.as_u16(), &problem["code"]), (400, &json!("malformed")), "{said}");
        let (word, _) = said.as_object().and_then(|said| said.iter().next()).expect("one");
        assert!(problem["title"].as_str().is_some_and(|it| it.contains(word)), "{problem}");
    }
}

/// CTRL-06
#[tokio::test]
async fn an_executor_that_does_not_implement_interrupt_is_not_asked_whatever_the_pin_claims() {
    let door = Door::open().await;
    let work = door.work("k").await;
    door.runs("b", true, true).await;
    let before = door.kept().await;
    let answer = door.post(&format!("/work/{work}/interrupt"), json!({})).await;
    assert_eq!(code(&answer), (409, "not_interruptible"));
    assert_eq!(door.kept().await, before);
}

/// The bench's configuration, whose one route says this beside.
fn saying(words: &str) -> String {
    CONFIGURATION.replace("do = \"work\"", &format!("do = \"work\"\n{words}"))
}

/// POLICY-28 POLICY-32 POLICY-34
#[tokio::test]
async fn what_the_attempt_lacks_waits_for_its_end_or_for_the_fallback_and_both_say_so() {
    for (fallback, interrupts) in
        [(None, false), (None, true), (Some("queue"), false), (Some("drop"), false)]
    {
        let words = fallback.map(|to| format!("\nfallback = \"{to}\"")).unwrap_or_default();
        let text = saying(&format!("active = \"inject\"{words}"));
        let door = Door::at(Bench::configured(false, &text).await);
        let work = door.work("k").await;
        door.runs("b", false, interrupts).await;
        let seq = door.bench.event("t.a", "k", "{}").await;
        let routed = evaluation::route(&door.bench.context, seq).await;
        let row = door.get(&format!("/events/{seq}")).await;
        let why = door.why(&seq.to_string()).await.replace(&work, "WORK");
        match fallback {
            None => {
                assert!(!matches!(routed, Routed::Done), "{routed:?}");
                assert_eq!((&row["mark"], &row["asked"]), (&Value::Null, &Value::Null));
            }
            Some(to) => {
                let mark = if to == "queue" { "queued" } else { "drop" };
                assert_eq!((&row["mark"], &row["asked"]), (&json!(mark), &json!("inject")));
                assert_eq!(row["intent"], Value::Null);
            }
        }
        let name = format!("lacking-{}-{interrupts}", fallback.unwrap_or("none"));
        insta::assert_snapshot!(name, why);
    }
}

/// POLICY-32, reading B19: what holds up the end of an attempt is named where one asks after its Work,
/// and an interrupt only where somebody would carry it out.
#[tokio::test]
async fn a_work_names_the_event_that_holds_up_the_end_of_its_attempt() {
    for (pinned, interrupts) in [(true, false), (true, true), (false, true)] {
        let door = Door::at(Bench::configured(false, &saying("active = \"inject\"")).await);
        let work = door.work("k").await;
        match pinned {
            true => drop(door.runs("b", false, interrupts).await),
            false => drop(door.bench.claim_can("b", false, interrupts).await),
        }
        let before = door.why(&work).await;
        assert!(!before.contains("event 2"), "{before}");
        let seq = door.bench.event("t.a", "k", "{}").await;
        let interrupt = format!("abide work interrupt {work}");
        for id in [work.clone(), seq.to_string()] {
            let why = door.why(&id).await;
            for said in ["event 2", "route `all` wants `inject`", "`fallback`", "drop the event"] {
                assert!(why.contains(said), "{said}: {why}");
            }
            let says = why.contains("interrupt the attempt") && why.contains(&interrupt);
            assert_eq!(says, pinned && interrupts, "{why}");
        }
    }
}

/// POLICY-13 POLICY-16 POLICY-23: what was so while the attempt ran is not said of one that is over.
#[tokio::test]
async fn what_became_of_an_offer_is_said_after_its_attempt_too() {
    let door = Door::at(Bench::configured(false, &saying("active = \"inject\"")).await);
    let work = door.work("k").await;
    let by = door.runs("b", true, true).await;
    let mut offered = Vec::new();
    for answer in [SendAnswer::Accepted, SendAnswer::NotAccepting] {
        let seq = door.event("k").await;
        door.answered(by, seq.0, answer, "").await;
        offered.push(seq);
    }
    let (tried, untried) = (door.event("k").await, door.event("k").await);
    door.bench.commit(Command::Dispatch { by, event: tried }).await;
    offered.extend([tried, untried]);
    let fail =
        Command::Fail { by, reason: String::new(), hint: None, proofs: Vec::new(), usage: None };
    door.bench.commit(fail).await;
    let mut said = vec!["over:".to_owned()];
    for seq in &offered {
        said.push(door.why(&seq.to_string()).await);
    }
    door.post(&format!("/work/{work}/retry"), json!({})).await;
    door.runs("b", true, true).await;
    said.push("handed to the next:".to_owned());
    for seq in &offered {
        said.push(door.why(&seq.to_string()).await);
    }
    let said = said.join("\n").replace(&work, "WORK");
    let (over, handed) = said.split_once("handed to").expect("both");
    assert!(!over.contains("only a result proves"), "{over}");
    assert_eq!(over.matches("may have arrived").count(), 1, "{over}");
    assert_eq!(handed.matches("attempt 2 was handed it").count(), 4, "{handed}");
    insta::assert_snapshot!(said);
}

/// POLICY-13 POLICY-15 POLICY-33
#[tokio::test]
async fn what_became_of_an_offer_is_said_for_each_status() {
    let door = Door::at(
        Bench::configured(false, &saying("active = \"inject\"\non_error = \"drop\"")).await,
    );
    let work = door.work("k").await;
    let by = door.runs("b", true, true).await;
    let mut said = Vec::new();
    let answers = [
        None,
        Some((SendAnswer::Accepted, "")),
        Some((SendAnswer::NotAccepting, "the process has ended")),
        Some((SendAnswer::Failed, "no answer in 5 s")),
    ];
    for answer in answers {
        let seq = door.event("k").await;
        said.push(door.why(&seq.to_string()).await);
        if let Some((answer, detail)) = answer {
            door.answered(by, seq.0, answer, detail).await;
            said.push(door.why(&seq.to_string()).await);
        }
    }
    said.push(door.why(&work).await);
    door.bench
        .commit(Command::Fail {
            by,
            reason: "exit status 1".to_owned(),
            hint: None,
            proofs: Vec::new(),
            usage: Some("{\"usd\":\"0.12\"}".to_owned()),
        })
        .await;
    said.push(door.why("2").await);
    let shown = door.get(&format!("/work/{work}")).await;
    let statuses: Vec<&Value> =
        shown["intents"].as_array().expect("four").iter().map(|it| &it["status"]).collect();
    assert_eq!(statuses, ["stale", "accepted", "not_accepting", "fell_back"]);
    assert_eq!(shown["pending_input"], json!([2, 3, 4]), "what fell back to drop is withdrawn");
    assert_eq!(shown["history"][0]["usage"], json!({ "usd": "0.12" }));
    insta::assert_snapshot!(said.join("\n").replace(&work, "WORK"));
}

/// POLICY-01 POLICY-04 POLICY-24
#[tokio::test]
async fn what_a_route_drops_while_an_attempt_runs_says_why_and_is_input_before() {
    let door = Door::at(Bench::configured(false, &saying("active = \"drop\"")).await);
    let work = door.work("k").await;
    let ready = door.event("k").await;
    assert_eq!(door.get(&format!("/events/{ready}")).await["mark"], "queued", "it is not running");
    door.runs("b", false, false).await;
    let seq = door.event("k").await;
    let row = door.get(&format!("/events/{seq}")).await;
    assert_eq!((&row["mark"], &row["work"]), (&json!("drop"), &json!(work)));
    assert_eq!((&row["route"], &row["asked"]), (&json!("all"), &Value::Null));
    assert!(row["reason"].is_string(), "{row}");
    assert_eq!(door.get(&format!("/work/{work}")).await["pending"], 0);
    insta::assert_snapshot!(door.why(&seq.to_string()).await);
}
