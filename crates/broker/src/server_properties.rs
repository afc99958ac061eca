//! What a server says of itself in connection.start.

use amqp::server::{ON_BEHALF_OF, server_capabilities};
use amqp::table::{TableBuf, Value};

use crate::options::Options;

/// `server-properties` of connection.start.
pub(crate) fn server_properties(options: &Options, cluster_name: &str) -> TableBuf {
    // A proxy may name the client for which it does something (channel.on-behalf-of).
    let capabilities = server_capabilities().with(ON_BEHALF_OF, Value::Bool(true));
    let text = |text: &'static str| Value::LongStr(text.as_bytes());
    TableBuf::new()
        .with("capabilities", Value::Table(capabilities.as_table()))
        .with("cluster_name", Value::LongStr(cluster_name.as_bytes()))
        .with("copyright", text("Licensed under the Apache License, Version 2.0"))
        .with("information", text("Warren, compatible with RabbitMQ"))
        .with("platform", text("Rust"))
        .with("product", Value::LongStr(options.product.as_bytes()))
        .with("product_name", Value::LongStr(options.product.as_bytes()))
        .with("product_version", Value::LongStr(options.product_version.as_bytes()))
        .with("version", Value::LongStr(options.compatible_version.as_bytes()))
}
