//! What a simulated disk forgets, and what it does not.

use std::io;
use std::path::PathBuf;

use super::super::{Disk, PAGE_LEN, read_exact_at, write_all_at};
use super::*;

const DIR: &str = "/data";

fn check_disk(seed: u64) -> (SimDisk, PathBuf) {
    let disk = SimDisk::new(seed);
    disk.create_dir(Path::new(DIR)).unwrap();
    (disk, Path::new(DIR).join("a"))
}

/// What a file of two pages, "old" synced and "new" not, may hold after a cut.
fn survivors(seed: u64, sync: bool) -> Option<Vec<u8>> {
    let (disk, path) = check_disk(seed);
    let file = disk.create(&path).unwrap();
    write_all_at(file.as_ref(), &[b'o'; 2 * PAGE_LEN], 0).unwrap();
    file.fdatasync().unwrap();
    disk.sync_dir(Path::new(DIR)).unwrap();
    write_all_at(file.as_ref(), &[b'n'; 2 * PAGE_LEN], 0).unwrap();
    if sync {
        file.fdatasync().unwrap();
    }
    disk.cut_power();
    assert!(file.fdatasync().is_err());
    disk.restart();
    assert!(file.len().is_err(), "handles die with the power");
    let file = disk.open(&path).unwrap();
    let mut bytes = vec![0; 2 * PAGE_LEN];
    read_exact_at(file.as_ref(), &mut bytes, 0).unwrap();
    Some(vec![bytes[0], bytes[PAGE_LEN]])
}

#[test]
fn synced_pages_survive_and_others_in_any_combination() {
    let found: BTreeSet<_> = (0..100).filter_map(|seed| survivors(seed, false)).collect();
    for combination in [b"oo", b"on", b"no", b"nn"] {
        assert!(found.contains(&combination[..]), "{combination:?} never seen");
    }
    assert!((0..100).all(|seed| survivors(seed, true).unwrap() == b"nn"));
}

#[test]
fn one_seed_is_one_behaviour() {
    assert!((0..20).all(|seed| survivors(seed, false) == survivors(seed, false)));
}

#[test]
fn a_name_lasts_after_its_directory_is_synced() {
    let is_there = |seed, sync: bool| {
        let (disk, path) = check_disk(seed);
        disk.create(&path).unwrap();
        if sync {
            disk.sync_dir(Path::new(DIR)).unwrap();
        }
        disk.restart();
        !disk.list(Path::new(DIR)).unwrap().is_empty()
    };
    assert!((0..50).all(|seed| is_there(seed, true)));
    let survived = (0..50).filter(|&seed| is_there(seed, false)).count();
    assert!((1..50).contains(&survived));
}

#[test]
fn a_rename_is_seen_whole_or_not_at_all() {
    for seed in 0..50 {
        let (disk, path) = check_disk(seed);
        let to = path.with_file_name("b");
        for (name, byte) in [(&path, b"a"), (&to, b"b")] {
            let file = disk.create(name).unwrap();
            write_all_at(file.as_ref(), byte, 0).unwrap();
            file.fdatasync().unwrap();
        }
        disk.sync_dir(Path::new(DIR)).unwrap();
        disk.rename(&path, &to).unwrap();
        disk.restart();
        let mut byte = [0];
        read_exact_at(disk.open(&to).unwrap().as_ref(), &mut byte, 0).unwrap();
        assert_eq!(disk.open(&path).is_ok(), byte == *b"b");
    }
}

#[test]
fn after_a_failed_sync_the_next_may_succeed_and_still_lose() {
    let lost = (0..50).filter(|&seed| {
        let (disk, path) = check_disk(seed);
        let file = disk.create(&path).unwrap();
        disk.sync_dir(Path::new(DIR)).unwrap();
        write_all_at(file.as_ref(), b"n", 0).unwrap();
        disk.fail_syncs(1);
        assert!(file.fdatasync().is_err());
        file.fdatasync().unwrap();
        disk.restart();
        let mut byte = [0];
        read_exact_at(disk.open(&path).unwrap().as_ref(), &mut byte, 0).unwrap();
        byte != *b"n"
    });
    assert!((5..45).contains(&lost.count()));
}

