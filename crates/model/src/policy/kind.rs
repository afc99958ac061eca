//! Whose policy it is, and how long its name may be.

/// The longest name of a policy or a parameter, in bytes.
pub(crate) const POLICY_NAME_LEN_MAX: usize = 255;

/// Whose policy it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PolicyKind {
    /// A policymaker's: may set anything.
    User,
    /// An operator's: limits what users' policies and arguments set.
    Operator,
}
