//! The nodes of the cluster, as hellos report and a file keeps.

use cluster::wire::{Identity, Recognition};
use cluster::{Address, Roster, RosterUpdate, Stranger};
use consensus::MemberId;
use proptest::prelude::*;

use crate::nodes::{identity, name};

fn id(number: u64) -> MemberId {
    MemberId::new(number).unwrap()
}

fn address(host: &str) -> Address {
    Address::new(host, 25_672).unwrap()
}

/// With a and b as members 1 and 2.
fn roster() -> Roster {
    let mut roster = Roster::new(identity('a').cluster.unwrap());
    for letter in ['a', 'b'] {
        let Identity { name, member, .. } = identity(letter);
        assert_eq!(roster.add(&name, member.unwrap(), address("h")), Ok(RosterUpdate::Changed));
    }
    roster
}

fn update(roster: &mut Roster, identity: &Identity, connected: &[u64]) -> Result<RosterUpdate, Stranger> {
    roster.update(identity, Some("1.0"), 99, |member| connected.contains(&member.get()))
}

#[test]
fn a_hello_is_kept_once() {
    let mut roster = roster();
    assert_eq!(update(&mut roster, &identity('b'), &[]), Ok(RosterUpdate::Changed));
    assert_eq!(update(&mut roster, &identity('b'), &[2]), Ok(RosterUpdate::Unchanged));
    let node = roster.node(&name("rabbit@b")).unwrap();
    assert_eq!((node.incarnation, node.level, node.version.as_str(), node.last_seen_ms), (102, 1, "1.0", 99));
    assert_eq!(roster.level(), 1, "of the other one nothing is known yet");
    update(&mut roster, &identity('a'), &[]).unwrap();
    assert_eq!(roster.level(), 1);
}

#[test]
fn a_name_has_one_id_while_that_is_connected() {
    let mut roster = roster();
    let other = Identity { member: Some(id(9)), ..identity('b') };
    let (name, old) = (other.name.clone(), id(2));
    assert_eq!(
        update(&mut roster, &other, &[2]),
        Err(Stranger::Taken { name: name.clone(), known: old, claimed: id(9) })
    );
    assert_eq!(update(&mut roster, &other, &[]), Err(Stranger::Replaced { name: name.clone(), old, new: id(9) }));
    assert_eq!(roster.recognize(&name), Recognition::Peer(Some(old)), "until the old one is removed from the group");
    roster.replace(&name, id(9)).unwrap();
    assert_eq!(update(&mut roster, &other, &[]), Ok(RosterUpdate::Changed));
    assert!(matches!(update(&mut roster, &identity('b'), &[9]), Err(Stranger::Taken { .. })));
}

#[test]
fn an_id_has_one_name() {
    let mut roster = roster();
    let thief = Identity { member: Some(id(1)), ..identity('b') };
    let refusal = Stranger::OtherName { member: id(1), known: name("rabbit@a"), claimed: name("rabbit@b") };
    assert_eq!(update(&mut roster, &thief, &[]), Err(refusal.clone()));
    assert_eq!(roster.replace(&name("rabbit@b"), id(1)), Err(refusal));
    assert!(matches!(roster.add(&name("rabbit@c"), id(1), address("h")), Err(Stranger::OtherName { .. })));
}

#[test]
fn strangers_are_told_apart() {
    let mut roster = roster();
    assert_eq!(update(&mut roster, &identity('c'), &[]), Err(Stranger::Unknown(name("rabbit@c"))));
    let foreign = Identity { cluster: cluster::wire::ClusterId::new(8), ..identity('b') };
    assert!(matches!(update(&mut roster, &foreign, &[]), Err(Stranger::Cluster { .. })));
    let nowhere = Identity { cluster: None, ..identity('b') };
    let refusal = update(&mut roster, &nowhere, &[]).unwrap_err();
    assert_eq!(refusal.to_string(), "rabbit@b belongs to no cluster");
}

#[test]
fn who_has_left_is_unknown() {
    let mut roster = roster();
    assert_eq!(roster.remove(id(2)), Some(name("rabbit@b")));
    assert_eq!(roster.remove(id(2)), None);
    assert_eq!(roster.recognize(&name("rabbit@b")), Recognition::Unknown);
}

#[test]
fn an_address_may_change() {
    let mut roster = roster();
    assert_eq!(roster.add(&name("rabbit@b"), id(2), address("h")), Ok(RosterUpdate::Unchanged));
    assert_eq!(roster.add(&name("rabbit@b"), id(2), address("i")), Ok(RosterUpdate::Changed));
    assert_eq!(roster.node(&name("rabbit@b")).unwrap().address, address("i"));
}

#[test]
fn there_is_an_end_to_nodes() {
    let mut roster = roster();
    let mut add = |number: u64| roster.add(&name(&format!("n{number}")), id(number), address("h"));
    for number in 3..=cluster::NODES_MAX as u64 {
        assert_eq!(add(number), Ok(RosterUpdate::Changed));
    }
    assert_eq!(add(1_000), Err(Stranger::Full));
}

proptest! {
    #[test]
    fn what_is_kept_is_read_and_damage_is_found(count in 0..9_u64, at: prop::sample::Index, bit in 0..8_u32) {
        let mut roster = Roster::new(identity('a').cluster.unwrap());
        for number in 1..=count {
            let name = name(&format!("rabbit@host{number}"));
            roster.add(&name, id(number), address("fe80::1")).unwrap();
            let identity = Identity { name, member: Some(id(number)), ..identity('a') };
            update(&mut roster, &identity, &[]).unwrap();
        }
        let mut bytes = roster.encode();
        prop_assert_eq!(Roster::decode(&bytes).unwrap(), roster);
        for len in 0..bytes.len() {
            prop_assert!(Roster::decode(&bytes[..len]).is_err());
        }
        let at = at.index(bytes.len());
        bytes[at] ^= 1 << bit;
        prop_assert!(Roster::decode(&bytes).is_err());
    }

    #[test]
    fn random_bytes_are_no_roster(bytes: Vec<u8>) {
        prop_assert!(Roster::decode(&bytes).is_err());
    }
}
