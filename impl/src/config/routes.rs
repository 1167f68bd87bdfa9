//! The declarative routes: the shipped [`RouteHandler`].
//!
//! Routes are tried in order, and evaluation ends at the first that matches. A `when` that reads
//! an absent field is no match, and so is an Event without a key; anything else that goes wrong
//! is an error of the handler, which decides nothing. ROUTE-08 ROUTE-09 OURS-04

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use cel::{Context, ExecutionError, Value};
use globset::GlobMatcher;
use serde_json::Value as Json;

use super::expression::Expression;
use super::pool;
use super::values::{TOO_LONG, Values};
use crate::domain::{CORE_PREFIX, Control};
use crate::extension::route::{
    Decision, EventView, RouteAction, RouteError, RouteErrorKind, RouteHandler, Tried, Why,
    WorkView,
};

/// The longest external id a `key` may give, in bytes.
pub const KEY_MAX: usize = 1024;

/// The most external ids an `attach` may give.
pub const ATTACH_MAX: usize = 64;

/// How long the evaluation of all routes for one Event may take, waiting for a thread included.
const DEADLINE: Duration = Duration::from_secs(2);

/// One route, compiled.
#[derive(Debug)]
pub(super) struct Compiled {
    pub(super) name: String,
    pub(super) action: RouteAction,
    pub(super) kind: Option<String>,
    pub(super) control: Control,
    pub(super) on: Vec<GlobMatcher>,
    pub(super) when: Option<Expression>,
    pub(super) key: Option<Expression>,
    pub(super) attach: Option<Expression>,
    pub(super) config: Json,
}

type Table = Vec<Arc<Compiled>>;

/// The routes of a scope, compiled. Cloning shares them.
///
/// [`RouteHandler::identify`] and [`RouteHandler::evaluate`] block their thread, for two seconds at
/// most; call them where blocking is allowed.
#[derive(Debug, Clone)]
pub struct Routes {
    table: Arc<Table>,
    /// The types that reopen, by kind.
    reopen: Arc<BTreeMap<String, Vec<GlobMatcher>>>,
    deadline: Duration,
}

impl Routes {
    pub(super) fn new(table: Table, reopen: BTreeMap<String, Vec<GlobMatcher>>) -> Self {
        Self { table: Arc::new(table), reopen: Arc::new(reopen), deadline: DEADLINE }
    }

    /// The same routes under another deadline.
    #[must_use]
    pub fn with_deadline(self, deadline: Duration) -> Self {
        Self { deadline, ..self }
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.table.len()
    }

    /// There are none: every Event stays unmatched.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.table.is_empty()
    }

    /// Like [`RouteHandler::identify`], and says which route gave the key.
    ///
    /// # Errors
    /// A route that was tried could not be evaluated. ROUTE-09
    pub fn key_of(&self, event: &EventView) -> Result<Option<(String, String)>, RouteError> {
        if event.sender.is_self || !self.any_names(event) {
            return Ok(None);
        }
        let values = Values::of(event, None, self.reads_data());
        let event_type = event.event_type.clone();
        self.on_pool(move |table| first_key(table, &event_type, &values))
    }

    /// Whether an Event of this type makes a successor of this Work, which has ended. TERM-03
    fn reopens(&self, event_type: &str, work: &WorkView) -> bool {
        let patterns = self.reopen.get(&work.kind);
        work.status.is_terminal() && patterns.is_some_and(|patterns| named(patterns, event_type))
    }

    fn any_names(&self, event: &EventView) -> bool {
        self.table.iter().any(|route| route.names(&event.event_type))
    }

    fn reads_data(&self) -> bool {
        let expressions =
            self.table.iter().flat_map(|route| [&route.when, &route.key, &route.attach]);
        expressions.flatten().any(|expression| expression.reads_data)
    }

    fn on_pool<T: Send + 'static>(
        &self,
        job: impl FnOnce(&[Arc<Compiled>]) -> Result<T, RouteError> + Send + 'static,
    ) -> Result<T, RouteError> {
        let table = Arc::clone(&self.table);
        pool::run(self.deadline, move || job(&table))
            .unwrap_or_else(|kind| Err(RouteError { route: String::new(), kind }))
    }
}

impl RouteHandler for Routes {
    /// The key of the first route whose `on` names the Event's type, whose `when` holds, or names
    /// what is known only after acceptance (`work`, `event.seq`, `event.key`), and whose `key` is
    /// neither null, nor empty, nor reads an absent field. An Event of this installation's own
    /// account gets no key, so that it reaches no Work. OURS-12
    fn identify(&self, event: &EventView) -> Result<Option<String>, RouteError> {
        Ok(self.key_of(event)?.map(|(_, key)| key))
    }

