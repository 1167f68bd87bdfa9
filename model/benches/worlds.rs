//! How fast the law is explored: states a CPU second and bytes a state, by world. Reported, never asserted.
//!
//! Each world is explored in a process of its own, so that its memory is its own.

use std::process::Command;
use std::time::Instant;

use abide_model::graph::explore;
use abide_model::law::Law;
use abide_model::worlds::{self, Visit, World, visit};

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let asked = arguments.iter().skip_while(|argument| *argument != "--world").nth(1);
    match asked.and_then(|name| worlds::named(name)) {
        Some(world) => visit(world, Explore),
        None => every_world(),
    }
}

#[expect(clippy::print_stdout, reason = "a benchmark's output is its result")]
fn say(line: &str) {
    println!("{line}");
}

fn every_world() {
    say("world                 states   transitions   k states/CPU-s   bytes/state with all edges");
    for world in worlds::ALL {
        let own = std::env::current_exe().expect("this program has a path");
        let child = Command::new(own).args(["--world", world.name]).status();
        assert!(child.is_ok_and(|status| status.success()), "{} was not explored", world.name);
    }
}

struct Explore;

impl Visit for Explore {
    type Out = ();

    #[expect(clippy::disallowed_methods, reason = "a benchmark reads the clock; the law does not")]
    fn visit<const W: usize, const E: usize, const T: usize>(self, world: &'static World) {
        let (floor, begun) = (peak_kib(), Instant::now());
        // One thread that only computes: its elapsed time is its CPU time on an idle core.
        let graph = explore::<W, E, T>(Law::of(world));
        let (seconds, counts) = (begun.elapsed().as_secs_f64(), graph.counts());
        let states = f64::from(u32::try_from(counts.states).unwrap_or(u32::MAX));
        let bytes = (peak_kib() - floor) * 1024.0 / states;
        say(&format!(
            "{:<20} {:>7} {:>13} {:>16.0} {bytes:>28.0}",
            world.name,
            counts.states,
            counts.transitions,
            states / seconds / 1000.0,
        ));
    }
}

/// Peak resident memory of this process so far; 0 where the system does not tell.
fn peak_kib() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let number = line.and_then(|line| line.split_whitespace().next());
    number.and_then(|number| number.parse().ok()).unwrap_or(0.0)
}
