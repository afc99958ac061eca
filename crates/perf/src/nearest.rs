//! The name that may have been meant, for errors.

/// Which of the known names takes the fewest changes to become `word`, and how many. The first of those that are as near.
pub(crate) fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<(&'a str, usize)> {
    let distances = known.into_iter().map(|name| (name, strsim::osa_distance(word, name)));
    distances.min_by_key(|(_, distance)| *distance)
}
