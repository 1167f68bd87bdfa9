//! The JSON Schemas that are generated from the types of the other crates.

use abide::command::{Deferral, Outcome, Receipt, Refusal};
use schemars::{Schema, schema_for};

use super::trace::{TraceHeader, TraceStep};

/// Where the generated schemas are, under the root of the repository.
pub const SCHEMAS: &str = "specs/schemas";

/// A generated schema.
#[derive(Clone, Copy)]
pub struct SchemaFile {
    /// The name of its file, without folder and `.json`.
    pub name: &'static str,
    /// Makes it.
    pub schema: fn() -> Schema,
}

/// Every schema there is. A further one is a further line.
///
/// Integration: the model's action, outcome and view, and the types of the API, once they exist.
pub const SCHEMA_FILES: &[SchemaFile] = &[
    SchemaFile { name: "outcome", schema: || schema_for!(Outcome) },
    SchemaFile { name: "receipt", schema: || schema_for!(Receipt) },
    SchemaFile { name: "refusal", schema: || schema_for!(Refusal) },
    SchemaFile { name: "deferral", schema: || schema_for!(Deferral) },
    SchemaFile { name: "model-action", schema: || schema_for!(abide_model::action::NamedAction) },
    SchemaFile {
        name: "model-outcome",
        schema: || schema_for!(abide_model::outcome::NamedOutcome),
    },
    SchemaFile { name: "model-view", schema: || schema_for!(abide_model::view::View) },
    SchemaFile { name: "model-registry", schema: || schema_for!(abide_model::registry::Registry) },
    SchemaFile { name: "model-trace-header", schema: || schema_for!(abide_model::trace::Header) },
    SchemaFile { name: "model-trace-line", schema: || schema_for!(abide_model::trace::Line) },
    SchemaFile { name: "trace-header", schema: || schema_for!(TraceHeader) },
    SchemaFile { name: "trace-step", schema: || schema_for!(TraceStep) },
];

impl SchemaFile {
    /// Its path under the root of the repository.
    #[must_use]
    pub fn path(&self) -> String {
        format!("{SCHEMAS}/{}.json", self.name)
    }

    /// What the file holds.
    #[must_use]
    pub fn text(&self) -> String {
        // `{:#}` of a JSON value is its indented form.
        format!("{:#}\n", (self.schema)().as_value())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_schemas_share_a_file() {
        for (at, file) in SCHEMA_FILES.iter().enumerate() {
            assert!(SCHEMA_FILES[..at].iter().all(|earlier| earlier.name != file.name));
        }
    }

    #[test]
    fn a_schema_is_one_json_document_with_a_title() {
        for file in SCHEMA_FILES {
            let value: serde_json::Value =
                serde_json::from_str(&file.text()).expect("a schema is JSON");
            assert!(value.get("title").is_some(), "{}", file.name);
        }
    }
}
