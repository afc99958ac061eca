//! Patterns of routing keys, as topic exchanges know them: words between dots, `*` for one word, `#` for any number of them.

/// Whether a key fits a pattern.
#[must_use]
pub fn fits(pattern: &[u8], key: &[u8]) -> bool {
    let (pattern, key): (Vec<_>, Vec<_>) = (words(pattern).collect(), words(key).collect());
    // Where to continue when what follows the last `#` does not fit: that takes one word more then.
    let (mut at, mut in_key, mut again) = (0, 0, None);
    loop {
        match pattern.get(at) {
            Some(&b"#") => {
                again = Some((at, in_key));
                at += 1;
                continue;
            }
            Some(word) if in_key < key.len() && (*word == b"*" || *word == key[in_key]) => {
                at += 1;
                in_key += 1;
                continue;
            }
            None if in_key == key.len() => return true,
            _ => {}
        }
        match &mut again {
            Some((hash, taken)) if *taken < key.len() => {
                *taken += 1;
                (at, in_key) = (*hash + 1, *taken);
            }
            _ => return false,
        }
    }
}

/// An empty key has no words.
fn words(key: &[u8]) -> impl Iterator<Item = &[u8]> {
    let count = if key.is_empty() { 0 } else { usize::MAX };
    key.split(|byte| *byte == b'.').take(count)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// By trying everything.
    fn fits_by_trying(pattern: &[&[u8]], key: &[&[u8]]) -> bool {
        match pattern.split_first() {
            None => key.is_empty(),
            Some((&b"#", rest)) => (0..=key.len()).any(|count| fits_by_trying(rest, &key[count..])),
            Some((word, rest)) => {
                key.first().is_some_and(|first| *word == b"*" || word == first) && fits_by_trying(rest, &key[1..])
            }
        }
    }

    #[test]
    fn keys_fit_as_in_topic_exchanges() {
        for (pattern, key, expected) in [
            ("#", "", true),
            ("#", "publish.a", true),
            ("publish.*", "publish.", true),
            ("publish.*", "publish.a.b", false),
            ("publish.#", "publish.a.b", true),
            ("deliver.q", "deliver.q", true),
            ("deliver.q", "deliver.qq", false),
            ("#.b", "a.b.c.b", true),
            ("*", "", false),
            ("", "", true),
        ] {
            assert_eq!(fits(pattern.as_bytes(), key.as_bytes()), expected, "{pattern} {key}");
        }
    }

    proptest! {
        #[test]
        fn the_quick_way_finds_what_trying_finds(
            pattern in proptest::collection::vec(proptest::sample::select(vec!["a", "b", "*", "#", ""]), 1..7),
            key in proptest::collection::vec(proptest::sample::select(vec!["a", "b", ""]), 1..7),
        ) {
            let (pattern, key) = (pattern.join("."), key.join("."));
            let (in_pattern, in_key): (Vec<_>, Vec<_>) =
                (words(pattern.as_bytes()).collect(), words(key.as_bytes()).collect());
            prop_assert_eq!(
                fits(pattern.as_bytes(), key.as_bytes()),
                fits_by_trying(&in_pattern, &in_key),
                "{} {}", pattern, key
            );
        }
    }
}
