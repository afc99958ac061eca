//! What a node writes to its disk, how often it syncs, and what has to have room.

use super::Load;
use super::messages::Sizes;
use crate::assumptions::{
    COMMIT, COMMIT_IN_CLUSTER, COMMITS_ALONE, COMMITS_IN_CLUSTER, FREE, FROM_JOURNAL, FROM_ONE_JOURNAL, FROM_PACE,
    FROM_STORE, JOURNAL, JOURNAL_IN_CLUSTER, PAGE, RESERVE,
};
use crate::formula::{Formula, ceiling, product, quotient, sum};
use crate::limits::Resource;
use crate::quantity::{Quantity, Unit};
use crate::setting::Key;
use crate::sheet::Sheet;

/// What a node's disk has to do.
pub(super) struct Disk {
    /// Records of the journal, a second.
    pub(super) journal: Quantity,
    /// Messages for segments while consumers are away, a second.
    pub(super) segments: Quantity,
    /// Commits a second.
    pub(super) commits: Quantity,
    /// What it writes in an outage.
    pub(super) write: Quantity,
}

pub(super) fn write(sheet: &mut Sheet, load: &Load<'_>, sizes: &Sizes) -> Disk {
    sheet.section("disk", if load.is_clustered() { "Disk of a node, leader or follower" } else { "Disk of a broker" });
    let is_persistent = load.workload.is(Key::Persistent);
    let once_more = || sum([1.0.into(), load.term(Key::Delayed)]);
    let journal = match is_persistent {
        false => sum([0.0.into()]),
        true => {
            let each = sum([(&sizes.journaled).into(), (&sizes.settled).into()]);
            product([(&load.peak).into(), each, once_more()])
        }
    };
    let delayed_twice = "a delayed message is written on arrival and again when it is due: docs/durability.md";
    let journal = sheet.line("journal", "journal records", Unit::BytesPerSecond, journal, delayed_twice);
    let commits = commits(sheet, load, is_persistent);
    let journal_write = journal_write(sheet, load, &journal, &commits);

    let to_segments = product([(&load.peak).into(), load.term(Key::Delayed), (&sizes.filed).into()]);
    let consumed = "messages consumed in the meantime are never written to segments: docs/dev/store.md";
    let delayed = sheet.line("segments", "segments", Unit::BytesPerSecond, to_segments, consumed);
    let all = product([(&load.peak).into(), (&sizes.filed).into(), once_more()]);
    let outlived = "all messages that are not consumed: docs/dev/store.md";
    let segments = sheet.line("segments-in-outage", "segments in an outage", Unit::BytesPerSecond, all, outlived);
    let steady = sum([(&journal_write).into(), (&delayed).into()]);
    sheet.line("write", "writes", Unit::BytesPerSecond, steady, "");
    let write = sum([(&journal_write).into(), (&segments).into()]);
    let write = sheet.line("write-in-outage", "writes in an outage", Unit::BytesPerSecond, write, "");
    let reads = product([(&load.rate).into(), (&sizes.filed).into()]);
    let drained = "a backlog consumed as fast as it was published";
    sheet.line("read", "reads after an outage", Unit::BytesPerSecond, reads, drained);
    let operations = product([2.0.into(), (&commits).into()]);
    sheet.line("operations", "writes and flushes for commits", Unit::PerSecond, operations, "");
    sheet.need("syncs-needed", "syncs needed", Resource::Syncs, sum([(&commits).into()]), "");
    let needed = load.with_headroom(load.after_loss(&write));
    sheet.need("write-needed", "disk bandwidth needed", Resource::DiskWrite, needed, "");
    space(sheet, load, sizes);
    Disk { journal, segments, commits, write }
}

/// How often the journal commits: as often as a message comes, up to what disk and pace allow. One commit then has several.
fn commits(sheet: &mut Sheet, load: &Load<'_>, is_persistent: bool) -> Quantity {
    let mut bounds = vec![Formula::from(&load.peak)];
    let mut source = FROM_PACE;
    if load.is_clustered() {
        bounds.push(COMMITS_IN_CLUSTER.term());
    }
    if load.workload.optional(Key::SyncUs).is_some() {
        bounds.push(quotient(1e6, load.term(Key::SyncUs)));
        source = if load.is_clustered() { FROM_PACE } else { "as often as the disk can sync" };
    } else if !load.is_clustered() {
        bounds.push(COMMITS_ALONE.term());
        source = FROM_ONE_JOURNAL;
    }
    let formula = if is_persistent { Formula::Smallest(bounds) } else { sum([0.0.into()]) };
    sheet.line("commits", "commits", Unit::PerSecond, formula, source)
}

/// What the journal writes: whole pages.
fn journal_write(sheet: &mut Sheet, load: &Load<'_>, journal: &Quantity, commits: &Quantity) -> Quantity {
    let header = if load.is_clustered() { COMMIT_IN_CLUSTER.term() } else { COMMIT.term() };
    let commit = match commits.value {
        0.0 => sum([0.0.into()]),
        _ => {
            let all = sum([header, quotient(journal, commits)]);
            product([ceiling(quotient(all, PAGE.term())), PAGE.term()])
        }
    };
    let commit = sheet.line("commit", "a commit", Unit::Bytes, commit, FROM_JOURNAL);
    let formula = product([commits.into(), (&commit).into()]);
    sheet.line("journal-write", "journal", Unit::BytesPerSecond, formula, "")
}

/// What has to have room: at the average rate, since an outage is longer than a peak.
fn space(sheet: &mut Sheet, load: &Load<'_>, sizes: &Sizes) {
    let backlog = product([load.after_loss(&load.rate), load.term(Key::Outage), (&sizes.filed).into()]);
    let average = "at the average rate, since an outage lasts longer than a peak";
    let backlog = sheet.line("backlog", "backlog of an outage", Unit::Bytes, backlog, average);
    let waiting = match load.workload.value(Key::Delayed) {
        0.0 => sum([0.0.into()]),
        _ => product([
            load.after_loss(&load.rate),
            load.term(Key::Delayed),
            load.term(Key::Delay),
            (&sizes.filed).into(),
        ]),
    };
    let waiting = sheet.line("delayed", "delayed messages", Unit::Bytes, waiting, "");
    let journal = if load.is_clustered() { JOURNAL_IN_CLUSTER.term() } else { JOURNAL.term() };
    let all = sum([(&backlog).into(), (&waiting).into(), journal, RESERVE.term(), FREE.term()]);
    let space = sheet.line("space", "disk space", Unit::Bytes, all, FROM_STORE);
    sheet.need("space-needed", "disk space needed", Resource::DiskSpace, load.with_headroom(&space), "");
}
