//! Files that are not what was written: a start reports it, `fsck` finds it, and what it repairs can be opened.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use model::ids::{QueueId, QueueSeq};

use super::power_loss::options;
use crate::file::{Disk, SimDisk};
use crate::fsck::{self, FsckError, Loss, Report, Verdict};
use crate::simulation::{Broker, History, Legacy, MessageNumber, Seen, for_each_seed, number_of, read_ranges};
use crate::{DirError, Random, RecoveredStore, Store};

pub(super) type Messages = BTreeMap<(QueueId, QueueSeq), MessageNumber>;

/// A directory that a broker has worked in for a while, and what must be in it.
pub(super) struct Written {
    pub(super) disk: SimDisk,
    pub(super) random: Random,
    pub(super) history: History,
    /// All that was durable.
    pub(super) expected: Messages,
}

/// How a broker ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stop {
    Clean,
    /// With `kill -9`, after a while in which nothing happened.
    Killed,
}

pub(super) fn write(seed: u64, stop: Stop) -> Written {
    let mut random = Random::new(seed);
    let disk = SimDisk::new(seed);
    let (store, recovered) = Store::open_stepped(options(&mut random), Arc::new(disk.clone())).unwrap();
    let (seen, history) = (Seen::default(), History::default());
    let legacy = Legacy { seen, random: random.clone(), history, next_queue: 1, next_message: 1 };
    let broker = Broker::restore(store, recovered, legacy);
    for _ in 0..random.range(30..150) {
        broker.act().unwrap();
    }
    let (store, mut legacy) = broker.end();
    match stop {
        Stop::Clean => store.close().unwrap(),
        Stop::Killed => store.settle_down().unwrap(),
    }
    let expected = legacy.history.cut_at(store.appended());
    let expected = expected.queues.iter();
    let expected = expected.flat_map(|(id, queue)| queue.messages.iter().map(|(seq, number)| ((*id, *seq), *number)));
    let expected = expected.collect();
    drop(store);
    disk.kill_process();
    Written { disk, random, history: legacy.history, expected }
}

/// How many of these are not there as they were.
pub(super) fn missing(expected: &Messages, found: &Messages) -> usize {
    expected.iter().filter(|(place, number)| found.get(place) != Some(number)).count()
}

pub(super) fn files(disk: &SimDisk, dir: &str) -> Vec<PathBuf> {
    let dir = Path::new("/data").join(dir);
    disk.list(&dir).map(|names| names.into_iter().map(|name| dir.join(name)).collect()).unwrap_or_default()
}

/// What is in each file that a repair may have to do with.
fn contents(disk: &SimDisk) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut paths: Vec<PathBuf> =
        ["journal", "segments", "checkpoints"].iter().flat_map(|dir| files(disk, dir)).collect();
    paths.extend([PathBuf::from("/data/manifest"), PathBuf::from("/data/format")]);
    let read = |path: PathBuf| {
        let file = disk.open(&path).ok()?;
        let mut bytes = vec![0; file.len().unwrap() as usize];
        crate::file::read_exact_at(&*file, &mut bytes, 0).unwrap();
        Some((path, bytes))
    };
    paths.into_iter().filter_map(read).collect()
}

/// Checks that a repair has reported each file that it moved or wrote over, and of no other.
fn check_told(before: &BTreeMap<PathBuf, Vec<u8>>, disk: &SimDisk, report: &Report, seed: u64) {
    let after = contents(disk);
    let mut moved = report.moved.clone();
    moved.sort();
    assert_eq!(moved, files(disk, "quarantine"), "seed {seed}: {report}");
    for (path, bytes) in before {
        let is_told = match after.get(path) {
            None => moved.iter().any(|to| to.file_name() == path.file_name()),
            Some(now) => now == bytes || report.rewritten.contains(path),
        };
        assert!(is_told, "seed {seed}: {} has been changed\n{report}", path.display());
    }
    for path in &report.rewritten {
        assert_ne!(after.get(path), before.get(path), "seed {seed}: {} is as it was\n{report}", path.display());
    }
    let text = report.to_string();
    assert_eq!(text.contains("quarantine"), !moved.is_empty(), "seed {seed}: {text}");
    assert_eq!(text.contains("Rewritten"), !report.rewritten.is_empty(), "seed {seed}: {text}");
}

fn flip(disk: &SimDisk, path: &Path, random: &mut Random) {
    let len = disk.open(path).unwrap().len().unwrap();
    if len > 0 {
        disk.flip_bit(path, random.below(len), random.below(8) as u8);
    }
}

