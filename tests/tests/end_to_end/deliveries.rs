//! What the senders send: the corpus and its copies, and what stages the rest of the story.

use std::collections::BTreeMap;
use std::io::{self, Write};

use abide_tests::corpus::{self, Payload};
use abide_tests::http::Connection;
use hmac::{Hmac, KeyInit, Mac};
use serde_json::json;
use sha2::Sha256;

/// What GitHub and the daemon share.
pub(crate) const SECRET: &str = "a webhook secret of this test";
/// Copies of the corpus besides the original, each of repositories of its own.
const COPIES: i64 = 50;
/// What keeps the repositories of the copies apart.
pub(crate) const SHIFT: i64 = 1_000_000_000;
/// Staged pull requests of each copy; the stand-in says what each of them asks for.
pub(crate) const WAITS: i64 = 9001;
pub(crate) const WORKS_ON: i64 = 9002;
pub(crate) const CLOSABLE: i64 = 9003;
pub(crate) const DEPENDENT: i64 = 9004;
pub(crate) const REOPENED: i64 = 9005;
/// Events that are injected into what works on, over the kill of its daemon.
const STEERS: i64 = 20;

/// One delivery a sender has to get through, whatever happens to the daemon.
#[derive(Clone)]
pub(crate) struct Delivery {
    pub(crate) id: String,
    event: String,
    pub(crate) body: String,
    signature: String,
    /// The repository and number it is about, if routes want it.
    pub(crate) subject: Option<(i64, i64)>,
}

impl Delivery {
    pub(crate) fn of(id: String, payload: &Payload) -> Self {
        let body = payload.body.to_string();
        let mut mac =
            Hmac::<Sha256>::new_from_slice(SECRET.as_bytes()).expect("HMAC takes any key");
        mac.update(body.as_bytes());
        let signature = format!("sha256={}", hex::encode(mac.finalize().into_bytes()));
        Self { id, event: payload.event.clone(), body, signature, subject: payload.subject() }
    }

    pub(crate) fn post(&self, door: &mut Connection) -> io::Result<u16> {
        let headers = [
            ("content-type", "application/json"),
            ("x-github-event", self.event.as_str()),
            ("x-github-delivery", self.id.as_str()),
            ("x-hub-signature-256", self.signature.as_str()),
        ];
        let answer = door.send("POST", "/hooks/github", &headers, self.body.clone())?;
        assert!(
            matches!(answer.status, 200 | 202 | 503),
            "{}: {} {}",
            self.id,
            answer.status,
            answer.body
        );
        Ok(answer.status)
    }
}

/// The corpus, or a few payloads of our own where it is not at hand.
pub(crate) fn payloads() -> (Vec<Payload>, i64) {
    match corpus::load() {
        Some(payloads) => {
            assert_eq!(payloads.len(), 329, "the corpus is the one this test was written for");
            (payloads, COPIES)
        }
        None => {
            // Past the capture of the test runner, so that nobody takes this for the real thing.
            let _ = writeln!(
                io::stderr().lock(),
                "\n!!! THE REAL PAYLOADS DID NOT RUN: set ABIDE_CORPUS to an unpacked \
                 @octokit/webhooks-examples (see .ci/run); a few payloads of our own stand in.\n"
            );
            (own_payloads(), 3)
        }
    }
}

fn own_payloads() -> Vec<Payload> {
    let about = |event: &str, action: &str, field: &str, number: i64| Payload {
        event: event.to_owned(),
        body: json!({
            "action": action, "number": number, "repository": { "id": 1, "full_name": "acme/web" },
            field: { "number": number }, "sender": { "login": "ada" },
        }),
    };
    let mut payloads = vec![
        about("pull_request", "opened", "pull_request", 1),
        about("issues", "opened", "issue", 2),
        about("pull_request", "labeled", "pull_request", 1),
        about("issue_comment", "created", "issue", 2),
    ];
    let ping = json!({ "zen": "Keep it simple.", "hook_id": 1, "hook": { "id": 1 } });
    payloads.push(Payload { event: "ping".to_owned(), body: ping });
    payloads
}

fn staged(repository: i64, number: i64, action: &str) -> Payload {
    Payload {
        event: "pull_request".to_owned(),
        body: json!({
            "action": action, "number": number, "pull_request": { "number": number },
            "repository": { "id": repository, "full_name": "acme/web" }, "sender": { "login": "ada" },
        }),
    }
}

/// The repository of a copy that stages the story.
pub(crate) const fn stage_of(copy: i64) -> i64 {
    copy * SHIFT + 7
}

/// What asks for a wait and what asks for long work comes first, so that both are under way at the kill.
pub(crate) fn deliveries(payloads: &[Payload], copies: i64) -> Vec<Delivery> {
    let mut all = Vec::new();
    for copy in 0..=copies {
        for number in [WAITS, DEPENDENT, CLOSABLE, REOPENED] {
            let opened = staged(stage_of(copy), number, "opened");
            all.push(Delivery::of(format!("opens-{number}-{copy}"), &opened));
        }
    }
    all.push(Delivery::of("works-on".to_owned(), &staged(7, WORKS_ON, "opened")));
    for copy in 0..=copies {
        for (at, payload) in payloads.iter().enumerate() {
            all.push(Delivery::of(format!("{copy}-{at}"), &payload.in_repository(copy * SHIFT)));
        }
    }
    all
}

/// What is told to the one that works on while it does.
pub(crate) fn steers() -> Vec<Delivery> {
    let steer = |nth: i64| {
        let mut payload = staged(7, WORKS_ON, "labeled");
        payload.body["nth"] = json!(nth);
        Delivery::of(format!("steers-{nth}"), &payload)
    };
    (0..STEERS).map(steer).collect()
}

/// What happens to the staged pull requests once everything else has come to rest.
///
/// The first closing wakes what waits for it, and by an alias what depends on it; the second finds both woken. What a
/// route closes gets one event more. What has ended is reopened, and of what comes then its successor hears. At last a
/// known body comes under an identity of its own.
pub(crate) fn endings(copies: i64) -> [Vec<Delivery>; 2] {
    let (mut all, mut then) = (Vec::new(), Vec::new());
    for copy in 0..=copies {
        let stage = stage_of(copy);
        let said = |id: &str, number: i64, action: &str, nth: i64| {
            let mut payload = staged(stage, number, action);
            payload.body["nth"] = json!(nth);
            Delivery::of(format!("{id}-{copy}"), &payload)
        };
        let mut add = |id: &str, number, action, nth| all.push(said(id, number, action, nth));
        add("labeled", WAITS, "labeled", 0);
        add("closed", WAITS, "closed", 1);
        add("closed-again", WAITS, "closed", 2);
        add("locked", CLOSABLE, "locked", 0);
        add("too-late", CLOSABLE, "edited", 0);
        add("reopened", REOPENED, "reopened", 0);
        add("replayed", WAITS, "closed", 1);
        then.push(said("edited", REOPENED, "edited", 0));
    }
    [all, then]
}

/// How often each body was sent under an identity of its own.
pub(crate) fn bodies<'a>(
    deliveries: impl IntoIterator<Item = &'a Delivery>,
) -> BTreeMap<&'a str, Vec<&'a Delivery>> {
    let mut bodies: BTreeMap<&str, Vec<&Delivery>> = BTreeMap::new();
    for delivery in deliveries {
        bodies.entry(&delivery.body).or_default().push(delivery);
    }
    bodies
}
