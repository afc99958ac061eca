//! Rules of a member that random weather hardly ever tries, one by one.

use std::sync::Arc;

use consensus::{Body, Entry, Kind, LogId, MemberChange, MemberId, MemberStep, Message, Term};
use store::file::{Disk, SimDisk};
use store::simulation::{Broker, History, Legacy, Seen};
use store::{Random, RecoveredStore, Store};

use crate::core::AHEAD_LEN_MAX;
use crate::simulation::{Group, dir};
use crate::{Installed, Member, Situation};

fn broker(store: Arc<Store>, recovered: RecoveredStore) -> Arc<Broker> {
    let (seen, random, history) = (Seen::default(), Random::new(5), History::default());
    Broker::restore(store, recovered, Legacy { seen, random, history, next_queue: 1, next_message: 1 })
}

/// Three nodes, of which one leads.
struct Three {
    group: Group,
    leader: usize,
    broker: Arc<Broker>,
}

impl Three {
    fn new() -> Three {
        let mut group = Group::of_three(1, 10);
        group.is_calm = true;
        loop {
            step(&mut group);
            for number in 0..3 {
                if group.nodes[number].situation() == Some(Situation::Elected)
                    && let Some((store, recovered)) = group.take_over(number)
                {
                    return Three { group, leader: number, broker: broker(store, recovered) };
                }
            }
        }
    }

    /// Until a majority has all there is, and those that can be reached know.
    fn settle(&mut self) {
        for _ in 0..200 {
            let _ = self.broker.store().step_journal();
            step(&mut self.group);
        }
    }

    fn member(&self, number: usize) -> &Member {
        self.group.nodes[number].member.as_ref().unwrap()
    }
}

fn step(group: &mut Group) {
    group.now += 1;
    for number in 0..3 {
        group.tick(number);
        if matches!(group.nodes[number].situation(), Some(Situation::Following { .. })) {
            group.follow_without_fetching(number);
        }
    }
    group.deliver();
    group.collect();
}

/// So many bytes and a little more, in the leader's journal alone.
fn write_ahead(three: &Three, len: u64) {
    let store = three.broker.store();
    let from = store.durable();
    while store.appended().0 - from.0 < len {
        three.broker.publish();
        let _ = store.step_journal();
    }
    for _ in 0..100 {
        let _ = store.step_journal();
    }
}

fn segments(disk: &SimDisk) -> Vec<String> {
    disk.list(&dir().join("segments")).unwrap()
}

/// What is in a checkpoint may be of records that come after its position: they must be here, too.
#[test]
fn a_checkpoint_does_not_come_into_force_before_all_is_here_that_it_knows_of() {
    let mut three = Three::new();
    let leader = three.leader;
    let follower = (leader + 1) % 3;
    while three.broker.store().closed_file_count() < 2 {
        three.broker.serve();
        three.settle();
    }
    let before = three.broker.store().appended();
    three.group.network.isolate(follower);
    while three.broker.store().appended() == before {
        three.broker.serve();
    }
    three.settle();
    assert!(three.broker.store().durable() > before, "the other two are a majority");
    // Numbers for segments have to be committed, too.
    while three.broker.store().retire_to(before, 0, &*three.broker).is_err() {
        three.settle();
    }
    let announcement = three.member(leader).announcement().unwrap();
    assert!(announcement.position <= before && announcement.reached > before, "{announcement:?} {before}");
    let mut pull = three.member(follower).pull(announcement).unwrap();
    while let Some((name, offset)) = pull.next() {
        pull.take(&three.member(leader).file_reader().read(name, offset, 1 << 20).unwrap().unwrap()).unwrap();
    }
    let pulled = pull.finish().unwrap();
    assert_eq!(three.member(follower).install(&pulled).unwrap(), Installed::NotYet);
    three.group.network.mend();
    three.settle();
    assert_eq!(three.member(follower).install(&pulled).unwrap(), Installed::Done);
}

