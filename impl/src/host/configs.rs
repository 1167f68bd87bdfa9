//! The configuration that is current, and those that attempts are still pinned to.
//!
//! A decision or a request takes [`Current`] once and sees one generation throughout. What is pinned
//! to an earlier one is served from the text that was kept of it. BIND-10 BIND-11

use std::collections::VecDeque;
use std::fmt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use crate::config::{Config, Environment};
use crate::domain::{Generation, Millis};

/// One generation.
#[derive(Debug, Clone)]
pub struct Current {
    /// Its number.
    pub generation: Generation,
    /// What it says.
    pub config: Arc<Config>,
}

/// Every generation that is in use.
pub struct Configs {
    /// The file each of them was read from.
    file: PathBuf,
    env: Environment,
    current: RwLock<Arc<Current>>,
    /// Those that were used last, the newest use at the end.
    earlier: Mutex<VecDeque<(Generation, Arc<Config>)>>,
    reloading: tokio::sync::Mutex<()>,
    refused: Mutex<VecDeque<RefusedReload>>,
}

/// A configuration that was refused while the daemon ran, and changed nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RefusedReload {
    /// When.
    pub at: Millis,
    /// Who asked, as the journal would name it.
    pub by: String,
    /// What is wrong and where.
    pub why: String,
}

/// Refused reloads that are remembered.
const REFUSED: usize = 16;

/// Earlier generations that are held; any other is read from the store again.
const EARLIER: usize = 8;

impl Configs {
    /// Begins with what the daemon was started with.
    #[must_use]
    pub fn new(generation: Generation, config: Config, env: Environment) -> Self {
        let file = config.file.clone();
        let current = Arc::new(Current { generation, config: Arc::new(config) });
        Self {
            file,
            env,
            current: RwLock::new(current),
            earlier: Mutex::default(),
            reloading: tokio::sync::Mutex::default(),
            refused: Mutex::default(),
        }
    }

    /// What is current now.
    #[must_use]
    pub fn current(&self) -> Arc<Current> {
        Arc::clone(&self.current.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Makes another current, at once and for everything that begins from here on. One that is older
    /// than what is current never is again. BIND-10
    pub fn replace(&self, generation: Generation, config: Config) {
        let new = Arc::new(Current { generation, config: Arc::new(config) });
        let old = {
            let mut current = self.current.write().unwrap_or_else(PoisonError::into_inner);
            if generation < current.generation {
                return;
            }
            std::mem::replace(&mut *current, new)
        };
        if old.generation < generation {
            self.keep(old.generation, Arc::clone(&old.config));
        }
    }

    /// Waits until nobody else reloads; the next one waits until the answer is dropped.
    pub async fn reloading(&self) -> tokio::sync::MutexGuard<'_, ()> {
        self.reloading.lock().await
    }

    /// Remembers a refused reload, for `config history`.
    pub fn refuse(&self, at: Millis, by: String, why: String) {
        let mut refused = self.refused.lock().unwrap_or_else(PoisonError::into_inner);
        refused.push_back(RefusedReload { at, by, why });
        if refused.len() > REFUSED {
            refused.pop_front();
        }
    }

    /// The newest reloads that this daemon refused, oldest first.
    #[must_use]
    pub fn refused(&self) -> Vec<RefusedReload> {
        let refused = self.refused.lock().unwrap_or_else(PoisonError::into_inner);
        refused.iter().cloned().collect()
    }

    /// The file and the environment that configurations are read in.
    #[must_use]
    pub const fn place(&self) -> (&PathBuf, &Environment) {
        (&self.file, &self.env)
    }

    /// A generation that is at hand.
    pub(super) fn known(&self, generation: Generation) -> Option<Arc<Config>> {
        let current = self.current();
        if current.generation == generation {
            return Some(Arc::clone(&current.config));
        }
        let mut earlier = self.earlier();
        let at = earlier.iter().position(|(n, _)| *n == generation)?;
        let used = earlier.remove(at)?;
        let config = Arc::clone(&used.1);
        earlier.push_back(used);
        Some(config)
    }

    /// Reads the kept text of an earlier generation. It compiles expressions, so it takes its time.
    ///
    /// # Errors
    /// This version does not understand it any more.
    pub(super) fn read(&self, generation: Generation, text: String) -> Result<Arc<Config>, String> {
        let config = Config::of_generation(text, &self.file, &self.env)
            .map(Arc::new)
            .map_err(|errors| format!("configuration {generation} is not readable: {errors}"))?;
        self.keep(generation, Arc::clone(&config));
        Ok(config)
    }

    fn keep(&self, generation: Generation, config: Arc<Config>) {
        let mut earlier = self.earlier();
        earlier.retain(|(n, _)| *n != generation);
        earlier.push_back((generation, config));
        if earlier.len() > EARLIER {
            earlier.pop_front();
        }
    }

    fn earlier(&self) -> std::sync::MutexGuard<'_, VecDeque<(Generation, Arc<Config>)>> {
        self.earlier.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Without the environment, which may hold secrets.
impl fmt::Debug for Configs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Configs").field("current", &self.current()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::tests::{SMALL, valid};

    #[test]
    fn a_daemon_that_is_reloaded_often_holds_a_few_generations_and_goes_forward_only() {
        let config = valid(SMALL);
        let configs = Configs::new(Generation(1), config.clone(), Environment::default());
        for n in 2..100 {
            configs.replace(Generation(n), config.clone());
            assert!(configs.known(Generation(1)).is_some() || n > 9, "it is used");
        }
        assert_eq!(configs.earlier().len(), EARLIER);
        assert!(configs.known(Generation(98)).is_some());
        configs.replace(Generation(7), config);
        assert_eq!(configs.current().generation, Generation(99));
    }
}
