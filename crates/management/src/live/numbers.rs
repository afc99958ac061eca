//! Numbers of the node, of vhosts and of queues, with the members that their routes have.

use broker::machine;
use broker::statistics::numbers::{CHANNEL, CONNECTION, EXCHANGE, NODE, QUEUE, VHOST};
use broker::view::{ChannelView, ConnectionView, SetAsideView};
use model::name::DEFAULT_EXCHANGE_ALIAS;

use crate::json::Object;
use crate::routes::CHURN;
use crate::service::Service;
use crate::statistics::Stats;

/// What the operating system knows of the node, as of the last tick.
const MACHINE: [&str; 5] = ["mem_used", "disk_free", "fd_used", "sockets_used", "proc_used"];

/// Whether rates are counted, and shown.
fn has_rates(service: &Service) -> bool {
    service.broker.has_rates() && !service.options.disables_stats
}

/// The node.
pub(super) fn write_node(service: &Service, members: &mut Object<'_>) {
    let (broker, has_rates) = (&service.broker, has_rates(service));
    let numbers = broker.messages_numbers();
    let messages = Stats { names: &VHOST, numbers: &numbers, samples: None };
    members.cell("queue_totals").object(|totals| messages.write_totals(totals, 0, has_rates));
    if has_rates {
        messages.write_messages(members.cell("message_stats"), true);
    }
    let numbers = broker.node_numbers();
    let node = Stats { names: &NODE, numbers: &numbers, samples: None };
    members.cell("churn_rates").object(|churn| match has_rates {
        true => node.write(churn, &CHURN),
        false => node.write_counts(churn, &CHURN),
    });
    members.cell("object_totals").object(|objects| {
        let vhosts = broker.vhost_views();
        objects.cell("connections").int(vhosts.iter().map(|vhost| vhost.connection_count as u64).sum());
        objects.cell("exchanges").int(vhosts.iter().map(|vhost| vhost.exchange_count as u64).sum());
        objects.cell("queues").int(vhosts.iter().map(|vhost| vhost.queue_count as u64).sum());
    });
    members.cell("node").text(service.node());
    if broker.has_rates() {
        node.write_counts(members, &MACHINE);
    } else {
        write_machine(service, members);
    }
}

/// What `MACHINE` names, where there are no ticks.
fn write_machine(service: &Service, members: &mut Object<'_>) {
    let view = service.broker.node_view(&service.options.data_dir);
    members.cell("mem_used").int(view.memory_used_len);
    members.cell("disk_free").int(view.disk_free_len);
    if let Some(count) = machine::open_file_count() {
        members.cell("fd_used").int(count);
    }
    members.cell("sockets_used").int(view.connection_count as u64);
    if let Some(count) = machine::thread_count() {
        members.cell("proc_used").int(count);
    }
}

/// A vhost. False: there is none of this name.
pub(super) fn write_vhost(service: &Service, name: &str, members: &mut Object<'_>) -> bool {
    let Some(numbers) = service.broker.vhost_numbers(name) else { return false };
    let (stats, has_rates) = (Stats { names: &VHOST, numbers: &numbers, samples: None }, has_rates(service));
    members.cell("name").text(name);
    stats.write_totals(members, 0, has_rates);
    if has_rates {
        stats.write_messages(members.cell("message_stats"), false);
        stats.write(members, &["recv_oct", "send_oct"]);
    } else {
        stats.write_counts(members, &["recv_oct", "send_oct"]);
    }
    true
}

/// A queue. False: there is none of this name.
pub(super) fn write_queue(service: &Service, vhost: &str, name: &str, members: &mut Object<'_>) -> bool {
    let Some(view) = service.broker.queue_view(vhost, name) else { return false };
    let (numbers, has_rates) = (view.numbers(), has_rates(service));
    let stats = Stats { names: &QUEUE, numbers: &numbers, samples: None };
    let SetAsideView { dead_letter_count, delayed_count } = service.broker.set_aside_of(&view);
    members.cell("vhost").text(vhost);
    members.cell("name").text(name);
    members.cell("consumers").int(view.consumer_count());
    stats.write_totals(members, dead_letter_count + delayed_count, has_rates);
    members.cell("message_bytes").int(view.ready_bytes() + view.unacked_bytes());
    members.cell("message_bytes_ready").int(view.ready_bytes());
    members.cell("message_bytes_unacknowledged").int(view.unacked_bytes());
    if has_rates {
        stats.write_messages(members.cell("message_stats"), false);
    }
    true
}

/// An exchange. False: there is none of this name.
pub(super) fn write_exchange(service: &Service, vhost: &str, name: &str, members: &mut Object<'_>) -> bool {
    let name = if name == DEFAULT_EXCHANGE_ALIAS { "" } else { name };
    if service.broker.exchange_type(vhost, name).is_none() {
        return false;
    }
    members.cell("vhost").text(vhost);
    members.cell("name").text(name);
    if has_rates(service)
        && let Some(numbers) = service.broker.exchange_numbers(vhost, name)
    {
        let stats = Stats { names: &EXCHANGE, numbers: &numbers, samples: None };
        stats.write_messages(members.cell("message_stats"), false);
    }
    true
}

/// A connection.
pub(super) fn write_connection(service: &Service, view: &ConnectionView, members: &mut Object<'_>) {
    let (numbers, (received, sent)) = (view.numbers(), view.traffic_count());
    let stats = Stats { names: &CONNECTION, numbers: &numbers, samples: None };
    members.cell("name").text(&view.name());
    if let Some(opened) = view.opened() {
        members.cell("user").text(opened.user);
        members.cell("vhost").text(opened.vhost);
    }
    members.cell("state").text(view.state.name());
    members.cell("channels").int(view.channel_count() as u64);
    members.cell("recv_cnt").int(received);
    members.cell("send_cnt").int(sent);
    match has_rates(service) {
        true => stats.write(members, &CONNECTION),
        false => stats.write_counts(members, &CONNECTION),
    }
}

/// A channel.
pub(super) fn write_channel(service: &Service, view: &ChannelView, members: &mut Object<'_>) {
    members.cell("name").text(&view.name());
    if let Some(opened) = view.connection.opened() {
        members.cell("user").text(opened.user);
        members.cell("vhost").text(opened.vhost);
    }
    members.cell("consumer_count").int(view.consumer_count);
    members.cell("prefetch_count").int(view.prefetch_count);
    members.cell("messages_unacknowledged").int(view.unacked_count);
    members.cell("messages_uncommitted").int(view.uncommitted_count);
    members.cell("messages_unconfirmed").int(view.unconfirmed_count);
    members.cell("acks_uncommitted").int(view.uncommitted_ack_count);
    if has_rates(service) {
        let numbers = view.numbers();
        let stats = Stats { names: &CHANNEL, numbers: &numbers, samples: None };
        stats.write_messages(members.cell("message_stats"), false);
    }
}
