//! What is known of a broker, from two looks at it: what findings follow from.

/// A broker, at the second look.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Facts {
    pub(super) node: String,
    pub(super) version: String,
    /// Between the two looks.
    pub(super) seconds: f64,
    /// What is out of order in its cluster, in sentences; whether something does not work for it.
    pub(super) cluster_troubles: Vec<(bool, String)>,
    pub(super) memory: Share,
    /// What is free of the disk, and below which alarms begin.
    pub(super) disk_free_len: u64,
    pub(super) disk_limit_len: u64,
    pub(super) files: Share,
    pub(super) memory_alarm: bool,
    pub(super) disk_alarm: bool,
    /// Syncs between the looks, and how long each took.
    pub(super) syncs: Option<Mean>,
    pub(super) connection_count: u64,
    /// Those that the broker keeps from publishing.
    pub(super) blocked_count: u64,
    /// Those that it slows down.
    pub(super) slowed_count: u64,
    pub(super) connections_opened_per_s: f64,
    pub(super) lost_message_count: u64,
    /// Lines of the log that tell of errors, and the last of them.
    pub(super) error_count: usize,
    pub(super) last_error: Option<String>,
    /// Processors' worth of work, and how many there are.
    pub(super) busy_processors: Option<f64>,
    pub(super) processor_count: u64,
    pub(super) queues: Vec<Queue>,
    /// None: they are not known.
    pub(super) slow_requests: Option<SlowRequests>,
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
    /// As far as they are known, the longest first.
    pub(super) waits: Vec<Wait>,
}

/// What a request waited for.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Wait {
    pub(super) kind: String,
    /// Who held a lock, if it is known.
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

/// Something of which there is so much.
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
    /// At the first look, and at the second.
    pub(super) before: u64,
    pub(super) messages: u64,
    pub(super) ready: u64,
    pub(super) unacked: u64,
    pub(super) published_per_s: f64,
    pub(super) acked_per_s: f64,
    pub(super) delivered_per_s: f64,
    pub(super) redelivered_per_s: f64,
    /// Dead letters that came back to where they had died before, between the two looks.
    pub(super) came_round_per_s: f64,
    pub(super) consumers: Vec<Consumer>,
    /// Only one of the consumers is served.
    pub(super) is_single_active: bool,
    /// Queues whose dead letters come here.
    pub(super) dead_letters_of: Vec<String>,
}

/// A consumer of a queue.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Consumer {
    /// 0: without a limit.
    pub(super) prefetch: u64,
    pub(super) acks: bool,
}

impl Queue {
    /// How it is called where vhosts differ.
    pub(super) fn shown(&self) -> String {
        match self.vhost.as_str() {
            "/" => self.name.clone(),
            vhost => format!("{} (in {vhost})", self.name),
        }
    }
}
