//! An answer, as the journal says it and as the law gives it, in one form: a code and the facts of the receipt.

use serde_json::Value;

/// What was answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Answer {
    /// `accepted`, `duplicate`, `conflict`, or the code of the deferral or refusal.
    pub(super) code: String,
    /// Facts of the receipt, by name.
    pub(super) facts: Vec<(String, Value)>,
}

impl Answer {
    /// Reads the answer of a row.
    pub(super) fn read(outcome: &Value) -> Option<Self> {
        if let Value::String(code) = outcome {
            return (code == "conflict").then(|| Self { code: code.clone(), facts: Vec::new() });
        }
        let (kind, detail) = only(outcome)?;
        match kind.as_str() {
            "accepted" | "duplicate" => {
                let (_, receipt) = only(detail)?;
                let facts = receipt.as_object()?;
                let facts = facts.iter().map(|(name, value)| (name.clone(), value.clone()));
                Some(Self { code: kind.clone(), facts: facts.collect() })
            }
            "deferred" | "refused" => {
                Some(Self { code: detail.as_str()?.to_owned(), facts: Vec::new() })
            }
            _ => None,
        }
    }

    /// A fact of the receipt.
    pub(super) fn fact(&self, name: &str) -> Option<&Value> {
        self.facts.iter().find(|(known, _)| known == name).map(|(_, value)| value)
    }

    /// A number of the receipt.
    pub(super) fn number(&self, name: &str) -> Option<i64> {
        self.fact(name).and_then(Value::as_i64)
    }

    /// A name of the receipt, of whatever form.
    pub(super) fn name(&self, name: &str) -> Option<String> {
        match self.fact(name)? {
            Value::String(text) => Some(text.clone()),
            Value::Number(number) => Some(number.to_string()),
            Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
        }
    }

    /// Whether the action became true.
    pub(super) fn accepted(&self) -> bool {
        self.code == "accepted"
    }

    /// Whether everything the law says is what is said here.
    pub(super) fn is_as(&self, lawful: &Self) -> bool {
        self.code == lawful.code
            && lawful.facts.iter().all(|(name, value)| self.fact(name) == Some(value))
    }
}

fn only(value: &Value) -> Option<(&String, &Value)> {
    let object = value.as_object()?;
    let mut entries = object.iter();
    let first = entries.next()?;
    entries.next().is_none().then_some(first)
}

impl std::fmt::Display for Answer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.code)?;
        let facts: Vec<String> =
            self.facts.iter().map(|(name, value)| format!("{name}={value}")).collect();
        if facts.is_empty() { Ok(()) } else { write!(f, " ({})", facts.join(", ")) }
    }
}
