//! What Prometheus reads: AMQProxy's names, for dashboards that know them, and our own.

use std::fmt::Write as _;

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
) -> String {
    let mut out = String::with_capacity(8 * 1024);
    let counters = &report.counters;
    let version = env!("CARGO_PKG_VERSION");
    family(&mut out, "amqproxy_identity_info", "gauge", "The proxy's version.");
    let _ = writeln!(out, "amqproxy_identity_info{{version=\"{version}\",hostname=\"{}\"}} 1", escaped(&host_name()));
    gauge(&mut out, "amqproxy_client_connections", "Clients.", report.client_count);
    gauge(&mut out, "amqproxy_upstream_connections", "Connections to upstreams.", report.upstream_connection_count);
    gauge(&mut out, "warren_proxy_ready", "Whether clients find an upstream here.", usize::from(is_ready));
    gauge(&mut out, "warren_proxy_clients_open", "Clients whose connection is open.", report.open_client_count);
    gauge(
        &mut out,
        "warren_proxy_clients_waiting",
        "Clients that wait for an upstream connection or channel.",
        report.waiting_client_count,
    );
    gauge(
        &mut out,
        "warren_proxy_clients_on_own_connection",
        "Clients with an upstream connection of their own.",
        report.own_connection_count,
    );
    gauge(
        &mut out,
        "warren_proxy_client_output_bytes",
        "Bytes that wait for clients' sockets.",
        report.client_output_len,
    );
    for (name, help, value) in [
        ("clients_total", "Clients that came.", counters.clients),
        ("messages_published_total", "Messages sent on over shared connections.", counters.published),
        ("channels_opened_total", "Channels opened upstream for pools.", counters.channels_opened),
        (
            "channels_reused_total",
            "Times that a client got a channel that another one had before.",
            counters.channels_reused,
        ),
        ("connections_dialled_total", "Upstream connections that were wanted.", counters.lines_dialled),
        ("connections_lost_total", "Upstream connections that could not be opened, or were lost.", counters.lines_lost),
        ("clients_moved_total", "Clients that got an upstream connection of their own.", counters.moved),
        ("late_errors_total", "Publishes that failed after their client had gone.", counters.late_errors),
        ("late_returns_total", "Mandatory messages that came back after their client had gone.", counters.late_returns),
        ("late_nacks_total", "Publishes refused after their client had gone.", counters.late_nacks),
        ("late_losses_total", "Publishes never confirmed whose client had gone.", counters.late_losses),
        ("logins_refused_total", "Logins that upstreams refused.", counters.logins_refused),
        (
            "logins_remembered_total",
            "Logins believed because they had been accepted lately.",
            counters.logins_remembered,
        ),
        ("slow_clients_total", "Clients let go because they did not read.", counters.slow_clients),
    ] {
        family(&mut out, &format!("warren_proxy_{name}"), "counter", help);
        let _ = writeln!(out, "warren_proxy_{name} {value}");
    }
    render_guard(&mut out, guard);
    if let Some(spool) = spool {
        render_spool(&mut out, spool);
    }
    render_upstreams(&mut out, upstreams);
    render_pools(&mut out, report);
    out
}

fn render_guard(out: &mut String, guard: &guard::Snapshot) {
    gauge(out, "warren_proxy_users", "Users who have a client.", guard.user_count);
    gauge(
        out,
        "warren_proxy_addresses",
        "Addresses, or networks that count as one, that have a client.",
        guard.network_count,
    );
    family(out, "warren_proxy_limit", "gauge", "What is set for a limit; 0 for none.");
    for of in &guard.limits {
        let _ = writeln!(out, "warren_proxy_limit{{limit=\"{}\"}} {}", of.limit.name(), of.max);
    }
    family(
        out,
        "warren_proxy_limit_reached_total",
        "counter",
        "How often a limit was reached, whether or not somebody was refused.",
    );
    for of in &guard.limits {
        let _ =
            writeln!(out, "warren_proxy_limit_reached_total{{limit=\"{}\"}} {}", of.limit.name(), of.counts.reached);
    }
}

fn render_spool(out: &mut String, spool: &spool::Report) {
    let spool::Counters { kept, sent_on, refused, expired, dropped, full } = spool.counters;
    for (name, kind, help, value) in [
        ("messages", "gauge", "Messages that wait for an upstream.", spool.count()),
        ("bytes", "gauge", "Their bytes.", spool.len()),
        ("bytes_max", "gauge", "Bytes that may be kept.", spool.len_max),
        (
            "failed",
            "gauge",
            "Whether nothing can be kept now: the disk is full, or has failed.",
            u64::from(spool.failure.is_some()),
        ),
        ("kept_total", "counter", "Messages that were kept.", kept),
        ("sent_on_total", "counter", "Those that were sent on and confirmed.", sent_on),
        ("refused_total", "counter", "Those that an upstream refused.", refused),
        ("expired_total", "counter", "Those that became too old.", expired),
        ("dropped_total", "counter", "Those that operators dropped.", dropped),
        ("full_total", "counter", "Times that a publisher had to wait for room.", full),
    ] {
        family(out, &format!("warren_proxy_spool_{name}"), kind, help);
        let _ = writeln!(out, "warren_proxy_spool_{name} {value}");
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

fn render_upstreams(out: &mut String, upstreams: &[Snapshot]) {
    let upstreams = &by_name(upstreams);
    family(out, "warren_proxy_upstream_state", "gauge", "1 for the state that an upstream is in.");
    for upstream in upstreams {
        for state in [State::Up, State::Down, State::Draining] {
            let (name, is_it) = (escaped(&upstream.options.name), u8::from(upstream.state == state));
            let _ = writeln!(
                out,
                "warren_proxy_upstream_state{{upstream=\"{name}\",state=\"{}\"}} {is_it}",
                state_name(state)
            );
        }
    }
    let each: [(&str, &str, &str, Of<Snapshot, u64>); 5] = [
        ("upstream_connections", "gauge", "Connections to an upstream.", |upstream| upstream.connection_count as u64),
        ("upstream_dialled_total", "counter", "Connections dialled.", |upstream| upstream.counters.dialled),
        ("upstream_failed_total", "counter", "Connections that could not be opened.", |upstream| {
            upstream.counters.failed
        }),
        ("upstream_checks_passed_total", "counter", "Health checks that passed.", |upstream| {
            upstream.counters.checks_passed
        }),
        ("upstream_checks_failed_total", "counter", "Health checks that failed.", |upstream| {
            upstream.counters.checks_failed
        }),
    ];
    for (name, kind, help, of) in each {
        family(out, &format!("warren_proxy_{name}"), kind, help);
        for upstream in upstreams {
            let _ = writeln!(
                out,
                "warren_proxy_{name}{{upstream=\"{}\"}} {}",
                escaped(&upstream.options.name),
                of(upstream)
            );
        }
    }
}

fn render_pools(out: &mut String, report: &Report) {
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
        family(out, &format!("warren_proxy_{name}"), "gauge", help);
        for pool in &report.pools {
            let (user, vhost) = (escaped(&pool.user), escaped(&pool.vhost));
            let _ = writeln!(out, "warren_proxy_{name}{{user=\"{user}\",vhost=\"{vhost}\"}} {}", of(pool));
        }
    }
}

fn gauge(out: &mut String, name: &str, help: &str, value: usize) {
    family(out, name, "gauge", help);
    let _ = writeln!(out, "{name} {value}");
}

fn family(out: &mut String, name: &str, kind: &str, help: &str) {
    let _ = writeln!(out, "# HELP {name} {help}\n# TYPE {name} {kind}");
}

fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

fn host_name() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}
