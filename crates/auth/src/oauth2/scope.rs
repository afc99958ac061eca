//! Scopes: `read:vhost/name/routing-key`, each part a pattern in which `*` stands for anything, percent-encoded where it
//! has to be. Without its last part, a scope is about no routing key: a user that has no other may not publish to a topic exchange.

use model::user::{Access, TopicAccess};
use percent_encoding::percent_decode_str;

/// What a scope allows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scope {
    access: Access,
    vhost: Wildcard,
    name: Wildcard,
    routing_key: Option<Wildcard>,
}

/// A text that is not a scope.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ScopeError {
    /// It does not begin with `configure:`, `write:` or `read:`.
    #[error("it does not begin with configure:, write: or read:")]
    Access,
    /// It has no name, or more than a vhost, a name and a routing key.
    #[error("it must be a vhost, a name and optionally a routing key, separated by slashes")]
    Parts,
    /// Its bytes are not text.
    #[error("it is not UTF-8")]
    NotUtf8,
}

/// A pattern in which `*` stands for any text.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Wildcard {
    /// What is between the stars.
    parts: Vec<String>,
}

impl Scope {
    /// Reads a scope without the prefix that says whose it is.
    pub fn parse(text: &str) -> Result<Scope, ScopeError> {
        let (access, rest) = text.split_once(':').ok_or(ScopeError::Access)?;
        let access = match access {
            "configure" => Access::Configure,
            "write" => Access::Write,
            "read" => Access::Read,
            _ => return Err(ScopeError::Access),
        };
        let parts: Vec<&str> = rest.split('/').collect();
        let (vhost, name, routing_key) = match parts[..] {
            [vhost, name] => (vhost, name, None),
            [vhost, name, routing_key] => (vhost, name, Some(routing_key)),
            _ => return Err(ScopeError::Parts),
        };
        let routing_key = routing_key.map(Wildcard::parse).transpose()?;
        Ok(Scope { access, vhost: Wildcard::parse(vhost)?, name: Wildcard::parse(name)?, routing_key })
    }

    /// Whether it is about a vhost.
    #[must_use]
    pub(crate) fn covers_vhost(&self, vhost: &str) -> bool {
        self.vhost.is_match(vhost)
    }

    /// Whether it allows this access to a queue or an exchange of the name.
    #[must_use]
    pub fn covers(&self, access: Access, vhost: &str, name: &str) -> bool {
        self.access == access && self.covers_vhost(vhost) && self.name.is_match(name)
    }

    /// Whether it allows a routing key of a topic exchange.
    #[must_use]
    pub(crate) fn covers_key(&self, access: TopicAccess, vhost: &str, exchange: &str, routing_key: &str) -> bool {
        let access = match access {
            TopicAccess::Write => Access::Write,
            TopicAccess::Read => Access::Read,
        };
        let is_match = |pattern: &Wildcard| pattern.is_match(routing_key);
        self.covers(access, vhost, exchange) && self.routing_key.as_ref().is_some_and(is_match)
    }
}

impl Wildcard {
    fn parse(text: &str) -> Result<Wildcard, ScopeError> {
        // Stars that are written as %2A are stars no longer.
        let decode = |part: &str| percent_decode_str(part).decode_utf8().map(|part| part.into_owned());
        let parts: Result<Vec<String>, _> = text.split('*').map(decode).collect();
        parts.map(|parts| Wildcard { parts }).map_err(|_| ScopeError::NotUtf8)
    }

    fn is_match(&self, text: &str) -> bool {
        let [first, middle @ .., last] = &self.parts[..] else {
            return self.parts.first().is_some_and(|only| only == text);
        };
        let Some(mut rest) = text.strip_prefix(first.as_str()) else { return false };
        // The leftmost place of each is as good as any.
        for part in middle {
            let Some(at) = rest.find(part.as_str()) else { return false };
            rest = &rest[at + part.len()..];
        }
        rest.ends_with(last.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(scope: &str, vhost: &str, name: &str, expected: bool) {
        assert_eq!(Scope::parse(scope).unwrap().covers(Access::Read, vhost, name), expected, "{scope}: {vhost} {name}");
    }

    #[test]
    fn parts_are_patterns() {
        check("read:*/*", "/", "q", true);
        check("read:%2F/q", "/", "q", true);
        check("read:%2F/q", "/", "qq", false);
        check("read:v*/a*z", "vhost", "abcz", true);
        check("read:v*/a*z", "host", "abcz", false);
        check("read:v*/a*z", "vhost", "abc", false);
        check("read:*/*log*x*", "v", "my-log-ex", true);
        check("read:*/*log*x*", "v", "my-lo-ex", false);
        check("read:*/ab*ba", "v", "aba", false);
        check("read:*/%2A", "v", "*", true);
        check("read:*/%2A", "v", "q", false);
        check("write:*/*", "v", "q", false);
    }

    #[test]
    fn routing_keys_are_for_topics() {
        let scope = Scope::parse("write:*/amq.topic/orders.*").unwrap();
        assert!(scope.covers_key(TopicAccess::Write, "/", "amq.topic", "orders.new"));
        assert!(!scope.covers_key(TopicAccess::Write, "/", "amq.topic", "bills.new"));
        assert!(!scope.covers_key(TopicAccess::Read, "/", "amq.topic", "orders.new"));
        assert!(scope.covers(Access::Write, "/", "amq.topic"));
    }

    #[test]
    fn a_scope_without_a_routing_key_lets_nobody_use_any() {
        let scope = Scope::parse("write:*/*").unwrap();
        assert!(scope.covers(Access::Write, "/", "amq.topic"));
        for key in ["", "orders.new"] {
            assert!(!scope.covers_key(TopicAccess::Write, "/", "amq.topic", key), "{key:?}");
        }
        let empty = Scope::parse("write:*/*/").unwrap();
        assert!(empty.covers_key(TopicAccess::Write, "/", "amq.topic", ""));
        assert!(!empty.covers_key(TopicAccess::Write, "/", "amq.topic", "orders.new"));
    }

    #[test]
    fn what_is_no_scope_is_refused() {
        assert_eq!(Scope::parse("openid"), Err(ScopeError::Access));
        assert_eq!(Scope::parse("delete:*/*"), Err(ScopeError::Access));
        assert_eq!(Scope::parse("read:"), Err(ScopeError::Parts));
        assert_eq!(Scope::parse("read:v"), Err(ScopeError::Parts));
        assert_eq!(Scope::parse("read:*"), Err(ScopeError::Parts));
        assert_eq!(Scope::parse("read:a/b/c/d"), Err(ScopeError::Parts));
        assert_eq!(Scope::parse("read:%FF/q"), Err(ScopeError::NotUtf8));
    }
}
