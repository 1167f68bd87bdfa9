//! The serialized names of an enum's variants, and whether two statements of one law agree on them.

use schemars::{JsonSchema, schema_for};
use serde_json::Value;

use super::finding::Finding;
use super::sources::CodeList;

/// The page that lists the refusals for people.
pub const ALPHABET: &str = "docs/alphabet.md";

/// The serialized names of the variants of an enum without fields, in order of declaration, as
/// long as all of them have a doc line or none has.
#[must_use]
pub fn names_of<T: JsonSchema>() -> Vec<String> {
    names_in(schema_for!(T).as_value())
}

/// What the lists and the page of the alphabet disagree on.
#[must_use]
pub fn disagreements(lists: &[CodeList], page: &str) -> Vec<Finding> {
    let written = [
        CodeList { owner: ALPHABET, what: "refusals", codes: refusals_on(page) },
        CodeList { owner: ALPHABET, what: "deferrals", codes: deferrals_on(page) },
    ];
    let differing = written.iter().flat_map(|page| {
        lists.iter().filter(|list| list.what == page.what).filter_map(|list| differ(page, list))
    });
    differing.collect()
}

/// Unit variants are either constants with a description each or one list of constants.
fn names_in(schema: &Value) -> Vec<String> {
    let constants = |value: &Value| -> Vec<String> {
        let listed = value.get("enum").and_then(Value::as_array).into_iter().flatten();
        listed.chain(value.get("const")).filter_map(Value::as_str).map(str::to_owned).collect()
    };
    let described = schema.get("oneOf").and_then(Value::as_array).into_iter().flatten();
    constants(schema).into_iter().chain(described.flat_map(constants)).collect()
}

fn differ(page: &CodeList, list: &CodeList) -> Option<Finding> {
    let at = (0..page.codes.len().max(list.codes.len()))
        .find(|at| page.codes.get(*at) != list.codes.get(*at))?;
    let shown = |list: &CodeList| list.codes.get(at).map_or("nothing", |code| code).to_owned();
    let message = format!(
        "its {} differ from those of {} at number {}: {} there, {} here",
        list.what,
        page.owner,
        at + 1,
        shown(page),
        shown(list)
    );
    Some(Finding::new(list.owner, message))
}

/// The codes in the first column of the table headed `code`.
fn refusals_on(page: &str) -> Vec<String> {
    let table = page.lines().skip_while(|line| !line.starts_with("| code |")).skip(2);
    let rows = table.take_while(|line| line.starts_with('|'));
    rows.filter_map(|row| row.split('|').nth(1)).flat_map(quoted).collect()
}

/// The codes in the sentence that begins `Deferrals:`.
fn deferrals_on(page: &str) -> Vec<String> {
    page.lines().filter_map(|line| line.strip_prefix("Deferrals:")).flat_map(quoted).collect()
}

fn quoted(text: &str) -> Vec<String> {
    text.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(JsonSchema)]
    #[schemars(rename_all = "snake_case")]
    #[expect(dead_code, reason = "only its schema is read")]
    enum Described {
        /// Comes first.
        SecondThing,
        /// Comes second.
        FirstThing,
    }

    #[derive(JsonSchema)]
    #[schemars(rename_all = "snake_case")]
    #[expect(dead_code, reason = "only its schema is read")]
    enum Bare {
        SecondThing,
        FirstThing,
    }

    const PAGE: &str = "# x\n| code | says |\n|---|---|\n| `a`, `b` | x |\n| `c` | `y` |\n\n\
                        Deferrals: `d` (why), `e`.\n";

    fn list(codes: &[&str]) -> CodeList {
        let codes = codes.iter().map(|code| (*code).to_owned()).collect();
        CodeList { owner: "law", what: "refusals", codes }
    }

    #[test]
    fn names_are_read_from_a_schema_in_order() {
        assert_eq!(names_of::<Described>(), ["second_thing", "first_thing"]);
        assert_eq!(names_of::<Bare>(), ["second_thing", "first_thing"]);
    }

    #[test]
    fn equal_lists_agree() {
        assert_eq!(disagreements(&[list(&["a", "b", "c"])], PAGE), []);
    }

    #[test]
    fn a_missing_an_extra_and_a_moved_code_are_found() {
        for codes in [&["a", "b"][..], &["a", "b", "c", "x"], &["b", "a", "c"]] {
            assert_eq!(disagreements(&[list(codes)], PAGE).len(), 1, "{codes:?}");
        }
    }

    #[test]
    fn the_first_difference_is_named() {
        let found = disagreements(&[list(&["a", "x", "c"])], PAGE);
        let expected = "law: its refusals differ from those of docs/alphabet.md at number 2: b \
                        there, x here";
        assert_eq!(found[0].to_string(), expected);
    }

    #[test]
    fn deferrals_are_read_from_their_sentence() {
        let held = CodeList { owner: "law", what: "deferrals", codes: vec!["d".to_owned()] };
        assert_eq!(disagreements(&[held], PAGE).len(), 1);
    }
}