/// Damages something, anything.
fn damage(disk: &SimDisk, random: &mut Random) {
    let dirs = ["journal", "segments", "segments", "checkpoints"];
    let mut all = files(disk, dirs[random.below(4) as usize]);
    all.extend([PathBuf::from("/data/manifest"), PathBuf::from("/data/format")]);
    let path = random.pick(&all).unwrap().clone();
    let Ok(file) = disk.open(&path) else { return };
    let len = file.len().unwrap();
    match random.below(10) {
        0 => disk.remove(&path).unwrap(),
        1 => file.truncate(random.below(len + 1)).unwrap(),
        2 => {
            let start = random.below(len + 1);
            let zeros = vec![0; random.below(len - start + 1).min(6000) as usize];
            crate::file::write_all_at(&*file, &zeros, start).unwrap();
        }
        _ => flip(disk, &path, random),
    }
}

pub(super) fn all_messages(store: &Store, recovered: &RecoveredStore) -> Messages {
    let mut found = BTreeMap::new();
    for (id, queue) in &recovered.queues {
        let in_memory = queue.messages.iter().map(|(seq, content)| (*seq, number_of(content.bytes())));
        for (seq, number) in read_ranges(store, *id, queue).into_iter().chain(in_memory) {
            let is_first = found.insert((*id, seq), number).is_none();
            assert!(is_first, "queue {id} has message {seq} twice");
        }
    }
    found
}

#[test]
fn an_undamaged_directory_is_sound() {
    for_each_seed(30, |seed| {
        let Written { disk, .. } = write(seed, Stop::Clean);
        let disk: Arc<dyn Disk> = Arc::new(disk);
        let report = fsck::check(&disk, Path::new("/data")).unwrap();
        assert!(report.is_sound(), "{report}");
        let repaired = fsck::repair(&disk, Path::new("/data"), Loss::Accepted).unwrap();
        assert_eq!(repaired, report);
    });
}

#[test]
fn a_message_with_a_flipped_bit_is_the_only_one_that_is_lost() {
    let mut damaged_count = 0;
    let is_whole = for_each_seed(150, |seed| {
        let Written { disk, mut random, expected, .. } = write(seed, Stop::Clean);
        let Some(path) = random.pick(&files(&disk, "segments")).cloned() else { return };
        flip(&disk, &path, &mut random);
        let shared: Arc<dyn Disk> = Arc::new(disk.clone());
        let found = fsck::check(&shared, Path::new("/data")).unwrap();
        let report = fsck::repair(&shared, Path::new("/data"), Loss::Accepted).unwrap();
        assert!(report.is_sound(), "seed {seed}: {report}");
        let (store, recovered) = Store::open_stepped(options(&mut random), shared)
            .unwrap_or_else(|error| panic!("seed {seed}: {error}\n{report}"));
        let messages = all_messages(&store, &recovered);
        let lost = expected.keys().filter(|place| !messages.contains_key(place)).count();
        assert!(lost as u64 <= found.lost_count, "seed {seed}: {lost} messages are lost\n{found}");
        assert!(messages.iter().all(|(place, number)| expected.get(place) == Some(number)), "seed {seed}: {report}");
        // A content that several queues share may take several messages with it.
        assert!(lost <= 3, "seed {seed}: {lost} messages are lost\n{report}");
        damaged_count += u32::from(!found.is_sound());
    });
    assert!(damaged_count > 50 || !is_whole, "only {damaged_count} times something was damaged");
}

#[test]
fn whatever_is_damaged_is_found_and_can_be_repaired() {
    let mut refused_count = 0;
    let is_whole = for_each_seed(400, |seed| {
        let Written { disk, mut random, history, expected } = write(seed, Stop::Clean);
        for _ in 0..random.range(1..4) {
            damage(&disk, &mut random);
        }
        let shared: Arc<dyn Disk> = Arc::new(disk.clone());
        let found = match fsck::check(&shared, Path::new("/data")) {
            Err(FsckError::Directory(DirError::NewerFormat { .. })) => return, // one flipped bit can say so
            found => found.unwrap(),
        };
        if found.is_sound() {
            let opened = Store::open_stepped(options(&mut random), shared.clone());
            let (store, _) = opened.unwrap_or_else(|error| panic!("seed {seed}: {error}, yet {found}"));
            drop(store);
            disk.kill_process();
        }
        let before = contents(&disk);
        let careful = fsck::repair(&shared, Path::new("/data"), Loss::Refused).unwrap();
        let report = if careful.is_refused {
            refused_count += 1;
            assert_eq!(contents(&disk), before, "seed {seed}: {careful}");
            let report = fsck::repair(&shared, Path::new("/data"), Loss::Accepted).unwrap();
            assert_eq!(report.losses, careful.losses, "seed {seed}: {report}");
            report
        } else {
            careful
        };
        let is_lossless = report.losses.is_empty();
        assert!(report.is_sound(), "seed {seed}: {report}");
        check_told(&before, &disk, &report, seed);
        let after = fsck::check(&shared, Path::new("/data")).unwrap();
        assert!(after.is_sound(), "seed {seed}: {report}\n{after}");
        let opened = Store::open_stepped(options(&mut random), shared);
        let (store, recovered) = opened.unwrap_or_else(|error| panic!("seed {seed}: {error}\n{report}"));
        let messages = all_messages(&store, &recovered);
        assert!(!is_lossless || messages == expected, "seed {seed}: something is gone or back\n{found}\n{report}");
        for ((queue, seq), number) in messages {
            assert_eq!(history.published(queue, seq), Some(number), "seed {seed}: queue {queue} has message {seq}");
        }
    });
    assert!(refused_count > 50 || !is_whole, "only {refused_count} times something would have been lost");
}

