//! A path as a sequence picture: who acts on what, newest below, self-contained SVG and Mermaid.

use std::fmt::Write;

use crate::action::{Action, Commit, Env};
use crate::law::Law;
use crate::story::{Told, tell};

/// Lanes from left to right.
const LANES: [&str; 5] = ["sender", "daemon", "Work", "executor", "clock"];
const LANE_WIDTH: usize = 150;
const ROW_HEIGHT: usize = 30;
/// Steps drawn; earlier ones are left to the list beside the picture.
const ROWS: usize = 14;

/// Which lane an action starts from.
fn lane(action: &Action) -> usize {
    match action {
        Action::Commit(commit) => match commit {
            Commit::Accept { .. }
            | Commit::Cancel { .. }
            | Commit::Reload { .. }
            | Commit::Drop { .. }
            | Commit::Replay { .. }
            | Commit::Reopen { .. }
            | Commit::CreateWork { .. }
            | Commit::Hold { .. }
            | Commit::Release { .. }
            | Commit::Retry { .. }
            | Commit::Interrupt { .. }
            | Commit::Restore
            | Commit::ReleaseRestore { .. } => 0,
            Commit::CommitRoute { .. }
            | Commit::Claim { .. }
            | Commit::ClearNeverHanded { .. }
            | Commit::Renew { .. }
            | Commit::Wake { .. }
            | Commit::Translate { .. }
            | Commit::ClaimRecovery { .. }
            | Commit::Detach { .. }
            | Commit::Dispatch { .. }
            | Commit::SettleDispatch { .. }
            | Commit::Vacate { .. } => 1,
            Commit::Pin { .. }
            | Commit::Complete { .. }
            | Commit::Fail { .. }
            | Commit::RegisterWait { .. }
            | Commit::SettleRecovery { .. } => 3,
            Commit::FireTimer { .. }
            | Commit::AcceptTimeout { .. }
            | Commit::FireRetry { .. }
            | Commit::CloseIdle { .. } => 4,
        },
        Action::World(
            Env::Evaluate { .. }
            | Env::Crash
            | Env::Launch { .. }
            | Env::Proceed { .. }
            | Env::Deliver { .. },
        ) => 1,
        Action::World(Env::Tick) => 4,
        Action::World(
            Env::ProcessExits { .. }
            | Env::LetGo { .. }
            | Env::ProcessEnds { .. }
            | Env::KeeperDies { .. }
            | Env::TakeIn { .. },
        ) => 3,
    }
}

/// The picture brings its own paper: the Explorer's page is dark, a report's is light.
const PAPER: &str = "#fdfdfb";

/// The last steps of a path as SVG, scaled to fit beside the Explorer's lists.
pub fn svg(law: Law, actions: &[Action]) -> String {
    let told = tell(law, actions);
    let shown = &told[told.len().saturating_sub(ROWS)..];
    let first = told.len() - shown.len() + 1;
    let width = LANE_WIDTH * LANES.len();
    let height = ROW_HEIGHT * (shown.len() + 2);
    let mut out = format!(
        "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {width} {height}' \
         style='width:100%;max-width:760px;font:11px sans-serif'>\
         <rect width='{width}' height='{height}' rx='8' fill='{PAPER}'/>"
    );
    for (nth, name) in LANES.iter().enumerate() {
        let x = centre(nth);
        let _ = write!(
            out,
            "<text x='{x}' y='16' text-anchor='middle' font-weight='bold' fill='#222'>{name}</text>\
             <line x1='{x}' y1='22' x2='{x}' y2='{height}' stroke='#bbb'/>"
        );
    }
    for (row, (nth, step)) in (first..).zip(shown).enumerate() {
        out.push_str(&arrow(nth, row, step));
    }
    out.push_str("</svg>");
    out
}

fn centre(lane: usize) -> usize {
    lane * LANE_WIDTH + LANE_WIDTH / 2
}

fn colour(step: &Told) -> &'static str {
    match (step.broke.is_some(), step.outcome.accepted()) {
        (true, _) => "#c00",
        (false, true) => "#063",
        (false, false) => "#a60",
    }
}

/// An arrow to the Work, or a dot where nothing durable is touched; a broken property is red.
fn arrow(nth: usize, row: usize, step: &Told) -> String {
    let (y, from, to) = ((row + 2) * ROW_HEIGHT, centre(lane(&step.action)), centre(2));
    let ink = colour(step);
    let label = escape(&format!("{nth}. {} => {}", step.sentence, step.answer));
    let mark = match step.action {
        Action::Commit(_) => format!(
            "<line x1='{from}' y1='{y}' x2='{to}' y2='{y}' stroke='{ink}'/><circle cx='{to}' cy='{y}' r='3' fill='{ink}'/>"
        ),
        Action::World(_) => format!("<circle cx='{from}' cy='{y}' r='3' fill='#888'/>"),
    };
    // The halo keeps the lanes from crossing the words.
    let halo = format!("paint-order:stroke;stroke:{PAPER};stroke-width:3px");
    format!("{mark}<text x='8' y='{}' fill='{ink}' style='{halo}'>{label}</text>", y - 5)
}

/// Text for HTML and SVG.
pub fn escape(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('\'', "&#39;")
        .replace('"', "&quot;")
}

/// The whole path as a Mermaid sequence diagram.
pub fn mermaid(law: Law, actions: &[Action]) -> String {
    let mut out = String::from("sequenceDiagram\n");
    for name in LANES {
        let _ = writeln!(out, "    participant {name}");
    }
    for step in tell(law, actions) {
        out.push_str(&message(&step));
    }
    out
}

fn message(step: &Told) -> String {
    let from = LANES[lane(&step.action)];
    // Mermaid ends a statement at a semicolon and reads `#` as an entity.
    let clean = |text: &str| text.replace([';', '#'], ",");
    let line = match step.action {
        Action::Commit(_) => {
            format!("    {from}->>Work: {} → {}\n", clean(&step.sentence), clean(&step.answer))
        }
        Action::World(_) => format!("    Note over {from}: {}\n", clean(&step.sentence)),
    };
    match step.broke {
        Some(property) => format!("{line}    Note over Work: broken: {}\n", clean(property.name)),
        None => line,
    }
}
