//! Logs and names.

use super::{Key, Section, Type, effective, no_effect, not_built};

pub(super) const SECTION: Section = Section { title: "Logs and names", keys: KEYS };

pub(super) const LEVELS: Type =
    Type::OneOf(&["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency", "none"]);
const FORMATTERS: Type = Type::OneOf(&["plaintext", "json"]);
const STDERR: &str = "logs go to stderr only";
const FIXED: &str = "the shape of a line is fixed";

const KEYS: &[Key] = &[
    effective(
        "log.console",
        Type::Bool,
        "true",
        "Whether to log at all; logs go to stderr. `false` has no effect where a log is wanted elsewhere, in a file say: \
         that one goes to stderr.",
    ),
    effective(
        "log.console.level",
        LEVELS,
        "info",
        "The least severe level that is logged. `notice` is the same as `info`; `critical`, `alert` and `emergency` are \
         the same as `error`.",
    ),
    effective("log.default.level", LEVELS, "", "The same; if both are set, the more severe one holds."),
    effective("log.console.formatter", FORMATTERS, "plaintext", "One line of text or one JSON object for each event."),
    effective("product.name", Type::Text, "Warren", "The product that clients and tools are told."),
    effective("product.version", Type::Text, "", "Its version; unset: the program's own."),
    effective(
        "cluster_name",
        Type::Text,
        "",
        "The name that clients and tools are told; unset: `rabbit@` and the host's name.",
    ),
    not_built("{cluster_tags,node_tags}.$tag", Type::Text, "nothing shows it yet"),
    not_built("motd_file", Type::Text, "there is no message of the day"),
    not_built(
        "log.{connection,channel,mirroring,queue,federation,upgrade,user,ra}.level",
        LEVELS,
        "all events follow log.console.level",
    ),
    not_built("log.{exchange,journald,syslog}", Type::Bool, STDERR).unless(&["false"]),
    not_built("log.exchange.**", Type::Text, STDERR),
    not_built("log.journald.**", Type::Text, STDERR),
    not_built("log.syslog.**", Type::Text, STDERR),
    not_built("log.file", Type::Text, STDERR).unless(&["false"]),
    not_built("log.file.**", Type::Text, STDERR),
    no_effect("log.dir", Type::Text, STDERR),
    no_effect("log.{connection,channel,mirroring,queue,federation,upgrade,user,ra}.file", Type::Text, STDERR),
    no_effect(
        "log.{connection,channel,mirroring,queue,federation,upgrade,user,ra,default}.rotation.**",
        Type::Text,
        STDERR,
    ),
    no_effect("log.console.stdio", Type::OneOf(&["stdout", "stderr"]), STDERR).unless(&["stderr"]),
    no_effect("log.console.use_colors", Type::Flag, "a terminal gets colours, nothing else does"),
    no_effect("log.console.color_esc_seqs.$level", Type::Text, FIXED),
    no_effect("log.console.formatter.**", Type::Text, FIXED),
    no_effect("log.{summarize_process_state,error_logger_format_depth}", Type::Text, "there are no Erlang processes"),
];
