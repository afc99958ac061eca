//! Disks that rot: what had been synced and is lost stops the start with the place, the torn tail does not.

use super::*;
use crate::Random;
use crate::file::{PAGE_LEN, read_exact_at, write_all_at};
use crate::journal::format::{CommitHeader, FILE_HEADER_LEN, FileHeader, FileState};

/// Where each commit of the first file lies, and the end of the last.
struct Layout {
    path: std::path::PathBuf,
    commits: Vec<(u64, CommitHeader)>,
    end: u64,
}

/// A journal of one file with so many commits.
fn journal_with(disk: &SimDisk, commits: usize) -> Layout {
    let mut world = World::new(disk, &small_options());
    for number in 0..commits {
        world.publish(&format!("{number}{}", "x".repeat(number * 977)));
        world.commit_all().unwrap();
    }
    disk.restart();
    layout(disk)
}

fn layout(disk: &SimDisk) -> Layout {
    let recovery = Recovery::open(Arc::new(disk.clone()), Path::new(DIR), JournalPosition::START, 0).unwrap();
    let file = &recovery.files[0];
    let mut commits = Vec::new();
    let mut offset = FILE_HEADER_LEN;
    while let Ok(Some(header)) = super::recovery::commit_header_at(file.file.as_ref(), offset) {
        commits.push((offset, header));
        offset += header.disk_len();
    }
    Layout { path: file.path.clone(), commits, end: offset }
}

fn open_and_read(disk: &SimDisk) -> Result<usize, OpenError> {
    Ok(replay(disk, JournalPosition::START, &mut ChunkWriter::new(ChunkBudget::new()))?.1.len())
}

#[test]
fn a_flipped_bit_is_found_at_its_place_or_cut_or_harmless() {
    in_both_layouts(|| {
        let mut random = Random::new(1);
        let (mut found, mut cut) = (0, 0);
        for seed in 0..1500 {
            let disk = SimDisk::new(seed);
            let layout = journal_with(&disk, 6);
            let offset = random.below(layout.end);
            disk.flip_bit(&layout.path, offset, random.below(8) as u8);
            let hit = layout
                .commits
                .iter()
                .position(|(start, header)| (*start..*start + header.disk_len()).contains(&offset));
            match (open_and_read(&disk), hit) {
                (Ok(6), _) => {} // the file's header, for which the first commit stands, or zeros behind a commit
                (Ok(5), Some(5)) => cut += 1, // nothing says that the last commit had been synced
                (Err(OpenError::Corrupt { place, .. }), Some(hit)) if hit < 5 => {
                    let (start, header) = layout.commits[hit];
                    assert_eq!((place.offset, place.position, &place.path), (start, header.first, &layout.path));
                    found += 1;
                }
                (result, hit) => panic!("seed {seed}, byte {offset} in commit {hit:?}: {result:?}"),
            }
        }
        assert!(found > 400 && cut > 100, "found {found}, cut {cut}");
    });
}

#[test]
fn two_damaged_places_never_pass_for_a_tail_if_one_had_been_synced() {
    in_both_layouts(|| {
        let disk = SimDisk::new(0);
        let layout = journal_with(&disk, 4);
        for hit in [2, 3] {
            disk.flip_bit(&layout.path, layout.commits[hit].0 + 100, 0);
        }
        // The header of the last commit is whole and says that all before was synced.
        assert!(
            matches!(open_and_read(&disk), Err(OpenError::Corrupt { place, .. }) if place.offset == layout.commits[2].0)
        );
        disk.flip_bit(&layout.path, layout.commits[3].0 + 1, 0);
        assert_eq!(open_and_read(&disk).unwrap(), 2);
    });
}

#[test]
fn a_damaged_commit_before_another_file_is_corruption() {
    in_both_layouts(|| {
        let disk = SimDisk::new(0);
        journal_with(&disk, 3);
        drop(World::open(&disk, &small_options(), JournalPosition::START).unwrap());
        disk.restart();
        let layout = layout(&disk);
        // The last commit, written again by the second life, is proven by the header of the file it was written to.
        disk.flip_bit(&layout.path, layout.commits[1].0 + 100, 0);
        assert!(matches!(open_and_read(&disk), Err(OpenError::Corrupt { .. })));
        disk.flip_bit(&layout.path, layout.commits[1].0 + 100, 0);
        disk.flip_bit(&layout.path, layout.commits[2].0 + 100, 0);
        assert_eq!(open_and_read(&disk).unwrap(), 3, "the copy counts");
    });
}

