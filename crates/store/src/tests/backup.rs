//! Backups at any moment, while everything continues and the power may fail: what comes to have its final name holds what was durable when
//! the backup began, whole, and neither of the two directories ever minds what becomes of the other.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use model::ids::JournalPosition;

use super::meddling::Meddling;
use super::threads::{self, TempDir};
use crate::backup::{BackupInProgress, Step};
use crate::file::{Disk, Faults, RealDisk, SimDisk};
use crate::fsck;
use crate::journal::ConfirmAfter;
use crate::simulation::{Broker, History, Legacy, Seen, check, for_each_seed};
use crate::{BackupError, Options, QueueOwner, Random, Store};

const SEED_COUNT: u64 = 500;
const DATA: &str = "/data";
const COPIES: &str = "/copies";

/// A backup that was begun.
struct Begun<'a> {
    making: BackupInProgress<'a>,
    dir: PathBuf,
    /// What was durable then.
    durable: JournalPosition,
}

/// A directory that should be a whole backup.
struct Copy {
    dir: PathBuf,
    durable: JournalPosition,
    /// `None`: the power failed before the call returned.
    end: Option<JournalPosition>,
    history: History,
}

/// How much has been tried.
#[derive(Debug, Default)]
struct Tried {
    finished: u64,
    cut_short: u64,
    abandoned: u64,
    /// Messages in segments that were linked or copied.
    linked: u64,
    copied: u64,
    reclaimed: u64,
}

fn options(dir: &Path, random: &mut Random) -> Options {
    let mut options = Options::small(dir.to_owned(), random.next());
    if random.percent(20) {
        options.journal.confirm_after = ConfirmAfter::Write;
    }
    options
}

fn temporary(dir: &Path) -> PathBuf {
    PathBuf::from(format!("{}.unfinished", dir.display()))
}

fn is_there(disk: &SimDisk, dir: &Path) -> bool {
    disk.list(dir).is_ok()
}

/// The backup is a data directory in which nothing is amiss or left over, with just what was appended up to its end; and can be used as
/// one.
#[track_caller]
fn check_copy(disk: &SimDisk, copy: Copy, random: &mut Random) {
    let Copy { dir, durable, end, mut history } = copy;
    let names = disk.list(&dir).unwrap();
    assert_eq!(names, ["format", "manifest", "synced"], "{}", dir.display());
    let shared: Arc<dyn Disk> = Arc::new(disk.clone());
    let report = fsck::check(&shared, &dir).unwrap();
    assert!(report.is_sound() && !report.to_string().contains("left by a crash"), "{report}");

    let (store, recovered) = Store::open_stepped(options(&dir, random), shared).unwrap();
    assert!(end.is_none_or(|end| end == store.appended()), "{end:?}, but {} in the files", store.appended());
    check(&store, &recovered, &mut history, durable);
    let expected = history.cut_at(store.appended()).clone();
    let (seen, random) = (Seen::default(), random.clone());
    let broker =
        Broker::restore(store, recovered, Legacy { seen, random, history, next_queue: 1000, next_message: 1 << 40 });
    expected.queues.iter().for_each(|(id, queue)| broker.expect(*id, &queue.messages));
    for _ in 0..30 {
        broker.act().unwrap();
    }
    broker.drain();
}

struct World {
    random: Random,
    disk: Arc<Meddling>,
    tried: Tried,
    /// Backups to be looked at after the next restart.
    copies: Vec<Copy>,
    next_copy: u32,
}

impl World {
    fn new(seed: u64) -> Self {
        let mut random = Random::new(seed);
        let disk = Meddling::new(SimDisk::new(seed));
        disk.create_dir(Path::new(COPIES)).unwrap();
        if random.percent(50) {
            disk.mount(Path::new(COPIES));
        }
        World { random, disk, tried: Tried::default(), copies: Vec::new(), next_copy: 1 }
    }

