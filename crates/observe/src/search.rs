//! A pattern that a caller brings along and that is gone with its answer.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use model::pattern::{Engine, Options};

/// Bytes that a compiled pattern may take.
const PATTERN_COMPILED_LEN_MAX: usize = 1 << 20;
/// Names for which a pattern may take too much work before it is asked about no other.
const UNDECIDED_NAME_COUNT_MAX: u32 = 8;

/// Looks for a pattern in names. A name for which that takes too much work is not found; after some of them none is looked at any more, so
/// that a pattern that is bad for each of very many names does not hold up all other callers.
#[derive(Debug, Clone)]
pub struct Search {
    engine: Engine,
    undecided_count: Arc<AtomicU32>,
}

impl Search {
    /// The error is the reason why the text is no pattern.
    pub fn compile(text: &str, is_case_insensitive: bool) -> Result<Search, String> {
        let options = Options { is_case_insensitive, compiled_len_max: PATTERN_COMPILED_LEN_MAX };
        Ok(Search { engine: Engine::compile(text, options)?, undecided_count: Arc::default() })
    }

    /// Whether the pattern matches anywhere in the name.
    #[must_use]
    pub fn finds(&self, name: &str) -> bool {
        if self.undecided_count.load(Ordering::Relaxed) >= UNDECIDED_NAME_COUNT_MAX {
            return false;
        }
        self.engine.decide(name).unwrap_or_else(|undecided| {
            if self.undecided_count.fetch_add(1, Ordering::Relaxed) == 0 {
                tracing::warn!(%name, reason = %undecided, "the pattern of a listing was taken not to match");
            }
            false
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_that_does_not_end_is_given_up() {
        let search = Search::compile("^(a|aa|aaa)+(?<!a)$|^b(?!c)", false).unwrap();
        assert!(search.finds("b"));
        let name = "a".repeat(255);
        for _ in 0..UNDECIDED_NAME_COUNT_MAX {
            assert!(!search.finds(&name));
        }
        assert!(!search.finds("b"));
    }
}
