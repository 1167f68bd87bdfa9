//! Keeps loops going: one that breaks is started again, and breaks no other.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinSet;

use crate::host::Context;

/// Pause before a broken loop is started again; it doubles up to the longest.
const PAUSE: Duration = Duration::from_millis(100);
const PAUSE_MAX: Duration = Duration::from_secs(10);

/// Runs a loop until the daemon stops, however often it breaks. A loop keeps nothing in memory that
/// it cannot read again.
pub(super) fn supervise<F>(
    tasks: &mut JoinSet<()>,
    context: &Arc<Context>,
    name: &'static str,
    run: impl Fn(Arc<Context>) -> F + Send + 'static,
) where
    F: Future<Output = ()> + Send + 'static,
{
    let context = Arc::clone(context);
    context.health.looks(name);
    tasks.spawn(async move {
        let mut pause = PAUSE;
        let mut stop = context.stop.clone();
        while !context.stopping() {
            let mut once = JoinSet::new();
            once.spawn(run(Arc::clone(&context)));
            match once.join_next().await {
                Some(Err(error)) if error.is_panic() => {
                    context.health.broke(name);
                    tracing::error!(r#loop = name, %error, "a loop broke; it is started again");
                }
                Some(Ok(()) | Err(_)) | None => {}
            }
            tokio::select! {
                () = tokio::time::sleep(pause) => {}
                _ = stop.wait_for(|stop| *stop) => return,
            }
            pause = (pause * 2).min(PAUSE_MAX);
        }
    });
}
