//! The members of a document, as RabbitMQ exports it: of a broker, or of one vhost.

/// Lists of what a document defines.
pub const LISTS: [&str; 10] = [
    "users",
    "vhosts",
    "permissions",
    "topic_permissions",
    "global_parameters",
    "policies",
    "parameters",
    "exchanges",
    "queues",
    "bindings",
];

/// Members that say what a document is, or what its vhost was like, and define nothing.
const ABOUT: [&str; 14] = [
    "rabbit_version",
    "rabbitmq_version",
    "product_name",
    "product_version",
    "explanation",
    "rabbitmq_definition_format",
    "original_cluster_name",
    "original_vhost_name",
    "description",
    "metadata",
    "limits",
    "default_queue_type",
    "tracing",
    "tags",
];

/// Whether a member means something. Others have no effect.
#[must_use]
pub fn is_known(member: &str) -> bool {
    LISTS.contains(&member) || ABOUT.contains(&member)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn misspelt_members_are_not_known() {
        assert!(is_known("queues") && is_known("rabbit_version"));
        assert!(!is_known("queue") && !is_known(""));
    }
}
