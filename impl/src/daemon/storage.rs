//! Finds out when a failed store works again: nothing else commits while it does not.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::sleep;

use crate::host::Context;
use crate::writer::WriterState;

pub(super) const NAME: &str = "storage";

/// Pause between two tries.
const PACE: Duration = Duration::from_secs(1);

pub(super) async fn run(context: Arc<Context>) {
    let mut stop = context.stop.clone();
    loop {
        context.health.looks(NAME);
        let failed = *context.writer.state().borrow() != WriterState::Running;
        if failed && context.writer.probe().await.is_ok() {
            tracing::info!("the store works again");
        }
        tokio::select! {
            () = sleep(PACE) => {}
            _ = stop.wait_for(|stop| *stop) => return,
        }
    }
}
