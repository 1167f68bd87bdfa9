//! Which paths a source file names: the crates it uses and the modules of its own crate.

use super::lexer::{Token, TokenKind};

/// Keywords that a path, with or without leading `::`, may follow.
const BEFORE_A_PATH: &[&str] = &["as", "dyn", "else", "impl", "in", "match", "mut", "return"];

/// A path as written at one place, made absolute.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedPath {
    /// The line it stands on.
    pub line: usize,
    /// Its segments; the first is `crate` or the name of a crate or of something local.
    pub segments: Vec<String>,
}

/// The paths that `tokens`, the module `module` of its crate, name in imports and in code.
#[must_use]
pub fn paths(tokens: &[Token], module: &[String]) -> Vec<NamedPath> {
    let mut reader = Reader { tokens, at: 0, modules: Vec::new(), depth: 0, found: vec![] };
    while reader.at < tokens.len() {
        reader.step(module);
    }
    reader.found
}

/// The module a file is, from its path under `src`: `law/waits.rs` is `law::waits`.
#[must_use]
pub fn module_of(path_under_src: &str) -> Vec<String> {
    let stem = path_under_src.strip_suffix(".rs").unwrap_or(path_under_src);
    let mut segments: Vec<String> = stem.split('/').map(str::to_owned).collect();
    if matches!(segments.last().map(String::as_str), Some("mod" | "lib" | "main")) {
        segments.pop();
    }
    segments
}

struct Reader<'a> {
    tokens: &'a [Token],
    at: usize,
    /// The inline modules that are open, each with the brace depth it opened at.
    modules: Vec<(String, usize)>,
    depth: usize,
    found: Vec<NamedPath>,
}

impl Reader<'_> {
    fn step(&mut self, module: &[String]) {
        match &self.tokens[self.at].kind {
            TokenKind::Sign('{') => self.depth += 1,
            TokenKind::Sign('}') => self.close_brace(),
            TokenKind::Word(word) if word == "mod" && self.opens_module() => {
                let name = self.tokens[self.at + 1].word().unwrap_or_default().to_owned();
                self.modules.push((name, self.depth));
                self.depth += 1;
                self.at += 2;
            }
            TokenKind::Word(word) if word == "use" => return self.read_use(module),
            TokenKind::Word(_) if self.starts_path() => return self.read_path(module),
            TokenKind::Word(_) | TokenKind::Sign(_) | TokenKind::Colons | TokenKind::Text(_) => {}
        }
        self.at += 1;
    }

    fn close_brace(&mut self) {
        self.depth = self.depth.saturating_sub(1);
        if self.modules.last().is_some_and(|(_, depth)| *depth == self.depth) {
            self.modules.pop();
        }
    }

    fn opens_module(&self) -> bool {
        self.tokens.get(self.at + 1).is_some_and(|token| token.word().is_some())
            && self.tokens.get(self.at + 2).is_some_and(|token| token.is_sign('{'))
    }

    /// A word before `::` that continues no path and selects no field.
    fn starts_path(&self) -> bool {
        let before = self.at.checked_sub(1).map(|at| &self.tokens[at]);
        let continues = before.is_some_and(|token| {
            token.is_sign('.') || (token.kind == TokenKind::Colons && self.follows_path())
        });
        let word = self.tokens[self.at].word().unwrap_or_default();
        !continues && !BEFORE_A_PATH.contains(&word) && self.is_colons(self.at + 1)
    }

    /// Whether the `::` just before belongs to a path begun earlier, not to `-> ::a` or `dyn ::a`.
    fn follows_path(&self) -> bool {
        let back = |by: usize| self.at.checked_sub(by).and_then(|at| self.tokens.get(at));
        let after_type = back(2).is_some_and(|token| token.is_sign('>'))
            && !back(3).is_some_and(|token| token.is_sign('-'));
        let word = back(2).and_then(Token::word);
        after_type || word.is_some_and(|word| !BEFORE_A_PATH.contains(&word))
    }

    fn is_colons(&self, at: usize) -> bool {
        self.tokens.get(at).is_some_and(|token| token.kind == TokenKind::Colons)
    }

    fn read_path(&mut self, module: &[String]) {
        let line = self.tokens[self.at].line;
        let mut segments = Vec::new();
        while let Some(word) = self.tokens.get(self.at).and_then(Token::word) {
            segments.push(word.to_owned());
            self.at += 1;
            if !self.is_colons(self.at) {
                break;
            }
            self.at += 1;
        }
        self.record(line, segments, module);
    }

    fn read_use(&mut self, module: &[String]) {
        self.at += 1;
        if self.is_colons(self.at) {
            self.at += 1;
        }
        self.read_tree(&[], module);
    }

    /// One tree of a `use`: a path that ends in a name, a `*` or a group of trees.
    fn read_tree(&mut self, prefix: &[String], module: &[String]) {
        let mut segments = prefix.to_vec();
        while let Some(token) = self.tokens.get(self.at) {
            let line = token.line;
            match &token.kind {
                TokenKind::Word(word) if word == "as" => self.at += 2,
                TokenKind::Word(word) => {
                    segments.push(word.clone());
                    self.at += 1;
                }
                TokenKind::Colons => self.at += 1,
                TokenKind::Sign('{') => return self.read_group(&segments, module),
                TokenKind::Sign('*') => {
                    segments.push("*".to_owned());
                    self.at += 1;
                }
                TokenKind::Sign(_) | TokenKind::Text(_) => {
                    return self.record(line, segments, module);
                }
            }
        }
    }

    fn read_group(&mut self, prefix: &[String], module: &[String]) {
        self.at += 1;
        while let Some(token) = self.tokens.get(self.at) {
            if token.is_sign('}') {
                self.at += 1;
                return;
            }
            let before = self.at;
            if !token.is_sign(',') {
                self.read_tree(prefix, module);
            }
            // A comma, or what no tree can begin with.
            if self.at == before {
                self.at += 1;
            }
        }
    }

    fn record(&mut self, line: usize, segments: Vec<String>, module: &[String]) {
        if segments.is_empty() {
            return;
        }
        let inline = self.modules.iter().map(|(name, _)| name.clone());
        let here: Vec<String> = module.iter().cloned().chain(inline).collect();
        self.found.push(NamedPath { line, segments: absolute(segments, &here) });
    }
}

