//! The known key that comes closest to an unknown one.

use human::{closest, distance};

use super::row::{Row, State, Table};
use super::syntax::KeyPath;

/// How far a key may be from one that is known by its beginning only, to be taken for a typing error in that beginning.
const PREFIX_DISTANCE_MAX: usize = 2;

/// A key that is shorter than this might become any other.
const LONGER_FROM: usize = 8;

/// The known key with the fewest edits from this one, if those are few. Placeholders take the unknown key's own words.
pub(super) fn closest_key(table: &Table, unknown: &KeyPath) -> Option<String> {
    if let Some(whole) = with_first_word(table, unknown) {
        return Some(whole);
    }
    let text = unknown.to_string();
    if let Some(longer) = longer_key(table, &text, unknown) {
        return Some(longer);
    }
    let current = table.keys().filter(|key| !matches!(key.state, State::RenamedTo(_)));
    let candidates = current.flat_map(Row::spellings).filter_map(|spelling| {
        let candidate = fill(&spelling, unknown.segments());
        let is_plausible = !spelling.ends_with("**") || distance(&candidate, &text) <= PREFIX_DISTANCE_MAX;
        is_plausible.then_some(candidate)
    });
    closest(&text, candidates)
}

/// The first key that does something and continues where this one ends: `ssl_options.cacert` means `cacertfile`, and
/// `vm_memory_high_watermark` means `.relative`.
fn longer_key(table: &Table, text: &str, unknown: &KeyPath) -> Option<String> {
    let effective = table.keys().filter(|key| matches!(key.state, State::Effective | State::AliasOf(_)));
    let mut spellings = effective.flat_map(Row::spellings).filter(|spelling| !spelling.ends_with("**"));
    let is_named = |rest: &str| rest.starts_with('.') && !rest.contains('$') && !rest.starts_with(".**");
    let is_long_enough = text.chars().count() >= LONGER_FROM;
    spellings.find_map(|spelling| {
        let candidate = fill(&spelling, unknown.segments());
        let rest = candidate.strip_prefix(text)?;
        (is_long_enough && (is_named(rest) || !rest.contains('.'))).then(|| candidate.clone())
    })
}

/// Where all keys of a table begin with the same word, a key may lack only that.
fn with_first_word(table: &Table, unknown: &KeyPath) -> Option<String> {
    let mut first_words = table.keys().filter_map(|key| key.pattern.split('.').next());
    let first = first_words.next()?;
    let segments: Vec<&str> = std::iter::once(first).chain(unknown.segments().iter().map(String::as_str)).collect();
    let whole = KeyPath::of(&segments);
    (first_words.all(|word| word == first) && table.find(&whole).is_some()).then(|| whole.to_string())
}

fn fill(spelling: &str, given: &[String]) -> String {
    let mut filled = Vec::new();
    for (index, wanted) in spelling.split('.').enumerate() {
        match given.get(index) {
            _ if wanted == "**" => filled.extend(given.iter().skip(index).map(String::as_str)),
            Some(segment) if wanted.starts_with('$') => filled.push(segment),
            _ => filled.push(wanted),
        }
    }
    filled.join(".")
}

#[cfg(test)]
mod tests {
    use super::super::schema::TABLE;
    use super::super::table::{Section, Type, effective};
    use super::*;

    #[track_caller]
    fn check_closest(unknown: &str, expected: &str) {
        assert_eq!(closest_key(&TABLE, &KeyPath::parse(unknown).unwrap()).as_deref(), Some(expected));
    }

    #[test]
    fn nothing_is_suggested_that_is_not_close() {
        for unknown in ["foo", "a", "anything.else", "data.directory.of.warren"] {
            assert_eq!(closest_key(&TABLE, &KeyPath::parse(unknown).unwrap()), None, "{unknown}");
        }
    }

    #[test]
    fn a_first_word_that_all_keys_have_may_be_missing() {
        const KEYS: &[Row] = &[effective("x.a.$name", Type::Text, "", ""), effective("x.b", Type::Text, "", "")];
        static ALL: Table = Table(&[Section { title: "", keys: KEYS }]);
        let closest = |key: &str| closest_key(&ALL, &KeyPath::parse(key).unwrap());
        assert_eq!(closest("a.n").as_deref(), Some("x.a.n"));
        assert_eq!(closest("c.n"), None);
    }

    #[test]
    fn a_typing_error_is_undone() {
        check_closest("ssl_options.cacert", "ssl_options.cacertfile");
        check_closest("vm_memory_high_watermark", "vm_memory_high_watermark.relative");
        check_closest("disk_free_limit", "disk_free_limit.absolute");
        check_closest("default_permissions", "default_permissions.configure");
        check_closest("hartbeat", "heartbeat");
        check_closest("listener.tcp.default", "listeners.tcp.default");
        check_closest("warren.datadir", "warren.data_dir");
        check_closest("log.consle.level", "log.console.level");
        check_closest("mqt.allow_anonymous", "mqtt.allow_anonymous");
        check_closest("default_permissions.writ", "default_permissions.write");
    }
}
