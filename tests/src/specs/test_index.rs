//! Which test functions exist, and which of them are ignored.

use std::collections::BTreeMap;

use super::files::{TextFile, sources};
use super::lexer::{Token, TokenKind, tokens};

/// Test functions by the name a rule gives them, `PATH::NAME`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TestIndex {
    tests: BTreeMap<String, Runs>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Runs {
    Always,
    OnlyWhenAsked,
}

/// What a name of a test leads to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TestSeen {
    /// A test that runs.
    Running,
    /// A test that `#[ignore]` keeps from running, which checks nothing.
    Ignored,
    /// No test.
    Nowhere,
}

impl TestIndex {
    /// Finds the tests of all sources among `files`.
    #[must_use]
    pub fn of(files: &[TextFile]) -> Self {
        let mut tests = BTreeMap::new();
        for file in sources(files) {
            for (name, runs) in tests_in(&file.text) {
                tests.insert(format!("{}::{name}", file.path), runs);
            }
        }
        Self { tests }
    }

    /// What `PATH::NAME` is.
    #[must_use]
    pub fn look_up(&self, name: &str) -> TestSeen {
        match self.tests.get(name) {
            Some(Runs::Always) => TestSeen::Running,
            Some(Runs::OnlyWhenAsked) => TestSeen::Ignored,
            None => TestSeen::Nowhere,
        }
    }

    /// How many tests there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.tests.len()
    }

    /// Whether there is no test at all.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.tests.is_empty()
    }
}

/// The test functions of one source: those with an attribute whose path ends in `test`.
fn tests_in(source: &str) -> Vec<(String, Runs)> {
    let tokens = tokens(source);
    let mut found = Vec::new();
    let (mut is_test, mut is_ignored) = (false, false);
    let mut at = 0;
    while at < tokens.len() {
        if tokens[at].is_sign('#') && tokens.get(at + 1).is_some_and(|t| t.is_sign('[')) {
            let end = attribute_end(&tokens, at + 1);
            match attribute_name(&tokens[at + 2..end]) {
                Some("test") => is_test = true,
                Some("ignore") => is_ignored = true,
                Some(_) | None => {}
            }
            at = end;
        } else if tokens[at].word() == Some("fn") && is_test {
            let runs = if is_ignored { Runs::OnlyWhenAsked } else { Runs::Always };
            let name = tokens.get(at + 1).and_then(Token::word).unwrap_or_default();
            found.push((name.to_owned(), runs));
            (is_test, is_ignored) = (false, false);
        } else if matches!(tokens[at].kind, TokenKind::Sign('{' | '}' | ';')) {
            (is_test, is_ignored) = (false, false);
        }
        at += 1;
    }
    found
}

/// The index of the `]` that closes the `[` at `open`, or of the last token.
fn attribute_end(tokens: &[Token], open: usize) -> usize {
    let mut depth = 0_usize;
    for (at, token) in tokens.iter().enumerate().skip(open) {
        if token.is_sign('[') {
            depth += 1;
        } else if token.is_sign(']') {
            depth -= 1;
            if depth == 0 {
                return at;
            }
        }
    }
    tokens.len() - 1
}

/// The last segment of an attribute's path: `test` of `tokio::test(flavor = "…")`.
fn attribute_name(attribute: &[Token]) -> Option<&str> {
    let path = attribute
        .iter()
        .take_while(|token| token.word().is_some() || token.kind == TokenKind::Colons);
    path.filter_map(Token::word).last()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn index(text: &str) -> TestIndex {
        TestIndex::of(&[TextFile { path: "a/b.rs".to_owned(), text: text.to_owned() }])
    }

    #[test]
    fn a_test_is_found_by_its_file_and_name() {
        let index = index(
            "#[test]\n#[should_panic(expected = \"]\")]\nfn one() {}\n\
             mod inner { #[tokio::test(flavor = \"x\")] pub(crate) async fn two() {} }",
        );
        assert_eq!(index.look_up("a/b.rs::one"), TestSeen::Running);
        assert_eq!(index.look_up("a/b.rs::two"), TestSeen::Running);
        assert_eq!(index.look_up("a/c.rs::one"), TestSeen::Nowhere);
        assert_eq!((index.len(), index.is_empty()), (2, false));
    }

    #[test]
    fn a_function_is_no_test_by_its_name_alone() {
        let index = index("#[test] const A: u8 = 1; fn one() {} #[inline] fn test() {} // fn two");
        assert!(index.is_empty());
    }

    #[test]
    fn an_ignored_test_is_told_apart() {
        let index = index("#[test]\n#[ignore = \"slow\"]\nfn one() {}\n#[test]\nfn two() {}");
        assert_eq!(index.look_up("a/b.rs::one"), TestSeen::Ignored);
        assert_eq!(index.look_up("a/b.rs::two"), TestSeen::Running);
    }
}
