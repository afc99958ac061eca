//! The spool over a disk that loses power: random things, in an order that follows from a seed alone.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;

use model::ids::{JournalPosition, QueueId, QueueSeq};
use store::file::{Faults, SimDisk};
use store::{Random, Store};

use super::*;

const USERS: [&str; 3] = ["ann", "bob", "ärger/%"];

fn options(len_max: u64) -> Options {
    Options { dir: PathBuf::from("/spool"), len_max, age_max_ms: None, login_fresh_ms: 1_000 }
}

fn open(disk: &SimDisk, len_max: u64) -> Arc<Spool> {
    open_with(disk, options(len_max))
}

/// With its first files made, so that there is room at once.
fn open_with(disk: &SimDisk, options: Options) -> Arc<Spool> {
    let spool = Spool::open(options, Arc::new(disk.clone())).unwrap();
    let mut batch = RecordBatch::new();
    batch.delete(b"nothing");
    let end = spool.store.append(&mut batch);
    while spool.store.written() < end || spool.store.is_congested() {
        std::thread::yield_now();
    }
    spool
}

fn next(spool: &Spool, spool_queue: QueueId) -> Option<(QueueSeq, Vec<u8>)> {
    match spool.take(spool_queue) {
        NextPublish::Publish(seq, publish) => Some((seq, publish.frames().to_vec())),
        NextPublish::Loading | NextPublish::Nothing => None,
    }
}

#[test]
fn what_is_kept_comes_in_order_to_whom_it_belongs() {
    let spool = open(&SimDisk::new(1), 1 << 20);
    spool.keep("ann", "/", &[b"one ", b"and ", b"a half"], 0).unwrap();
    spool.keep("bob", "/", &[b"of bob"], 0).unwrap();
    spool.keep("ann", "/", &[b"two"], 0).unwrap();
    assert!(spool.claim(0).is_none(), "no user has logged in");
    spool.accepted("ann", b"secret", "/", 0);
    spool.accepted("bob", b"other", "elsewhere", 0);
    let job = spool.claim(0).unwrap();
    assert_eq!((&*job.user, &*job.secret, &*job.vhost), ("ann", &b"secret"[..], "/"));
    assert!(spool.claim(0).is_none(), "one at a time");
    let first = next(&spool, job.spool_queue).unwrap();
    let second = next(&spool, job.spool_queue).unwrap();
    assert_eq!((&*first.1, &*second.1), (&b"one and a half"[..], &b"two"[..]));
    assert!(next(&spool, job.spool_queue).is_none());
    spool.put_back(job.spool_queue, &[second.0]);
    spool.put_back(job.spool_queue, &[first.0]);
    assert_eq!(next(&spool, job.spool_queue).unwrap(), first);
    spool.settle(job.spool_queue, &[first.0], false, 0);
    assert_eq!(spool.holds("ann", "/", 0), Backlog::Much, "it is not being sent yet");
    spool.sends(job.spool_queue, 0);
    assert_eq!(spool.holds("ann", "/", 0), Backlog::Little);
    assert_eq!(next(&spool, job.spool_queue).unwrap(), second);
    spool.settle(job.spool_queue, &[second.0], true, 0);
    assert_eq!((spool.holds("ann", "/", 0), spool.holds("bob", "/", 0)), (Backlog::Nothing, Backlog::Much));
    let counters = spool.report().counters;
    assert_eq!(counters, Counters { kept: 3, sent_on: 1, refused: 1, ..Counters::default() });
}

#[test]
fn nothing_is_stored_for_a_user_until_a_queue_is_filled() {
    let spool = open(&SimDisk::new(1), 1 << 20);
    spool.keep("bob", "/", &[b"x"], 0).unwrap();
    let before = spool.filled_count();
    spool.keep("bob", "/", &[b"y"], 0).unwrap();
    assert_eq!((spool.holds("ann", "/", 0), spool.filled_count()), (Backlog::Nothing, before), "it was not empty");
    spool.keep("ann", "/", &[b"z"], 0).unwrap();
    assert_ne!(spool.filled_count(), before);
    spool.drop_all("ann", "/");
    let before = spool.filled_count();
    spool.keep("ann", "/", &[b"z"], 0).unwrap();
    assert_ne!(spool.filled_count(), before, "once more");
}

