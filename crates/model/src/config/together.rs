//! What is wrong or without effect only because of what another key says.

use super::remark::{Origin, Remark, Warning};
use super::schema as keys;
use super::settings::AuthMechanism;
use super::value::Size;
use super::values::Values;
use super::{backends, cluster, influxdb, links, listeners, management, oauth2, shovels, statistics, vhost_defaults};

/// Journal files that must fit into the journal's bound, so that old ones can be retired while a new one is written.
pub(super) const JOURNAL_FILE_COUNT_MIN: u64 = 4;

/// Checks values with each other, those that are there by default included: what is refused is noted there, what only has no effect is
/// returned.
pub(super) fn check(values: &mut Values) -> Vec<Warning> {
    let mut warnings = Vec::new();
    warnings.extend(both_set(
        values,
        keys::resources::MEMORY_WATERMARK_ABSOLUTE.name(),
        keys::resources::MEMORY_WATERMARK_RELATIVE.name(),
    ));
    warnings.extend(both_set(
        values,
        keys::resources::DISK_FREE_LIMIT_ABSOLUTE.name(),
        keys::resources::DISK_FREE_LIMIT_RELATIVE.name(),
    ));
    warnings.extend(initial_frame_max_above_frame_max(values));
    warnings.extend(log_elsewhere_instead_of_none(values));
    warnings.extend(oauth2::unprotected(values));
    warnings.extend(management::check(values));
    check_journal(values);
    backends::check(values);
    cluster::check(values);
    influxdb::check(values);
    links::check(values);
    listeners::check(values);
    shovels::check(values);
    vhost_defaults::check(values);
    statistics::check(values);
    values.pass_over_unknown(&["auth_mechanisms"], "mechanism", &AuthMechanism::ALL.map(AuthMechanism::name));
    warnings.extend(values.take_warnings());
    warnings
}

/// A warning if two keys are set of which the first takes precedence.
fn both_set(values: &Values, first: &str, second: &str) -> Option<Warning> {
    let origin = values.origin(second);
    let is_set = |origin: &Origin| *origin != Origin::Default;
    (is_set(&values.origin(first)) && is_set(&origin))
        .then(|| Warning(Remark { origin, text: format!("'{second}' has no effect: '{first}' takes precedence") }))
}

/// A client may ask for no shorter frames than `initial_frame_max` and for no longer ones than `frame_max`: where they
/// cross, no client could log in.
fn initial_frame_max_above_frame_max(values: &Values) -> Option<Warning> {
    let [initial, max] =
        [&keys::connections::INITIAL_FRAME_MAX, &keys::connections::FRAME_MAX].map(|key| u64::from(values.get(key)));
    let origin = values.origin(keys::connections::INITIAL_FRAME_MAX.name());
    (initial > max && origin != Origin::Default).then(|| {
        let text = format!("'initial_frame_max' ({}) is lowered to 'frame_max' ({})", Size(initial), Size(max));
        Warning(Remark { origin, text })
    })
}

fn log_elsewhere_instead_of_none(values: &Values) -> Option<Warning> {
    (!values.get(&keys::logging::LOG_CONSOLE) && is_log_wanted_elsewhere(values)).then(|| {
        let text = "'log.console' = false has no effect: the other configured log is written to stderr".to_owned();
        Warning(Remark { origin: values.origin(keys::logging::LOG_CONSOLE.name()), text })
    })
}

/// Whether the configuration asks for a log that is not built.
pub(super) fn is_log_wanted_elsewhere(values: &Values) -> bool {
    let has_file = match values.text("log.file") {
        Some(file) => file != "false",
        None => values.text("log.dir").is_some() || values.has_any_below(&["log", "file"]),
    };
    has_file || ["log.exchange", "log.journald", "log.syslog"].iter().any(|key| values.text(key) == Some("true"))
}

fn check_journal(values: &mut Values) {
    let (bound, file_len) = (values.get(&keys::warren::JOURNAL_BOUND), values.get(&keys::warren::JOURNAL_FILE_SIZE));
    if file_len.saturating_mul(JOURNAL_FILE_COUNT_MIN) <= bound {
        return;
    }
    let origin =
        [values.origin(keys::warren::JOURNAL_FILE_SIZE.name()), values.origin(keys::warren::JOURNAL_BOUND.name())];
    let [of_file, of_bound] = origin;
    let text = format!(
        "'warren.journal.bound' ({}) must hold at least {JOURNAL_FILE_COUNT_MIN} files of 'warren.journal.file_size' ({})",
        Size(bound),
        Size(file_len)
    );
    values.refuse(if of_file == Origin::Default { of_bound } else { of_file }, text);
}
