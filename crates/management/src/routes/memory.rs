//! What a node's memory is used for, in RabbitMQ's shape and by its names, as far as they mean something here.

use broker::view::MemoryView;

use super::nodes::{is_peer, memory_not_available};
use crate::answer::Answer;
use crate::call::Call;
use crate::json::{self, Writer};
use crate::problem::Problem;
use crate::service::Service;

/// RabbitMQ's parts of memory, which tools expect to find, and which of ours belongs to each. All parts together are the total.
fn parts(view: &MemoryView) -> [(&'static str, u64); 26] {
    [
        ("connection_readers", view.connections.readers_len),
        ("connection_writers", view.connections.writers_len),
        ("connection_channels", view.connections.channels_len),
        ("connection_other", view.connections.other_len),
        ("stream_queue_procs", 0),
        ("stream_queue_replica_reader_procs", 0),
        ("stream_queue_coordinator_procs", 0),
        ("queue_procs", view.classic_queues_len),
        ("quorum_queue_procs", view.quorum_queues_len),
        ("quorum_queue_dlx_procs", 0),
        ("plugins", view.delayed_len),
        ("metadata_store", view.definitions_len),
        ("other_proc", 0),
        ("metrics", view.metrics_len),
        ("mgmt_db", view.histories_len),
        ("quorum_ets", view.journal_len),
        ("mnesia", 0),
        ("metadata_store_ets", 0),
        ("other_ets", 0),
        ("binary", view.contents_len),
        ("msg_index", view.segments_len),
        ("code", view.files_len),
        ("atom", 0),
        ("other_system", total(view) - view.known_len()),
        ("allocated_unused", view.spare_len),
        ("reserved_unallocated", 0),
    ]
}

/// What is resident; more only where owners have been given memory that they have not touched yet.
fn total(view: &MemoryView) -> u64 {
    view.resident_len.max(view.known_len())
}

/// Writes the parts, and their total.
pub(super) fn write(service: &Service, writer: Writer<'_>) {
    let view = service.broker.memory_view();
    writer.object(|memory| {
        for (part, len) in parts(&view) {
            memory.cell(part).int(len);
        }
        memory.cell("strategy").text("rss");
        memory.cell("total").object(|whole| {
            whole.cell("erlang").int(total(&view));
            whole.cell("rss").int(view.resident_len);
            // What the allocator has of the system, whether it is touched or not.
            whole.cell("allocated").int(service.options.allocated_len.map_or(view.resident_len, |len| len()));
        });
    });
}

pub(super) fn absolute(call: &Call) -> Result<Answer, Problem> {
    if is_peer(call)? {
        return Ok(memory_not_available());
    }
    let mut out = Vec::new();
    Writer::new(&mut out).object(|members| {
        if let Some(writer) = members.cell("memory").writer() {
            write(&call.service, writer);
        }
    });
    Ok(Answer::json(out))
}

/// In percent, whole ones; what rounding leaves is with the rest, so that all together are a hundred.
fn write_relative(view: &MemoryView, memory: &mut json::Object<'_>) {
    let whole = total(view).max(1);
    let parts = parts(view).map(|(part, len)| (part, len * 100 / whole));
    let lost = 100 - parts.iter().map(|(_, percent)| percent).sum::<u64>();
    memory.cell("total").int(100);
    for (part, percent) in parts {
        memory.cell(part).int(if part == "other_system" { percent + lost } else { percent });
    }
}

pub(super) fn relative(call: &Call) -> Result<Answer, Problem> {
    if is_peer(call)? {
        return Ok(memory_not_available());
    }
    let mut out = Vec::new();
    let view = call.broker().memory_view();
    Writer::new(&mut out).object(|members| members.cell("memory").object(|memory| write_relative(&view, memory)));
    Ok(Answer::json(out))
}

#[cfg(test)]
mod tests {
    use broker::view::ConnectionMemory;

    use super::*;

    #[test]
    fn parts_are_the_total() {
        let connections = ConnectionMemory { readers_len: 1, writers_len: 2, channels_len: 3, other_len: 4 };
        let known = MemoryView {
            files_len: 100,
            contents_len: 490,
            journal_len: 10,
            classic_queues_len: 7,
            connections,
            ..MemoryView::default()
        };
        for resident_len in [0, 617, 1000, 123_457] {
            let view = MemoryView { resident_len, ..known };
            let sum = parts(&view).iter().map(|(_, len)| len).sum::<u64>();
            assert_eq!(sum, resident_len.max(617));
            let mut out = Vec::new();
            Writer::new(&mut out).object(|memory| write_relative(&view, memory));
            let relative: serde_json::Value = serde_json::from_slice(&out).unwrap();
            let members = relative.as_object().unwrap();
            assert_eq!(members.values().filter_map(serde_json::Value::as_u64).sum::<u64>(), 200, "{relative}");
        }
    }
}
