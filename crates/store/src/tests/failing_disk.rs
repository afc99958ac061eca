//! A disk that fails now and then, without losing power: the store continues or reports that it cannot, and either way nothing durable is
//! lost.

use std::sync::Arc;

use model::ids::JournalPosition;

use super::power_loss::options;
use crate::file::{Faults, SimDisk};
use crate::simulation::{Broker, History, Legacy, Seen, check, for_each_seed};
use crate::{Random, Store};

fn run(seed: u64) {
    let mut random = Random::new(seed);
    let disk = SimDisk::new(seed);
    let mut durable = JournalPosition::START;
    let (seen, history) = (Seen::default(), History::default());
    let mut legacy = Legacy { seen, random: random.clone(), history, next_queue: 1, next_message: 1 };
    for _ in 0..3 {
        disk.set_faults(Faults::default());
        let (store, recovered) = Store::open_stepped(options(&mut random), Arc::new(disk.clone()))
            .unwrap_or_else(|error| panic!("seed {seed}: {error}"));
        check(&store, &recovered, &mut legacy.history, durable);
        let expected = legacy.history.cut_at(store.appended()).clone();
        let broker = Broker::restore(store.clone(), recovered, legacy);
        expected.queues.iter().for_each(|(id, queue)| broker.expect(*id, &queue.messages));
        disk.set_faults(Faults {
            short_write_percent: 10,
            write_failure_percent: 2,
            sync_failure_percent: 4,
            ..Faults::default()
        });
        for _ in 0..150 {
            // What fails is tried again later, unless the journal has failed.
            let _ = broker.act();
            if store.failure().is_some() {
                break;
            }
        }
        durable = store.durable();
        drop(store);
        let (store, left) = broker.end();
        legacy = left;
        drop(store);
        if random.percent(50) { disk.restart() } else { disk.kill_process() }
    }
}

#[test]
fn nothing_durable_is_lost_when_writes_and_syncs_fail() {
    for_each_seed(500, run);
}