#[test]
fn damage_that_a_checkpoint_covers_is_skipped() {
    in_both_layouts(|| {
        let disk = SimDisk::new(0);
        let layout = journal_with(&disk, 6);
        disk.flip_bit(&layout.path, layout.commits[1].0 + 1, 0);
        let mut contents = ChunkWriter::new(ChunkBudget::new());
        let (_, said) = replay(&disk, layout.commits[3].1.first, &mut contents).unwrap();
        assert_eq!(said.len(), 3);
        assert!(replay(&disk, layout.commits[1].1.first, &mut contents).is_err());
    });
}

#[test]
fn a_journal_that_ends_before_its_checkpoint_is_corrupt() {
    in_both_layouts(|| {
        let disk = SimDisk::new(0);
        let layout = journal_with(&disk, 3);
        let beyond = JournalPosition(layout.commits[2].1.end().0 + 1);
        let result = replay(&disk, beyond, &mut ChunkWriter::new(ChunkBudget::new()));
        assert!(matches!(result, Err(OpenError::Corrupt { .. })));
    });
}

#[test]
fn missing_files_are_noticed() {
    in_both_layouts(|| {
        let (disk, options) = (SimDisk::new(0), small_options());
        let mut world = World::new(&disk, &options);
        let body = "x".repeat(10_000);
        for _ in 0..30 {
            world.publish(&body);
            world.commit_all().unwrap();
        }
        let spans = world.journal.closed_files();
        disk.restart();
        let recovery = Recovery::open(Arc::new(disk.clone()), Path::new(DIR), JournalPosition::START, 0).unwrap();
        let paths: Vec<_> = recovery.files.iter().map(|file| file.path.clone()).collect();
        assert!(paths.len() > 3);
        disk.remove(&paths[1]).unwrap();
        assert!(matches!(open_and_read(&disk), Err(OpenError::Corrupt { place, .. }) if place.path == paths[0]));
        disk.remove(&paths[0]).unwrap();
        assert!(matches!(open_and_read(&disk), Err(OpenError::Missing { .. })));
        let mut contents = ChunkWriter::new(ChunkBudget::new());
        assert!(replay(&disk, spans[1].end, &mut contents).is_ok());
        paths[2..].iter().for_each(|path| disk.remove(path).unwrap());
        assert!(matches!(replay(&disk, spans[1].end, &mut contents), Err(OpenError::Missing { .. })));
    });
}

#[test]
fn a_read_error_stops_the_start_and_cuts_nothing() {
    in_both_layouts(|| {
        let disk = SimDisk::new(0);
        let layout = journal_with(&disk, 3);
        let last = layout.commits[2].0;
        disk.fail_reads(&layout.path, last..last + 1);
        assert!(matches!(open_and_read(&disk), Err(OpenError::Io { path, .. }) if path == layout.path));
    });
}

#[test]
fn a_newer_format_is_refused() {
    in_both_layouts(|| {
        let disk = SimDisk::new(0);
        let layout = journal_with(&disk, 1);
        let file = disk.open(&layout.path).unwrap();
        let mut page = [0; PAGE_LEN];
        read_exact_at(file.as_ref(), &mut page, 0).unwrap();
        page[8] = 9;
        let crc = crc32c::crc32c(&page[..60]);
        page[60..64].copy_from_slice(&crc.to_le_bytes());
        write_all_at(file.as_ref(), &page, 0).unwrap();
        assert!(matches!(open_and_read(&disk), Err(OpenError::NewerFormat { version: 9, .. })));
    });
}

/// Writes one commit with these metas into a file in use, as a newer or faulty version might.
fn commit_of(disk: &SimDisk, metas: &[u8]) {
    commit_at(disk, metas, 0);
}

/// The same, so far beyond where the commit before ended.
fn commit_at(disk: &SimDisk, metas: &[u8], beyond: u64) {
    let layout = journal_with(disk, 1);
    let file = disk.open(&layout.path).unwrap();
    let last = layout.commits[0].1;
    let header = CommitHeader {
        payload_crc: crc32c::crc32c(metas),
        first: JournalPosition(last.end().0 + beyond),
        synced: last.end(),
        metas_len: metas.len() as u64,
        contents_len: 0,
        ..last
    };
    write_all_at(file.as_ref(), &[&header.encode(), metas].concat(), layout.end).unwrap();
}

