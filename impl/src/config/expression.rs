//! Compiles one expression and resolves everything it names. OURS-05
//!
//! CEL's own compiler accepts unknown names and recurses deeply, so an expression is bounded
//! before it is compiled, compiled on a stack made for it, and walked afterwards.

use std::collections::BTreeSet;

use cel::common::ast::{CallExpr, ComprehensionExpr, EntryExpr, Expr, LiteralValue, SelectExpr};
use cel::{Context, IdedExpr, Program, Value};

use super::section::suggestion;
use super::shape::shapes;
use super::values;

/// The longest expression, in bytes. Its compiler's error positions and stack are safe below it.
pub const EXPRESSION_MAX: usize = 4096;

/// The deepest tree of an expression, which bounds the stack of its evaluation.
pub(super) const DEPTH_MAX: usize = 64;

/// What the parser may use: its recursion limit still takes more than a thread's usual stack.
const PARSER_STACK: usize = 64 << 20;

/// What an expression is for, which decides its type and what it may name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// A truth, evaluated whenever the Event is routed.
    When,
    /// A text or null, evaluated once before the Event is accepted.
    Key,
    /// A list of texts or null, evaluated when the route has matched.
    Attach,
}

/// A compiled expression.
#[derive(Debug)]
pub(super) struct Expression {
    program: Program,
    /// It reads the payload.
    pub(super) reads_data: bool,
    /// It names what is known only once the Event is accepted and resolved.
    pub(super) late: bool,
}

/// What is wrong with an expression, and at which of its characters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Fault {
    pub(super) at: usize,
    pub(super) message: String,
    pub(super) next: String,
}

impl Fault {
    fn new(at: usize, message: impl Into<String>, next: impl Into<String>) -> Self {
        Self { at, message: message.into(), next: next.into() }
    }
}

impl Expression {
    /// Evaluates it.
    pub(super) fn execute(&self, context: &Context<'_, '_>) -> Result<Value, cel::ExecutionError> {
        self.program.execute(context)
    }
}

/// Compiles and checks an expression.
pub(super) fn compile(text: &str, place: Place) -> Result<Expression, Vec<Fault>> {
    if text.len() > EXPRESSION_MAX {
        let message = format!("the expression is longer than {EXPRESSION_MAX} bytes");
        return Err(vec![Fault::new(0, message, "shorten it, or split the route in two")]);
    }
    let text = text.to_owned();
    let parser = std::thread::Builder::new().stack_size(PARSER_STACK);
    let outcome = parser.spawn(move || compile_here(&text, place)).map(|thread| thread.join());
    match outcome {
        Ok(Ok(result)) => result,
        Ok(Err(_)) | Err(_) => {
            let message = "the expression could not be compiled";
            Err(vec![Fault::new(0, message, "write it in another way")])
        }
    }
}

fn compile_here(text: &str, place: Place) -> Result<Expression, Vec<Fault>> {
    let program = Program::compile(text).map_err(|errors| syntax(text, &errors))?;
    let mut check = Check::new(&program, place);
    check.walk(program.expression(), &mut Vec::new(), 0);
    check.result_type();
    let Check { mut faults, reads_data, late, .. } = check;
    if faults.is_empty() {
        return Ok(Expression { program, reads_data, late });
    }
    faults.sort_by_key(|fault| fault.at);
    faults.dedup();
    Err(faults)
}

/// The parser's first complaint; the later ones follow from it.
fn syntax(text: &str, errors: &cel::ParseErrors) -> Vec<Fault> {
    const NEXT: &str = "correct the expression (https://cel.dev shows the language)";
    let Some(error) = errors.errors.first() else {
        return vec![Fault::new(0, "this is not an expression", NEXT)];
    };
    if error.msg.contains("Recursion limit of") {
        return vec![too_deep(0)];
    }
    let line = usize::try_from(error.pos.0).unwrap_or(1).saturating_sub(1);
    let before: usize =
        text.split_inclusive('\n').take(line).map(|line| line.chars().count()).sum();
    let column = usize::try_from(error.pos.1).unwrap_or(1).saturating_sub(1);
    let message = error.msg.trim_start_matches("Syntax error: ");
    let message = message.split(" expecting ").next().unwrap_or(message);
    let message: String = message.chars().take(160).filter(|c| !c.is_control()).collect();
    let at = (before + column).min(text.chars().count());
    vec![Fault::new(at, format!("this is not an expression: {message}"), NEXT)]
}

fn too_deep(at: usize) -> Fault {
    Fault::new(at, "the expression is nested too deeply", "split it, or drop parentheses")
}

/// What an expression may name.
const EVENT: &[&str] =
    &["id", "seq", "source", "type", "key", "subject", "time", "actor", "trust", "self", "data"];
const WORK: &[&str] = &["id", "kind", "status", "keys", "attempt"];
const ROUTE: &[&str] = &["config"];
const NAMES: &[&str] = &["event", "work", "scope", "route"];

/// What of an Event exists only once it is accepted.
const EVENT_LATE: &[&str] = &["seq", "key"];

