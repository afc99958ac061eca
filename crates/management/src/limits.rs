//! Every number that bounds what a request may cost.

use std::time::Duration;

/// Open connections of a listener whose configuration sets no other bound.
pub const CONNECTIONS_MAX: usize = 1024;
/// Bytes of a request's line and headers.
pub(crate) const HEAD_LEN_MAX: usize = 64 << 10;
/// Headers of a request.
pub const HEADER_COUNT_MAX: usize = 100;
/// How long a request's line and headers may take to arrive, and how long a connection may be idle between requests,
/// where the configuration says nothing.
pub(crate) const HEAD_TIMEOUT: Duration = Duration::from_secs(60);
/// How long a request's body may take to arrive.
pub(crate) const BODY_TIMEOUT: Duration = Duration::from_secs(60);
/// How long a client may take to read what one write has offered it, where the configuration says nothing.
pub(crate) const WRITE_TIMEOUT: Duration = Duration::from_secs(60);
/// Requests that one connection may send, where the configuration says nothing.
pub(crate) const KEEP_ALIVE_MAX: u64 = 1000;
/// Bytes of all request bodies that are being read or worked on at a time; further ones wait for room.
pub(crate) const BODIES_LEN_MAX: usize = 64 << 20;
/// Path segments of a request.
pub(crate) const SEGMENT_COUNT_MAX: usize = 16;
/// Parameters of a query; what follows is ignored.
pub(crate) const QUERY_PARAMETER_COUNT_MAX: usize = 100;
/// Names in the query parameter `columns`.
pub(crate) const COLUMN_COUNT_MAX: usize = 200;
/// Names in the query parameter `sort`: each costs a value for each object.
pub(crate) const SORT_KEY_COUNT_MAX: usize = 8;
/// How deep a name in `columns` or `sort` may reach, such as `message_stats.ack_details.rate`.
pub(crate) const MEMBER_DEPTH_MAX: usize = 16;
/// Bytes of a body that a client may send without having logged in.
pub(crate) const ANONYMOUS_BODY_LEN_MAX: usize = 16 << 10;
/// Objects on a page, where the request says nothing.
pub(crate) const PAGE_SIZE_DEFAULT: usize = 100;
/// Objects on a page.
pub(crate) const PAGE_SIZE_MAX: usize = 500;
/// Characters of a pattern that filters names.
pub(crate) const PATTERN_LEN_MAX: usize = 1024;
/// Objects whose numbers one stream of events reports.
pub(crate) const LIVE_OBJECT_COUNT_MAX: usize = 100;
/// How long a stream of events is silent at most: proxies and clients take one that is for dead.
pub(crate) const LIVE_HEARTBEAT_INTERVAL: Duration = Duration::from_secs(15);
/// How often a stream of events looks for new lines of the log.
pub(crate) const LIVE_LOG_INTERVAL: Duration = Duration::from_secs(1);
/// How often back ends are asked whether the user may still see what a stream reports.
pub(crate) const LIVE_CHECK_INTERVAL: Duration = Duration::from_secs(15);
/// How long a stop waits for requests that are being answered.
pub const STOP_TIMEOUT: Duration = Duration::from_secs(5);
/// Objects of which one answer reports what keeps the broker busy.
pub(crate) const TOP_COUNT_MAX: u64 = 500;
/// For how long they are compared.
pub(crate) const TOP_INTERVAL_MS_MIN: u64 = 100;
/// See [`TOP_INTERVAL_MS_MIN`].
pub(crate) const TOP_INTERVAL_MS_MAX: u64 = 30_000;
/// Such requests at a time: each remembers a few numbers of all objects.
pub(crate) const TOP_PLACE_COUNT: usize = 8;
/// Traces of calls and of messages, and profiles, at a time: each costs what it watches.
pub(crate) const OBSERVER_COUNT_MAX: usize = 8;
