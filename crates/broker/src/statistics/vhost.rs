//! What happens to messages in a vhost.

use std::cell::Cell;
use std::sync::atomic::{AtomicUsize, Ordering};

use queue::DropReason;
use telemetry::{Buckets, Counter, Gauge, SharedHistogram};

use super::numbers::VHOST_COUNT;
use super::{Observable, Observed, SIZE_COUNT, SIZES};

/// Threads that count without getting into each other's way; more share.
const STRIPE_COUNT: usize = 8;

/// What happens in a vhost, counted by whoever makes it happen: each thread in a stripe of its own, as far as there are so many.
#[derive(Debug, Default)]
pub(crate) struct VhostCounters {
    stripes: Box<[Stripe; STRIPE_COUNT]>,
    observed: Observed<VHOST_COUNT>,
}

/// Alone on its cache lines.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(crate) struct Stripe {
    /// Messages published in confirm mode.
    published_to_confirm: Counter,
    /// Messages put into queues, one for each queue.
    routed: Counter,
    /// Messages that were confirmed.
    confirmed: Counter,
    /// Messages that were refused with `basic.nack`.
    pub(crate) refused: Counter,
    /// Mandatory messages sent back.
    pub(crate) returned: Counter,
    /// Messages that no queue wanted.
    pub(crate) dropped: Counter,
    /// Messages published, by the length of their bodies.
    sizes: SharedHistogram<SIZE_COUNT>,
    /// Messages that wait, and that are handed out.
    pub(crate) ready_count: Gauge,
    pub(crate) unacked_count: Gauge,
    pub(crate) consumer_count: Gauge,
    pub(crate) read: Counter,
    written: Counter,
    received_len: Counter,
    sent_len: Counter,
    classic: Handed,
    quorum: Handed,
}

/// What is handed out of queues of one type.
#[derive(Debug, Default)]
pub(crate) struct Handed {
    pub(crate) delivered: Counter,
    pub(crate) delivered_no_ack: Counter,
    pub(crate) got: Counter,
    pub(crate) got_no_ack: Counter,
    pub(crate) got_empty: Counter,
    pub(crate) redelivered: Counter,
    pub(crate) acked: Counter,
    /// Messages given up, by reason, and by whether and how they go elsewhere.
    deaths: [[Counter; DeathStrategy::COUNT]; REASON_COUNT],
    /// Dead letters that have arrived, where they are looked after until they do.
    pub(crate) deaths_confirmed: Counter,
}

const REASON_COUNT: usize = 4;

/// What becomes of messages that a queue gives up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(usize)]
pub enum DeathStrategy {
    /// They are gone.
    Disabled = 0,
    /// They go to another exchange.
    AtMostOnce = 1,
    /// They go there, and wait until somebody takes them.
    AtLeastOnce = 2,
}

impl DeathStrategy {
    const COUNT: usize = 3;
    /// All of them.
    pub const ALL: [DeathStrategy; Self::COUNT] =
        [DeathStrategy::Disabled, DeathStrategy::AtMostOnce, DeathStrategy::AtLeastOnce];

    /// RabbitMQ's name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            DeathStrategy::Disabled => "disabled",
            DeathStrategy::AtMostOnce => "at_most_once",
            DeathStrategy::AtLeastOnce => "at_least_once",
        }
    }
}

/// The names of reasons for which messages are given up, as metrics have them, in the order in which they are counted.
pub const REASONS: [&str; REASON_COUNT] = ["rejected", "expired", "maxlen", "delivery_limit"];

fn place_of(reason: DropReason) -> usize {
    match reason {
        DropReason::Rejected => 0,
        DropReason::Expired => 1,
        DropReason::MaxLength => 2,
        DropReason::DeliveryLimit => 3,
    }
}

impl Handed {
    /// A message has been given up.
    pub(crate) fn died(&self, reason: DropReason, strategy: DeathStrategy) {
        self.deaths[place_of(reason)][strategy as usize].add(1);
    }
}

/// What one connection has gathered in a turn: told to its vhost at the end of it.
#[derive(Debug, Default)]
pub(crate) struct Gathered {
    pub(crate) published_to_confirm: u64,
    pub(crate) confirmed: u64,
    pub(crate) written: u64,
    /// Bytes from and to the client.
    pub(crate) received_len: u64,
    pub(crate) sent_len: u64,
    /// Of all that were published.
    sizes: Buckets<SIZE_COUNT>,
    /// Of those of them that came last, which are all as long: counted together.
    last_len: u64,
    last_count: u64,
}

