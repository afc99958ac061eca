//! Every file of a stopped directory, damaged at each border of what is in it: whatever it is, either nothing that was confirmed is
//! missing, or
//! the start is refused, or `fsck` says what is wrong.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use model::ids::JournalPosition;

use super::damage::{Stop, Written, files, missing, write};
use super::power_loss::options;
use crate::file::{Disk, PAGE_LEN, SimDisk, write_all_at};
use crate::fsck::{self, FsckError, Loss};
use crate::journal::Recovery;
use crate::simulation::for_each_seed;
use crate::{DirError, Random, Store};

const DATA: &str = "/data";

/// What is done to a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Damage {
    Removed,
    /// Cut off there.
    Cut(u64),
    /// A bit of the byte there.
    Flipped(u64),
    /// From there on, a page of zeros.
    Zeroed(u64),
}

fn apply(disk: &SimDisk, path: &Path, damage: Damage) {
    match damage {
        Damage::Removed => disk.remove(path).unwrap(),
        Damage::Cut(len) => disk.open(path).unwrap().truncate(len).unwrap(),
        Damage::Flipped(offset) => disk.flip_bit(path, offset, 5),
        Damage::Zeroed(offset) => {
            let file = disk.open(path).unwrap();
            let len = (file.len().unwrap() - offset).min(PAGE_LEN as u64);
            write_all_at(&*file, &[0; PAGE_LEN][..len as usize], offset).unwrap();
        }
    }
}

/// Every file that a broker keeps.
fn all_files(disk: &SimDisk) -> Vec<PathBuf> {
    let dirs = ["", "journal", "checkpoints", "segments"];
    let is_kept = |path: &PathBuf| !path.ends_with("lock");
    dirs.iter().flat_map(|dir| files(disk, dir)).filter(is_kept).collect()
}

/// Where something begins or ends in a file: pages, fields and slots, for all of which a few bytes stand.
fn borders(disk: &SimDisk, path: &Path, random: &mut Random) -> Vec<u64> {
    let len = disk.open(path).unwrap().len().unwrap();
    let mut borders = vec![0, 8, 16, 20, 44, 48, 60, 64];
    let pages = len / PAGE_LEN as u64;
    borders.extend((1..=pages).map(|page| page * PAGE_LEN as u64));
    borders.extend((1..=pages).map(|page| page * PAGE_LEN as u64 + 64));
    borders.extend([4, 20, 28, 32].map(|before| len.saturating_sub(before)));
    borders.extend((0..4).map(|_| random.below(len.max(1))));
    borders.sort_unstable();
    borders.dedup();
    borders.retain(|border| *border < len);
    borders
}

/// Up to where the journal of a stopped directory reaches.
fn journal_end(disk: &SimDisk) -> JournalPosition {
    let shared: Arc<dyn Disk> = Arc::new(disk.clone());
    let mut recovery = Recovery::open(shared, &Path::new(DATA).join("journal"), JournalPosition::START, 0).unwrap();
    recovery.replay(&mut crate::ChunkWriter::new(crate::ChunkBudget::new()), &mut |_, _| {}).unwrap()
}

#[test]
fn the_end_of_the_journal_missing_is_noticed() {
    let disk = SimDisk::new(0);
    let mut random = Random::new(0);
    let (store, _) = Store::open_stepped(options(&mut random), Arc::new(disk.clone())).unwrap();
    store.close().unwrap();
    drop(store);
    disk.kill_process();
    let end = journal_end(&disk);
    for path in files(&disk, "journal") {
        disk.remove(&path).unwrap();
    }
    let error = Store::open_stepped(options(&mut random), Arc::new(disk.clone())).map(drop).unwrap_err().to_string();
    assert!(error.contains(&format!("position {end}")) && error.contains("warren fsck"), "{error}");
}

/// What became of damaged directories.
#[derive(Debug, Default)]
struct Outcomes {
    harmless: u32,
    refused: u32,
    found: u32,
}

