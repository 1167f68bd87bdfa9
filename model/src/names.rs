//! Names for people and traces: an action or outcome by index becomes one by name, and back.

use crate::action::{Action, Commit, Env, NamedAction};
use crate::index::{DeliveryIx, EventIx, Proofs, WaitIx, WorkIx, below};
use crate::outcome::{NamedOutcome, Outcome, Receipt};
use crate::worlds::World;

/// A name that a world does not know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownName {
    /// What was to be named.
    pub what: &'static str,
    /// The name given.
    pub name: String,
    /// The world.
    pub world: &'static str,
}

impl std::fmt::Display for UnknownName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "world `{}` has no {} `{}`", self.world, self.what, self.name)
    }
}

impl std::error::Error for UnknownName {}

/// Turns the parts of an action from one form into another.
trait Translate {
    type From: Parts;
    type To: Parts;
    type Error;

    fn delivery(&self, it: <Self::From as Parts>::D)
    -> Result<<Self::To as Parts>::D, Self::Error>;
    fn event(&self, it: <Self::From as Parts>::E) -> Result<<Self::To as Parts>::E, Self::Error>;
    fn work(&self, it: <Self::From as Parts>::W) -> Result<<Self::To as Parts>::W, Self::Error>;
    fn wait(&self, it: <Self::From as Parts>::T) -> Result<<Self::To as Parts>::T, Self::Error>;
    fn proofs(&self, it: <Self::From as Parts>::P) -> Result<<Self::To as Parts>::P, Self::Error>;
}

trait Parts {
    type D;
    type E;
    type W;
    type T;
    type P;
}

struct Indices;

impl Parts for Indices {
    type D = DeliveryIx;
    type E = EventIx;
    type W = WorkIx;
    type T = WaitIx;
    type P = Proofs;
}

struct Names;

impl Parts for Names {
    type D = String;
    type E = String;
    type W = String;
    type T = String;
    type P = Vec<String>;
}

struct Naming<'a>(&'a World);

impl Translate for Naming<'_> {
    type From = Indices;
    type To = Names;
    type Error = std::convert::Infallible;

    fn delivery(&self, it: DeliveryIx) -> Result<String, Self::Error> {
        Ok(self.0.delivery(it).name.to_string())
    }

    fn event(&self, it: EventIx) -> Result<String, Self::Error> {
        Ok(self.0.event_name(it))
    }

    fn work(&self, it: WorkIx) -> Result<String, Self::Error> {
        Ok(self.0.work_name(it))
    }

    fn wait(&self, it: WaitIx) -> Result<String, Self::Error> {
        Ok(self.0.wait(it).name.to_string())
    }

    fn proofs(&self, it: Proofs) -> Result<Vec<String>, Self::Error> {
        // A set of slots that the world does not have names nothing.
        let known = it.events().filter(|event| event.at() < self.0.slots());
        known.map(|event| self.event(event)).collect()
    }
}

struct Finding<'a>(&'a World);

impl Finding<'_> {
    fn find(
        &self,
        what: &'static str,
        count: usize,
        name: String,
        called: impl Fn(u8) -> String,
    ) -> Result<u8, UnknownName> {
        below(count).find(|ix| called(*ix) == name).ok_or(UnknownName {
            what,
            name,
            world: self.0.name,
        })
    }
}

impl Translate for Finding<'_> {
    type From = Names;
    type To = Indices;
    type Error = UnknownName;

    fn delivery(&self, it: String) -> Result<DeliveryIx, UnknownName> {
        let name = |ix| self.0.delivery(DeliveryIx(ix)).name.to_string();
        self.find("delivery", self.0.deliveries.len(), it, name).map(DeliveryIx)
    }

    fn event(&self, it: String) -> Result<EventIx, UnknownName> {
        self.find("event", self.0.slots(), it, |ix| self.0.event_name(EventIx(ix))).map(EventIx)
    }

    fn work(&self, it: String) -> Result<WorkIx, UnknownName> {
        self.find("Work", self.0.works.len(), it, |ix| self.0.work_name(WorkIx(ix))).map(WorkIx)
    }

    fn wait(&self, it: String) -> Result<WaitIx, UnknownName> {
        self.find("wait", self.0.waits.len(), it, |ix| self.0.wait(WaitIx(ix)).name.to_string())
            .map(WaitIx)
    }

    fn proofs(&self, it: Vec<String>) -> Result<Proofs, UnknownName> {
        it.into_iter().map(|name| self.event(name)).collect()
    }
}

