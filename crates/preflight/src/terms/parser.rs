//! The reader of terms.

use super::{COUNT_MAX, DEPTH_MAX, Node, Term, TermError};

/// Reads the only term of a text.
pub(crate) fn parse(text: &str) -> Result<Node, TermError> {
    let mut reader = Reader { rest: text.strip_prefix('\u{feff}').unwrap_or(text), line: 1, count: 0 };
    reader.skip();
    if reader.rest.is_empty() {
        return Err(reader.error("there is none"));
    }
    let node = reader.node(0)?;
    reader.skip();
    if !reader.take('.') {
        return Err(reader.error(if reader.rest.is_empty() {
            "the full stop at the end is missing"
        } else {
            "a full stop was expected"
        }));
    }
    reader.skip();
    if reader.rest.is_empty() { Ok(node) } else { Err(reader.error("unexpected text after the full stop")) }
}

struct Reader<'a> {
    rest: &'a str,
    line: usize,
    count: usize,
}

type Outcome<T> = Result<T, TermError>;

const NOT_CLOSED: &str = "unexpected end of the file";
const NO_CHARACTER: &str = "invalid character";

impl<'a> Reader<'a> {
    fn error(&self, reason: &'static str) -> TermError {
        TermError { line: self.line, reason }
    }

    fn peek(&self) -> Option<char> {
        self.rest.chars().next()
    }

    fn next(&mut self) -> Option<char> {
        let mut chars = self.rest.chars();
        let char = chars.next()?;
        self.rest = chars.as_str();
        if char == '\n' {
            self.line += 1;
        }
        Some(char)
    }

    fn take(&mut self, wanted: char) -> bool {
        let is_there = self.peek() == Some(wanted);
        if is_there {
            self.next();
        }
        is_there
    }

    fn take_all(&mut self, wanted: &str) -> bool {
        let Some(rest) = self.rest.strip_prefix(wanted) else { return false };
        self.rest = rest;
        true
    }

