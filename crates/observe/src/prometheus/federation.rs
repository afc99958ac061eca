//! How many links of federation there are, by what they do: as RabbitMQ's plugin reports it.

use ::federation::{LinkState, Links};

use super::metric::{Table, gauge, nothing, write_each};

/// A state, and how many are in it.
type Count = (&'static str, u64);

static LINKS: Table<Count> = Table {
    metrics: &[gauge("federation_links", "Number of federation links", |(_, count)| Some((*count).into()), nothing)],
    labels: |(state, _), labels| labels.put("status", state),
};

/// Writes it. A state in which there is none is absent, as in RabbitMQ.
pub(super) fn write(out: &mut Vec<u8>, prefix: &'static str, links: &Links) {
    let all = links.statuses();
    let count = |name| all.iter().filter(|status| status.state.name() == name).count() as u64;
    let counts: Vec<Count> =
        LinkState::NAMES.map(|name| (name, count(name))).into_iter().filter(|(_, count)| *count > 0).collect();
    write_each(out, &LINKS, prefix, &counts);
}
