//! Connections: listed, looked at, closed.

use std::sync::Arc;

use broker::statistics::numbers::CONNECTION;
use broker::view::ConnectionView;
use hyper::header::{HeaderMap, HeaderName};
use model::json;
use net::{PeerCertificate, TlsInfo};
use serde_json::Value;

use super::latency::write_network;
use crate::answer::Answer;
use crate::call::Call;
use crate::json::{Cell, Writer};
use crate::listing::{Table, column, paged_list, single, text};
use crate::problem::Problem;
use crate::route::Kind::{Boolean, Integer, Object, Text};
use crate::route::Role::{InVhost, Management};
use crate::route::{AnswerFuture, COUNTED, LIST, Operation, Route, SINGLE, Shape, at};
use crate::service::Service;
use crate::statistics::{Ranges, Stats, wants_samples};
use crate::tags::{is_administrator, is_monitor};

pub(super) static ROUTES: &[Route] = &[
    at(
        "/api/connections",
        &[Operation::list(
            Management,
            all,
            "Lists connections. Users without the tag `monitoring` see their own.",
            Shape::Many(&TABLE),
        )
        .query(COUNTED)],
    ),
    at(
        "/api/vhosts/{vhost}/connections",
        &[Operation::list(InVhost, of_vhost, "Lists the connections in a vhost.", Shape::Many(&TABLE)).query(COUNTED)],
    ),
    at(
        "/api/connections/username/{username}",
        &[
            Operation::get(Management, of_user, "Lists a user's connections.", Shape::List).query(LIST),
            Operation::delete(Management, close_of_user, "Closes a user's connections."),
        ],
    ),
    at(
        "/api/connections/{connection}",
        &[
            Operation::get(Management, one, "Returns a connection.", Shape::One(&TABLE)).query(SINGLE),
            Operation::delete(
                Management,
                close,
                "Closes a connection. The client receives the reason from the header `X-Reason`.",
            ),
        ],
    ),
    at(
        "/api/connections/{connection}/sessions",
        &[Operation::get(Management, sessions, "Lists the sessions of an AMQP 1.0 connection.", Shape::Object(&[]))],
    ),
];

/// A connection, and how much of it is shown.
struct Row {
    view: ConnectionView,
    /// Made once: it is put together from addresses.
    name: String,
    has_counts: bool,
    is_single: bool,
    /// The histories that are wanted; None: no rates either.
    ranges: Option<Arc<Ranges>>,
}

