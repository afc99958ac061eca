//! Each rule alone.

use cluster::formation::{
    Admission, Bid, Consent, Formation, FormationFailure, Founder, MissingPeer, NodeState, Order, Question,
    REST_WAIT_MS, Reply, Settings, Status, WaitReason,
};
use cluster::wire::ClusterId;
use consensus::MemberId;
use proptest::prelude::*;

use super::{asked, cluster_id, listed, named, node, orders, own, with_a_list};

fn status(letter: char, state: NodeState) -> Status {
    Status {
        name: named(letter),
        member: MemberId::new(u64::from(u32::from(letter))).unwrap(),
        state,
        leader: None,
        chosen: None,
        level: 1,
        version: "1.0".to_owned(),
    }
}

/// What a node that lists `letters` does when its peers answer so; those without an answer do not.
fn decided(formation: &mut Formation, letters: &str, answers: &[Status], now: u64) -> Vec<Order> {
    assert!(orders(formation, now).contains(&Order::Discover), "it does not look names up");
    formation.discovered(letters.chars().map(listed).collect());
    for (number, peer) in asked(&orders(formation, now), |question| *question == Question::Status) {
        match answers.iter().find(|status| status.name == peer) {
            Some(status) => formation.answered(number, Reply::Status(status.clone())),
            None => formation.unanswered(number, "it is down"),
        }
    }
    orders(formation, now)
}

#[track_caller]
fn check(state: NodeState, hint: usize, answers: &[Status], expected: &[Order]) {
    let mut formation = node('b', state, with_a_list(hint));
    assert_eq!(decided(&mut formation, "abc", answers, 0), expected);
}

fn missing(letters: &str) -> Vec<MissingPeer> {
    letters.chars().map(|letter| MissingPeer { name: named(letter), why: "it is down".to_owned() }).collect()
}

#[test]
fn a_member_goes_on_as_one() {
    let mut formation = node('b', NodeState::Member(cluster_id(7)), with_a_list(0));
    assert_eq!(orders(&mut formation, 0), [Order::GoOn]);
    assert_eq!(orders(&mut formation, 1), []);
    assert_eq!(formation.next_at(), None);
}

#[test]
fn a_node_with_data_stays_alone() {
    let mut formation = node('b', NodeState::HasData, with_a_list(0));
    assert_eq!(orders(&mut formation, 0), [Order::StayAlone]);
    assert_eq!(orders(&mut formation, 1), []);
}

#[test]
fn a_node_without_a_list_founds_when_another_wants_to_join() {
    for state in [NodeState::Empty, NodeState::HasData] {
        let mut formation = node('b', state, Settings::alone());
        assert_eq!(orders(&mut formation, 0), [Order::StayAlone]);
        assert!(matches!(formation.asked_to_let_join(&named('c'), 5), Admission::Later(_)));
        let cluster = cluster_id(98);
        assert_eq!(orders(&mut formation, 5), [Order::Found(cluster)]);
        formation.set_state(NodeState::Member(cluster));
        assert_eq!(formation.asked_to_let_join(&named('c'), 6), Admission::Open(cluster));
        assert_eq!(orders(&mut formation, 6), [Order::GoOn]);
    }
}

#[test]
fn an_empty_node_joins_the_cluster_of_a_peer() {
    let member = NodeState::Member(cluster_id(7));
    let expected = [Order::Wait(WaitReason::Join { by: named('c'), why: None }), Order::Join(listed('c'))];
    check(NodeState::Empty, 0, &[status('a', NodeState::HasData), status('c', member)], &expected);
}

#[test]
fn it_joins_by_the_leader_if_one_is_known() {
    let mut of_a = status('a', NodeState::Member(cluster_id(7)));
    of_a.leader = Some((named('d'), listed('d').address));
    let expected = [Order::Wait(WaitReason::Join { by: named('d'), why: None }), Order::Join(listed('d'))];
    check(NodeState::Empty, 0, &[of_a], &expected);
}

#[test]
fn an_empty_node_asks_a_peer_with_data_to_found() {
    let expected = [Order::Wait(WaitReason::Join { by: named('c'), why: None }), Order::Join(listed('c'))];
    check(NodeState::Empty, 0, &[status('a', NodeState::Empty), status('c', NodeState::HasData)], &expected);
}