impl Gathered {
    /// A message has been published with a body of this length.
    #[inline(always)]
    pub(crate) fn publish(&mut self, len: u64) {
        if len != self.last_len {
            self.end_run(len);
        }
        self.last_count += 1;
    }

    /// The next ones have bodies of another length.
    fn end_run(&mut self, len: u64) {
        self.sizes.add_at(SIZES.bucket_of(self.last_len), self.last_count, self.last_count * self.last_len);
        (self.last_len, self.last_count) = (len, 0);
    }
}

static NEXT_STRIPE: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    static STRIPE: Cell<usize> = const { Cell::new(usize::MAX) };
}

/// This thread's stripe.
#[inline]
fn own_stripe() -> usize {
    STRIPE.with(|stripe| match stripe.get() {
        usize::MAX => {
            stripe.set(NEXT_STRIPE.fetch_add(1, Ordering::Relaxed) % STRIPE_COUNT);
            stripe.get()
        }
        own => own,
    })
}

impl VhostCounters {
    /// Where this thread counts.
    #[inline]
    pub(crate) fn stripe(&self) -> &Stripe {
        &self.stripes[own_stripe() % STRIPE_COUNT]
    }

    /// Takes what a connection has gathered.
    pub(crate) fn take(&self, gathered: &mut Gathered) {
        let stripe = self.stripe();
        gathered.end_run(gathered.last_len);
        let Gathered { published_to_confirm, confirmed, written, received_len, sent_len, sizes, last_len, .. } =
            std::mem::take(gathered);
        gathered.last_len = last_len;
        if sizes != Buckets::default() {
            stripe.sizes.add(&sizes);
        }
        for (counter, count) in [
            (&stripe.received_len, received_len),
            (&stripe.sent_len, sent_len),
            (&stripe.published_to_confirm, published_to_confirm),
            (&stripe.confirmed, confirmed),
            (&stripe.written, written),
        ] {
            if count > 0 {
                counter.add(count);
            }
        }
    }

    /// What has happened in the vhost so far.
    pub(crate) fn messages(&self) -> VhostMessages {
        let mut messages = VhostMessages::default();
        self.stripes.iter().for_each(|stripe| messages.add_stripe(stripe));
        messages
    }
}

impl Stripe {
    /// So many messages were put into so many queues each.
    #[inline]
    pub(crate) fn routed(&self, count: u64) {
        self.routed.add(count);
    }

    /// Where messages of queues of one type are counted.
    #[inline]
    pub(crate) fn handed(&self, is_quorum: bool) -> &Handed {
        if is_quorum { &self.quorum } else { &self.classic }
    }
}

/// What has happened to messages in a vhost, or in several, since the start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct VhostMessages {
    /// Messages published in confirm mode.
    pub published_to_confirm: u64,
    /// Messages put into queues, one for each queue.
    pub routed: u64,
    /// Messages that were confirmed.
    pub confirmed: u64,
    /// Messages that were refused with `basic.nack`.
    pub refused: u64,
    /// Mandatory messages sent back.
    pub returned: u64,
    /// Messages that no queue wanted.
    pub dropped: u64,
    /// Messages published, by the length of their bodies.
    pub sizes: Buckets<SIZE_COUNT>,
    /// Messages that wait.
    pub ready_count: u64,
    /// Messages handed out and not settled.
    pub unacked_count: u64,
    /// Consumers.
    pub consumer_count: u64,
    /// Messages read from segments.
    pub read: u64,
    /// Messages written to the journal.
    pub written: u64,
    /// Bytes that connections have received.
    pub received_len: u64,
    /// Bytes that connections have sent.
    pub sent_len: u64,
    /// What was handed out of classic queues.
    pub classic: OfType,
    /// What was handed out of quorum queues.
    pub quorum: OfType,
}

/// What has been handed out of queues of one type since the start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct OfType {
    /// To consumers that acknowledge.
    pub delivered: u64,
    /// To consumers that do not.
    pub delivered_no_ack: u64,
    /// Got, to be acknowledged.
    pub got: u64,
    /// Got, and not to be acknowledged.
    pub got_no_ack: u64,
    /// Gets that found nothing.
    pub got_empty: u64,
    /// Those of all these that had been handed out before.
    pub redelivered: u64,
    /// Acknowledged, or rejected for good.
    pub acked: u64,
    /// Given up.
    pub deaths: Deaths,
    /// Dead letters that have arrived, where they are looked after until they do.
    pub deaths_confirmed: u64,
}

/// Messages given up: by reason as in [`REASONS`], and what became of them as in [`DeathStrategy::ALL`].
pub type Deaths = [[u64; DeathStrategy::COUNT]; REASON_COUNT];

