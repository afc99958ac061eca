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
                name.strip_suffix(']').ok_or_else(|| format!("line {place} begins a section and does not end it"))?;
            sections.push((unquoted(name.trim()).to_owned(), Section::default()));
            continue;
        }
        let (key, value) = line
            .split_once('=')
            .or_else(|| line.split_once(':'))
            .ok_or_else(|| format!("line {place} is neither a section nor key = value"))?;
        let Some((_, section)) = sections.last_mut() else {
            return Err(format!("line {place} stands before the first section"));
        };
        section.0.insert(canonical(key.trim()), unquoted(value.trim()).to_owned());
    }
    Ok(sections)
}

/// The key as the old one has it.
fn canonical(key: &str) -> String {
    match key {
        "host" => "hostname".to_owned(),
        "use_tls" | "tls" => "ssl".to_owned(),
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
    fn what_is_wrong_is_said_with_its_line() {
        assert_eq!(parse("[a]\nb").unwrap_err(), "line 2 is neither a section nor key = value");
        assert_eq!(parse("a = b").unwrap_err(), "line 1 stands before the first section");
        assert_eq!(parse("\n[a").unwrap_err(), "line 2 begins a section and does not end it");
    }
}
