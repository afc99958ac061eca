//! What `/metrics/detailed?family=…&vhost=…&queue=…` asks for.

use crate::Search;

/// Bytes of a pattern that says of which queues metrics are wanted.
const QUEUE_PATTERN_LEN_MAX: usize = 2000;

/// Families, vhosts and queues that are wanted.
#[derive(Debug, Clone, Default)]
pub struct Filter {
    families: Vec<String>,
    /// None: all.
    vhosts: Option<Vec<String>>,
    /// None: all.
    queue: Option<Search>,
}

impl Filter {
    /// Reads a query's names and values. The error is for the client, in RabbitMQ's words.
    pub fn parse<'a>(query: impl IntoIterator<Item = (&'a str, &'a str)>) -> Result<Filter, String> {
        let (mut families, mut vhosts, mut patterns) = (Vec::new(), Vec::new(), Vec::new());
        for (name, value) in query {
            match name {
                "family" => families.push(value.to_owned()),
                "vhost" => vhosts.push(value.to_owned()),
                "queue" => patterns.push(value),
                _ => {}
            }
        }
        if patterns.len() > 1 {
            return Err("Only one 'queue' query parameter is allowed".to_owned());
        }
        let queue = patterns.pop().map(compile).transpose()?;
        Ok(Filter { families, vhosts: (!vhosts.is_empty()).then_some(vhosts), queue })
    }

    /// Whether a family is asked for.
    pub(super) fn has(&self, family: &str) -> bool {
        self.families.iter().any(|own| own == family)
    }

    /// Whether what is in a vhost is asked for.
    pub(super) fn wants_vhost(&self, vhost: &str) -> bool {
        self.vhosts.as_ref().is_none_or(|vhosts| vhosts.iter().any(|own| own == vhost))
    }

    /// Whether a queue is asked for.
    pub(super) fn wants_queue(&self, queue: &str) -> bool {
        self.queue.as_ref().is_none_or(|search| search.finds(queue))
    }
}

fn compile(pattern: &str) -> Result<Search, String> {
    if pattern.len() > QUEUE_PATTERN_LEN_MAX {
        return Err("'queue' regex too long".to_owned());
    }
    Search::compile(pattern, false).map_err(|reason| format!("Invalid 'queue' regex: {reason}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reads `name=value&…`, of which nothing is encoded.
    fn parse(query: &str) -> Result<Filter, String> {
        Filter::parse(query.split('&').filter_map(|parameter| parameter.split_once('=')))
    }

    #[test]
    fn nothing_is_filtered_unless_asked_and_no_family_is_there() {
        let filter = parse("").unwrap();
        assert!(filter.wants_vhost("/") && filter.wants_queue("q") && !filter.has("queue_metrics"));
    }

    #[test]
    fn families_and_vhosts_add_up() {
        let filter = parse("family=a&vhost=/&family=b&vhost=x").unwrap();
        assert!(filter.has("a") && filter.has("b") && !filter.has("c"));
        assert!(filter.wants_vhost("/") && filter.wants_vhost("x") && !filter.wants_vhost("y"));
    }

    #[test]
    fn a_pattern_may_match_anywhere_in_a_queues_name() {
        let filter = parse("queue=^ord").unwrap();
        assert!(filter.wants_queue("orders") && !filter.wants_queue("my orders"));
        assert!(parse("queue=ord").unwrap().wants_queue("my orders"));
        let filter = parse(r"queue=^(?!amq\.)").unwrap();
        assert!(filter.wants_queue("orders") && !filter.wants_queue("amq.gen-x"));
    }

    #[test]
    fn patterns_that_cannot_be_are_refused() {
        let refused = |query: &str| parse(query).unwrap_err();
        assert_eq!(refused("queue=a&queue=b"), "Only one 'queue' query parameter is allowed");
        assert_eq!(refused(&format!("queue={}", "a".repeat(2001))), "'queue' regex too long");
        assert!(parse(&format!("queue={}", "a".repeat(2000))).is_ok());
        assert_eq!(refused("queue=("), "Invalid 'queue' regex: unclosed group");
        assert!(refused("queue=((a{99}){99}){99}").starts_with("Invalid 'queue' regex"));
    }
}
