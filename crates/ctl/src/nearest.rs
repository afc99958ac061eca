//! The name that may have been meant, for errors.

/// Which of the known names takes the fewest changes to become `word`, if those are few. The first of those that are as near.
pub(crate) fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let distances = known.into_iter().map(|name| (name, strsim::osa_distance(word, name)));
    let (name, distance) = distances.min_by_key(|(_, distance)| *distance)?;
    // A third of a word may be wrong, and one letter of a short one.
    (distance <= (word.chars().count() / 3).max(1)).then_some(name)
}
