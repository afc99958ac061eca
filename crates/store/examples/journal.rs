//! How fast the journal is on this machine's disk: throughput with many messages, latency of one alone.
//!
//! `cargo run --release -p store --example journal -- [DIR] [MiB]` writes to `DIR` (default: the temporary directory)
//! and removes what it wrote. Compare numbers of one machine only, and of a real file system: on tmpfs a sync is free.
#![allow(clippy::print_stdout, clippy::unwrap_used, reason = "a program for developers")]

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use model::ids::{JournalPosition, QueueId, QueueSeq};
use store::file::RealDisk;
use store::journal::{ConfirmAfter, Event, Journal, Options, Recovery, Threads, start};
use store::{ChunkBudget, ChunkWriter, RecordBatch};

const BATCH_COUNT: u64 = 200;

fn main() {
    let mut arguments = std::env::args().skip(1);
    let dir = arguments.next().map_or_else(std::env::temp_dir, PathBuf::from).join("warren-journal-bench");
    let mib: u64 = arguments.next().map_or(1024, |text| text.parse().unwrap());
    let _ = std::fs::remove_dir_all(&dir);

    let (journal, threads, _) = open(&dir, ConfirmAfter::Write);
    latency_at_a_rate(&journal, 10_000);
    threads.stop().unwrap();
    std::fs::remove_dir_all(&dir).unwrap();

    let (journal, threads, _) = open(&dir, ConfirmAfter::Sync);
    latency(&journal);
    for content_len in [16, 1024, 16 * 1024] {
        throughput(&journal, content_len, mib << 20);
    }
    threads.stop().unwrap();
    recovery(&dir);
    std::fs::remove_dir_all(&dir).unwrap();
}

fn open(dir: &Path, confirm_after: ConfirmAfter) -> (Journal, Threads, u64) {
    let mut contents = ChunkWriter::new(ChunkBudget::new());
    let mut recovery = Recovery::open(Arc::new(RealDisk), dir, JournalPosition::START, 0).unwrap();
    let mut count = 0;
    recovery.replay(&mut contents, &mut |_, _| count += 1).unwrap();
    let on_event = Arc::new(|event| {
        if event != Event::FileClosed {
            println!("{event:?}");
        }
    });
    let (journal, threads) =
        start(recovery, Options { salt: 1, confirm_after, ..Options::default() }, on_event, None).unwrap();
    (journal, threads, count)
}

/// One small record at a time, each durable before the next.
fn latency(journal: &Journal) {
    let (mut contents, mut batch) = (ChunkWriter::new(ChunkBudget::new()), RecordBatch::new());
    let mut times: Vec<Duration> = (0..500)
        .map(|seq| {
            let content = contents.copy(&[&[b'x'; 1024]]);
            batch.publish(&content, &[(QueueId(1), QueueSeq(seq))]);
            let begin = Instant::now();
            let end = journal.append(&mut batch);
            journal.wait_durable(end).unwrap();
            begin.elapsed()
        })
        .collect();
    times.sort_unstable();
    println!("single commit of 1 KiB: median {:?}, p99 {:?}, max {:?}", times[250], times[495], times[499]);
}

/// A batch each millisecond, for five seconds, where confirms do not wait for syncs: how long these take all the same.
fn latency_at_a_rate(journal: &Journal, rate_per_s: u64) {
    let (mut contents, mut batch) = (ChunkWriter::new(ChunkBudget::new()), RecordBatch::new());
    let begin = Instant::now();
    let mut times = Vec::new();
    for tick in 0..5000 {
        // What comes late because of the one before waits as well.
        let due = begin + Duration::from_millis(tick);
        std::thread::sleep(due.saturating_duration_since(Instant::now()));
        for seq in 0..rate_per_s / 1000 {
            let content = contents.copy(&[&[b'x'; 1024]]);
            batch.publish(&content, &[(QueueId(1), QueueSeq(seq))]);
        }
        let end = journal.append(&mut batch);
        journal.wait_durable(end).unwrap();
        times.push(due.elapsed());
    }
    times.sort_unstable();
    let at = |part: usize| times[times.len() * part / 1000];
    println!(
        "written at {rate_per_s}/s: median {:?}, p95 {:?}, p99 {:?}, p999 {:?}",
        at(500),
        at(950),
        at(990),
        at(999)
    );
}

/// Batches as fast as congestion allows; the files before are retired as a checkpoint would.
fn throughput(journal: &Journal, content_len: usize, total_len: u64) {
    let body = vec![b'x'; content_len];
    let (mut contents, mut batch) = (ChunkWriter::new(ChunkBudget::new()), RecordBatch::new());
    let count = (total_len / (content_len as u64 + 32)).min(4_000_000) / BATCH_COUNT * BATCH_COUNT;
    let (begin, cpu) = (Instant::now(), cpu_time());
    let mut appending = Duration::ZERO;
    let mut end = JournalPosition::START;
    for first in (0..count).step_by(BATCH_COUNT as usize) {
        for seq in first..first + BATCH_COUNT {
            let content = contents.copy(&[&body]);
            batch.publish(&content, &[(QueueId(1), QueueSeq(seq))]);
        }
        let before = Instant::now();
        end = journal.append(&mut batch);
        appending += before.elapsed();
        while journal.is_congested() {
            journal.retire(journal.synced());
            std::thread::sleep(Duration::from_millis(1));
        }
    }
    journal.wait_durable(end).unwrap();
    let (took, cpu) = (begin.elapsed(), cpu_time() - cpu);
    let mib_per_s = (count * content_len as u64) as f64 / took.as_secs_f64() / f64::from(1 << 20);
    println!(
        "{content_len:>6} B: {:>8.0} records/s, {mib_per_s:>5.0} MiB/s of contents, {:>5.0} ns CPU a record, {:>4.0} ns of them in \
         append's lock",
        count as f64 / took.as_secs_f64(),
        cpu.as_nanos() as f64 / count as f64,
        appending.as_nanos() as f64 / count as f64,
    );
}

/// Fills a journal up to its bound and reads it again.
fn recovery(dir: &Path) {
    std::fs::remove_dir_all(dir).unwrap();
    let (journal, threads, _) = open(dir, ConfirmAfter::Sync);
    let (mut contents, mut batch) = (ChunkWriter::new(ChunkBudget::new()), RecordBatch::new());
    while journal.unretired_len() < 240 << 20 {
        for seq in 0..BATCH_COUNT {
            let content = contents.copy(&[&[b'x'; 1024]]);
            batch.publish(&content, &[(QueueId(1), QueueSeq(seq))]);
        }
        let end = journal.append(&mut batch);
        if end.0 % 64 == 0 {
            journal.wait_durable(end).unwrap();
        }
    }
    threads.stop().unwrap();
    let len = journal.synced().0;
    let begin = Instant::now();
    let (_, threads, count) = open(dir, ConfirmAfter::Sync);
    println!("recovery of {} MiB, {count} records: {:?}", len >> 20, begin.elapsed());
    threads.stop().unwrap();
}

/// CPU time of all threads of this process so far.
fn cpu_time() -> Duration {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap();
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap().split_whitespace().collect();
    let ticks: u64 = fields[11].parse::<u64>().unwrap() + fields[12].parse::<u64>().unwrap();
    Duration::from_millis(ticks * 10)
}