impl OfType {
    fn add_handed(&mut self, handed: &Handed) {
        self.delivered += handed.delivered.get();
        self.delivered_no_ack += handed.delivered_no_ack.get();
        self.got += handed.got.get();
        self.got_no_ack += handed.got_no_ack.get();
        self.got_empty += handed.got_empty.get();
        self.redelivered += handed.redelivered.get();
        self.acked += handed.acked.get();
        self.deaths_confirmed += handed.deaths_confirmed.get();
        for (own, counted) in self.deaths.iter_mut().flatten().zip(handed.deaths.iter().flatten()) {
            *own += counted.get();
        }
    }

    fn add(&mut self, other: &OfType) {
        self.delivered += other.delivered;
        self.delivered_no_ack += other.delivered_no_ack;
        self.got += other.got;
        self.got_no_ack += other.got_no_ack;
        self.got_empty += other.got_empty;
        self.redelivered += other.redelivered;
        self.acked += other.acked;
        self.deaths_confirmed += other.deaths_confirmed;
        for (own, other) in self.deaths.iter_mut().flatten().zip(other.deaths.iter().flatten()) {
            *own += other;
        }
    }
}

impl VhostMessages {
    fn add_stripe(&mut self, stripe: &Stripe) {
        let gauge = |gauge: &Gauge| gauge.get().cast_unsigned();
        self.published_to_confirm += stripe.published_to_confirm.get();
        self.routed += stripe.routed.get();
        self.confirmed += stripe.confirmed.get();
        self.refused += stripe.refused.get();
        self.returned += stripe.returned.get();
        self.dropped += stripe.dropped.get();
        self.sizes.add(&stripe.sizes.counts());
        // One thread adds what another takes away: only all of them together are how many there are.
        self.ready_count = self.ready_count.wrapping_add(gauge(&stripe.ready_count));
        self.unacked_count = self.unacked_count.wrapping_add(gauge(&stripe.unacked_count));
        self.consumer_count = self.consumer_count.wrapping_add(gauge(&stripe.consumer_count));
        self.read += stripe.read.get();
        self.written += stripe.written.get();
        self.received_len += stripe.received_len.get();
        self.sent_len += stripe.sent_len.get();
        self.classic.add_handed(&stripe.classic);
        self.quorum.add_handed(&stripe.quorum);
    }

    /// The same of a vhost that is gone: what has happened in it, and nothing that is there.
    #[must_use]
    pub(crate) fn of_the_past(self) -> Self {
        Self { ready_count: 0, unacked_count: 0, consumer_count: 0, ..self }
    }

    /// Adds another vhost's.
    pub fn add(&mut self, other: &VhostMessages) {
        self.published_to_confirm += other.published_to_confirm;
        self.routed += other.routed;
        self.confirmed += other.confirmed;
        self.refused += other.refused;
        self.returned += other.returned;
        self.dropped += other.dropped;
        self.sizes.add(&other.sizes);
        self.ready_count = self.ready_count.wrapping_add(other.ready_count);
        self.unacked_count = self.unacked_count.wrapping_add(other.unacked_count);
        self.consumer_count = self.consumer_count.wrapping_add(other.consumer_count);
        self.read += other.read;
        self.written += other.written;
        self.received_len += other.received_len;
        self.sent_len += other.sent_len;
        self.classic.add(&other.classic);
        self.quorum.add(&other.quorum);
    }

    /// Of queues of both types.
    #[must_use]
    pub fn handed(&self) -> OfType {
        let mut all = self.classic;
        all.add(&self.quorum);
        all
    }

    /// By the names of [`super::numbers::VHOST`].
    #[must_use]
    pub fn numbers(&self) -> [u64; VHOST_COUNT] {
        let handed = self.handed();
        // Threads do not all count at the same moment: for an instant one may have taken away what another is about to add.
        let count = |sum: u64| sum.cast_signed().max(0).cast_unsigned();
        [
            self.sizes.count(),
            self.confirmed,
            self.returned,
            self.dropped,
            handed.got,
            handed.got_no_ack,
            handed.got_empty,
            handed.delivered,
            handed.delivered_no_ack,
            handed.redelivered,
            handed.acked,
            self.read,
            self.written,
            count(self.ready_count),
            count(self.unacked_count),
            self.received_len,
            self.sent_len,
        ]
    }
}

impl Observable<VHOST_COUNT> for VhostCounters {
    fn numbers(&self) -> [u64; VHOST_COUNT] {
        self.messages().numbers()
    }

    fn observed(&self) -> &Observed<VHOST_COUNT> {
        &self.observed
    }
}
