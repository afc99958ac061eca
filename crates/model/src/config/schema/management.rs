//! The management plugin's keys.

use super::{Key, Section, Type, no_effect, not_built, refused};

pub(super) const SECTION: Section = Section { title: "Management", keys: KEYS };

const NO_MANAGEMENT: &str = "there is no management API";

const KEYS: &[Key] = &[
    refused(
        "management.load_definitions",
        Type::Text,
        "definitions are not imported yet, so vhosts, users and permissions would be missing",
    ),
    not_built("management.**", Type::Secret, NO_MANAGEMENT),
    not_built("management_agent.**", Type::Text, NO_MANAGEMENT),
    not_built("prometheus.**", Type::Text, "there are no metrics over HTTP"),
    no_effect("collect_statistics", Type::OneOf(&["none", "coarse", "fine"]), "counters are always kept"),
    no_effect("collect_statistics_interval", Type::ANY_DURATION, "counters are always current"),
];
