//! Other protocols and plugins, by their prefixes.

use super::{Key, Section, Type, no_effect, not_built};

pub(super) const SECTION: Section = Section { title: "Other protocols and plugins", keys: KEYS };

const KEYS: &[Key] = &[
    not_built("{mqtt,web_mqtt}.**", Type::Secret, "MQTT is not spoken"),
    not_built("{stomp,web_stomp}.**", Type::Secret, "STOMP is not spoken"),
    not_built("{amqp1_0,web_amqp}.**", Type::Text, "AMQP 1.0 is not spoken"),
    no_effect("federation.**", Type::Text, "links are closed all at once, with the broker"),
    not_built("{consistent_hash_exchange,trust_store}.**", Type::Text, "there is no such plugin"),
];
