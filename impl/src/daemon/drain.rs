//! Lets a daemon that is asked to drain go, once no attempt runs; or claim again, once it has been
//! asked for long enough.

use std::sync::Arc;

use super::looping::{LookError, Next, look};
use crate::host::Context;
use crate::store::works;

pub(super) const NAME: &str = "drain";

pub(super) async fn run(context: Arc<Context>) {
    look(&context, NAME, || pass(&context)).await;
}

async fn pass(context: &Arc<Context>) -> Result<Next, LookError> {
    if context.drain.expires() {
        tracing::warn!("not drained in the time given: attempts are claimed again");
    }
    if !context.drain.is_on() {
        return Ok(Next::Commit);
    }
    if context.read(works::running).await? == 0 && context.drain.finish() {
        tracing::info!("drained: no attempt runs");
    }
    Ok(Next::Commit)
}