/// Replaces `self` and `super` by what they mean inside `here`.
fn absolute(segments: Vec<String>, here: &[String]) -> Vec<String> {
    let ups = segments.iter().take_while(|segment| *segment == "super").count();
    let relative = ups > 0 || segments[0] == "self";
    if !relative {
        return segments;
    }
    let kept = &here[..here.len().saturating_sub(ups)];
    let rest = segments.into_iter().skip(ups.max(1));
    std::iter::once("crate".to_owned()).chain(kept.iter().cloned()).chain(rest).collect()
}

#[cfg(test)]
mod tests {
    use super::super::lexer::tokens;
    use super::*;

    fn named(source: &str) -> Vec<String> {
        paths(&tokens(source), &module_of("law/waits.rs"))
            .iter()
            .map(|path| path.segments.join("::"))
            .collect()
    }

    #[test]
    fn groups_are_spread_out() {
        assert_eq!(
            named("use crate::{store::{self, waits as w}, domain::*};\nuse serde;"),
            ["crate::store::self", "crate::store::waits", "crate::domain::*", "serde"]
        );
    }

    #[test]
    fn paths_in_code_count_as_well_as_imports() {
        assert_eq!(named("fn f() { tokio::spawn(x.y::<u8>()); }"), ["tokio::spawn"]);
        assert_eq!(
            named("fn f() -> ::rusqlite::Error { a::b::<C>::d() as ::x::Y }"),
            ["rusqlite::Error", "a::b", "x::Y"]
        );
    }

    #[test]
    fn relative_paths_are_made_absolute() {
        assert_eq!(named("use super::timers;"), ["crate::law::timers"]);
        assert_eq!(named("use super::super::store;"), ["crate::store"]);
        assert_eq!(named("use self::inner::X;"), ["crate::law::waits::inner::X"]);
        assert_eq!(named("mod inner { use super::super::timers; }"), ["crate::law::timers"]);
    }

    #[test]
    fn comments_and_strings_name_nothing() {
        assert_eq!(
            named("// use tokio::x;\nconst A: &str = \"tokio::spawn\";"),
            Vec::<String>::new()
        );
    }

    #[test]
    fn a_file_is_the_module_its_path_says() {
        assert_eq!(module_of("law/mod.rs"), ["law"]);
        assert_eq!(module_of("lib.rs"), Vec::<String>::new());
        assert_eq!(module_of("store/engine/sqlite.rs"), ["store", "engine", "sqlite"]);
    }
}