#[test]
fn records_of_newer_versions_are_refused() {
    in_both_layouts(|| {
        // A record of kind 99; one of a group; one that is longer than its batch.
        let batch = |record: &[u8]| [&(record.len() as u64).to_le_bytes()[..], &[0; 8], record].concat();
        for (record, kind) in [
            ([99, 0, 0, 0, 8, 0, 0, 0], Some(99)),
            ([8, 0, 1, 0, 8, 0, 0, 0], Some(8)),
            ([8, 0, 0, 0, 9, 0, 0, 0], None),
        ] {
            let disk = SimDisk::new(0);
            commit_of(&disk, &batch(&record));
            match (open_and_read(&disk), kind) {
                (Err(OpenError::UnknownRecord { kind: found, .. }), Some(kind)) => assert_eq!(found, kind),
                (Err(OpenError::Corrupt { .. }), None) => {}
                (result, _) => panic!("{record:?}: {result:?}"),
            }
        }
    });
}

#[test]
fn a_commit_that_does_not_continue_the_one_before_is_no_commit() {
    in_both_layouts(|| {
        let record = [8, 0, 0, 0, 8, 0, 0, 0];
        let batch = [&8u64.to_le_bytes()[..], &[0; 8], &record].concat();
        for (beyond, count) in [(0, 2), (1, 1), (1000, 1)] {
            let disk = SimDisk::new(0);
            commit_at(&disk, &batch, beyond);
            assert_eq!(open_and_read(&disk).unwrap(), count, "{beyond} beyond");
        }
    });
}

#[test]
fn any_metas_with_a_right_checksum_are_read_or_refused() {
    in_both_layouts(|| {
        let mut random = Random::new(7);
        for _ in 0..500 {
            let disk = SimDisk::new(0);
            let metas: Vec<u8> =
                (0..random.below(100)).map(|_| random.below(12) as u8 * random.below(2) as u8).collect();
            commit_of(&disk, &metas);
            let _ = open_and_read(&disk);
        }
    });
}

/// A message that looks like commits of the file it is stored in, but for the salt, which no client knows.
#[test]
fn a_message_cannot_pretend_to_be_a_commit() {
    let disk = SimDisk::new(0);
    let mut world = World::new(&disk, &small_options());
    world.publish("one");
    world.commit_all().unwrap();
    let one = layout(&disk).commits[0].1;
    let forged = CommitHeader { salt: 0, synced: JournalPosition::MAX, first: one.end(), ..one }.encode();
    let mut body = vec![b'x'; PAGE_LEN];
    (0..PAGE_LEN * 4).step_by(64).for_each(|_| body.extend_from_slice(&forged));
    let content = world.contents.copy(&[&body]);
    world.batch.publish(&content, &[]);
    world.journal.append(&mut world.batch);
    world.commit_all().unwrap();
    let second = layout(&disk).commits[1].0;
    disk.flip_bit(&Path::new(DIR).join("000001.journal"), second + 100, 0);
    disk.restart();
    assert_eq!(open_and_read(&disk).unwrap(), 1, "the forged commits in the tail say nothing");
}

#[test]
fn a_file_whose_header_was_lost_is_read_by_its_commits() {
    in_both_layouts(|| {
        let disk = SimDisk::new(0);
        let layout = journal_with(&disk, 3);
        for offset in [0, 16, 24, 60] {
            disk.flip_bit(&layout.path, offset, 1);
        }
        assert_eq!(open_and_read(&disk).unwrap(), 3);
        disk.flip_bit(&layout.path, layout.commits[0].0, 1);
        assert!(matches!(open_and_read(&disk), Err(OpenError::Corrupt { .. })), "header and first commit");
    });
}

#[test]
fn short_and_foreign_files_are_no_journal() {
    let disk = SimDisk::new(0);
    journal_with(&disk, 1);
    for (name, len) in [("000077.journal", 100), ("readme", 5000), ("x.journal", 64 << 10)] {
        let file = disk.create(&Path::new(DIR).join(name)).unwrap();
        file.allocate(len).unwrap();
    }
    let (mut world, said) = World::open(&disk, &small_options(), JournalPosition::START).unwrap();
    assert_eq!(said.len(), 1);
    world.file_all();
    let names = disk.list(Path::new(DIR)).unwrap();
    assert!(names.contains(&"readme".to_owned()) && !names.contains(&"000077.journal".to_owned()), "{names:?}");
}

