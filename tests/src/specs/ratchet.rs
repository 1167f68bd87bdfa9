//! The ratchet: a rule that once had a check keeps one.
//!
//! `specs/ratchet.txt` lists the ids of the rules that have a check, sorted, one a line. It only
//! grows: a rule leaves it by an edit that a reviewer sees, never by `regenerate`.

use std::collections::BTreeSet;

use super::finding::Finding;
use super::rules::Rulebook;

/// Where the ratchet is, under the root of the repository.
pub const RATCHET: &str = "specs/ratchet.txt";

const HEADER: &str = "\
# Rules that have a check. Written by `cargo run -p abide-tests --bin regenerate`, which only adds.
";

/// The ids that the text of a ratchet lists.
#[must_use]
pub fn listed(text: &str) -> Vec<&str> {
    text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#')).collect()
}

/// What does not fit between the ratchet and the rules that have a check.
#[must_use]
pub fn slips(text: &str, book: &Rulebook, checked: &BTreeSet<String>) -> Vec<Finding> {
    let listed = listed(text);
    let mut slips = Vec::new();
    if !listed.is_sorted_by(|earlier, later| earlier < later) {
        slips.push(Finding::new(RATCHET, "is not sorted, or names a rule twice"));
    }
    for id in listed.iter().filter(|id| !checked.contains(**id)) {
        let lost = if book.rule(id).is_some() { "had a check and lost it" } else { "is no rule" };
        slips.push(Finding::new(*id, lost));
    }
    for id in checked.iter().filter(|id| !listed.contains(&id.as_str())) {
        slips.push(Finding::new(id, format!("has a check and is not in {RATCHET}: regenerate")));
    }
    slips
}

/// The ratchet with the rules that have a check now added to those it lists.
#[must_use]
pub fn tightened(text: &str, checked: &BTreeSet<String>) -> String {
    let ids: BTreeSet<&str> =
        listed(text).into_iter().chain(checked.iter().map(String::as_str)).collect();
    ids.into_iter().fold(HEADER.to_owned(), |text, id| text + id + "\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checked(ids: &[&str]) -> BTreeSet<String> {
        ids.iter().map(|id| (*id).to_owned()).collect()
    }

    fn slips_of(text: &str, ids: &[&str]) -> usize {
        let rule = "[[rule]]\nid = \"WAIT-01\"\nseed = \"b04\"\nsection = \"s\"\n\
                    kind = \"safety\"\ntext = \"t\"\nmodel = true\n";
        let book = Rulebook::parse(rule).expect("the text has the shape of a rulebook");
        slips(text, &book, &checked(ids)).len()
    }

    #[test]
    fn a_ratchet_of_exactly_the_checked_rules_does_not_slip() {
        assert_eq!(slips_of("# why\nWAIT-01\nWAIT-02\n", &["WAIT-01", "WAIT-02"]), 0);
    }

    #[test]
    fn a_lost_check_an_unlisted_one_and_disorder_are_slips() {
        assert_eq!(slips_of("WAIT-01\n", &[]), 1);
        assert_eq!(slips_of("", &["WAIT-01"]), 1);
        assert_eq!(slips_of("WAIT-02\nWAIT-01\n", &["WAIT-01", "WAIT-02"]), 1);
        assert_eq!(slips_of("WAIT-01\nWAIT-01\n", &["WAIT-01"]), 1);
    }

    #[test]
    fn regenerating_only_adds() {
        let text = tightened("WAIT-09\n", &checked(&["WAIT-01"]));
        assert_eq!(listed(&text), ["WAIT-01", "WAIT-09"]);
        assert_eq!(tightened(&text, &checked(&[])), text);
        assert_eq!(slips_of(&text, &["WAIT-01"]), 1);
    }
}
