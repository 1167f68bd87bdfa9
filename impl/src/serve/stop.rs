//! When a daemon is told to stop.

use std::io;

use tokio::signal::unix::{Signal, SignalKind, signal};

/// The signals a daemon answers, caught before it says that it is ready: whoever has read that may
/// send one.
#[derive(Debug)]
pub(super) struct Signals {
    terminate: Signal,
    interrupt: Signal,
    hangup: Signal,
}

impl Signals {
    pub(super) fn catch() -> io::Result<Self> {
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
            hangup: signal(SignalKind::hangup())?,
        })
    }

    /// Resolves on `SIGTERM` or `SIGINT`. `SIGHUP` is answered with a word: a configuration is read
    /// at start only.
    pub(super) async fn asked(mut self) {
        loop {
            tokio::select! {
                _ = self.terminate.recv() => return,
                _ = self.interrupt.recv() => return,
                _ = self.hangup.recv() => tracing::warn!(
                    "SIGHUP: this version reads its configuration at start only; restart the \
                     daemon to apply a change (running attempts go on)"
                ),
            }
        }
    }
}
