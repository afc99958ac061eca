//! What a user may do in a vhost.

use crate::pattern::{Pattern, PatternError};

/// What a user may do in a vhost: three patterns over names of exchanges and queues.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Permission {
    /// Names that it may declare and delete.
    pub configure: Pattern,
    /// Names that it may publish to, and bind as a destination.
    pub write: Pattern,
    /// Names that it may consume from, and bind as a source.
    pub read: Pattern,
}

/// Which of the three patterns an operation needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Access {
    /// Declare, delete.
    Configure,
    /// Publish, be a binding's destination.
    Write,
    /// Consume, get, purge, be a binding's source.
    Read,
}

impl Permission {
    /// Compiles the three patterns.
    pub fn parse(configure: &str, write: &str, read: &str) -> Result<Permission, PatternError> {
        let [configure, write, read] = [configure, write, read].map(Pattern::parse);
        Ok(Permission { configure: configure?, write: write?, read: read? })
    }

    /// Everything, as the default user has.
    #[must_use]
    pub fn all() -> Permission {
        Permission { configure: Pattern::all(), write: Pattern::all(), read: Pattern::all() }
    }

    /// Whether the user may do this to what bears the name. Ask for the default exchange by
    /// [`DEFAULT_EXCHANGE_ALIAS`](crate::name::DEFAULT_EXCHANGE_ALIAS).
    #[must_use]
    pub fn allows(&self, access: Access, name: &str) -> bool {
        match access {
            Access::Configure => self.configure.is_match(name),
            Access::Write => self.write.is_match(name),
            Access::Read => self.read.is_match(name),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_access_has_its_own_pattern() {
        let permission = Permission::parse("^own\\.", "", ".*").unwrap();
        assert!(permission.allows(Access::Configure, "own.q"));
        assert!(!permission.allows(Access::Configure, "q"));
        assert!(!permission.allows(Access::Write, "own.q"));
        assert!(permission.allows(Access::Read, "q"));
        assert!(Permission::all().allows(Access::Write, ""));
    }
}
