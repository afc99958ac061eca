//! Requests that were slow, and what the log says.

use super::super::facts::Facts;
use super::Finding;
use super::words::{bytes, number, plural, time};

/// A request that takes longer is slow.
const REQUEST_SLOW_MS: f64 = 1_000.0;

/// Of the time of an answer, the part from which on its reader is slow, and not the broker.
const READER_PART: f64 = 0.5;

pub(super) fn slow(facts: &Facts, found: &mut Vec<Finding>) {
    let slow = facts.slow_requests.iter().flat_map(|slow| &slow.all);
    let mut slow = slow.filter(|request| request.ms >= REQUEST_SLOW_MS);
    let Some(first) = slow.next() else { return };
    let waited = first.waits.first().map(|wait| format!(", {} of it {}", time(wait.ms), wait.what()));
    let others = match slow.count() {
        0 => String::new(),
        1 => "; so was another".to_owned(),
        count => format!("; so were {} others", number(count as u64)),
    };
    let (request, took) = (&first.request, time(first.ms));
    if first.reader_ms >= first.ms * READER_PART {
        let text = format!(
            "{request} took {took} at {}: its reader took {} of it until it had the {} of the answer{others}.",
            first.at,
            time(first.reader_ms),
            bytes(first.len)
        );
        found.push(Finding::remark("slow_reader", text));
        return;
    }
    let text = format!("{request} was slow: it took {took} at {}{}{others}.", first.at, waited.unwrap_or_default());
    found.push(Finding::warning("slow_request", text));
}

pub(super) fn errors(facts: &Facts, found: &mut Vec<Finding>) {
    let Some(last) = &facts.last_error else { return };
    let (errors, are) = plural(facts.error_count as u64, "error", "is", "are");
    let text = format!("{errors} {are} among the last lines of the log, the last one: {last}");
    found.push(Finding::warning("log_errors", text));
}
