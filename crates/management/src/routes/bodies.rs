//! Objects as JSON describes them and shows them: the same in a request's body and in a file of definitions.

pub(crate) use super::permissions::permission;
pub(crate) use super::policies::request as policy;
pub(crate) use super::queue_rows::arguments;
pub(crate) use super::users::{change as user, is_useless_hash};
pub(crate) use super::vhosts::request as vhost;