#[test]
fn what_could_not_be_sent_on_rests_for_a_moment() {
    let spool = open(&SimDisk::new(1), 1 << 20);
    spool.keep("ann", "/", &[b"x"], 0).unwrap();
    spool.accepted("ann", b"secret", "/", 0);
    let job = spool.claim(5).unwrap();
    spool.release(job.spool_queue, Err("no broker is there".to_owned()), 5);
    assert_eq!(spool.report().spool_queues[0].last_error.as_deref(), Some("no broker is there"));
    assert!(spool.claim(4 + SPOOL_RETRY_MS).is_none());
    assert!(spool.claim(5 + SPOOL_RETRY_MS).is_some());
}

#[test]
fn no_more_is_kept_than_there_is_room_for() {
    let spool = open(&SimDisk::new(1), 1_000);
    let body = [7; 300];
    for _ in 0..3 {
        spool.keep("ann", "/", &[&body], 0).unwrap();
    }
    assert_eq!(spool.keep("bob", "/", &[&body], 0), Err(Full));
    assert!(spool.report().len() <= 1_000);
    spool.accepted("ann", b"s", "/", 0);
    let job = spool.claim(0).unwrap();
    let (seq, _) = next(&spool, job.spool_queue).unwrap();
    assert_eq!(spool.keep("bob", "/", &[&body], 0), Err(Full), "it is still under way");
    let mut changes = spool.changes();
    changes.borrow_and_update();
    spool.settle(job.spool_queue, &[seq], false, 0);
    assert!(changes.has_changed().unwrap(), "who waits for room looks again");
    spool.keep("bob", "/", &[&body], 0).unwrap();
}

#[test]
fn what_is_too_old_is_dropped() {
    let disk = SimDisk::new(1);
    let spool = open_with(&disk, Options { age_max_ms: Some(10_000), ..options(1 << 20) });
    spool.tick(0, 1_000_000);
    spool.keep("ann", "/", &[b"old"], 1_000).unwrap();
    spool.keep("ann", "/", &[b"young"], 6_000).unwrap();
    spool.tick(10_999, 1_010_999);
    assert_eq!(spool.report().count(), 2);
    spool.tick(11_000, 1_011_000);
    assert_eq!((spool.report().count(), spool.report().counters.expired), (1, 1));
    spool.accepted("ann", b"s", "/", 11_000);
    let job = spool.claim(11_000).unwrap();
    spool.tick(20_000, 1_020_000);
    assert_eq!(spool.report().count(), 1, "what is being sent on is left alone");
    assert_eq!(next(&spool, job.spool_queue).unwrap().1, b"young");
}

/// A publish's frames, whose body has this many bytes.
fn publish_frames(exchange: &[u8], routing_key: &[u8], len: usize) -> Vec<u8> {
    let mut out = Vec::new();
    amqp::frame::put_method(&mut out, 1, &amqp::method::basic::Publish { exchange, routing_key, ..Default::default() });
    amqp::content::put_header_encoded(&mut out, 1, len as u64, &[0, 0]);
    amqp::content::put_body_frames(&mut out, 1, &vec![7; len], 4_096);
    out
}

