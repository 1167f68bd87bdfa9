//! What an agent has said so far: its output, read once from the beginning and then as it grows.
//!
//! Only what a turn's end depends on is kept. A line that is no message of the protocol is counted and
//! left out, whatever it is and however long; a message of a kind that is not known is left out.

use std::collections::BTreeSet;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::PathBuf;

use serde::Deserialize;
use serde_json::Value;
use uuid::Uuid;

use super::session::is_plain;
use super::used::Used;
use crate::domain::Millis;
use crate::keeper::folder::open_file;

/// The longest line that is looked at. Tool results of an agent may be large; its own messages that
/// count here are not.
const LINE_MAX: usize = 4 << 20;

/// Read at once, and in one step.
const CHUNK: usize = 64 << 10;
const STEP: u64 = 1 << 20;

/// So many different messages it may echo, which is more than an inbox and a step hold; further ones
/// only repeat input.
const ECHOES_MAX: usize = 32_768;

/// The most that is kept of what it says went wrong, in bytes: more than anybody is shown.
const WHY_MAX: usize = 256 << 10;

/// What a turn's end depends on, and what was taken in and used until then.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Seen {
    /// The session as the agent named it when it began.
    pub(super) session: Option<String>,
    /// Its last answer.
    pub(super) answer: Option<Answer>,
    /// How often it has answered.
    pub(super) answers: u64,
    /// A turn has begun since: it has been given more to do.
    further: bool,
    /// The messages that it echoed, each once: it has taken them in. EXEC-06
    pub(super) echoes: BTreeSet<Uuid>,
    /// What it says it used.
    pub(super) used: Used,
    /// Lines that were no message.
    pub(super) skipped: u64,
    /// The last word on its limits was that one is reached, with its reset if that is known.
    rejected: Option<Option<Millis>>,
    /// A message of its own ended with a limit.
    limited: bool,
}

/// How an agent answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Answer {
    /// It did what it was asked to.
    Done,
    /// It did not, for this reason, as it is.
    Failed(String),
}

impl Seen {
    /// The reset of the limit that is reached, if one is; `Some(None)` where nobody said when.
    pub(super) fn limit(&self) -> Option<Option<Millis>> {
        self.rejected.or_else(|| self.limited.then_some(None))
    }

    /// Its last answer, if nothing has begun since that it has not answered.
    pub(super) fn last_answer(&self) -> Option<&Answer> {
        self.answer.as_ref().filter(|_| !self.further)
    }

    /// It works on something that came after it has answered.
    pub(super) const fn goes_on(&self) -> bool {
        self.answer.is_some() && self.further
    }

    fn take(&mut self, line: &[u8]) {
        if line.iter().all(u8::is_ascii_whitespace) {
            return;
        }
        // An array would pass for a message with its fields in order.
        let message =
            line.trim_ascii_start().starts_with(b"{").then(|| serde_json::from_slice(line));
        match message {
            Some(Ok(message)) => self.hear(message),
            Some(Err(_)) | None => self.skipped += 1,
        }
    }

    fn hear(&mut self, message: Message) {
        match message.kind.as_str() {
            "system" if message.subtype.as_deref() == Some("init") => {
                self.further = self.answer.is_some();
                let named = message.session_id.filter(|id| is_plain(id));
                self.session = named.or_else(|| self.session.take());
            }
            "assistant" => {
                self.limited |= message.error.as_str() == Some("rate_limit");
            }
            "rate_limit_event" => self.rejected = message.rejected(),
            "user" => {
                if let Some(echoed) = message.echoed() {
                    self.further = self.answer.is_some();
                    if self.echoes.len() < ECHOES_MAX {
                        self.echoes.insert(echoed);
                    }
                }
            }
            "result" => {
                self.answer = Some(message.answer());
                self.answers += 1;
                self.further = false;
                self.used.turn(&message.usage, &message.total_cost_usd);
            }
            // What it does on its way, and what a later version says.
            _ => {}
        }
    }
}

