//! The overview: what runs here, and how many there are of everything.

use broker::view::Churn;
use model::arguments::ExchangeType;

use crate::access::is_monitor;
use crate::answer::Answer;
use crate::call::Call;
use crate::json::{Cell, Writer};
use crate::listing::Selection;
use crate::options::ListenerInfo;
use crate::problem::Problem;
use crate::route::Kind::{Boolean, Object, Text};
use crate::route::Role::Management;
use crate::route::{Field, Operation, Parameters, Route, Shape, at};
use crate::service::Service;

pub(super) static ROUTES: &[Route] = &[at(
    "/api/overview",
    &[Operation::get(Management, overview, "Tells what runs here, and how many there are of everything.", OVERVIEW)
        .query(&[Parameters::Columns, Parameters::Stats])],
)];

const OVERVIEW: Shape = Shape::Object(&[
    Field::required("rabbitmq_version", Text, "The version of RabbitMQ that this is compatible with."),
    Field::required("product_name", Text, "The product."),
    Field::required("product_version", Text, "Its version."),
    Field::required("cluster_name", Text, "The cluster's name."),
    Field::required("disable_stats", Boolean, "Whether statistics are left out."),
    Field::required(
        "object_totals",
        Object,
        "How many queues, exchanges, connections, channels and consumers there are.",
    ),
    Field::optional("churn_rates", Object, "How many connections, channels and queues have come and gone."),
    Field::optional("queue_totals", Object, "How many messages there are in queues."),
    Field::optional("node", Text, "The node's name, for who may monitor."),
]);

/// Exchange types that can be declared, by name, and what each does.
pub(super) fn write_exchange_types(cell: Cell<'_>) {
    let mut types: Vec<_> = ExchangeType::ALL.into_iter().filter(|kind| kind.is_built()).collect();
    types.sort_by_key(|kind| kind.name());
    cell.list(types, |kind, writer| {
        writer.object(|members| {
            members.cell("name").text(kind.name());
            members.cell("description").text(kind.description());
            members.cell("enabled").bool(true);
        });
    });
}

/// Where the API is, as RabbitMQ's web contexts tell it.
pub(super) fn write_contexts(service: &Service, names_node: bool, cell: Cell<'_>) {
    let listeners = service.listeners();
    let of_http = listeners.iter().filter(|listener| listener.protocol.starts_with("http"));
    cell.list(of_http, |listener, writer| {
        writer.object(|members| {
            if names_node {
                members.cell("ssl_opts").texts([]);
                members.cell("node").text(service.node());
            }
            members.cell("description").text("Management");
            let prefix = &service.options.path_prefix;
            members.cell("path").text(if prefix.is_empty() { "/" } else { prefix });
            members.cell("ip").text(&listener.ip.to_string());
            members.cell("port").text(&listener.port.to_string());
        });
    });
}

/// What has come and gone, by RabbitMQ's names.
pub(super) fn churn_members(churn: &Churn) -> [(&'static str, u64); 7] {
    [
        ("connection_created", churn.connections_opened),
        ("connection_closed", churn.connections_closed),
        ("channel_created", churn.channels_opened),
        ("channel_closed", churn.channels_closed),
        ("queue_declared", churn.queues_declared),
        ("queue_created", churn.queues_created),
        ("queue_deleted", churn.queues_deleted),
    ]
}

fn write_listener(listener: &ListenerInfo, service: &Service, writer: Writer<'_>) {
    writer.object(|members| {
        members.cell("node").text(service.node());
        members.cell("protocol").text(&listener.protocol);
        members.cell("ip_address").text(&listener.ip.to_string());
        members.cell("port").int(listener.port.into());
        members.cell("socket_opts").object(|_| ());
        members.cell("tls").bool(listener.tls.is_some());
    });
}

fn overview(call: &Call) -> Result<Answer, Problem> {
    let (service, options, broker) = (&*call.service, &call.service.options, call.broker());
    let has_stats = call.has_stats();
    let is_monitor = is_monitor(call.identity());
    let seen = call.presence.vhosts();
    let totals = broker.totals(|vhost| seen.iter().any(|seen| seen.as_str() == vhost));
    let wanted = call.query.get("columns").map_or(Selection::All, Selection::parse);
    let mut out = Vec::new();
    Writer::of(&mut out, &wanted).object(|members| {
        members.cell("management_version").text(&options.compatible_version);
        members.cell("rates_mode").text("none");
        members.cell("sample_retention_policies").object(|policies| {
            for name in ["global", "basic", "detailed"] {
                policies.cell(name).texts([]);
            }
        });
        write_exchange_types(members.cell("exchange_types"));
        members.cell("product_version").text(&options.product_version);
        members.cell("product_name").text(&options.product_name);
        members.cell("rabbitmq_version").text(&options.compatible_version);
        members.cell("cluster_name").text(&broker.cluster_name());
        members.cell("cluster_tags").object(|_| ());
        members.cell("node_tags").object(|_| ());
        // There is no Erlang here, but clients that read these want texts.
        members.cell("erlang_version").text("");
        members.cell("erlang_full_version").text("");
        members.cell("crypto_lib_version").text("");
        members.cell("disable_stats").bool(!has_stats);
        members.cell("default_queue_type").text(broker.options().default_queue_type.name());
        members.cell("is_op_policy_updating_enabled").bool(options.operator_policies_change);
        members
            .cell("enable_queue_totals")
            .bool(options.enables_queue_totals || call.query.is_true("enable_queue_totals"));
        members.cell("require_definition_json_extension").bool(options.requires_json_extension);
        if has_stats {
            let churn = broker.churn();
            members.cell("churn_rates").object(|rates| {
                for (name, count) in churn_members(&churn) {
                    rates.cell(name).int(count);
                }
            });
            members.cell("queue_totals").object(|of_queues| {
                of_queues.cell("messages").int(totals.ready_count + totals.unacked_count);
                of_queues.cell("messages_ready").int(totals.ready_count);
                of_queues.cell("messages_unacknowledged").int(totals.unacked_count);
            });
        }
        members.cell("object_totals").object(|objects| {
            if has_stats {
                objects.cell("channels").int(totals.channels);
                if is_monitor {
                    objects.cell("consumers").int(totals.consumers);
                }
            }
            objects.cell("connections").int(totals.connections);
            objects.cell("exchanges").int(totals.exchanges);
            objects.cell("queues").int(totals.queues);
        });
        if has_stats {
            members.cell("statistics_db_event_queue").int(0);
        }
        if is_monitor {
            members.cell("node").text(service.node());
            if has_stats {
                members.cell("listeners").list(&service.listeners(), |listener, writer| {
                    write_listener(listener, service, writer);
                });
                write_contexts(service, true, members.cell("contexts"));
            }
        }
    });
    Ok(Answer::json(out))
}
