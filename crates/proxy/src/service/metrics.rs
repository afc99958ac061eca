//! What Prometheus reads: AMQProxy's names, for dashboards that know them, and our own.

use telemetry::exposition::{Kind, Labels, Name, Value, write_head_help_first, write_sample};

use super::operations::state_name;
use crate::balance::{Snapshot, State};
use crate::guard;
use crate::spool;
use crate::switchboard::{PoolReport, Report};

/// A number of something.
type Of<T, Number> = fn(&T) -> Number;

/// All metrics.
pub(super) fn render(
    report: &Report,
    upstreams: &[Snapshot],
    guard: &guard::Snapshot,
    spool: Option<&spool::Report>,
    is_ready: bool,
) -> Vec<u8> {
    let mut out = Vec::with_capacity(8 * 1024);
    let counters = &report.counters;
    let identity = amqproxys("identity_info");
    write_head_help_first(&mut out, identity, Kind::Gauge, "The proxy's version.");
    let labels = |labels: &mut Labels<'_>| {
        labels.put("version", env!("CARGO_PKG_VERSION"));
        labels.put("hostname", &host_name());
    };
    write_sample(&mut out, identity, labels, 1_u64.into());
    gauge(&mut out, amqproxys("client_connections"), "Clients.", report.client_count);
    gauge(&mut out, amqproxys("upstream_connections"), "Connections to upstreams.", report.upstream_connection_count);
    gauge(&mut out, ours("ready"), "Whether an upstream is available for clients.", usize::from(is_ready));
    gauge(&mut out, ours("clients_open"), "Open client connections.", report.open_client_count);
    gauge(
        &mut out,
        ours("clients_waiting"),
        "Clients that wait for an upstream connection or channel.",
        report.waiting_client_count,
    );
    gauge(
        &mut out,
        ours("clients_on_own_connection"),
        "Clients with an upstream connection of their own.",
        report.own_connection_count,
    );
    gauge(&mut out, ours("client_output_bytes"), "Bytes that wait for clients' sockets.", report.client_output_len);
    for (name, help, value) in [
        ("clients_total", "Accepted client connections.", counters.clients),
        ("messages_published_total", "Messages sent on over shared connections.", counters.published),
        ("channels_opened_total", "Channels opened upstream for pools.", counters.channels_opened),
        (
            "channels_reused_total",
            "Times that a client got a channel that another one had before.",
            counters.channels_reused,
        ),
        ("connections_dialled_total", "Upstream connections that were wanted.", counters.connections_dialled),
        (
            "connections_lost_total",
            "Upstream connections that could not be opened, or were lost.",
            counters.connections_lost,
        ),
        ("clients_moved_total", "Clients that got an upstream connection of their own.", counters.moved),
        ("late_errors_total", "Publishes that failed after their client had disconnected.", counters.late_errors),
        (
            "late_returns_total",
            "Mandatory messages that were returned after their client had disconnected.",
            counters.late_returns,
        ),
        ("late_nacks_total", "Publishes that were refused after their client had disconnected.", counters.late_nacks),
        (
            "late_losses_total",
            "Publishes that were never confirmed after their client had disconnected.",
            counters.late_losses,
        ),
        ("logins_refused_total", "Logins that upstreams refused.", counters.logins_refused),
        (
            "logins_remembered_total",
            "Logins believed because they had been accepted lately.",
            counters.logins_remembered,
        ),
        ("slow_clients_total", "Clients let go because they did not read.", counters.slow_clients),
    ] {
        number(&mut out, ours(name), Kind::Counter, help, value.into());
    }
    render_guard(&mut out, guard);
    if let Some(spool) = spool {
        render_spool(&mut out, spool);
    }
    render_upstreams(&mut out, upstreams);
    render_pools(&mut out, report);
    out
}

fn render_guard(out: &mut Vec<u8>, guard: &guard::Snapshot) {
    gauge(out, ours("users"), "Users with at least one client.", guard.user_count);
    gauge(out, ours("addresses"), "Addresses, or networks that count as one, that have a client.", guard.network_count);
    let name = ours("limit");
    write_head_help_first(out, name, Kind::Gauge, "The configured limit; 0 for none.");
    for of in &guard.limits {
        write_sample(out, name, |labels| labels.put("limit", of.limit.name()), of.max.into());
    }
    let name = ours("limit_reached_total");
    let help = "How often a limit was reached, whether or not a client was refused.";
    write_head_help_first(out, name, Kind::Counter, help);
    for of in &guard.limits {
        write_sample(out, name, |labels| labels.put("limit", of.limit.name()), of.counts.reached.into());
    }
}

