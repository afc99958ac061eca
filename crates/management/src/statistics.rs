//! Numbers as RabbitMQ shows them: `message_stats`, and beside a number its `_details`, with its rate, and samples if a range is asked for.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use broker::statistics::Range;
use broker::statistics::numbers::{READY, UNACKED};
use broker::view::Numbers;
use telemetry::{Buckets, Sample, Scale};

use crate::json::{Cell, Object};
use crate::listing::{DETAILS, Query};

/// The histories that a request asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Ranges {
    /// Of how many messages queues have.
    pub(crate) lengths: Option<Range>,
    /// Of what happens to messages.
    pub(crate) messages: Option<Range>,
    /// Of bytes.
    pub(crate) data: Option<Range>,
    /// Of the node.
    pub(crate) node: Option<Range>,
}

impl Ranges {
    /// What `lengths_age`, `lengths_incr` and so on ask for, in seconds, of one object or of a list. What is no number is ignored, as in
    /// RabbitMQ.
    pub(crate) fn parse(query: &Query, is_of_list: bool) -> Ranges {
        let range = |kind: &str| {
            let ms = |what| query.get(&format!("{kind}_{what}"))?.parse::<u64>().ok()?.checked_mul(1000);
            let (age_ms, step_ms) = (ms("age")?, ms("incr")?);
            (step_ms > 0).then_some(Range { age_ms, step_ms, is_of_list })
        };
        Ranges {
            lengths: range("lengths"),
            messages: range("msg_rates"),
            data: range("data_rates"),
            node: range("node_stats"),
        }
    }
}

/// Numbers of an object, and what they were, newest first, if the request asks for that.
pub(crate) struct Stats<'a, const N: usize> {
    pub(crate) names: &'a [&'static str; N],
    pub(crate) numbers: &'a Numbers<N>,
    pub(crate) samples: Option<&'a [Sample<N>]>,
}

/// What publishers send, and what they are answered.
const PUBLISHED: [&str; 6] =
    ["publish", "publish_in", "publish_out", "confirm", "return_unroutable", "drop_unroutable"];
/// What is handed out, in all four ways.
const DELIVER_GET: [&str; 4] = ["get", "get_no_ack", "deliver", "deliver_no_ack"];
const DELIVERED: [&str; 7] = ["get", "get_no_ack", "get_empty", "deliver", "deliver_no_ack", "redeliver", "ack"];
const DISK: [&str; 2] = ["disk_reads", "disk_writes"];

impl<const N: usize> Stats<'_, N> {
    /// `message_stats`: absent as long as nothing has happened. What belongs together appears together, as in RabbitMQ.
    pub(crate) fn write_messages(&self, cell: Cell<'_>, has_disk: bool) {
        let has = |group: &[&str]| self.indices(group).any(|index| self.numbers.now[index] > 0);
        let (has_published, has_delivered, has_disk) = (has(&PUBLISHED), has(&DELIVERED), has_disk && has(&DISK));
        if !has_published && !has_delivered {
            return;
        }
        cell.object(|members| {
            for (has, group) in [(has_published, &PUBLISHED[..]), (has_disk, &DISK[..])] {
                if has {
                    self.write(members, group);
                }
            }
            if has_delivered {
                self.write_delivered(members);
            }
        });
    }

    /// What is handed out, in each way and in all.
    pub(crate) fn write_delivered(&self, members: &mut Object<'_>) {
        self.indices(&DELIVERED).for_each(|index| self.write_one(members, index));
        members.cell("deliver_get").int(self.count(&DELIVER_GET));
        self.write_details(members.details("deliver_get"), &DELIVER_GET);
    }

    /// Numbers, each with its details.
    pub(crate) fn write(&self, members: &mut Object<'_>, names: &[&str]) {
        self.indices(names).for_each(|index| self.write_one(members, index));
    }

    /// The details of one number, or of the sum of several.
    pub(crate) fn write_details(&self, cell: Cell<'_>, names: &[&str]) {
        let samples = self.samples.filter(|_| wants_samples(&cell));
        self.sum(names, samples).write_details(cell);
    }

    /// Numbers alone, where there are no rates.
    pub(crate) fn write_counts(&self, members: &mut Object<'_>, names: &[&str]) {
        self.indices(names).for_each(|index| members.cell(self.names[index]).int(self.numbers.now[index]));
    }

    /// How many messages there are. Those that are `set_aside` are neither ready nor handed out.
    pub(crate) fn write_totals(&self, members: &mut Object<'_>, set_aside: u64, has_rates: bool) {
        for (name, parts, more) in
            [("messages", &[READY, UNACKED][..], set_aside), (READY, &[READY], 0), (UNACKED, &[UNACKED], 0)]
        {
            members.cell(name).int(self.count(parts) + more);
            if has_rates {
                self.write_details(members.details(name), parts);
            }
        }
    }

    /// The sum of numbers.
    pub(crate) fn count(&self, names: &[&str]) -> u64 {
        self.sum(names, None).now
    }

    fn write_one(&self, members: &mut Object<'_>, index: usize) {
        let name = self.names[index];
        members.cell(name).int(self.numbers.now[index]);
        self.write_details(members.details(name), &[name]);
    }

    fn indices(&self, names: &[&str]) -> impl Iterator<Item = usize> {
        (0..N).filter(move |index| names.contains(&self.names[*index]))
    }

    fn sum(&self, names: &[&str], samples: Option<&[Sample<N>]>) -> Sum {
        let of = |numbers: &[u64; N]| self.indices(names).map(|index| numbers[index]).fold(0, u64::wrapping_add);
        Sum {
            now: of(&self.numbers.now),
            rate: self.indices(names).map(|index| self.numbers.rates[index]).sum(),
            samples: samples.map(|samples| samples.iter().map(|sample| (sample.at_ms, of(&sample.numbers))).collect()),
        }
    }
}