    /// Begins a backup, or continues it.
    fn back_up<'a>(&mut self, broker: &Broker, store: &'a Store, begun: Option<Begun<'a>>) -> Option<Begun<'a>> {
        let Some(mut begun) = begun else {
            let dir = Path::new(COPIES).join(self.next_copy.to_string());
            if self.random.percent(20) {
                let _ = self.disk.create_dir(&dir); // it may be there, and empty
            }
            let durable = store.durable();
            let piece_len = 512 << self.random.below(6);
            return match BackupInProgress::begin(&store.shared, &dir, piece_len) {
                Ok(making) => Some(Begun { making, dir, durable }),
                Err(error) => {
                    assert!(self.disk.is_cut(), "{error}");
                    None
                }
            };
        };
        match begun.making.step() {
            Ok(Step::Copied(_)) => return Some(begun),
            Ok(Step::Ended(backup)) => {
                assert_eq!(backup.dir, begun.dir);
                self.tried.finished += 1;
                self.tried.linked += backup.linked_len;
                self.tried.copied += backup.len - backup.linked_len;
                self.next_copy += 1;
                let (dir, durable, end) = (begun.dir, begun.durable, Some(backup.end));
                self.copies.push(Copy { dir, durable, end, history: broker.history() });
            }
            Err(error) => {
                assert!(self.disk.is_cut(), "{error}");
                self.cut_short(broker, begun);
            }
        }
        None
    }

    /// The power failed while a backup was made. If it has its final name all the same, it must be whole.
    fn cut_short(&mut self, broker: &Broker, begun: Begun<'_>) {
        let Begun { dir, durable, .. } = begun;
        self.tried.cut_short += 1;
        self.copies.push(Copy { dir, durable, end: None, history: broker.history() });
    }

    fn abandon(&mut self, begun: Begun<'_>) {
        let dir = begun.dir;
        drop(begun.making);
        self.tried.abandoned += 1;
        assert!(!is_there(&self.disk, &temporary(&dir)), "what was made of a backup is still there");
        assert!(self.disk.list(&dir).is_err() || self.disk.is_empty_dir(&dir).unwrap());
    }

    /// Does all kinds of things, backups among them.
    fn act(&mut self, broker: &Broker, store: &Store) {
        let mut begun: Option<Begun<'_>> = None;
        for _ in 0..self.random.below(300) {
            if let Err(error) = broker.act() {
                assert!(self.disk.is_cut(), "{error}");
                break;
            }
            let percent = if begun.is_some() { 40 } else { 10 };
            if self.random.percent(percent) {
                begun = self.back_up(broker, store, begun);
            }
        }
        match begun {
            Some(begun) if self.disk.is_cut() => self.cut_short(broker, begun),
            Some(begun) => self.abandon(begun),
            None => {}
        }
    }

    fn check_copies(&mut self) {
        for copy in std::mem::take(&mut self.copies) {
            let is_whole = is_there(&self.disk, &copy.dir) && !self.disk.is_empty_dir(&copy.dir).unwrap();
            if copy.end.is_none() && !is_whole {
                continue;
            }
            if copy.end.is_none() {
                self.next_copy += 1;
            }
            check_copy(&self.disk, copy, &mut self.random);
        }
    }

    fn open(&mut self) -> (Arc<Store>, crate::RecoveredStore) {
        Store::open_stepped(options(Path::new(DATA), &mut self.random), self.disk.clone()).unwrap()
    }
}

fn run(seed: u64) -> Tried {
    let mut world = World::new(seed);
    let (seen, history) = (Seen::default(), History::default());
    let mut legacy = Legacy { seen, random: world.random.clone(), history, next_queue: 1, next_message: 1 };
    let mut synced = JournalPosition::START;
    for _ in 0..world.random.range(2..5) {
        let (store, recovered) = world.open();
        check(&store, &recovered, &mut legacy.history, synced);
        let expected = legacy.history.cut_at(store.appended()).clone();
        let broker = Broker::restore(store.clone(), recovered, legacy);
        expected.queues.iter().for_each(|(id, queue)| broker.expect(*id, &queue.messages));
        world.disk.set_broker(Arc::downgrade(&broker));
        if world.random.percent(30) {
            world.disk.set_faults(Faults { short_write_percent: 20, interrupt_percent: 10, ..Faults::default() });
        }
        if world.random.percent(50) {
            world.disk.cut_power_at(world.disk.operation_count() + world.random.below(400));
        }
        world.act(&broker, &store);
        world.disk.set_broker(Weak::new());
        synced = store.shared.journal.synced();
        drop(store);
        let (store, left) = broker.end();
        legacy = left;
        drop(store);
        match !world.disk.is_cut() && world.random.percent(30) {
            true => world.disk.kill_process(),
            false => world.disk.restart(),
        }
        world.disk.set_faults(Faults::default());
        world.check_copies();
        world.disk.kill_process(); // lets go of the copies' locks
    }
    let (store, recovered) = world.open();
    check(&store, &recovered, &mut legacy.history, synced);
    world.tried.reclaimed = legacy.seen.removed + legacy.seen.copied;
    world.tried
}