static TABLE: Table<Row, Service> = Table {
    title: "Connection",
    columns: &[
        column("auth_mechanism", Text, |row: &Row, _, cell| {
            cell.text_if(row.view.opened().map(|opened| opened.mechanism));
        }),
        column("channel_max", Integer, |row, _, cell| {
            if let Some(opened) = row.view.opened() {
                cell.int(opened.channel_max.into());
            }
        }),
        column("channels", Integer, |row, _, cell| {
            if row.has_counts {
                cell.int(row.view.channel_count() as u64);
            }
        }),
        column("client_properties", Object, |row, _, cell| {
            if let Some(opened) = row.view.opened() {
                cell.value(&Value::Object(json::show_table(opened.client_properties)));
            }
        }),
        column("connected_at", Integer, |row, _, cell| cell.int(row.view.connected_at_ms())),
        column("frame_max", Integer, |row, _, cell| {
            if let Some(opened) = row.view.opened() {
                cell.int(opened.frame_max.into());
            }
        }),
        column("host", Text, |row, _, cell| cell.text(&row.view.local().ip().to_string())),
        text("name", |row, _| Some(&row.name)),
        column("network", Object, |row, _, cell| {
            if row.has_counts
                && let Some(tcp) = row.view.tcp_info()
            {
                write_network(cell, &tcp);
            }
        }),
        text("node", |_, service| Some(service.node())),
        column("peer_cert_issuer", Text, |row, _, cell| row.of_peer(cell, |peer| &peer.issuer)),
        column("peer_cert_serial_number", Text, |row, _, cell| row.of_peer(cell, |peer| &peer.serial_number)),
        column("peer_cert_subject", Text, |row, _, cell| row.of_peer(cell, |peer| &peer.subject)),
        column("peer_cert_validity", Text, |row, _, cell| row.of_peer(cell, |peer| &peer.validity)),
        column("peer_host", Text, |row, _, cell| cell.text(&row.view.peer().ip().to_string())),
        column("peer_port", Integer, |row, _, cell| cell.int(row.view.peer().port().into())),
        column("port", Integer, |row, _, cell| cell.int(row.view.local().port().into())),
        column("protocol", Text, |_, _, cell| cell.text("AMQP 0-9-1")),
        column("recv_cnt", Integer, |row, _, cell| row.count(cell, row.view.traffic_count().0)),
        column("recv_oct", Integer, |row, _, cell| row.count(cell, row.view.traffic_len().0)),
        column("recv_oct_details", Object, |row, service, cell| row.write_traffic(service, cell, "recv_oct")),
        column("send_cnt", Integer, |row, _, cell| row.count(cell, row.view.traffic_count().1)),
        column("send_oct", Integer, |row, _, cell| row.count(cell, row.view.traffic_len().1)),
        column("send_oct_details", Object, |row, service, cell| row.write_traffic(service, cell, "send_oct")),
        column("send_pend", Integer, |row, _, cell| {
            row.count(cell, row.view.tcp_info().map_or(0, |tcp| tcp.unsent_len.into()));
        }),
        column("ssl", Boolean, |row, _, cell| cell.bool(row.view.tls().is_some())),
        column("ssl_cipher", Text, |row, _, cell| row.of_tls(cell, |tls| tls.cipher)),
        column("ssl_hash", Text, |row, _, cell| row.of_tls(cell, |tls| tls.hash)),
        column("ssl_key_exchange", Text, |row, _, cell| row.of_tls(cell, |tls| tls.key_exchange)),
        column("ssl_protocol", Text, |row, _, cell| row.of_tls(cell, |tls| tls.protocol)),
        column("state", Text, |row, _, cell| {
            if row.has_counts {
                cell.text(row.view.state.name());
            }
        }),
        column("timeout", Integer, |row, _, cell| {
            if let Some(opened) = row.view.opened() {
                cell.int(opened.heartbeat_s.into());
            }
        }),
        column("type", Text, |_, _, cell| cell.text("network")),
        text("user", |row, _| row.view.opened().map(|opened| opened.user)),
        column("user_provided_name", Text, |row, _, cell| {
            let opened = row.view.opened();
            let name = opened.and_then(|opened| opened.client_properties.get("connection_name"));
            cell.text_if(name.as_ref().and_then(amqp::table::Value::as_str));
        }),
        text("user_who_performed_action", |row, _| row.view.opened().map(|opened| opened.user)),
        text("vhost", |row, _| row.vhost()),
    ],
    order: |a, b| (a.vhost(), &a.name).cmp(&(b.vhost(), &b.name)),
    name: |row| row.name.as_str().into(),
};

impl Row {
    fn new(view: ConnectionView, has_counts: bool, is_single: bool, ranges: Option<Arc<Ranges>>) -> Row {
        Row { name: view.name(), view, has_counts, is_single, ranges }
    }

    fn vhost(&self) -> Option<&str> {
        self.view.opened().map(|opened| opened.vhost)
    }

    fn count(&self, cell: Cell<'_>, count: u64) {
        if self.has_counts {
            cell.int(count);
        }
    }

    fn write_traffic(&self, service: &Service, cell: Cell<'_>, name: &str) {
        let Some(ranges) = &self.ranges else { return };
        let range = ranges.data.filter(|_| wants_samples(&cell));
        let samples = range.map(|range| service.broker.connection_history(&self.view, range));
        let numbers = self.view.numbers();
        Stats { names: &CONNECTION, numbers: &numbers, samples: samples.as_deref() }.write_details(cell, &[name]);
    }

    /// What only connections with TLS have.
    fn of_tls(&self, cell: Cell<'_>, part: fn(&TlsInfo) -> &str) {
        self.text_of_tls(cell, self.view.tls().map(part));
    }

    /// What only connections have whose client showed a certificate.
    fn of_peer(&self, cell: Cell<'_>, part: fn(&PeerCertificate) -> &String) {
        let peer = self.view.tls().and_then(|tls| tls.peer.as_ref());
        self.text_of_tls(cell, peer.map(|peer| part(peer).as_str()));
    }

    /// Without TLS it is `null` in a list, and the empty text of a single connection, as RabbitMQ has it.
    fn text_of_tls(&self, cell: Cell<'_>, text: Option<&str>) {
        match text {
            None if self.is_single => cell.text(""),
            text => cell.text_or_null(text),
        }
    }
}

/// Whether the user may see what belongs to a connection: its own user may, and monitoring users.
pub(super) fn sees(call: &Call, view: &ConnectionView) -> bool {
    is_monitor(call.identity()) || view.opened().is_some_and(|opened| opened.user == call.identity().name())
}

