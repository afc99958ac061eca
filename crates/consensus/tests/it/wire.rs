//! The wire format: what is written is read, and no bytes do harm.

use consensus::{
    Base, Body, DecodeError, Entry, Index, Kind, LogId, MEMBERS_MAX, MemberChange, MemberId, MemberStep, Members,
    Message, Round, Term,
};
use proptest::prelude::*;

const NUMBER_MAX: u64 = u64::MAX / 4;

fn member() -> impl Strategy<Value = MemberId> {
    prop_oneof![1_u64..10, 1_u64..=u64::MAX].prop_map(|number| MemberId::new(number).unwrap())
}

fn index() -> impl Strategy<Value = Index> {
    prop_oneof![0_u64..100, 0..=NUMBER_MAX].prop_map(Index)
}

fn id() -> impl Strategy<Value = LogId> {
    (0..=NUMBER_MAX, index()).prop_map(|(term, index)| LogId { term: Term(term), index })
}

fn change() -> impl Strategy<Value = MemberChange> {
    let step = prop_oneof![
        member().prop_map(MemberStep::AddVoter),
        member().prop_map(MemberStep::AddLearner),
        member().prop_map(MemberStep::Remove),
    ];
    prop::collection::vec(step, 0..=MEMBERS_MAX).prop_map(|steps| MemberChange { steps })
}

fn round() -> impl Strategy<Value = Round> {
    prop_oneof![Just(Round::Trial), Just(Round::Election)]
}

/// Members of a group, in and out of a change.
fn members() -> impl Strategy<Value = Members> {
    let ids = prop::collection::btree_set(member(), 4..16);
    (ids, any::<bool>()).prop_map(|(ids, is_joint)| {
        let ids: Vec<MemberId> = ids.into_iter().collect();
        let (learners, rest) = ids.split_at(1);
        let (learners_next, voters) = rest.split_at(if is_joint { 1 } else { 0 });
        Members {
            voters: voters.to_vec(),
            outgoing: if is_joint { rest.to_vec() } else { Vec::new() },
            learners: learners.to_vec(),
            learners_next: learners_next.to_vec(),
            ends_by_itself: is_joint,
        }
    })
}

fn append() -> impl Strategy<Value = (Term, Body)> {
    let kind = prop_oneof![3 => Just(Kind::Records), 1 => Just(Kind::Empty), 1 => change().prop_map(Kind::Members)];
    let entries = prop::collection::vec((kind, 0..3_u64, any::<u32>()), 0..20);
    (1..1_000_u64, 0..1_000_000_u64, index(), entries).prop_map(|(term, index, committed, steps)| {
        let previous = LogId::new(term, index);
        let mut last = previous;
        let mut entries = Vec::new();
        for (kind, by, len) in steps {
            last = LogId::new(last.term.0 + by, last.index.0 + 1);
            let len = if kind == Kind::Records { len } else { 0 };
            entries.push(Entry { id: last, kind, len });
        }
        (last.term, Body::Append { previous, committed, entries })
    })
}

fn with_term(body: impl Strategy<Value = Body>) -> impl Strategy<Value = (Term, Body)> {
    (1..=NUMBER_MAX, body).prop_map(|(term, body)| (Term(term), body))
}

fn message() -> impl Strategy<Value = Message> {
    let restore = (1..1_000_u64, 1..=NUMBER_MAX, members()).prop_map(|(term, index, members)| {
        let body = Body::Restore { base: Base { id: LogId::new(term, index), members } };
        (Term(term + 1), body)
    });
    let others = prop_oneof![
        (index(), index()).prop_map(|(upto, committed)| Body::Appended { upto, committed }),
        (index(), id(), index()).prop_map(|(previous, hint, committed)| Body::Refused { previous, hint, committed }),
        (round(), id(), id(), any::<bool>()).prop_map(|(round, last, committed, is_handed_over)| Body::Ask {
            round,
            last,
            committed,
            is_handed_over
        }),
        (round(), any::<bool>(), id()).prop_map(|(round, is_granted, committed)| Body::Vote {
            round,
            is_granted,
            committed
        }),
        index().prop_map(|committed| Body::Heartbeat { committed }),
        index().prop_map(|committed| Body::HeartbeatAnswer { committed }),
        Just(Body::CampaignNow),
    ];
    let body = prop_oneof![2 => append(), 1 => restore, 3 => with_term(others)];
    (member(), member(), body)
        .prop_filter("no member writes to itself", |(from, to, _)| from != to)
        .prop_map(|(from, to, (term, body))| Message { from, to, term, body })
}