    /// The first route whose `on` names the Event's type and whose `when` holds, given that there is
    /// something it can act on: the Event's key, whichever route it came from; the Work it resolves
    /// to; or, for a route that asks for no key, a Work of its own or nothing at all. An Event of
    /// this installation's own account is not tried at all. OURS-12 ROUTE-08 ROUTE-24
    fn evaluate(&self, event: &EventView, work: Option<&WorkView>) -> Result<Decision, RouteError> {
        if event.sender.is_self {
            return Ok(Decision::default());
        }
        let reads_data = self.reads_data() && self.any_names(event);
        let values = Values::of(event, work, reads_data);
        let event_type = event.event_type.clone();
        let found = event.key.is_some() || work.is_some();
        let reopen = work.is_some_and(|work| self.reopens(&event_type, work));
        let decision = self.on_pool(move |table| decide(table, &event_type, found, &values))?;
        Ok(Decision { reopen, ..decision })
    }
}

fn first_key(
    table: &[Arc<Compiled>],
    event_type: &str,
    values: &Values,
) -> Result<Option<(String, String)>, RouteError> {
    for route in table.iter().filter(|route| route.names(event_type)) {
        let Some(key) = &route.key else { continue };
        let context = values.context(&route.config);
        let late = route.when.as_ref().is_some_and(|when| when.late);
        if !late && route.declines(&context)?.is_some() {
            continue;
        }
        if let Some(key) = route.key(key, &context)? {
            return Ok(Some((route.name.clone(), key)));
        }
    }
    Ok(None)
}

fn decide(
    table: &[Arc<Compiled>],
    event_type: &str,
    found: bool,
    values: &Values,
) -> Result<Decision, RouteError> {
    let mut tried = Vec::new();
    for route in table {
        let why = route.try_on(event_type, found, values)?;
        let matched = why == Why::Matched;
        tried.push(Tried { route: route.name.clone(), why });
        if matched {
            return Ok(Decision {
                route: Some(route.name.clone()),
                action: route.action,
                kind: route.kind.clone(),
                control: route.control,
                attach: route.attached(&values.context(&route.config))?,
                reopen: false,
                tried,
            });
        }
    }
    Ok(Decision { tried, ..Decision::default() })
}

/// Whether one of these patterns names a type. None names core's own: what core says of a Work has
/// no route.
fn named(patterns: &[GlobMatcher], event_type: &str) -> bool {
    let core = event_type.starts_with(CORE_PREFIX);
    !core && patterns.iter().any(|pattern| pattern.is_match(event_type))
}

impl Compiled {
    fn names(&self, event_type: &str) -> bool {
        named(&self.on, event_type)
    }

    fn try_on(&self, event_type: &str, found: bool, values: &Values) -> Result<Why, RouteError> {
        if !self.names(event_type) {
            return Ok(Why::OtherType);
        }
        if let Some(why) = self.declines(&values.context(&self.config))? {
            return Ok(why);
        }
        Ok(if found || self.needs_nothing() { Why::Matched } else { Why::NoKey })
    }

    /// It takes an Event that has neither key nor Work. One that computes a key asks for one, and
    /// what acts on Work that is there needs one. ROUTE-24 ROUTE-25 OURS-04
    const fn needs_nothing(&self) -> bool {
        match self.action {
            RouteAction::Work | RouteAction::Drop => self.key.is_none(),
            RouteAction::Update | RouteAction::Close | RouteAction::Decline => false,
        }
    }

    /// The external ids its Work is to own as well, each once; none where there is nothing to read.
    fn attached(&self, context: &Context<'_, '_>) -> Result<Vec<String>, RouteError> {
        let Some(attach) = &self.attach else { return Ok(Vec::new()) };
        let items = match attach.execute(context) {
            Ok(Value::Null) => return Ok(Vec::new()),
            Ok(Value::List(items)) => items,
            Ok(other) => return Err(self.result("attach", &other, "a list of texts or null")),
            Err(error) if absent(&error).is_some() => return Ok(Vec::new()),
            Err(error) => return Err(self.failed("attach", &error)),
        };
        let mut ids: Vec<String> = Vec::new();
        for item in items.iter() {
            let Value::String(id) = item else {
                return Err(self.result("attach", item, "a text in each place of its list"));
            };
            if id.len() > KEY_MAX {
                let what = format!("a key of more than {KEY_MAX} bytes");
                return Err(self.error(RouteErrorKind::TooLarge { field: "attach", what }));
            }
            // An empty id tells nothing from anything, as in `key`.
            if !id.is_empty() && !ids.contains(id) {
                ids.push(id.as_ref().clone());
            }
            if ids.len() > ATTACH_MAX {
                let what = format!("more than {ATTACH_MAX} keys");
                return Err(self.error(RouteErrorKind::TooLarge { field: "attach", what }));
            }
        }
        Ok(ids)
    }