#[test]
fn an_operator_sees_what_is_first_and_drops_it() {
    let spool = open(&SimDisk::new(1), 1 << 20);
    assert_eq!((spool.first("ann", "/"), spool.drop_first("ann", "/")), (Ok(None), Ok(None)));
    spool.tick(0, 1_000_000);
    spool.keep("ann", "/", &[&publish_frames(b"amq.topic", b"a.b", 7)], 5).unwrap();
    let second = spool.keep("ann", "/", &[&publish_frames(b"", b"q", 9_000)], 6).unwrap();
    let first = First { exchange: "amq.topic".into(), routing_key: "a.b".into(), body_len: 7, kept_ms: 1_000_005 };
    assert_eq!(spool.first("ann", "/"), Ok(Some(first.clone())));
    spool.accepted("ann", b"s", "/", 0);
    let job = spool.claim(0).unwrap();
    assert_eq!(spool.first("ann", "/"), Ok(Some(first.clone())), "an upstream is looked for");
    spool.sends(job.spool_queue, 0);
    assert_eq!(spool.drop_first("ann", "/"), Err(NotNow::Sending));
    for _ in 0..9 {
        spool.release(job.spool_queue, Err("no".to_owned()), 0);
    }
    assert!(spool.claim(0).is_none());
    assert_eq!(spool.drop_first("ann", "/"), Ok(Some(first)));
    assert_eq!((spool.report().count(), spool.report().counters.dropped), (1, 1));
    let job = spool.claim(0).expect("what was to blame may be gone");
    assert_eq!(next(&spool, job.spool_queue).unwrap().0, second);
}

#[test]
fn an_operator_drops_all_that_is_kept_of_a_user_and_vhost() {
    let disk = SimDisk::new(1);
    let spool = open(&disk, 1_000);
    for (user, body) in [("ann", &[1; 300]), ("ann", &[2; 300]), ("bob", &[3; 300])] {
        spool.keep(user, "/", &[body], 0).unwrap();
    }
    spool.accepted("ann", b"s", "/", 0);
    let job = spool.claim(0).unwrap();
    let (under_way, _) = next(&spool, job.spool_queue).unwrap();
    assert_eq!(spool.keep("ann", "/", &[&[4; 300]], 0), Err(Full));
    let mut changes = spool.changes();
    changes.borrow_and_update();
    assert_eq!((spool.drop_all("ann", "/"), spool.drop_all("ann", "/"), spool.drop_all("eve", "/")), (2, 0, 0));
    assert!(changes.has_changed().unwrap(), "who waits for room looks again");
    assert_eq!(spool.holds("ann", "/", 0), Backlog::Nothing);
    spool.keep("ann", "/", &[&[4; 300]], 0).unwrap();
    assert!(!spool.holds_up_to("ann", "/", QueueSeq(under_way.0 + 1)), "no channel waits for what was dropped");
    // What is heard of it late changes nothing.
    spool.settle(job.spool_queue, &[under_way], false, 0);
    spool.put_back(job.spool_queue, &[under_way]);
    assert_eq!(next(&spool, job.spool_queue).unwrap().1, [4; 300]);
    let counters = spool.report().counters;
    assert_eq!(counters, Counters { kept: 4, dropped: 2, ..Counters::default() });
    spool.close().unwrap();
    drop(spool);
    assert_eq!(open(&disk, 1_000).report().count(), 2);
}

#[test]
fn what_fails_twice_in_a_row_goes_one_by_one() {
    let spool = open(&SimDisk::new(1), 1 << 20);
    spool.accepted("ann", b"s", "/", 0);
    spool.keep("ann", "/", &[b"w"], 0).unwrap();
    for _ in 0..9 {
        let job = spool.claim(0).unwrap();
        spool.release(job.spool_queue, Err("no broker is there".to_owned()), 0);
        spool.accepted("ann", b"s", "/", 0);
    }
    spool.keep("ann", "/", &[b"y"], 0).unwrap();
    for (now_ms, is_careful) in [(0, false), (10_000, false), (20_000, true), (30_000, true)] {
        let job = spool.claim(now_ms).unwrap();
        assert_eq!(job.is_careful, is_careful, "at {now_ms}");
        spool.sends(job.spool_queue, now_ms);
        if now_ms == 30_000 {
            let (seq, _) = next(&spool, job.spool_queue).unwrap();
            spool.settle(job.spool_queue, &[seq], false, now_ms);
        }
        spool.release(job.spool_queue, Err("no".to_owned()), now_ms);
        // A forwarder that comes meanwhile finds a broker, which says nothing about the message.
        spool.accepted("ann", b"s", "/", now_ms);
    }
    assert!(!spool.claim(60_000).unwrap().is_careful, "something was sent on");
}

