//! The demo's sender: webhook deliveries as GitHub signs and sends them.

use hmac::{Hmac, KeyInit, Mac};
use http_body_util::Full;
use hyper::Request;
use hyper::body::Bytes;
use serde_json::{Value, json};
use sha2::Sha256;
use tokio::net::TcpStream;

use crate::cli::{Failure, client};

/// One delivery.
#[derive(Debug, Clone)]
pub(super) struct Delivery {
    /// GitHub's id of it; the same when it is delivered again.
    pub(super) id: &'static str,
    event: &'static str,
    body: Value,
}

/// What the door answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Answered(pub(super) u16);

impl Delivery {
    /// A pull request is opened.
    pub(super) fn opened(id: &'static str, number: u32) -> Self {
        let body = json!({ "action": "opened", "number": number, "pull_request": {
            "number": number, "title": "Keep what comes in",
            "html_url": format!("https://github.com/acme/web/pull/{number}"),
        } });
        Self::new(id, "pull_request", body)
    }

    /// The checks of a pull request have ended.
    pub(super) fn checked(id: &'static str, number: u32, name: &str) -> Self {
        let body = json!({ "action": "completed", "check_run": {
            "name": name, "conclusion": "success", "pull_requests": [{ "number": number }],
        } });
        Self::new(id, "check_run", body)
    }

    /// Somebody says something about a pull request.
    pub(super) fn commented(id: &'static str, number: u32, text: &str) -> Self {
        let issue = json!({ "number": number });
        let comment = json!({ "body": text });
        let body = json!({ "action": "created", "issue": issue, "comment": comment });
        Self::new(id, "issue_comment", body)
    }

    /// Somebody likes the repository.
    pub(super) fn starred(id: &'static str) -> Self {
        Self::new(id, "star", json!({ "action": "created" }))
    }

    fn new(id: &'static str, event: &'static str, mut body: Value) -> Self {
        body["repository"] = json!({
            "id": 1_296_269, "full_name": "acme/web", "html_url": "https://github.com/acme/web",
        });
        body["sender"] = json!({ "login": "ada" });
        Self { id, event, body }
    }

    /// Sends it, signed with the secret.
    pub(super) async fn send(&self, door: &str, secret: &str) -> Result<Answered, Failure> {
        let body = self.body.to_string();
        let mut mac = Hmac::<Sha256>::new_from_slice(secret.as_bytes())
            .expect("HMAC takes a key of any length");
        mac.update(body.as_bytes());
        let signature = format!("sha256={}", hex::encode(mac.finalize().into_bytes()));
        let lost =
            |what: String| Failure::refused(format!("the hooks door did not answer: {what}"));
        let request = Request::post("/hooks/github")
            .header("host", door)
            .header("content-type", "application/json")
            .header("x-github-event", self.event)
            .header("x-github-delivery", self.id)
            .header("x-hub-signature-256", signature)
            .body(Full::new(Bytes::from(body)))
            .map_err(|error| lost(error.to_string()))?;
        let stream = TcpStream::connect(door).await.map_err(|error| lost(error.to_string()))?;
        let answer =
            client::over(stream, request).await.map_err(|error| lost(error.to_string()))?;
        Ok(Answered(answer.status.as_u16()))
    }
}
