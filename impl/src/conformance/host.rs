//! A host as the suite plays it: one instance of the executor on a runtime of its own. It dies as a
//! daemon does that is killed: what it was doing is gone, and what runs is not told.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::runtime::{Builder, Runtime};

use super::{Limits, Stage};
use crate::extension::executor::{
    Credentials, Executor, Exit, InjectError, Injection, Metadata, Report, RunRequest,
};

/// Between two looks at what has to come.
const LOOK: Duration = Duration::from_millis(5);

/// A host. Every method waits for as long as its limits say, and an error is a sentence.
#[derive(Debug)]
pub(super) struct Host {
    /// Dropped before the runtime that its futures were driven on.
    executor: Arc<dyn Executor>,
    runtime: Dying,
    limits: Limits,
}

/// A runtime that ends without waiting for what it runs.
#[derive(Debug)]
struct Dying(Option<Runtime>);

impl Drop for Dying {
    fn drop(&mut self) {
        if let Some(runtime) = self.0.take() {
            runtime.shutdown_background();
        }
    }
}

impl Host {
    /// A host that has just started over this stage.
    pub(super) fn start(stage: &dyn Stage, limits: Limits) -> Result<Self, String> {
        let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build();
        let runtime = runtime.map_err(|error| format!("no runtime could be made: {error}"))?;
        let executor = {
            let _inside = runtime.enter();
            stage.executor()
        };
        Ok(Self { executor, runtime: Dying(Some(runtime)), limits })
    }

    pub(super) fn executor(&self) -> &dyn Executor {
        &*self.executor
    }

    fn wait<T>(&self, what: &str, answer: impl Future<Output = T>) -> Result<T, String> {
        let limit = self.limits.patience;
        let Some(runtime) = &self.runtime.0 else { return Err("the host is gone".to_owned()) };
        let answered = runtime.block_on(async { tokio::time::timeout(limit, answer).await });
        answered.map_err(|_| format!("{what} did not answer within {limit:?}"))
    }

    /// Prepares a segment and lets it proceed.
    pub(super) fn launch(&self, request: &RunRequest) -> Result<Metadata, String> {
        let metadata = self.wait("run", self.executor.run(request))?;
        let metadata = metadata.map_err(|error| format!("run failed: {error}"))?;
        self.proceed(&metadata)?;
        Ok(metadata)
    }

    /// Prepares the segment of a wake; it does not proceed yet.
    pub(super) fn resume(&self, request: &RunRequest) -> Result<Metadata, String> {
        let metadata = self.wait("resume", self.executor.resume(request))?;
        metadata.map_err(|error| format!("resume failed: {error}"))
    }

    pub(super) fn proceed(&self, metadata: &Metadata) -> Result<(), String> {
        let told = self.wait("proceed", self.executor.proceed(metadata))?;
        told.map_err(|error| format!("proceed failed: {error}"))
    }

    pub(super) fn recover(&self, metadata: &Metadata, new: &Credentials) -> Result<(), String> {
        let taken = self.wait("recover", self.executor.recover(metadata, new))?;
        taken.map_err(|error| format!("recover failed: {error}"))
    }

    pub(super) fn observe(&self, metadata: &Metadata) -> Result<Exit, String> {
        self.wait("observe", self.executor.observe(metadata))
    }

    /// Offers an Event once.
    pub(super) fn inject(
        &self,
        metadata: &Metadata,
        injection: &Injection,
    ) -> Result<Result<(), InjectError>, String> {
        self.wait("inject", self.executor.inject(metadata, injection))
    }

    pub(super) fn report(&self, metadata: &Metadata) -> Result<Report, String> {
        let report = self.wait("report", self.executor.report(metadata))?;
        report.map_err(|error| format!("report failed: {error}"))
    }

    pub(super) fn interrupt(&self, metadata: &Metadata) -> Result<Result<(), String>, String> {
        let told = self.wait("interrupt", self.executor.interrupt(metadata))?;
        Ok(told.map_err(|error| error.to_string()))
    }

    pub(super) fn stop(&self, metadata: &Metadata) -> Result<(), String> {
        let stopped = self.wait("stop", self.executor.stop(metadata, self.limits.grace))?;
        stopped.map(drop).map_err(|error| format!("stop failed: {error}"))
    }

    /// Waits until something is so; `false` if it does not come to that.
    pub(super) fn until(&self, mut so: impl FnMut() -> bool) -> bool {
        until(self.limits.patience, &mut so)
    }
}

/// Waits until something is so, at most for `limit`.
fn until(limit: Duration, so: &mut dyn FnMut() -> bool) -> bool {
    let begun = Instant::now();
    loop {
        if so() {
            return true;
        }
        if begun.elapsed() >= limit {
            return false;
        }
        std::thread::sleep(LOOK);
    }
}
