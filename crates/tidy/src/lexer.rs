//! Rust's text taken apart as far as the rules need it: comments and the contents of strings are blanked, then words and signs are listed.

/// A word, `::`, or one other sign, and the line it is on, from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Token<'a> {
    /// The word or the sign.
    pub text: &'a str,
    /// Its line.
    pub line: usize,
}

/// The same text with spaces for comments and for what strings and characters contain. Lines stay where they are.
pub fn blank(text: &str) -> String {
    let chars: Vec<char> = text.chars().collect();
    let mut blanked = String::with_capacity(text.len());
    let mut at = 0;
    while at < chars.len() {
        let end = match (chars[at], chars.get(at + 1)) {
            ('/', Some('/')) => find(&chars, at, |rest| rest[0] == '\n').unwrap_or(chars.len()),
            ('/', Some('*')) => block_comment_end(&chars, at),
            ('"', _) => string_end(&chars, at),
            ('r', Some('"' | '#')) if !continues_word(&chars, at) => raw_string_end(&chars, at),
            ('\'', _) => char_end(&chars, at),
            _ => at,
        };
        if end == at {
            blanked.push(chars[at]);
            at += 1;
        } else {
            blanked.extend(chars[at..end].iter().map(|char| if *char == '\n' { '\n' } else { ' ' }));
            at = end;
        }
    }
    blanked
}

fn find(chars: &[char], from: usize, is_it: impl Fn(&[char]) -> bool) -> Option<usize> {
    (from..chars.len()).find(|at| is_it(&chars[*at..]))
}

/// `br"…"` begins within a word, and is a string all the same.
fn continues_word(chars: &[char], at: usize) -> bool {
    at > 0 && is_of_word(chars[at - 1]) && !(chars[at - 1] == 'b' && (at < 2 || !is_of_word(chars[at - 2])))
}

fn block_comment_end(chars: &[char], from: usize) -> usize {
    let (mut depth, mut at) = (0, from);
    while at < chars.len() {
        match (chars[at], chars.get(at + 1)) {
            ('/', Some('*')) => (depth, at) = (depth + 1, at + 2),
            ('*', Some('/')) => (depth, at) = (depth - 1, at + 2),
            _ => at += 1,
        }
        if depth == 0 {
            return at;
        }
    }
    at
}

fn string_end(chars: &[char], from: usize) -> usize {
    let mut at = from + 1;
    while at < chars.len() && chars[at] != '"' {
        at += if chars[at] == '\\' { 2 } else { 1 };
    }
    (at + 1).min(chars.len())
}

fn raw_string_end(chars: &[char], from: usize) -> usize {
    let hashes = chars[from + 1..].iter().take_while(|char| **char == '#').count();
    let open = from + 1 + hashes;
    if chars.get(open) != Some(&'"') {
        // A raw identifier.
        return from;
    }
    let ends =
        |rest: &[char]| rest[0] == '"' && rest[1..].iter().take(hashes).filter(|char| **char == '#').count() == hashes;
    find(chars, open + 1, ends).map_or(chars.len(), |at| at + 1 + hashes)
}

/// `'a'` and `'\n'`, and not the `'a` of a lifetime.
fn char_end(chars: &[char], from: usize) -> usize {
    match (chars.get(from + 1), chars.get(from + 2)) {
        (Some('\\'), Some(_)) => find(chars, from + 3, |rest| rest[0] == '\'').map_or(chars.len(), |at| at + 1),
        (Some(_), Some('\'')) => from + 3,
        _ => from,
    }
}

/// The words and signs of a text that was blanked.
pub fn tokens(blanked: &str) -> Vec<Token<'_>> {
    let mut tokens = Vec::new();
    for (number, line) in blanked.lines().enumerate() {
        let mut rest = line.trim_start();
        while let Some(first) = rest.chars().next() {
            let len = match first {
                _ if is_of_word(first) => rest.find(|char| !is_of_word(char)).unwrap_or(rest.len()),
                ':' if rest.starts_with("::") => 2,
                _ => first.len_utf8(),
            };
            tokens.push(Token { text: &rest[..len], line: number + 1 });
            rest = rest[len..].trim_start();
        }
    }
    tokens
}

