//! A user's bytes, and those of what it may do in a vhost.

use super::codec::{Reader, Writer, read_name};
use super::kind::Kind;
use crate::name::{ExchangeName, UserName, VhostName};
use crate::user::{HashingAlgorithm, PasswordHash, Permission, TopicPermission, User, UserLimits};

/// What a user may do in a vhost.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UserPermission {
    /// Where.
    pub vhost: VhostName,
    /// The user.
    pub user: UserName,
    /// The permission.
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
        value.short(self.second_password_hash.as_ref().map_or(&[], |hash| hash.as_bytes()));
        for hash in [&self.password_hash, &self.second_password_hash] {
            value.u8(hash.as_ref().map(PasswordHash::algorithm).unwrap_or_default() as u8);
        }
        let UserLimits { connection_max, channel_max } = self.limits;
        value.limit(connection_max.map(u64::from));
        value.limit(channel_max.map(u64::from));
    }

    pub(super) fn read(version: u8, names: &mut Reader<'_>, fields: &mut Reader<'_>) -> Result<User, &'static str> {
        let name = read_name!(names, UserName);
        let first = fields.short()?;
        let tags = fields.list(Reader::text)?.into_iter().collect();
        if version == 1 {
            return Ok(User::new(name, hash(first, HashingAlgorithm::Sha256 as u8)?, tags));
        }
        let second = fields.short()?;
        let (first, second) = (hash(first, fields.u8()?)?, hash(second, fields.u8()?)?);
        let mut limit = || fields.limit().map(|limit| limit.map(|limit| u32::try_from(limit).unwrap_or(u32::MAX)));
        let limits = UserLimits { connection_max: limit()?, channel_max: limit()? };
        Ok(User { name, password_hash: first, second_password_hash: second, tags, limits })
    }
}

fn hash(bytes: &[u8], algorithm: u8) -> Result<Option<PasswordHash>, &'static str> {
    let algorithm = HashingAlgorithm::from_byte(algorithm).ok_or("the hashing algorithm is unknown")?;
    if bytes.is_empty() {
        return Ok(None);
    }
    PasswordHash::from_bytes(bytes, algorithm).map(Some).map_err(|_| "the password hash has a wrong length")
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

impl TopicPermission {
    pub(super) fn key(&self) -> Vec<u8> {
        let mut key = Writer::key(Kind::TopicPermission);
        key.name(self.vhost.as_str());
        key.name(self.user.as_str());
        key.name(self.exchange.as_str());
        key.finish()
    }

    pub(super) fn put_value(&self, value: &mut Writer) {
        value.text(self.write());
        value.text(self.read());
    }

    pub(super) fn read_from(names: &mut Reader<'_>, fields: &mut Reader<'_>) -> Result<TopicPermission, &'static str> {
        let (vhost, user) = (read_name!(names, VhostName), read_name!(names, UserName));
        let exchange = read_name!(names, ExchangeName);
        let [write, read] = [fields.text()?, fields.text()?];
        TopicPermission::parse(vhost, user, exchange, write, read).map_err(|_| "a pattern is not valid")
    }
}
