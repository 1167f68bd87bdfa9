//! The demo as its journal has it: what was committed, when, and by whom, in plain words.

use std::process::Stdio;

use serde_json::Value;
use tokio::process::Command;

use super::stage::Stage;
use crate::cli::Failure;
use crate::cli::show::text::printable;

/// A work's id, and what the story calls it.
pub(super) type Label = (String, String);

/// Reads the journal as anybody would, with `abide journal export`, and tells it.
pub(super) async fn of(stage: &Stage, labels: &[Label]) -> Result<String, Failure> {
    let exported = Command::new(&stage.program)
        .args(["journal", "export", "-c"])
        .arg(stage.path("abide.toml"))
        .stdin(Stdio::null())
        .output()
        .await
        .map_err(|error| Failure::refused(format!("cannot read the journal: {error}")))?;
    if !exported.status.success() {
        let said = String::from_utf8_lossy(&exported.stderr);
        return Err(Failure::refused(format!("cannot read the journal: {}", said.trim())));
    }
    Ok(told(&String::from_utf8_lossy(&exported.stdout), labels))
}

fn told(journal: &str, labels: &[Label]) -> String {
    let rows: Vec<Value> =
        journal.lines().skip(1).filter_map(|line| serde_json::from_str(line).ok()).collect();
    let at = |row: &Value| row["args"]["at"].as_i64().unwrap_or_default();
    let begun = rows.first().map(at).unwrap_or_default();
    let mut lines = vec!["\nThe same as a timeline, from the journal:".to_owned()];
    for row in &rows {
        let Some(said) = sentence(row, labels) else { continue };
        let since = at(row) - begun;
        let time = format!("{}.{:02}s", since / 1000, since % 1000 / 10);
        lines.push(printable(&format!("  {time:>7}  {:<16}  {said}", who(row, labels))));
    }
    lines.join("\n")
}

/// Who acted, shortly.
fn who(row: &Value, labels: &[Label]) -> String {
    let actor = row["args"]["actor"].as_str().unwrap_or("?");
    let kind = actor.split_once(':');
    match kind {
        Some(("attempt", rest)) => {
            let (work, attempt) = rest.split_once('/').unwrap_or((rest, "?"));
            format!("{} attempt {}", label(work, labels), attempt.split('@').next().unwrap_or("?"))
        }
        Some(("ingress" | "loop" | "principal", name)) => name.to_owned(),
        Some(_) | None => actor.to_owned(),
    }
}

fn label(work: &str, labels: &[Label]) -> String {
    let named = labels.iter().find(|(id, _)| id == work);
    named.map_or_else(|| work.to_owned(), |(_, label)| label.clone())
}

/// What a row says. Steps of the machinery between a claim and its process are left out.
fn sentence(row: &Value, labels: &[Label]) -> Option<String> {
    let args = &row["args"];
    let (outcome, detail) = row["outcome"].as_object()?.iter().next()?;
    // A receipt names its kind around its facts; a refusal is its code.
    let detail = detail.as_object().and_then(|receipt| receipt.values().next()).unwrap_or(detail);
    let work = detail["work"].as_str().or(args["work"].as_str()).map(|id| label(id, labels));
    let work = work.unwrap_or_default();
    let said = match (row["action"].as_str()?, outcome.as_str()) {
        ("accept", "accepted") => format!("event {}: {}", detail["seq"], text(&args["type"])),
        ("accept", "duplicate") => format!("event {} again: nothing changes", detail["seq"]),
        ("commit_route", "accepted") => routed(detail, &work),
        ("claim", "accepted") => format!(
            "{work} attempt {} is claimed, epoch {} ({})",
            detail["attempt"],
            detail["epoch"],
            text(&detail["reason"])
        ),
        ("register_wait", "accepted") => format!("{work} waits; its lease is given back"),
        ("claim_recovery", "accepted") => {
            let (attempt, epoch) = (&detail["attempt"], &detail["epoch"]);
            format!("{work} attempt {attempt}: lease over, taken at epoch {epoch}")
        }
        ("settle_recovery", "accepted") => {
            format!("{work} attempt {} is {}", args["attempt"], text(&args["verdict"]))
        }
        ("complete", "accepted") => format!(
            "{work} attempt {} is completed, the work {}",
            detail["attempt"],
            text(&detail["status"])
        ),
        ("cancel", "accepted") => format!("{work} is cancelled"),
        ("settle_dispatch", "accepted") => {
            format!("event {} is sent to {work}: {}", detail["event"], text(&detail["status"]))
        }
        ("hold", "accepted") => format!("{work} is held"),
        ("release", "accepted") => format!("{work} is released, by event {}", detail["seq"]),
        ("reload", "accepted") => format!("configuration {} is current", detail["generation"]),
        // The host saw the process end after its wait had given the attempt back.
        ("fail" | "complete", "refused") if text(detail) == "stale_authority" => {
            format!("{work}'s process ends; it had nothing left to say")
        }
        (action, "refused") => format!("{action} is refused: {}", text(detail)),
        _ => return None,
    };
    Some(said)
}

