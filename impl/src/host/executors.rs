//! What runs attempts: one executor for each binding of each generation, made when it is first
//! asked for. BIND-10

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use crate::config::Binding;
use crate::domain::Generation;
use crate::extension::executor::Executor;

type Make = dyn Fn(&Binding) -> Arc<dyn Executor> + Send + Sync;

/// The generation, the scope that declares the binding, and its name there.
type Which = (Generation, String, String);

/// Executors that are held although nobody uses them.
const HELD: usize = 64;

/// Executors by what they are configured with.
pub struct Executors {
    make: Box<Make>,
    made: Mutex<BTreeMap<Which, Arc<dyn Executor>>>,
}

impl Executors {
    /// Executors that are made so.
    pub fn new(make: impl Fn(&Binding) -> Arc<dyn Executor> + Send + Sync + 'static) -> Self {
        Self { make: Box::new(make), made: Mutex::default() }
    }

    /// The executor of a binding; the same one each time, because it may hold what it began.
    pub fn of(&self, generation: Generation, binding: &Binding) -> Arc<dyn Executor> {
        let which = (generation, binding.declared_in.clone(), binding.name.clone());
        let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        if made.len() >= HELD && !made.contains_key(&which) {
            // What somebody uses may hold what it began; the others are made again when asked for.
            made.retain(|_, one| Arc::strong_count(one) > 1);
        }
        Arc::clone(made.entry(which).or_insert_with(|| (self.make)(binding)))
    }
}

impl fmt::Debug for Executors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        f.debug_tuple("Executors").field(&made.keys()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::tests::{SMALL, valid};
    use crate::executor::shell::{self, Place, Shell};

    #[test]
    fn what_nobody_uses_is_not_held_for_ever_and_what_somebody_uses_is() {
        let config = valid(SMALL);
        let binding = config.scopes["main"].binding_of("review").expect("it has one");
        let executors = Executors::new(|_| {
            let place = Place { program: "abide".into(), segments: "segments".into() };
            let binding = shell::Binding {
                command: Vec::new(),
                env: Vec::new(),
                resumes: false,
                injects: false,
                interrupts: false,
                grace: std::time::Duration::ZERO,
            };
            Arc::new(Shell::new(place, binding))
        });
        let used = executors.of(Generation(1), binding);
        for n in 2..500 {
            drop(executors.of(Generation(n), binding));
        }
        assert!(executors.made.lock().expect("nobody panics").len() <= HELD);
        assert!(Arc::ptr_eq(&used, &executors.of(Generation(1), binding)));
    }
}
