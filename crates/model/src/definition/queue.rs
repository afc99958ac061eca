//! A queue: what it is, whether a second declaration means the same, its bytes.

use amqp::table::Table;

use super::codec::{Reader, Writer, read_name};
use super::kind::Kind;
use crate::arguments::{QueueArguments, check_flag};
use crate::ids::QueueId;
use crate::name::{QueueName, VhostName};
use crate::resource::{PreconditionFailed, Resource};

/// A queue. Its messages are found by its id.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Queue {
    /// Where it is.
    pub vhost: VhostName,
    /// Its name.
    pub name: QueueName,
    /// What its messages are stored under; another queue of this name has another.
    pub id: QueueId,
    /// Whether it survives a restart.
    pub is_durable: bool,
    /// Whether it is deleted with its last consumer.
    pub is_auto_delete: bool,
    /// Whether it belongs to one connection and is deleted with it. Such a queue is never stored.
    pub is_exclusive: bool,
    /// Its arguments.
    pub arguments: QueueArguments,
}

const DURABLE: u8 = 1;
const AUTO_DELETE: u8 = 2;

impl Queue {
    /// How texts call it.
    #[must_use]
    pub fn resource(&self) -> Resource<'_> {
        Resource::queue(&self.vhost, &self.name)
    }

    /// Whether a second declaration means the same. Whether the connection may touch an exclusive queue at all (405) is
    /// asked before, by the caller that knows the owner.
    pub fn check_redeclare(
        &self,
        is_durable: bool,
        is_auto_delete: bool,
        arguments: Table<'_>,
    ) -> Result<(), PreconditionFailed> {
        check_flag(self.resource(), "durable", self.is_durable, is_durable)?;
        check_flag(self.resource(), "auto_delete", self.is_auto_delete, is_auto_delete)?;
        self.arguments.check_equivalent(arguments, self.resource())
    }

    pub(super) fn key(&self) -> Vec<u8> {
        let mut key = Writer::key(Kind::Queue);
        key.name(self.vhost.as_str());
        key.name(self.name.as_str());
        key.finish()
    }

    pub(super) fn put_value(&self, value: &mut Writer) {
        assert!(!self.is_exclusive, "an exclusive queue is never stored");
        let flag = |is_set, bit| if is_set { bit } else { 0 };
        value.u64(self.id.0);
        value.u8(flag(self.is_durable, DURABLE) | flag(self.is_auto_delete, AUTO_DELETE));
        value.table(self.arguments.table());
    }

    pub(super) fn read(names: &mut Reader<'_>, fields: &mut Reader<'_>) -> Result<Queue, &'static str> {
        let (vhost, name) = (read_name!(names, VhostName), read_name!(names, QueueName));
        let id = QueueId(fields.u64()?);
        let flags = fields.flags(DURABLE | AUTO_DELETE)?;
        let arguments = QueueArguments::from_stored(fields.table()?).ok_or("the queue type is unknown")?;
        Ok(Queue {
            vhost,
            name,
            id,
            is_durable: flags & DURABLE != 0,
            is_auto_delete: flags & AUTO_DELETE != 0,
            is_exclusive: false,
            arguments,
        })
    }
}
