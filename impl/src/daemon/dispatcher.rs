//! Tells whoever runs a segment that there is a control to carry out. Looking is a cost of commits,
//! and not of running attempts. POLICY-12

use std::sync::Arc;

use super::looping::{LookError, Next, look};
use crate::domain::WorkId;
use crate::host::Context;
use crate::store::reads;

pub(super) const NAME: &str = "dispatcher";

/// Works looked at in one read.
const LIMIT: u32 = 256;

pub(super) async fn run(context: Arc<Context>) {
    look(&context, NAME, || pass(&context)).await;
}

async fn pass(context: &Context) -> Result<Next, LookError> {
    let mut after = WorkId(0);
    loop {
        let page = context.read(move |tx| reads::sending(tx, after, LIMIT)).await?;
        for work in &page {
            context.driven.knock(*work);
        }
        match page.last() {
            Some(last) if page.len() >= LIMIT as usize => after = *last,
            Some(_) | None => return Ok(Next::Commit),
        }
    }
}
