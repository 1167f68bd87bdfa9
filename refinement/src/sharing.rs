//! Independent pieces of work, shared by the cores of this machine.

use std::num::NonZeroUsize;
use std::ops::AddAssign;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::difference::Divergence;

/// Does the same with every item and adds up what was done. The first divergence ends it.
///
/// # Errors
/// A divergence; of several found at once, the one of the earliest item.
pub fn each<I, T>(
    items: &[I],
    act: impl Fn(&I) -> Result<T, Box<Divergence>> + Sync,
) -> Result<T, Box<Divergence>>
where
    I: Sync,
    T: Default + AddAssign + Send,
{
    let next = AtomicUsize::new(0);
    let done = Mutex::new((T::default(), None::<(usize, Box<Divergence>)>));
    let work = || {
        loop {
            let nth = next.fetch_add(1, Ordering::Relaxed);
            let Some(item) = items.get(nth) else { return };
            let found = act(item);
            let mut done = done.lock().expect("no worker panics while it adds up");
            match found {
                Ok(more) => done.0 += more,
                Err(divergence) => {
                    next.store(items.len(), Ordering::Relaxed);
                    if done.1.as_ref().is_none_or(|(first, _)| nth < *first) {
                        done.1 = Some((nth, divergence));
                    }
                }
            }
        }
    };
    let cores = std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
    std::thread::scope(|scope| {
        for _ in 1..cores.min(items.len()) {
            scope.spawn(work);
        }
        work();
    });
    match done.into_inner().expect("no worker panics while it adds up") {
        (all, None) => Ok(all),
        (_, Some((_, divergence))) => Err(divergence),
    }
}

#[cfg(test)]
mod tests {
    use abide_model::worlds;

    use super::*;
    use crate::corpus::broke;
    use crate::subject::SubjectError;

    #[test]
    fn every_item_is_done_once() {
        let items: Vec<usize> = (0..1_000).collect();
        assert_eq!(each(&items, |item| Ok(*item)).ok(), Some(499_500));
    }

    #[test]
    fn nothing_is_begun_after_a_divergence_and_the_earliest_is_told() {
        let begun = AtomicUsize::new(0);
        let found = each(&[0_usize; 1_000], |_| {
            let nth = begun.fetch_add(1, Ordering::Relaxed);
            let why = SubjectError::Cannot(format!("item {nth}"));
            Err::<usize, _>(broke(worlds::ACCEPTANCE, &why))
        });
        assert!(found.is_err());
        assert!(begun.into_inner() < 1_000);
    }
}