#[test]
fn while_the_disk_is_full_nothing_is_kept_and_what_was_kept_stays() {
    let disk = SimDisk::new(1);
    let spool = open(&disk, 1 << 40);
    let mut changes = spool.changes();
    disk.set_faults(Faults { capacity: Some(disk.used()), ..Faults::default() });
    let mut kept = Vec::new();
    // Memory is not full before the writer has reported the disk's failure.
    while spool.report().failure.is_none() {
        let body = vec![kept.len() as u8; 100_000];
        match spool.keep("ann", "/", &[&body], 0) {
            Ok(seq) => kept.push((seq, body)),
            Err(Full) => std::thread::yield_now(),
        }
    }
    assert_eq!(spool.report().failure.as_deref(), Some("the disk is full"));
    assert!(spool.is_full());
    changes.borrow_and_update();
    assert_eq!(spool.keep("ann", "/", &[b"x"], 0), Err(Full));
    disk.set_faults(Faults::default());
    while spool.is_full() {
        std::thread::yield_now();
    }
    // A publisher that waits for room looks again, as soon as the thread that made it signals that.
    let began_at = std::time::Instant::now();
    while !changes.has_changed().unwrap() {
        assert!(began_at.elapsed().as_secs() < 60, "no forwarder is told");
        std::thread::yield_now();
    }
    let last = spool.keep("ann", "/", &[b"last"], 0).unwrap();
    kept.push((last, b"last".to_vec()));
    spool.close().unwrap();
    drop(spool);
    let spool = open(&disk, 1 << 40);
    spool.start();
    spool.accepted("ann", b"s", "/", 0);
    let job = spool.claim(0).unwrap();
    for expected in kept {
        let found = loop {
            match spool.take(job.spool_queue) {
                NextPublish::Publish(seq, publish) => break (seq, publish.frames().to_vec()),
                NextPublish::Loading => std::thread::yield_now(),
                NextPublish::Nothing => panic!("{} is not there", expected.0),
            }
        };
        assert_eq!(found.0, expected.0);
        assert!(found.1 == expected.1, "{} is another message", found.0);
    }
    assert!(matches!(spool.take(job.spool_queue), NextPublish::Nothing));
}

#[test]
fn what_is_closed_takes_nothing() {
    let disk = SimDisk::new(1);
    let spool = open(&disk, 1 << 20);
    spool.keep("ann", "/", &[b"x"], 0).unwrap();
    spool.close().unwrap();
    assert_eq!(spool.keep("ann", "/", &[b"y"], 0), Err(Full));
    assert_eq!((spool.drop_first("ann", "/"), spool.drop_all("ann", "/")), (Ok(None), 0));
    drop(spool);
    assert_eq!(open(&disk, 1 << 20).report().count(), 1);
}

#[test]
fn users_take_turns() {
    let spool = open(&SimDisk::new(1), 1 << 20);
    for user in USERS {
        spool.accepted(user, b"s", "/", 0);
        spool.keep(user, "/", &[b"x"], 0).unwrap();
    }
    let mut order = Vec::new();
    for now_ms in 0..5 {
        let job = spool.claim(now_ms).unwrap();
        order.push(job.user.to_string());
        assert!(spool.is_any_claimable(now_ms));
        spool.release(job.spool_queue, Ok(()), now_ms);
    }
    assert_eq!(order, ["ann", "bob", "ärger/%", "ann", "bob"]);
    spool.stop_sending();
    assert!(spool.claim(9).is_none());
}

#[test]
fn what_fails_again_and_again_is_tried_more_and_more_seldom() {
    let spool = open(&SimDisk::new(1), 1 << 20);
    spool.keep("ann", "/", &[b"x"], 0).unwrap();
    spool.accepted("ann", b"s", "/", 0);
    let mut now_ms = 0;
    for rest_s in [1, 2, 4, 8, 16, 32, 32] {
        let job = spool.claim(now_ms).unwrap();
        spool.release(job.spool_queue, Err("no".to_owned()), now_ms);
        now_ms += rest_s * 1_000;
        assert!(spool.claim(now_ms - 1).is_none(), "after {rest_s} s");
    }
    let job = spool.claim(now_ms).unwrap();
    spool.release(job.spool_queue, Err("no".to_owned()), now_ms);
    spool.accepted("ann", b"s", "/", now_ms);
    assert!(spool.claim(now_ms).is_some(), "an upstream is there");
}

