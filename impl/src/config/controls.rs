//! `active`, `fallback` and `on_error` of a route: what becomes of its Events while an attempt of
//! their Work runs, and whether the bindings of its scope can do that. POLICY-26 to POLICY-34

use super::inherit::Slots;
use super::kinds;
use super::problem::At;
use super::read::Reader;
use super::route_table;
use super::section::{Section, suggestion};
use super::tree::{Node, Value};
use super::{Binding, Route, Scope};
use crate::domain::{Control, ControlPolicy, Fallback};
use crate::extension::route::RouteAction;

const POLICIES: &[(&str, ControlPolicy)] = &[
    ("queue", ControlPolicy::Queue),
    ("inject", ControlPolicy::Inject),
    ("interrupt", ControlPolicy::Interrupt),
    ("drop", ControlPolicy::Drop),
];

/// The name of a policy.
const fn named(policy: ControlPolicy) -> &'static str {
    match policy {
        ControlPolicy::Queue => "queue",
        ControlPolicy::Inject => "inject",
        ControlPolicy::Interrupt => "interrupt",
        ControlPolicy::Drop => "drop",
    }
}

/// Whether every attempt supports it, since no executor is called for it.
const fn needs_nothing(policy: ControlPolicy) -> bool {
    match policy {
        ControlPolicy::Queue | ControlPolicy::Drop => true,
        ControlPolicy::Inject | ControlPolicy::Interrupt => false,
    }
}

/// A policy as something that stands in for another; `None` if it never may. POLICY-27
const fn standing_in(policy: ControlPolicy) -> Option<Fallback> {
    match policy {
        ControlPolicy::Queue => Some(Fallback::Queue),
        ControlPolicy::Drop => Some(Fallback::Drop),
        ControlPolicy::Inject | ControlPolicy::Interrupt => None,
    }
}

/// Whether attempts under this binding support a policy. POLICY-26
const fn advertises(binding: &Binding, policy: ControlPolicy) -> bool {
    match policy {
        ControlPolicy::Queue | ControlPolicy::Drop => true,
        ControlPolicy::Inject => binding.injects,
        ControlPolicy::Interrupt => binding.interrupts,
    }
}

/// One policy falls back to another.
#[derive(Clone, Copy)]
struct Step<'a> {
    from: ControlPolicy,
    to: ControlPolicy,
    at: &'a At,
}

impl<'a> Reader<'a> {
    /// What a route says of a running attempt; without a word its Events wait for the next one.
    pub(super) fn control(&self, section: &Section<'a>) -> Control {
        let policy = match section.get("active") {
            None => Some(ControlPolicy::Queue),
            Some(_) => section
                .text("active")
                .and_then(|(given, at)| self.policy(section, "active", given, at)),
        };
        // What stands in for a policy that nobody knows cannot be judged.
        let Some(policy) = policy else { return Control::default() };
        Control {
            policy,
            fallback: self.fallback(section, policy),
            on_error: self.on_error(section, policy),
        }
    }

    /// A policy by its name. `coalesce` is none, and never will be: input is lossless and ordered.
    /// POLICY-29 POLICY-35 POLICY-36
    fn policy(
        &self,
        section: &Section<'a>,
        word: &str,
        given: &str,
        at: &At,
    ) -> Option<ControlPolicy> {
        if given == "coalesce" {
            let message = "there is no policy `coalesce`: pending input is lossless and ordered, so \
                           no event replaces another, and the next attempt is handed all of it at \
                           once";
            self.problems.add("coalesce", at, message, format!("write `{word} = \"queue\"`"));
            return None;
        }
        let found = POLICIES.iter().find(|(name, _)| *name == given);
        if found.is_none() {
            let message = format!(
                "`{word}` of {} names no policy: there are `queue`, `inject`, `interrupt` and \
                 `drop`, and no `{}`",
                section.what,
                given.escape_debug()
            );
            let names: Vec<&str> = POLICIES.iter().map(|(name, _)| *name).collect();
            self.problems.add("unknown_value", at, message, suggestion(given, &names));
        }
        found.map(|(_, policy)| *policy)
    }

