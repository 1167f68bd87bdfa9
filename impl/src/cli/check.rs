//! `abide check`: is this configuration one the daemon would start with?

use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;

use crate::api::text::printable;
use crate::config::{Config, Environment, IngressKind, Route, Scope, ScopeRule};
use crate::extension::route::RouteAction;

/// Validate a configuration; errors name file, line, column, cause and remedy
#[derive(Debug, Args)]
pub struct Check {
    /// The configuration file
    #[arg(
        short,
        long,
        value_name = "FILE",
        env = "ABIDE_CONFIG",
        hide_env_values = true,
        default_value = "abide.toml"
    )]
    pub config: PathBuf,
}

impl Check {
    /// Writes a summary to `out` and 0, or every problem to `err` and 1.
    ///
    /// # Errors
    /// A stream could not be written to.
    pub fn run(
        self,
        env: &Environment,
        out: &mut dyn Write,
        err: &mut dyn Write,
    ) -> io::Result<ExitCode> {
        match Config::load(&self.config, env) {
            Ok(config) => {
                summary(&config, out)?;
                Ok(ExitCode::SUCCESS)
            }
            Err(errors) => {
                write!(err, "{errors}")?;
                Ok(ExitCode::FAILURE)
            }
        }
    }
}

fn summary(config: &Config, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "{} is valid", printable(&config.file.display().to_string()))?;
    for scope in config.scopes.values() {
        self::scope(scope, out)?;
    }
    for ingress in &config.ingresses {
        let kind = match ingress.kind {
            IngressKind::Github => "github",
            IngressKind::Http => "http",
        };
        let target = match &ingress.scope {
            ScopeRule::One(scope) => format!("`{}`", printable(scope)),
            ScopeRule::ByResource(map) => plural(map.len(), "repository entry"),
        };
        let secrets = plural(ingress.secrets.len(), "secret");
        writeln!(out, "  ingress  `{}`: {kind}, {secrets}, to {target}", ingress.name)?;
    }
    for note in config.notes() {
        writeln!(out, "note: {}", printable(&note))?;
    }
    Ok(())
}

fn scope(scope: &Scope, out: &mut dyn Write) -> io::Result<()> {
    let at_once = match scope.capacity {
        Some(capacity) => format!("{} at once, ", plural(capacity as usize, "attempt")),
        None => String::new(),
    };
    let depth = scope.limits.max_depth;
    writeln!(out, "  scope    `{}`: {at_once}chains up to {depth} deep", printable(&scope.name))?;
    let from = |declared_in: &str| match declared_in == scope.name {
        true => String::new(),
        false => format!(" (from `{}`)", printable(declared_in)),
    };
    for route in &scope.routes {
        let on = printable(&route.on.join(", "));
        let (name, from) = (&route.name, from(&route.declared_in));
        writeln!(out, "  route    `{name}`: {on} -> {}{from}", made(route))?;
    }
    for binding in scope.bindings.values() {
        let (name, from) = (&binding.name, from(&binding.declared_in));
        let command = printable(&binding.command.join(" "));
        writeln!(out, "  binding  `{name}`: {command}{from}")?;
    }
    Ok(())
}

/// What a route makes of an event, in a word.
fn made(route: &Route) -> String {
    let word = match route.action {
        RouteAction::Work | RouteAction::Decline => {
            return format!("`{}`", route.kind.as_deref().unwrap_or_default());
        }
        RouteAction::Update => "update",
        RouteAction::Drop => "drop",
        RouteAction::Close => "close",
    };
    word.to_owned()
}

fn plural(count: usize, what: &str) -> String {
    match (count, what.strip_suffix('y')) {
        (1, _) => format!("{count} {what}"),
        (_, Some(stem)) => format!("{count} {stem}ies"),
        (_, None) => format!("{count} {what}s"),
    }
}
