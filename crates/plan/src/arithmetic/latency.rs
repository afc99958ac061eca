//! How long a confirm takes, as far as disks and the network between nodes have a part in it.

use super::Load;
use super::disk::Disk;
use crate::assumptions::{FROM_CONFIRM, FROM_ONE_JOURNAL, FROM_PACE, PACE, SYNC};
use crate::formula::{Formula, product, quotient, sum};
use crate::quantity::Unit;
use crate::setting::Key;
use crate::sheet::Sheet;

/// Writes the section, where a confirm waits for a disk.
pub(super) fn write(sheet: &mut Sheet, load: &Load<'_>, disk: &Disk) {
    if !load.workload.is(Key::Confirms) || disk.commits.value <= 0.0 {
        return;
    }
    sheet.section("latency", "Latency of a confirm, from the broker's socket and back to it");
    let (sync, source) = match load.workload.optional(Key::SyncUs) {
        Some(_) => (load.term(Key::SyncUs), ""),
        None => (SYNC.term(), FROM_ONE_JOURNAL),
    };
    let sync = sheet.line("sync", "a write and a sync", Unit::Micros, sum([sync]), source);
    let (turn, source) = match load.is_clustered() {
        true => (Formula::Largest(vec![(&sync).into(), PACE.term()]), FROM_PACE),
        false => (sum([(&sync).into()]), ""),
    };
    let turn = sheet.line("turn", "from a commit to the next", Unit::Micros, turn, source);
    let busy = Formula::Smallest(vec![quotient(product([(&disk.commits).into(), (&turn).into()]), 1e6), 1.0.into()]);
    let busy = sheet.line("busy", "the share of time with a commit", Unit::Share, busy, "");
    let way = || if load.is_clustered() { load.term(Key::RttUs) } else { 0.0.into() };
    let mean = sum([product([(&busy).into(), quotient(&turn, 2.0)]), (&sync).into(), way()]);
    sheet.line("mean", "a confirm, on average", Unit::Micros, mean, FROM_CONFIRM);
    let most = sum([(&turn).into(), (&sync).into(), way()]);
    sheet.line("most", "a confirm that just missed a commit", Unit::Micros, most, FROM_CONFIRM);
}
