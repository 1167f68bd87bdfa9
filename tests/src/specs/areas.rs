//! The areas of the rules, in the order reports show them.
//!
//! An area is the prefix of a rule id. Where a law file is named, the model and the runtime both
//! keep the area there.

/// A family of rules under one prefix.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Area {
    /// The prefix of its rule ids.
    pub id: &'static str,
    /// What it is about, in a few words.
    pub about: &'static str,
    /// The file of `law/` that states it, in both crates; `None` if no law does.
    pub law: Option<&'static str>,
}

/// Every area there is; a rule of another one is refused.
pub const AREAS: &[Area] = &[
    lawful("INGRESS", "accepting events", "ingress"),
    lawful("ROUTE", "routes and their evaluation", "routing"),
    lawful("BIND", "bindings, scopes, generations", "routing"),
    lawful("OWN", "who owns a key", "ownership"),
    lawful("TERM", "terminal work and successors", "ownership"),
    lawful("POLICY", "what happens to input while an attempt runs", "intents"),
    lawful("CTRL", "operator controls", "intents"),
    lawful("INJECT", "injection and its proof", "intents"),
    lawful("DONE", "completion races", "attempts"),
    lawful("LEASE", "leases and fencing", "attempts"),
    lawful("WAIT", "registering a wait", "waits"),
    lawful("WAKE", "arbitration and the wake", "waits"),
    lawful("GATE", "gated calls", "waits"),
    lawful("TIMER", "timeouts", "timers"),
    lawful("ALIAS", "dependencies and aliases", "aliases"),
    lawful("ADOPT", "recovery and adoption", "recovery"),
    lawful("RETRY", "failures and retries", "retry"),
    lawful("CANCEL", "cancelling work", "cancel"),
    lawful("HOLD", "gated starts", "holds"),
    lawful("BUDGET", "budgets", "budgets"),
    lawful("CAUSE", "causal bounds", "causality"),
    lawful("REJECT", "evidence of a rejection", "causality"),
    lawful("CITE", "cited causes", "causality"),
    lawful("JOB", "schedules and standing work", "jobs"),
    lawful("PARK", "the edges of a run", "runs"),
    lawful("SEAL", "settling a run", "runs"),
    lawful("EFFECT", "stations with effects", "runs"),
    lawful("CKPT", "checkpoints", "runs"),
    lawful("PATTERN", "pinned patterns", "runs"),
    lawful("HW", "hardware waits", "hardware"),
    lawful("CONSENT", "consent", "consent"),
    lawful("DELEG", "delegated jobs", "delegates"),
    lawful("RET", "return and delivery", "deliveries"),
    lawful("START", "startup", "startup"),
    lawful("CXL", "cancelling a run", "containment"),
    lawful("COMP", "a run inside an attempt", "composition"),
    other("OURS", "behaviour no seed states"),
    other("EXEC", "what an executor owes"),
    other("API", "the operator's and the execution's doors"),
    other("EVID", "evidence a release must carry"),
];

/// The prefix of a rule id: `WAIT` of `WAIT-03`.
#[must_use]
pub fn area_of(rule: &str) -> &str {
    rule.rsplit_once('-').map_or(rule, |(area, _)| area)
}

/// The area of this prefix, if there is one.
#[must_use]
pub fn area(id: &str) -> Option<&'static Area> {
    AREAS.iter().find(|area| area.id == id)
}

const fn lawful(id: &'static str, about: &'static str, law: &'static str) -> Area {
    Area { id, about, law: Some(law) }
}

const fn other(id: &'static str, about: &'static str) -> Area {
    Area { id, about, law: None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_area_of_a_rule_is_its_prefix() {
        assert_eq!(area_of("WAIT-03"), "WAIT");
        assert_eq!(area_of("nothing"), "nothing");
        assert_eq!(area("WAIT").and_then(|area| area.law), Some("waits"));
        assert_eq!(area("PLAYBOOK"), None);
    }

    #[test]
    fn no_area_is_listed_twice() {
        for (at, area) in AREAS.iter().enumerate() {
            assert!(AREAS[..at].iter().all(|earlier| earlier.id != area.id), "{}", area.id);
        }
    }
}
