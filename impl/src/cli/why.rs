//! `abide why`: one sentence on why something is where it is, and the command that would move it.

use super::operator::{Operator, segment};
use super::place::Asked;
use super::show::Screen;
use super::show::text::{printable, wrapped};
use super::{Ran, block_on, output};
use crate::api::types::Why;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  abide why work_01kb3n8x9q
  abide why 12")]
pub(super) struct Args {
    /// A work, event, attempt or wait: its id or the beginning of it; or an event's sequence
    #[arg(value_name = "ID")]
    id: String,
    /// Print it as JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    asked: Asked,
}

pub(super) fn run(args: &Args) -> Ran {
    let operator = Operator::of(&args.asked)?;
    let why: Why = block_on(operator.get(&format!("/why/{}", segment(&args.id))))?;
    output::answer(args.json, &why, || said(&why, Screen::of_process()))
}

fn said(why: &Why, screen: Screen) -> String {
    let sentence = wrapped(&printable(&why.sentence), "", screen.width);
    match &why.next {
        Some(next) => format!("{sentence}\n  next: {}", printable(next)),
        None => sentence,
    }
}

#[cfg(test)]
mod tests {
    use super::super::show::canned;
    use super::*;

    #[test]
    fn the_sentence_comes_first_and_the_command_after_it() {
        let mut why = Why {
            id: "work_1".into(),
            sentence: "work_1 is held: its attempt 3 failed".into(),
            next: Some("abide work cancel work_1".into()),
        };
        assert_eq!(
            said(&why, canned::screen()),
            "work_1 is held: its attempt 3 failed\n  next: abide work cancel work_1"
        );
        why.next = None;
        assert_eq!(said(&why, canned::screen()), "work_1 is held: its attempt 3 failed");
    }
}