#[test]
fn only_what_goes_on_and_is_little_is_worth_waiting_for() {
    let spool = open(&SimDisk::new(1), 8 << 20);
    spool.accepted("ann", b"s", "/", 0);
    for _ in 0..2 {
        spool.keep("ann", "/", &[b"x"], 0).unwrap();
    }
    let job = spool.claim(0).unwrap();
    spool.sends(job.spool_queue, 0);
    assert_eq!(spool.holds("ann", "/", SPOOL_MOVING_MS - 1), Backlog::Little);
    assert_eq!(spool.holds("ann", "/", SPOOL_MOVING_MS), Backlog::Much, "nothing moves");
    let (seq, _) = next(&spool, job.spool_queue).unwrap();
    spool.settle(job.spool_queue, &[seq], false, 5_000);
    assert_eq!(spool.holds("ann", "/", 5_001), Backlog::Little);
    spool.keep("ann", "/", &[&vec![0; SPOOL_FEW_LEN as usize]], 5_000).unwrap();
    assert_eq!(spool.holds("ann", "/", 5_001), Backlog::Much, "few, and long");
}

#[test]
fn what_was_under_way_is_next_again_when_nobody_sends_it() {
    let spool = open(&SimDisk::new(1), 1 << 20);
    spool.accepted("ann", b"s", "/", 0);
    let kept: Vec<QueueSeq> = (0..3).map(|_| spool.keep("ann", "/", &[b"x"], 0).unwrap()).collect();
    let job = spool.claim(0).unwrap();
    let (first, second) = (next(&spool, job.spool_queue).unwrap().0, next(&spool, job.spool_queue).unwrap().0);
    assert_eq!([first, second], kept[..2]);
    spool.settle(job.spool_queue, &[first], false, 0);
    assert!(!spool.holds_up_to("ann", "/", first) && spool.holds_up_to("ann", "/", second));
    spool.release(job.spool_queue, Ok(()), 0);
    let job = spool.claim(0).unwrap();
    assert_eq!(next(&spool, job.spool_queue).unwrap().0, second);
    spool.settle(job.spool_queue, &[second], false, 0);
    assert!(!spool.holds_up_to("ann", "/", second) && spool.holds_up_to("ann", "/", kept[2]));
}

#[test]
fn a_brokers_folder_is_left_alone() {
    let disk = SimDisk::new(1);
    let (store, _) = Store::open(store::Options::new(PathBuf::from("/spool")), Arc::new(disk.clone())).unwrap();
    let mut batch = RecordBatch::new();
    batch.put(b"queue/1", b"a broker's");
    store.append(&mut batch);
    store.close().unwrap();
    drop(store);
    let opened = Spool::open(options(1 << 20), Arc::new(disk));
    assert!(matches!(opened, Err(SpoolError::Foreign)));
}

/// What has happened, with the position at which that lasts.
#[derive(Debug, Clone)]
enum Happened {
    Kept { spool_queue: (usize, usize), number: u64 },
    Settled { number: u64 },
}

/// A spool, and what must be in it.
struct Life {
    spool: Arc<Spool>,
    store: Arc<Store>,
    residents: Arc<SpoolResidents>,
    history: Vec<(JournalPosition, Happened)>,
    /// Taken and neither settled nor put back.
    under_way: BTreeMap<QueueId, BTreeSet<(QueueSeq, u64)>>,
    /// The last number of each queue that was taken and not put back.
    taken: BTreeMap<QueueId, u64>,
    next_number: u64,
}

