//! The Erlang runtime's keys.

use super::{Row, Section, Type, no_effect};

pub(super) const SECTION: Section = Section { title: "The Erlang runtime", keys: KEYS };

const NO_ERLANG: &str = "Warren has no Erlang runtime";

const KEYS: &[Row] = &[
    no_effect("erlang.**", Type::Text, NO_ERLANG),
    no_effect("sysmon_handler.**", Type::Text, NO_ERLANG),
    no_effect("hipe_compile", Type::Bool, NO_ERLANG),
];
