//! Who plays: the stage, the daemon on it, its operator, and the teller.

use std::process::{Output, Stdio};

use tokio::process::Command;

use super::daemon::Daemon;
use super::hooks::{Answered, Delivery};
use super::stage::Stage;
use super::teller::Teller;
use crate::api::types::{EventRow, WaitRow, WorkDetail, WorkRow};
use crate::cli::Failure;
use crate::cli::operator::Operator;
use crate::domain::WorkStatus;

/// Everybody in the demo.
pub(super) struct Cast<'a> {
    pub(super) stage: &'a Stage,
    pub(super) teller: Teller,
    pub(super) operator: Operator,
    /// Gone between its death and its return.
    pub(super) daemon: Option<Daemon>,
}

impl<'a> Cast<'a> {
    /// Starts the daemon, which is the first step.
    pub(super) async fn assemble(stage: &'a Stage) -> Result<Self, Failure> {
        let mut teller = Teller::new();
        teller.say(&format!("abide demo, played in {}", stage.folder().display()))?;
        teller.step("A daemon starts on an empty folder")?;
        let daemon = Daemon::start(stage).await?;
        let operator = Operator::of(&stage.door())?;
        teller.did(&format!(
            "`abide serve` is process {}. Its database is one file in that folder; webhooks arrive \
             at http://{}/hooks/github.",
            daemon.pid(),
            daemon.hooks
        ))?;
        let cast = Self { stage, teller, operator, daemon: Some(daemon) };
        let events = cast.events().await?;
        let empty = events.is_empty();
        cast.teller.showed("it knows of no events yet", empty, events.len())?;
        Ok(cast)
    }

    pub(super) fn daemon(&self) -> Result<&Daemon, Failure> {
        self.daemon.as_ref().ok_or_else(|| Failure::refused("the daemon is not running"))
    }

    pub(super) async fn send(&self, delivery: &Delivery) -> Result<Answered, Failure> {
        delivery.send(&self.daemon()?.hooks, &self.stage.secret).await
    }

    pub(super) async fn events(&self) -> Result<Vec<EventRow>, Failure> {
        self.operator.all("/events").await
    }

    /// The event of a delivery, once it is kept.
    pub(super) async fn event(&self, delivery: &str) -> Result<Option<EventRow>, Failure> {
        Ok(self.events().await?.into_iter().find(|event| event.delivery == delivery))
    }

    /// The event of a delivery, once it is routed.
    pub(super) async fn routed(&self, delivery: &str) -> Result<EventRow, Failure> {
        let look = async || Ok(self.event(delivery).await?.filter(|event| event.mark.is_some()));
        self.teller.until("the event is routed", look).await
    }

    pub(super) async fn work(&self, id: &str) -> Result<WorkDetail, Failure> {
        self.operator.get(&format!("/work/{id}")).await
    }

    /// The work that owns the key of a pull request.
    pub(super) async fn work_of(&self, number: u32) -> Result<Option<WorkDetail>, Failure> {
        let works: Vec<WorkRow> = self.operator.all("/work").await?;
        let key = format!("#{number}");
        match works.iter().find(|work| work.keys.iter().any(|owned| owned.ends_with(&key))) {
            Some(work) => self.work(&work.id).await.map(Some),
            None => Ok(None),
        }
    }

    /// The work of a pull request, once it waits and its process is seen to have ended.
    pub(super) async fn waiting(&self, number: u32) -> Result<WorkDetail, Failure> {
        let look = async || {
            let work = self.work_of(number).await?.map(unheld).transpose()?;
            Ok(work.filter(|work| work.work.status == WorkStatus::Waiting && !work.work.excluded))
        };
        self.teller.until(&format!("the work of #{number} waits"), look).await
    }

    pub(super) async fn waits(&self, work: &str) -> Result<Vec<WaitRow>, Failure> {
        Ok(self.work(work).await?.waits)
    }

    /// Runs this very `abide` with some arguments.
    pub(super) async fn abide(
        &self,
        arguments: &[&str],
        environment: &[(&str, &str)],
    ) -> Result<Output, Failure> {
        Command::new(&self.stage.program)
            .args(arguments)
            .envs(environment.iter().copied())
            .stdin(Stdio::null())
            .output()
            .await
            .map_err(|error| Failure::refused(format!("`abide` cannot be run: {error}")))
    }
}

/// A work that nothing holds: one that is held will not get where the story wants it.
pub(super) fn unheld(work: WorkDetail) -> Result<WorkDetail, Failure> {
    if work.work.hold.is_some() {
        let WorkRow { id, reason, .. } = &work.work;
        return Err(Failure::refused(format!("{id} gets no further: {reason}")));
    }
    Ok(work)
}