type ActionOf<P> =
    Action<<P as Parts>::D, <P as Parts>::E, <P as Parts>::W, <P as Parts>::T, <P as Parts>::P>;
type CommitOf<P> =
    Commit<<P as Parts>::D, <P as Parts>::E, <P as Parts>::W, <P as Parts>::T, <P as Parts>::P>;

fn action<X: Translate>(x: &X, action: ActionOf<X::From>) -> Result<ActionOf<X::To>, X::Error> {
    Ok(match action {
        Action::Commit(it) => Action::Commit(commit(x, it)?),
        Action::World(Env::Evaluate { event }) => {
            Action::World(Env::Evaluate { event: x.event(event)? })
        }
        Action::World(Env::Tick) => Action::World(Env::Tick),
        Action::World(Env::Crash) => Action::World(Env::Crash),
        Action::World(Env::ProcessExits { work }) => {
            Action::World(Env::ProcessExits { work: x.work(work)? })
        }
        Action::World(Env::Launch { work }) => Action::World(Env::Launch { work: x.work(work)? }),
        Action::World(Env::Proceed { work }) => Action::World(Env::Proceed { work: x.work(work)? }),
        Action::World(Env::LetGo { work }) => Action::World(Env::LetGo { work: x.work(work)? }),
        Action::World(Env::ProcessEnds { work }) => {
            Action::World(Env::ProcessEnds { work: x.work(work)? })
        }
        Action::World(Env::KeeperDies { work }) => {
            Action::World(Env::KeeperDies { work: x.work(work)? })
        }
        Action::World(Env::Deliver { event }) => {
            Action::World(Env::Deliver { event: x.event(event)? })
        }
        Action::World(Env::TakeIn { event }) => {
            Action::World(Env::TakeIn { event: x.event(event)? })
        }
    })
}

fn commit<X: Translate>(x: &X, commit: CommitOf<X::From>) -> Result<CommitOf<X::To>, X::Error> {
    Ok(match commit {
        Commit::Accept { delivery } => Commit::Accept { delivery: x.delivery(delivery)? },
        Commit::CommitRoute { event } => Commit::CommitRoute { event: x.event(event)? },
        Commit::Claim { work } => Commit::Claim { work: x.work(work)? },
        Commit::ClearNeverHanded { work, by } => {
            Commit::ClearNeverHanded { work: x.work(work)?, by }
        }
        Commit::Pin { work, by } => Commit::Pin { work: x.work(work)?, by },
        Commit::Renew { work, by } => Commit::Renew { work: x.work(work)?, by },
        Commit::Complete { work, by, ending, declares, proofs } => {
            let (work, proofs) = (x.work(work)?, x.proofs(proofs)?);
            Commit::Complete { work, by, ending, declares, proofs }
        }
        Commit::Fail { work, by, hint, proofs } => {
            Commit::Fail { work: x.work(work)?, by, hint, proofs: x.proofs(proofs)? }
        }
        Commit::RegisterWait { work, by, wait, after, proofs } => {
            let (work, wait, proofs) = (x.work(work)?, x.wait(wait)?, x.proofs(proofs)?);
            Commit::RegisterWait { work, by, wait, after, proofs }
        }
        Commit::Dispatch { work, by, event } => {
            Commit::Dispatch { work: x.work(work)?, by, event: x.event(event)? }
        }
        Commit::SettleDispatch { work, by, event, answer } => {
            Commit::SettleDispatch { work: x.work(work)?, by, event: x.event(event)?, answer }
        }
        Commit::Interrupt { work, expect, request, implemented } => {
            let (work, request) = (x.work(work)?, x.delivery(request)?);
            Commit::Interrupt { work, expect, request, implemented }
        }
        Commit::Wake { wait } => Commit::Wake { wait: x.wait(wait)? },
        Commit::FireTimer { wait } => Commit::FireTimer { wait: x.wait(wait)? },
        Commit::AcceptTimeout { wait } => Commit::AcceptTimeout { wait: x.wait(wait)? },
        Commit::ClaimRecovery { work } => Commit::ClaimRecovery { work: x.work(work)? },
        Commit::SettleRecovery { work, by, verdict } => {
            Commit::SettleRecovery { work: x.work(work)?, by, verdict }
        }
        Commit::Vacate { work, segment } => Commit::Vacate { work: x.work(work)?, segment },
        Commit::Cancel { work, expect, for_good } => {
            Commit::Cancel { work: x.work(work)?, expect, for_good }
        }
        Commit::Reload { configuration } => Commit::Reload { configuration },
        Commit::Drop { event } => Commit::Drop { event: x.event(event)? },
        Commit::Replay { event, request } => {
            Commit::Replay { event: x.event(event)?, request: x.delivery(request)? }
        }
        Commit::Reopen { work, expect, request } => {
            Commit::Reopen { work: x.work(work)?, expect, request: x.delivery(request)? }
        }
        Commit::CreateWork { request } => Commit::CreateWork { request: x.delivery(request)? },
        Commit::Hold { work, expect } => Commit::Hold { work: x.work(work)?, expect },
        Commit::Release { work, expect, request } => {
            Commit::Release { work: x.work(work)?, expect, request: x.delivery(request)? }
        }
        Commit::Translate { wait, source } => {
            Commit::Translate { wait: x.wait(wait)?, source: x.event(source)? }
        }
        Commit::CloseIdle { work } => Commit::CloseIdle { work: x.work(work)? },
        Commit::FireRetry { work, attempt } => Commit::FireRetry { work: x.work(work)?, attempt },
        Commit::Retry { work, expect, request } => {
            Commit::Retry { work: x.work(work)?, expect, request: x.delivery(request)? }
        }
        Commit::Detach { work, by } => Commit::Detach { work: x.work(work)?, by },
        Commit::Restore => Commit::Restore,
        Commit::ReleaseRestore { request } => {
            Commit::ReleaseRestore { request: x.delivery(request)? }
        }
    })
}

