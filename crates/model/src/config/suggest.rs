//! The known key that comes closest to an unknown one.

use super::schema;
use super::syntax::KeyPath;

/// How far a key may be from one that is known by its beginning only, to be taken for a typing error in that beginning.
const PREFIX_DISTANCE_MAX: usize = 2;

/// How much of a key may be mistyped: one character in so many. Of keys that are further away none was meant.
const WRONG_PART: usize = 3;

/// The known key with the fewest edits from this one, if those are few. Placeholders take the unknown key's own words.
pub(super) fn closest_key(unknown: &KeyPath) -> Option<String> {
    let text = unknown.to_string();
    let candidates = schema::keys().flat_map(schema::Key::spellings).filter_map(|spelling| {
        let candidate = fill(&spelling, unknown.segments());
        let distance = distance(&candidate, &text);
        let is_plausible = !spelling.ends_with("**") || distance <= PREFIX_DISTANCE_MAX;
        is_plausible.then_some((distance, candidate))
    });
    let (distance, key) = candidates.min_by_key(|(distance, _)| *distance)?;
    (distance <= (text.chars().count() / WRONG_PART).max(1)).then_some(key)
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

/// Levenshtein's distance in characters.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, a) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, b) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(a != *b);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_closest(unknown: &str, expected: &str) {
        assert_eq!(closest_key(&KeyPath::parse(unknown).unwrap()).as_deref(), Some(expected));
    }

    #[test]
    fn nothing_is_suggested_that_is_not_close() {
        for unknown in ["foo", "a", "anything.else", "data.directory.of.warren"] {
            assert_eq!(closest_key(&KeyPath::parse(unknown).unwrap()), None, "{unknown}");
        }
    }

    #[test]
    fn a_typing_error_is_undone() {
        check_closest("hartbeat", "heartbeat");
        check_closest("listener.tcp.default", "listeners.tcp.default");
        check_closest("warren.datadir", "warren.data_dir");
        check_closest("log.consle.level", "log.console.level");
        check_closest("mqt.allow_anonymous", "mqtt.allow_anonymous");
        check_closest("default_permissions.writ", "default_permissions.write");
    }

    #[test]
    fn the_distance_counts_edits() {
        assert_eq!(distance("", "abc"), 3);
        assert_eq!(distance("abc", "abc"), 0);
        assert_eq!(distance("kitten", "sitting"), 3);
    }
}
