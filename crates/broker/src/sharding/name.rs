//! The names of shards: `sharding: EXCHANGE - NODE - NUMBER`, RabbitMQ's.

use model::name::QueueName;

/// What they begin with.
const PREFIX: &str = "sharding: ";

/// What is between exchange, node and number.
const SEPARATOR: &str = " - ";

/// The name of an exchange's shard. None when it is too long for a queue's.
pub(super) fn of_shard(exchange: &str, node: &str, number: u64) -> Option<QueueName> {
    QueueName::parse(format!("{PREFIX}{exchange}{SEPARATOR}{node}{SEPARATOR}{number}").as_bytes()).ok()
}

/// The exchange and the number in a shard's name. Nodes' names have no spaces; exchanges' may.
pub(super) fn parse(name: &str) -> Option<(&str, u64)> {
    let mut parts = name.strip_prefix(PREFIX)?.rsplitn(3, SEPARATOR);
    let number = parts.next()?.parse().ok()?;
    let node = parts.next()?;
    let exchange = parts.next()?;
    (!node.is_empty() && !node.contains(' ')).then_some((exchange, number))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_read_back(exchange: &str) {
        let name = of_shard(exchange, "rabbit@host", 12).unwrap();
        assert_eq!(parse(name.as_str()), Some((exchange, 12)));
    }

    #[test]
    fn a_shards_name_tells_its_exchange_and_its_number() {
        assert_eq!(of_shard("x", "rabbit@host", 0).unwrap().as_str(), "sharding: x - rabbit@host - 0");
        check_read_back("x");
        check_read_back("with - the - separator");
        check_read_back("sharding: x - rabbit@host - 0");
    }

    #[test]
    fn other_names_are_no_shards() {
        for name in
            ["x", "sharding: x", "sharding: x - 0", "sharding: x -  - 0", "sharding: x - n - m", "shard: x - n - 0"]
        {
            assert_eq!(parse(name), None, "{name}");
        }
    }

    #[test]
    fn a_name_that_is_too_long_is_none() {
        assert_eq!(of_shard(&"x".repeat(250), "rabbit@host", 0), None);
    }
}
