//! Just enough of Rust's syntax to tell code from comments and text.
//!
//! Reports words, signs and string literals with their lines; comments, numbers, characters and
//! lifetimes are skipped. It never fails: source that does not compile gives the tokens it has.

/// A piece of source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Token {
    /// The line it starts on, from 1.
    pub line: usize,
    /// What it is.
    pub kind: TokenKind,
}

/// What a piece of source is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TokenKind {
    /// An identifier or a keyword.
    Word(String),
    /// One punctuation character; `::` is [`TokenKind::Colons`].
    Sign(char),
    /// `::`
    Colons,
    /// What stands between the quotes, escapes as written.
    Text(String),
}

impl Token {
    /// The identifier or keyword, if it is one.
    #[must_use]
    pub fn word(&self) -> Option<&str> {
        match &self.kind {
            TokenKind::Word(word) => Some(word),
            TokenKind::Sign(_) | TokenKind::Colons | TokenKind::Text(_) => None,
        }
    }

    /// Whether it is this sign.
    #[must_use]
    pub fn is_sign(&self, sign: char) -> bool {
        self.kind == TokenKind::Sign(sign)
    }

    /// The string literal, if it is one.
    #[must_use]
    pub fn text(&self) -> Option<&str> {
        match &self.kind {
            TokenKind::Text(text) => Some(text),
            TokenKind::Sign(_) | TokenKind::Colons | TokenKind::Word(_) => None,
        }
    }
}

/// The tokens of `source`, in order.
#[must_use]
pub fn tokens(source: &str) -> Vec<Token> {
    let mut lexer = Lexer { rest: source, line: 1, tokens: Vec::new() };
    while lexer.step() {}
    lexer.tokens
}

/// The tokens of `source` outside inline `tests` modules: what a boundary is about is what ships.
#[must_use]
pub fn shipped_tokens(source: &str) -> Vec<Token> {
    let mut shipped = Vec::new();
    let mut rest = tokens(source).into_iter().peekable();
    while let Some(token) = rest.next() {
        let opens_tests = token.word() == Some("mod")
            && rest.peek().is_some_and(|next| next.word() == Some("tests"));
        if !opens_tests {
            shipped.push(token);
            continue;
        }
        rest.next();
        if rest.peek().is_some_and(|next| next.is_sign('{')) {
            skip_braces(&mut rest);
        }
    }
    shipped
}

/// Takes everything up to the brace that closes the one that comes next.
fn skip_braces(rest: &mut impl Iterator<Item = Token>) {
    let mut depth = 0_usize;
    for token in rest {
        if token.is_sign('{') {
            depth += 1;
        } else if token.is_sign('}') {
            depth -= 1;
            if depth == 0 {
                return;
            }
        }
    }
}

struct Lexer<'a> {
    rest: &'a str,
    line: usize,
    tokens: Vec<Token>,
}

impl Lexer<'_> {
    fn step(&mut self) -> bool {
        let Some(first) = self.rest.chars().next() else { return false };
        if self.rest.starts_with("//") {
            self.skip(self.rest.find('\n').unwrap_or(self.rest.len()));
        } else if self.rest.starts_with("/*") {
            self.skip(block_comment(self.rest));
        } else if let Some((open, close)) = raw_string(self.rest) {
            self.take_text(open, &close, false);
        } else if first == '"' {
            self.take_text(1, "\"", true);
        } else if self.rest.starts_with("b\"") || self.rest.starts_with("c\"") {
            self.take_text(2, "\"", true);
        } else if first == '\'' {
            self.skip(character_or_lifetime(self.rest));
        } else if first.is_alphabetic() || first == '_' {
            self.take_word();
        } else if first.is_ascii_digit() {
            self.skip(self.length_while(|c| c.is_alphanumeric() || c == '_'));
        } else if self.rest.starts_with("::") {
            self.push(TokenKind::Colons);
            self.skip(2);
        } else {
            if !first.is_whitespace() {
                self.push(TokenKind::Sign(first));
            }
            self.skip(first.len_utf8());
        }
        true
    }

    fn take_word(&mut self) {
        let length = self.length_while(|c| c.is_alphanumeric() || c == '_');
        self.push(TokenKind::Word(self.rest[..length].to_owned()));
        self.skip(length);
    }

    fn take_text(&mut self, open: usize, close: &str, escapes: bool) {
        let body = &self.rest[open..];
        let end = if escapes { closing_quote(body) } else { body.find(close) };
        let end = end.unwrap_or(body.len());
        self.push(TokenKind::Text(body[..end].to_owned()));
        self.skip((open + end + close.len()).min(self.rest.len()));
    }

    fn length_while(&self, belongs: impl Fn(char) -> bool) -> usize {
        self.rest.find(|c| !belongs(c)).unwrap_or(self.rest.len())
    }

    fn push(&mut self, kind: TokenKind) {
        self.tokens.push(Token { line: self.line, kind });
    }

    fn skip(&mut self, length: usize) {
        self.line += self.rest[..length].matches('\n').count();
        self.rest = &self.rest[length..];
    }
}

