//! Whether lost and duplicate messages can be detected.

use crate::plan::{BindingKeys, Consumers, Exchange, Plan, Processing, Queues, Routing, Settle, Value};

/// Whether each message reaches one queue at most, from which alone it comes back to us: then what is missing is lost,
/// and what comes twice is a duplicate.
pub(crate) fn followed(plan: &Plan) -> Result<(), &'static str> {
    if plan.users.iter().any(|users| users.script.moves_messages()) {
        return Err("simulated users publish or consume");
    }
    if plan.consumers.iter().any(|group| matches!(group.settle, Settle::NackEvery { .. })) {
        return Err("consumers return or drop messages");
    }
    if !says_whose_it_is(plan) {
        return Err("messages have their own cluster-id");
    }
    if !plan.publishers.iter().all(|group| one_queue(&plan.exchanges, &plan.queues, &group.exchange)) {
        return Err("a message may go to several queues");
    }
    if plan.queues.iter().any(is_stream) {
        return Err("streams keep their messages, and not all of their properties");
    }
    if plan.publishers.iter().any(|group| group.exchange.is_empty() && group.routing == Routing::Fresh) {
        return Err("messages are not routed to any queue");
    }
    Ok(())
}

/// Whether messages name their publisher in `cluster-id`: not if that is a property that the user has set.
pub(crate) fn says_whose_it_is(plan: &Plan) -> bool {
    plan.publishers.iter().all(|group| group.properties.cluster_id.is_none())
}

/// Whether consumers take what comes as soon as it comes. Else nothing follows from it that nothing is consumed for a while.
pub(crate) fn is_prompt(plan: &Plan) -> bool {
    let takes_time = |group: &Consumers| {
        group.rate.is_some_and(|rate| rate > 0.0)
            || group.processing != Processing::None
            || group.polling.is_some()
            || !group.pauses.is_empty()
            || !group.start_delay.is_zero()
            || !group.start_gap.is_zero()
    };
    let is_delayed = |exchange: &Exchange| exchange.kind == "x-delayed-message";
    !plan.consumers.iter().any(takes_time) && !plan.exchanges.iter().any(is_delayed)
}

/// Whether an exchange takes each message to one queue at most.
fn one_queue(exchanges: &[Exchange], queues: &[Queues], name: &str) -> bool {
    if name.is_empty() {
        return true;
    }
    let declared = exchanges.iter().find(|exchange| exchange.name == name);
    let kind = match declared {
        // A delayed exchange does in the end what another type does at once.
        Some(exchange) => match exchange.arguments.iter().find(|(name, _)| name == "x-delayed-type") {
            Some((_, Value::Text(kind))) => kind.as_str(),
            _ => exchange.kind.as_str(),
        },
        None => name.strip_prefix("amq.").unwrap_or(""),
    };
    let bindings = queues.iter().flat_map(|queues| queues.bindings.iter().map(move |binding| (queues, binding)));
    let bindings: Vec<_> = bindings.filter(|(_, binding)| binding.exchange == name).collect();
    let [(queues, binding)] = bindings.as_slice() else { return is_by_hash(kind) };
    if queues.names.len() == 1 {
        return true;
    }
    let is_plain = |keys: &[String]| !keys.iter().any(|key| key.contains(['*', '#']));
    match (kind, &binding.keys) {
        ("direct", BindingKeys::QueueName | BindingKeys::Spread(_)) => true,
        ("topic", BindingKeys::QueueName) => is_plain(&queues.names),
        ("topic", BindingKeys::Spread(keys)) => is_plain(keys),
        _ => is_by_hash(kind),
    }
}

pub(crate) fn is_stream(queues: &Queues) -> bool {
    let stream = ("x-queue-type".to_owned(), Value::Text("stream".to_owned()));
    queues.arguments.contains(&stream)
}

fn is_by_hash(kind: &str) -> bool {
    matches!(kind, "x-consistent-hash" | "x-modulus-hash" | "x-random")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::Binding;

    fn queues(count: usize, exchange: &str, keys: BindingKeys) -> Queues {
        Queues {
            names: (0..count).map(|number| format!("q{number}")).collect(),
            durable: true,
            bindings: vec![Binding { exchange: exchange.to_owned(), keys, arguments: Vec::new() }],
            is_temporary: true,
            ..Queues::default()
        }
    }

    #[track_caller]
    fn check(kind: &str, queues: Vec<Queues>, is_followed: bool) {
        let exchange = Exchange {
            name: "x".to_owned(),
            kind: kind.to_owned(),
            durable: true,
            auto_delete: false,
            arguments: vec![("x-delayed-type".to_owned(), Value::Text("direct".to_owned()))],
            passive: false,
            keep_existing: false,
        };
        let exchange =
            if kind == "x-delayed-message" { exchange } else { Exchange { arguments: Vec::new(), ..exchange } };
        assert_eq!(one_queue(&[exchange], &queues, "x"), is_followed, "{kind} {queues:?}");
    }

    #[test]
    fn message_that_may_go_to_several_queues_cannot_be_followed() {
        check("direct", vec![queues(3, "x", BindingKeys::QueueName)], true);
        check("direct", vec![queues(3, "x", BindingKeys::All(vec!["k".to_owned()]))], false);
        check("direct", vec![queues(1, "x", BindingKeys::All(vec!["k".to_owned()]))], true);
        check("direct", vec![queues(1, "x", BindingKeys::QueueName), queues(1, "x", BindingKeys::QueueName)], false);
        check("fanout", vec![queues(2, "x", BindingKeys::QueueName)], false);
        check("fanout", vec![queues(1, "x", BindingKeys::QueueName)], true);
        check("topic", vec![queues(2, "x", BindingKeys::Spread(vec!["a.b".to_owned(), "a.c".to_owned()]))], true);
        check("topic", vec![queues(2, "x", BindingKeys::Spread(vec!["a.*".to_owned(), "a.c".to_owned()]))], false);
        check("x-delayed-message", vec![queues(2, "x", BindingKeys::QueueName)], true);
    }
}
