//! Memory, processors and open files of a node.

use super::Load;
use super::disk::Disk;
use crate::assumptions::{
    Assumption, BODY_MEASURED, BROKER_MEMORY, CONNECTION_MEMORY, CPU_BYTE, CPU_COMMIT, CPU_COMMIT_OF_FOLLOWER,
    CPU_COMMIT_OF_LEADER, CPU_CONFIRMED, CPU_PERSISTENT, CPU_TRANSIENT, FROM_BYTES, FROM_CONFIRMED, FROM_FILES,
    FROM_FLAT, FROM_FOLLOWER, FROM_IDLE, FROM_LONE, FROM_MEASURED_CPU, FROM_PERSISTENT, FROM_QUORUM, FROM_REPLICATION,
    FROM_SEND_BUFFERS, FROM_SOCKETS, FROM_TRANSIENT, FROM_WAKING, FROM_WATERMARK, QUEUE_MEMORY, SEND_BUFFER,
    SOCKET_MEMORY, STORE_FILES, WAKING, WAKING_HALF, WATERMARK,
};
use crate::formula::{Formula, difference, product, quotient, sum};
use crate::limits::Resource;
use crate::quantity::{Quantity, Unit};
use crate::setting::Key;
use crate::sheet::Sheet;

/// Writes the sections, and gives the processors that are at work.
pub(super) fn write(sheet: &mut Sheet, load: &Load<'_>, disk: &Disk) -> Quantity {
    memory(sheet, load);
    let processors = processors(sheet, load, disk);
    files(sheet, load);
    processors
}

/// Of what all brokers have together, the part of one, when one of several is lost.
fn of_one(load: &Load<'_>, key: Key) -> Formula {
    let all = load.term(key);
    match load.brokers.value {
        1.0 => all,
        _ => load.after_loss(quotient(all, &load.brokers)),
    }
}

fn memory(sheet: &mut Sheet, load: &Load<'_>) {
    sheet.section("memory", "Memory of a broker");
    let base =
        sheet.line("broker", "broker, whatever the backlog", Unit::Memory, sum([BROKER_MEMORY.term()]), FROM_FLAT);
    let many = Formula::Largest(vec![of_one(load, Key::Connections), of_one(load, Key::Channels)]);
    let connections = product([many, CONNECTION_MEMORY.term()]);
    let connections = sheet.line("connections", "connections and channels", Unit::Memory, connections, FROM_IDLE);
    let queues = product([of_one(load, Key::Queues), QUEUE_MEMORY.term()]);
    let queues = sheet.line("queues", "queues", Unit::Memory, queues, FROM_QUORUM);
    let sockets = product([of_one(load, Key::Connections), SOCKET_MEMORY.term()]);
    let sockets = sheet.line("sockets", "sockets in the kernel", Unit::Memory, sockets, FROM_SOCKETS);
    let unread = product([of_one(load, Key::Connections), SEND_BUFFER.term()]);
    sheet.line("unread", "buffers of clients that stop reading", Unit::Memory, unread, FROM_SEND_BUFFERS);
    let all = sum([(&base).into(), (&connections).into(), (&queues).into(), (&sockets).into()]);
    let all = sheet.line("memory", "memory of the broker", Unit::Memory, all, "");
    let most = Formula::Smallest(vec![WATERMARK.term(), difference(1.0, load.term(Key::Headroom))]);
    sheet.need("needed", "memory needed", Resource::Memory, quotient(&all, most), FROM_WATERMARK);
}