#[test]
fn a_full_disk_refuses_and_a_removed_file_makes_room() {
    let (disk, path) = check_disk(0);
    disk.set_faults(Faults { capacity: Some(10_000), ..Faults::default() });
    disk.create(&path).unwrap().allocate(9_000).unwrap();
    let other = disk.create(&path.with_file_name("b")).unwrap();
    assert_eq!(other.allocate(9_000).unwrap_err().kind(), io::ErrorKind::StorageFull);
    disk.remove(&path).unwrap();
    other.allocate(9_000).unwrap();
    assert_eq!(disk.free_space(Path::new(DIR)).unwrap(), 1_000);
}

#[test]
fn a_file_has_room_as_long_as_it_has_a_name() {
    let (disk, path) = check_disk(0);
    disk.create(&path).unwrap().allocate(9_000).unwrap();
    let other = path.with_file_name("b");
    disk.link(&path, &other).unwrap();
    assert_eq!(disk.link(&path, &other).unwrap_err().kind(), io::ErrorKind::AlreadyExists);
    disk.remove(&path).unwrap();
    assert_eq!((disk.used(), disk.open(&other).unwrap().len().unwrap()), (9_000, 9_000));
    disk.remove(&other).unwrap();
    assert_eq!(disk.used(), 0);
}

#[test]
fn no_file_has_names_on_two_file_systems() {
    let (disk, path) = check_disk(0);
    let mount = Path::new("/data/other");
    disk.mount(mount);
    disk.create_dir(mount).unwrap();
    disk.create(&path).unwrap();
    assert_eq!(disk.link(&path, &mount.join("a")).unwrap_err().kind(), io::ErrorKind::CrossesDevices);
}

#[test]
fn a_directory_has_its_old_name_or_its_new_one_and_after_a_sync_the_new_one() {
    let names = |seed, sync: bool| {
        let (disk, _) = check_disk(seed);
        let (from, to) = (Path::new("/data/from"), Path::new("/data/to"));
        disk.create_dir(&from.join("below")).unwrap();
        disk.create_dir(from).unwrap();
        disk.create(&from.join("below/a")).unwrap();
        disk.sync_dir(&from.join("below")).unwrap();
        disk.rename_dir(from, to).unwrap();
        if sync {
            disk.sync_dir(Path::new(DIR)).unwrap();
        }
        disk.restart();
        [from, to].map(|dir| disk.open(&dir.join("below/a")).is_ok())
    };
    assert!((0..50).all(|seed| names(seed, true) == [false, true]));
    let found: BTreeSet<_> = (0..50).map(|seed| names(seed, false)).collect();
    assert_eq!(found, BTreeSet::from([[false, true], [true, false]]));
}

#[test]
fn a_directory_goes_when_nothing_is_in_it() {
    let (disk, path) = check_disk(0);
    disk.create(&path).unwrap();
    assert_eq!(disk.remove_dir(Path::new(DIR)).unwrap_err().kind(), io::ErrorKind::DirectoryNotEmpty);
    disk.remove(&path).unwrap();
    assert!(disk.is_empty_dir(Path::new(DIR)).unwrap());
    disk.remove_dir(Path::new(DIR)).unwrap();
    assert_eq!(disk.list(Path::new(DIR)).unwrap_err().kind(), io::ErrorKind::NotFound);
}

#[test]
fn the_power_goes_at_the_chosen_operation() {
    let (disk, path) = check_disk(0);
    disk.cut_power_at(2);
    let file = disk.create(&path).unwrap();
    write_all_at(file.as_ref(), b"a", 0).unwrap();
    assert!(file.fdatasync().is_err());
    assert!(disk.is_cut());
}

#[test]
fn a_lock_goes_with_its_process() {
    let (disk, path) = check_disk(0);
    let lock = disk.try_lock(&path).unwrap();
    assert!(lock.is_some() && disk.try_lock(&path).unwrap().is_none());
    disk.kill_process();
    let next = disk.try_lock(&path).unwrap();
    assert!(next.is_some());
    drop(lock);
    assert!(disk.try_lock(&path).unwrap().is_none(), "the dead process releases nothing");
}
