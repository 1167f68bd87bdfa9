//! What an expression sees: views converted once an Event into CEL's own values.
//!
//! Integers become `int`, since CEL has no arithmetic between `int` and `uint`. A list that is too
//! long to walk becomes a value that no operation accepts.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use cel::objects::{Key as MapKey, Map, Opaque};
use cel::{Context, Env, Value};
use serde_json::Value as Json;

use crate::domain::{Key, WorkStatus};
use crate::extension::route::{EventView, WorkView};

/// The longest list of a payload that an expression may read.
pub const LIST_MAX: usize = 10_000;

/// The type's name of a list that is longer; evaluation errors name it.
pub(super) const TOO_LONG: &str = "list_longer_than_10000";

/// The values of one Event, ready to be named by any number of expressions.
pub(super) struct Values {
    event: Value,
    work: Value,
    scope: Value,
}

impl Values {
    /// Converts the views; the payload only if something reads it.
    pub(super) fn of(event: &EventView, work: Option<&WorkView>, reads_data: bool) -> Self {
        let data = if reads_data { value(&event.data) } else { Value::Null };
        let text = |text: &str| Value::from(text.to_owned());
        let maybe = |value: Option<&String>| value.map_or(Value::Null, |value| text(value));
        let fields = [
            ("id", text(&event.uid.to_string())),
            ("seq", event.seq.map_or(Value::Null, Value::Int)),
            ("source", text(&event.source)),
            ("type", text(&event.event_type)),
            ("key", event.key.as_ref().map_or(Value::Null, key)),
            ("subject", maybe(event.subject.as_ref())),
            ("time", event.time.map_or(Value::Null, |time| text(&time.to_string()))),
            ("actor", maybe(event.sender.actor.as_ref())),
            ("trust", maybe(event.sender.trust.as_ref())),
            ("self", Value::Bool(event.sender.is_self)),
            ("data", data),
        ];
        let scope = text(&event.scope);
        Self { event: map(fields), work: work.map_or(Value::Null, work_value), scope }
    }

    /// The context of one route's expressions.
    pub(super) fn context(&self, config: &Json) -> Context<'static, 'static> {
        let mut context = bare_context();
        context.add_variable_from_value("event", self.event.clone());
        context.add_variable_from_value("work", self.work.clone());
        context.add_variable_from_value("scope", self.scope.clone());
        context.add_variable_from_value("route", map([("config", value(config))]));
        context
    }
}

/// The functions of the language and no names.
pub(super) fn bare_context() -> Context<'static, 'static> {
    static ENV: OnceLock<Arc<Env>> = OnceLock::new();
    Context::with_env(Arc::clone(ENV.get_or_init(|| Arc::new(Env::stdlib()))))
}

fn work_value(work: &WorkView) -> Value {
    let status = match work.status {
        WorkStatus::Ready => "ready",
        WorkStatus::Running => "running",
        WorkStatus::Waiting => "waiting",
        WorkStatus::Completed => "completed",
        WorkStatus::Failed => "failed",
        WorkStatus::Cancelled => "cancelled",
    };
    let keys: Vec<Value> = work.keys.iter().map(key).collect();
    map([
        ("id", Value::from(work.uid.to_string())),
        ("kind", Value::from(work.kind.clone())),
        ("status", Value::from(status.to_owned())),
        ("keys", Value::List(Arc::new(keys))),
        ("attempt", Value::Int(i64::from(work.attempt))),
    ])
}

/// A key as its two fields.
fn key(key: &Key) -> Value {
    let (source, id) = (key.source.clone(), key.external_id.clone());
    map([("source", Value::from(source)), ("id", Value::from(id))])
}

fn map<const N: usize>(fields: [(&str, Value); N]) -> Value {
    let fields = fields.map(|(name, value)| (MapKey::from(name.to_owned()), value));
    Value::Map(Map { map: Arc::new(HashMap::from(fields)) })
}

/// JSON as CEL; its depth is bounded by its parser.
fn value(json: &Json) -> Value {
    match json {
        Json::Null => Value::Null,
        Json::Bool(truth) => Value::Bool(*truth),
        Json::Number(number) => match (number.as_i64(), number.as_u64()) {
            (Some(int), _) => Value::Int(int),
            (None, Some(uint)) => Value::UInt(uint),
            (None, None) => Value::Float(number.as_f64().unwrap_or(f64::NAN)),
        },
        Json::String(text) => Value::from(text.clone()),
        Json::Array(items) if items.len() > LIST_MAX => Value::Opaque(Arc::new(TooLong)),
        Json::Array(items) => Value::List(Arc::new(items.iter().map(value).collect())),
        Json::Object(fields) => {
            let fields =
                fields.iter().map(|(name, field)| (MapKey::from(name.clone()), value(field)));
            Value::Map(Map { map: Arc::new(fields.collect()) })
        }
    }
}

/// Stands for a list that is too long to read.
#[derive(Debug, PartialEq, Eq)]
struct TooLong;

impl Opaque for TooLong {
    fn runtime_type_name(&self) -> &str {
        TOO_LONG
    }
}
