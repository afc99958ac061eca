//! Which points are meant: names with stars.

/// A name in which `*` stands for any text, also for none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pattern(String);

impl Pattern {
    /// A pattern from what an operator wrote.
    #[must_use]
    pub fn new(text: &str) -> Pattern {
        Pattern(text.trim().to_owned())
    }

    /// Its text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether it matches a name. Upper and lower case are the same.
    #[must_use]
    pub fn matches(&self, name: &str) -> bool {
        let mut parts = self.0.split('*');
        let first = parts.next().unwrap_or_default();
        let Some(mut rest) = strip_prefix(name, first) else { return false };
        let mut last = None;
        for part in parts {
            // The part before was not the last one: it may stand anywhere.
            if let Some(part) = last {
                let Some(at) = find(rest, part) else { return false };
                rest = &rest[at + part.len()..];
            }
            last = Some(part);
        }
        match last {
            None => rest.is_empty(),
            Some(last) => {
                rest.len() >= last.len() && rest.is_char_boundary(rest.len() - last.len()) && {
                    rest[rest.len() - last.len()..].eq_ignore_ascii_case(last)
                }
            }
        }
    }
}

fn strip_prefix<'a>(text: &'a str, prefix: &str) -> Option<&'a str> {
    let head = text.get(..prefix.len())?;
    head.eq_ignore_ascii_case(prefix).then(|| &text[prefix.len()..])
}

fn find(text: &str, part: &str) -> Option<usize> {
    (0..=text.len().checked_sub(part.len())?)
        .find(|at| text.get(*at..at + part.len()).is_some_and(|piece| piece.eq_ignore_ascii_case(part)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(pattern: &str, name: &str, expected: bool) {
        assert_eq!(Pattern::new(pattern).matches(name), expected, "{pattern} {name}");
    }

    #[test]
    fn a_star_stands_for_any_text() {
        check("amqp::queue.declare", "amqp::queue.declare", true);
        check("amqp::queue.declare", "amqp::queue.declare-ok", false);
        check("amqp::*", "amqp::queue.declare", true);
        check("*", "", true);
        check("", "", true);
        check("", "x", false);
        check("*declare", "amqp::queue.declare", true);
        check("*declare", "amqp::queue.declared", false);
        check("a*b*c", "a1b2c", true);
        check("a*b*c", "a1c2b", false);
        check("a*a", "a", false);
        check("HTTP::get *", "http::GET /api/queues", true);
        check("*ü*", "grün", true);
        check("*n", "grü", false);
    }
}
