//! What no file of the repository says: paths of one machine, and code that is not written yet.

use super::files::TextFile;
use super::finding::Finding;

/// Something no file may contain. Each is put together from two parts, so that this file does not
/// contain it.
const FORBIDDEN: &[(&str, &str, &str)] = &[
    ("/wo", "rk/main", "is a path of one machine"),
    ("/wo", "rk/shared", "is a path of one machine"),
    ("/wo", "rk/.", "is a path of one machine"),
    ("../sh", "ared", "is a path outside the repository"),
    ("/tm", "p/", "is a path of one machine: let the test or the user choose the folder"),
    ("/ro", "ot/", "is a path of one machine"),
    ("/ho", "me/", "is a path of one machine"),
    ("tod", "o!(", "is code that is not written"),
    ("unimpl", "emented!(", "is code that is not written"),
    ("db", "g!(", "is left over from looking for something"),
];

/// Where a file says something forbidden.
#[must_use]
pub fn forbidden(files: &[TextFile]) -> Vec<Finding> {
    files.iter().flat_map(forbidden_in).collect()
}

fn forbidden_in(file: &TextFile) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (at, line) in file.text.lines().enumerate() {
        for (head, tail, why) in FORBIDDEN {
            let phrase = format!("{head}{tail}");
            if line.contains(&phrase) {
                let place = format!("{}:{}", file.path, at + 1);
                findings.push(Finding::new(place, format!("`{phrase}` {why}")));
            }
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_forbidden_phrase_is_found_in_any_file() {
        for (head, tail, _) in FORBIDDEN {
            let text = format!("first\nsee {head}{tail}x\n");
            let found = forbidden(&[TextFile { path: "docs/a.md".to_owned(), text }]);
            assert_eq!(found.len(), 1, "{head}{tail}");
            assert!(found[0].to_string().starts_with("docs/a.md:2: "));
        }
    }

    #[test]
    fn addresses_of_the_api_are_not_paths_of_a_machine() {
        let text = "POST /work/{id}/hold, GET /work, todo: nothing".to_owned();
        assert_eq!(forbidden(&[TextFile { path: "a".to_owned(), text }]), []);
    }
}
