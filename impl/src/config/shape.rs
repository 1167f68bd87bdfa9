//! The type of an expression, as far as it can be known without a payload.

use cel::IdedExpr;
use cel::common::ast::{Expr, LiteralValue, SelectExpr};

use super::expression::{DEPTH_MAX, Place};

/// The type of an expression, as far as it is certain.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    Bool,
    Text,
    Null,
    List,
    Other(&'static str),
    Unknown,
}

impl Shape {
    /// It may be what the place asks for.
    pub(super) const fn fits(self, place: Place) -> bool {
        match place {
            Place::When => matches!(self, Self::Bool | Self::Unknown),
            Place::Key => matches!(self, Self::Text | Self::Null | Self::Unknown),
            Place::Attach => matches!(self, Self::List | Self::Null | Self::Unknown),
        }
    }

    /// Its name for people.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Bool => "true or false",
            Self::Text => "a text",
            Self::Null => "null",
            Self::List => "a list",
            Self::Other(name) => name,
            Self::Unknown => "something",
        }
    }
}

/// The types an expression can have: one, or those of the branches of a condition.
pub(super) fn shapes(node: &IdedExpr, depth: usize) -> Vec<Shape> {
    if depth > DEPTH_MAX {
        return vec![Shape::Unknown];
    }
    match &node.expr {
        Expr::Call(call) if call.func_name == "_?_:_" => {
            let branches = call.args.iter().skip(1);
            branches.flat_map(|branch| shapes(branch, depth + 1)).collect()
        }
        Expr::Call(call) => vec![shape_of_call(&call.func_name)],
        Expr::Literal(literal) => vec![shape_of_literal(literal)],
        Expr::List(_) => vec![Shape::List],
        Expr::Map(_) => vec![Shape::Other("a map")],
        Expr::Select(select) => vec![shape_of_field(select)],
        Expr::Ident(name) if name == "scope" => vec![Shape::Text],
        Expr::Comprehension(body) => match &body.accu_init.expr {
            Expr::Literal(literal @ LiteralValue::Boolean(_)) => vec![shape_of_literal(literal)],
            Expr::List(_) => vec![Shape::List],
            Expr::Unspecified
            | Expr::Call(_)
            | Expr::Comprehension(_)
            | Expr::Ident(_)
            | Expr::Literal(_)
            | Expr::Map(_)
            | Expr::Select(_)
            | Expr::Struct(_) => vec![Shape::Unknown],
        },
        Expr::Unspecified | Expr::Ident(_) | Expr::Struct(_) => vec![Shape::Unknown],
    }
}

fn shape_of_call(name: &str) -> Shape {
    match name {
        "_==_" | "_!=_" | "_<_" | "_<=_" | "_>_" | "_>=_" | "_&&_" | "_||_" | "!_" | "@in"
        | "contains" | "startsWith" | "endsWith" | "matches" | "bool" => Shape::Bool,
        "string" => Shape::Text,
        "size" | "int" | "uint" | "double" => Shape::Other("a number"),
        "bytes" => Shape::Other("bytes"),
        "timestamp" => Shape::Other("a time"),
        "duration" => Shape::Other("a duration"),
        "type" => Shape::Other("a type"),
        _ => Shape::Unknown,
    }
}

fn shape_of_literal(literal: &LiteralValue) -> Shape {
    match literal {
        LiteralValue::Boolean(_) => Shape::Bool,
        LiteralValue::String(_) => Shape::Text,
        LiteralValue::Null => Shape::Null,
        LiteralValue::Bytes(_) => Shape::Other("bytes"),
        LiteralValue::Double(_) | LiteralValue::Int(_) | LiteralValue::UInt(_) => {
            Shape::Other("a number")
        }
    }
}

fn shape_of_field(select: &SelectExpr) -> Shape {
    let Expr::Ident(owner) = &select.operand.expr else {
        return if select.test { Shape::Bool } else { Shape::Unknown };
    };
    match (owner.as_str(), select.field.as_str()) {
        _ if select.test => Shape::Bool,
        ("event", "self") => Shape::Bool,
        ("event", "id" | "source" | "type") => Shape::Text,
        ("event", "seq") | ("work", "attempt") => Shape::Other("a number"),
        _ => Shape::Unknown,
    }
}