/// A segment that was cut short, or whose header or footer was damaged, was found by the consumer that asked for its messages, not by the
/// start.
#[test]
fn a_start_names_a_segment_that_is_missing_cut_or_damaged_at_its_ends() {
    let mut counts = BTreeMap::new();
    let is_whole = for_each_seed(150, |seed| {
        let Written { disk, mut random, expected, .. } = write(seed, Stop::Clean);
        let shared: Arc<dyn Disk> = Arc::new(disk.clone());
        let sound = fsck::check(&shared, Path::new("/data")).unwrap();
        let named = |path: &&PathBuf| sound.files.iter().any(|f| f.path == **path && f.verdict == Verdict::Good);
        let segments = files(&disk, "segments");
        let Some(path) = random.pick(&segments.iter().filter(named).collect::<Vec<_>>()).map(|path| (*path).clone())
        else {
            return;
        };
        let file = disk.open(&path).unwrap();
        let len = file.len().unwrap();
        let harm = random.below(5);
        match harm {
            0 => disk.remove(&path).unwrap(),
            1 => file.truncate(random.below(len)).unwrap(),
            2 => disk.flip_bit(&path, random.below(20), random.below(8) as u8),
            3 => disk.flip_bit(&path, len - 1 - random.below(32), random.below(8) as u8),
            _ => disk.fail_reads(&path, len - 1..len),
        }
        let error = Store::open_stepped(options(&mut random), shared.clone()).map(drop).unwrap_err().to_string();
        assert!(error.contains(path.to_str().unwrap()) && error.contains("warren fsck"), "seed {seed}: {error}");
        disk.kill_process();
        let found = fsck::check(&shared, Path::new("/data")).unwrap();
        assert!(found.files.iter().any(|file| file.path == path && !file.verdict.is_sound()), "seed {seed}: {found}");
        let report = fsck::repair(&shared, Path::new("/data"), Loss::Accepted).unwrap();
        let opened = Store::open_stepped(options(&mut random), shared);
        let (store, recovered) = opened.unwrap_or_else(|error| panic!("seed {seed}: {error}\n{report}"));
        let messages = all_messages(&store, &recovered);
        assert!(messages.iter().all(|(place, number)| expected.get(place) == Some(number)), "seed {seed}: {report}");
        let mut lost: BTreeMap<QueueId, u64> = BTreeMap::new();
        for (queue, _) in expected.keys().filter(|place| !messages.contains_key(place)) {
            *lost.entry(*queue).or_default() += 1;
        }
        // What the journal has settled since the checkpoint is counted, too.
        assert!(lost.values().sum::<u64>() <= found.lost_count, "seed {seed}: {lost:?}\n{found}");
        for queue in lost.keys() {
            assert!(found.to_string().contains(&format!("messages of queue {queue} are lost")), "seed {seed}: {found}");
        }
        assert!(lost.is_empty() || ![2, 3].contains(&harm), "seed {seed}: {lost:?}\n{found}");
        *counts.entry((harm, !lost.is_empty())).or_insert(0) += 1;
    });
    assert!(counts.len() >= 7 || !is_whole, "{counts:?}");
}

/// Makes a page of the file unreadable.
fn fail_reads(disk: &SimDisk, path: &Path, random: &mut Random) {
    let len = disk.open(path).unwrap().len().unwrap();
    let page = random.below(len.div_ceil(4096).max(1)) * 4096;
    disk.fail_reads(path, page..(page + 4096).min(len));
}

