//! Options that every command takes: where the server is, which user asks, how answers are shown.
//!
//! Where rabbitmqctl and rabbitmqadmin disagree about a letter, the command says whose it is: `-p` is a virtual host in
//! `list_queues -p /`, and a password in `list queues -p secret`.

use crate::command::{Grammar, Opt, flag, option};

const URL: Opt = option("url", "URL", "where the management API is: http[s]://user:password@host:port, unix:/path");
const SOCKET: Opt = option("socket", "FILE", "the Unix socket that a broker on this machine listens on");
const DATA_DIR: Opt = option("data-dir", "DIR", "the data directory of a broker on this machine, which has its socket");
const HOST: Opt = option("host", "HOST", "the management API's host").short("H").also(&["hostname"]);
const PORT: Opt = option("port", "PORT", "and its port (default 15672, with TLS 15671)").short("P");
const PATH_PREFIX: Opt = option("path-prefix", "PATH", "the prefix before /api in paths");
const CA: Opt = option("ssl-ca-cert-file", "FILE", "authorities to trust, as PEM").also(&["tls-ca-cert-file"]);
const CERTIFICATE: Opt = option("ssl-cert-file", "FILE", "this client's certificate, as PEM").also(&["tls-cert-file"]);
const KEY: Opt = option("ssl-key-file", "FILE", "and its private key").also(&["tls-key-file"]);
const INSECURE: Opt = flag("ssl-insecure", "trust any server that answers").short("k").also(&[
    "insecure",
    "tls-insecure",
    "disable-tls-peer-verification",
]);
const HELP: Opt = flag("help", "explain the command instead").short("?").also(&["h"]);
const VERBOSE: Opt = flag("verbose", "print the requests to the server").short("v");

/// Those that a grammar has.
pub(crate) const fn of(grammar: Grammar) -> &'static [Opt] {
    match grammar {
        Grammar::Ctl => CTL_OPTIONS,
        Grammar::Admin => ADMIN_OPTIONS,
    }
}

/// As rabbitmqctl and rabbitmq-diagnostics spell them.
pub(crate) const CTL_OPTIONS: &[Opt] = &[
    option("vhost", "VHOST", "the virtual host, for commands about one (default /)").short("p"),
    flag("quiet", "no words around the answer").short("q"),
    flag("silent", "no words around the answer, no header above a table").short("s"),
    option("timeout", "SECONDS", "how long an answer may take (default 60; infinity)").short("t"),
    option("formatter", "FORMAT", "table, json, csv, pretty_table").also(&["format"]),
    flag("no-table-headers", "no header above a table"),
    URL,
    SOCKET,
    DATA_DIR,
    HOST,
    PORT,
    option("username", "USER", "the user (default guest)").short("u"),
    option("password", "PASSWORD", "and the password (default guest)"),
    PATH_PREFIX,
    flag("ssl", "with TLS").also(&["use-tls", "tls"]),
    CA,
    CERTIFICATE,
    KEY,
    INSECURE,
    VERBOSE,
    option("node", "NODE", "accepted and ignored: the URL selects the node").short("n"),
    flag("longnames", "accepted, and ignored").short("l"),
    option("erlang-cookie", "COOKIE", "accepted, and ignored"),
    HELP,
];

/// Variables of rabbitmqadmin's successor, and the options that they stand for.
pub(crate) const ADMIN_VARIABLES: &[(&str, &str)] = &[
    ("RABBITMQADMIN_CONFIG_FILE_PATH", "config"),
    ("RABBITMQADMIN_NODE_ALIAS", "node"),
    ("RABBITMQADMIN_BASE_URI", "base-uri"),
    ("RABBITMQADMIN_TARGET_HOST", "host"),
    ("RABBITMQADMIN_TARGET_PORT", "port"),
    ("RABBITMQADMIN_API_PATH_PREFIX", "path-prefix"),
    ("RABBITMQADMIN_TARGET_VHOST", "vhost"),
    ("RABBITMQADMIN_USERNAME", "username"),
    ("RABBITMQADMIN_PASSWORD", "password"),
    ("RABBITMQADMIN_USE_TLS", "ssl"),
    ("RABBITMQADMIN_TIMEOUT", "timeout"),
    ("RABBITMQADMIN_QUIET_MODE", "quiet"),
    ("RABBITMQADMIN_NON_INTERACTIVE_MODE", "non-interactive"),
    ("RABBITMQADMIN_TABLE_STYLE", "table-style"),
];

/// As rabbitmqadmin spells them, the old one and its successor.
pub(crate) const ADMIN_OPTIONS: &[Opt] = &[
    option("vhost", "VHOST", "the virtual host (default: all for lists, / for others)").short("V"),
    HOST,
    PORT,
    option("username", "USER", "the user (default guest)").short("u"),
    option("password", "PASSWORD", "and the password (default guest)").short("p"),
    URL,
    option("base-uri", "URL", "the same as --url").short("U"),
    SOCKET,
    DATA_DIR,
    PATH_PREFIX,
    flag("ssl", "with TLS").short("s").also(&["use-tls", "tls"]),
    CA,
    CERTIFICATE,
    KEY,
    INSECURE,
    option("config", "FILE", "settings by section (default ~/.rabbitmqadmin.conf)").short("c"),
    option("node", "SECTION", "the section of that file (default: default)").short("N"),
    option("format", "FORMAT", "table, long, tsv, kvp, bash, raw_json, pretty_json").short("f").also(&["formatter"]),
    option("sort", "COLUMN", "sort a list by a column").short("S"),
    flag("sort-reverse", "and the other way round").short("R"),
    option("depth", "LEVELS", "the depth of columns for nested values (default 1)").short("d"),
    option("table-style", "STYLE", "ascii, modern, sharp, dots, psql, markdown, borderless"),
    flag("non-interactive", "tables without borders and headers").also(&["noninteractive"]),
    flag("quiet", "no words around the answer").short("q"),
    option("timeout", "SECONDS", "how long an answer may take (default 60; infinity)").also(&["request-timeout"]),
    VERBOSE,
    HELP,
];
