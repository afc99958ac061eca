//! Thousands of lives, each ended by a power cut, a killed process or a stop, at any operation, recovery's own included.

use super::*;
use crate::Random;
use crate::file::Faults;

/// What a journal was given over all its lives, and what it has promised.
struct Model {
    /// All record batches since the start: where they end, what they say.
    history: Vec<Said>,
    /// Never to be lost.
    promised: JournalPosition,
    /// Where the last checkpoint continues.
    from: JournalPosition,
    next_number: u64,
    budget: Arc<ChunkBudget>,
}

impl Model {
    /// Compares what a replay said: it must be a prefix of the history behind the checkpoint, with all that was promised.
    #[track_caller]
    fn check(&self, said: &[Said], end: JournalPosition, seed: u64) {
        assert!(end >= self.promised, "seed {seed}: lost from {end} to {}", self.promised);
        let expected: Vec<_> =
            self.history.iter().filter(|(position, _)| *position > self.from && *position <= end).collect();
        assert!(said.iter().eq(expected), "seed {seed}: from {} to {end} it said {said:?}", self.from);
        let is_boundary = end == self.from || self.history.iter().any(|(position, _)| *position == end);
        assert!(is_boundary, "seed {seed}: ends at {end}, inside a batch");
    }

    fn append(&mut self, world: &mut World, random: &mut Random) {
        let batch = &mut world.batch;
        let mut texts = Vec::new();
        for _ in 0..=random.below(3) {
            let number = self.next_number;
            self.next_number += 1;
            if random.percent(60) {
                let len = if random.percent(5) { random.below(30_000) } else { random.below(3_000) };
                let body = format!("{number}{}", "x".repeat(len as usize));
                let content = world.contents.copy(&[body.as_bytes()]);
                let targets = [(QueueId(number), QueueSeq(1)), (QueueId(2), QueueSeq(number))];
                let targets = &targets[..random.below(3) as usize];
                batch.publish(&content, targets);
                texts.push(format!("publish {} to {targets:?}", body_text(body.as_bytes())));
            } else {
                batch.drop_queue(QueueId(number));
                texts.push(text(&Record::DropQueue { queue: QueueId(number) }));
            }
        }
        let end = world.journal.append(batch);
        self.history.extend(texts.into_iter().map(|text| (end, text)));
    }
}

fn random_options(random: &mut Random) -> Options {
    Options {
        file_len: 16 << (10 + random.below(3)),
        commit_len_max: 1 << (9 + random.below(6)),
        confirm_after: if random.percent(70) { ConfirmAfter::Sync } else { ConfirmAfter::Write },
        salt: random.next(),
        ..small_options()
    }
}

/// One life: opens, checks what it finds, does random things until the power fails, or until it stops.
fn live(disk: &SimDisk, options: &Options, model: &mut Model, random: &mut Random, seed: u64) {
    let contents = || ChunkWriter::new(model.budget.clone());
    let said = match replay(disk, model.from, &mut contents()) {
        Ok((recovery, said)) => {
            let end = recovery.end.as_ref().unwrap().position;
            model.check(&said, end, seed);
            // A search for entries finds the same journal, and no gap in the log.
            let mut entries = Recovery::open(Arc::new(disk.clone()), Path::new(DIR), model.from, 0).unwrap();
            assert_eq!(entries.read_entries(&mut |_| {}).unwrap(), end, "seed {seed}");
            said
        }
        Err(_) if disk.is_cut() => return,
        Err(error) => panic!("seed {seed}: {error}"),
    };
    let (mut world, said_again) = match World::open_with(disk, options, model.from, contents()) {
        Ok(opened) => opened,
        Err(_) if disk.is_cut() => return,
        Err(OpenError::Io { error, .. }) if is_expected(&error) => return,
        Err(error) => panic!("seed {seed}: {error}"),
    };
    assert_eq!(said, said_again, "seed {seed}: two replays differ");
    let end = world.journal.synced();
    model.history.retain(|(position, _)| *position <= end);
    model.promised = end;
    let may_split = options.confirm_after == ConfirmAfter::Write || world.group.is_some();
    if may_split && random.percent(70) {
        world.syncer = Some(world.writer.split_syncer());
    }
    for _ in 0..random.below(60) {
        match random.below(12) {
            0..=3 => model.append(&mut world, random),
            4..=6 => drop(world.writer.commit_once()),
            7 => drop(world.preallocator.prepare_once()),
            8 if world.syncer.is_some() && random.percent(80) => drop(world.writer.sync_soon()),
            8 => drop(world.writer.sync_once()),
            9 => world.syncer.iter().for_each(|syncer| syncer.sync_once()),
            10 => world.journal.record_synced(),
            _ => checkpoint(&world, model, random),
        }
        let journal = &world.journal;
        let promised = if options.confirm_after == ConfirmAfter::Sync { journal.durable() } else { journal.synced() };
        model.promised = model.promised.max(promised);
        if disk.is_cut() {
            return;
        }
    }
}

/// Whether the disk was set to fail like this.
fn is_expected(error: &std::io::Error) -> bool {
    error.kind() == std::io::ErrorKind::StorageFull || error.to_string().contains("the disk failed")
}

/// Writes a checkpoint (elsewhere) at the end of some batch that is synced, and retires the journal before it.
fn checkpoint(world: &World, model: &mut Model, random: &mut Random) {
    let synced = world.journal.synced();
    let ends: Vec<_> = model.history.iter().map(|(end, _)| *end).filter(|end| *end <= synced).collect();
    let Some(&end) = ends.get(random.below(ends.len() as u64) as usize) else { return };
    model.from = model.from.max(end);
    world.journal.retire(model.from);
}

pub(super) fn check_lives(seed: u64, faults: Faults) {
    check_lives_with(seed, faults, |_| {});
}

/// The same, with something done before each life.
pub(super) fn check_lives_with(seed: u64, faults: Faults, before: impl Fn(&mut Random)) {
    let mut random = Random::new(seed);
    let disk = SimDisk::new(random.next());
    let mut model = Model {
        history: Vec::new(),
        promised: JournalPosition::START,
        from: JournalPosition::START,
        next_number: 1,
        budget: ChunkBudget::new(),
    };
    disk.create_dir(Path::new(DIR)).unwrap();
    disk.set_faults(faults);
    let options = random_options(&mut random);
    for _ in 0..6 {
        before(&mut random);
        if random.percent(80) {
            disk.cut_power_at(disk.operation_count() + random.below(60));
        }
        let options = Options { salt: random.next(), ..options.clone() };
        live(&disk, &options, &mut model, &mut random, seed);
        if random.percent(25) {
            disk.kill_process(); // in the middle of something, if the power "failed" before
        } else {
            disk.restart();
        }
    }
}

#[test]
fn what_was_promised_survives_power_cuts() {
    for seed in seeds(0, 8000) {
        check_lives(seed, Faults::default());
    }
}

#[test]
fn what_was_promised_survives_short_and_interrupted_writes() {
    let faults = Faults { short_write_percent: 30, interrupt_percent: 10, ..Faults::default() };
    for seed in seeds(1, 2000) {
        check_lives(seed, faults);
    }
}
