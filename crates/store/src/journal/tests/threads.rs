//! The journal with its own threads.

use std::sync::atomic::{AtomicU32, Ordering};

use super::*;

fn start_on(disk: &SimDisk, options: &Options) -> (Journal, Threads, Vec<Said>) {
    disk.create_dir(Path::new(DIR)).unwrap();
    let mut contents = ChunkWriter::new(ChunkBudget::new());
    let (recovery, said) = replay(disk, JournalPosition::START, &mut contents).unwrap();
    let (journal, threads) = start(recovery, options.clone(), Arc::new(|_| {}), None).unwrap();
    (journal, threads, said)
}

#[test]
fn what_many_threads_append_is_durable_and_comes_back() {
    let disk = SimDisk::new(0);
    let (journal, threads, _) = start_on(&disk, &small_options());
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let journal = journal.clone();
            scope.spawn(move || {
                let (mut contents, mut batch) = (ChunkWriter::new(ChunkBudget::new()), RecordBatch::new());
                for seq in 1..=50 {
                    let content = contents.copy(&[&[b'x'; 1000]]);
                    batch.publish(&content, &[(QueueId(thread), QueueSeq(seq))]);
                    let end = journal.append(&mut batch);
                    if seq % 10 == 0 {
                        journal.wait_durable(end).unwrap();
                        assert!(journal.durable() >= end);
                    }
                }
            });
        }
    });
    threads.stop().unwrap();
    assert_eq!(journal.synced(), journal.appended());
    disk.restart();
    let (_, _, said) = start_on(&disk, &small_options());
    assert_eq!(said.len(), 200);
    for thread in 0..4 {
        let own: Vec<_> = said.iter().filter(|(_, text)| text.contains(&format!("QueueId({thread})"))).collect();
        assert!(own.iter().enumerate().all(|(i, (_, text))| text.ends_with(&format!("QueueSeq({}))]", i + 1))));
    }
}

#[derive(Debug)]
struct Count(AtomicU32, std::thread::Thread);

impl crate::DurableWaiter for Count {
    fn wake(&self) {
        self.0.fetch_add(1, Ordering::SeqCst);
        self.1.unpark();
    }
}

#[test]
fn who_waits_is_woken_once_when_it_is_durable() {
    let disk = SimDisk::new(0);
    let (journal, _threads, _) = start_on(&disk, &small_options());
    let count = Arc::new(Count(AtomicU32::new(0), std::thread::current()));
    let mut batch = RecordBatch::new();
    batch.drop_queue(QueueId(1));
    let end = journal.append(&mut batch);
    journal.when_durable(end, count.clone());
    while count.0.load(Ordering::SeqCst) == 0 {
        std::thread::park();
    }
    assert!(journal.durable() >= end);
    journal.when_durable(end, count.clone());
    assert_eq!(count.0.load(Ordering::SeqCst), 2, "at once, the second time");
}

#[test]
fn confirm_after_write_is_synced_on_demand_and_at_the_end() {
    let options =
        Options { confirm_after: ConfirmAfter::Write, sync_delay: Duration::from_secs(3600), ..small_options() };
    let disk = SimDisk::new(0);
    let (journal, threads, _) = start_on(&disk, &options);
    let mut batch = RecordBatch::new();
    batch.drop_queue(QueueId(1));
    let first = journal.append(&mut batch);
    journal.wait_durable(first).unwrap();
    journal.wait_synced(first).unwrap();
    batch.drop_queue(QueueId(2));
    let second = journal.append(&mut batch);
    threads.stop().unwrap();
    assert_eq!(journal.synced(), second);
}

#[test]
fn who_waits_learns_that_the_journal_failed() {
    let disk = SimDisk::new(0);
    let (journal, threads, _) = start_on(&disk, &small_options());
    let mut batch = RecordBatch::new();
    batch.drop_queue(QueueId(1));
    journal.wait_durable(journal.append(&mut batch)).unwrap();
    disk.cut_power();
    batch.drop_queue(QueueId(1));
    assert!(journal.wait_durable(journal.append(&mut batch)).is_err());
    assert!(threads.stop().is_err());
}

#[test]
fn a_stop_on_a_full_disk_ends_with_an_error() {
    let disk = SimDisk::new(0);
    disk.set_faults(crate::file::Faults { capacity: Some(10), ..Default::default() });
    let (journal, threads, _) = start_on(&disk, &small_options());
    let mut batch = RecordBatch::new();
    batch.drop_queue(QueueId(1));
    journal.append(&mut batch);
    let failed = threads.stop().unwrap_err();
    assert!(failed.to_string().contains("disk is full"), "{failed}");
}

#[test]
fn what_can_wait_is_durable_as_soon_as_a_caller_waits_for_it() {
    let disk = SimDisk::new(0);
    let (journal, threads, _) = start_on(&disk, &small_options());
    let mut batch = RecordBatch::new();
    for seq in 1..=20 {
        batch.settle(QueueId(1), QueueSeq(seq), QueueSeq(seq));
        let end = journal.append(&mut batch);
        journal.wait_durable(end).unwrap();
        batch.settle(QueueId(2), QueueSeq(seq), QueueSeq(seq));
        let end = journal.append(&mut batch);
        assert!(journal.wait_synced_for(end, Duration::from_secs(60)).unwrap());
    }
    batch.settle(QueueId(3), QueueSeq(1), QueueSeq(1));
    journal.append(&mut batch);
    threads.stop().unwrap();
    assert_eq!(journal.synced(), journal.appended(), "a stop writes all");
}

#[test]
fn what_no_caller_waits_for_is_written_all_the_same() {
    let disk = SimDisk::new(0);
    let (journal, _threads, _) = start_on(&disk, &small_options());
    let mut batch = RecordBatch::new();
    batch.settle(QueueId(1), QueueSeq(1), QueueSeq(1));
    let end = journal.append(&mut batch);
    // Not `wait_durable`, which would hasten it.
    let waiting = std::time::Instant::now();
    while journal.durable() < end {
        assert!(waiting.elapsed() < Duration::from_secs(60));
        std::thread::yield_now();
    }
}

/// Lets go of the journal's threads, on the one that wakes it.
struct LastOwner(parking_lot::Mutex<Option<Threads>>, std::thread::Thread);

impl std::fmt::Debug for LastOwner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LastOwner").finish_non_exhaustive()
    }
}

impl crate::DurableWaiter for LastOwner {
    fn wake(&self) {
        drop(self.0.lock().take());
        self.1.unpark();
    }
}

#[test]
fn the_last_owner_may_be_let_go_of_by_a_thread_of_the_journal() {
    let disk = SimDisk::new(0);
    let (journal, threads, _) = start_on(&disk, &small_options());
    let owner = Arc::new(LastOwner(parking_lot::Mutex::new(Some(threads)), std::thread::current()));
    let mut batch = RecordBatch::new();
    batch.drop_queue(QueueId(1));
    let end = journal.append(&mut batch);
    journal.when_durable(end, owner.clone());
    while owner.0.lock().is_some() {
        std::thread::park();
    }
    // It would have failed if a thread had waited for itself.
    journal.wait_durable(end).unwrap();
}