/// The length of the comment that `source` begins with; comments nest.
fn block_comment(source: &str) -> usize {
    let (mut depth, mut at) = (0_usize, 0_usize);
    while at < source.len() {
        let rest = &source[at..];
        if rest.starts_with("/*") {
            depth += 1;
            at += 2;
        } else if rest.starts_with("*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                return at;
            }
        } else {
            at += rest.chars().next().map_or(1, char::len_utf8);
        }
    }
    source.len()
}

/// The length of the opening and the closing of the raw string that `source` begins with.
fn raw_string(source: &str) -> Option<(usize, String)> {
    let prefix = ["r", "br", "cr"].into_iter().find(|prefix| {
        source.strip_prefix(prefix).is_some_and(|rest| rest.starts_with(['"', '#']))
    })?;
    let hashes = source[prefix.len()..].bytes().take_while(|byte| *byte == b'#').count();
    let open = prefix.len() + hashes;
    // `r#match` is a word, not a string.
    source[open..].starts_with('"').then(|| (open + 1, format!("\"{}", "#".repeat(hashes))))
}

/// The offset of the first quote that no backslash escapes.
fn closing_quote(body: &str) -> Option<usize> {
    let mut escaped = false;
    body.char_indices().find_map(|(at, c)| {
        let closes = c == '"' && !escaped;
        escaped = c == '\\' && !escaped;
        closes.then_some(at)
    })
}

/// The length of `'a'`, `'\n'` or `'lifetime`.
fn character_or_lifetime(source: &str) -> usize {
    let mut rest = source.char_indices().skip(1);
    match rest.next() {
        Some((_, '\\')) => {
            // The escaped character itself may be a quote.
            rest.next();
            rest.find(|(_, c)| *c == '\'').map_or(source.len(), |(at, _)| at + 1)
        }
        Some((at, c)) => {
            let after = at + c.len_utf8();
            if source[after..].starts_with('\'') { after + 1 } else { 1 }
        }
        None => 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(source: &str) -> Vec<String> {
        tokens(source).iter().filter_map(|token| token.word().map(str::to_owned)).collect()
    }

    fn texts(source: &str) -> Vec<String> {
        tokens(source).iter().filter_map(|token| token.text().map(str::to_owned)).collect()
    }

    #[test]
    fn comments_hold_no_words() {
        assert_eq!(words("a // b\n/* c /* d */ e */ f"), ["a", "f"]);
    }

    #[test]
    fn strings_end_at_their_own_quote() {
        assert_eq!(texts(r#"x("a \" b", "c")"#), [r#"a \" b"#, "c"]);
        assert_eq!(texts("r#\"a \"b\" c\"#, \"d\""), ["a \"b\" c", "d"]);
        assert_eq!(texts("b\"bytes\" + br\"raw\""), ["bytes", "raw"]);
        assert_eq!(words("r\"no\" yes"), ["yes"]);
    }

    #[test]
    fn a_quote_in_a_character_opens_no_string() {
        assert_eq!(words(r#"['"', '\'', '\\', 'x'] y"#), ["y"]);
        assert_eq!(words("fn f<'a>(x: &'a str)"), ["fn", "f", "a", "x", "a", "str"]);
    }

    #[test]
    fn raw_identifiers_are_words() {
        assert_eq!(words("r#match"), ["r", "match"]);
    }

    #[test]
    fn lines_are_counted_through_comments_and_strings() {
        let lines: Vec<usize> = tokens("/*\n*/ a \"\n\" b").iter().map(|t| t.line).collect();
        assert_eq!(lines, [2, 2, 3]);
    }

    #[test]
    fn inline_tests_do_not_ship() {
        let source = "a; #[cfg(test)] mod tests { b; mod c { d; } } mod e { f; } mod tests; g;";
        let shipped = shipped_tokens(source);
        let words: Vec<&str> = shipped.iter().filter_map(Token::word).collect();
        assert_eq!(words, ["a", "cfg", "test", "mod", "e", "f", "g"]);
    }

    #[test]
    fn unfinished_source_gives_what_it_has() {
        assert_eq!(texts("\"open"), ["open"]);
        assert_eq!(words("/* open"), Vec::<String>::new());
        assert_eq!(words("'"), Vec::<String>::new());
    }
}
