//! A causal chain as a tree: what came of what, and what a limit refused.

use std::collections::BTreeMap;

use super::Screen;
use super::event::result;
use super::text::{age, printable, short_length, word};
use crate::api::types::{Chain, EventRow};

/// What stands before the branches of a node, and before what is under them.
const BRANCH: (&str, &str) = ("├─ ", "│  ");
/// The same for the last branch.
const LAST: (&str, &str) = ("└─ ", "   ");

/// One branch: its own line, and the event whose branches stand under it.
struct Branch<'a> {
    line: String,
    of: Option<&'a str>,
}

/// The tree of a chain.
pub(in crate::cli) fn tree(chain: &Chain, screen: Screen) -> String {
    let branches = branches(chain, screen);
    let mut lines = Vec::new();
    for root in branches.get("").into_iter().flatten() {
        lines.push(root.line.clone());
        under(root, &branches, "", &mut lines);
    }
    lines.join("\n")
}

/// The branches by the id of what they hang on. An event whose parent is not in the chain hangs on
/// nothing, so that it is not lost from sight.
fn branches<'a>(chain: &'a Chain, screen: Screen) -> BTreeMap<&'a str, Vec<Branch<'a>>> {
    let length = short_length(chain.events.iter().filter_map(|event| event.work.as_deref()));
    let known = |id: &&str| chain.events.iter().any(|event| event.id == *id);
    let mut all: BTreeMap<&str, Vec<Branch<'_>>> = BTreeMap::new();
    for event in &chain.events {
        let parent = event.parent.as_deref().filter(known).unwrap_or("");
        let line = line(event, length, screen);
        all.entry(parent).or_default().push(Branch { line, of: Some(&event.id) });
    }
    for refused in &chain.rejections {
        let parent = Some(refused.parent.as_str()).filter(known).unwrap_or("");
        let line = format!(
            "refused: {} at depth {}, {} ago",
            printable(&word(&refused.reason)),
            refused.depth,
            age(&refused.at, screen.now)
        );
        all.entry(parent).or_default().push(Branch { line, of: None });
    }
    all
}

fn under<'a>(
    branch: &Branch<'a>,
    all: &BTreeMap<&'a str, Vec<Branch<'a>>>,
    indent: &str,
    lines: &mut Vec<String>,
) {
    let Some(branches) = branch.of.and_then(|id| all.get(id)) else { return };
    for (nth, branch) in branches.iter().enumerate() {
        let (mark, below) = if nth + 1 == branches.len() { LAST } else { BRANCH };
        lines.push(format!("{indent}{mark}{}", branch.line));
        under(branch, all, &format!("{indent}{below}"), lines);
    }
}

fn line(event: &EventRow, length: usize, screen: Screen) -> String {
    let event_type = printable(&event.event_type);
    let age = age(&event.accepted_at, screen.now);
    format!("{} {event_type}, {age} ago: {}", event.seq, result(event, length))
}

#[cfg(test)]
mod tests {
    use super::super::canned;
    use super::*;

    #[test]
    fn a_chain_is_a_tree_with_its_refusals_in_place() {
        insta::assert_snapshot!(tree(&canned::chain(), canned::screen()));
    }

    #[test]
    fn an_event_whose_parent_is_missing_is_still_shown() {
        let mut chain = canned::chain();
        chain.events.remove(0);
        assert_eq!(tree(&chain, canned::screen()).lines().count(), 4);
    }
}