fn routed(detail: &Value, work: &str) -> String {
    let event = &detail["event"];
    match detail["mark"].as_str() {
        Some("queued") => format!("event {event} is input of {work}"),
        Some("inject") => format!("event {event} is input of {work}, to be sent at once"),
        Some("woke") => format!("event {event} wakes {work}"),
        Some("unmatched") => format!("event {event} is wanted by nobody"),
        Some("terminal") => format!("event {event} comes too late for {work}"),
        Some(mark) => format!("event {event}: {mark}"),
        None => format!("event {event} is routed"),
    }
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or("?")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// A row as it is exported, by an actor at a time.
    fn row(at: i64, actor: &str, action: &str, work: &str, outcome: &str, detail: &Value) -> Value {
        let args = json!({ "at": at, "actor": actor, "type": "pull_request.opened", "work": work });
        json!({
            "action": action, "args": args, "outcome": { outcome: { "receipt": detail } },
        })
    }

    #[test]
    fn a_journal_is_told_in_plain_words() {
        let event = json!({ "seq": 1 });
        let queued = json!({ "event": 1, "mark": "queued", "work": "work_1" });
        let claimed = json!({ "work": "work_1", "attempt": 1, "epoch": 1, "reason": "start" });
        let pinned = json!({ "work": "work_1", "attempt": 1 });
        let waits = json!({ "wait": "wait_1", "winner": null });
        let (github, holder) = ("ingress:github", "attempt:work_1/1@1");
        let rows = [
            json!({ "trace": 1, "database": "x", "universe": {}, "tick_ms": 1 }),
            row(1000, github, "accept", "", "accepted", &event),
            row(1010, github, "accept", "", "duplicate", &event),
            row(1015, "loop:router", "commit_route", "", "accepted", &queued),
            row(1020, "loop:scheduler", "claim", "work_1", "accepted", &claimed),
            row(1030, holder, "pin", "work_1", "accepted", &pinned),
            row(2100, holder, "register_wait", "work_1", "accepted", &waits),
            row(12_345, "principal:ops", "cancel", "work_2", "accepted", &json!({})),
        ];
        let journal = rows.map(|row| row.to_string()).join("\n");
        insta::assert_snapshot!(told(&journal, &[("work_1".into(), "#42".into())]), @r"
        The same as a timeline, from the journal:
            0.00s  github            event 1: pull_request.opened
            0.01s  github            event 1 again: nothing changes
            0.01s  router            event 1 is input of #42
            0.02s  scheduler         #42 attempt 1 is claimed, epoch 1 (start)
            1.10s  #42 attempt 1     #42 waits; its lease is given back
           11.34s  ops               work_2 is cancelled
        ");
    }
}