#[test]
fn two_clusters_among_the_peers_are_named() {
    let (one, other) = ((named('a'), cluster_id(7)), (named('c'), cluster_id(8)));
    let answers = [status('a', NodeState::Member(one.1)), status('c', NodeState::Member(other.1))];
    let why = FormationFailure::TwoClusters { one, other };
    let sentence = why.to_string();
    for part in ["rabbit@a", "rabbit@c", "00000007", "00000008"] {
        assert!(sentence.contains(part), "{sentence}");
    }
    check(NodeState::Empty, 0, &answers, &[Order::GiveUp(why)]);
}

#[test]
fn less_than_a_majority_founds_nothing() {
    let waiting = |of, needed| WaitReason::Majority { reachable: 1, needed, of, missing: missing("ac") };
    check(NodeState::Empty, 0, &[], &[Order::Wait(waiting(3, 2))]);
    check(NodeState::Empty, 7, &[], &[Order::Wait(waiting(7, 4))]);
    assert_eq!(
        waiting(3, 2).to_string(),
        "1 of 3 nodes can be reached, this one included, and 2 are needed to form a cluster; missing: rabbit@a (it is down), rabbit@c \
         (it is down)"
    );
}

#[test]
fn the_lowest_name_founds() {
    let answers = [status('a', NodeState::Empty), status('c', NodeState::Empty)];
    check(NodeState::Empty, 0, &answers, &[Order::Wait(WaitReason::LowerName(named('a')))]);
}

#[test]
fn with_a_majority_it_waits_a_while_for_the_rest() {
    let mut formation = node('b', NodeState::Empty, with_a_list(0));
    let answers = [status('c', NodeState::Empty)];
    let waiting = WaitReason::Rest { missing: missing("a"), for_ms: REST_WAIT_MS };
    assert_eq!(decided(&mut formation, "abc", &answers, 0), [Order::Wait(waiting)]);
    assert_eq!(decided(&mut formation, "abc", &answers, 1_000), [], "the same is not said twice");
    let orders = decided(&mut formation, "abc", &answers, REST_WAIT_MS);
    assert_eq!(orders[0], Order::Wait(WaitReason::Consent));
    assert!(matches!(orders[1], Order::Keep(_)), "what it promises is kept before anything is asked");
    assert_eq!(asked(&orders, |question| matches!(question, Question::Promise(_))).len(), 1);
}

/// Node a, with b and c empty, up to its bid: the bid, and the numbers of what it asked them.
fn bidding() -> (Formation, Bid, u64, u64) {
    let mut formation = node('a', NodeState::Empty, with_a_list(0));
    let answers = [status('b', NodeState::Empty), status('c', NodeState::Empty)];
    let orders = decided(&mut formation, "abc", &answers, 0);
    let numbers = asked(&orders, |question| matches!(question, Question::Promise(_)));
    let bid = Bid { round: 1, name: named('a') };
    let [(b, _), (c, _)] = numbers.as_slice() else { panic!("{orders:?}") };
    (formation, bid, *b, *c)
}

#[test]
fn it_founds_when_a_majority_has_agreed() {
    let (mut formation, bid, b, _) = bidding();
    formation.answered(b, Reply::Promised(bid.clone(), None));
    let founder = Founder { name: named('a'), member: own('a', 97).member, cluster: cluster_id(97) };
    let orders_given = orders(&mut formation, 1);
    let (c, _) = asked(&orders_given, |question| *question == Question::Agree(bid.clone(), founder.clone()))[1].clone();
    assert!(matches!(orders_given[0], Order::Keep(_)));
    formation.answered(c, Reply::Agreed(bid));
    assert_eq!(orders(&mut formation, 2), [Order::Found(cluster_id(97))]);
    assert_eq!(formation.status().chosen, Some(founder));
}

#[test]
fn what_was_agreed_to_before_is_kept_to() {
    let (mut formation, bid, b, _) = bidding();
    let before = Founder { name: named('c'), member: own('c', 99).member, cluster: cluster_id(99) };
    let lower = Bid { round: 1, name: named('A') };
    formation.answered(b, Reply::Promised(bid.clone(), Some((lower, before.clone()))));
    let orders_given = orders(&mut formation, 1);
    let (b, _) = asked(&orders_given, |question| *question == Question::Agree(bid.clone(), before.clone()))[0].clone();
    formation.answered(b, Reply::Agreed(bid));
    let waiting = WaitReason::Founder { name: named('c'), is_reachable: true };
    assert_eq!(orders(&mut formation, 2), [Order::Wait(waiting)]);
}

