//! The path of a request: decoded segments, and the arguments that its route finds among them.

use percent_encoding::percent_decode_str;

use crate::limits::SEGMENT_COUNT_MAX;

/// A path that cannot be asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PathError {
    /// A `%` without two digits, or more segments than any path has.
    Malformed,
    /// `.` and `..`: a client resolves them, and a server that does too can be led astray.
    Dots,
    /// Decoded, it is no UTF-8: nothing has such a name.
    Unnameable,
}

/// Splits and decodes a path. An empty segment at the end is dropped: `/api/queues/` is `/api/queues`.
pub(crate) fn segments(path: &str) -> Result<Vec<String>, PathError> {
    let path = path.strip_prefix('/').unwrap_or(path);
    let path = path.strip_suffix('/').unwrap_or(path);
    if path.is_empty() {
        return Ok(Vec::new());
    }
    if path.split('/').count() > SEGMENT_COUNT_MAX {
        return Err(PathError::Malformed);
    }
    path.split('/').map(segment).collect()
}

/// Decodes one segment.
pub(crate) fn segment(text: &str) -> Result<String, PathError> {
    let is_escape_cut = |at: usize| {
        let digits = text.as_bytes().get(at + 1..at + 3);
        !digits.is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit))
    };
    if text.match_indices('%').any(|(at, _)| is_escape_cut(at)) {
        return Err(PathError::Malformed);
    }
    if text == "." || text == ".." {
        return Err(PathError::Dots);
    }
    match percent_decode_str(text).decode_utf8() {
        Ok(decoded) => Ok(decoded.into_owned()),
        Err(_) => Err(PathError::Unnameable),
    }
}

/// Arguments that a path gives to its route, by name.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Arguments(pub(crate) Vec<(&'static str, String)>);

impl Arguments {
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(own, _)| *own == name).map(|(_, value)| &**value)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&'static str, &str)> {
        self.0.iter().map(|(name, value)| (*name, &**value))
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(path: &str, expected: &[&str]) {
        assert_eq!(segments(path).unwrap(), expected);
    }

    #[test]
    fn segments_are_decoded_one_by_one() {
        check("/", &[]);
        check("/api/queues", &["api", "queues"]);
        check("/api/queues/", &["api", "queues"]);
        check("/api/queues/%2F/a%20b%2fc", &["api", "queues", "/", "a b/c"]);
        check("/a+b/%E2%82%AC", &["a+b", "€"]);
        check("/api//queues", &["api", "", "queues"]);
        check("/a//", &["a", ""]);
        // AMQP lets a name have it, so that what has it must be found.
        check("/a%00b", &["a\0b"]);
        check("/api/queues/%2E%2E", &["api", "queues", ".."]);
    }

    #[test]
    fn what_names_nothing_is_refused() {
        assert_eq!(segments("/a/%"), Err(PathError::Malformed));
        assert_eq!(segments("/a/%2"), Err(PathError::Malformed));
        assert_eq!(segments("/a/%zz"), Err(PathError::Malformed));
        assert_eq!(segments(&"/a".repeat(100)), Err(PathError::Malformed));
        assert_eq!(segments("/api/../x"), Err(PathError::Dots));
        assert_eq!(segments("/./x"), Err(PathError::Dots));
        assert_eq!(segments("/a/%ff"), Err(PathError::Unnameable));
        assert_eq!(segments("/a/%ED%A0%80"), Err(PathError::Unnameable));
    }
}
