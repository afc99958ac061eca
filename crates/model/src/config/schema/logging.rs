//! Logs and names.

use super::{Key, Row, Section, Type, no_effect, not_built};

pub(super) const SECTION: Section = Section { title: "Logs and names", keys: KEYS };

pub(super) const LEVELS: Type =
    Type::OneOf(&["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency", "none"]);
const FORMATTERS: Type = Type::OneOf(&["plaintext", "json"]);
const STDERR: &str = "logs are written to stderr only";
const FIXED: &str = "the format of a line is fixed";

pub(crate) const LOG_CONSOLE: Key<bool> = Key::bool(
    "log.console",
    "true",
    "Whether events are logged. Logs are written to stderr. `false` has no effect if another log is configured, such as a file: \
         that log is written to stderr, too.",
);
pub(crate) const LOG_CONSOLE_LEVEL: Key<String> = Key::text(
    "log.console.level",
    LEVELS,
    "info",
    "The lowest level that is logged. `notice` is the same as `info`. `critical`, `alert` and `emergency` are the same as `error`.",
);
pub(crate) const LOG_DEFAULT_LEVEL: Key<String> =
    Key::text("log.default.level", LEVELS, "", "The same. If both are set, the more severe level applies.");
pub(crate) const LOG_CONSOLE_FORMATTER: Key<String> = Key::text(
    "log.console.formatter",
    FORMATTERS,
    "plaintext",
    "The format of an event: a line of text, or a JSON object.",
);
pub(crate) const PRODUCT_NAME: Key<String> =
    Key::text("product.name", Type::Text, "Warren", "The product name that clients and tools receive.");
pub(crate) const PRODUCT_VERSION: Key<String> = Key::text(
    "product.version",
    Type::Text,
    "",
    "The version that clients and tools receive. Unset: Warren's version.",
);
pub(crate) const CLUSTER_NAME: Key<String> = Key::text(
    "cluster_name",
    Type::Text,
    "",
    "The cluster name that clients and tools receive. Unset: `rabbit@` followed by the host's name.",
);

const KEYS: &[Row] = &[
    LOG_CONSOLE.row,
    LOG_CONSOLE_LEVEL.row,
    LOG_DEFAULT_LEVEL.row,
    LOG_CONSOLE_FORMATTER.row,
    PRODUCT_NAME.row,
    PRODUCT_VERSION.row,
    CLUSTER_NAME.row,
    not_built("{cluster_tags,node_tags}.$tag", Type::Text, "tags are not shown anywhere"),
    not_built("motd_file", Type::Text, "Warren has no message of the day"),
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
    no_effect("log.console.use_colors", Type::Flag, "logs have colours on a terminal, and nowhere else"),
    no_effect("log.console.color_esc_seqs.$level", Type::Text, FIXED),
    no_effect("log.console.formatter.**", Type::Text, FIXED),
    no_effect("log.{summarize_process_state,error_logger_format_depth}", Type::Text, "Warren has no Erlang processes"),
];