impl Life {
    fn begin(disk: &SimDisk, seed: u64, history: Vec<(JournalPosition, Happened)>, next_number: u64) -> Self {
        let small = store::Options::small(PathBuf::from("/spool"), seed);
        let disk: Arc<dyn Disk> = Arc::new(disk.clone());
        let spool = Spool::open_as(small, options(1 << 30), |of_store| Store::open_stepped(of_store, disk)).unwrap();
        let (store, residents) = (spool.store.clone(), spool.residents());
        let end = store.appended();
        let history: Vec<_> = history.into_iter().filter(|(position, _)| *position <= end).collect();
        Life { spool, store, residents, history, under_way: BTreeMap::new(), taken: BTreeMap::new(), next_number }
    }

    /// What must be there, by queue, in order.
    fn expected(&self) -> BTreeMap<(usize, usize), Vec<u64>> {
        let settled: BTreeSet<u64> = self
            .history
            .iter()
            .filter_map(|(_, happened)| match happened {
                Happened::Settled { number } => Some(*number),
                Happened::Kept { .. } => None,
            })
            .collect();
        let mut expected = BTreeMap::<_, Vec<u64>>::new();
        for (_, happened) in &self.history {
            if let Happened::Kept { spool_queue, number } = happened
                && !settled.contains(number)
            {
                expected.entry(*spool_queue).or_default().push(*number);
            }
        }
        expected
    }

    fn id_of(&self, (user, vhost): (usize, usize)) -> Option<QueueId> {
        self.spool.state.lock().id_of(USERS[user], USERS[vhost])
    }

    fn step(&mut self, random: &mut Random) {
        let spool_queue = (random.below(3) as usize, random.below(2) as usize);
        match random.below(100) {
            0..40 => self.keep(spool_queue, random),
            40..60 => self.take(spool_queue),
            60..75 => self.settle(spool_queue, random),
            75..79 => self.put_back(spool_queue, random),
            79 => self.drop_some(spool_queue, random),
            80..86 => drop(self.store.step_journal()),
            86..90 => drop(self.store.retire_once(&*self.residents)),
            90..92 => drop(self.store.retire_to(self.store.durable(), u64::MAX, &*self.residents)),
            92..94 => drop(self.store.reclaim_once(&*self.residents)),
            94..95 => store::QueueOwner::unload(&*self.residents),
            _ => drop(self.store.load_once(&*self.residents)),
        }
    }

    fn keep(&mut self, spool_queue: (usize, usize), random: &mut Random) {
        let number = self.next_number;
        let content = content_of(number, random.range(8..3_000) as usize);
        if self.spool.keep(USERS[spool_queue.0], USERS[spool_queue.1], &[&content[..5], &content[5..]], 7).is_ok() {
            self.next_number += 1;
            self.history.push((self.store.appended(), Happened::Kept { spool_queue, number }));
        }
    }

    fn take(&mut self, spool_queue: (usize, usize)) {
        let Some(id) = self.id_of(spool_queue) else { return };
        let Some((seq, frames)) = next(&self.spool, id) else { return };
        let number = number_of(&frames);
        let before = self.taken.insert(id, number);
        assert!(before.is_none_or(|before| before < number), "{number} came after {before:?}");
        self.under_way.entry(id).or_default().insert((seq, number));
    }

    fn settle(&mut self, spool_queue: (usize, usize), random: &mut Random) {
        let Some(id) = self.id_of(spool_queue) else { return };
        let under_way = self.under_way.entry(id).or_default();
        let some: Vec<(QueueSeq, u64)> = under_way.iter().filter(|_| random.percent(70)).copied().collect();
        let seqs: Vec<QueueSeq> = some.iter().map(|(seq, _)| *seq).collect();
        under_way.retain(|one| !some.contains(one));
        self.spool.settle(id, &seqs, false, 0);
        let end = self.store.appended();
        self.history.extend(some.into_iter().map(|(_, number)| (end, Happened::Settled { number })));
    }

