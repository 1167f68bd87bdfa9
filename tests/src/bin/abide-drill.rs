//! `abide` with a hand on it: the same program, which kills itself, a keeper or a command where a plan says so.
//!
//! The plan lies in a folder `drill` above its last argument, which is the configuration of a daemon and the segment's
//! folder of a keeper; without one it is `abide`. `abide` itself has no way to read a plan.

use std::io;
use std::path::PathBuf;
use std::process::ExitCode;

use abide::keeper::identity::Identity;
use abide::points::{Point, Points};
use abide_tests::drill::{Drill, Held, Victim, command_of};

fn main() -> ExitCode {
    let served = drill().filter(|_| is("serve")).map_or(Ok(()), |drill| drill.serve());
    if let Err(error) = served {
        eprintln!("abide-drill: {error}");
        return ExitCode::FAILURE;
    }
    abide::cli::main_passing(Points::told_to(pass))
}

fn drill() -> Option<Drill> {
    let last = std::env::args_os().next_back().map(PathBuf::from)?;
    Drill::above(&std::path::absolute(last).ok()?)
}

/// Whether this process was started as that.
fn is(command: &str) -> bool {
    std::env::args().nth(1).as_deref() == Some(command)
}

/// What cannot be done fails the drill by not being done: the test looks for it.
fn pass(point: Point) {
    let Some(drill) = drill() else { return };
    let done = drill.pass(point).and_then(|turn| match turn {
        Some(turn) => {
            let victim = find(&drill, turn.victim());
            turn.kill(victim.as_ref().ok().and_then(Option::as_ref))?;
            victim.map(drop)
        }
        None => Ok(()),
    });
    if let Err(error) = done {
        eprintln!("abide-drill: at {point:?}: {error}");
    }
}

fn find(drill: &Drill, victim: Victim) -> io::Result<Option<Identity>> {
    match victim {
        Victim::Daemon if is("serve") => Identity::current().map(Some),
        Victim::Daemon => drill.daemon(),
        Victim::Keeper => keeper(drill),
        Victim::Command => match keeper(drill)? {
            Some(keeper) => command_of(&keeper),
            None => Ok(None),
        },
    }
}

/// This process, or the newest keeper that lives.
fn keeper(drill: &Drill) -> io::Result<Option<Identity>> {
    if is("keeper") {
        return Identity::current().map(Some);
    }
    let mut held = Held::all(&drill.beside().join("state"))?;
    Ok(held.pop().map(|held| held.keeper))
}