#[test]
fn a_backup_holds_what_was_durable_when_it_began() {
    let mut all = Tried::default();
    let is_whole = for_each_seed(SEED_COUNT, |seed| {
        let tried = run(seed);
        all.finished += tried.finished;
        all.cut_short += tried.cut_short;
        all.abandoned += tried.abandoned;
        all.linked += tried.linked;
        all.copied += tried.copied;
        all.reclaimed += tried.reclaimed;
    });
    println!("{all:?}");
    let is_thorough = all.finished > SEED_COUNT && all.cut_short > SEED_COUNT / 4 && all.abandoned > SEED_COUNT / 4;
    let is_thorough = is_thorough && all.linked > 0 && all.reclaimed > SEED_COUNT;
    assert!(is_thorough || !is_whole, "the test has become too tame: {all:?}");
}

/// A store with some traffic behind it.
fn busy(seed: u64, disk: &SimDisk, options: Options) -> (Arc<Store>, Arc<Broker>) {
    disk.create_dir(Path::new(COPIES)).unwrap();
    let (store, recovered) = Store::open_stepped(options, Arc::new(disk.clone())).unwrap();
    let (seen, history, random) = (Seen::default(), History::default(), Random::new(seed));
    let broker =
        Broker::restore(store.clone(), recovered, Legacy { seen, random, history, next_queue: 1, next_message: 1 });
    for _ in 0..300 {
        broker.act().unwrap();
    }
    (store, broker)
}

fn copy_dir() -> PathBuf {
    Path::new(COPIES).join("copy")
}

fn small_options() -> Options {
    Options::small(PathBuf::from(DATA), 1)
}

#[test]
fn where_writes_or_syncs_fail_there_is_a_whole_backup_or_none() {
    let (mut made, mut failed) = (0, 0);
    for seed in 0..200 {
        let disk = SimDisk::new(seed);
        if seed % 2 == 0 {
            disk.mount(Path::new(COPIES));
        }
        let (store, broker) = busy(seed, &disk, small_options());
        let durable = store.durable();
        disk.set_faults(Faults { write_failure_percent: 2, sync_failure_percent: 3, ..Faults::default() });
        let outcome = store.backup(&copy_dir());
        disk.set_faults(Faults::default());
        let history = broker.history();
        // The handles to the store are dropped with it.
        drop((store, broker));
        disk.restart();
        match outcome {
            Ok(backup) => {
                made += 1;
                let copy = Copy { dir: copy_dir(), durable, end: Some(backup.end), history };
                check_copy(&disk, copy, &mut Random::new(seed));
            }
            Err(error) => {
                failed += 1;
                assert!(matches!(error, BackupError::Io { .. }), "{error}");
                assert!(!is_there(&disk, &copy_dir()), "{error}");
            }
        }
    }
    assert!(made > 20 && failed > 20, "{made} made, {failed} failed");
}