/// The fields of a message that count here. Those whose type may be anything are read as anything,
/// so that no message is lost for a field that matters little.
#[derive(Debug, Deserialize)]
struct Message {
    #[serde(rename = "type")]
    kind: String,
    #[serde(default)]
    subtype: Option<String>,
    #[serde(default)]
    session_id: Option<String>,
    #[serde(default)]
    is_error: Option<bool>,
    #[serde(default)]
    result: Value,
    #[serde(default)]
    errors: Value,
    #[serde(default)]
    error: Value,
    #[serde(default)]
    rate_limit_info: Value,
    #[serde(default, rename = "isReplay")]
    is_replay: Value,
    #[serde(default)]
    uuid: Value,
    #[serde(default)]
    usage: Value,
    #[serde(default)]
    total_cost_usd: Value,
}

impl Message {
    /// The message of ours that this says again; what a tool answered is a `user` message, too.
    fn echoed(&self) -> Option<Uuid> {
        (self.is_replay == Value::Bool(true)).then_some(())?;
        Uuid::try_parse(self.uuid.as_str()?).ok()
    }

    fn answer(&self) -> Answer {
        let subtype = self.subtype.as_deref().unwrap_or_default();
        let failed = self.is_error.unwrap_or(subtype != "success") || subtype.starts_with("error");
        if failed { Answer::Failed(self.why(subtype)) } else { Answer::Done }
    }

    /// The first of what it says, or else what kind of error it is.
    fn why(&self, subtype: &str) -> String {
        let errors: Vec<&str> =
            self.errors.as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        let mut why = match self.result.as_str() {
            Some(text) if !text.trim().is_empty() => text.to_owned(),
            _ if !errors.is_empty() => errors.join("; "),
            _ if subtype.is_empty() => "it does not say which".to_owned(),
            _ => subtype.to_owned(),
        };
        why.truncate(why.floor_char_boundary(WHY_MAX));
        why
    }

    /// Warnings and permissions are not limits.
    fn rejected(&self) -> Option<Option<Millis>> {
        let info = &self.rate_limit_info;
        (info["status"].as_str() == Some("rejected")).then(|| {
            let seconds = info["resetsAt"].as_i64();
            seconds.map(|seconds| Millis(seconds.saturating_mul(1000)))
        })
    }
}

/// The output of one turn.
#[derive(Debug)]
pub(super) struct Stream {
    path: PathBuf,
    at: u64,
    /// The beginning of a line whose end is not there yet.
    line: Vec<u8>,
    /// That line is too long, and its rest is left out.
    overlong: bool,
    pub(super) seen: Seen,
}

impl Stream {
    pub(super) fn of(path: PathBuf) -> Self {
        Self { path, at: 0, line: Vec::new(), overlong: false, seen: Seen::default() }
    }

    /// How much of it is read.
    pub(super) const fn at(&self) -> u64 {
        self.at
    }

