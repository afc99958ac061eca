//! An exchange: what it is, whether a second declaration means the same, its bytes.

use amqp::table::Table;

use super::codec::{Reader, Writer, read_name};
use super::kind::Kind;
use crate::arguments::{ExchangeArguments, ExchangeType, check_flag, check_name};
use crate::name::{ExchangeName, VhostName};
use crate::resource::{PreconditionFailed, Resource};

/// An exchange.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Exchange {
    /// Where it is.
    pub vhost: VhostName,
    /// Its name.
    pub name: ExchangeName,
    /// How it routes.
    pub exchange_type: ExchangeType,
    /// Whether it survives a restart.
    pub is_durable: bool,
    /// Whether it is deleted with its last binding.
    pub is_auto_delete: bool,
    /// Whether only other exchanges may publish to it.
    pub is_internal: bool,
    /// Its arguments.
    pub arguments: ExchangeArguments,
}

const DURABLE: u8 = 1;
const AUTO_DELETE: u8 = 2;
const INTERNAL: u8 = 4;

impl Exchange {
    /// How texts call it.
    #[must_use]
    pub fn resource(&self) -> Resource<'_> {
        Resource::exchange(&self.vhost, &self.name)
    }

    /// Whether a second declaration means the same.
    pub fn check_redeclare(
        &self,
        exchange_type: ExchangeType,
        is_durable: bool,
        is_auto_delete: bool,
        is_internal: bool,
        arguments: Table<'_>,
    ) -> Result<(), PreconditionFailed> {
        let of = self.resource();
        check_name(of, "type", self.exchange_type.name(), exchange_type.name())?;
        check_flag(of, "durable", self.is_durable, is_durable)?;
        check_flag(of, "auto_delete", self.is_auto_delete, is_auto_delete)?;
        check_flag(of, "internal", self.is_internal, is_internal)?;
        self.arguments.check_equivalent(exchange_type, arguments, of)
    }

    pub(super) fn key(&self) -> Vec<u8> {
        let mut key = Writer::key(Kind::Exchange);
        key.name(self.vhost.as_str());
        key.name(self.name.as_str());
        key.finish()
    }

    pub(super) fn put_value(&self, value: &mut Writer) {
        let flag = |is_set, bit| if is_set { bit } else { 0 };
        let durable = flag(self.is_durable, DURABLE);
        value.u8(durable | flag(self.is_auto_delete, AUTO_DELETE) | flag(self.is_internal, INTERNAL));
        value.name(self.exchange_type.name());
        value.table(self.arguments.table());
    }

    pub(super) fn read(names: &mut Reader<'_>, fields: &mut Reader<'_>) -> Result<Exchange, &'static str> {
        let (vhost, name) = (read_name!(names, VhostName), read_name!(names, ExchangeName));
        let flags = fields.flags(DURABLE | AUTO_DELETE | INTERNAL)?;
        let exchange_type = ExchangeType::parse(fields.short()?).map_err(|_| "the exchange type is unknown")?;
        let arguments = ExchangeArguments::from_stored(fields.table()?);
        Ok(Exchange {
            vhost,
            name,
            exchange_type,
            is_durable: flags & DURABLE != 0,
            is_auto_delete: flags & AUTO_DELETE != 0,
            is_internal: flags & INTERNAL != 0,
            arguments,
        })
    }
}
