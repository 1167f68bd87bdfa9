//! `abide drain`: lets a daemon go once no attempt runs.

use std::path::Path;
use std::time::{Duration, Instant};

use super::operator::Operator;
use super::place::Asked;
use super::show::text::{counted, printable, short, short_length};
use super::{Code, Failure, Ran, block_on, output};
use crate::api::types::{DrainRequest, DrainRow};
use crate::config::{duration, length};
use crate::store::lock::{beside, holder};
use crate::store::{Store, works};

/// How often it is asked how far it is.
const PACE: Duration = Duration::from_millis(200);

/// How much longer than it was given a daemon may be silent on how it went.
const SLACK: Duration = Duration::from_secs(30);

/// How long a daemon may take to end once nothing runs.
const GONE_MAX: Duration = Duration::from_secs(30);

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  abide drain --timeout 30m && systemctl stop abide
  abide drain --cancel

While it drains, the daemon claims nothing more and everything else goes on: events are kept and \
routed, attempts report, waits wake. It ends once no attempt runs, and then this exits 0. If that \
does not come in the time given, the daemon claims again and goes on, and this exits 75: SIGTERM \
stops it at once instead and leaves running attempts to the next one. Interrupting this command does \
not end the draining.")]
pub(super) struct Args {
    /// Give up after so long, as 90s or 30m; without it there is no limit
    #[arg(long, value_name = "T", value_parser = length_of)]
    timeout: Option<crate::domain::Duration>,
    /// Let the daemon claim again
    #[arg(long, conflicts_with = "timeout")]
    cancel: bool,
    #[command(flatten)]
    asked: Asked,
}

fn length_of(text: &str) -> Result<crate::domain::Duration, String> {
    let most = crate::domain::Duration::seconds(365 * 86_400);
    match duration(text) {
        Ok(length) if length <= most => Ok(length),
        Ok(_) => Err("is longer than a year".to_owned()),
        Err(wrong) => Err(wrong.to_owned()),
    }
}

pub(super) fn run(args: &Args) -> Ran {
    block_on(async {
        let operator = Operator::of(&args.asked)?;
        let place = beside(&args.asked.place.database_path()?);
        let asked = held_by(&place)?;
        let request =
            DrainRequest { timeout_ms: args.timeout.map(|length| length.0), cancel: args.cancel };
        let row: DrainRow = operator.post("/drain", &request).await?;
        if args.cancel {
            return cancelled(&row);
        }
        if wait(args, &operator, row).await? {
            gone(args, asked.as_deref()).await
        } else {
            late(args)
        }
    })
}

fn held_by(place: &Path) -> Result<Option<String>, Failure> {
    holder(place).map_err(|error| Failure::new(Code::Later, error.to_string()))
}

fn cancelled(row: &DrainRow) -> Ran {
    if row.draining {
        let what = "too late: nothing runs any more, and the daemon is ending; start it again";
        return Err(Failure::refused(what.to_owned()));
    }
    output::line("not draining: attempts are claimed again")?;
    Ok(Code::Done)
}

/// Whether the daemon that was asked is gone; `false` if it is silent on that for too long.
async fn wait(args: &Args, operator: &Operator, mut row: DrainRow) -> Result<bool, Failure> {
    let begun = Instant::now();
    let most = args.timeout.map(|most| most.std().saturating_add(SLACK));
    let mut told = None;
    loop {
        if !row.draining {
            return Err(not_drained(args, &row));
        }
        if told != Some(row.running) {
            output::aside(&progress(&row));
            told = Some(row.running);
        }
        if most.is_some_and(|most| begun.elapsed() > most) {
            return Ok(false);
        }
        tokio::time::sleep(PACE).await;
        match operator.try_get::<DrainRow>("/drain").await? {
            Some(next) if next.instance == row.instance => row = next,
            // Nobody is there any more, or another.
            Some(_) | None => return Ok(true),
        }
    }
}

