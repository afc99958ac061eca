//! Errors that the journal had, each with its story.

use super::*;
use crate::file::write_all_at;
use crate::journal::format::{CommitHeader, FILE_HEADER_LEN};

/// Opens, or returns `None`; the power or a sync may fail meanwhile.
fn try_open(disk: &SimDisk, from: JournalPosition, salt: u64) -> Option<(World, Vec<Said>)> {
    let options = Options { salt, ..small_options() };
    match World::open(disk, &options, from) {
        Ok(opened) => Some(opened),
        Err(OpenError::Io { .. }) => None,
        Err(error) => panic!("{error}"),
    }
}

/// A journal with two durable records, and a third of which only the page cache knows that it was copied to another
/// file: syncing it failed, then syncing that file's header. The process is dead. Returns where the two end.
fn header_only_in_page_cache(disk: &SimDisk) -> JournalPosition {
    let mut world = World::new(disk, &small_options());
    world.file_all();
    world.publish("one");
    world.commit_all().unwrap();
    let durable = world.publish("two");
    world.commit_all().unwrap();
    world.publish("three");
    // First the commit, which is answered by a copy; the copy is synced; its header is not.
    disk.fail_sync_pattern(&[true, false, true]);
    assert!(world.writer.commit_once().is_err());
    disk.kill_process();
    durable
}

/// What a file's header says was synced was taken for proof; the header itself was not synced. So the copy was
/// continued by the next file, and after a power cut it was lost.
#[test]
fn a_header_that_was_not_synced_proves_nothing() {
    in_both_layouts(|| {
        for seed in 0..100 {
            let disk = SimDisk::new(seed);
            header_only_in_page_cache(&disk);
            let (mut world, said) = try_open(&disk, JournalPosition::START, 2).unwrap();
            assert_eq!(said.len(), 3);
            world.publish("four");
            world.commit_all().unwrap();
            disk.restart();
            let (_, said) = try_open(&disk, JournalPosition::START, 3).unwrap();
            assert_eq!(said.len(), 4, "seed {seed}");
        }
    });
}

/// A file was taken for anchored because another followed it. Both were only in the page cache: nothing was left when
/// the files before them had been retired.
#[test]
fn files_that_were_not_synced_let_no_older_ones_go() {
    in_both_layouts(|| {
        for failed_sync in 0..8 {
            for cut in 0..25 {
                let disk = SimDisk::new(cut);
                let from = header_only_in_page_cache(&disk);
                disk.fail_sync_pattern(&[&vec![false; failed_sync][..], &[true]].concat());
                try_open(&disk, from, 2);
                disk.kill_process();
                disk.cut_power_at(disk.operation_count() + cut);
                if let Some((mut world, _)) = try_open(&disk, from, 3) {
                    world.file_all();
                }
                disk.restart();
                assert!(try_open(&disk, from, 4).is_some(), "sync {failed_sync}, cut {cut}");
            }
        }
    });
}

/// The tail was being copied to a spare file when the power failed: a commit without a header. When the header of that
/// file's next use was torn, the old commit was asked what it had said, and named a generation that another file has.
#[test]
fn a_commit_that_never_got_its_header_is_forgotten() {
    let disk = SimDisk::new(0);
    let mut world = World::new(&disk, &small_options());
    world.publish("one");
    world.commit_all().unwrap();
    world.file_all();
    disk.kill_process();
    for spare in spares(&disk) {
        let commit = CommitHeader {
            payload_crc: 0,
            generation: 2, // the next
            salt: 0,
            first: JournalPosition::START,
            synced: JournalPosition::START,
            metas_len: 100,
            contents_len: 0,
            head: None,
        };
        write_all_at(disk.open(&spare).unwrap().as_ref(), &commit.encode(), FILE_HEADER_LEN).unwrap();
    }
    let (mut world, _) = try_open(&disk, JournalPosition::START, 2).unwrap();
    world.publish("two");
    world.commit_all().unwrap();
    disk.kill_process();
    spares(&disk).iter().for_each(|spare| disk.flip_bit(spare, 0, 0)); // the torn header
    let (_, said) = try_open(&disk, JournalPosition::START, 3).unwrap();
    assert_eq!(said.len(), 2);
}

fn spares(disk: &SimDisk) -> Vec<std::path::PathBuf> {
    let recovery = Recovery::open(Arc::new(disk.clone()), Path::new(DIR), JournalPosition::START, 0).unwrap();
    assert!(!recovery.spares.is_empty());
    recovery.spares.iter().map(|spare| spare.path.clone()).collect()
}