#[test]
fn a_header_in_use_is_told_from_a_spare() {
    let disk = SimDisk::new(0);
    let layout = journal_with(&disk, 1);
    let mut page = [0; PAGE_LEN];
    read_exact_at(disk.open(&layout.path).unwrap().as_ref(), &mut page, 0).unwrap();
    assert!(matches!(FileHeader::decode(&page), FileState::InUse(header) if header.first == JournalPosition::START));
}

/// What a journal that has been closed says when it is opened with so many bytes of its only file.
fn open_cut(len: u64) -> Result<usize, OpenError> {
    let disk = SimDisk::new(0);
    let mut world = World::new(&disk, &small_options());
    for number in 0..3 {
        world.publish(&format!("{number}{}", "x".repeat(5000)));
    }
    world.commit_all().unwrap();
    world.journal.record_synced();
    disk.kill_process();
    disk.open(&Path::new(DIR).join("000001.journal")).unwrap().truncate(len).unwrap();
    open_and_read(&disk)
}

/// The journal started without a word, and what had been confirmed was lost.
#[test]
fn a_journal_that_was_cut_short_is_noticed() {
    in_both_layouts(|| {
        let whole = 64 << 10;
        assert_eq!(open_cut(whole).unwrap(), 3);
        assert_eq!(open_cut(whole / 2).unwrap(), 3, "nothing of it was in use there");
        for len in [FILE_HEADER_LEN, FILE_HEADER_LEN + 64, 8192, 16384] {
            let error = open_cut(len).unwrap_err();
            let OpenError::Short { place, synced } = &error else { panic!("{error}") };
            assert_eq!((place.position, place.offset), (JournalPosition::START, FILE_HEADER_LEN));
            let text = format!(
                "/data/journal/000001.journal at byte 4096 (journal position 0), and had been synced up to position {synced}"
            );
            assert!(error.to_string().contains(&text), "{error}");
        }
        for len in [0, 1, FILE_HEADER_LEN - 1] {
            assert!(matches!(open_cut(len), Err(OpenError::Missing { .. })), "{len} bytes of a file are none");
        }
    });
}

/// A repair marks what follows the end that was found as lost, and the journal continues behind it.
#[test]
fn a_repair_marks_what_is_missing_of_the_end() {
    in_both_layouts(|| {
        let disk = SimDisk::new(0);
        let mut world = World::new(&disk, &small_options());
        world.file_all();
        while world.journal.closed_files().len() < 2 {
            world.publish(&"x".repeat(10_000));
            world.commit_all().unwrap();
            world.file_all();
        }
        let (end, spans) = (world.journal.synced(), world.journal.closed_files());
        world.journal.record_synced();
        disk.kill_process();
        let recovery = Recovery::open(Arc::new(disk.clone()), Path::new(DIR), JournalPosition::START, 0).unwrap();
        disk.remove(&recovery.files.last().unwrap().path).unwrap();
        assert!(matches!(open_and_read(&disk), Err(OpenError::Short { .. })));
        let shared: Arc<dyn Disk> = Arc::new(disk.clone());
        let mut contents = ChunkWriter::new(ChunkBudget::new());
        let losses = repair(&shared, Path::new(DIR), JournalPosition::START, 0, &mut contents).unwrap().losses;
        let [Lost { place, end: lost_to }] = &losses[..] else { panic!("{losses:?}") };
        assert_eq!((place.position, *lost_to), (spans[1].end, end));
        let (world, _) = World::open(&disk, &small_options(), JournalPosition::START).unwrap();
        assert_eq!(world.journal.appended(), end, "positions stay");
    });
}

/// Damages some commits of six; all others come back after a repair.
#[track_caller]
fn check_repaired(seed: u64, hits: &[usize]) {
    let disk = SimDisk::new(seed);
    let layout = journal_with(&disk, 6);
    for &hit in hits {
        let (offset, header) = layout.commits[hit];
        let byte = Random::new(seed).below(header.len() + header.payload_len());
        disk.flip_bit(&layout.path, offset + byte, 3);
    }
    let mut contents = ChunkWriter::new(ChunkBudget::new());
    let shared: Arc<dyn Disk> = Arc::new(disk.clone());
    let losses = repair(&shared, Path::new(DIR), JournalPosition::START, 0, &mut contents).unwrap().losses;
    disk.restart();
    let (world, said) = World::open(&disk, &small_options(), JournalPosition::START).unwrap();
    assert_eq!(world.journal.appended(), layout.commits[5].1.end(), "positions stay");
    let lost: u64 = losses.iter().map(|loss| loss.end.0 - loss.place.position.0).sum();
    assert_eq!(
        lost,
        hits.iter().map(|&hit| layout.commits[hit].1.metas_len + layout.commits[hit].1.contents_len).sum::<u64>()
    );
    for number in 0..6 {
        let is_there = said.iter().any(|(_, text)| text.starts_with(&format!("publish {number}")));
        assert_eq!(is_there, !hits.contains(&number), "{number} after {hits:?}: {said:?}");
    }
}