fn is_of_word(char: char) -> bool {
    char.is_alphanumeric() || char == '_'
}

/// The tokens without what is compiled for tests only, and the modules that are.
pub fn without_tests<'a>(tokens: &[Token<'a>]) -> (Vec<Token<'a>>, Vec<&'a str>) {
    let (mut kept, mut test_modules, mut at) = (Vec::new(), Vec::new(), 0);
    while at < tokens.len() {
        if !is_test_attribute(&tokens[at..]) {
            kept.push(tokens[at]);
            at += 1;
            continue;
        }
        let end = item_end(tokens, at);
        if let Some(found) = tokens[at..end].windows(3).find(|three| three[0].text == "mod" && three[2].text == ";") {
            test_modules.push(found[1].text);
        }
        at = end;
    }
    (kept, test_modules)
}

fn is_test_attribute(tokens: &[Token<'_>]) -> bool {
    let begins: Vec<_> = tokens.iter().take(5).map(|token| token.text).collect();
    begins == ["#", "[", "cfg", "(", "test"]
}

/// Where the item ends that an attribute at `from` belongs to.
fn item_end(tokens: &[Token<'_>], from: usize) -> usize {
    let mut depth = 0_i32;
    for (at, token) in tokens.iter().enumerate().skip(from) {
        match token.text {
            "(" | "[" | "{" => depth += 1,
            ")" | "]" => depth -= 1,
            "}" => {
                depth -= 1;
                if depth <= 0 {
                    return at + 1;
                }
            }
            ";" | "," if depth == 0 => return at + 1,
            _ => {}
        }
    }
    tokens.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_strings_are_blanked() {
        check_blank("a // b\nc", "a     \nc");
        check_blank("a /* b /* c */ d */ e", "a                   e");
        check_blank(r#"f("x \" {", 'y', '\'')"#, "f(        ,    ,     )");
        check_blank("r#\"a\"b\"# z", "         z");
        check_blank("br\"{\" z", "b     z");
        check_blank("fn f<'a>(x: &'a str) {}", "fn f<'a>(x: &'a str) {}");
        check_blank("r#type", "r#type");
    }

    #[track_caller]
    fn check_blank(text: &str, expected: &str) {
        assert_eq!(blank(text), expected);
    }

    #[test]
    fn words_and_paths_are_told_apart() {
        let found: Vec<_> = tokens("use a::{b_1, c};\nx").into_iter().map(|token| (token.text, token.line)).collect();
        let expected = ["use", "a", "::", "{", "b_1", ",", "c", "}", ";"].map(|text| (text, 1));
        assert_eq!(found[..9], expected);
        assert_eq!(found[9..], [("x", 2)]);
    }

    #[test]
    fn what_is_for_tests_only_is_left_out() {
        check_kept("a; #[cfg(test)] mod tests; b;", "a ; b ;", &["tests"]);
        check_kept("a; #[cfg(test)] #[rustfmt::skip] mod tests { fn f() { x } } b;", "a ; b ;", &[]);
        check_kept("#[cfg(test)] pub fn f(x: [u8; 2]) -> u8 { 1 } b", "b", &[]);
        check_kept("#[cfg(unix)] mod tests; b", "# [ cfg ( unix ) ] mod tests ; b", &[]);
    }

    #[track_caller]
    fn check_kept(text: &str, kept: &str, modules: &[&str]) {
        let (found, of_tests) = without_tests(&tokens(text));
        assert_eq!(found.iter().map(|token| token.text).collect::<Vec<_>>().join(" "), kept);
        assert_eq!(of_tests, modules);
    }
}
