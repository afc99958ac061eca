//! AMQProxy's files: lines of `key = value` below `[section]`s. Nothing here knows any key.
//!
//! ```text
//! # a comment; one may begin with a semicolon, too
//! [main]
//! upstream = amqp://localhost:5672      everything after the equals sign is the value
//! ```

/// A line of a section.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct IniEntry<'a> {
    /// `main` before the first section.
    pub(super) section: &'a str,
    pub(super) key: &'a str,
    pub(super) value: &'a str,
    pub(super) line: usize,
}

/// Whether a text is such a file and none of ours, which has no sections.
pub(super) fn is_ini(text: &str) -> bool {
    lines(text).any(|(_, line)| section(line).is_some_and(|name| !name.is_empty() && name.chars().all(is_word)))
}

fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '-')
}

/// All entries in order, or the lines that are none.
pub(super) fn parse(text: &str) -> impl Iterator<Item = Result<IniEntry<'_>, usize>> {
    let mut inside = "main";
    lines(text).filter_map(move |(number, line)| {
        if let Some(name) = section(line) {
            inside = name;
            return None;
        }
        let entry = line.split_once('=').filter(|(key, _)| !key.trim().is_empty()).ok_or(number);
        Some(entry.map(|(key, value)| IniEntry { section: inside, key: key.trim(), value: value.trim(), line: number }))
    })
}

/// Lines that say something, without the white space around it, and their numbers.
fn lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let lines = text.strip_prefix('\u{feff}').unwrap_or(text).lines();
    let numbered = lines.enumerate().map(|(index, line)| (index + 1, line.trim()));
    numbered.filter(|(_, line)| !line.is_empty() && !line.starts_with(['#', ';']))
}

fn section(line: &str) -> Option<&str> {
    Some(line.strip_prefix('[')?.strip_suffix(']')?.trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_amqproxys_when_it_has_a_section() {
        for text in ["[main]\n", "# c\n\nupstream = amqp://a\n [listen] \r\n", "[server]"] {
            assert!(is_ini(text), "{text}");
        }
        for text in ["", "proxy.heartbeat = 60", "[{rabbit, []}].", "# [main]", "a = [main]", "[]", "[a b]"] {
            assert!(!is_ini(text), "{text}");
        }
    }

    #[test]
    fn entries_have_their_section_and_line() {
        let text = "\u{feff}a=1\n; c\n[listen]\r\n\tb = x # y = z\n= 2\nrubbish";
        let entries: Vec<_> = parse(text).collect();
        let entry = |section, key, value, line| Ok(IniEntry { section, key, value, line });
        assert_eq!(entries, [entry("main", "a", "1", 1), entry("listen", "b", "x # y = z", 4), Err(5), Err(6)]);
    }
}
