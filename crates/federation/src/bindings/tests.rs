//! What is bound at an upstream.

use std::collections::BTreeSet;

use model::name::{ExchangeName, QueueName, VhostName};
use proptest::prelude::*;

use super::*;

fn way(max_hops: u32) -> Way {
    Way {
        cluster_name: "here".into(),
        vhost: "/".into(),
        exchange: "/:x A".into(),
        max_hops,
        upstream_cluster_name: Some("there".into()),
        upstream_vhost: "/".into(),
    }
}

fn binding(queue: &str, key: &str, arguments: &TableBuf) -> Binding {
    let vhost = VhostName::parse(b"/").unwrap();
    let destination = Destination::Queue(QueueName::parse(queue.as_bytes()).unwrap());
    Binding::new(vhost, ExchangeName::parse(b"x").unwrap(), destination, key.as_bytes(), arguments.as_table())
}

fn hop(cluster_name: &str, exchange: &str, hops: i16) -> TableBuf {
    TableBuf::new()
        .with("cluster-name", Value::LongStr(cluster_name.as_bytes()))
        .with("vhost", Value::LongStr(b"/"))
        .with("exchange", Value::LongStr(exchange.as_bytes()))
        .with("hops", Value::I16(hops))
}

fn bound_from(hops: &[TableBuf]) -> TableBuf {
    let mut array = ArrayBuf::new();
    hops.iter().for_each(|hop| array.push(Value::Table(hop.as_table())));
    TableBuf::new().with(BOUND_FROM, Value::Array(array.as_array()))
}

#[test]
fn a_binding_says_where_it_comes_from_and_how_far_messages_may_come() {
    let mirrored = Mirror::new(way(2)).add(&binding("q", "k", &TableBuf::new())).unwrap();
    assert_eq!(&*mirrored.routing_key, b"k");
    assert_eq!(mirrored.arguments(), bound_from(&[hop("here", "/:x A", 2)]).as_table());
    assert_eq!(Mirror::new(way(0)).add(&binding("q", "k", &TableBuf::new())), None);
}

#[test]
fn a_binding_of_another_link_goes_on_as_far_as_messages_come() {
    let carried = |max_hops, earlier: &[TableBuf]| {
        let mirrored = Mirror::new(way(max_hops)).add(&binding("q", "k", &bound_from(earlier)))?;
        let first = way_of(mirrored.arguments())?.iter().next()?;
        first.as_table()?.get("hops")?.as_i64()
    };
    assert_eq!(carried(1, &[hop("far", "/:x A", 1)]), None);
    assert_eq!(carried(1, &[hop("far", "/:x A", 3)]), Some(1));
    assert_eq!(carried(5, &[hop("far", "/:x A", 3)]), Some(2));
    // It has been there: messages would come round.
    assert_eq!(carried(5, &[hop("far", "/:x A", 4), hop("there", "/:x B", 5)]), None);
    assert_eq!(carried(5, &[TableBuf::new()]), None);
}

proptest! {
    /// What is bound there is what is bound here, whatever is made and undone.
    #[test]
    fn the_upstream_has_each_key_that_is_bound_here(
        changes in prop::collection::vec((any::<bool>(), 0..3_u8, 0..3_u8, any::<bool>()), 0..60)
    ) {
        let mut mirror = Mirror::new(way(1));
        let mut here: BTreeSet<(u8, u8, bool)> = BTreeSet::new();
        let mut there = HashSet::new();
        for (is_added, queue, key, has_arguments) in changes {
            let arguments = if has_arguments { TableBuf::new().with("a", Value::I32(1)) } else { TableBuf::new() };
            let binding = binding(&queue.to_string(), &key.to_string(), &arguments);
            // The broker reports changes only.
            if is_added && here.insert((queue, key, has_arguments)) {
                if let Some(mirrored) = mirror.add(&binding) {
                    prop_assert!(there.insert(mirrored));
                }
            } else if !is_added
                && here.remove(&(queue, key, has_arguments))
                && let Some(mirrored) = mirror.remove(&binding)
            {
                prop_assert!(there.remove(&mirrored));
            }
            let expected: BTreeSet<_> = here.iter().map(|(_, key, has_arguments)| (*key, *has_arguments)).collect();
            prop_assert_eq!(there.len(), expected.len());
            for (key, _) in expected {
                prop_assert!(there.iter().any(|mirrored| *mirrored.routing_key == *key.to_string().as_bytes()));
            }
        }
    }
}