/// One number, and what it was.
struct Sum {
    now: u64,
    rate: f64,
    /// When, in milliseconds since 1970, and how much; newest first.
    samples: Option<Vec<(u64, u64)>>,
}

impl Sum {
    fn write_details(&self, cell: Cell<'_>) {
        // Lists of samples have no useful order, and there may be very many.
        let has_samples = !cell.is_key();
        cell.object(|members| {
            members.cell("rate").float(self.rate);
            let Some(samples) = &self.samples else { return };
            if has_samples {
                members.cell("samples").list(samples, |(at_ms, sample), writer| {
                    writer.object(|members| {
                        members.cell("sample").int(*sample);
                        members.cell("timestamp").int(*at_ms);
                    });
                });
            }
            let (Some((last_ms, last)), Some((first_ms, first))) = (samples.first(), samples.last()) else { return };
            let seconds = last_ms.saturating_sub(*first_ms) as f64 / 1000.0;
            let change = last.wrapping_sub(*first).cast_signed() as f64;
            members.cell("avg_rate").float(if seconds > 0.0 { change / seconds } else { 0.0 });
            let sum: f64 = samples.iter().map(|(_, sample)| *sample as f64).sum();
            members.cell("avg").float(sum / samples.len() as f64);
        });
    }
}

/// A histogram: how many values there were up to each bound, their sum, and how many there were at all.
pub(crate) fn write_histogram<const N: usize>(cell: Cell<'_>, scale: &Scale, counted: &Buckets<N>) {
    cell.object(|members| {
        members.cell("buckets").object(|buckets| {
            let mut up_to = 0;
            for (bound, count) in scale.bounds().iter().zip(counted.counts) {
                up_to += count;
                buckets.cell(&bound.to_string()).int(up_to);
            }
        });
        members.cell("count").int(counted.count());
        members.cell("sum").int(counted.sum);
    });
}

/// A moment as RabbitMQ writes it.
pub(crate) fn rfc3339(at_ms: u64) -> String {
    let at = UNIX_EPOCH + Duration::from_millis(at_ms);
    humantime::format_rfc3339_millis(at).to_string().replace('Z', "+00:00")
}

/// A moment as RabbitMQ writes it of shovels and links, but of UTC.
pub(crate) fn date_and_time(at: SystemTime) -> String {
    humantime::format_rfc3339_seconds(at).to_string().replace('T', " ").replace('Z', "")
}