    /// Reads a step on; answers where it ends now.
    ///
    /// # Errors
    /// It cannot be read.
    pub(super) fn step(&mut self) -> io::Result<u64> {
        let Some(mut file) = open_file(&self.path)? else { return Ok(0) };
        let (from, end) = (self.at, file.metadata()?.len());
        file.seek(SeekFrom::Start(from))?;
        let mut chunk = vec![0; CHUNK];
        while self.at < end && self.at - from < STEP {
            let read = match file.read(&mut chunk) {
                Ok(0) => break,
                Ok(read) => read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            self.at += read as u64;
            self.take(&chunk[..read]);
        }
        Ok(end)
    }

    /// What is seen of it if it ends here: what has no end of line has ended, too.
    pub(super) fn so_far(&self) -> Seen {
        let mut seen = self.seen.clone();
        if self.overlong {
            seen.skipped += 1;
        } else {
            seen.take(&self.line);
        }
        seen
    }

    fn take(&mut self, bytes: &[u8]) {
        for part in bytes.split_inclusive(|byte| *byte == b'\n') {
            if self.line.len() + part.len() > LINE_MAX {
                self.overlong = true;
                self.line = Vec::new();
            } else if !self.overlong {
                self.line.extend_from_slice(part);
            }
            if part.last() == Some(&b'\n') {
                self.end_line();
            }
        }
    }

    fn end_line(&mut self) {
        if std::mem::take(&mut self.overlong) {
            self.seen.skipped += 1;
        } else {
            self.seen.take(&self.line);
        }
        self.line.clear();
        // A long line does not take its room for good.
        self.line.shrink_to(CHUNK);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn heard(lines: &[&str]) -> Seen {
        let mut seen = Seen::default();
        for line in lines {
            seen.take(line.as_bytes());
        }
        seen
    }

    const INIT: &str = r#"{"type":"system","subtype":"init","session_id":"s-1","tools":[]}"#;
    const REJECTED: &str = r#"{"type":"rate_limit_event","rate_limit_info":{"status":"rejected","resetsAt":1784238600,"rateLimitType":"five_hour"}}"#;

    #[test]
    fn an_answer_is_a_success_only_if_it_says_so() {
        let answer = |line| heard(&[line]).answer.expect("it is an answer");
        let done = r#"{"type":"result","subtype":"success","is_error":false,"result":"ok"}"#;
        assert_eq!(answer(done), Answer::Done);
        assert_eq!(answer(r#"{"type":"result","subtype":"success"}"#), Answer::Done);
        let failed = |why: &str| Answer::Failed(why.to_owned());
        let words = r#"{"type":"result","subtype":"success","is_error":true,"result":"no key"}"#;
        assert_eq!(answer(words), failed("no key"));
        let turns = r#"{"type":"result","subtype":"error_max_turns","is_error":false}"#;
        assert_eq!(answer(turns), failed("error_max_turns"));
        let errors = r#"{"type":"result","subtype":"error_during_execution","is_error":true,"errors":["a","b"]}"#;
        assert_eq!(answer(errors), failed("a; b"));
        assert_eq!(answer(r#"{"type":"result"}"#), failed("it does not say which"));
        let long =
            format!(r#"{{"type":"result","is_error":true,"result":"{}"}}"#, "é".repeat(WHY_MAX));
        assert_eq!(answer(&long), failed(&"é".repeat(WHY_MAX / 2)));
        assert_eq!(
            answer(r#"{"type":"result","is_error":true,"result":7}"#),
            failed("it does not say which")
        );
    }

    #[test]
    fn only_a_rejection_is_a_limit_and_a_later_permission_lifts_it() {
        let allowed = r#"{"type":"rate_limit_event","rate_limit_info":{"status":"allowed","overageStatus":"rejected","resetsAt":5}}"#;
        let warning = r#"{"type":"rate_limit_event","rate_limit_info":{"status":"allowed_warning","resetsAt":5}}"#;
        let unknown = r#"{"type":"rate_limit_event","rate_limit_info":{"status":"rejected"}}"#;
        let said = r#"{"type":"assistant","message":{},"error":"rate_limit"}"#;
        let other = r#"{"type":"assistant","message":{},"error":"authentication_failed"}"#;
        assert_eq!(heard(&[REJECTED]).limit(), Some(Some(Millis(1_784_238_600_000))));
        assert_eq!(heard(&[unknown]).limit(), Some(None));
        assert_eq!(heard(&[said]).limit(), Some(None));
        assert_eq!(heard(&[said, REJECTED]).limit(), Some(Some(Millis(1_784_238_600_000))));
        for lines in [&[allowed][..], &[warning], &[REJECTED, allowed], &[other], &[INIT]] {
            assert_eq!(heard(lines).limit(), None, "{lines:?}");
        }
    }

    #[test]
    fn what_is_no_message_is_counted_and_what_is_unknown_is_not() {
        let torn = r#"{"type":"assistant","message":{"content":"half {"type":"result"}}"#;
        let lines =
            ["no json", "[1,2,3]", r#"["result"]"#, torn, r#"{"type":7}"#, "{}", "\u{1b}[2J"];
        let seen = heard(&lines);
        assert_eq!((seen.skipped, seen.answer), (7, None));
        let seen = heard(&["", "  ", r#"{"type":"brand_new"}"#, INIT]);
        assert_eq!((seen.skipped, seen.session.as_deref()), (0, Some("s-1")));
    }

    fn echo(id: &str) -> String {
        format!(
            r#"{{"type":"user","message":{{"role":"user","content":[]}},"uuid":"{id}","isReplay":true}}"#
        )
    }

    const ID: &str = "018f0000-0000-7000-8000-00000000000a";

    /// EXEC-06
    #[test]
    fn an_echo_of_a_message_is_its_proof_and_nothing_else_is() {
        let (whole, other) = (echo(ID), echo("018f0000-0000-7000-8000-00000000000b"));
        let seen = heard(&[&whole, &other, &whole]);
        let ids =
            [ID, "018f0000-0000-7000-8000-00000000000b"].map(|id| id.parse().expect("a uuid"));
        assert_eq!(seen.echoes, BTreeSet::from(ids));
        let tool = whole.replace(r#","isReplay":true"#, "");
        let said = whole.replace("true", r#""true""#);
        let denied = whole.replace("true", "false");
        let nameless = whole.replace(ID, "evt_1");
        let number = whole.replace(&format!("\"{ID}\""), "7");
        let whose = whole.replace(r#""type":"user""#, r#""type":"assistant""#);
        for line in [tool, said, denied, nameless, number, whose] {
            let seen = heard(&[&line]);
            assert_eq!((seen.echoes.len(), seen.skipped), (0, 0), "{line}");
        }
    }

    #[test]
    fn a_turn_that_begins_after_an_answer_is_not_answered_by_it() {
        let done = r#"{"type":"result","subtype":"success","is_error":false}"#;
        let failed = r#"{"type":"result","subtype":"error_during_execution","is_error":true}"#;
        let echo = echo(ID);
        let one = heard(&[INIT, &echo, done]);
        assert_eq!((one.last_answer(), one.goes_on()), (Some(&Answer::Done), false));
        for begun in [&[INIT, done, INIT][..], &[INIT, done, &echo]] {
            let seen = heard(begun);
            assert_eq!((seen.last_answer(), seen.goes_on()), (None, true), "{begun:?}");
        }
        let both = heard(&[INIT, done, INIT, &echo, failed]);
        assert!(matches!(both.last_answer(), Some(Answer::Failed(_))), "the last one counts");
        assert_eq!((both.answers, both.goes_on()), (2, false));
    }

    #[test]
    fn output_is_read_as_it_grows_and_lines_of_any_length_are_got_over() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("stdout.log");
        let mut stream = Stream::of(path.clone());
        let read = |stream: &mut Stream| while stream.step().expect("readable") > stream.at() {};
        assert_eq!(stream.step().expect("not there yet"), 0);
        let (begin, rest) = INIT.split_at(20);
        std::fs::write(&path, begin).expect("written");
        read(&mut stream);
        assert_eq!(stream.seen.session, None);
        let giant = "x".repeat(LINE_MAX * 2);
        let more = format!("{begin}{rest}\n{giant}\n{{\"type\":\"result\",\"is_error\":false}}");
        std::fs::write(&path, more).expect("written");
        read(&mut stream);
        assert_eq!((stream.seen.session.as_deref(), stream.seen.skipped), (Some("s-1"), 1));
        assert_eq!(stream.seen.answer, None, "that line has no end yet");
        assert_eq!(stream.so_far().answer, Some(Answer::Done));
    }
}
