//! Names and texts that cannot break a line.
//!
//! A backslash in a name takes its meaning from a comma, space or equal sign that follows; before anything else it stands for itself, and
//! cannot be escaped. So a name cannot end with one: it would hide what comes after the name. Backslashes at the end are left out.
//!
//! Control characters are written as in source code, `\n` and so on: no reader takes all of them, a line feed ends a line, and a name
//! with one is still distinguished from a name with a space.

use std::fmt::Write as _;

/// What stands in the way in a measurement.
const OF_MEASUREMENTS: &[char] = &[',', ' '];
/// What stands in the way in the name of a tag or field, and in a tag's value.
const OF_NAMES: &[char] = &[',', ' ', '='];

/// Writes a measurement's name.
pub(crate) fn put_measurement(out: &mut String, name: &str) {
    if name.starts_with('#') {
        // It would be a comment.
        out.push('\\');
    }
    put(out, name, OF_MEASUREMENTS);
}

/// Writes the name of a tag or a field, or a tag's value.
pub(crate) fn put_name(out: &mut String, name: &str) {
    put(out, name, OF_NAMES);
}

/// Writes a text with its quotes.
pub(crate) fn put_text(out: &mut String, text: &str) {
    out.push('"');
    for letter in text.chars() {
        match letter {
            '"' | '\\' => out.extend(['\\', letter]),
            _ if letter.is_control() => {
                // A backslash that is to be read as one.
                out.push('\\');
                put_control(out, letter);
            }
            _ => out.push(letter),
        }
    }
    out.push('"');
}

/// Whether nothing would be written of a name.
pub(crate) fn is_nothing(name: &str) -> bool {
    name.bytes().all(|byte| byte == b'\\')
}

fn put(out: &mut String, name: &str, special: &[char]) {
    for letter in name.trim_end_matches('\\').chars() {
        match letter {
            _ if special.contains(&letter) => out.extend(['\\', letter]),
            _ if letter.is_control() => put_control(out, letter),
            _ => out.push(letter),
        }
    }
}

fn put_control(out: &mut String, letter: char) {
    match letter {
        '\n' => out.push_str("\\n"),
        '\r' => out.push_str("\\r"),
        '\t' => out.push_str("\\t"),
        // Writing to a String cannot fail.
        _ => drop(write!(out, "\\x{:02x}", u32::from(letter))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(put: fn(&mut String, &str), text: &str, expected: &str) {
        let mut out = String::new();
        put(&mut out, text);
        assert_eq!(out, expected, "{text:?}");
    }

    #[test]
    fn commas_spaces_and_equal_signs_have_a_backslash_before_them() {
        check(put_name, "a,b c=d", r"a\,b\ c\=d");
        check(put_name, r#""quoted""#, r#""quoted""#);
        check(put_measurement, "a,b c=d", r"a\,b\ c=d");
    }

    #[test]
    fn a_backslash_stands_for_itself_unless_it_would_hide_what_follows() {
        check(put_name, r"a\b", r"a\b");
        check(put_name, r"a\ b", r"a\\ b");
        check(put_name, r"a\\", "a");
        check(put_measurement, r"a\", "a");
        assert!(is_nothing(r"\\") && is_nothing("") && !is_nothing(r"\a"));
    }

    #[test]
    fn no_character_ends_a_line() {
        check(put_name, "a\nb\r\tc\0\u{85}", r"a\nb\r\tc\x00\x85");
        check(put_measurement, "a\n", r"a\n");
        check(put_text, "a\nb", r#""a\\nb""#);
    }

    #[test]
    fn a_text_has_quotes_and_backslashes_escaped() {
        check(put_text, r#"say "a\b", c = d"#, r#""say \"a\\b\", c = d""#);
        check(put_text, "", r#""""#);
    }

    #[test]
    fn a_measurement_is_no_comment() {
        check(put_measurement, "#1", r"\#1");
    }
}
