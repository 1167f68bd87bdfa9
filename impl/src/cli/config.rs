//! `abide config`: which configuration is current, what was before, and reading it again.

use std::io::{self, IsTerminal};

use super::operator::Operator;
use super::place::Asked;
use super::show::{self, Screen};
use super::{Code, Ran, block_on, output};
use crate::api::types::{ConfigDetail, ConfigHistory, ReloadAnswer};

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, clap::Subcommand)]
enum Verb {
    /// The configuration the daemon uses, or used once, without its comments
    Show(Show),
    /// Every configuration that was current, and what was refused since the daemon started
    History(History),
    /// Read the file again: what is not valid is refused whole, and the old one stays
    Reload(Reload),
}

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  abide config show
  abide config show --generation 3 > 3.toml")]
struct Show {
    /// An earlier one, by its number
    #[arg(long, value_name = "N")]
    generation: Option<i64>,
    /// Print it as JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    asked: Asked,
}

#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  abide config history")]
struct History {
    /// Print it as JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    asked: Asked,
}

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Example:
  abide check && abide config reload

What runs, and what is parked, goes on under the configuration it began with. The doors and the \
database stay as they are until the daemon is restarted.")]
struct Reload {
    /// Print the answer as JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    asked: Asked,
}

pub(super) fn run(args: &Args) -> Ran {
    block_on(async {
        match &args.verb {
            Verb::Show(show) => self::show(show).await,
            Verb::History(history) => self::history(history).await,
            Verb::Reload(reload) => self::reload(reload).await,
        }
    })
}

async fn show(args: &Show) -> Ran {
    let query = args.generation.map_or(String::new(), |n| format!("?generation={n}"));
    let config: ConfigDetail = Operator::of(&args.asked)?.get(&format!("/config{query}")).await?;
    if args.json {
        output::json(&config)?;
    } else {
        output::bytes(text(&config.text, io::stdout().is_terminal()).as_bytes())?;
    }
    Ok(Code::Done)
}

/// A terminal is shown what it must not obey; a file gets the text as it is.
fn text(text: &str, terminal: bool) -> String {
    if !terminal {
        return text.to_owned();
    }
    let shown = |line: &str| {
        let words: Vec<String> = line.split('\t').map(show::text::printable).collect();
        words.join("\t")
    };
    text.split('\n').map(shown).collect::<Vec<_>>().join("\n")
}

async fn history(args: &History) -> Ran {
    let operator = Operator::of(&args.asked)?;
    let mut history: ConfigHistory = operator.get("/config/history?limit=1000").await?;
    while let Some(after) = history.page.next {
        let more: ConfigHistory =
            operator.get(&format!("/config/history?limit=1000&after={after}")).await?;
        history.page.items.extend(more.page.items);
        history.page.next = more.page.next;
    }
    output::answer(args.json, &history, || show::lists::history(&history, Screen::of_process()))
}

async fn reload(args: &Reload) -> Ran {
    let operator = Operator::of(&args.asked)?;
    let answer: ReloadAnswer = operator.post("/config/reload", &serde_json::json!({})).await?;
    output::answer(args.json, &answer, || said(&answer))
}

fn said(answer: &ReloadAnswer) -> String {
    let ReloadAnswer { generation, changed, notes } = answer;
    let first = match changed {
        true => format!("configuration {generation} is current"),
        false => format!("nothing has changed: configuration {generation} stays current"),
    };
    let notes = notes.iter().map(|note| format!("note: {}", show::text::printable(note)));
    std::iter::once(first).chain(notes).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_terminal_obeys_nothing_of_a_configuration() {
        let kept = "a = \"\u{9b}31m\u{202e}\"\n\tb = 1\n";
        assert_eq!(text(kept, false), kept);
        assert_eq!(text(kept, true), "a = \"\\u{9b}31m\\u{202e}\"\n\tb = 1\n");
    }

    #[test]
    fn a_reload_says_whether_anything_changed() {
        let mut answer = ReloadAnswer { generation: 3, changed: true, notes: vec!["a".into()] };
        assert_eq!(said(&answer), "configuration 3 is current\nnote: a");
        answer.changed = false;
        answer.notes.clear();
        assert_eq!(said(&answer), "nothing has changed: configuration 3 stays current");
    }
}
