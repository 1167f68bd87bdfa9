//! `abide route test`: what a configuration would make of an event, and why. Nothing is committed.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, Subcommand};
use serde_json::{Map, Value};

use crate::config::{Config, Environment, Scope};
use crate::domain::{Control, ControlPolicy, EventUid, Fallback, IngressId, Key, NewEvent};
use crate::extension::route::{Decision, EventView, RouteAction, RouteHandler, Tried, Why};
use crate::ingress::{self, cloudevents, github};

/// Look at routes
#[derive(Debug, Args)]
pub struct Route {
    /// What to do
    #[command(subcommand)]
    pub command: RouteCommand,
}

/// What `abide route` can do.
#[derive(Debug, Subcommand)]
pub enum RouteCommand {
    /// Show which route, key and decision an event would get and why, committing nothing
    ///
    /// The decision is that of an event whose key no Work owns yet: `work` is null.
    Test(Test),
}

/// Arguments of `abide route test`.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  abide route test --type pull_request payload.json")]
pub struct Test {
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
    /// The type of a plain payload, such as `pull_request.opened`, or GitHub's event name
    #[arg(long = "type", value_name = "TYPE")]
    pub event_type: Option<String>,
    /// The scope it belongs to, if the configuration has more than one
    #[arg(long)]
    pub scope: Option<String>,
    /// The source; otherwise it is the repository's that a GitHub payload names
    #[arg(long, value_name = "SOURCE")]
    pub source: Option<String>,
    /// The external id of a key the sender names; routes then compute none
    #[arg(long, value_name = "EXT")]
    pub key: Option<String>,
    /// Payloads, or CloudEvents in JSON; `-` reads standard input
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
}

impl Route {
    /// Runs the subcommand.
    ///
    /// # Errors
    /// A stream could not be written to.
    pub fn run(
        self,
        env: &Environment,
        out: &mut dyn Write,
        err: &mut dyn Write,
    ) -> io::Result<ExitCode> {
        match self.command {
            RouteCommand::Test(test) => test.run(env, out, err),
        }
    }
}

impl Test {
    /// Shows each file's decision on `out`; 1 if the configuration or a file cannot be used.
    ///
    /// # Errors
    /// A stream could not be written to.
    pub fn run(
        self,
        env: &Environment,
        out: &mut dyn Write,
        err: &mut dyn Write,
    ) -> io::Result<ExitCode> {
        let config = match Config::load(&self.config, env) {
            Ok(config) => config,
            Err(errors) => {
                write!(err, "{errors}")?;
                return Ok(ExitCode::FAILURE);
            }
        };
        let mut code = ExitCode::SUCCESS;
        for (n, file) in self.files.iter().enumerate() {
            if n > 0 {
                writeln!(out)?;
            }
            let tested = self.event(&config, file).and_then(|event| Tested::of(&config, &event));
            match tested {
                Ok(tested) => tested.write(out)?,
                Err(message) => {
                    writeln!(err, "error: {}: {message}", file.display())?;
                    code = ExitCode::FAILURE;
                }
            }
        }
        Ok(code)
    }

    /// The event a file holds, as it would be offered.
    fn event(&self, config: &Config, file: &Path) -> Result<NewEvent, String> {
        let text = read(file)?;
        let payload: Value =
            serde_json::from_str(&text).map_err(|error| format!("is not JSON: {error}"))?;
        let Value::Object(fields) = payload else {
            return Err("is JSON, but not an object: give one event a file".to_owned());
        };
        let mut event = if fields.contains_key("specversion") {
            self.cloud_event(config, fields)?
        } else {
            self.payload(config, &fields, text)?
        };
        if let Some(external_id) = self.key.clone() {
            event.key = Some(Key { source: event.id.source.clone(), external_id });
        }
        Ok(event)
    }

    fn cloud_event(&self, config: &Config, fields: Map<String, Value>) -> Result<NewEvent, String> {
        let mut event = cloudevents::structured(fields).map_err(|error| error.to_string())?;
        event.source = self.source.clone().unwrap_or(event.source);
        event.event_type = self.event_type.clone().unwrap_or(event.event_type);
        let scope = self.scope(config)?;
        Ok(event.into_new(EventUid::new(), scope.name.clone(), scope.limits))
    }

    fn scope<'a>(&self, config: &'a Config) -> Result<&'a Scope, String> {
        let names = || config.scopes.keys().cloned().collect::<Vec<_>>().join("`, `");
        let found = match &self.scope {
            Some(name) => config.scope(name).ok_or_else(|| {
                let name = name.escape_debug();
                format!("there is no scope `{name}`: say `--scope` with one of `{}`", names())
            }),
            None => config.only_scope().ok_or_else(|| {
                format!("there are several scopes: say `--scope` with one of `{}`", names())
            }),
        };
        found.map(AsRef::as_ref)
    }

    /// A plain payload says neither its type nor, in general, its source.
    fn payload(
        &self,
        config: &Config,
        fields: &Map<String, Value>,
        text: String,
    ) -> Result<NewEvent, String> {
        let given = self.event_type.as_deref();
        let given = given.ok_or("is a plain payload: say its type with `--type TYPE`")?;
        let event_type = match given.contains('.') {
            true => given.to_owned(),
            false => github::event_type(given, fields).map_err(|error| error.to_string())?,
        };
        let source = match &self.source {
            Some(source) => source.clone(),
            None => github::source(fields)
                .map_err(|_| "names no repository: say its source with `--source SOURCE`")?,
        };
        Ok(NewEvent {
            uid: EventUid::new(),
            id: IngressId { source, delivery: "route-test".to_owned() },
            event_type,
            subject: None,
            occurred_at: None,
            scope: self.scope(config)?.name.clone(),
            key: None,
            target: None,
            limits: self.scope(config)?.limits,
            payload: Some(text),
            suspect_within: None,
        })
    }
}

