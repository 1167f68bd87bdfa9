//! Links between pages: each must lead to a file.

use std::collections::BTreeSet;

use super::files::TextFile;
use super::finding::Finding;

/// Where a page links to a file that does not exist.
#[must_use]
pub fn dead_links(files: &[TextFile]) -> Vec<Finding> {
    let paths: BTreeSet<&str> = files.iter().map(|file| file.path.as_str()).collect();
    let pages = files.iter().filter(|file| file.path.ends_with(".md"));
    pages.flat_map(|page| dead_links_on(page, &paths)).collect()
}

fn dead_links_on(page: &TextFile, paths: &BTreeSet<&str>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (at, line) in page.text.lines().enumerate() {
        for target in targets(line).filter(|target| !leads_somewhere(&page.path, target, paths)) {
            let place = format!("{}:{}", page.path, at + 1);
            findings.push(Finding::new(place, format!("links to {target}, which does not exist")));
        }
    }
    findings
}

/// The targets of the inline links on a line that lead into the repository.
fn targets(line: &str) -> impl Iterator<Item = &str> {
    let after = line.split("](").skip(1);
    let targets = after.filter_map(|rest| rest.split_once(')').map(|(target, _)| target));
    targets.filter(|target| !target.contains("://") && !target.starts_with('#'))
}

fn leads_somewhere(page: &str, target: &str, paths: &BTreeSet<&str>) -> bool {
    let target = target.split('#').next().unwrap_or(target);
    let folder = page.rsplit_once('/').map_or("", |(folder, _)| folder);
    let mut segments: Vec<&str> = folder.split('/').filter(|segment| !segment.is_empty()).collect();
    for segment in target.split('/').filter(|segment| !segment.is_empty()) {
        match segment {
            "." => {}
            ".." => {
                segments.pop();
            }
            name => segments.push(name),
        }
    }
    let path = segments.join("/");
    paths.contains(path.as_str()) || paths.iter().any(|file| file.starts_with(&format!("{path}/")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dead(text: &str) -> usize {
        let file =
            |path: &str, text: &str| TextFile { path: path.to_owned(), text: text.to_owned() };
        let pages =
            [file("docs/a.md", text), file("docs/decisions/0001.md", ""), file("README.md", "")];
        dead_links(&pages).len()
    }

    #[test]
    fn a_link_to_a_file_or_a_folder_leads_somewhere() {
        assert_eq!(dead("[a](decisions/0001.md#why), [b](decisions/), [c](../README.md)"), 0);
        assert_eq!(dead("[a](https://example.org/x), [b](#here), f(x)"), 0);
    }

    #[test]
    fn a_link_to_nothing_is_found() {
        assert_eq!(dead("[a](decisions/0002.md) and [b](../LICENSE)"), 2);
    }
}
