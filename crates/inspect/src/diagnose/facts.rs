//! What is known of a broker, from several looks at it: what findings follow from. Rates are of the time between the first look and the
//! last.

use super::lengths::Lengths;

/// A broker, at the last look.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Facts {
    pub(super) node: String,
    pub(super) version: String,
    /// Between the first look and the last.
    pub(super) seconds: f64,
    /// What is out of order in its cluster, in sentences; whether something does not work for it.
    pub(super) cluster_troubles: Vec<(bool, String)>,
    /// The limits of each node, the one that was asked first.
    pub(super) nodes: Vec<Node>,
    /// What memory is used for, most first.
    pub(super) memory_owners: Vec<(String, u64)>,
    /// Syncs of the journal, and how long each took.
    pub(super) syncs: Option<Mean>,
    pub(super) processors: Option<Processors>,
    pub(super) processor_count: u64,
    pub(super) rates: Rates,
    pub(super) lost_message_count: u64,
    /// Lines of the log that report errors, and the last of them.
    pub(super) error_count: usize,
    pub(super) last_error: Option<String>,
    /// Lines that came between the looks, of channels and connections that were closed by errors and of refused logins.
    pub(super) refusals: Vec<String>,
    pub(super) clients: Vec<Client>,
    pub(super) queues: Vec<Queue>,
    /// None: they are not known.
    pub(super) slow_requests: Option<SlowRequests>,
}

/// What has limits on a node.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Node {
    pub(super) name: String,
    pub(super) memory: Share,
    pub(super) memory_alarm: bool,
    /// What is free of the disk, and below which alarms begin.
    pub(super) disk_free_len: u64,
    pub(super) disk_limit_len: u64,
    pub(super) disk_alarm: bool,
    pub(super) files: Share,
}

/// How the broker came by processors, in processors.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Processors {
    pub(super) used: f64,
    /// For how many of them threads waited.
    pub(super) waited: f64,
    /// How many its control group kept from it.
    pub(super) throttled: f64,
    /// How many of the machine its hypervisor gave to others.
    pub(super) stolen: f64,
}

/// What happened a second, on the whole node.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Rates {
    pub(super) connections_opened: f64,
    pub(super) channels_opened: f64,
    pub(super) queues_declared: f64,
    pub(super) connections_refused: f64,
    pub(super) connections_failed: f64,
    pub(super) channels_failed: f64,
    pub(super) logins_failed: f64,
}

/// A connection and its channels.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Client {
    /// As it calls itself, with its address.
    pub(super) name: String,
    pub(super) state: String,
    /// The least that the kernel has seen of the way there and back.
    pub(super) round_trip_ms: Option<f64>,
    /// Bytes that wait until it reads, at the look when there were least.
    pub(super) unread_len: u64,
    pub(super) channel_count: u64,
    /// Channels that nothing has ever happened on.
    pub(super) idle_channel_count: u64,
    pub(super) published_per_s: f64,
    /// Of the channel that publishes most and waits for confirms: how much, and how much it leaves unconfirmed.
    pub(super) confirmed_per_s: f64,
    pub(super) unconfirmed: u64,
    /// Publishes that no queue wanted.
    pub(super) unroutable_dropped_per_s: f64,
    pub(super) unroutable_returned_per_s: f64,
    pub(super) got_per_s: f64,
    pub(super) got_empty_per_s: f64,
}

/// The requests that took longest of late, the slowest first.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct SlowRequests {
    /// Else those of AMQP are not known, nor what was waited for.
    pub(super) has_recorder: bool,
    pub(super) all: Vec<SlowRequest>,
}

/// A request.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct SlowRequest {
    pub(super) request: String,
    /// The time of day, as it is at the broker in UTC.
    pub(super) at: String,
    pub(super) ms: f64,
    /// How long its reader took to take the answer, and how long that was in bytes.
    pub(super) reader_ms: f64,
    pub(super) len: u64,
    /// As far as they are known, the longest first.
    pub(super) waits: Vec<Wait>,
}