/// Opens what has been damaged. What is missing afterwards, or back, must have been reported.
fn check_told(disk: &SimDisk, written: &Written, path: &Path, damage: Damage, outcomes: &mut Outcomes) {
    let shared: Arc<dyn Disk> = Arc::new(disk.clone());
    let name = path.file_name().unwrap().to_str().unwrap();
    let found = match fsck::check(&shared, Path::new(DATA)) {
        Err(FsckError::Directory(DirError::NewerFormat { .. })) => None, // a flipped bit can say so
        found => Some(found.unwrap()),
    };
    let text = found.as_ref().map(ToString::to_string).unwrap_or_default();
    let is_sound = found.is_some_and(|found| found.is_sound());
    disk.kill_process();
    if !is_sound && !text.is_empty() {
        check_repaired(&disk.fork(), written, path, damage);
    }
    let mut random = written.random.clone();
    match Store::open_stepped(options(&mut random), shared) {
        Err(error) => {
            let error = error.to_string();
            assert!(!is_sound, "{name} {damage:?}: {error}, yet {text}");
            assert!(error.contains(DATA), "{name} {damage:?}: {error}");
            outcomes.refused += 1;
        }
        Ok((store, recovered)) => {
            if !is_sound {
                outcomes.found += 1;
                return;
            }
            let messages = super::damage::all_messages(&store, &recovered);
            let lost = missing(&written.expected, &messages);
            assert_eq!(messages.len() + lost, written.expected.len(), "{name} {damage:?}: messages are back\n{text}");
            assert_eq!(lost, 0, "{name} {damage:?}: messages are gone\n{text}");
            outcomes.harmless += 1;
        }
    }
}

/// A repair with `Loss::Refused` either loses nothing or changes nothing.
fn check_repaired(disk: &SimDisk, written: &Written, path: &Path, damage: Damage) {
    let shared: Arc<dyn Disk> = Arc::new(disk.clone());
    let mut report = fsck::repair(&shared, Path::new(DATA), Loss::Refused).unwrap();
    let is_lossless = !report.is_refused;
    if report.is_refused {
        report = fsck::repair(&shared, Path::new(DATA), Loss::Accepted).unwrap();
    }
    assert!(report.is_sound(), "{} {damage:?}: {report}", path.display());
    let mut random = written.random.clone();
    let (store, recovered) = Store::open_stepped(options(&mut random), shared)
        .unwrap_or_else(|error| panic!("{} {damage:?}: {error}\n{report}", path.display()));
    if is_lossless {
        let messages = super::damage::all_messages(&store, &recovered);
        assert_eq!(messages, written.expected, "{} {damage:?}: {report}", path.display());
    }
}

fn check_borders(stop: Stop, seed_count: u64) {
    let mut outcomes = Outcomes::default();
    let is_whole = for_each_seed(seed_count, |seed| {
        let mut written = write(seed, stop);
        for path in all_files(&written.disk) {
            let borders = borders(&written.disk, &path, &mut written.random);
            let mut damages = vec![Damage::Removed, Damage::Cut(0)];
            for make in [Damage::Cut, Damage::Flipped, Damage::Zeroed] {
                damages.extend(written.random.pick(&borders).map(|border| make(*border)));
            }
            let damage = *written.random.pick(&damages).unwrap();
            let disk = written.disk.fork();
            apply(&disk, &path, damage);
            check_told(&disk, &written, &path, damage, &mut outcomes);
        }
    });
    println!("{stop:?}: {outcomes:?}");
    let is_thorough = [outcomes.harmless, outcomes.refused, outcomes.found].iter().all(|count| *count > 100);
    assert!(is_thorough || !is_whole, "the test has become too tame: {outcomes:?}");
}

#[test]
fn damage_at_any_border_after_a_clean_stop_is_harmless_or_told() {
    check_borders(Stop::Clean, 200);
}

#[test]
fn damage_at_any_border_after_a_kill_is_harmless_or_told() {
    check_borders(Stop::Killed, 200);
}