    /// What stands in where an attempt does not support the policy. The whole graph is judged: each
    /// circle is named, and its ends are `queue` or `drop` at once. POLICY-27 POLICY-30
    fn fallback(&self, section: &Section<'a>, policy: ControlPolicy) -> Option<Fallback> {
        let node = section.get("fallback")?;
        let steps = self.fallback_steps(section, node, policy)?;
        let circles = circles(&steps);
        for (circle, at) in &circles {
            let names: Vec<&str> = circle.iter().map(|policy| named(*policy)).collect();
            let message =
                format!("the fallbacks of {} go in a circle: {}", section.what, names.join(" -> "));
            let next = if needs_nothing(policy) { "leave it out" } else { FALLBACKS };
            self.problems.add("fallback_cycle", at, message, next);
        }
        if !circles.is_empty() {
            return None;
        }
        for step in &steps {
            self.useful(section, policy, &steps, step);
        }
        standing_in(steps.iter().find(|step| step.from == policy)?.to)
    }

    /// The word form names what the active policy falls back to, the table form what each does.
    /// `None` with a problem.
    fn fallback_steps(
        &self,
        section: &Section<'a>,
        node: &'a Node,
        policy: ControlPolicy,
    ) -> Option<Vec<Step<'a>>> {
        let Value::Table(table) = &node.value else {
            let Value::Text(given) = &node.value else {
                section.mistyped("fallback", node, "a policy in quotes");
                return None;
            };
            let to = self.policy(section, "fallback", given, &node.at)?;
            return Some(vec![Step { from: policy, to, at: &node.at }]);
        };
        if table.is_empty() {
            let message = format!("`fallback` of {} is empty", section.what);
            self.problems.add("missing_word", &node.at, message, FALLBACKS);
        }
        let mut steps = Vec::new();
        for (name, entry) in table {
            let from = self.policy(section, "fallback", name, &entry.key);
            let Value::Text(given) = &entry.node.value else {
                section.mistyped("fallback", &entry.node, "a table of policies in quotes");
                continue;
            };
            let to = self.policy(section, "fallback", given, &entry.node.at);
            let step = from.zip(to).map(|(from, to)| Step { from, to, at: &entry.node.at });
            steps.extend(step);
        }
        (steps.len() == table.len()).then_some(steps)
    }

    /// A step leads from a policy that an attempt may lack to one that no attempt lacks, and the
    /// route can come to it.
    fn useful(
        &self,
        section: &Section<'a>,
        policy: ControlPolicy,
        steps: &[Step<'a>],
        step: &Step<'a>,
    ) {
        let (from, to) = (named(step.from), named(step.to));
        if needs_nothing(step.from) {
            let message = format!(
                "{} says what `{from}` falls back to, and every attempt supports `{from}`",
                section.what
            );
            self.problems.add("contradiction", step.at, message, "leave it out");
        } else if standing_in(step.to).is_none() {
            let message = format!(
                "`{from}` of {} falls back to `{to}`, which an attempt may lack as well: the only \
                 fallbacks are `queue` and `drop`",
                section.what
            );
            self.problems.add("bad_fallback", step.at, message, FALLBACKS);
        } else if step.from != policy && !steps.iter().any(|other| other.to == step.from) {
            let message = format!(
                "the active policy of {} is `{}`, so what `{from}` falls back to has no effect",
                section.what,
                named(policy)
            );
            self.problems.add("contradiction", step.at, message, "leave it out");
        }
    }

    /// What is done where a control that the attempt supports failed. It is never the answer to a
    /// control that the attempt lacks, nor that one to it. POLICY-33 POLICY-34
    fn on_error(&self, section: &Section<'a>, policy: ControlPolicy) -> Option<Fallback> {
        let (given, at) = section.text("on_error")?;
        let to = self.policy(section, "on_error", given, at)?;
        if needs_nothing(policy) {
            let message = format!(
                "{} says `on_error`, and `{}` asks no executor for anything, so it cannot fail",
                section.what,
                named(policy)
            );
            self.problems.add("contradiction", at, message, "leave it out");
            return None;
        }
        let on_error = standing_in(to);
        if on_error.is_none() {
            let message = format!(
                "`on_error` of {} is `{}`, which can fail as well: an error ends in `queue` or \
                 `drop`",
                section.what,
                named(to)
            );
            let next = "write `on_error = \"queue\"`, or leave it out: the control is tried again";
            self.problems.add("bad_fallback", at, message, next);
        }
        on_error
    }

    /// A route that injects or interrupts has a binding for that wherever it is effective, or says
    /// what stands in. POLICY-26 POLICY-27 POLICY-32
    pub(super) fn supported(
        &self,
        scope: &str,
        bindings: &Slots<Binding>,
        kinds: &Slots<kinds::Declared>,
        routes: &Slots<route_table::Declared>,
    ) {
        for declared in routes.values() {
            let (route, Some(at)) = (&declared.route, &declared.active_at) else { continue };
            if route.control.fallback.is_some() {
                continue;
            }
            for kind in kinds.values().filter(|one| reaches(route, &one.kind.name)) {
                let binding = bindings.values().find(|one| one.name == kind.kind.binding);
                let Some(binding) = binding else { continue };
                // What is inherited together was judged where the last of it was declared.
                let own = [&route.declared_in, &kind.scope, &binding.declared_in];
                if own.iter().any(|declared| *declared == scope)
                    && !advertises(binding, route.control.policy)
                {
                    self.unsupported(scope, route, at, &kind.kind.name, binding);
                }
            }
        }
    }

    fn unsupported(&self, scope: &str, route: &Route, at: &At, kind: &str, binding: &Binding) {
        let here = match route.declared_in == scope {
            true => String::new(),
            false => format!(" in scope `{}`, which inherits this", scope.escape_debug()),
        };
        let capability = named(route.control.policy);
        let (name, kind) = (route.name.escape_debug(), kind.escape_debug());
        let runner = binding.name.escape_debug();
        let message = format!(
            "route `{name}` says `active = \"{capability}\"`, and binding `{runner}` of kind \
             `{kind}` does not advertise `{capability}`{here}"
        );
        let next = format!(
            "add \"{capability}\" to `capabilities` of binding `{runner}`, or say what stands in: \
             `fallback = \"queue\"`"
        );
        self.problems.add("unsupported_control", at, message, next);
    }
}