const TYPES: &[&str] =
    &["bool", "bytes", "double", "int", "list", "map", "null_type", "string", "type", "uint"];

const FUNCTIONS: &[&str] = &[
    "size",
    "contains",
    "startsWith",
    "endsWith",
    "matches",
    "string",
    "int",
    "uint",
    "double",
    "bool",
    "bytes",
    "type",
    "dyn",
    "timestamp",
    "duration",
    "getFullYear",
    "getMonth",
    "getDate",
    "getDayOfMonth",
    "getDayOfWeek",
    "getDayOfYear",
    "getHours",
    "getMinutes",
    "getSeconds",
    "getMilliseconds",
];

const MACROS: &[&str] = &["has", "all", "exists", "exists_one", "map", "filter"];

struct Check<'p> {
    program: &'p Program,
    place: Place,
    faults: Vec<Fault>,
    reads_data: bool,
    late: bool,
    /// The node being walked is an item that a macro collects.
    collected: bool,
    seen: BTreeSet<u64>,
}

impl<'p> Check<'p> {
    fn new(program: &'p Program, place: Place) -> Self {
        let seen = BTreeSet::new();
        let (faults, reads_data, late, collected) = (Vec::new(), false, false, false);
        Self { program, place, faults, reads_data, late, collected, seen }
    }

    fn fault(&mut self, id: u64, message: impl Into<String>, next: impl Into<String>) {
        // A macro may copy a node; it is complained of once.
        if self.seen.insert(id) {
            let at = self.at(id);
            self.faults.push(Fault::new(at, message, next));
        }
    }

    /// The character a node starts at; macros make nodes that stand nowhere.
    fn at(&self, id: u64) -> usize {
        self.program.source_info().offset_for(id).map_or(0, |(start, _)| start as usize)
    }

    /// Visits a node; `bound` are the names macros around it have introduced.
    fn walk(&mut self, node: &'p IdedExpr, bound: &mut Vec<&'p str>, depth: usize) {
        if depth > DEPTH_MAX {
            let at = self.at(node.id);
            if !self.faults.contains(&too_deep(0)) {
                self.faults.push(Fault { at, ..too_deep(0) });
            }
            return;
        }
        match &node.expr {
            Expr::Unspecified | Expr::Literal(_) => {}
            Expr::Ident(name) => self.name(node.id, name, bound),
            Expr::Select(select) => self.select(node.id, select, bound, depth),
            Expr::Call(call) => self.call(node.id, call, bound, depth),
            Expr::Comprehension(body) => self.comprehension(node.id, body, bound, depth),
            Expr::List(list) => {
                list.elements.iter().for_each(|item| self.walk(item, bound, depth + 1));
            }
            Expr::Map(map) => {
                for entry in &map.entries {
                    match &entry.expr {
                        EntryExpr::MapEntry(pair) => {
                            self.walk(&pair.key, bound, depth + 1);
                            self.walk(&pair.value, bound, depth + 1);
                        }
                        EntryExpr::StructField(field) => {
                            self.walk(&field.value, bound, depth + 1);
                        }
                    }
                }
            }
            Expr::Struct(made) => {
                let message = format!("there is no message type `{}`", made.type_name);
                self.fault(node.id, message, "write a map, or name a field of `event`");
            }
        }
    }

    fn name(&mut self, id: u64, name: &str, bound: &[&str]) {
        let bare = name.trim_start_matches('.');
        if bound.contains(&name) || TYPES.contains(&bare) || bare == "scope" {
            return;
        }
        match bare {
            "work" => self.work(id),
            "event" | "route" => {
                let example = if bare == "event" { "event.data" } else { "route.config" };
                let message = format!("`{bare}` is not a value by itself");
                self.fault(id, message, format!("name one of its fields, such as `{example}`"));
            }
            _ => {
                let message = format!("there is no name `{bare}`");
                self.fault(id, message, suggestion(bare, NAMES));
            }
        }
    }

    /// What finds the Work cannot depend on it.
    fn work(&mut self, id: u64) {
        self.late = true;
        if self.place == Place::Key {
            let message = "a key is computed before the event is accepted, when no work is known";
            self.fault(id, message, "use the event alone: what is the same for all its events?");
        }
    }

    fn select(&mut self, id: u64, select: &'p SelectExpr, bound: &mut Vec<&'p str>, depth: usize) {
        let Expr::Ident(name) = &select.operand.expr else {
            return self.walk(&select.operand, bound, depth + 1);
        };
        if bound.contains(&name.as_str()) {
            return;
        }
        match name.trim_start_matches('.') {
            "event" => self.event_field(id, &select.field),
            "work" => {
                self.work(id);
                self.field(id, "work", &select.field, WORK);
            }
            "route" => self.field(id, "route", &select.field, ROUTE),
            _ => self.walk(&select.operand, bound, depth + 1),
        }
    }

