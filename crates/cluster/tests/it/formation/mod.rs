//! How nodes come to be one cluster: each rule alone, then many nodes under whatever a network does.

mod rules;
mod world;

use cluster::Address;
use cluster::formation::{Consent, Formation, NodeState, Order, OwnIdentity, Question, SeedNode, Settings};
use cluster::wire::{ClusterId, NodeName};
use consensus::MemberId;

use crate::nodes::name;

fn cluster_id(number: u128) -> ClusterId {
    ClusterId::new(number).unwrap()
}

fn own(letter: char, directory: u64) -> OwnIdentity {
    OwnIdentity { name: named(letter), member: MemberId::new(directory).unwrap(), level: 1, version: "1.0".to_owned() }
}

fn named(letter: char) -> NodeName {
    name(&format!("rabbit@{letter}"))
}

fn listed(letter: char) -> SeedNode {
    SeedNode { name: named(letter), address: Address::new(&letter.to_string(), 25_672).unwrap() }
}

fn with_a_list(size_hint: usize) -> Settings {
    Settings { is_configured: true, size_hint, retry_limit: 3, interval_ms: 500 }
}

/// Node `letter` whose directory has the letter's number.
fn node(letter: char, state: NodeState, settings: Settings) -> Formation {
    let number = u64::from(u32::from(letter));
    Formation::new(own(letter, number), state, settings, Consent::default(), cluster_id(u128::from(number)))
}

fn orders(formation: &mut Formation, now: u64) -> Vec<Order> {
    let mut orders = Vec::new();
    formation.run(now, &mut orders);
    orders
}

/// The numbers of questions of that kind, with the peer that is asked.
fn asked(orders: &[Order], is_wanted: impl Fn(&Question) -> bool) -> Vec<(u64, NodeName)> {
    let of = |order: &Order| match order {
        Order::Ask { number, peer, question } if is_wanted(question) => Some((*number, peer.name.clone())),
        _ => None,
    };
    orders.iter().filter_map(of).collect()
}
