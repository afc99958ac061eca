//! A user's bytes, and those of what it may do in a vhost.

use super::Kind;
use super::codec::{Reader, Writer, read_name};
use crate::name::{UserName, VhostName};
use crate::user::{PasswordHash, Permission, User};

/// What a user may do in a vhost.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UserPermission {
    /// Where.
    pub vhost: VhostName,
    /// Who.
    pub user: UserName,
    /// What.
    pub permission: Permission,
}

impl User {
    pub(super) fn key(&self) -> Vec<u8> {
        let mut key = Writer::key(Kind::User);
        key.name(self.name.as_str());
        key.finish()
    }

    pub(super) fn put_value(&self, value: &mut Writer) {
        value.short(self.password_hash.as_ref().map_or(&[], |hash| hash.as_bytes()));
        value.len(self.tags.iter().len());
        self.tags.iter().for_each(|tag| value.text(tag));
    }

    pub(super) fn read(names: &mut Reader<'_>, fields: &mut Reader<'_>) -> Result<User, &'static str> {
        let name = read_name!(names, UserName);
        let password_hash = match fields.short()? {
            [] => None,
            bytes => Some(PasswordHash::from_bytes(bytes).map_err(|_| "the password hash has a wrong length")?),
        };
        let tags = fields.list(Reader::text)?.into_iter().collect();
        Ok(User { name, password_hash, tags })
    }
}

impl UserPermission {
    pub(super) fn key(&self) -> Vec<u8> {
        let mut key = Writer::key(Kind::Permission);
        key.name(self.vhost.as_str());
        key.name(self.user.as_str());
        key.finish()
    }

    pub(super) fn put_value(&self, value: &mut Writer) {
        let Permission { configure, write, read } = &self.permission;
        [configure, write, read].into_iter().for_each(|pattern| value.text(pattern.as_str()));
    }

    pub(super) fn read(names: &mut Reader<'_>, fields: &mut Reader<'_>) -> Result<UserPermission, &'static str> {
        let (vhost, user) = (read_name!(names, VhostName), read_name!(names, UserName));
        let [configure, write, read] = [fields.text()?, fields.text()?, fields.text()?];
        let permission = Permission::parse(configure, write, read).map_err(|_| "a pattern is not valid")?;
        Ok(UserPermission { vhost, user, permission })
    }
}