/// One sector that could not be read ended a check and a repair with an error and nothing else.
#[test]
fn what_cannot_be_read_is_found_and_repaired_like_other_damage() {
    let mut lost_count = 0;
    let is_whole = for_each_seed(150, |seed| {
        let Written { disk, mut random, history, expected } = write(seed, Stop::Clean);
        let dirs = ["segments", "journal", "checkpoints"];
        let all = files(&disk, dirs[random.below(3) as usize]);
        let Some(path) = random.pick(&all).cloned() else { return };
        fail_reads(&disk, &path, &mut random);
        let shared: Arc<dyn Disk> = Arc::new(disk.clone());
        let found = fsck::check(&shared, Path::new("/data")).unwrap();
        let report = fsck::repair(&shared, Path::new("/data"), Loss::Accepted).unwrap();
        assert!(report.is_sound(), "seed {seed}: {report}");
        let after = fsck::check(&shared, Path::new("/data")).unwrap();
        assert!(after.is_sound(), "seed {seed}: {found}\n{report}\n{after}");
        let (store, recovered) = Store::open_stepped(options(&mut random), shared)
            .unwrap_or_else(|error| panic!("seed {seed}: {error}\n{found}\n{report}"));
        let messages = all_messages(&store, &recovered);
        for ((queue, seq), number) in &messages {
            assert_eq!(history.published(*queue, *seq), Some(*number), "seed {seed}: queue {queue} has message {seq}");
        }
        let lost = expected.keys().filter(|place| !messages.contains_key(place)).count();
        assert!(lost == 0 || !found.is_sound(), "seed {seed}: {found}");
        lost_count += usize::from(lost > 0);
    });
    assert!(lost_count > 10 || !is_whole, "only {lost_count} times something was lost");
}

/// Any directory was called sound, and got a lock file.
#[test]
fn a_directory_that_is_not_ours_is_left_alone() {
    let disk = SimDisk::new(0);
    let shared: Arc<dyn Disk> = Arc::new(disk.clone());
    let dir = Path::new("/var/lib/warren");
    let check = |names: &[&str]| {
        let repair = |loss| fsck::repair(&shared, dir, loss);
        for examined in [fsck::check(&shared, dir), repair(Loss::Refused), repair(Loss::Accepted)] {
            let error = examined.unwrap_err();
            assert_eq!(error.to_string(), "/var/lib/warren is not a Warren data directory");
            assert_eq!(disk.list(dir).unwrap_or_default(), names);
        }
    };
    check(&[]);
    disk.create_dir(dir).unwrap();
    disk.create(&dir.join("lock")).unwrap();
    disk.create(&dir.join("warren.conf")).unwrap();
    check(&["lock", "warren.conf"]);
}

#[test]
fn a_check_creates_nothing() {
    let Written { disk, .. } = write(1, Stop::Clean);
    disk.remove(Path::new("/data/lock")).unwrap();
    let before = disk.operation_count();
    let shared: Arc<dyn Disk> = Arc::new(disk.clone());
    fsck::check(&shared, Path::new("/data")).unwrap();
    assert_eq!(disk.operation_count(), before);
}

/// A start deleted every file that no checkpoint names, no matter which program had put it there.
#[test]
fn a_start_deletes_nothing_that_is_not_the_stores() {
    let Written { disk, mut random, .. } = write(2, Stop::Clean);
    for dir in ["segments", "checkpoints", "transient"] {
        disk.create(&Path::new("/data").join(dir).join("000000000001.segment.bak")).unwrap();
    }
    drop(Store::open_stepped(options(&mut random), Arc::new(disk.clone())).unwrap());
    for dir in ["segments", "checkpoints", "transient"] {
        assert!(files(&disk, dir).iter().any(|path| path.extension().is_some_and(|found| found == "bak")), "{dir}");
    }
}

#[test]
fn a_start_names_the_damaged_file_and_the_tool() {
    let Written { disk, mut random, .. } = write(3, Stop::Clean);
    let checkpoint = checkpoint_of(&disk);
    flip(&disk, &checkpoint, &mut random);
    flip(&disk, &checkpoint.with_extension("copy"), &mut random);
    let error = Store::open_stepped(options(&mut random), Arc::new(disk.clone())).map(drop).unwrap_err().to_string();
    assert!(error.contains(checkpoint.to_str().unwrap()) && error.contains("warren fsck"), "{error}");
    disk.kill_process();
    let disk: Arc<dyn Disk> = Arc::new(disk);
    let report = fsck::check(&disk, Path::new("/data")).unwrap();
    let file = report.files.iter().find(|file| file.path == checkpoint).unwrap();
    assert_eq!(file.verdict, Verdict::Damaged);
    assert!(report.to_string().contains("2 files are damaged"), "{report}");
    let report = fsck::repair(&disk, Path::new("/data"), Loss::Refused).unwrap();
    let name = checkpoint.file_name().unwrap().to_str().unwrap();
    assert!(report.is_refused && !report.is_sound(), "{report}");
    assert!(report.losses.iter().any(|loss| loss.starts_with(&format!("checkpoints/{name}: "))), "{report}");
    assert!(report.to_string().contains("--accept-loss"), "{report}");
}

