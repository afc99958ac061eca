//! rabbitmqadmin's file of settings: sections with keys and values, as INI (the old one) and as TOML (its successor).
//!
//! ```text
//! [staging]
//! hostname = "10.0.0.7"     quotes are TOML's
//! port = 15672
//! ```

use std::collections::BTreeMap;

/// What one server needs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Section(BTreeMap<String, String>);

impl Section {
    pub(crate) fn get(&self, key: &str) -> Option<&str> {
        self.0.get(key).map(String::as_str)
    }

    pub(crate) fn is_true(&self, key: &str) -> bool {
        matches!(self.get(key), Some("true" | "True" | "yes" | "1"))
    }
}

/// All sections in their order.
pub(crate) fn parse(text: &str) -> Result<Vec<(String, Section)>, String> {
    let mut sections: Vec<(String, Section)> = Vec::new();
    for (at, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with(['#', ';']) {
            continue;
        }
        let place = at + 1;
        if let Some(name) = line.strip_prefix('[') {
            let name =
                name.strip_suffix(']').ok_or_else(|| format!("line {place} starts a section and does not end it"))?;
            sections.push((unquoted(name.trim()).to_owned(), Section::default()));
            continue;
        }
        let (key, value) = line
            .split_once('=')
            .or_else(|| line.split_once(':'))
            .ok_or_else(|| format!("line {place} is neither a section nor key = value"))?;
        let Some((_, section)) = sections.last_mut() else {
            return Err(format!("line {place} is before the first section"));
        };
        section.0.insert(canonical(key.trim()), unquoted(value.trim()).to_owned());
    }
    Ok(sections)
}

/// A line of a section: a key of the successor's, and a value as TOML has it.
pub(crate) struct Setting {
    pub(crate) key: &'static str,
    pub(crate) value: String,
}

/// The text with a section that says this, whatever else it says; made if it is not there. All other lines stay as they are.
pub(crate) fn with(text: &str, name: &str, settings: &[Setting]) -> String {
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    let (start, mut end) = match place(&lines, name) {
        Some(place) => place,
        None => {
            if lines.last().is_some_and(|line| !line.trim().is_empty()) {
                lines.push(String::new());
            }
            lines.push(format!("[{}]", if name.chars().all(is_plain) { name.to_owned() } else { quoted(name) }));
            (lines.len(), lines.len())
        }
    };
    for Setting { key, value } in settings {
        let line = format!("{key} = {value}");
        let known = lines[start..end].iter().position(|line| key_of(line).is_some_and(|known| known == canonical(key)));
        match known {
            Some(at) => lines[start + at] = line,
            None => {
                lines.insert(end, line);
                end += 1;
            }
        }
    }
    joined(&lines)
}

/// The text without that section; nothing if it has none.
pub(crate) fn without(text: &str, name: &str) -> Option<String> {
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    let (start, mut end) = place(&lines, name)?;
    while lines.get(end).is_some_and(|line| line.trim().is_empty()) {
        end += 1;
    }
    lines.drain(start - 1..end);
    while lines.last().is_some_and(|line| line.trim().is_empty()) {
        lines.pop();
    }
    Some(joined(&lines))
}

/// A text as TOML has it.
pub(crate) fn quoted(text: &str) -> String {
    if text.contains(['"', '\\']) && !text.contains('\'') { format!("'{text}'") } else { format!("\"{text}\"") }
}

/// From the line behind a section's name to the one behind its last that is not empty.
fn place(lines: &[String], name: &str) -> Option<(usize, usize)> {
    let header = |line: &String| Some(unquoted(line.trim().strip_prefix('[')?.strip_suffix(']')?.trim()).to_owned());
    let start = lines.iter().position(|line| header(line).is_some_and(|known| known == name))? + 1;
    let next = lines[start..].iter().position(|line| line.trim().starts_with('[')).map_or(lines.len(), |at| start + at);
    let end = lines[start..next].iter().rposition(|line| !line.trim().is_empty()).map_or(start, |at| start + at + 1);
    Some((start, end))
}