/// What failed to be synced is in another file then, and what is left of it where it failed must not be taken for anything.
#[test]
fn a_journal_that_went_on_in_another_file_is_copied_from_both() {
    let mut made = 0;
    for seed in 0..60 {
        let disk = SimDisk::new(seed);
        let (store, broker) = busy(seed, &disk, small_options());
        let go_on = |fails: bool| {
            broker.publish();
            disk.fail_syncs(u32::from(fails));
            store.step_journal().unwrap();
            disk.fail_syncs(0);
        };
        (0..20).for_each(|round| go_on(round % 5 == seed % 5));
        let durable = store.durable();
        // Where a file could not be prepared, the disk counts as full.
        let mut making = match BackupInProgress::begin(&store.shared, &copy_dir(), 4096) {
            Err(BackupError::DiskFull) => continue,
            making => making.unwrap(),
        };
        let mut round = 0;
        let outcome = loop {
            go_on(round % 3 == 0);
            round += 1;
            match making.step() {
                Ok(Step::Copied(_)) => {}
                Ok(Step::Ended(backup)) => break Some(backup),
                Err(BackupError::DiskFull) => break None,
                Err(error) => panic!("{error}"),
            }
        };
        drop(making);
        let Some(backup) = outcome else { continue };
        made += 1;
        let copy = Copy { dir: copy_dir(), durable, end: Some(backup.end), history: broker.history() };
        drop((store, broker));
        disk.restart();
        check_copy(&disk, copy, &mut Random::new(seed));
    }
    assert!(made > 10, "{made} made");
}

#[test]
fn a_backup_that_finds_no_room_leaves_nothing_and_stops_nobody() {
    let (mut made, mut refused) = (0, 0);
    for seed in 0..60 {
        let disk = SimDisk::new(seed);
        disk.mount(Path::new(COPIES));
        let (store, broker) = busy(seed, &disk, small_options());
        let used = disk.used();
        let room = (1 << 20) + (seed * seed * 300);
        disk.set_faults(Faults { capacity: Some(used + room), ..Faults::default() });
        let mut making = BackupInProgress::begin(&store.shared, &copy_dir(), 4096).unwrap();
        let outcome = loop {
            match making.step() {
                Ok(Step::Copied(_)) => broker.publish(), // which may take the room there was
                Ok(Step::Ended(backup)) => break Ok(backup),
                Err(error) => break Err(error),
            }
            let _ = store.step_journal();
        };
        drop(making);
        match outcome {
            Ok(_) => made += 1,
            Err(error) => {
                refused += 1;
                assert!(matches!(error, BackupError::NoRoom { .. } | BackupError::DiskFull), "{error}");
                assert!(!is_there(&disk, &copy_dir()) && !is_there(&disk, &temporary(&copy_dir())));
            }
        }
        disk.set_faults(Faults::default());
        for _ in 0..20 {
            store.step_journal().unwrap();
            broker.publish();
        }
        store.refill_reserve();
        store.step_journal().unwrap();
        assert!(!store.is_disk_full(), "the disk counts as full");
    }
    assert!(made > 5 && refused > 5, "{made} made, {refused} refused");
}

#[test]
fn the_journal_is_retired_while_it_is_copied() {
    let disk = SimDisk::new(1);
    let (store, broker) = busy(1, &disk, small_options());
    let durable = store.durable();
    let mut making = BackupInProgress::begin(&store.shared, &copy_dir(), 4096).unwrap();
    let bound = store.shared.options.journal.unretired_len_max;
    for _ in 0..400 {
        broker.publish();
        let mut step_count = 0;
        while store.is_congested() {
            store.step_journal().unwrap();
            while store.retire_once(&*broker).unwrap().is_some() {}
            step_count += 1;
            assert!(step_count < 100, "publishers wait for a backup");
        }
    }
    assert!(store.durable().0 - durable.0 > 4 * bound, "the journal has not been used over and over");
    let backup = loop {
        if let Step::Ended(backup) = making.step().unwrap() {
            break backup;
        }
    };
    drop(making);
    // All files that were held are used again or removed.
    while store.step_journal().is_ok() && disk.used() > 40 * bound {}
    let copy = Copy { dir: copy_dir(), durable, end: Some(backup.end), history: broker.history() };
    check_copy(&disk, copy, &mut Random::new(1));
}

