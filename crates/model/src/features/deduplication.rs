//! Messages that are dropped because another of the same key is there, or was.

use super::settings::Settings;

/// The header that holds a message's key, unless another is named.
pub(crate) const DEDUPLICATION_HEADER: &str = "x-deduplication-header";

/// How duplicates of messages are found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Deduplication {
    /// The most keys that are remembered of messages that have left the queue.
    pub cache_size: Option<u64>,
    /// How long a key is remembered.
    pub cache_ttl_ms: Option<u64>,
    /// The header that holds a message's key. Messages without it are never dropped.
    pub header: Box<str>,
    /// Whether a new message takes the place of a waiting one of the same key, instead of being dropped. Of queues only.
    pub replaces: bool,
}

impl Deduplication {
    pub(super) fn of(settings: Settings<'_>) -> Option<Deduplication> {
        settings.is_set("x-message-deduplication").then(|| Self::as_set(settings))
    }

    /// Where there is deduplication anyway.
    pub(super) fn as_set(settings: Settings<'_>) -> Deduplication {
        let header = settings.text("x-deduplication-header").and_then(|name| String::from_utf8(name.into_vec()).ok());
        Deduplication {
            cache_size: settings.number("x-cache-size"),
            cache_ttl_ms: settings.number("x-cache-ttl"),
            header: header.map_or_else(|| Box::from(DEDUPLICATION_HEADER), String::into_boxed_str),
            replaces: settings.is_set("x-deduplication-replaces"),
        }
    }
}