/// The checkpoint in force.
fn checkpoint_of(disk: &SimDisk) -> PathBuf {
    let mut of_checkpoints = files(disk, "checkpoints").into_iter();
    of_checkpoints.rfind(|path| path.extension().is_some_and(|found| found == "checkpoint")).unwrap()
}

/// One damaged checkpoint, and every queue was lost.
#[test]
fn a_damaged_checkpoint_costs_nothing_as_long_as_its_copy_is_whole() {
    for (seed, damage) in (3..6).flat_map(|seed| [0, 1, 2].map(|damage| (seed, damage))) {
        let Written { disk, mut random, expected, .. } = write(seed, Stop::Clean);
        let checkpoint = checkpoint_of(&disk);
        match damage {
            0 => disk.remove(&checkpoint).unwrap(),
            1 => disk.open(&checkpoint).unwrap().truncate(10).unwrap(),
            _ => disk.flip_bit(&checkpoint, 3, 3),
        }
        let repaired = disk.fork();
        for is_repaired in [false, true] {
            let disk = if is_repaired { &repaired } else { &disk };
            let shared: Arc<dyn Disk> = Arc::new(disk.clone());
            if is_repaired {
                let report = fsck::repair(&shared, Path::new("/data"), Loss::Refused).unwrap();
                assert!(report.is_sound() && report.losses.is_empty(), "{report}");
            }
            let (store, recovered) = Store::open_stepped(options(&mut random), shared.clone()).unwrap();
            assert_eq!(all_messages(&store, &recovered), expected);
            drop(store);
            disk.kill_process();
            let report = fsck::check(&shared, Path::new("/data")).unwrap();
            assert!(report.is_sound(), "{report}");
        }
    }
}

/// The slot before names a checkpoint that has been removed since. The repair took everything for lost.
#[test]
fn a_damaged_manifest_is_put_together_again_from_the_checkpoint() {
    let mut tried = 0;
    for seed in 0..40 {
        let Written { disk, mut random, expected, .. } = write(seed, Stop::Clean);
        let file = disk.open(Path::new("/data/manifest")).unwrap();
        let slots = crate::manifest::slots(&*file).unwrap();
        let newest = (0..2).max_by_key(|slot| slots[*slot].as_ref().map(|slot| slot.generation)).unwrap();
        if slots[newest].as_ref().is_none_or(|slot| slot.checkpoint.is_none()) {
            continue;
        }
        disk.flip_bit(Path::new("/data/manifest"), newest as u64 * 4096 + 9, 0);
        let shared: Arc<dyn Disk> = Arc::new(disk.clone());
        let report = fsck::repair(&shared, Path::new("/data"), Loss::Refused).unwrap();
        assert!(report.is_sound(), "seed {seed}: {report}");
        let (store, recovered) = Store::open_stepped(options(&mut random), shared).unwrap();
        assert_eq!(all_messages(&store, &recovered), expected, "seed {seed}: {report}");
        tried += 1;
    }
    assert!(tried > 20);
}

/// A repair that had moved nothing said that damaged files were in a directory that there was not.
#[test]
fn a_repair_tells_what_it_moved_and_what_it_wrote_anew() {
    let Written { disk, mut random, .. } = write(4, Stop::Clean);
    let shared: Arc<dyn Disk> = Arc::new(disk.clone());
    disk.remove(Path::new("/data/format")).unwrap();
    let report = fsck::repair(&shared, Path::new("/data"), Loss::Accepted).unwrap();
    let end = "/data has been repaired. Rewritten in place, the previous contents are lost: format.\n";
    assert!(report.to_string().ends_with(end), "{report}");
    let checkpoint = checkpoint_of(&disk);
    flip(&disk, &checkpoint, &mut random);
    flip(&disk, &checkpoint.with_extension("copy"), &mut random);
    let report = fsck::repair(&shared, Path::new("/data"), Loss::Accepted).unwrap();
    let end = "2 damaged files were moved to /data/quarantine. \
               Rewritten in place, the previous contents are lost: manifest.\n";
    assert!(report.to_string().ends_with(end), "{report}");
}
