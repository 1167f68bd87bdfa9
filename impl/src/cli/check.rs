//! `abide check`: is this configuration one the daemon would start with?

use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;

use crate::config::{Config, Environment, IngressKind, ScopeRule};

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
    let scope = &config.scope;
    writeln!(out, "{} is valid", config.file.display())?;
    writeln!(
        out,
        "  scope    `{}`: {} at once, chains up to {} deep",
        scope.name,
        plural(scope.capacity as usize, "attempt"),
        scope.limits.max_depth
    )?;
    for route in &scope.routes {
        writeln!(out, "  route    `{}`: {} -> `{}`", route.name, route.on.join(", "), route.kind)?;
    }
    let binding = &scope.binding;
    writeln!(out, "  binding  `{}`: {}", binding.name, binding.command.join(" "))?;
    for ingress in &config.ingresses {
        let kind = match ingress.kind {
            IngressKind::Github => "github",
            IngressKind::Http => "http",
        };
        let target = match &ingress.scope {
            ScopeRule::One(scope) => format!("`{scope}`"),
            ScopeRule::ByResource(map) => plural(map.len(), "repository entry"),
        };
        let secrets = plural(ingress.secrets.len(), "secret");
        writeln!(out, "  ingress  `{}`: {kind}, {secrets}, to {target}", ingress.name)?;
    }
    for note in config.notes() {
        writeln!(out, "note: {note}")?;
    }
    Ok(())
}

fn plural(count: usize, what: &str) -> String {
    match (count, what.strip_suffix('y')) {
        (1, _) => format!("{count} {what}"),
        (_, Some(stem)) => format!("{count} {stem}ies"),
        (_, None) => format!("{count} {what}s"),
    }
}
