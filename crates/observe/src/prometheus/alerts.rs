//! Metrics of alerts: how many fire, and what becomes of notices to webhooks.

use std::sync::Arc;

use alerts::Severity;

use super::metric::{Table, counter, gauge, nothing, write_each};
use crate::alerting::Alerting;

static FIRING: Table<(Severity, u64)> = Table {
    metrics: &[gauge("alerts_firing", "Firing alerts by severity", |(_, count)| Some((*count).into()), nothing)],
    labels: |(severity, _), labels| labels.put("severity", severity.name()),
};

static NOTICES: Table<Arc<Alerting>> = Table {
    metrics: &[
        counter(
            "alert_notices_delivered_total",
            "Alert notifications that webhooks have accepted",
            |alerting| Some(alerting.counters().delivered.get().into()),
            nothing,
        ),
        counter(
            "alert_attempts_failed_total",
            "Failed attempts to notify a webhook of an alert",
            |alerting| Some(alerting.counters().failed.get().into()),
            nothing,
        ),
        counter(
            "alert_notices_dropped_total",
            "Alert notifications that were dropped without being delivered",
            |alerting| Some(alerting.counters().dropped.get().into()),
            nothing,
        ),
    ],
    labels: |_, _| (),
};

/// Writes it.
pub(super) fn write(out: &mut Vec<u8>, prefix: &'static str, alerting: &Arc<Alerting>) {
    let firing = Severity::ALL.map(|severity| (severity, alerting.counters().firing(severity)));
    write_each(out, &FIRING, prefix, &firing);
    write_each(out, &NOTICES, prefix, std::slice::from_ref(alerting));
}
