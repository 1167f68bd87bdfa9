//! The shell executor: any command, held by a keeper.
//!
//! The command finds everything in its environment ([`crate::extension::request`] says what is in
//! the request file) and talks back with `abide tool`. It runs in the Work's own folder. Exit 0 is
//! completed unless it declared another result; anything else is failed, and the end of its
//! standard error is the reason.
//!
//! An Event that is injected becomes a line of the file `ABIDE_INBOX`, as a CloudEvent in JSON, under
//! the Event's id. That the command took it in is what `abide tool ack` says, and nothing else: what it
//! never reads is never acknowledged. EXEC-07

use std::time::Duration;

use serde_json::{Value, json};

use super::kept::{Kept, apart};
use super::launch::Start;
use super::outcome;
use super::segment::Segment;
use crate::domain::AttemptUid;
use crate::extension::executor::{
    BoxFuture, Capabilities, ControlError, Credentials, Executor, Exit, InjectError, Injection,
    LaunchError, Metadata, NotAdoptable, Report, RunRequest, StopError, Stopped,
};
use crate::keeper::acks;

pub use super::kept::{Binding, Place};

/// A command that is given nothing beyond what every command is.
static NOTHING: Start = Start { arguments: Vec::new(), input: None, note: None };

/// Runs commands under keepers.
#[derive(Debug)]
pub struct Shell(Kept);

impl Shell {
    /// An executor of this binding.
    #[must_use]
    pub fn new(place: Place, binding: Binding) -> Self {
        Self(Kept::new(place, binding))
    }

    async fn wait(&self, metadata: &Metadata) -> Exit {
        let segment = match Segment::read(metadata) {
            Ok(segment) => segment,
            Err(reason) => return Exit::Lost { reason },
        };
        match self.0.ended(&segment).await {
            Ok(exit) => {
                let (folder, passed) = (self.0.folder(&segment), self.0.binding.passed());
                let judged = apart(move || Ok(outcome::exit(&folder, &exit.ending, &passed))).await;
                judged.unwrap_or_else(|error| {
                    outcome::failed(&format!("what it left cannot be looked at: {error}"), None)
                })
            }
            Err(reason) => Exit::Lost { reason },
        }
    }
}

/// The line of an Event: the same each time, or a repeat would say something else under its id.
fn line(injection: &Injection) -> Result<String, InjectError> {
    let Value::Object(mut event) = injection.body.clone() else {
        let detail = "the event is no CloudEvent".to_owned();
        return Err(InjectError::NotAccepting { detail });
    };
    event.insert("abideid".to_owned(), json!(injection.event.to_string()));
    Ok(Value::Object(event).to_string())
}

impl Executor for Shell {
    fn capabilities(&self) -> Capabilities {
        Capabilities {
            resumes: self.0.binding.resumes,
            holds_until_pin: true,
            injects: self.0.binding.injects,
            interrupts: self.0.binding.interrupts,
        }
    }

    fn run<'a>(&'a self, request: &'a RunRequest) -> BoxFuture<'a, Result<Metadata, LaunchError>> {
        Box::pin(self.0.launch(request, &NOTHING))
    }

    fn resume<'a>(
        &'a self,
        request: &'a RunRequest,
    ) -> BoxFuture<'a, Result<Metadata, LaunchError>> {
        Box::pin(async move {
            if !self.0.binding.resumes {
                return Err(LaunchError::CannotResume);
            }
            self.0.launch(request, &NOTHING).await
        })
    }

    fn proceed<'a>(&'a self, metadata: &'a Metadata) -> BoxFuture<'a, Result<(), ControlError>> {
        Box::pin(self.0.start(metadata))
    }

    fn recover<'a>(
        &'a self,
        metadata: &'a Metadata,
        credentials: &'a Credentials,
    ) -> BoxFuture<'a, Result<(), NotAdoptable>> {
        Box::pin(self.0.adopt(metadata, credentials))
    }

    fn observe<'a>(&'a self, metadata: &'a Metadata) -> BoxFuture<'a, Exit> {
        Box::pin(self.wait(metadata))
    }

    fn inject<'a>(
        &'a self,
        metadata: &'a Metadata,
        injection: &'a Injection,
    ) -> BoxFuture<'a, Result<(), InjectError>> {
        Box::pin(async move {
            let line = line(injection)?;
            self.0.deliver(metadata, &injection.event.to_string(), &line).await
        })
    }

    fn interrupt<'a>(&'a self, metadata: &'a Metadata) -> BoxFuture<'a, Result<(), ControlError>> {
        Box::pin(self.0.interrupt(metadata))
    }

    fn report<'a>(&'a self, metadata: &'a Metadata) -> BoxFuture<'a, Result<Report, ControlError>> {
        Box::pin(async move {
            let consumed = self.0.left(metadata, acks::consumed).await?;
            Ok(Report { consumed, usage: Vec::new() })
        })
    }

    fn stop<'a>(
        &'a self,
        metadata: &'a Metadata,
        grace: Duration,
    ) -> BoxFuture<'a, Result<Stopped, StopError>> {
        Box::pin(self.0.end(metadata, grace))
    }

    fn find<'a>(&'a self, attempt: AttemptUid) -> BoxFuture<'a, Result<Vec<Metadata>, StopError>> {
        Box::pin(self.0.find(attempt))
    }

    fn release(&self, metadata: &Metadata) {
        self.0.release(metadata);
    }
}
