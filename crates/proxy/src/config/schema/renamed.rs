//! What keys were called before. They are read with a warning.

use model::config::table::renamed;

use super::{Row, Section, spool, upstreams};

pub(super) const SECTION: Section = Section { title: "Old names", keys: KEYS };

const KEYS: &[Row] = &[
    renamed("proxy.lines.handshake_timeout", upstreams::UPSTREAM_CONNECTIONS_HANDSHAKE_TIMEOUT.name()),
    renamed("proxy.lines.channel_max", upstreams::UPSTREAM_CONNECTIONS_CHANNEL_MAX.name()),
    renamed("proxy.lines.pool_max", upstreams::UPSTREAM_CONNECTIONS_MAX_PER_POOL.name()),
    renamed("proxy.lines.max", upstreams::UPSTREAM_CONNECTIONS_MAX.name()),
    renamed("proxy.lines.idle_timeout", upstreams::UPSTREAM_CONNECTIONS_IDLE_TIMEOUT.name()),
    renamed("proxy.lines.heartbeat", upstreams::UPSTREAM_CONNECTIONS_HEARTBEAT.name()),
    renamed("proxy.line_wait", upstreams::UPSTREAM_CONNECTIONS_WAIT_TIMEOUT.name()),
    renamed("proxy.login_fresh", upstreams::LOGIN_CACHE_TTL.name()),
    renamed("proxy.spool.login_fresh", spool::SPOOL_LOGIN_CACHE_TTL.name()),
    renamed("proxy.spool.after", spool::SPOOL_START_AFTER.name()),
    renamed("proxy.spool.age_max", spool::SPOOL_MESSAGE_TTL.name()),
];
