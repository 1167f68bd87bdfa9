//! The facts that tell one class from another.
//!
//! What there is to know of each thing is in the file of its name. `guards` says what of it a kind of action looks at,
//! and `seen` how much of that its answer depends on.

mod answer;
mod event;
mod guards;
mod proof;
mod seen;
mod timer;
mod wait;
mod work;

pub use answer::Answer;
pub use event::EventFacts;
pub use timer::TimerFacts;
pub use wait::WaitFacts;
pub use work::WorkFacts;

pub(super) use answer::answer;
pub(super) use event::{event_facts, source_facts};
pub(super) use guards::{guards_on_event, guards_on_work};
pub(super) use proof::proof_facts;
pub(super) use seen::{seen_of_event, seen_of_work};
pub(super) use wait::wait_facts;
pub(super) use work::work_facts;

/// None, one, or two for more.
fn few(count: usize) -> u8 {
    match count {
        0 => 0,
        1 => 1,
        _ => 2,
    }
}