#[test]
fn a_repair_loses_only_what_is_damaged() {
    in_both_layouts(|| {
        for seed in 0..40 {
            for hit in 0..5 {
                check_repaired(seed, &[hit]);
            }
            check_repaired(seed, &[1, 3]);
            check_repaired(seed, &[0, 1, 2, 3, 4]);
            check_repaired(seed, &[2, 3]);
        }
    });
}

#[test]
fn a_repair_of_a_whole_journal_changes_nothing() {
    in_both_layouts(|| {
        let disk = SimDisk::new(0);
        journal_with(&disk, 3);
        let before = disk.operation_count();
        let shared: Arc<dyn Disk> = Arc::new(disk.clone());
        let mut contents = ChunkWriter::new(ChunkBudget::new());
        assert_eq!(
            repair(&shared, Path::new(DIR), JournalPosition::START, 0, &mut contents).unwrap(),
            Repaired::default()
        );
        assert_eq!(disk.operation_count(), before);
    });
}

/// Where a file is, and its header.
type Found = (std::path::PathBuf, FileHeader);

/// A journal of three files or more; each has some commits.
fn journal_of_files(disk: &SimDisk) -> Vec<Found> {
    let mut world = World::new(disk, &small_options());
    world.file_all();
    while world.journal.closed_files().len() < 3 {
        world.publish(&"x".repeat(10_000));
        world.commit_all().unwrap();
        world.file_all();
    }
    disk.restart();
    let recovery = Recovery::open(Arc::new(disk.clone()), Path::new(DIR), JournalPosition::START, 0).unwrap();
    recovery.files.iter().map(|file| (file.path.clone(), file.header)).collect()
}

/// Damages a journal, and repairs it: everything comes back but this many messages, which is what the repair says.
#[track_caller]
fn check_repaired_files(damage: &dyn Fn(&SimDisk, &[Found]), lost: usize) {
    let disk = SimDisk::new(0);
    let files = journal_of_files(&disk);
    let (world, before) = World::open(&disk, &small_options(), JournalPosition::START).unwrap();
    let end = world.journal.appended();
    disk.kill_process();
    damage(&disk, &files);
    assert!(matches!(open_and_read(&disk), Err(OpenError::Corrupt { .. })));
    let shared: Arc<dyn Disk> = Arc::new(disk.clone());
    let mut contents = ChunkWriter::new(ChunkBudget::new());
    let losses = repair(&shared, Path::new(DIR), JournalPosition::START, 0, &mut contents).unwrap().losses;
    assert_eq!(losses.len(), 1, "{losses:?}");
    disk.restart();
    let (world, after) = World::open(&disk, &small_options(), JournalPosition::START).unwrap();
    assert_eq!(world.journal.appended(), end, "positions stay");
    let messages: Vec<_> = after.into_iter().filter(|(_, text)| text.starts_with("publish")).collect();
    assert_eq!(messages.len(), before.len() - lost);
    assert!(messages.iter().all(|said| before.contains(said)));
}

fn damage_start(disk: &SimDisk, path: &Path) {
    for page in 0..2 {
        disk.flip_bit(path, page * PAGE_LEN as u64 + 20, 0);
    }
}

/// A start cannot go on over a file whose header and first commit are damaged. The repair threw every file away.
#[test]
fn a_file_with_a_damaged_start_is_written_anew() {
    in_both_layouts(|| {
        for file in 0..3 {
            check_repaired_files(&|disk, files| damage_start(disk, &files[file].0), 1);
        }
    });
}

#[test]
fn a_missing_file_is_a_gap() {
    in_both_layouts(|| {
        check_repaired_files(
            &|disk, files| {
                disk.remove(&files[1].0).unwrap();
                disk.sync_dir(Path::new(DIR)).unwrap();
            },
            5, // all that a file holds
        );
    });
}