    /// What is taken as long as it is of a kind.
    fn take_while(&mut self, is_wanted: impl Fn(char) -> bool) -> &'a str {
        let end = self.rest.find(|char| !is_wanted(char)).unwrap_or(self.rest.len());
        let (taken, rest) = self.rest.split_at(end);
        self.rest = rest;
        self.line += taken.matches('\n').count();
        taken
    }

    /// White space and comments.
    fn skip(&mut self) {
        loop {
            self.take_while(char::is_whitespace);
            if self.peek() != Some('%') {
                return;
            }
            self.take_while(|char| char != '\n');
        }
    }

    fn node(&mut self, depth: usize) -> Outcome<Node> {
        if depth > DEPTH_MAX {
            return Err(self.error("the term is nested too deeply"));
        }
        self.count += 1;
        if self.count > COUNT_MAX {
            return Err(self.error("too many terms"));
        }
        let line = self.line;
        let term = self.term(depth)?;
        Ok(Node { line, term })
    }

    fn term(&mut self, depth: usize) -> Outcome<Term> {
        match self.peek() {
            None => Err(self.error(NOT_CLOSED)),
            Some('{') => {
                self.next();
                Ok(Term::Tuple(self.items('}', depth)?))
            }
            Some('[') => {
                self.next();
                Ok(Term::List(self.items(']', depth)?))
            }
            Some('#') => self.map(depth),
            Some('"') => self.texts().map(Term::Text),
            Some('<') => self.binary(),
            Some('\'') => {
                self.next();
                self.quoted('\'').map(Term::Atom)
            }
            Some('$') => {
                self.next();
                self.character().map(|char| Term::Number(u32::from(char).to_string()))
            }
            Some(char) if char.is_ascii_digit() || matches!(char, '-' | '+') => self.number().map(Term::Number),
            Some(char) if char.is_lowercase() => {
                Ok(Term::Atom(self.take_while(|char| char.is_alphanumeric() || matches!(char, '_' | '@')).to_owned()))
            }
            Some(char) if char.is_uppercase() || char == '_' => Err(self.error("variables are not supported")),
            Some(_) => Err(self.error(NO_CHARACTER)),
        }
    }

    /// What is between brackets, the closing one included.
    fn items(&mut self, close: char, depth: usize) -> Outcome<Vec<Node>> {
        let mut items = Vec::new();
        self.skip();
        if self.take(close) {
            return Ok(items);
        }
        loop {
            self.skip();
            items.push(self.node(depth + 1)?);
            self.skip();
            if self.take(close) {
                return Ok(items);
            }
            // `[a | [b]]` is `[a, b]`; what else may be behind a bar is not for a configuration.
            if close == ']' && self.take('|') {
                self.skip();
                let rest = self.node(depth + 1)?;
                self.skip();
                return match (rest.term, self.take(close)) {
                    (Term::List(more), true) => {
                        items.extend(more);
                        Ok(items)
                    }
                    _ => Err(self.error("a list and its end were expected after '|'")),
                };
            }
            if !self.take(',') {
                return Err(self.error(if self.rest.is_empty() {
                    NOT_CLOSED
                } else {
                    "a comma was expected, or the end of a list"
                }));
            }
        }
    }

    fn map(&mut self, depth: usize) -> Outcome<Term> {
        if !self.take_all("#{") {
            return Err(self.error(NO_CHARACTER));
        }
        let mut members = Vec::new();
        self.skip();
        if self.take('}') {
            return Ok(Term::Map(members));
        }
        loop {
            self.skip();
            let key = self.node(depth + 1)?;
            self.skip();
            if !self.take_all("=>") {
                return Err(self.error("'=>' was expected"));
            }
            self.skip();
            members.push((key, self.node(depth + 1)?));
            self.skip();
            if self.take('}') {
                return Ok(Term::Map(members));
            }
            if !self.take(',') {
                return Err(self.error("a comma was expected, or the end of a map"));
            }
        }
    }

    /// `"a" "b"` is `"ab"`.
    fn texts(&mut self) -> Outcome<String> {
        let mut text = String::new();
        while self.take('"') {
            text += &self.quoted('"')?;
            self.skip();
        }
        Ok(text)
    }

    /// What is between quotes, the closing one included.
    fn quoted(&mut self, quote: char) -> Outcome<String> {
        let mut text = String::new();
        loop {
            match self.peek() {
                None => return Err(self.error("a quote is not closed")),
                Some(char) if char == quote => {
                    self.next();
                    return Ok(text);
                }
                Some(_) => text.push(self.character()?),
            }
        }
    }

    /// A character, which may be escaped.
    fn character(&mut self) -> Outcome<char> {
        let char = self.next().ok_or_else(|| self.error(NOT_CLOSED))?;
        if char != '\\' {
            return Ok(char);
        }
        let escaped = self.next().ok_or_else(|| self.error(NOT_CLOSED))?;
        Ok(match escaped {
            'n' => '\n',
            't' => '\t',
            'r' => '\r',
            's' => ' ',
            'b' => '\u{8}',
            'f' => '\u{c}',
            'v' => '\u{b}',
            'e' => '\u{1b}',
            'd' => '\u{7f}',
            'x' => return self.hexadecimal(),
            '^' => {
                let control = self.next().ok_or_else(|| self.error(NOT_CLOSED))?;
                char::from_u32(u32::from(control) & 0x1f).ok_or_else(|| self.error(NO_CHARACTER))?
            }
            '0'..='7' => {
                let mut code = escaped.to_digit(8).unwrap_or_default();
                for _ in 0..2 {
                    let Some(digit) = self.peek().and_then(|char| char.to_digit(8)) else { break };
                    self.next();
                    code = code * 8 + digit;
                }
                char::from_u32(code).ok_or_else(|| self.error(NO_CHARACTER))?
            }
            other => other,
        })
    }

    /// `41` or `{1F600}`.
    fn hexadecimal(&mut self) -> Outcome<char> {
        let digits = match self.take('{') {
            true => {
                let digits = self.take_while(|char| char.is_ascii_hexdigit());
                if !self.take('}') {
                    return Err(self.error(NO_CHARACTER));
                }
                digits
            }
            false => {
                let len = self.rest.chars().take(2).take_while(char::is_ascii_hexdigit).count();
                let (digits, rest) = self.rest.split_at(len);
                self.rest = rest;
                digits
            }
        };
        let code = u32::from_str_radix(digits, 16).map_err(|_| self.error(NO_CHARACTER))?;
        char::from_u32(code).ok_or_else(|| self.error(NO_CHARACTER))
    }

    /// `<<"text">>`, `<<"text"/utf8>>`, `<<1,2,3>>`.
    fn binary(&mut self) -> Outcome<Term> {
        if !self.take_all("<<") {
            return Err(self.error(NO_CHARACTER));
        }
        let mut bytes = Vec::new();
        self.skip();
        while !self.take_all(">>") {
            if self.peek() == Some('"') {
                bytes.extend(self.texts()?.into_bytes());
            } else {
                let number = self.number()?;
                bytes.push(number.parse().map_err(|_| self.error("a byte must be a number up to 255"))?);
            }
            self.skip();
            if self.take('/') {
                self.take_while(|char| char.is_ascii_alphanumeric() || char == '-');
                self.skip();
            }
            if !self.take(',') && !self.rest.starts_with(">>") {
                return Err(self.error(if self.rest.is_empty() {
                    NOT_CLOSED
                } else {
                    "a comma was expected, or '>>'"
                }));
            }
            self.skip();
        }
        Ok(Term::Binary(String::from_utf8_lossy(&bytes).into_owned()))
    }

    /// As it is written, but for another base, which becomes the tenth.
    fn number(&mut self) -> Outcome<String> {
        let mut text = String::new();
        if self.take('-') {
            text.push('-');
        } else {
            self.take('+');
        }
        let digits = self.digits();
        if digits.is_empty() {
            return Err(self.error("a number was expected"));
        }
        if self.take('#') {
            let digits_of_base = self.take_while(|char| char.is_ascii_alphanumeric());
            let base = digits.parse().ok().filter(|base| (2..=36).contains(base));
            let number = base.and_then(|base| u64::from_str_radix(digits_of_base, base).ok());
            let number = number.ok_or_else(|| self.error("invalid number"))?;
            return Ok(format!("{text}{number}"));
        }
        text += &digits;
        // A full stop that no digit follows is the end of the term.
        let mut after = self.rest.chars();
        if after.next() == Some('.') && after.next().is_some_and(|char| char.is_ascii_digit()) {
            self.next();
            text.push('.');
            text += &self.digits();
            if self.take('e') || self.take('E') {
                text.push('e');
                if self.take('-') {
                    text.push('-');
                } else {
                    self.take('+');
                }
                let exponent = self.digits();
                if exponent.is_empty() {
                    return Err(self.error("invalid number"));
                }
                text += &exponent;
            }
        }
        Ok(text)
    }

    /// `1_000` is `1000`.
    fn digits(&mut self) -> String {
        self.take_while(|char| char.is_ascii_digit() || char == '_').replace('_', "")
    }
}
