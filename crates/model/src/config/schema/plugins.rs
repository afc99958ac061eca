//! Other protocols and plugins, by their prefixes.

use super::{Row, Section, Type, no_effect, not_built};

pub(super) const SECTION: Section = Section { title: "Other protocols and plugins", keys: KEYS };

const KEYS: &[Row] = &[
    not_built("{mqtt,web_mqtt}.**", Type::Secret, "MQTT is not supported"),
    not_built("{stomp,web_stomp}.**", Type::Secret, "STOMP is not supported"),
    not_built("{amqp1_0,web_amqp}.**", Type::Text, "AMQP 1.0 is not supported"),
    no_effect("federation.**", Type::Text, "links are closed all at once when the broker stops"),
    not_built("{consistent_hash_exchange,trust_store}.**", Type::Text, "Warren has no such plugin"),
];
