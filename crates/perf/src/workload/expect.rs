//! What is to be true at the end.

use super::error::{Fault, suggestion};
use super::scale::Scale;
use super::table::{Field, Table};
use crate::plan::{Bound, Expectation, Metric};

/// Keys besides those with a percentile.
pub(super) const KEYS: [&str; 7] =
    ["publish_rate_min", "consume_rate_min", "lost", "duplicates", "out_of_order", "broker_memory_mib", "failed_steps"];
/// Of keys with a percentile: what is before and after it.
const LATENCIES: [(&str, &str); 3] =
    [("consumer_latency_", "_ms"), ("confirm_latency_", "_ms"), ("probe_latency_", "_ms")];

pub(super) fn read(field: &Field<'_>, probes: &[&str], scale: Scale) -> Result<Vec<Expectation>, Fault> {
    let mut expectations = Vec::new();
    let table = field.open_table()?;
    for (key, field) in table.fields() {
        if key.starts_with("probe_latency_") {
            let quantile = latency_quantile(key, LATENCIES[2].0, &table)?.ok_or_else(|| unknown(key, &table))?;
            probe_expectations(&field.open_table()?, quantile, probes, &mut expectations)?;
            continue;
        }
        expectations.push(Expectation { metric: metric(key, &table)?, bound: bound(key, &field, scale)? });
    }
    Ok(expectations)
}

fn metric(key: &str, table: &Table<'_>) -> Result<Metric, Fault> {
    if let Some(quantile) = latency_quantile(key, LATENCIES[0].0, table)? {
        return Ok(Metric::ConsumerLatencyMs(quantile));
    }
    if let Some(quantile) = latency_quantile(key, LATENCIES[1].0, table)? {
        return Ok(Metric::ConfirmLatencyMs(quantile));
    }
    match key {
        "publish_rate_min" => Ok(Metric::PublishRate),
        "consume_rate_min" => Ok(Metric::ConsumeRate),
        "lost" => Ok(Metric::Lost),
        "duplicates" => Ok(Metric::Duplicates),
        "out_of_order" => Ok(Metric::OutOfOrder),
        "broker_memory_mib" => Ok(Metric::BrokerMemoryMib),
        "failed_steps" => Ok(Metric::FailedSteps),
        _ => Err(unknown(key, table)),
    }
}

fn bound(key: &str, field: &Field<'_>, scale: Scale) -> Result<Bound, Fault> {
    let limit = field.number()?;
    Ok(if key.ends_with("_min") { Bound::AtLeast(scale.rate(limit)) } else { Bound::AtMost(limit) })
}

fn probe_expectations(
    table: &Table<'_>,
    quantile: f64,
    probes: &[&str],
    expectations: &mut Vec<Expectation>,
) -> Result<(), Fault> {
    for (probe, field) in table.fields() {
        if !probes.contains(&probe) {
            let hint = suggestion(probe, probes.iter().copied());
            return Err(field.fault(format!("unknown probe \"{probe}\"{hint}")));
        }
        expectations.push(Expectation {
            metric: Metric::ProbeLatencyMs(probe.to_owned(), quantile),
            bound: Bound::AtMost(field.number()?),
        });
    }
    Ok(())
}

/// 0.99 of `consumer_latency_p99_ms`, 1 of `consumer_latency_max_ms`; `None` of what is no percentile at all.
fn latency_quantile(key: &str, prefix: &str, table: &Table<'_>) -> Result<Option<f64>, Fault> {
    let Some(middle) = key.strip_prefix(prefix).and_then(|rest| rest.strip_suffix("_ms")) else { return Ok(None) };
    if middle == "max" {
        return Ok(Some(1.0));
    }
    let is_number = |digits: &&str| (2..=6).contains(&digits.len()) && digits.bytes().all(|byte| byte.is_ascii_digit());
    let Some(digits) = middle.strip_prefix('p').filter(is_number) else { return Ok(None) };
    // Digits are those after "0.": p100 would be p10, and is hardly meant to be.
    if digits.len() > 2 && digits.ends_with('0') {
        let meant = match digits.trim_end_matches('0') {
            "" | "1" => "max".to_owned(),
            rest => format!("p{rest:0<2}"),
        };
        let message = format!("expect: \"{key}\" is not a percentile; did you mean \"{prefix}{meant}_ms\"?");
        return Err(Fault::new(table.place_of(key), message));
    }
    Ok(format!("0.{digits}").parse().ok())
}

fn unknown(key: &str, table: &Table<'_>) -> Fault {
    let mut known: Vec<String> = KEYS.iter().map(|key| (*key).to_owned()).collect();
    for (before, after) in LATENCIES {
        known.extend(["p50", "p99", "p999", "max"].map(|quantile| format!("{before}{quantile}{after}")));
    }
    let hint = suggestion(key, known.iter().map(String::as_str));
    Fault::new(table.place_of(key), format!("expect: unknown key \"{key}\"{hint}"))
}