type OutcomeOf<P> = Outcome<<P as Parts>::E, <P as Parts>::W>;
type ReceiptOf<P> = Receipt<<P as Parts>::E, <P as Parts>::W>;

fn outcome<X: Translate>(x: &X, outcome: OutcomeOf<X::From>) -> Result<OutcomeOf<X::To>, X::Error> {
    Ok(match outcome {
        Outcome::Accepted(it) => Outcome::Accepted(receipt(x, it)?),
        Outcome::Duplicate(it) => Outcome::Duplicate(receipt(x, it)?),
        Outcome::Deferred(deferral) => Outcome::Deferred(deferral),
        Outcome::Conflict => Outcome::Conflict,
        Outcome::Refused(refusal) => Outcome::Refused(refusal),
    })
}

fn receipt<X: Translate>(x: &X, receipt: ReceiptOf<X::From>) -> Result<ReceiptOf<X::To>, X::Error> {
    Ok(match receipt {
        Receipt::Done => Receipt::Done,
        Receipt::Sequence(seq) => Receipt::Sequence(seq),
        Receipt::Routed { mark, work } => {
            Receipt::Routed { mark, work: work.map(|work| x.work(work)).transpose()? }
        }
        Receipt::Claimed { attempt, start } => Receipt::Claimed { attempt, start },
        Receipt::Recovered(how) => Receipt::Recovered(how),
        Receipt::Registered { winner } => {
            Receipt::Registered { winner: winner.map(|event| x.event(event)).transpose()? }
        }
        Receipt::Woken { winner } => Receipt::Woken { winner: x.event(winner)? },
        Receipt::Dispatched { attempt, kind } => Receipt::Dispatched { attempt, kind },
        Receipt::Settled(status) => Receipt::Settled(status),
    })
}

impl World {
    /// The action by name.
    pub fn name_action(&self, it: Action) -> NamedAction {
        match action(&Naming(self), it) {
            Ok(named) => named,
            Err(never) => match never {},
        }
    }

    /// The outcome by name.
    pub fn name_outcome(&self, it: Outcome) -> NamedOutcome {
        match outcome(&Naming(self), it) {
            Ok(named) => named,
            Err(never) => match never {},
        }
    }

    /// The action by index.
    ///
    /// # Errors
    /// If it names something that this world does not have.
    pub fn find_action(&self, it: NamedAction) -> Result<Action, UnknownName> {
        action(&Finding(self), it)
    }

    /// The outcome by index.
    ///
    /// # Errors
    /// If it names something that this world does not have.
    pub fn find_outcome(&self, it: NamedOutcome) -> Result<Outcome, UnknownName> {
        outcome(&Finding(self), it)
    }
}