#[test]
fn one_that_is_outbid_tries_again_with_a_higher_bid() {
    let (mut formation, _, b, _) = bidding();
    formation.answered(b, Reply::Outbid(Bid { round: 5, name: named('c') }));
    assert_eq!(orders(&mut formation, 1), []);
    let answers = [status('b', NodeState::Empty), status('c', NodeState::Empty)];
    let orders_given = decided(&mut formation, "abc", &answers, 501);
    let bid = Bid { round: 6, name: named('a') };
    assert_eq!(asked(&orders_given, |question| *question == Question::Promise(bid.clone())).len(), 2);
}

#[test]
fn a_bid_is_refused_by_whom_promised_a_higher_one() {
    let mut formation = node('c', NodeState::Empty, with_a_list(0));
    let (low, high) = (Bid { round: 2, name: named('a') }, Bid { round: 2, name: named('b') });
    let founder = Founder { name: named('a'), member: own('a', 97).member, cluster: cluster_id(97) };
    assert!(formation.asked(&Question::Promise(high.clone())).0.is_some());
    assert_eq!(formation.asked(&Question::Promise(low.clone())), (None, Reply::Outbid(high.clone())));
    assert_eq!(formation.asked(&Question::Agree(low, founder.clone())), (None, Reply::Outbid(high.clone())));
    let kept = Consent { promised: Some(high.clone()), agreed: Some((high.clone(), founder.clone())) };
    assert_eq!(
        formation.asked(&Question::Agree(high.clone(), founder)),
        (Some(kept.clone()), Reply::Agreed(high.clone()))
    );
    // And after a restart.
    let mut again = Formation::new(own('c', 99), NodeState::Empty, with_a_list(0), kept, cluster_id(1));
    assert_eq!(again.asked(&Question::Promise(Bid { round: 1, name: named('z') })), (None, Reply::Outbid(high)));
}

#[test]
fn a_founder_whose_directory_was_replaced_waits_until_all_say_that_they_joined_nothing() {
    let chosen = Founder { name: named('b'), member: MemberId::new(1).unwrap(), cluster: cluster_id(5) };
    let empty = |letter| Status { chosen: Some(chosen.clone()), ..status(letter, NodeState::Empty) };
    let waiting = WaitReason::Replaced { missing: vec![named('c')] };
    check(NodeState::Empty, 0, &[empty('a')], &[Order::Wait(waiting)]);
    check(NodeState::Empty, 0, &[empty('a'), empty('c')], &[Order::Found(cluster_id(5))]);
}

#[test]
fn a_node_with_data_and_a_list_founds_only_with_consent() {
    let mut formation = node('b', NodeState::HasData, with_a_list(0));
    orders(&mut formation, 0);
    formation.asked_to_let_join(&named('c'), 0);
    let orders_given = decided(&mut formation, "abc", &[status('c', NodeState::Empty)], 0);
    assert_eq!(asked(&orders_given, |question| matches!(question, Question::Promise(_))).len(), 1);
}

#[test]
fn a_node_with_data_stays_outside_of_a_cluster_that_its_peers_have() {
    let mut formation = node('b', NodeState::HasData, with_a_list(0));
    orders(&mut formation, 0);
    formation.asked_to_let_join(&named('c'), 0);
    let cluster = cluster_id(7);
    let waiting = WaitReason::Outside { cluster, peer: named('a') };
    assert_eq!(
        decided(&mut formation, "abc", &[status('a', NodeState::Member(cluster))], 0),
        [Order::Wait(waiting.clone())]
    );
    assert_eq!(formation.waiting(), Some(&waiting));
    assert_eq!(formation.next_at(), None);
}

#[test]
fn a_node_that_is_not_listed_founds_nothing() {
    let mut formation = node('d', NodeState::Empty, with_a_list(0));
    let answers = ['a', 'b', 'c'].map(|letter| status(letter, NodeState::Empty));
    assert_eq!(decided(&mut formation, "abc", &answers, 0), [Order::Wait(WaitReason::NotListed(named('d')))]);
}

