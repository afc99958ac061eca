//! A user's roles.

/// A user's roles, in the order given, each once.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Tags(Vec<Box<str>>);

impl Tags {
    /// May do everything in the management API.
    pub const ADMINISTRATOR: &'static str = "administrator";
    /// Is changed by operators on the broker's host only.
    pub const PROTECTED: &'static str = "protected";
    /// May see everything in the management API.
    pub const MONITORING: &'static str = "monitoring";
    /// May manage policies and parameters of its own vhosts.
    pub const POLICYMAKER: &'static str = "policymaker";
    /// May use the management API for its own vhosts.
    pub const MANAGEMENT: &'static str = "management";
    /// May publish with another user's name in `user_id`.
    pub const IMPERSONATOR: &'static str = "impersonator";

    /// Reads a list such as `monitoring, policymaker`.
    #[must_use]
    pub fn parse(text: &str) -> Tags {
        text.split(',').collect()
    }

    /// Whether the user has this role.
    #[must_use]
    pub fn has(&self, tag: &str) -> bool {
        self.0.iter().any(|own| &**own == tag)
    }

    /// All roles.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &str> {
        self.0.iter().map(|tag| &**tag)
    }
}

impl<'a> FromIterator<&'a str> for Tags {
    /// Blank tags and repetitions are dropped.
    fn from_iter<I: IntoIterator<Item = &'a str>>(tags: I) -> Tags {
        let mut own = Tags::default();
        for tag in tags.into_iter().map(str::trim) {
            if !tag.is_empty() && !own.has(tag) {
                own.0.push(Box::from(tag));
            }
        }
        own
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_are_read_from_a_comma_separated_list() {
        let tags = Tags::parse("administrator, monitoring,,administrator");
        assert_eq!(tags.iter().collect::<Vec<_>>(), ["administrator", "monitoring"]);
        assert!(tags.has(Tags::ADMINISTRATOR));
        assert!(!tags.has(Tags::MANAGEMENT));
        assert_eq!(Tags::parse("").iter().len(), 0);
    }
}
