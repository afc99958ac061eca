//! What a user may see and do by its tags.

use broker::Identity;
use model::user::Tags;

use crate::problem::Problem;

/// Whether a user may see what others do.
pub(crate) fn is_monitor(identity: &Identity) -> bool {
    has_any(identity, &[Tags::ADMINISTRATOR, Tags::MONITORING])
}

/// Whether a user may do everything.
pub(crate) fn is_administrator(identity: &Identity) -> bool {
    has_any(identity, &[Tags::ADMINISTRATOR])
}

/// Whether a user may use the API at all.
pub(crate) fn check_management(identity: &Identity) -> Result<(), Problem> {
    let tags = [Tags::ADMINISTRATOR, Tags::MONITORING, Tags::POLICYMAKER, Tags::MANAGEMENT];
    if has_any(identity, &tags) { Ok(()) } else { Err(Problem::not_authorised("Not management user")) }
}

/// Whether a user has one of these tags.
pub(crate) fn has_any(identity: &Identity, tags: &[&str]) -> bool {
    tags.iter().any(|tag| identity.user.tags.has(tag))
}