#[test]
fn names_that_cannot_be_found_out_end_the_start_in_the_end() {
    let mut formation = node('a', NodeState::Empty, with_a_list(0));
    let mut orders_given = Vec::new();
    for at in 0..8 {
        for order in orders(&mut formation, at * 500) {
            match order {
                Order::Discover => formation.not_discovered("no such host", at * 500),
                order => orders_given.push(order),
            }
        }
    }
    let why = || "no such host".to_owned();
    let expected = [
        Order::Wait(WaitReason::Discovery { why: why() }),
        Order::GiveUp(FormationFailure::Discovery { tries: 4, why: why() }),
    ];
    assert_eq!(orders_given, expected);
}

#[test]
fn who_is_refused_for_good_gives_up_and_others_ask_again() {
    let member = NodeState::Member(cluster_id(7));
    let mut formation = node('b', NodeState::Empty, with_a_list(0));
    decided(&mut formation, "abc", &[status('a', member)], 0);
    formation.not_joined("a change of members runs", false, 10);
    assert_eq!(decided(&mut formation, "abc", &[status('a', member)], 510), [Order::Join(listed('a'))]);
    formation.not_joined("rabbit@b knows formats up to level 1", true, 520);
    let why = FormationFailure::Refused { by: named('a'), why: "rabbit@b knows formats up to level 1".to_owned() };
    assert_eq!(orders(&mut formation, 520), [Order::GiveUp(why)]);
}

#[test]
fn a_member_answers_bids_by_saying_that_it_is_one() {
    let mut formation = node('c', NodeState::Member(cluster_id(7)), with_a_list(0));
    let (kept, reply) = formation.asked(&Question::Promise(Bid { round: 1, name: named('a') }));
    assert_eq!((kept, reply), (None, Reply::Status(formation.status())));
}

fn founders() -> impl Strategy<Value = Founder> {
    (any::<char>(), 1_u64.., 1_u128..).prop_filter_map("no name", |(letter, member, cluster)| {
        let name = cluster::wire::NodeName::new(&format!("rabbit@{letter}"))?;
        Some(Founder { name, member: MemberId::new(member)?, cluster: ClusterId::new(cluster)? })
    })
}

fn bids() -> impl Strategy<Value = Bid> {
    (1_u64.., founders()).prop_map(|(round, founder)| Bid { round, name: founder.name })
}

proptest! {
    #[test]
    fn what_is_said_is_read(bid in bids(), founder in founders(), has_agreed: bool, is_leader_known: bool, state in 0..3_usize) {
        let agreed = has_agreed.then(|| (bid.clone(), founder.clone()));
        let states = [NodeState::Empty, NodeState::HasData, NodeState::Member(founder.cluster)];
        let mut said = status('a', states[state]);
        said.leader = is_leader_known.then(|| (founder.name.clone(), listed('c').address));
        said.chosen = has_agreed.then(|| founder.clone());
        let replies = [
            Reply::Status(said),
            Reply::Promised(bid.clone(), agreed.clone()),
            Reply::Agreed(bid.clone()),
            Reply::Outbid(bid.clone()),
        ];
        for reply in replies {
            let bytes = reply.encode();
            prop_assert_eq!(Reply::decode(&bytes).unwrap(), reply);
            for len in 0..bytes.len() {
                prop_assert!(Reply::decode(&bytes[..len]).is_err());
            }
        }
        for question in [Question::Status, Question::Promise(bid.clone()), Question::Agree(bid.clone(), founder)] {
            prop_assert_eq!(Question::decode(&question.encode()).unwrap(), question);
        }
        let consent = Consent { promised: Some(bid), agreed };
        let bytes = consent.encode();
        prop_assert_eq!(Consent::decode(&bytes), Some(consent));
        for at in 0..bytes.len() {
            let mut spoilt = bytes.clone();
            spoilt[at] ^= 1;
            prop_assert_eq!(Consent::decode(&spoilt), None);
        }
    }

    #[test]
    fn random_bytes_do_no_harm(bytes: Vec<u8>) {
        let _ = (Question::decode(&bytes), Reply::decode(&bytes), Consent::decode(&bytes));
    }
}
