//! A few threads that evaluate expressions, so that none runs on a caller's thread for longer than
//! the caller will wait.
//!
//! An evaluation has no fuel and cannot be stopped: at its deadline it is abandoned and its thread
//! finishes alone. What it can cost is bounded by the expression and by the lists it may read.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use crate::extension::route::RouteErrorKind;

/// Threads of the pool.
const THREADS: usize = 4;

/// Evaluations that may wait for a thread.
const QUEUED_MAX: usize = 256;

/// An expression's tree is bounded in depth; this is far more than the deepest takes.
const STACK: usize = 16 << 20;

type Job = Box<dyn FnOnce() + Send>;

/// Runs `job` and waits for its answer until the deadline.
pub(super) fn run<T: Send + 'static>(
    deadline: Duration,
    job: impl FnOnce() -> T + Send + 'static,
) -> Result<T, RouteErrorKind> {
    let (answer, answered) = sync_channel(1);
    let abandoned = Arc::new(AtomicBool::new(false));
    let skip = Arc::clone(&abandoned);
    let task: Job = Box::new(move || {
        // A job nobody waits for any more is not begun.
        if !skip.load(Ordering::Relaxed) {
            let _ = answer.send(catch_unwind(AssertUnwindSafe(job)));
        }
    });
    let late = || RouteErrorKind::Deadline { ms: u64::try_from(deadline.as_millis()).unwrap_or(0) };
    jobs()?.try_send(task).map_err(|_| late())?;
    match answered.recv_timeout(deadline) {
        Ok(Ok(value)) => Ok(value),
        Ok(Err(_)) => Err(RouteErrorKind::Broken("the evaluator panicked".to_owned())),
        Err(_) => {
            abandoned.store(true, Ordering::Relaxed);
            Err(late())
        }
    }
}

/// The queue of the one pool of this process.
fn jobs() -> Result<&'static SyncSender<Job>, RouteErrorKind> {
    static JOBS: OnceLock<Option<SyncSender<Job>>> = OnceLock::new();
    let jobs = JOBS.get_or_init(start).as_ref();
    jobs.ok_or_else(|| RouteErrorKind::Broken("no thread could be started".to_owned()))
}

/// Starts as many threads as the system gives, up to [`THREADS`]; `None` if it gives none.
fn start() -> Option<SyncSender<Job>> {
    let (sender, receiver) = sync_channel(QUEUED_MAX);
    let receiver = Arc::new(Mutex::new(receiver));
    let started = (0..THREADS).filter(|n| {
        let receiver = Arc::clone(&receiver);
        let thread = std::thread::Builder::new().name(format!("expr-{n}")).stack_size(STACK);
        thread.spawn(move || work(&receiver)).is_ok()
    });
    (started.count() > 0).then_some(sender)
}

fn work(jobs: &Mutex<Receiver<Job>>) {
    loop {
        let job = match jobs.lock() {
            Ok(jobs) => jobs.recv(),
            Err(_) => return,
        };
        match job {
            Ok(job) => job(),
            Err(_) => return,
        }
    }
}