    fn event_field(&mut self, id: u64, field: &str) {
        self.field(id, "event", field, EVENT);
        self.reads_data |= field == "data";
        if EVENT_LATE.contains(&field) {
            self.late = true;
            if self.place == Place::Key {
                let message = format!(
                    "a key is computed before the event is accepted, when it has no `{field}`"
                );
                self.fault(id, message, "use what its sender gave: `event.data`, `event.subject`");
            }
        }
    }

    fn field(&mut self, id: u64, owner: &str, field: &str, known: &[&str]) {
        if !known.contains(&field) {
            let message = format!("`{owner}` has no field `{field}`");
            self.fault(id, message, suggestion(field, known));
        }
    }

    fn call(&mut self, id: u64, call: &'p CallExpr, bound: &mut Vec<&'p str>, depth: usize) {
        let name = call.func_name.as_str();
        let operator = name.contains(['_', '@', '!', '-']) && !name.contains(char::is_alphabetic);
        let operator = operator || matches!(name, "@in" | "@not_strictly_false");
        if MACROS.contains(&name) {
            let message = format!("`{name}` is called in a way it cannot be");
            self.fault(id, message, "write `has(x.y)`, or `list.exists(item, condition)`");
        } else if !operator && !FUNCTIONS.contains(&name) {
            let message = format!("there is no function `{name}`");
            self.fault(id, message, suggestion(name, FUNCTIONS));
        }
        if name == "matches" {
            self.pattern(call);
        }
        if self.collected && grows(call) {
            let message = "a macro collects what this makes larger, without a bound";
            self.fault(id, message, "collect a field as it is, and compare outside the macro");
        }
        for part in call.target.as_deref().into_iter().chain(&call.args) {
            self.walk(part, bound, depth + 1);
        }
    }

    /// A pattern written in place is compiled now: it would fail for every Event.
    fn pattern(&mut self, call: &CallExpr) {
        let Some(pattern) = call.args.last() else { return };
        if !matches!(pattern.expr, Expr::Literal(LiteralValue::String(_))) {
            return;
        }
        let empty = LiteralValue::String(String::new().into());
        let empty = IdedExpr { id: 0, expr: Expr::Literal(empty) };
        let trial = CallExpr {
            func_name: "matches".to_owned(),
            target: None,
            args: vec![empty, pattern.clone()],
        };
        let trial = IdedExpr { id: 0, expr: Expr::Call(trial) };
        if Value::resolve(&trial, &values::bare_context()).is_err() {
            let message = "this is not a regular expression";
            self.fault(pattern.id, message, "correct it; it is written in RE2 syntax");
        }
    }

    /// One macro after another costs their sum; one inside another costs their product, and is
    /// refused.
    fn comprehension(
        &mut self,
        id: u64,
        body: &'p ComprehensionExpr,
        bound: &mut Vec<&'p str>,
        depth: usize,
    ) {
        if !bound.is_empty() {
            let message = "a macro stands inside another";
            self.fault(id, message, "split the condition over two routes");
            return;
        }
        if NAMES.contains(&body.iter_var.as_str()) {
            let message = format!("`{}` is taken", body.iter_var);
            self.fault(id, message, "choose another name for the item, such as `x`");
        }
        self.walk(&body.iter_range, bound, depth + 1);
        bound.push(&body.iter_var);
        bound.extend(body.iter_var2.as_deref());
        bound.push(&body.accu_var);
        self.collected = matches!(body.accu_init.expr, Expr::List(_));
        for part in [&body.accu_init, &body.loop_cond, &body.loop_step, &body.result] {
            self.walk(part, bound, depth + 1);
        }
        self.collected = false;
        bound.clear();
    }

    /// Refuses a type that is certain to be wrong; the rest is seen when it is evaluated.
    fn result_type(&mut self) {
        let (wanted, next) = match self.place {
            Place::When => ("true or false", "compare it with something: `… == …`"),
            Place::Key => ("a text or null", "turn it into a text: `string(…)`"),
            Place::Attach => ("a list of texts or null", "write a list: `[string(…)]`"),
        };
        let mut shapes = shapes(self.program.expression(), 0).into_iter();
        if let Some(wrong) = shapes.find(|shape| !shape.fits(self.place)) {
            let message = format!("it gives {}, not {wanted}", wrong.name());
            self.faults.push(Fault::new(0, message, next));
        }
    }
}

/// A call whose result can be as large as its operands together: collected for each item of a list,
/// a long text would be copied as often as the list is long. A sum with a number is a number, and a
/// macro's own sum adds one item to its list.
fn grows(call: &CallExpr) -> bool {
    let small = |part: &IdedExpr| match &part.expr {
        Expr::Literal(literal) => {
            !matches!(literal, LiteralValue::String(_) | LiteralValue::Bytes(_))
        }
        Expr::Ident(name) => name.starts_with('@'),
        Expr::Unspecified
        | Expr::Call(_)
        | Expr::Comprehension(_)
        | Expr::List(_)
        | Expr::Map(_)
        | Expr::Select(_)
        | Expr::Struct(_) => false,
    };
    match call.func_name.as_str() {
        "_+_" => !call.args.iter().any(small),
        "bytes" => true,
        _ => false,
    }
}
