//! `abide keeper DIR`: the process that [`crate::keeper`] describes.

use std::path::PathBuf;

use super::{Code, Failure, Ran, block_on};
use crate::points::Points;

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The segment's folder
    dir: PathBuf,
}

pub(super) fn run(args: &Args, points: Points) -> Ran {
    block_on(async {
        let kept = crate::keeper::keep(&args.dir, points).await;
        kept.map(|()| Code::Done).map_err(|error| Failure::refused(error.to_string()))
    })
}