fn read(file: &Path) -> Result<String, String> {
    let bytes = match file.to_str() {
        Some("-") => {
            let mut bytes = Vec::new();
            io::Read::read_to_end(&mut io::stdin(), &mut bytes).map(|_| bytes)
        }
        Some(_) | None => fs::read(file),
    };
    let bytes = bytes.map_err(|error| format!("cannot be read: {error}"))?;
    String::from_utf8(bytes).map_err(|_| "is not UTF-8".to_owned())
}

/// What a configuration made of one event.
struct Tested {
    event: EventView,
    /// The route whose `key` it was; `None` if the sender named it, or if there is none.
    key_from: Option<String>,
    decision: Decision,
}

impl Tested {
    /// Does what acceptance and routing would do, with no Work behind the key.
    fn of(config: &Config, offered: &NewEvent) -> Result<Self, String> {
        let mut event = ingress::offered_view(config, offered);
        let mut key_from = None;
        let scope = config.scope(&offered.scope).ok_or("its scope is not in the configuration")?;
        if event.key.is_none() {
            let found = scope.handler.key_of(&event).map_err(|error| error.to_string())?;
            if let Some((route, external_id)) = found {
                event.key = Some(Key { source: event.source.clone(), external_id });
                key_from = Some(route);
            }
        }
        let decision = scope.handler.evaluate(&event, None).map_err(|error| error.to_string())?;
        Ok(Self { event, key_from, decision })
    }

    fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        let event = &self.event;
        let (kind, source) = (event.event_type.escape_debug(), event.source.escape_debug());
        writeln!(out, "event     {kind} from {source}")?;
        writeln!(out, "key       {}", self.key())?;
        for tried in &self.decision.tried {
            writeln!(out, "tried     {}", reason(tried))?;
        }
        for id in &self.decision.attach {
            writeln!(out, "attach    {source}#{}", id.escape_debug())?;
        }
        writeln!(out, "decision  {}", self.decided())?;
        match self.decision.action {
            RouteAction::Work | RouteAction::Update => {
                writeln!(out, "active    {}", active(self.decision.control))
            }
            RouteAction::Decline | RouteAction::Drop | RouteAction::Close => Ok(()),
        }
    }

    fn key(&self) -> String {
        let Some(key) = &self.event.key else { return "none".to_owned() };
        let shown = format!("{}#{}", key.source.escape_debug(), key.external_id.escape_debug());
        match &self.key_from {
            Some(route) => format!("{shown} (by route `{route}`)"),
            None => format!("{shown} (named by its sender)"),
        }
    }

    fn decided(&self) -> String {
        match (&self.decision.route, &self.decision.kind) {
            _ if self.event.sender.is_self => {
                "unmatched: its sender is in `self`, so no route is tried".to_owned()
            }
            (Some(route), kind) => format!("route `{route}`: {}", self.made(kind.as_deref())),
            (None, _) => "unmatched: the event is kept, and no route wanted it".to_owned(),
        }
    }
}

impl Tested {
    /// What the matching route makes of the event.
    fn made(&self, kind: Option<&str>) -> String {
        match self.decision.action {
            RouteAction::Work | RouteAction::Decline => {
                let kind = kind.unwrap_or_default();
                match self.event.key {
                    Some(_) => format!(
                        "input of the Work that owns the key, or of a new one of kind `{kind}`"
                    ),
                    None => format!("input of a new Work of kind `{kind}`, since it has no key"),
                }
            }
            RouteAction::Update => {
                "input of the Work that owns the key; unmatched if there is none".to_owned()
            }
            RouteAction::Drop => "dropped: kept, and nothing starts from it".to_owned(),
            RouteAction::Close => {
                "cancels the Work that owns the key; unmatched if there is none".to_owned()
            }
        }
    }
}

/// What becomes of the event should an attempt of its Work run when it is routed. POLICY-01
fn active(Control { policy, fallback, on_error }: Control) -> String {
    let policy = match policy {
        ControlPolicy::Queue => {
            return "while an attempt runs it waits for the next one".to_owned();
        }
        ControlPolicy::Drop => {
            return "while an attempt runs it is dropped: kept, never input".into();
        }
        ControlPolicy::Inject => "while an attempt runs it is offered to its process",
        ControlPolicy::Interrupt => {
            "while an attempt runs that is interrupted, and the next one gets it"
        }
    };
    let lacks = match fallback {
        Some(fallback) => format!("an attempt that cannot: {}", stand_in(fallback)),
        None => "an attempt that cannot: it waits unrouted until that has ended".to_owned(),
    };
    let fails = match on_error {
        Some(fallback) => stand_in(fallback),
        None => "it is tried again",
    };
    format!("{policy}\n          {lacks}\n          on an error: {fails}")
}

const fn stand_in(fallback: Fallback) -> &'static str {
    match fallback {
        Fallback::Queue => "it waits for the next one",
        Fallback::Drop => "it is dropped",
    }
}

fn reason(tried: &Tried) -> String {
    let why = match &tried.why {
        Why::Matched => "matches".to_owned(),
        Why::OtherType => "no: `on` does not name this type".to_owned(),
        Why::WhenFalse => "no: `when` is false".to_owned(),
        Why::AbsentField(field) => format!("no: `when` reads what is not there: {field}"),
        Why::NoKey => {
            "no: the event has no key (`key` is null or reads what is not there), and no work"
                .into()
        }
    };
    format!("`{}` {why}", tried.route)
}