    fn put_back(&mut self, spool_queue: (usize, usize), random: &mut Random) {
        let Some(id) = self.id_of(spool_queue) else { return };
        let under_way = self.under_way.entry(id).or_default();
        // Those that were sent last: what a lost connection leaves.
        let keep = random.below(under_way.len() as u64 + 1) as usize;
        let back: Vec<(QueueSeq, u64)> = under_way.iter().skip(keep).copied().collect();
        under_way.retain(|one| !back.contains(one));
        if let Some((_, first)) = back.first() {
            match first.checked_sub(1) {
                Some(before) => drop(self.taken.insert(id, before)),
                None => drop(self.taken.remove(&id)),
            }
        }
        self.spool.put_back(id, &back.iter().map(|(seq, _)| *seq).collect::<Vec<_>>());
    }

    /// As an operator does: the first that is not under way, or all.
    fn drop_some(&mut self, spool_queue: (usize, usize), random: &mut Random) {
        let (user, vhost) = (USERS[spool_queue.0], USERS[spool_queue.1]);
        let Some(id) = self.id_of(spool_queue) else { return };
        let mut all = self.expected().remove(&spool_queue).unwrap_or_default();
        let under_way = self.under_way.entry(id).or_default();
        let before = self.spool.report().count();
        if random.percent(30) {
            self.spool.drop_all(user, vhost);
            under_way.clear();
        } else {
            all.retain(|number| !under_way.iter().any(|(_, taken)| taken == number));
            all.truncate(1);
            if self.spool.drop_first(user, vhost) == Err(NotNow::Loading) {
                return;
            }
        }
        assert_eq!(before - self.spool.report().count(), all.len() as u64);
        let end = self.store.appended();
        self.history.extend(all.into_iter().map(|number| (end, Happened::Settled { number })));
    }

    /// Takes all that is there.
    fn check(&self, seed: u64) {
        let expected = self.expected();
        let all: usize = expected.values().map(Vec::len).sum();
        assert_eq!(self.spool.report().count(), all as u64, "seed {seed}: other messages are counted than were kept");
        for (spool_queue, numbers) in expected {
            let id = self.id_of(spool_queue).unwrap_or_else(|| panic!("seed {seed}: queue {spool_queue:?} is gone"));
            let mut found = Vec::new();
            loop {
                match next(&self.spool, id) {
                    Some(one) => found.push(one),
                    None if self.store.load_once(&*self.residents) => {}
                    None => break,
                }
            }
            let in_order: Vec<u64> = found.iter().map(|(_, frames)| number_of(frames)).collect();
            assert_eq!(in_order, numbers, "seed {seed}, queue {spool_queue:?}");
            self.spool.put_back(id, &found.iter().map(|(seq, _)| *seq).collect::<Vec<_>>());
        }
    }
}

fn content_of(number: u64, len: usize) -> Vec<u8> {
    let mut content = vec![number as u8; len.max(8)];
    content[..8].copy_from_slice(&number.to_le_bytes());
    content
}

fn number_of(content: &[u8]) -> u64 {
    let number = u64::from_le_bytes(*content.first_chunk().unwrap());
    assert!(content[8..].iter().all(|byte| *byte == number as u8), "another content than was kept");
    number
}

/// Lives one after the other on one disk: what was durable when one ended exists in the next, and what exists was not settled.
fn live(seed: u64) {
    let mut random = Random::new(seed);
    let disk = SimDisk::new(seed);
    let (mut history, mut next_number, mut durable) = (Vec::new(), 0, JournalPosition::START);
    for _ in 0..4 {
        let mut life = Life::begin(&disk, random.next(), history, next_number);
        assert!(life.store.appended() >= durable, "seed {seed}: what was durable is gone");
        life.check(seed);
        for _ in 0..random.below(600) {
            life.step(&mut random);
        }
        durable = life.store.durable();
        (history, next_number) = (life.history.clone(), life.next_number);
        drop(life);
        match random.percent(60) {
            true => {
                disk.cut_power();
                disk.restart();
            }
            false => disk.kill_process(),
        }
    }
}

#[test]
fn what_was_on_disk_when_the_power_went_is_there_and_nothing_else() {
    let seed = |name: &str| std::env::var(name).ok().and_then(|seed| seed.parse().ok());
    match seed("SPOOL_SEED") {
        Some(seed) => live(seed),
        None => (0..seed("SPOOL_SEEDS").unwrap_or(100)).for_each(live),
    }
}
