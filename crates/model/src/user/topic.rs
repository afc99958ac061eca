//! Topic permissions: which routing keys a user may publish and bind with on a topic exchange.

use crate::name::{ExchangeName, UserName, VhostName};
use crate::pattern::{Pattern, PatternError};

/// What a user may do with routing keys of one topic exchange. Without one everything is allowed that the other
/// permissions allow.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TopicPermission {
    /// Where.
    pub vhost: VhostName,
    /// The user.
    pub user: UserName,
    /// On which exchange.
    pub exchange: ExchangeName,
    write: Box<str>,
    read: Box<str>,
}

/// Which of the two patterns an operation needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TopicAccess {
    /// Publish.
    Write,
    /// Bind a queue.
    Read,
}

/// What `{…}` in a pattern stands for.
#[derive(Debug, Clone, Copy, Default)]
pub struct TopicVariables<'a> {
    /// `{username}`.
    pub username: &'a str,
    /// `{vhost}`.
    pub vhost: &'a str,
    /// `{client_id}`, which clients of AMQP 0-9-1 do not have.
    pub client_id: Option<&'a str>,
}

impl TopicPermission {
    /// Checks the two patterns.
    pub fn parse(
        vhost: VhostName,
        user: UserName,
        exchange: ExchangeName,
        write: &str,
        read: &str,
    ) -> Result<TopicPermission, PatternError> {
        [write, read].into_iter().try_for_each(|pattern| Pattern::parse(&with_variables_masked(pattern)).map(drop))?;
        Ok(TopicPermission { vhost, user, exchange, write: Box::from(write), read: Box::from(read) })
    }

    /// The pattern for keys to publish with, as given.
    #[must_use]
    pub fn write(&self) -> &str {
        &self.write
    }

    /// The pattern for keys to bind with, as given.
    #[must_use]
    pub fn read(&self) -> &str {
        &self.read
    }

    /// The pattern for one user: its variables replaced. A name that makes no pattern of it allows nothing.
    #[must_use]
    pub fn pattern(&self, access: TopicAccess, variables: TopicVariables<'_>) -> Option<Pattern> {
        let text = match access {
            TopicAccess::Write => &self.write,
            TopicAccess::Read => &self.read,
        };
        Pattern::parse(&expand(text, variables)).ok()
    }
}

const USERNAME: &str = "{username}";
const VHOST: &str = "{vhost}";
const CLIENT_ID: &str = "{client_id}";

/// Replaces what stands in braces by what it stands for, quoted: a name is a name, whatever characters are in it.
fn expand(text: &str, variables: TopicVariables<'_>) -> String {
    let client_id = variables.client_id.unwrap_or(CLIENT_ID);
    text.replace(USERNAME, &regex::escape(variables.username))
        .replace(VHOST, &regex::escape(variables.vhost))
        .replace(CLIENT_ID, &regex::escape(client_id))
}

fn with_variables_masked(text: &str) -> String {
    let variables = TopicVariables { username: "u", vhost: "v", client_id: Some("c") };
    expand(text, variables)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn permission(write: &str, read: &str) -> Result<TopicPermission, PatternError> {
        let vhost = VhostName::parse(b"/").unwrap();
        let user = UserName::parse(b"ann").unwrap();
        TopicPermission::parse(vhost, user, ExchangeName::parse(b"amq.topic").unwrap(), write, read)
    }

    #[test]
    fn variables_stand_for_who_asks() {
        let variables = TopicVariables { username: "ann", vhost: "/", client_id: None };
        let permission = permission("^{username}\\.", "^{vhost}-{client_id}$").unwrap();
        let write = permission.pattern(TopicAccess::Write, variables).unwrap();
        assert!(write.is_match("ann.orders") && !write.is_match("bob.orders"));
        let read = permission.pattern(TopicAccess::Read, variables).unwrap();
        assert!(!read.is_match("/-x") && read.is_match("/-{client_id}"));
    }

    #[test]
    fn a_name_in_a_pattern_is_no_pattern() {
        let variables = TopicVariables { username: ".*", ..TopicVariables::default() };
        let write = permission("^{username}$", "").unwrap().pattern(TopicAccess::Write, variables).unwrap();
        assert!(write.is_match(".*") && !write.is_match("anything"));
    }

    #[test]
    fn a_broken_pattern_is_refused() {
        assert!(permission("(", ".*").is_err());
        assert!(permission(".*", "(").is_err());
    }
}
