//! What keys were called before. They are read with a warning.

use model::config::table::renamed;

use super::{Row, Section};

pub(super) const SECTION: Section = Section { title: "Old names", keys: KEYS };

const KEYS: &[Row] = &[
    renamed("proxy.lines.handshake_timeout", "proxy.upstream_connections.handshake_timeout"),
    renamed("proxy.lines.channel_max", "proxy.upstream_connections.channel_max"),
    renamed("proxy.lines.pool_max", "proxy.upstream_connections.max_per_pool"),
    renamed("proxy.lines.max", "proxy.upstream_connections.max"),
    renamed("proxy.lines.idle_timeout", "proxy.upstream_connections.idle_timeout"),
    renamed("proxy.lines.heartbeat", "proxy.upstream_connections.heartbeat"),
    renamed("proxy.line_wait", "proxy.upstream_connections.wait_timeout"),
    renamed("proxy.login_fresh", "proxy.login_cache_ttl"),
    renamed("proxy.spool.login_fresh", "proxy.spool.login_cache_ttl"),
    renamed("proxy.spool.after", "proxy.spool.start_after"),
    renamed("proxy.spool.age_max", "proxy.spool.message_ttl"),
];