/// What a route that creates may meet: Work of other kinds that a key leads to. Its events wait for
/// the end of an attempt that lacks the control. POLICY-32
pub(super) fn waiting(scope: &Scope) -> Vec<String> {
    let mut notes = Vec::new();
    for route in &scope.routes {
        let Control { policy, fallback: None, .. } = route.control else { continue };
        let others = scope.kinds.values().filter(|kind| {
            let creates = route.kind.as_deref().is_some_and(|created| created != kind.name);
            let binding = scope.bindings.get(&kind.binding);
            creates && binding.is_some_and(|binding| !advertises(binding, policy))
        });
        let others: Vec<String> = others.map(|kind| format!("`{}`", kind.name)).collect();
        if !others.is_empty() {
            notes.push(format!(
                "route `{0}` of scope `{1}` says `active = \"{3}\"` without a fallback: while an \
                 attempt of a work of kind {2} runs, an event of it waits for the end of that \
                 attempt, which does not advertise `{3}`",
                route.name,
                scope.name,
                others.join(" or "),
                named(policy),
            ));
        }
    }
    notes
}

/// What ends every chain of fallbacks.
const FALLBACKS: &str = "write `fallback = \"queue\"` or `fallback = \"drop\"`";

/// Whether Work of a kind gets the route's Events: what it creates, or whatever is there.
fn reaches(route: &Route, kind: &str) -> bool {
    match route.action {
        RouteAction::Work => route.kind.as_deref() == Some(kind),
        RouteAction::Update => true,
        RouteAction::Drop | RouteAction::Close | RouteAction::Decline => false,
    }
}

/// Every circle of fallbacks, from the policy that is written first back to itself.
fn circles<'a>(steps: &[Step<'a>]) -> Vec<(Vec<ControlPolicy>, &'a At)> {
    let mut seen: Vec<ControlPolicy> = Vec::new();
    let mut circles = Vec::new();
    for start in steps {
        let mut path = vec![start.from];
        let mut step = Some(start);
        while let Some(found) = step.filter(|step| !seen.contains(&step.from)) {
            let back = path.iter().position(|policy| *policy == found.to);
            path.push(found.to);
            if let Some(back) = back {
                circles.push((path[back..].to_vec(), start.at));
                break;
            }
            step = steps.iter().find(|step| step.from == found.to);
        }
        seen.append(&mut path);
    }
    circles
}
