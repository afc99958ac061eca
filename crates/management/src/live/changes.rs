//! Which events of the broker are sent, and to which users.

use broker::Event;

use crate::audit;
use crate::json::Object;

/// Whom an event concerns, and so which users may see it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Subject {
    /// Users who may enter the vhost where it is.
    InVhost,
    /// Users who may enter the vhost that it is about, or monitor.
    Vhost,
    /// The connection's own user, and users who may monitor.
    Connection,
    /// Administrators.
    Users,
    /// Users who may monitor.
    Node,
}

/// By the beginning of an event's name. What is not here is no change of an object, or has what not all users should read, such as the
/// addresses that parameters contain.
const SUBJECTS: [(&str, Subject); 15] = [
    ("queue.", Subject::InVhost),
    ("exchange.", Subject::InVhost),
    ("binding.", Subject::InVhost),
    ("policy.", Subject::InVhost),
    ("operator.policy.", Subject::InVhost),
    ("vhost.", Subject::Vhost),
    ("connection.", Subject::Connection),
    ("channel.", Subject::Connection),
    ("consumer.", Subject::Connection),
    ("alarm.", Subject::Node),
    ("permission.", Subject::Users),
    ("topic.permission.", Subject::Users),
    ("user.password.", Subject::Users),
    ("user.tags.", Subject::Users),
    ("user.limits.", Subject::Users),
];

/// None: it is not sent.
pub(super) fn subject(name: &str) -> Option<Subject> {
    if matches!(name, "user.created" | "user.deleted") {
        return Some(Subject::Users);
    }
    SUBJECTS.iter().find(|(prefix, _)| name.starts_with(prefix)).map(|(_, subject)| *subject)
}

/// Whether an event of this name is a change.
pub(super) fn is_change(name: &str) -> bool {
    subject(name).is_some()
}

/// The vhost that an event is in, or about.
pub(super) fn vhost_of(event: &Event, subject: Subject) -> Option<&str> {
    let fields = event.fields.as_table();
    let vhost = fields.get("vhost").and_then(|vhost| vhost.as_str());
    vhost.or_else(|| fields.get("name").filter(|_| subject == Subject::Vhost)?.as_str())
}

/// Whether it is about an exchange that every vhost has from its beginning: its creation had no event of its own, and its deletion is
/// reported by the vhost's event.
pub(super) fn goes_with_its_vhost(event: &Event) -> bool {
    let name = event.fields.as_table().get("name").and_then(|name| name.as_str());
    event.name.starts_with("exchange.") && name.is_some_and(|name| name.is_empty() || name.starts_with("amq."))
}

/// As the audit log has it, but from where.
pub(super) fn write(event: &Event, members: &mut Object<'_>) {
    audit::write(event, members, false);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_change_concerns_somebody_and_nothing_else_is_told() {
        for (name, expected) in [
            ("queue.created", Some(Subject::InVhost)),
            ("queue.policy.updated", Some(Subject::InVhost)),
            ("operator.policy.set", Some(Subject::InVhost)),
            ("vhost.deleted", Some(Subject::Vhost)),
            ("consumer.deleted", Some(Subject::Connection)),
            ("user.created", Some(Subject::Users)),
            ("user.tags.set", Some(Subject::Users)),
            ("topic.permission.created", Some(Subject::Users)),
            ("alarm.set", Some(Subject::Node)),
            ("user.authentication.success", None),
            ("parameter.set", None),
            ("backup.created", None),
        ] {
            assert_eq!(subject(name), expected, "{name}");
        }
    }
}