fn encoded(message: &Message) -> Vec<u8> {
    let mut bytes = Vec::new();
    message.encode(&mut bytes);
    bytes
}

proptest! {
    #[test]
    fn what_is_written_is_read(message in message()) {
        prop_assert_eq!(Message::decode(&encoded(&message)), Ok(message));
    }

    #[test]
    fn what_is_cut_off_or_goes_on_is_refused(message in message(), more in 1_usize..9) {
        let bytes = encoded(&message);
        for len in 0..bytes.len() {
            prop_assert_eq!(Message::decode(&bytes[..len]), Err(DecodeError::Short), "at {}", len);
        }
        let longer = [bytes, vec![0; more]].concat();
        prop_assert_eq!(Message::decode(&longer), Err(DecodeError::Long));
    }

    /// What is read from bytes that were spoilt is written as the same bytes: nothing is taken for something else.
    #[test]
    fn spoilt_bytes_are_refused_or_another_message(
        message in message(),
        spoilt in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
    ) {
        let mut bytes = encoded(&message);
        for (place, byte) in spoilt {
            let place = place.index(bytes.len());
            bytes[place] = byte;
        }
        if let Ok(other) = Message::decode(&bytes) {
            prop_assert_eq!(encoded(&other), bytes);
        }
    }

    #[test]
    fn any_bytes_are_refused_or_a_message(mut bytes in prop::collection::vec(any::<u8>(), 0..200), code in 0_u8..12) {
        // Beyond the first two bytes chance alone never comes.
        if let [version, body, ..] = bytes.as_mut_slice() {
            (*version, *body) = (1, code);
        }
        if let Ok(message) = Message::decode(&bytes) {
            prop_assert_eq!(encoded(&message), bytes);
        }
    }

    #[test]
    fn changes_and_bases_are_read_as_written(change in change(), id in id(), members in members()) {
        let mut bytes = Vec::new();
        change.encode(&mut bytes);
        prop_assert_eq!(MemberChange::decode(&bytes), Ok(change));
        prop_assert_eq!(MemberChange::decode(&bytes[1..]).is_ok(), false);
        let id = LogId::new(id.term.0.max(1), id.index.0.max(1));
        let base = Base { id, members };
        let mut bytes = Vec::new();
        base.encode(&mut bytes);
        prop_assert_eq!(Base::decode(&bytes), Ok(base));
    }
}

#[track_caller]
fn check_refused(message: &Message, because: DecodeError) {
    assert_eq!(Message::decode(&encoded(message)), Err(because));
}

/// What the engine would end the process over, or wait for ever for, is no message.
#[test]
fn messages_that_no_member_sends_are_refused() {
    let id = |number| MemberId::new(number).unwrap();
    let of = |term, body| Message { from: id(1), to: id(2), term: Term(term), body };
    let entry = |term, index| Entry { id: LogId::new(term, index), kind: Kind::Records, len: 1 };
    let append = |entries| Body::Append { previous: LogId::new(3, 7), committed: Index(5), entries };
    let heartbeat = Body::Heartbeat { committed: Index(0) };
    let base = |term, members| Body::Restore { base: Base { id: LogId::new(term, 7), members } };
    let voters = |numbers: &[u64]| Members { voters: numbers.iter().map(|n| id(*n)).collect(), ..Members::default() };
    check_refused(&of(0, heartbeat.clone()), DecodeError::Impossible("envelope"));
    check_refused(&Message { to: id(1), ..of(1, heartbeat) }, DecodeError::Impossible("envelope"));
    check_refused(&of(2, append(vec![])), DecodeError::Impossible("previous entry"));
    check_refused(&of(9, append(vec![entry(2, 8)])), DecodeError::Impossible("order of entries"));
    check_refused(&of(4, append(vec![entry(5, 8)])), DecodeError::Impossible("order of entries"));
    check_refused(&of(1, Body::Heartbeat { committed: Index(u64::MAX) }), DecodeError::Impossible("number"));
    check_refused(&of(9, base(9, Members::default())), DecodeError::Impossible("base"));
    check_refused(&of(9, base(9, voters(&[2, 1]))), DecodeError::Impossible("base"));
    check_refused(&of(8, base(9, voters(&[1, 2]))), DecodeError::Impossible("base"));
    let both = Members { learners: vec![id(1)], ..voters(&[1]) };
    check_refused(&of(9, base(9, both)), DecodeError::Impossible("base"));
}

#[test]
fn another_version_is_told_apart() {
    assert_eq!(Message::decode(&[2, 6]), Err(DecodeError::Version(2)));
}
