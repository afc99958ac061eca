//! A workload as a small TOML file: settings by their names, with `_` for `-`.

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::setting::{SETTINGS, find};
use crate::workload::{Description, Origin};

/// Reads a file's text. `name` is for errors, which say line and column.
pub(crate) fn read(text: &str, name: &str) -> Result<Description, String> {
    let at = |offset: usize, message: String| {
        let before = text.get(..offset).unwrap_or(text);
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        let (line, column) = (before.matches('\n').count() + 1, before[line_start..].chars().count() + 1);
        format!("{name}:{line}:{column}: {message}")
    };
    let table = DeTable::parse(text).map_err(|error| {
        let message: Vec<&str> = error.message().lines().map(str::trim).filter(|line| !line.is_empty()).collect();
        at(error.span().map_or(0, |span| span.start), format!("not TOML: {}", message.join(", ")))
    })?;
    let mut description = Description::default();
    for (key, value) in table.get_ref() {
        let word = key.get_ref();
        let setting = find(word).ok_or_else(|| {
            let names = SETTINGS.iter().map(|setting| setting.name.replace('-', "_"));
            let hint = human::closest(word, names).map_or(String::new(), |near| format!("; did you mean \"{near}\"?"));
            at(key.span().start, format!("unknown key \"{word}\"{hint}"))
        })?;
        let read = as_text(value).and_then(|text| description.read(setting, &text, Origin::File(name.to_owned())));
        read.map_err(|message| at(value.span().start, message))?;
    }
    Ok(description)
}

/// A value as it would be written in an option.
fn as_text(value: &Spanned<DeValue<'_>>) -> Result<String, String> {
    match value.get_ref() {
        DeValue::String(text) => Ok(text.to_string()),
        DeValue::Boolean(flag) => Ok(flag.to_string()),
        DeValue::Integer(number) if number.radix() == 10 => Ok(number.as_str().to_owned()),
        DeValue::Float(number) => Ok(number.as_str().to_owned()),
        _ => Err("expected a number, a text, true or false".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::setting::Key;

    #[test]
    fn settings_are_read_by_name() {
        let text =
            "rate = 20_000\nbody = \"4KiB\"  # most of them\nconfirms = false\nheadroom = 0.25\nload_balancers = 2\n";
        let workload = read(text, "orders.toml").unwrap().resolve().unwrap();
        assert_eq!(workload.value(Key::Rate), 20_000.0);
        assert_eq!(workload.value(Key::Body), 4_096.0);
        assert!(!workload.is(Key::Confirms));
        assert_eq!(workload.value(Key::Headroom), 0.25);
        assert_eq!(workload.value(Key::LoadBalancers), 2.0);
    }

    #[track_caller]
    fn check_refused(text: &str, expected: &str) {
        let error = read(text, "orders.toml").unwrap_err();
        assert!(error.contains(expected) && !error.contains('\n'), "{error}");
    }

    #[test]
    fn errors_say_where() {
        check_refused("rate = 1\nbdy = 2\n", "orders.toml:2:1: unknown key \"bdy\"; did you mean \"body\"?");
        check_refused("rate = \"fast\"\n", "orders.toml:1:8: rate must be a number per second");
        check_refused("rate = [1]\n", "orders.toml:1:8: expected a number, a text, true or false");
        check_refused("rate = 1\nrate = 2\n", "orders.toml:2:1: not TOML: duplicate key");
        check_refused("rate\n", "not TOML: ");
    }
}
