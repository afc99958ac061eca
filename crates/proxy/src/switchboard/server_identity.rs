//! The `server-properties` that clients get: what an upstream last said of itself, since libraries depend on it.

use std::rc::Rc;

use amqp::server::server_capabilities;
use amqp::table::Table;
use amqp::{TableBuf, Value};

#[derive(Debug)]
pub(super) struct ServerIdentity {
    properties: Rc<TableBuf>,
    is_known: bool,
}

impl ServerIdentity {
    /// Before any upstream has sent its own.
    pub(super) fn unknown() -> Self {
        let capabilities = server_capabilities();
        let properties = TableBuf::new()
            .with("capabilities", Value::Table(capabilities.as_table()))
            .with("product", Value::LongStr(b"Warren proxy"))
            .with("version", Value::LongStr(env!("CARGO_PKG_VERSION").as_bytes()))
            .with("platform", Value::LongStr(b"Rust"));
        ServerIdentity { properties: Rc::new(properties), is_known: false }
    }

    /// Whether an upstream has described itself.
    pub(super) fn is_known(&self) -> bool {
        self.is_known
    }

    pub(super) fn properties(&self) -> Rc<TableBuf> {
        self.properties.clone()
    }

    /// An upstream describes itself.
    pub(super) fn learn(&mut self, properties: Table<'_>) {
        if !self.is_known || self.properties.as_table() != properties {
            self.properties = Rc::new(properties.to_owned());
            self.is_known = true;
        }
    }
}
