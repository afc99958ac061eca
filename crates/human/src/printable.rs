//! Texts of others on a terminal.

use std::borrow::Cow;
use std::fmt::Write as _;

/// A text that came from elsewhere, such as a broker's name for itself, as it may reach a terminal: what a terminal obeys is shown as JSON
/// escapes it (`\u001b`), and so is what turns the direction of writing. Ends of lines and tabs stay. A JSON document stays the same
/// document.
#[must_use]
pub fn printable(text: &str) -> Cow<'_, str> {
    if !text.chars().any(is_obeyed) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    for char in text.chars() {
        match is_obeyed(char) {
            true => drop(write!(out, "\\u{:04x}", u32::from(char))),
            false => out.push(char),
        }
    }
    Cow::Owned(out)
}

fn is_obeyed(char: char) -> bool {
    let turns_direction = matches!(char, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    turns_direction || (char.is_control() && char != '\n' && char != '\t')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_terminal_obeys_is_shown() {
        assert_eq!(printable("a\u{1b}[2J\u{9b}31m\rb\u{7f}\u{202e}"), "a\\u001b[2J\\u009b31m\\u000db\\u007f\\u202e");
        assert_eq!(printable("one\n\ttwo – ÄÖ 日本"), "one\n\ttwo – ÄÖ 日本");
    }
}