    /// Why its `when` does not hold; `None` if it does, or if there is none.
    fn declines(&self, context: &Context<'_, '_>) -> Result<Option<Why>, RouteError> {
        let Some(when) = &self.when else { return Ok(None) };
        match when.execute(context) {
            Ok(Value::Bool(true)) => Ok(None),
            Ok(Value::Bool(false)) => Ok(Some(Why::WhenFalse)),
            Ok(other) => Err(self.result("when", &other, "true or false")),
            Err(error) => match absent(&error) {
                Some(field) => Ok(Some(Why::AbsentField(field))),
                None => Err(self.failed("when", &error)),
            },
        }
    }

    /// The external id; `None` where there is nothing to tell one thing from another by.
    fn key(
        &self,
        key: &Expression,
        context: &Context<'_, '_>,
    ) -> Result<Option<String>, RouteError> {
        match key.execute(context) {
            Ok(Value::Null) => Ok(None),
            Ok(Value::String(text)) if text.is_empty() => Ok(None),
            Ok(Value::String(text)) if text.len() > KEY_MAX => {
                let what = format!("a key of more than {KEY_MAX} bytes");
                Err(self.error(RouteErrorKind::TooLarge { field: "key", what }))
            }
            Ok(Value::String(text)) => Ok(Some(text.as_ref().clone())),
            Ok(other) => Err(self.result("key", &other, "a text or null")),
            Err(error) if absent(&error).is_some() => Ok(None),
            Err(error) => Err(self.failed("key", &error)),
        }
    }

    fn result(&self, field: &'static str, got: &Value, want: &'static str) -> RouteError {
        let got = got.type_of().to_string();
        self.error(RouteErrorKind::Result { field, got, want })
    }

    fn failed(&self, field: &'static str, error: &ExecutionError) -> RouteError {
        let message = describe(error);
        if message.contains(TOO_LONG) {
            let what = format!("a list of more than {} items", super::LIST_MAX);
            return self.error(RouteErrorKind::TooLarge { field, what });
        }
        self.error(RouteErrorKind::Type { field, message })
    }

    fn error(&self, kind: RouteErrorKind) -> RouteError {
        RouteError { route: self.name.clone(), kind }
    }
}

/// The field an evaluation missed: one that is not there, an element beyond the end of its list,
/// or anything below a null. OURS-04
#[expect(clippy::wildcard_enum_match_arm, reason = "the evaluator's errors may grow")]
fn absent(error: &ExecutionError) -> Option<String> {
    match error {
        ExecutionError::NoSuchKey(name) => Some(shortened(name)),
        ExecutionError::IndexOutOfBounds(_) => Some("an element beyond the end".to_owned()),
        ExecutionError::NoSuchOverload(overload)
            if matches!(overload.function(), "_._" | "_[_]")
                && overload.argument_types().first().is_some_and(|name| name == "null_type") =>
        {
            Some("a field of null".to_owned())
        }
        _ => None,
    }
}

/// What went wrong, without the payload's own values: the text is logged and shown.
#[expect(clippy::wildcard_enum_match_arm, reason = "the evaluator's errors may grow")]
fn describe(error: &ExecutionError) -> String {
    match error {
        ExecutionError::NoSuchOverload(overload) => shortened(&overload.to_string()),
        ExecutionError::UnexpectedType { got, want } => format!("got {got} where {want} belongs"),
        ExecutionError::UnsupportedBinaryOperator(name, left, right) => {
            format!("cannot {name} {} and {}", left.type_of(), right.type_of())
        }
        ExecutionError::ValuesNotComparable(left, right) => {
            format!("cannot compare {} with {}", left.type_of(), right.type_of())
        }
        ExecutionError::UnsupportedTargetType { target } => {
            format!("cannot use {} here", type_name(target))
        }
        ExecutionError::DivisionByZero(_) | ExecutionError::RemainderByZero(_) => {
            "division by zero".to_owned()
        }
        ExecutionError::Overflow(..) => "a number is out of range".to_owned(),
        ExecutionError::FunctionError { function, .. } => format!("`{function}` refused its input"),
        _ => "the expression does not fit this payload".to_owned(),
    }
}

fn type_name(value: &Value) -> String {
    if let Value::Opaque(opaque) = value {
        return opaque.runtime_type_name().to_owned();
    }
    value.type_of().to_string()
}

fn shortened(text: &str) -> String {
    text.chars().take(200).flat_map(char::escape_debug).collect()
}
