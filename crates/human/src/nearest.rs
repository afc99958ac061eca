//! The name that may have been meant, for errors.

/// How much of a word may be mistyped: one character in so many, and one of a short word. Of names that are further away none was meant.
const WRONG_PART: usize = 3;

/// Which of the known names takes the fewest edits to become `word`, if those are few. The first of those that are as near.
pub fn closest<T: AsRef<str>>(word: &str, known: impl IntoIterator<Item = T>) -> Option<T> {
    let (name, distance) = nearest(word, known)?;
    (distance <= (word.chars().count() / WRONG_PART).max(1)).then_some(name)
}

/// Which of the known names takes the fewest edits to become `word`, and how many. The first of those that are as near.
pub fn nearest<T: AsRef<str>>(word: &str, known: impl IntoIterator<Item = T>) -> Option<(T, usize)> {
    let distances = known.into_iter().map(|name| {
        let distance = distance(word, name.as_ref());
        (name, distance)
    });
    distances.min_by_key(|(_, distance)| *distance)
}

/// How many edits lie between two words: a character more, less or another, or two that changed places.
#[must_use]
pub fn distance(a: &str, b: &str) -> usize {
    strsim::osa_distance(a, b)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_closest_name_is_few_edits_away() {
        assert_eq!(closest("--prot", ["--port", "--help"]), Some("--port"));
        assert_eq!(closest("--something", ["--port", "--help"]), None);
        assert_eq!(closest("a", ["b".to_owned(), "c".to_owned()]).as_deref(), Some("b"));
        assert_eq!(closest("a", std::iter::empty::<&str>()), None);
    }

    #[test]
    fn the_distance_counts_edits() {
        assert_eq!(distance("", "abc"), 3);
        assert_eq!(distance("abc", "abc"), 0);
        assert_eq!(distance("kitten", "sitting"), 3);
        assert_eq!(distance("prot", "port"), 1);
    }
}