fn processors(sheet: &mut Sheet, load: &Load<'_>, disk: &Disk) -> Quantity {
    sheet.section("processors", "Processors of a broker, at the peak");
    let deliveries = || product([(&load.peak).into(), load.term(Key::Copies)]);
    let in_cores = |micros: Formula| quotient(micros, &Quantity::new("a second", 1e6, Unit::Micros));
    let (each, source, is_all) = message_cost(load);
    let cores = in_cores(product([deliveries(), each]));
    let messages = sheet.line("messages", "messages", Unit::Cores, cores, source);
    let longer = difference(load.term(Key::Body), BODY_MEASURED.term());
    let longer = Formula::Largest(vec![longer, 0.0.into()]);
    let (longer, source) = match is_all {
        true => (sum([0.0.into()]), FROM_MEASURED_CPU),
        false => (in_cores(product([deliveries(), longer, CPU_BYTE.term()])), FROM_BYTES),
    };
    let bytes = sheet.line("bytes", "longer bodies", Unit::Cores, longer, source);
    let (each, source) = match (is_all, load.is_clustered()) {
        (true, _) => (0.0.into(), FROM_MEASURED_CPU),
        (false, true) => (CPU_COMMIT_OF_LEADER.term(), FROM_REPLICATION),
        (false, false) => (CPU_COMMIT.term(), FROM_LONE),
    };
    let commits = in_cores(product([(&disk.commits).into(), each]));
    let commits = sheet.line("commits", "commits", Unit::Cores, commits, source);
    let waking = match (is_all, load.is_clustered()) {
        (true, _) => (sum([0.0.into()]), FROM_MEASURED_CPU),
        // What was measured of commits in a cluster has it.
        (false, true) => (sum([0.0.into()]), FROM_REPLICATION),
        (false, false) => {
            let share = quotient(&load.peak, sum([(&load.peak).into(), WAKING_HALF.term()]));
            (product([WAKING.term(), share]), FROM_WAKING)
        }
    };
    let waking = sheet.line("waking", "waking threads", Unit::Cores, waking.0, waking.1);
    if load.is_clustered() {
        let follower = in_cores(product([(&disk.commits).into(), CPU_COMMIT_OF_FOLLOWER.term()]));
        sheet.line("follower", "a follower", Unit::Cores, follower, FROM_FOLLOWER);
    }
    let all = sum([(&messages).into(), (&bytes).into(), (&commits).into(), (&waking).into()]);
    let all = sheet.line("cores", "processors at work", Unit::Cores, all, "");
    let needed = load.with_headroom(load.after_loss(&all));
    sheet.need("needed", "processors needed", Resource::Processors, needed, "");
    all
}

/// What a message costs, where that is from, and whether commits are in it.
fn message_cost(load: &Load<'_>) -> (Formula, &'static str, bool) {
    let assumed = |assumption: &Assumption, source| (assumption.term(), source, false);
    match (load.workload.is(Key::Persistent), load.workload.is(Key::Confirms)) {
        _ if load.workload.optional(Key::CpuUs).is_some() => (load.term(Key::CpuUs), FROM_MEASURED_CPU, true),
        (true, _) => assumed(&CPU_PERSISTENT, FROM_PERSISTENT),
        (false, true) => assumed(&CPU_CONFIRMED, FROM_CONFIRMED),
        (false, false) => assumed(&CPU_TRANSIENT, FROM_TRANSIENT),
    }
}

fn files(sheet: &mut Sheet, load: &Load<'_>) {
    sheet.section("files", "Open files of a broker");
    let all = sum([of_one(load, Key::Connections), STORE_FILES.term()]);
    let leader = "the leader has all connections, a follower two files per forwarded connection: docs/clustering.md";
    let source = if load.is_clustered() { leader } else { FROM_FILES };
    let all = sheet.line("files", "connections and the store", Unit::Count, all, source);
    let follower = load.is_clustered().then(|| {
        let left = difference(load.term(Key::Replicas), 1.0);
        let passed = quotient(product([2.0.into(), of_one(load, Key::Connections)]), left);
        let name = "a follower's after the loss of one";
        sheet.line("follower", name, Unit::Count, sum([passed, STORE_FILES.term()]), FROM_FILES)
    });
    let most = follower
        .map_or_else(|| sum([(&all).into()]), |follower| Formula::Largest(vec![(&all).into(), (&follower).into()]));
    sheet.need("needed", "open files needed", Resource::Files, load.with_headroom(most), "");
}
