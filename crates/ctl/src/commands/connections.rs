//! Connections: which there are, and closing them.

use std::time::Duration;

use serde_json::Value;

use crate::command::{Command, Opt, flag, option, optional, repeated, required};
use crate::failure::Failure;
use crate::listing::{self, Listing, columns, converted, renamed, untold};
use crate::step::{Ask, Step, StepResult, done, path, say};

pub(crate) const COMMANDS: &[Command] = &[
    Command::new("list_connections", "lists connections of all virtual hosts", |input| {
        CONNECTIONS.ask(input, "connections".to_owned())
    })
    .taking(&[repeated("column")])
    .saying("Listing connections ..."),
    Command::new("list_amqp10_connections", "lists connections that speak AMQP 1.0", |input| {
        let columns = AMQP10.chosen(input)?;
        Ask::get("connections".to_owned()).then(move |reply| {
            let mut items = reply.list()?;
            items.retain(|item| matches!(listing::text(item, "protocol"), "AMQP 1-0" | "AMQP 1.0" | "AMQP 1-0-0"));
            listing::show(&columns, &items)
        })
    })
    .taking(&[repeated("column")])
    .saying("Listing AMQP 1.0 connections ..."),
    Command::new(
        "close_connection",
        "closes a connection by its name, which list_connections shows as pid and as name",
        |input| close(input.text("connection"), input.text("reason"), false),
    )
    .taking(&[required("connection"), required("reason")])
    .saying("Closing connection {connection}, reason: {reason}..."),
    Command::new("close_all_connections", "closes all connections of a virtual host, or with --global all", |input| {
        let vhost = (!input.has("global")).then(|| input.vhost().to_owned());
        let delay = Duration::from_millis(input.number("per-connection-delay")?.unwrap_or(0));
        let limit = input.number("limit")?.filter(|limit| *limit > 0);
        let reason = input.text("reason").to_owned();
        Ask::get("connections".to_owned()).then(move |reply| {
            let mut names =
                names(&reply.list()?, |item| vhost.as_ref().is_none_or(|vhost| listing::text(item, "vhost") == vhost));
            names.truncate(limit.map_or(usize::MAX, |limit| usize::try_from(limit).unwrap_or(usize::MAX)));
            let text = format!("Closed {} connections", names.len());
            close_each(names, reason, delay, text)
        })
    })
    .taking(&[required("reason")])
    .with(&[
        flag("global", "of all virtual hosts"),
        option("limit", "COUNT", "the maximum number"),
        option("per-connection-delay", "MILLISECONDS", "how long to wait between two"),
    ])
    .saying("Closing connections, reason: {reason}..."),
    Command::new("close_all_user_connections", "closes all connections of a user", |input| {
        close_of_user(input.text("username"), input.text("reason"))
    })
    .taking(&[required("username"), required("reason")])
    .saying("Closing connections of user {username}, reason: {reason}..."),
];

/// Closes all connections of the node.
pub(crate) fn close_all(reason: &'static str) -> StepResult {
    Ask::get("connections".to_owned()).then(move |reply| {
        let names = names(&reply.list()?, |_| true);
        let text = format!("Closed {} connections", names.len());
        close_each(names, reason.to_owned(), Duration::ZERO, text)
    })
}

pub(crate) const ADMIN_COMMANDS: &[Command] = &[
    Command::new("close connection", "closes a connection by its name", |input| {
        let closing = close(input.text("name"), input.optional("reason").unwrap_or(BY_HAND), input.has("idempotently"));
        crate::step::then_say(closing, "connection closed".to_owned())
    })
    .also(&["connections close"])
    .taking(&[required("name"), optional("reason")])
    .with(IDEMPOTENTLY),
    Command::new("close user_connections", "closes all connections of a user", |input| {
        close_of_user(input.text("username"), input.optional("reason").unwrap_or(BY_HAND))
    })
    .also(&["connections close_of_user"])
    .taking(&[required("username").short("u"), optional("reason")])
    .with(IDEMPOTENTLY),
];

const IDEMPOTENTLY: &[Opt] = &[flag("idempotently", "no error if the connection does not exist")];

/// The reason that a client gets where the command gives none.
const BY_HAND: &str = "Closed via warren ctl";

const CONNECTIONS: Listing = Listing {
    columns: columns! {
        // Over HTTP a connection is identified by its name, and is closed by it.
        { renamed("pid", "name") } "name" "port" "host" "peer_port" "peer_host" "ssl" "ssl_protocol"
        "ssl_key_exchange" "ssl_cipher" "ssl_hash" "peer_cert_subject" "peer_cert_issuer" "peer_cert_validity"
        { untold("peer_cert_serial_number") } "state" "channels" { converted("protocol", "protocol", protocol) }
        "auth_mechanism" "user" "vhost" "timeout" "frame_max" "channel_max" "client_properties" "recv_oct" "recv_cnt"
        "send_oct" "send_cnt" "send_pend" "connected_at" "container_id" "node"
    },
    default: &["user", "peer_host", "peer_port", "state"],
};

const AMQP10: Listing = Listing {
    columns: CONNECTIONS.columns,
    default: &["pid", "auth_mechanism", "host", "frame_max", "timeout", "user", "state", "ssl"],
};

/// `AMQP 0-9-1` is `{0,9,1}` to rabbitmqctl.
fn protocol(value: Value) -> Value {
    match value.as_str().and_then(|text| text.strip_prefix("AMQP ")) {
        Some(version) => Value::String(format!("{{{}}}", version.replace('-', ","))),
        None => value,
    }
}

fn names(items: &[Value], is_meant: impl Fn(&Value) -> bool) -> Vec<String> {
    items.iter().filter(|item| is_meant(item)).map(|item| listing::text(item, "name").to_owned()).collect()
}

fn close(name: &str, reason: &str, is_idempotent: bool) -> StepResult {
    let missing = format!("no connection '{name}'");
    Ask::delete(path(&["connections", name])).because(reason).then(move |reply| match reply.status {
        404 if is_idempotent => done(),
        _ => reply.unless(404, || Failure::unavailable(missing))?.done(),
    })
}

fn close_of_user(user: &str, reason: &str) -> StepResult {
    Ask::delete(path(&["connections", "username", user])).because(reason).then(|reply| match reply.status {
        404 => done(),
        _ => reply.done(),
    })
}

fn close_each(mut names: Vec<String>, reason: String, delay: Duration, text: String) -> StepResult {
    let Some(name) = names.pop() else { return say(text) };
    Ask::delete(path(&["connections", &name])).because(&reason).then(move |reply| {
        // A connection that has ended meanwhile is closed.
        if reply.status != 404 {
            reply.accepted()?;
        }
        if delay.is_zero() || names.is_empty() {
            return close_each(names, reason, delay, text);
        }
        Ok(Step::Pause(delay, Box::new(move |()| close_each(names, reason, delay, text))))
    })
}
