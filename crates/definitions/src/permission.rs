//! What a user may do, as a document has it, or a request.

use model::definition::UserPermission;
use model::name::{ExchangeName, UserName};
use model::user::{Permission, TopicPermission};

use crate::fields::Fields;
use crate::read_error::ReadError;
use crate::scope::Scope;

/// The three patterns of a permission.
pub fn permission(fields: Fields<'_>) -> Result<Permission, ReadError> {
    fields.require(&["configure", "write", "read"])?;
    let [configure, write, read] = ["configure", "write", "read"].map(|name| fields.required_text(name));
    Permission::parse(configure?, write?, read?).map_err(ReadError::invalid)
}

/// An entry of `permissions`.
pub fn permissions(fields: Fields<'_>, scope: Scope<'_>) -> Result<UserPermission, ReadError> {
    let (vhost, user) = (scope.vhost_of(fields)?, user_name(fields)?);
    Ok(UserPermission { vhost, user, permission: permission(fields)? })
}

/// An entry of `topic_permissions`.
pub fn topic_permission(fields: Fields<'_>, scope: Scope<'_>) -> Result<TopicPermission, ReadError> {
    let (vhost, user) = (scope.vhost_of(fields)?, user_name(fields)?);
    let exchange = ExchangeName::parse(fields.required_text("exchange")?.as_bytes()).map_err(ReadError::invalid)?;
    let (write, read) = (fields.required_text("write")?, fields.required_text("read")?);
    TopicPermission::parse(vhost, user, exchange, write, read).map_err(ReadError::invalid)
}

fn user_name(fields: Fields<'_>) -> Result<UserName, ReadError> {
    UserName::parse(fields.required_text("user")?.as_bytes()).map_err(ReadError::invalid)
}
