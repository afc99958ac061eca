//! Where messages that are timed pass: into a queue, and out of it ([`crate::probe`] has what is known of them).

use crate::probe::BatchProbe;
use crate::publish::Publish;
use crate::section::Section;
use crate::shard::QueueEntry;
use crate::targets::Targets;
use crate::work::Work;

impl Section<'_, '_> {
    /// Looks at the message that is timed, `part` by part: before it is put, after, and when all have been.
    #[cold]
    pub(crate) fn time(&mut self, probe: &mut BatchProbe, part: usize, publish: &Publish, targets: &Targets) {
        let Some(queue) = probe.queue_among(targets) else { return };
        let Some((entry, _)) = self.queue(queue) else { return };
        let next_seq = entry.queue.next_seq();
        match part {
            0 => (probe.queue, probe.next_seq) = (Some(queue.clone()), next_seq),
            1 => {
                probe.waits_for_disk = publish.outcome.waits_for_disk;
                probe.is_confirmed = publish.confirm_seq != 0 && !publish.outcome.is_refused;
                if probe.next_seq < next_seq {
                    let weight = probe.weight * targets.queues.len() as u64;
                    entry.probes.push(probe.next_seq, weight, probe.routed_at);
                }
            }
            _ => {}
        }
    }
}

impl Work<'_> {
    /// Finds those of a queue's deliveries that are timed, which begin at `start` among the effects.
    #[cold]
    pub(crate) fn time_deliveries(&mut self, entry: &mut QueueEntry, start: usize) {
        let QueueEntry { handle, queue, probes, .. } = entry;
        let section_effects = &mut *self.section_effects;
        let timed = &mut section_effects.timed;
        probes.take_delivered(
            &section_effects.queue_effects.deliveries[start..],
            handle.priorities.max == 0,
            |probe, delivery| {
                if let Some(view) = queue.consumer(delivery.consumer) {
                    let gate = &view.consumer.gate;
                    timed.push((gate.outbox.clone(), probe.to_consumer(handle, gate.consumer)));
                }
            },
        );
    }
}
