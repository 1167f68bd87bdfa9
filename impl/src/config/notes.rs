//! What is true of a valid configuration and easily overlooked.

use super::Config;

/// One sentence each, for `check`, `serve` and the log. OURS-27
pub(super) fn of(config: &Config) -> Vec<String> {
    let mut notes = Vec::new();
    let bindings = config.scopes.values().flat_map(|scope| scope.bindings.keys());
    for name in bindings.collect::<std::collections::BTreeSet<_>>() {
        notes.push(format!(
            "binding `{name}` runs with isolation \"none\": its processes can read what the daemon \
             can, so gates and budgets are advisory"
        ));
    }
    for scope in config.scopes.values() {
        notes.extend(super::controls::waiting(scope));
    }
    if config.principals.is_empty() {
        let nobody = "there is no `[principal.NAME]`: nobody can use the operator door";
        notes.push(nobody.to_owned());
    }
    for ingress in config.ingresses.iter().filter(|ingress| ingress.secrets.is_empty()) {
        notes.push(format!(
            "ingress `{}` takes unsigned deliveries: anyone on this machine can send one",
            ingress.name
        ));
    }
    if let (Some(ingress), None) = (config.ingresses.first(), config.listen.hooks) {
        notes.push(format!(
            "ingress `{}` cannot be reached: `hooks` of `[listen]` is not set",
            ingress.name
        ));
    }
    notes
}
