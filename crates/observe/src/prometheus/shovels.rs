//! How many shovels there are, by what they do: as RabbitMQ's plugin reports it.

use shovel::{ShovelStatus, Shovels, State};

use super::metric::{Table, gauge, nothing, write_each};

/// A state, and how many are in it.
type Count = (&'static str, u64);

static DYNAMIC: Table<Count> = Table {
    metrics: &[gauge("shovel_dynamic", "Number of dynamic shovels", |(_, count)| Some((*count).into()), nothing)],
    labels: |(state, _), labels| labels.put("status", state),
};

static STATIC: Table<Count> = Table {
    metrics: &[gauge("shovel_static", "Number of static shovels", |(_, count)| Some((*count).into()), nothing)],
    labels: |(state, _), labels| labels.put("status", state),
};

/// Writes it. A state in which there is none is absent, as in RabbitMQ.
pub(super) fn write(out: &mut Vec<u8>, prefix: &'static str, shovels: &Shovels) {
    let all = shovels.statuses();
    let (dynamic, of_configuration): (Vec<_>, Vec<_>) = all.iter().partition(|status| status.id.vhost.is_some());
    write_each(out, &DYNAMIC, prefix, &counts(&dynamic));
    write_each(out, &STATIC, prefix, &counts(&of_configuration));
}

fn counts(shovels: &[&ShovelStatus]) -> Vec<Count> {
    let count = |name| shovels.iter().filter(|status| status.state.name() == name).count() as u64;
    State::NAMES.map(|name| (name, count(name))).into_iter().filter(|(_, count)| *count > 0).collect()
}
