//! Rule ids in sources and pages: each must be a rule.

use super::areas::area;
use super::files::TextFile;
use super::finding::Finding;
use super::rules::{RULES, Rulebook};

/// Where a source or a page cites a rule that does not exist.
#[must_use]
pub fn unknown_citations(files: &[TextFile], book: &Rulebook) -> Vec<Finding> {
    let cites = |file: &&TextFile| {
        (file.path.ends_with(".rs") || file.path.ends_with(".md"))
            // These plant unknown rules on purpose.
            && !file.path.starts_with("tests/src/specs/")
            && file.path != RULES
    };
    files.iter().filter(cites).flat_map(|file| unknown_in(file, book)).collect()
}

fn unknown_in(file: &TextFile, book: &Rulebook) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (at, line) in file.text.lines().enumerate() {
        for id in cited_on(line).filter(|id| book.rule(id).is_none()) {
            let place = format!("{}:{}", file.path, at + 1);
            findings.push(Finding::new(place, format!("cites {id}, which is no rule")));
        }
    }
    findings
}

/// The words of a line that are an area, a dash and a number.
fn cited_on(line: &str) -> impl Iterator<Item = &str> {
    let words = line.split(|c: char| !(c.is_ascii_alphanumeric() || c == '-'));
    words.filter(|word| {
        word.rsplit_once('-').is_some_and(|(prefix, number)| {
            let numbered = !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit());
            area(prefix).is_some() && numbered
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(path: &str, text: &str) -> usize {
        let rule = "[[rule]]\nid = \"WAIT-01\"\nseed = \"b04\"\nsection = \"s\"\n\
                    kind = \"safety\"\ntext = \"t\"\nmodel = true\n";
        let book = Rulebook::parse(rule).expect("the text has the shape of a rulebook");
        let file = TextFile { path: path.to_owned(), text: text.to_owned() };
        unknown_citations(&[file], &book).len()
    }

    #[test]
    fn a_rule_that_does_not_exist_may_not_be_cited() {
        assert_eq!(found("impl/src/law/waits.rs", "/// Wakes once. WAIT-01 (WAIT-99)"), 1);
        assert_eq!(found("docs/formal.md", "see WAIT-1"), 1);
    }

    #[test]
    fn words_that_only_look_like_rules_are_left_alone() {
        assert_eq!(found("docs/formal.md", "UTF-8, SHA-256, WAIT-01, RFC-9457, WAIT-"), 0);
        assert_eq!(found("a.toml", "WAIT-99"), 0);
    }
}
