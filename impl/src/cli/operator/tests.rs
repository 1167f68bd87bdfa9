//! What each answer of a door, and each way of not answering, is to whoever asked.

use std::path::Path;

use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::*;
use crate::cli::block_on;
use crate::keeper::socket;

fn operator(folder: &Path) -> Operator {
    Operator {
        socket: folder.join("operator.sock"),
        token: "secret".to_owned(),
        start: "abide serve -c abide.toml".to_owned(),
    }
}

/// Asks a door that reads one request and answers these bytes; gives back what it was asked, too.
fn asked(answer: &'static str) -> (Result<serde_json::Value, Failure>, String) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let operator = operator(folder.path());
    let mut seen = String::new();
    let result = block_on(async {
        let listener = socket::listen(&operator.socket).expect("it listens");
        let door = async {
            let (mut stream, _) = listener.accept().await.expect("somebody asks");
            let mut buffer = [0; 4096];
            let read = stream.read(&mut buffer).await.expect("a request");
            seen = String::from_utf8_lossy(&buffer[..read]).into_owned();
            stream.write_all(answer.as_bytes()).await.expect("an answer");
            stream.shutdown().await.expect("the end");
        };
        let (result, ()) = tokio::join!(operator.get("/work/work_1"), door);
        result
    });
    (result, seen)
}

fn problem(status: u16, body: &str) -> &'static str {
    let length = body.len();
    let text = format!(
        "HTTP/1.1 {status} X\r\ncontent-type: application/problem+json\r\n\
         content-length: {length}\r\n\r\n{body}"
    );
    Box::leak(text.into_boxed_str())
}

#[test]
fn a_call_carries_the_token_and_its_answer_is_read() {
    let (answer, seen) = asked("HTTP/1.1 200 OK\r\ncontent-length: 8\r\n\r\n{\"a\": 1}");
    assert_eq!(answer.expect("an answer")["a"], 1);
    assert!(seen.starts_with("GET /work/work_1 HTTP/1.1\r\n"), "{seen}");
    assert!(seen.contains("authorization: Bearer secret\r\n"), "{seen}");
}

#[test]
fn a_daemon_that_does_not_run_is_named_with_the_command_that_starts_it() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let operator = operator(folder.path());
    let failure = block_on(operator.get::<()>("/work")).expect_err("nobody listens");
    assert_eq!(failure.code, Code::Refused);
    assert!(failure.message.contains("the daemon is not running"), "{}", failure.message);
    assert!(failure.message.contains("abide serve -c abide.toml"), "{}", failure.message);
}

#[test]
fn a_refusal_is_one_line_with_its_code_and_exits_with_1() {
    let body = r#"{"status":404,"code":"unknown_work","title":"there is no such work"}"#;
    let failure = asked(problem(404, body)).0.expect_err("refused");
    assert_eq!(failure.code, Code::Refused);
    assert_eq!(failure.message, "unknown_work: there is no such work; next: see `abide work list`");
}

#[test]
fn what_may_succeed_later_exits_with_75() {
    for (status, code) in [(409, "conflict"), (409, "out_of_turn"), (429, "x"), (503, "draining")] {
        let body = format!(r#"{{"status":{status},"code":"{code}","title":"not now"}}"#);
        let failure = asked(problem(status, &body)).0.expect_err("refused");
        assert_eq!(failure.code, Code::Later, "{code}");
        assert!(failure.message.ends_with("not now; next: try later"), "{}", failure.message);
    }
}

#[test]
fn something_else_on_the_socket_is_said_to_be_that() {
    let failure = asked(problem(500, "<html>")).0.expect_err("refused");
    assert_eq!(failure.message, "http_500: the door answered without saying why");
    let failure = asked("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nno").0.expect_err("no JSON");
    assert!(failure.message.contains("same version"), "{}", failure.message);
}

#[test]
fn a_lost_answer_may_be_asked_for_again() {
    let failure = asked("HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n{").0.expect_err("cut off");
    assert_eq!(failure.code, Code::Later);
}

#[test]
fn an_id_cannot_leave_its_place_in_the_path() {
    assert_eq!(segment("work_01kb"), "work_01kb");
    assert_eq!(segment("../x?y=1#z é"), "..%2Fx%3Fy%3D1%23z%20%C3%A9");
}
