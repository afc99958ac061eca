//! What happens to messages in a vhost.

use std::cell::Cell;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use queue::DropReason;
use telemetry::{Buckets, Counter, Gauge, SharedHistogram};

use super::losses::{REASON_COUNT, place_of};
use super::numbers::VHOST_COUNT;
use super::{Observable, Observed, SIZE_COUNT, SIZES, StageTimes};

/// Threads that count without getting into each other's way; more share.
const STRIPE_COUNT: usize = 8;

/// What happens in a vhost, counted where it happens: each thread in a stripe of its own, as far as there are so many.
#[derive(Debug, Default)]
pub struct VhostCounters {
    stripes: Box<[Stripe; STRIPE_COUNT]>,
    observed: Observed<VHOST_COUNT>,
    /// Not there before the first message is timed.
    stages: OnceLock<Box<StageTimes>>,
}

/// What becomes of messages that a queue gives up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(usize)]
pub enum DeathStrategy {
    /// They are dropped.
    Disabled = 0,
    /// They are sent to another exchange.
    AtMostOnce = 1,
    /// They are sent there, and wait until a queue takes them.
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

impl Handed {
    /// A message has been given up.
    pub fn died(&self, reason: DropReason, strategy: DeathStrategy) {
        self.deaths[place_of(reason)][strategy as usize].add(1);
    }
}

/// What one connection has gathered in a turn: added to its vhost's counts at the end of it.
#[derive(Debug, Default)]
pub struct TurnCounts {
    /// See [`Stripe::published_to_confirm`].
    pub published_to_confirm: u64,
    /// See [`Stripe::confirmed`].
    pub confirmed: u64,
    /// See [`Stripe::written`].
    pub written: u64,
    /// Bytes from and to the client.
    pub received_len: u64,
    /// Bytes sent.
    pub sent_len: u64,
    /// Of all that were published.
    pub sizes: Buckets<SIZE_COUNT>,
    /// Of those of them that came last, which are all as long: counted together.
    pub last_len: u64,
    pub(crate) last_count: u64,
}

impl TurnCounts {
    /// A message has been published with a body of this length.
    #[inline(always)]
    pub fn publish(&mut self, len: u64) {
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
    pub fn stripe(&self) -> &Stripe {
        &self.stripes[own_stripe() % STRIPE_COUNT]
    }

    /// Bytes that they take.
    #[must_use]
    pub fn memory_len(&self) -> usize {
        size_of::<[Stripe; STRIPE_COUNT]>() + self.stages.get().map_or(0, |stages| stages.memory_len())
    }

    /// How long its messages were in each stage of their way.
    pub fn stages(&self) -> &StageTimes {
        self.stages.get_or_init(Box::default)
    }

    /// Takes what a connection has gathered.
    pub fn take(&self, gathered: &mut TurnCounts) {
        let stripe = self.stripe();
        gathered.end_run(gathered.last_len);
        let TurnCounts { published_to_confirm, confirmed, written, received_len, sent_len, sizes, last_len, .. } =
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
    pub fn messages(&self) -> VhostMessages {
        let mut messages = VhostMessages::default();
        self.stripes.iter().for_each(|stripe| stripe.add_to(&mut messages));
        messages
    }
}

impl Stripe {
    /// So many messages were put into so many queues each.
    #[inline]
    pub fn routed(&self, count: u64) {
        self.routed.add(count);
    }

    /// Where messages of queues of one type are counted.
    #[inline]
    pub fn handed(&self, is_quorum: bool) -> &Handed {
        if is_quorum { &self.quorum } else { &self.classic }
    }
}

/// Says once what is counted: in `$shared`, which several threads count in, and in the sums of what these have counted.
macro_rules! counted {
    (
        $(#[$of_shared:meta])* counts $shared:ident; $(#[$of_sum:meta])* sums $sum:ident;
        $($(#[$doc:meta])* $name:ident: $counter:ty => $number:ty,)*
    ) => {
        $(#[$of_shared])*
        #[derive(Debug, Default)]
        pub struct $shared {
            $($(#[$doc])* pub $name: $counter,)*
        }

        $(#[$of_sum])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
        pub struct $sum {
            $($(#[$doc])* pub $name: $number,)*
        }

        impl Counted for $shared {
            type Sum = $sum;

            fn add_to(&self, sum: &mut $sum) {
                $(self.$name.add_to(&mut sum.$name);)*
            }
        }

        impl Sum for $sum {
            fn add(&mut self, other: &$sum) {
                $(Sum::add(&mut self.$name, &other.$name);)*
            }
        }
    };
}

counted! {
    /// What happens in a vhost, by one thread. Alone on its cache lines.
    #[repr(align(128))]
    counts Stripe;

    /// What has happened to messages in a vhost, or in several, since the start.
    sums VhostMessages;

    /// Messages published in confirm mode.
    published_to_confirm: Counter => u64,
    /// Messages put into queues, one for each queue.
    routed: Counter => u64,
    /// Messages that were confirmed.
    confirmed: Counter => u64,
    /// Messages that were refused with `basic.nack`.
    refused: Counter => u64,
    /// Mandatory messages sent back.
    returned: Counter => u64,
    /// Messages that no queue wanted.
    dropped: Counter => u64,
    /// Messages published, by the length of their bodies.
    sizes: SharedHistogram<SIZE_COUNT> => Buckets<SIZE_COUNT>,
    /// Messages that wait.
    ready_count: Gauge => u64,
    /// Messages handed out and not settled.
    unacked_count: Gauge => u64,
    /// Consumers.
    consumer_count: Gauge => u64,
    /// Messages read from segments.
    read: Counter => u64,
    /// Messages written to the journal.
    written: Counter => u64,
    /// Bytes that connections have received.
    received_len: Counter => u64,
    /// Bytes that connections have sent.
    sent_len: Counter => u64,
    /// What was handed out of classic queues.
    classic: Handed => OfType,
    /// What was handed out of quorum queues.
    quorum: Handed => OfType,
}

counted! {
    /// What is handed out of queues of one type.
    counts Handed;

    /// What has been handed out of queues of one type since the start.
    sums OfType;

    /// To consumers that acknowledge.
    delivered: Counter => u64,
    /// To consumers that do not.
    delivered_no_ack: Counter => u64,
    /// Got, to be acknowledged.
    got: Counter => u64,
    /// Got, and not to be acknowledged.
    got_no_ack: Counter => u64,
    /// Gets that found nothing.
    got_empty: Counter => u64,
    /// Those of all these that had been handed out before.
    redelivered: Counter => u64,
    /// Acknowledged.
    acked: Counter => u64,
    /// Given up, by reason, and by whether and how they go elsewhere.
    deaths: [[Counter; DeathStrategy::COUNT]; REASON_COUNT] => Deaths,
    /// Dead letters that have arrived, where they are looked after until they do.
    deaths_confirmed: Counter => u64,
}

/// What several threads count.
trait Counted {
    type Sum;

    fn add_to(&self, sum: &mut Self::Sum);
}

/// What they have counted.
trait Sum {
    fn add(&mut self, other: &Self);
}

impl Counted for Counter {
    type Sum = u64;

    fn add_to(&self, sum: &mut u64) {
        sum.add(&self.get());
    }
}

impl Counted for Gauge {
    type Sum = u64;

    fn add_to(&self, sum: &mut u64) {
        sum.add(&self.get().cast_unsigned());
    }
}

impl Counted for SharedHistogram<SIZE_COUNT> {
    type Sum = Buckets<SIZE_COUNT>;

    fn add_to(&self, sum: &mut Buckets<SIZE_COUNT>) {
        sum.add(&self.counts());
    }
}

impl<C: Counted, const N: usize> Counted for [C; N] {
    type Sum = [C::Sum; N];

    fn add_to(&self, sum: &mut [C::Sum; N]) {
        self.iter().zip(sum).for_each(|(counted, sum)| counted.add_to(sum));
    }
}

impl Sum for u64 {
    fn add(&mut self, other: &u64) {
        // One thread adds what another takes away: only all of them together are how many there are.
        *self = self.wrapping_add(*other);
    }
}

impl Sum for Buckets<SIZE_COUNT> {
    fn add(&mut self, other: &Self) {
        Buckets::add(self, other);
    }
}

impl<S: Sum, const N: usize> Sum for [S; N] {
    fn add(&mut self, other: &Self) {
        self.iter_mut().zip(other).for_each(|(own, other)| own.add(other));
    }
}

/// Messages given up: by reason as in [`REASONS`], and what became of them as in [`DeathStrategy::ALL`].
pub type Deaths = [[u64; DeathStrategy::COUNT]; REASON_COUNT];

impl VhostMessages {
    /// The same of a deleted vhost: what has happened in it, and nothing that is there.
    #[must_use]
    pub fn of_the_past(self) -> Self {
        Self { ready_count: 0, unacked_count: 0, consumer_count: 0, ..self }
    }

    /// Adds another vhost's.
    pub fn add(&mut self, other: &VhostMessages) {
        Sum::add(self, other);
    }

    /// Of queues of both types.
    #[must_use]
    pub fn handed(&self) -> OfType {
        let mut all = self.classic;
        Sum::add(&mut all, &self.quorum);
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