#[test]
fn what_a_backup_pinned_is_removed_when_it_has_ended() {
    let disk = SimDisk::new(2);
    disk.mount(Path::new(COPIES));
    let (store, broker) = busy(2, &disk, small_options());
    (0..30).for_each(|_| broker.publish());
    store.retire_to(store.appended(), u64::MAX, &*broker).unwrap();
    let segments = |disk: &SimDisk| disk.list(Path::new("/data/segments")).unwrap().len();
    let empty = |store: &Store| {
        store.step_journal().unwrap();
        while store.reclaim_once(&*broker).unwrap().is_some() {}
        store.checkpoint_once().unwrap();
    };
    empty(&store);
    let making = BackupInProgress::begin(&store.shared, &copy_dir(), 4096).unwrap();
    let pinned = segments(&disk);
    assert!(pinned > 0);
    while broker.consume() {
        while store.load_once(&*broker) {}
    }
    empty(&store);
    assert_eq!(segments(&disk), pinned);
    assert!(!store.shared.has_doomed(), "no checkpoint would remove them now");
    drop(making);
    assert!(store.shared.has_doomed());
    empty(&store);
    assert_eq!(segments(&disk), 0);
}

#[track_caller]
fn check_refused(to: &str, error: &str) {
    let disk = SimDisk::new(1);
    let (store, _broker) = busy(1, &disk, small_options());
    disk.create_dir(Path::new("/copies/full")).unwrap();
    disk.create(Path::new("/copies/full/a")).unwrap();
    assert_eq!(store.backup(Path::new(to)).unwrap_err().to_string(), error);
}

#[test]
fn directories_that_will_not_do_are_refused() {
    check_refused("/copies/full", "cannot write a backup to /copies/full: it exists and is not empty");
    check_refused("/data/copy", "cannot write a backup to /data/copy: it is in the broker's own data directory");
    check_refused("copy", "cannot write a backup to copy: name a directory by its whole path, from / on");
    check_refused("/", "cannot write a backup to /: name a directory by its whole path, from / on");
    check_refused("/copies/../data/x", "cannot write a backup to /copies/../data/x: name it without `..`");
}

#[test]
fn one_backup_is_made_at_a_time() {
    let disk = SimDisk::new(1);
    let (store, _broker) = busy(1, &disk, small_options());
    let making = BackupInProgress::begin(&store.shared, &copy_dir(), 4096).unwrap();
    assert!(matches!(store.backup(&Path::new(COPIES).join("other")), Err(BackupError::Busy)));
    drop(making);
    store.backup(&Path::new(COPIES).join("other")).unwrap();
}

#[test]
fn another_process_that_makes_a_backup_there_is_left_alone() {
    let disk = SimDisk::new(1);
    let (store, _broker) = busy(1, &disk, small_options());
    let other = temporary(&copy_dir());
    disk.create_dir(&other).unwrap();
    let lock = disk.try_lock(&other.join("lock")).unwrap();
    let error = store.backup(&copy_dir()).unwrap_err().to_string();
    assert_eq!(error, "cannot write a backup to /copies/copy: another process is making one there");
    assert!(is_there(&disk, &other));
    drop(lock);
    store.backup(&copy_dir()).unwrap();
}

#[test]
fn what_somebody_else_put_there_is_not_removed() {
    let disk = SimDisk::new(1);
    let (store, _broker) = busy(1, &disk, small_options());
    let other = temporary(&copy_dir()).join("journal");
    disk.create_dir(&other).unwrap();
    disk.create(&other.join("diary")).unwrap();
    let error = store.backup(&copy_dir()).unwrap_err().to_string();
    assert!(error.starts_with("removing the rest of another backup in /copies/copy.unfinished failed"), "{error}");
    assert_eq!(disk.list(&other).unwrap(), ["diary"]);
}

/// A broker with its threads on a real disk, and a client that publishes and consumes until `work` is done.
fn with_traffic(options: Options, work: impl FnOnce(&Store, &Broker) + Send) {
    let (store, recovered) = Store::open(options, Arc::new(RealDisk)).unwrap();
    let (seen, history, random) = (Seen::default(), History::default(), Random::new(1));
    let broker =
        Broker::restore(store.clone(), recovered, Legacy { seen, random, history, next_queue: 1, next_message: 1 });
    let owner: Arc<dyn QueueOwner> = broker.clone();
    store.start(owner);
    std::thread::scope(|scope| {
        let worker = scope.spawn(|| work(&store, &broker));
        while !worker.is_finished() {
            match store.is_congested() {
                true => drop(broker.consume()),
                false => broker.serve(),
            }
        }
        worker.join().unwrap();
    });
    store.close().unwrap();
}