/// What a request waited for.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Wait {
    pub(super) kind: String,
    /// The holder of a lock, if it is known.
    pub(super) holder: String,
    pub(super) ms: f64,
}

impl Wait {
    /// `for a lock that a::b held`.
    pub(super) fn what(&self) -> String {
        match (self.kind.as_str(), self.holder.as_str()) {
            ("lock", "") => "for a lock".to_owned(),
            ("lock", holder) => format!("for a lock that {holder} held"),
            ("disk", _) => "for the disk".to_owned(),
            ("socket", _) => "for a peer".to_owned(),
            ("task", _) => "for another task".to_owned(),
            (other, _) => format!("for {other}"),
        }
    }
}

/// The used part of a limit.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Share {
    pub(super) used: u64,
    pub(super) limit: u64,
}

/// How often something happened, and how long it took on average.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Mean {
    pub(super) count: f64,
    pub(super) mean_ms: f64,
}

/// A queue.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Queue {
    pub(super) vhost: String,
    pub(super) name: String,
    /// How many messages it had, look by look.
    pub(super) lengths: Lengths,
    pub(super) ready: u64,
    pub(super) unacked: u64,
    /// The same at the first look.
    pub(super) unacked_before: u64,
    /// Bytes of the bodies of its messages.
    pub(super) message_bytes: u64,
    pub(super) published_per_s: f64,
    pub(super) acked_per_s: f64,
    pub(super) delivered_per_s: f64,
    pub(super) redelivered_per_s: f64,
    /// Messages that it gave up, by the reason; and publishes that it refused.
    pub(super) rejected_per_s: f64,
    pub(super) expired_per_s: f64,
    pub(super) over_length_per_s: f64,
    pub(super) failed_too_often_per_s: f64,
    pub(super) refused_per_s: f64,
    /// Dead letters that came back to where they had died before.
    pub(super) came_round_per_s: f64,
    /// Nothing was ever published into it.
    pub(super) is_unused: bool,
    /// Where its dead letters go.
    pub(super) dead_letters: DeadLetters,
    pub(super) consumers: Vec<Consumer>,
    /// Only one of the consumers is served.
    pub(super) is_single_active: bool,
    /// Queues that have dead letters, and whose dead letters come here.
    pub(super) dead_letters_of: Vec<String>,
    /// Clients that publish into it, where that was asked for.
    pub(super) publishers: Vec<String>,
}

/// Where a queue's dead letters go.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) enum DeadLetters {
    /// It has no exchange for them: they are deleted.
    #[default]
    Deleted,
    /// To an exchange that brings them to no queue, by its name.
    Nowhere(String),
    /// To queues.
    Kept,
}

/// A consumer of a queue.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Consumer {
    /// 0: without a limit.
    pub(super) prefetch: u64,
    pub(super) acks: bool,
    /// Of its connection.
    pub(super) client: String,
    pub(super) round_trip_ms: Option<f64>,
    pub(super) unread_len: u64,
}

impl Queue {
    /// How it is called where vhosts differ.
    pub(super) fn shown(&self) -> String {
        match self.vhost.as_str() {
            "/" => self.name.clone(),
            vhost => format!("{} (in {vhost})", self.name),
        }
    }

    /// Messages at the last look.
    pub(super) fn messages(&self) -> u64 {
        self.lengths.last()
    }

    /// Messages that consumers were done with, in whatever way.
    pub(super) fn settled_per_s(&self) -> f64 {
        self.acked_per_s + self.rejected_per_s + self.redelivered_per_s + self.failed_too_often_per_s
    }

    /// The longest way to one of its consumers and back.
    pub(super) fn round_trip_ms(&self) -> f64 {
        self.consumers.iter().filter_map(|consumer| consumer.round_trip_ms).fold(0.0, f64::max)
    }
}
