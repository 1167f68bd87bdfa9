//! The course of a loop: look, do what there is to do, wait until there may be more.

use std::future::Future;
use std::sync::Arc;

use crate::domain::Millis;
use crate::host::Context;
use crate::store::StoreError;
use crate::writer::WriteError;

/// When a loop wants to look again, if not earlier.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Next {
    /// When something commits.
    Commit,
    /// When something commits, and at this instant in any case.
    At(Millis),
}

impl Next {
    /// The instant, if it is yet to come: what is due and was not done waits for a commit.
    pub(super) fn after(now: Millis, due: Option<Millis>) -> Self {
        due.filter(|due| *due > now).map_or(Self::Commit, Self::At)
    }
}

/// Why a look came to nothing; the next one tries again.
#[derive(Debug, thiserror::Error)]
pub(super) enum LookError {
    /// Nothing could be read.
    #[error(transparent)]
    Read(#[from] StoreError),
    /// Nothing could be committed.
    #[error(transparent)]
    Write(#[from] WriteError),
    /// The system had no randomness for a token.
    #[error("no token can be made: {0}")]
    Token(#[from] getrandom::Error),
}

impl LookError {
    const fn is_damage(&self) -> bool {
        match self {
            Self::Read(error) | Self::Write(WriteError::Store(error)) => error.is_damage(),
            Self::Write(WriteError::Closed) | Self::Token(_) => false,
        }
    }
}

/// Looks until the daemon stops. While nothing can be committed, it does not look.
pub(super) async fn look<F>(context: &Arc<Context>, name: &'static str, mut pass: impl FnMut() -> F)
where
    F: Future<Output = Result<Next, LookError>>,
{
    let mut bell = context.bell();
    loop {
        context.health.looks(name);
        bell.hears();
        let next = if context.can_commit() {
            pass().await.unwrap_or_else(|error| {
                // Of a damaged file the daemon speaks once, when it stops.
                if !error.is_damage() {
                    tracing::warn!(r#loop = name, %error, "a look came to nothing");
                }
                Next::Commit
            })
        } else {
            Next::Commit
        };
        let due = match next {
            Next::Commit => None,
            Next::At(due) => Some(due),
        };
        if !bell.rings(due).await {
            return;
        }
    }
}