/// Else another leader might give the same number to another segment.
#[test]
fn no_segment_is_made_before_its_number_is_committed() {
    let mut three = Three::new();
    let leader = three.leader;
    three.group.network.isolate(leader);
    while three.broker.store().closed_file_count() < 2 {
        three.broker.serve();
        let _ = three.broker.store().step_journal();
    }
    let end = three.broker.store().appended();
    for _ in 0..3 {
        assert!(three.broker.store().retire_to(end, u64::MAX, &*three.broker).is_err());
        assert_eq!(segments(&three.group.nodes[leader].disk), Vec::<String>::new());
    }
}

/// What a leader writes and no majority has is bounded. What only waits for the mark of a change of members is not held back: the mark
/// comes behind it.
#[test]
fn a_leader_waits_for_a_majority_and_never_for_its_own_mark() {
    let mut three = Three::new();
    let leader = three.leader;
    three.settle();
    three.group.network.isolate(leader);
    assert!(!three.member(leader).is_far_ahead());
    three.member(leader).change(&MemberChange::of(MemberStep::AddLearner(MemberId::new(9).unwrap()))).unwrap();
    write_ahead(&three, AHEAD_LEN_MAX);
    assert!(three.member(leader).is_far_ahead(), "no other member has it");
    three.group.network.mend();
    // The journal is not stepped, so the mark is not written.
    while three.member(leader).status().committed < three.member(leader).status().last.index {
        step(&mut three.group);
    }
    let store = three.broker.store();
    assert!(store.appended().0 - store.durable().0 >= AHEAD_LEN_MAX, "nothing is called committed without the mark");
    assert!(!three.member(leader).is_far_ahead(), "the mark would wait for itself");
    three.settle();
    assert_eq!(three.broker.store().durable(), three.broker.store().appended());
}

/// A power cut may take a manifest that was read from the page cache, and the files that it made obsolete with it.
#[test]
fn what_a_member_has_read_at_its_start_lasts() {
    for cut in 0.. {
        let disk = SimDisk::new(cut);
        let shared: Arc<dyn Disk> = Arc::new(disk.clone());
        let id = MemberId::new(1).unwrap();
        Member::found(store::Options::small(dir(), 1), &shared, 1, id, "rabbit@one".to_owned()).unwrap();
        let open = || Member::open(Group::options(1), shared.clone(), Group::no_wire()).unwrap();
        let member = open();
        while member.situation() != Situation::Elected {
            member.tick();
            member.step_journal().unwrap();
        }
        let (store, recovered) = member.take_over().unwrap();
        let broker = broker(store, recovered);
        (0..20).for_each(|_| drop(broker.act()));
        broker.store().settle_down().unwrap();
        disk.cut_power_at(disk.operation_count() + cut);
        broker.retire_committed();
        let is_whole = !disk.is_cut();
        drop((broker, member));
        disk.kill_process();
        disk.cut_power_at(u64::MAX);
        let seen = open().announcement();
        disk.cut_power();
        disk.restart();
        disk.cut_power_at(u64::MAX);
        assert_eq!(open().announcement(), seen, "cut at {cut}");
        if is_whole {
            return;
        }
    }
}

/// With an entry of a term that its ballot does not know a member could not open again.
#[test]
fn no_entry_goes_to_the_journal_before_the_ballot_of_its_term() {
    let mut three = Three::new();
    three.settle();
    let follower = (three.leader + 1) % 3;
    let node = &three.group.nodes[follower];
    let (member, from) = (three.member(follower), three.group.nodes[three.leader].id);
    let status = member.status();
    let term = Term(status.term().0 + 1);
    let empty = Entry { id: LogId { term, index: status.last.index.next() }, kind: Kind::Empty, len: 0 };
    let body = Body::Append { previous: status.last, committed: status.committed, entries: vec![empty] };
    member.receive(Message { from, to: node.id, term, body }, Vec::new());
    let opens = || {
        let disk = node.disk.fork();
        disk.cut_power();
        disk.restart();
        Member::open(Group::options(1), Arc::new(disk), Group::no_wire()).map(|member| member.status().last)
    };
    (0..3).for_each(|_| member.step_journal().unwrap());
    assert_eq!(opens().unwrap(), status.last);
    member.step_disk();
    (0..3).for_each(|_| member.step_journal().unwrap());
    assert_eq!(opens().unwrap(), member.status().last);
    assert_eq!(member.status().persisted, status.last.index.next());
}
