//! `explore`: the Stateright Explorer, opened where it matters.

use std::net::{SocketAddr, ToSocketAddrs};
use std::path::Path;

use abide_model::action::Action;
use abide_model::check::check;
use abide_model::checker::Machine;
use abide_model::law::Law;
use abide_model::state::State;
use abide_model::worlds::{Visit, World, visit};
use stateright::Model;

use super::{Mistake, Verdict, say, show};

pub(super) fn world(law: Law, listen: &str) -> Result<Verdict, Mistake> {
    let path = check(law).violation.map(|violation| {
        say(format!("{} is broken in {} steps", violation.property.name, violation.path.len()));
        violation.path
    });
    serve(law, &path.unwrap_or_default(), listen)
}

pub(super) fn trace(file: &Path, listen: &str) -> Result<Verdict, Mistake> {
    let (law, actions) =
        show::read(file)?.resolve().map_err(|error| format!("{}: {error}", file.display()))?;
    serve(law, &actions, listen)
}

fn serve(law: Law, path: &[Action], listen: &str) -> Result<Verdict, Mistake> {
    let unusable = |why: String| format!("cannot listen on {listen}: {why}");
    let at = listen
        .to_socket_addrs()
        .map_err(|error| unusable(error.to_string()))?
        .next()
        .ok_or_else(|| unusable("it names no address".into()))?;
    // The Explorer never returns and panics on an address in use, so the address is tried first.
    std::net::TcpListener::bind(at).map_err(|error| unusable(error.to_string()))?;
    visit(law.world, Serving { law, path, at })
}

struct Serving<'a> {
    law: Law,
    path: &'a [Action],
    at: SocketAddr,
}

impl Visit for Serving<'_> {
    type Out = Result<Verdict, Mistake>;

    fn visit<const W: usize, const E: usize, const T: usize>(self, _: &'static World) -> Self::Out {
        let machine = Machine::<W, E, T> { law: self.law };
        say(format!("http://{}/#/steps/{}", self.at, link(&machine, self.path)));
        machine.checker().serve(self.at);
        Ok(Verdict::Well)
    }
}

/// The path as the Explorer's link: the first state, then the place of each action among those offered. Steps that
/// change nothing are no transitions and are left out.
fn link<const W: usize, const E: usize, const T: usize>(
    machine: &Machine<W, E, T>,
    path: &[Action],
) -> String {
    let mut state = State::<W, E, T>::new();
    let mut link = String::from("0");
    for action in path {
        if let Some(place) =
            machine.transitions(&state).iter().position(|offered| offered == action)
        {
            link.push_str(&format!("/{place}"));
        }
        state = machine.law.step(&state, *action).1;
    }
    link
}