#[test]
fn a_broker_with_threads_is_copied_while_clients_work() {
    let (dir, copies) = (TempDir::new(), TempDir::new());
    with_traffic(threads::options(&dir, 1), |store, broker| {
        for number in 0..8 {
            let durable = store.durable();
            let backup = store.backup(&copies.0.join(number.to_string())).unwrap();
            assert!(backup.end >= durable && backup.linked_len < backup.len);
            let mut history = broker.history();
            let mut options = threads::options(&dir, 2);
            options.dir = backup.dir.clone();
            let shared: Arc<dyn Disk> = Arc::new(RealDisk);
            assert!(fsck::check(&shared, &backup.dir).unwrap().is_sound());
            let (copy, recovered) = Store::open_stepped(options, shared).unwrap();
            assert_eq!(copy.appended(), backup.end);
            check(&copy, &recovered, &mut history, durable);
            // Time for others to retire and reclaim what the next one finds.
            let until = store.durable().0 + (1 << 20);
            let start = Instant::now();
            while store.durable().0 < until && start.elapsed() < Duration::from_secs(10) {
                std::thread::yield_now();
            }
        }
    });
    assert_eq!(std::fs::read_dir(&copies.0).unwrap().count(), 8);
}

#[test]
fn a_store_that_is_closed_takes_its_unfinished_backup_along() {
    let (dir, copies) = (TempDir::new(), TempDir::new());
    let mut options = threads::options(&dir, 1);
    options.backup_rate_per_s = 1; // it does not get beyond its first bytes
    let (store, _) = Store::open(options, Arc::new(RealDisk)).unwrap();
    let mut batch = crate::RecordBatch::new();
    batch.put(b"key", b"value");
    store.shared.wait_synced(store.append(&mut batch)).unwrap();
    let to = copies.0.join("copy");
    std::thread::scope(|scope| {
        let backup = scope.spawn(|| store.backup(&to));
        let has_begun =
            || std::fs::read_dir(temporary(&to).join("journal")).is_ok_and(|mut names| names.next().is_some());
        while !has_begun() {
            assert!(!backup.is_finished(), "a backup ended that had only begun");
            std::thread::yield_now();
        }
        store.close().unwrap();
        assert_eq!(std::fs::read_dir(&copies.0).unwrap().count(), 0);
        assert!(matches!(backup.join().unwrap(), Err(BackupError::Closing)));
    });
}

#[test]
fn the_data_directory_is_known_by_all_its_names() {
    let (dir, copies) = (TempDir::new(), TempDir::new());
    let here = std::env::current_dir().unwrap();
    let to_root: std::path::PathBuf = here.components().skip(1).map(|_| "..").collect();
    let relative = to_root.join(dir.0.strip_prefix("/").unwrap());
    let link = copies.0.join("link");
    std::fs::create_dir_all(&dir.0).unwrap();
    std::fs::create_dir_all(&copies.0).unwrap();
    std::os::unix::fs::symlink(&dir.0, &link).unwrap();
    for data_dir in [&dir.0, &relative, &link] {
        let options = Options { dir: data_dir.clone(), ..threads::options(&dir, 1) };
        let (store, _) = Store::open_stepped(options, Arc::new(RealDisk)).unwrap();
        for to in [dir.0.join("copy"), dir.0.join("journal/not/there/yet"), link.join("copy"), link.clone()] {
            let error = store.backup(&to).unwrap_err().to_string();
            assert!(error.ends_with("it is in the broker's own data directory"), "{}: {error}", data_dir.display());
        }
        let beside = copies.0.join("new/copy");
        store.backup(&beside).unwrap();
        std::fs::remove_dir_all(&beside).unwrap();
        store.close().unwrap();
    }
}
