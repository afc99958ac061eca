//! How lanes and connections end, as far as it is the same for all protocols.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use engine::lane::LaneNumber;
use engine::queue_handle::QueueHandle;

use super::{Front, Phase, Protocol};
use crate::events::Event;
use crate::limits::{CLOSE_TIMEOUT_MAX, REFUSED_LOGIN_DELAY};
use crate::vhost::{DeleteConditions, Deletion};

impl<P: Protocol> Front<P> {
    /// A lane is about to end for an error of its client: what came before is done, and its confirms are written. What belongs to the
    /// lane is given up by [`Front::release_lane`].
    pub(crate) fn begin_lane_failure(&mut self, number: LaneNumber) {
        if let Some(lane) = self.lanes.get_mut(number) {
            lane.stop_serving();
        }
        self.apply_batch();
        self.write_confirms();
    }

    /// The connection ends for an error: what came before is done, confirmed, and given up. What the protocol says then is the last.
    pub(crate) fn begin_failure(&mut self) {
        self.handle.outbox.close();
        self.apply_batch();
        self.write_confirms();
        self.broker.counters.connections_failed.add(1);
        self.release_everything();
    }

    /// The client ends the connection: what came before is done, and given up.
    pub(crate) fn begin_parting(&mut self) {
        self.handle.outbox.close();
        self.apply_batch();
        self.release_everything();
    }

    /// The server has closed the connection, and the client has so long to agree.
    pub(crate) fn wait_for_close(&mut self, within: Duration) {
        self.listen_again();
        self.phase = Phase::Closing { until: Instant::now() + within };
    }

    /// The client has closed the connection, and has so long to close its socket. A second time changes nothing.
    pub(crate) fn part(&mut self, within: Duration) {
        self.listen_again();
        if !matches!(self.phase, Phase::Parting { .. }) {
            self.phase = Phase::Parting { until: Instant::now() + within };
        }
    }

    /// The login was refused, and the client understands no reason.
    pub(crate) fn refuse_silently(&mut self) {
        self.phase = Phase::Refused { until: Instant::now() + REFUSED_LOGIN_DELAY };
    }

    /// Nothing more is sent but what waits to be written. The client may take so long to read it and to end its direction.
    pub(crate) fn end_output(&mut self, within: Duration) {
        self.phase = Phase::Closed { until: Instant::now() + within };
    }

    /// Nothing more is sent, and the client is not waited for.
    pub(crate) fn end_at_once(&mut self) {
        self.phase = Phase::Closed { until: Instant::now() };
    }

    /// The client is listened to, whatever it waited for: what it says to its own end, or to ours, is heard.
    fn listen_again(&mut self) {
        self.waits.forget();
        self.flow.forget();
    }

    /// How long a client may take to agree that its connection is closed, and to close its socket. As in RabbitMQ no longer than it may
    /// be silent, if there is such a time.
    pub(crate) fn close_timeout(&self, silence_max: Duration) -> Duration {
        match self.phase {
            Phase::Opening => CLOSE_TIMEOUT_MAX.min(self.broker.options.handshake_timeout),
            _ if silence_max.is_zero() => CLOSE_TIMEOUT_MAX,
            _ => CLOSE_TIMEOUT_MAX.min(silence_max),
        }
    }

    /// Nothing more is received until the connection is closed. What was received is on its way to the journal when `unheard` is dropped.
    pub(super) fn pause(&mut self, unheard: Arc<()>) {
        self.apply_batch();
        self.flow.pause();
        drop(unheard);
    }

    /// Ends the session without a word: the socket is closed. What was received in full has been done.
    pub(crate) fn end(&mut self) {
        self.handle.outbox.close();
        self.apply_batch();
        self.release_everything();
        self.report_counted();
        self.end_at_once();
    }

    /// Closes all lanes and deletes what belongs to the connection alone.
    fn release_everything(&mut self) {
        self.handle.outbox.close();
        let lanes = self.lanes.take_all().map(|lane| *lane).collect();
        self.release_lanes(lanes);
        for queue in self.resources.take_queues() {
            self.delete_owned(&queue);
        }
        if self.handle.opened.get().is_some()
            && let Some(access) = self.principal.known_access()
            && self.resources.leave()
        {
            access.vhost.connection_count.fetch_sub(1, Ordering::Relaxed);
            self.broker.emit(Event::connection_closed(&self.handle, &self.broker.options.node));
        }
    }

    /// The connection ends: its exclusive queue is deleted, before it can be seen that the connection has ended.
    fn delete_owned(&self, queue: &QueueHandle) {
        let deletion = self.vhost().delete_queue(&self.broker, queue, DeleteConditions::default());
        if let Deletion::Deleted { removed, .. } = deletion {
            self.broker.emit_removals_with_queue(queue, &removed);
            self.broker.emit(Event::queue_deleted(queue).by(self.user_name(), self.origin()));
        }
    }

    /// The connection has declared an exclusive queue.
    pub(crate) fn own_queue(&mut self, queue: Arc<QueueHandle>) {
        self.resources.own(queue);
    }

    /// A queue has been deleted by the client.
    pub(crate) fn disown_queue(&mut self, queue: &QueueHandle) {
        self.resources.disown(queue.id());
    }
}