/// Whether a member needs samples: finding them is not free.
pub(crate) fn wants_samples(cell: &Cell<'_>) -> bool {
    let is_sampled =
        |name: &str| name.ends_with(DETAILS) || matches!(name, "samples" | "sample" | "timestamp" | "avg_rate" | "avg");
    cell.wanted().is_some_and(|wanted| wanted.reaches(is_sampled))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::Writer;

    const NAMES: [&str; 3] = ["publish", "deliver", "get"];

    #[track_caller]
    fn check(now: [u64; 3], samples: Option<&[Sample<3>]>, expected: &str) {
        let numbers = Numbers { now, rates: [0.5, 2.0, 0.0] };
        let mut out = Vec::new();
        Writer::new(&mut out).object(|members| {
            let stats = Stats { names: &NAMES, numbers: &numbers, samples };
            stats.write_messages(members.cell("message_stats"), false);
        });
        assert_eq!(String::from_utf8(out).unwrap(), expected);
    }

    #[test]
    fn what_belongs_together_appears_together() {
        check([0; 3], None, "{}");
        check([3, 0, 0], None, r#"{"message_stats":{"publish":3,"publish_details":{"rate":0.5}}}"#);
        check(
            [0, 3, 1],
            None,
            concat!(
                r#"{"message_stats":{"deliver":3,"deliver_details":{"rate":2.0},"get":1,"get_details":{"rate":0.0},"deliver_get":4,"#,
                r#""deliver_get_details":{"rate":2.0}}}"#
            ),
        );
    }

    #[test]
    fn a_range_brings_samples_and_their_means() {
        let samples = [Sample { at_ms: 10_000, numbers: [30, 0, 0] }, Sample { at_ms: 5000, numbers: [10, 0, 0] }];
        check(
            [30, 0, 0],
            Some(&samples),
            concat!(
                r#"{"message_stats":{"publish":30,"publish_details":{"rate":0.5,"samples":[{"sample":30,"#,
                r#""timestamp":10000},{"sample":10,"timestamp":5000}],"avg_rate":4.0,"avg":20.0}}}"#
            ),
        );
    }

    #[test]
    fn ranges_are_pairs_of_seconds() {
        let range = |age_ms, step_ms| Some(Range { age_ms, step_ms, is_of_list: true });
        let ranges = Ranges::parse(
            &Query::parse("lengths_age=60&lengths_incr=5&msg_rates_age=10&data_rates_age=x&data_rates_incr=1"),
            true,
        );
        assert_eq!(ranges, Ranges { lengths: range(60_000, 5000), ..Ranges::default() });
    }

    #[test]
    fn a_moment_has_milliseconds_and_an_offset() {
        assert_eq!(rfc3339(1_795_420_000_001), "2026-11-23T07:46:40.001+00:00");
    }

    #[test]
    fn samples_are_looked_up_only_for_who_wants_them() {
        let wants = |columns: &str| {
            let (mut out, mut wants) = (Vec::new(), false);
            let wanted = crate::listing::Selection::parse(columns);
            Writer::of(&mut out, &wanted).object(|members| wants = wants_samples(&members.cell("message_stats")));
            wants
        };
        for columns in ["message_stats", "message_stats.ack_details", "message_stats.ack_details.samples.sample"] {
            assert!(wants(columns), "{columns}");
        }
        for column in ["avg", "avg_rate", "samples"] {
            assert!(wants(&format!("message_stats.ack,message_stats.ack_details.{column}")), "{column}");
        }
        for columns in ["name", "message_stats.ack", "message_stats.ack,message_stats.ack_details.rate"] {
            assert!(!wants(columns), "{columns}");
        }
    }

    #[test]
    fn samples_are_not_sorted_by() {
        let samples = [Sample { at_ms: 10_000, numbers: [30, 0, 0] }, Sample { at_ms: 5000, numbers: [10, 0, 0] }];
        let numbers = Numbers { now: [30, 0, 0], rates: [0.5, 2.0, 0.0] };
        let mut out = Vec::new();
        Writer::of_key(&mut out).object(|members| {
            let stats = Stats { names: &NAMES, numbers: &numbers, samples: Some(&samples) };
            stats.write_messages(members.cell("message_stats"), false);
        });
        let expected = r#"{"message_stats":{"publish":30,"publish_details":{"rate":0.5,"avg_rate":4.0,"avg":20.0}}}"#;
        assert_eq!(String::from_utf8(out).unwrap(), expected);
    }
}