fn render_spool(out: &mut Vec<u8>, spool: &spool::Report) {
    let spool::Counters { kept, sent_on, refused, expired, dropped, full } = spool.counters;
    for (name, kind, help, value) in [
        ("messages", Kind::Gauge, "Messages that wait for an upstream.", spool.count()),
        ("bytes", Kind::Gauge, "Their bytes.", spool.len()),
        ("bytes_max", Kind::Gauge, "The maximum size of stored messages in bytes.", spool.len_max),
        (
            "failed",
            Kind::Gauge,
            "Whether no messages can be stored because the disk is full or has failed.",
            u64::from(spool.failure.is_some()),
        ),
        ("kept_total", Kind::Counter, "Messages that were stored.", kept),
        ("sent_on_total", Kind::Counter, "Those that were sent on and confirmed.", sent_on),
        ("refused_total", Kind::Counter, "Those that an upstream refused.", refused),
        ("expired_total", Kind::Counter, "Those that became too old.", expired),
        ("dropped_total", Kind::Counter, "Those that operators dropped.", dropped),
        ("full_total", Kind::Counter, "How often a publisher had to wait for space.", full),
    ] {
        number(out, Name { prefix: "warren_proxy_spool_", ..ours(name) }, kind, help, value.into());
    }
}

/// One of a name: lines may be left of a broker whose name another one has now.
fn by_name(upstreams: &[Snapshot]) -> Vec<Snapshot> {
    let mut named: Vec<Snapshot> = Vec::new();
    for upstream in upstreams {
        match named.iter_mut().find(|other| other.options.name == upstream.options.name) {
            Some(set) => set.connection_count += upstream.connection_count,
            None => named.push(upstream.clone()),
        }
    }
    named
}

fn render_upstreams(out: &mut Vec<u8>, upstreams: &[Snapshot]) {
    let upstreams = &by_name(upstreams);
    let name = ours("upstream_state");
    write_head_help_first(out, name, Kind::Gauge, "1 for the state that an upstream is in.");
    for upstream in upstreams {
        for state in [State::Up, State::Down, State::Draining] {
            let labels = |labels: &mut Labels<'_>| {
                labels.put("upstream", &upstream.options.name);
                labels.put("state", state_name(state));
            };
            write_sample(out, name, labels, (upstream.state == state).into());
        }
    }
    let each: [(&str, Kind, &str, Of<Snapshot, u64>); 5] = [
        ("upstream_connections", Kind::Gauge, "Connections to an upstream.", |upstream| {
            upstream.connection_count as u64
        }),
        ("upstream_dialled_total", Kind::Counter, "Connections dialled.", |upstream| upstream.counters.dialled),
        ("upstream_failed_total", Kind::Counter, "Connections that could not be opened.", |upstream| {
            upstream.counters.failed
        }),
        ("upstream_checks_passed_total", Kind::Counter, "Health checks that passed.", |upstream| {
            upstream.counters.checks_passed
        }),
        ("upstream_checks_failed_total", Kind::Counter, "Health checks that failed.", |upstream| {
            upstream.counters.checks_failed
        }),
    ];
    for (name, kind, help, of) in each {
        let name = ours(name);
        write_head_help_first(out, name, kind, help);
        for upstream in upstreams {
            write_sample(out, name, |labels| labels.put("upstream", &upstream.options.name), of(upstream).into());
        }
    }
}

fn render_pools(out: &mut Vec<u8>, report: &Report) {
    let each: [(&str, &str, Of<PoolReport, usize>); 5] = [
        ("pool_clients", "Clients of a pool.", |pool| pool.client_count),
        ("pool_clients_waiting", "Clients of a pool that wait.", |pool| pool.waiting_client_count),
        ("pool_connections", "Shared connections of a pool.", |pool| pool.connections.len()),
        ("pool_channels", "Channels open on them.", |pool| {
            pool.connections.iter().map(|line| line.channel_count).sum()
        }),
        ("pool_unconfirmed", "Publishes not confirmed yet.", |pool| {
            pool.connections.iter().map(|line| line.unconfirmed_count).sum()
        }),
    ];
    for (name, help, of) in each {
        let name = ours(name);
        write_head_help_first(out, name, Kind::Gauge, help);
        for pool in &report.pools {
            let labels = |labels: &mut Labels<'_>| {
                labels.put("user", &pool.user);
                labels.put("vhost", &pool.vhost);
            };
            write_sample(out, name, labels, of(pool).into());
        }
    }
}

/// The name of a metric that AMQProxy has, too.
fn amqproxys(name: &str) -> Name<'_> {
    Name { prefix: "amqproxy_", name, suffix: "" }
}

fn ours(name: &str) -> Name<'_> {
    Name { prefix: "warren_proxy_", name, suffix: "" }
}

fn gauge(out: &mut Vec<u8>, name: Name<'_>, help: &str, value: usize) {
    number(out, name, Kind::Gauge, help, value.into());
}

/// A metric that has one series.
fn number(out: &mut Vec<u8>, name: Name<'_>, kind: Kind, help: &str, value: Value) {
    write_head_help_first(out, name, kind, help);
    write_sample(out, name, |_| (), value);
}

fn host_name() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}