fn progress(row: &DrainRow) -> String {
    if row.running == 0 {
        return "draining: nothing runs, and the daemon is about to end".to_owned();
    }
    let length = short_length(row.works.iter().map(String::as_str));
    let named: Vec<String> = row.works.iter().map(|work| short(work, length)).collect();
    let more = match row.running.saturating_sub(named.len() as u64) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let running = counted(usize::try_from(row.running).unwrap_or(usize::MAX), "attempt");
    format!("draining: {running} still to end, of {}{more}", printable(&named.join(", ")))
}

fn not_drained(args: &Args, row: &DrainRow) -> Failure {
    let running = counted(usize::try_from(row.running).unwrap_or(usize::MAX), "attempt");
    let within = args.timeout.map_or(String::new(), |most| format!(" within {}", length(most)));
    Failure::new(
        Code::Later,
        format!(
            "not drained{within}: {running} run, and the daemon claims again; ask for longer, or stop \
             it with SIGTERM, which leaves them to the next daemon"
        ),
    )
}

fn late(args: &Args) -> Ran {
    let within = args.timeout.map_or(String::new(), |most| format!(" within {}", length(most)));
    Err(Failure::new(
        Code::Later,
        format!(
            "not drained{within}, and the daemon does not say that it claims again: see its log"
        ),
    ))
}

/// The door is closed: the daemon ends, and it is drained if nothing is left running.
async fn gone(args: &Args, asked: Option<&str>) -> Ran {
    let database = args.asked.place.database()?;
    let place = beside(&database);
    let begun = Instant::now();
    loop {
        match held_by(&place)? {
            None => break,
            Some(other) if asked != Some(&other) => return Err(replaced(&other)),
            Some(same) if begun.elapsed() >= GONE_MAX => {
                let place = place.display();
                return Err(Failure::new(
                    Code::Later,
                    format!("{same} has closed its doors and holds {place} still: see its log"),
                ));
            }
            Some(_) => tokio::time::sleep(PACE).await,
        }
    }
    let running = Store::open_reader(&database)
        .and_then(|store| works::running(&mut store.session()))
        .map_err(|error| Failure::refused(error.to_string()))?;
    if running > 0 {
        let running = counted(usize::try_from(running).unwrap_or(usize::MAX), "attempt");
        return Err(Failure::refused(format!(
            "the daemon ended before it was drained: {running} run on under their keepers, for the \
             next `{}`",
            args.asked.place.start_command()
        )));
    }
    output::line("drained: the daemon has ended, and no attempt runs")?;
    Ok(Code::Done)
}

/// Somebody starts daemons here: what was drained is claimed by the next.
fn replaced(other: &str) -> Failure {
    Failure::refused(format!(
        "the daemon that was asked has ended, and {other} serves the database now: a service manager \
         that starts a daemon again that ended in order undoes a drain (systemd: Restart=on-failure)"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn progress_names_what_it_waits_for() {
        let works = ["work_01kb3n8x9qf8vta3g5w2m6r1zd", "work_01kb3n8x9rf8vta3g5w2m6r2aa"];
        let works = works.map(str::to_owned).to_vec();
        let instance = String::new();
        let mut row = DrainRow { instance, draining: true, running: 3, works, left_ms: None };
        assert_eq!(
            progress(&row),
            "draining: 3 attempts still to end, of work_01kb3n8x9qf8, work_01kb3n8x9rf8 and 1 more"
        );
        row.running = 0;
        assert!(progress(&row).contains("about to end"));
        let late = cancelled(&row).expect_err("it is ending");
        assert!(late.message.starts_with("too late"), "{}", late.message);
    }

    #[test]
    fn a_bound_is_a_length_of_at_most_a_year() {
        assert!(length_of("30m").is_ok());
        assert!(length_of("soon").is_err());
        assert!(length_of("366d").is_err());
    }
}
