//! The keys of statistics, typed.

use std::time::Duration;

use super::remark::Origin;
use super::schema::management as keys;
use super::values::Values;
use crate::pattern::Pattern;

const POLICIES: [&str; 2] = ["management", "sample_retention_policies"];

/// What is remembered of what is counted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StatisticsOptions {
    /// How often is looked at what has changed (`collect_statistics_interval`).
    pub interval: Duration,
    /// Whether there are rates and histories (`management.rates_mode`), and whether those of the ways between objects were asked for.
    pub rates_mode: RatesMode,
    /// Whether each queue counts how large its messages are and how long they wait.
    pub histograms: bool,
    /// Names of queues for which it is counted how long their messages are in each stage; None: of no queue.
    pub watched_queues: Option<Pattern>,
    /// How long samples are kept of the node and of vhosts; None: as usual.
    pub global: Option<Vec<SampleRetention>>,
    /// Of other objects.
    pub basic: Option<Vec<SampleRetention>>,
    /// Of the ways between objects: accepted, without effect.
    pub detailed: Option<Vec<SampleRetention>>,
}

/// `management.rates_mode`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RatesMode {
    /// There are none.
    None,
    /// There are.
    Basic,
    /// There are, and it was asked for those of the ways between objects.
    Detailed,
}

/// Samples that are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SampleRetention {
    /// For how long, in seconds.
    pub age_s: u64,
    /// How far apart, in seconds.
    pub interval_s: u64,
}

/// Samples of one age that are kept of each object.
const SAMPLE_COUNT_MAX: u64 = 5000;

/// Notes ages that cannot be read, and samples that would take too much memory.
pub(super) fn check(values: &mut Values) {
    let problem = |(rest, interval, origin): (&[String], &str, &Origin)| {
        let key = format!("{}.{}", POLICIES.join("."), rest.join("."));
        let Some(age_s) = age_of(&rest[1]) else {
            let text = format!("'{key}' must end in minute, hour, day or a number of seconds from 1 to 604800");
            return Some((origin.clone(), text));
        };
        if rest[0] == "detailed" {
            return None;
        }
        let interval_s: u64 = interval.parse().ok().filter(|interval_s| *interval_s > 0)?;
        let count = age_s / interval_s;
        let least_s = age_s.div_ceil(SAMPLE_COUNT_MAX);
        let text = || {
            format!(
                "'{key}' = {interval_s} stores {count} samples of each object, and the maximum is {SAMPLE_COUNT_MAX}: it must be 0 or \
                 at least {least_s}"
            )
        };
        (count > SAMPLE_COUNT_MAX).then(|| (origin.clone(), text()))
    };
    let problems: Vec<(Origin, String)> = values.below(&POLICIES).filter_map(problem).collect();
    problems.into_iter().for_each(|(origin, text)| values.refuse(origin, text));
}

pub(super) fn read(values: &Values) -> StatisticsOptions {
    StatisticsOptions {
        interval: values.get(&keys::COLLECT_STATISTICS_INTERVAL),
        rates_mode: match values.find(&keys::RATES_MODE).as_deref() {
            Some("none") => RatesMode::None,
            Some("detailed") => RatesMode::Detailed,
            _ => RatesMode::Basic,
        },
        histograms: values.get(&keys::STATISTICS_HISTOGRAMS),
        watched_queues: values.text(keys::STATISTICS_WATCHED_QUEUES.name()).and_then(|text| Pattern::parse(text).ok()),
        global: retentions(values, "global"),
        basic: retentions(values, "basic"),
        detailed: retentions(values, "detailed"),
    }
}

fn retentions(values: &Values, section: &str) -> Option<Vec<SampleRetention>> {
    let prefix = [POLICIES[0], POLICIES[1], section];
    values.has_any_below(&prefix).then(|| {
        let retention = |(age, interval): (&str, &str)| {
            let (age_s, interval_s) = (age_of(age)?, interval.parse().ok()?);
            (interval_s > 0).then_some(SampleRetention { age_s, interval_s })
        };
        values.family(&prefix).filter_map(retention).collect()
    })
}

/// Seconds; a little longer than their names, so that a request for as much gets as much.
fn age_of(name: &str) -> Option<u64> {
    match name {
        "minute" => Some(65),
        "hour" => Some(3660),
        "day" => Some(86_400 + 1800),
        seconds => seconds.parse().ok().filter(|seconds| (1..=604_800).contains(seconds)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Config, Source};

    fn parse(text: &str) -> Result<StatisticsOptions, String> {
        let source = Source { name: "rabbitmq.conf".to_owned(), text: text.to_owned() };
        Config::parse(&[source], &[], &[]).map(|(config, _)| config.statistics).map_err(|error| error.to_string())
    }

    #[test]
    fn nothing_said_is_as_usual() {
        let usual = parse("").unwrap();
        assert_eq!((usual.interval, usual.rates_mode), (Duration::from_secs(5), RatesMode::Basic));
        assert_eq!((usual.global, usual.histograms), (None, true));
    }

    #[test]
    fn a_section_says_all_that_is_kept() {
        let text = "management.sample_retention_policies.global.minute = 5\nmanagement.sample_retention_policies.global.600 = 10\n\
                    management.sample_retention_policies.detailed.10 = 0\ncollect_statistics_interval = 1s";
        let options = parse(text).unwrap();
        let of = |age_s, interval_s| SampleRetention { age_s, interval_s };
        assert_eq!(options.global, Some(vec![of(600, 10), of(65, 5)]));
        assert_eq!((options.basic, options.detailed), (None, Some(Vec::new())));
        assert_eq!(options.interval, Duration::from_secs(1));
    }

    #[test]
    fn queues_are_watched_by_a_pattern_of_their_names() {
        assert_eq!(parse("").unwrap().watched_queues, None);
        let pattern = parse("warren.statistics.watched_queues = ^orders").unwrap().watched_queues.unwrap();
        assert!(pattern.is_match("orders.eu") && !pattern.is_match("old-orders"));
        let error = parse("warren.statistics.watched_queues = orders[").unwrap_err();
        let expected =
            "rabbitmq.conf:1: 'warren.statistics.watched_queues' must be a regular expression, not 'orders['";
        assert!(error.starts_with(expected), "{error}");
    }

    #[test]
    fn an_age_that_is_none_is_refused() {
        let error = parse("management.sample_retention_policies.basic.weekly = 5").unwrap_err();
        assert!(error.contains("must end in minute, hour, day or a number of seconds"), "{error}");
    }

    #[test]
    fn so_many_samples_that_memory_has_no_bound_are_refused() {
        let key = "management.sample_retention_policies.basic";
        let error = parse(&format!("{key}.604800 = 1")).unwrap_err();
        let expected =
            "= 1 stores 604800 samples of each object, and the maximum is 5000: it must be 0 or at least 121";
        assert!(error.contains(expected), "{error}");
        for kept in ["604800 = 121", "hour = 1", "604800 = 0"] {
            parse(&format!("{key}.{kept}")).unwrap();
        }
    }
}
