//! A member whose disk hangs hears, ticks and reports its status all the same.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use consensus::{Body, Index, MemberId, Message, Role, Term, Timing};
use store::RecordBatch;
use store::file::{Disk, SimDisk};
use store::journal::SharedCommit;

use crate::{Member, Options, Situation, Transport};

/// Much longer than anything takes.
const TIMEOUT: Duration = Duration::from_secs(60);

struct Nowhere;

impl Transport for Nowhere {
    fn send(&self, _: Message, _: Vec<Arc<SharedCommit>>) -> bool {
        true
    }
}

fn member(disk: &SimDisk) -> Arc<Member> {
    let options = || store::Options::small(PathBuf::from("/data"), 1);
    let disk: Arc<dyn Disk> = Arc::new(disk.clone());
    let id = MemberId::new(1).unwrap();
    Member::found(options(), &disk, 1, id, "rabbit@one".to_owned()).unwrap();
    let timing = Timing { heartbeat_ticks: 2, election_ticks: 10 };
    let options = Options { store: options(), timing, seed: 1, is_stepped: false };
    Arc::new(Member::open(options, disk, Arc::new(Nowhere)).unwrap())
}

/// Does what the threads of links and clock do, on another thread; sends the role when it is through.
fn live_on(member: &Arc<Member>) -> Receiver<Role> {
    let (done, is_done) = channel();
    let member = member.clone();
    std::thread::spawn(move || {
        for _ in 0..40 {
            member.tick();
            let body = Body::HeartbeatAnswer { committed: Index(1) };
            let (id, stranger) = (MemberId::new(1).unwrap(), MemberId::new(2).unwrap());
            member.receive(Message { from: stranger, to: id, term: Term(1), body }, Vec::new());
            let _ = member.situation();
        }
        let _ = done.send(member.status().role);
    });
    is_done
}

#[test]
fn a_disk_that_hangs_keeps_no_thread_but_its_own() {
    let disk = SimDisk::new(1);
    let member = member(&disk);
    let hanging = disk.hang();
    // It is the only voter, and votes for itself; that does not last yet.
    let role = live_on(&member).recv_timeout(TIMEOUT);
    let situation = member.situation();
    drop(hanging);
    assert_eq!(role, Ok(Role::Leader));
    assert_eq!(situation, Situation::Following { leader: MemberId::new(1) });
    let begun = Instant::now();
    while member.situation() != Situation::Elected {
        assert!(begun.elapsed() < TIMEOUT);
        member.wait_for_change(TIMEOUT);
    }
    let (store, _) = member.take_over().unwrap();
    let hanging = disk.hang();
    let mut batch = RecordBatch::new();
    batch.drop_queue(model::ids::QueueId(1));
    let end = store.append(&mut batch);
    // The commit's sync hangs: that is seen from outside.
    while member.disk_time(Instant::now()).is_zero() {
        assert!(begun.elapsed() < TIMEOUT);
        std::thread::yield_now();
    }
    let role = live_on(&member).recv_timeout(TIMEOUT);
    let durable = store.durable();
    drop(hanging);
    assert_eq!(role, Ok(Role::Leader));
    assert!(durable < end);
    while store.durable() < end {
        assert!(begun.elapsed() < TIMEOUT);
        member.wait_for_change(Duration::from_millis(1));
    }
}
