//! How fast the runtime is held to the law: transitions performed and compared a second. Reported, never asserted.

use std::time::Instant;

use abide_model::worlds;
use abide_refinement::runs::{Beside, lockstep};

/// Worlds small enough for a benchmark, one an area.
const WORLDS: [&str; 7] =
    ["acceptance", "identities", "pauses", "depth", "aliases", "endings", "configuration"];

#[expect(clippy::print_stdout, reason = "a benchmark's output is its result")]
fn main() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    println!(
        "world                transitions and probes   a second on SQLite   on the model itself"
    );
    for name in WORLDS {
        let world = worlds::named(name).expect("the world is in the catalogue");
        let mut rates = [0.0; 2];
        let mut compared = 0;
        for (beside, rate) in [Beside::Sqlite, Beside::Model].into_iter().zip(&mut rates) {
            let begun = Instant::now();
            let run = lockstep(world, beside, folder.path());
            let run = run.unwrap_or_else(|parted| panic!("{}", parted.report()));
            compared = run.transitions() + run.probes();
            *rate = f64::from(u32::try_from(compared).unwrap_or(u32::MAX))
                / begun.elapsed().as_secs_f64();
        }
        println!("{name:<20} {compared:>22} {:>20.0} {:>21.0}", rates[0], rates[1]);
    }
}