/// Connections that the user sees.
pub(super) fn seen(call: &Call) -> Vec<ConnectionView> {
    let mut views = call.broker().connection_views();
    views.retain(|view| sees(call, view));
    views
}

/// Whether a connection is in a vhost.
pub(super) fn is_in(view: &ConnectionView, vhost: &str) -> bool {
    view.opened().is_some_and(|opened| opened.vhost == vhost)
}

fn answer(call: &Call, views: Vec<ConnectionView>) -> Result<AnswerFuture, Problem> {
    let (has_counts, ranges) = (call.has_stats(), call.ranges_of_list());
    let rows = views.into_iter().map(move |view| Row::new(view, has_counts, false, ranges.clone()));
    paged_list(rows, &TABLE, &call.service, &call.query)
}

fn all(call: &Call) -> Result<AnswerFuture, Problem> {
    answer(call, seen(call))
}

fn of_vhost(call: &Call) -> Result<AnswerFuture, Problem> {
    let mut views = seen(call);
    views.retain(|view| is_in(view, call.vhost()));
    answer(call, views)
}

/// The connection of the path, if it may be seen.
pub(super) fn find(call: &Call) -> Result<ConnectionView, Problem> {
    let view = call.broker().connection_view(call.argument("connection")).ok_or_else(Problem::not_found)?;
    if sees(call, &view) { Ok(view) } else { Err(Problem::not_authorised("User not authorised to access object")) }
}

fn one(call: &Call) -> Result<Answer, Problem> {
    let row = Row::new(find(call)?, call.has_stats(), true, call.ranges());
    Ok(single(&row, &TABLE, &*call.service, &call.query))
}

/// A user who may only watch may not close what belongs to others.
fn check_may_close(call: &Call, user: Option<&str>) -> Result<(), Problem> {
    if is_administrator(call.identity()) || user == Some(call.identity().name()) {
        return Ok(());
    }
    Err(Problem::not_authorised("User not authorised to access object"))
}

/// What RabbitMQ gives as the reason where the request has none.
const REASON: &str = "Closed via management plugin";

fn reason(headers: &HeaderMap) -> String {
    let name = HeaderName::from_static("x-reason");
    let given = headers.get(name).and_then(|value| value.to_str().ok());
    given.unwrap_or(REASON).chars().filter(|char| !char.is_control()).take(REASON_LEN_MAX).collect()
}

/// Characters of a reason that a client gets.
const REASON_LEN_MAX: usize = 200;

fn close(call: &Call) -> Result<Answer, Problem> {
    let view = find(call)?;
    check_may_close(call, view.opened().map(|opened| opened.user))?;
    call.broker().close_connection(call.actor(), &view.name(), &reason(&call.headers))?;
    Ok(Answer::no_content())
}

fn check_is_own(call: &Call) -> Result<&str, Problem> {
    let user = call.argument("username");
    if is_monitor(call.identity()) || user == call.identity().name() {
        return Ok(user);
    }
    Err(Problem::not_authorised("User not authorised to access object"))
}

fn of_user(call: &Call) -> Result<Answer, Problem> {
    let user = check_is_own(call)?;
    let views = call.broker().connection_views();
    let mut out = Vec::new();
    let of_user = views.iter().filter_map(|view| Some((view, view.opened().filter(|opened| opened.user == user)?)));
    Writer::new(&mut out).list(of_user, |(view, opened), writer| {
        writer.object(|members| {
            members.cell("name").text(&view.name());
            members.cell("vhost").text(opened.vhost);
            members.cell("user").text(opened.user);
            members.cell("node").text(call.service.node());
        });
    });
    Ok(Answer::json(out))
}

fn close_of_user(call: &Call) -> Result<Answer, Problem> {
    let user = check_is_own(call)?;
    check_may_close(call, Some(user))?;
    call.broker().close_connections_of(call.actor(), user, &reason(&call.headers));
    Ok(Answer::no_content())
}

fn sessions(call: &Call) -> Result<Answer, Problem> {
    find(call)?;
    Err(Problem::bad_request("connection does not use AMQP 1.0"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_is_one_short_line() {
        let headers = HeaderMap::from_iter([(
            HeaderName::from_static("x-reason"),
            hyper::header::HeaderValue::from_str(&"x".repeat(500)).unwrap(),
        )]);
        assert_eq!(reason(&headers).len(), REASON_LEN_MAX);
        assert_eq!(reason(&HeaderMap::new()), "Closed via management plugin");
    }
}