fn key_of(line: &str) -> Option<String> {
    let line = line.trim();
    let is_comment = line.starts_with(['#', ';']);
    let (key, _) = line.split_once('=').or_else(|| line.split_once(':')).filter(|_| !is_comment)?;
    Some(canonical(key.trim()))
}

fn joined(lines: &[String]) -> String {
    lines.iter().map(|line| format!("{line}\n")).collect()
}

/// What a name in TOML may have without quotes.
fn is_plain(char: char) -> bool {
    char.is_ascii_alphanumeric() || "_-".contains(char)
}

/// The key as the old one has it.
fn canonical(key: &str) -> String {
    match key {
        "host" => "hostname".to_owned(),
        "use_tls" | "tls" => "ssl".to_owned(),
        "virtual_host" => "vhost".to_owned(),
        "ca_certificate_bundle_path" => "ssl_ca_cert_file".to_owned(),
        "client_certificate_file_path" => "ssl_cert_file".to_owned(),
        "client_private_key_file_path" => "ssl_key_file".to_owned(),
        "insecure" => "ssl_insecure".to_owned(),
        other => match other.strip_prefix("tls_") {
            Some(rest) => format!("ssl_{rest}"),
            None => other.to_owned(),
        },
    }
}

fn unquoted(value: &str) -> &str {
    ['"', '\''].iter().find_map(|quote| value.strip_prefix(*quote)?.strip_suffix(*quote)).unwrap_or(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_kinds_of_files_are_read() {
        let text = "# all\n[old]\nhostname = h\nport: 1\nssl = True\n\n[new]\nhost = \"i\"\npassword = 'x=y'\ntls_ca_cert_file = \"c\"\n";
        let sections = parse(text).unwrap();
        assert_eq!(sections.len(), 2);
        let (name, old) = &sections[0];
        assert_eq!(
            (name.as_str(), old.get("hostname"), old.get("port"), old.is_true("ssl")),
            ("old", Some("h"), Some("1"), true)
        );
        let (_, new) = &sections[1];
        assert_eq!(
            (new.get("hostname"), new.get("password"), new.get("ssl_ca_cert_file")),
            (Some("i"), Some("x=y"), Some("c"))
        );
    }

    #[test]
    fn a_server_is_named_changed_and_named_no_more() {
        let setting = |key, value: &str| Setting { key, value: value.to_owned() };
        let text = "# mine\n[old]\nhost: h\nport = 1\n\n\n[next]\nport = 2\n";
        let changed = with(text, "old", &[setting("hostname", "\"i\""), setting("tls", "true")]);
        assert_eq!(changed, "# mine\n[old]\nhostname = \"i\"\nport = 1\ntls = true\n\n\n[next]\nport = 2\n");
        let named = with(text, "a.b", &[setting("port", "3")]);
        assert_eq!(named, format!("{text}\n[\"a.b\"]\nport = 3\n"));
        assert_eq!(parse(&named).unwrap()[2].0, "a.b");
        assert_eq!(without(&named, "a.b").as_deref(), Some(text));
        assert_eq!(without(text, "old").as_deref(), Some("# mine\n[next]\nport = 2\n"));
        assert_eq!(without(text, "none"), None);
        assert_eq!(with("", "x", &[]), "[x]\n");
    }

    #[test]
    fn texts_keep_what_is_in_them() {
        for text in ["plain", "with \"quotes\"", "it's", "back\\slash"] {
            assert_eq!(unquoted(&quoted(text)), text);
        }
    }

    #[test]
    fn what_is_wrong_is_said_with_its_line() {
        assert_eq!(parse("[a]\nb").unwrap_err(), "line 2 is neither a section nor key = value");
        assert_eq!(parse("a = b").unwrap_err(), "line 1 is before the first section");
        assert_eq!(parse("\n[a").unwrap_err(), "line 2 starts a section and does not end it");
    }
}
