//! A pattern that a caller brings along and that is dropped with its answer.

use std::sync::Arc;

use model::pattern::{Engine, Options, WorkAccount};

/// Bytes that a compiled pattern may take.
const PATTERN_COMPILED_LEN_MAX: usize = 1 << 20;

/// Looks for a pattern in names. A name for which that takes too much work is not found; when all names together have taken too much, none
/// is looked at any longer, so that a pattern that is bad for each of very many names does not hold up all other callers.
#[derive(Debug, Clone)]
pub struct Search {
    engine: Engine,
    account: Arc<WorkAccount>,
}

impl Search {
    /// The error is the reason why the text is no pattern.
    pub fn compile(text: &str, is_case_insensitive: bool) -> Result<Search, String> {
        let options = Options { is_case_insensitive, compiled_len_max: PATTERN_COMPILED_LEN_MAX };
        Ok(Search { engine: Engine::compile(text, options)?, account: Arc::default() })
    }

    /// Whether the pattern matches anywhere in the name.
    #[must_use]
    pub fn finds(&self, name: &str) -> bool {
        !self.is_exhausted() && self.engine.decide(name, &self.account).unwrap_or(false)
    }

    /// Whether the pattern has taken all the work that it may take: what it did not find may be there.
    #[must_use]
    pub fn is_exhausted(&self) -> bool {
        self.account.is_exhausted()
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
        let asked_count = (0..1_000).take_while(|_| !search.is_exhausted() && !search.finds(&name)).count();
        assert!((2..100).contains(&asked_count), "{asked_count}");
        assert!(!search.finds("b"));
    }
}
