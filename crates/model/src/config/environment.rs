//! RabbitMQ's variables of the environment: which keys they set, and what to do instead where they set none.
//!
//! ```text
//!  ports, log and TLS          below all files: a file that names a listener has its own
//!  user, node's name, cookie   above all files
//! ```
//!
//! Files that variables name are read by the caller, which has access to files: see the names in [`READ_BY_CALLER`].

use super::remark::{Origin, Remark, Warning};
use super::schema::cluster as keys;
use super::syntax::KeyPath;
use super::values::Values;

/// Variables that set keys, above all files.
pub(super) const SETTING: &[(&str, &str)] = &[
    ("RABBITMQ_DEFAULT_USER", "default_user"),
    ("RABBITMQ_DEFAULT_PASS", "default_pass"),
    ("RABBITMQ_DEFAULT_VHOST", "default_vhost"),
    ("RABBITMQ_NODENAME", "warren.node_name"),
];

/// Variables that set keys, below all files.
const SETTING_DEFAULTS: &[(&str, &str)] = &[
    ("RABBITMQ_DIST_PORT", "warren.cluster.listener"),
    ("RABBITMQ_SSL_CACERTFILE", "ssl_options.cacertfile"),
    ("RABBITMQ_SSL_CERTFILE", "ssl_options.certfile"),
    ("RABBITMQ_SSL_KEYFILE", "ssl_options.keyfile"),
    ("RABBITMQ_SSL_VERIFY", "ssl_options.verify"),
    ("RABBITMQ_SSL_FAIL_IF_NO_PEER_CERT", "ssl_options.fail_if_no_peer_cert"),
    ("RABBITMQ_MANAGEMENT_SSL_CACERTFILE", "management.ssl.cacertfile"),
    ("RABBITMQ_MANAGEMENT_SSL_CERTFILE", "management.ssl.certfile"),
    ("RABBITMQ_MANAGEMENT_SSL_KEYFILE", "management.ssl.keyfile"),
];

/// What all nodes of RabbitMQ's cluster know: the secret of a cluster here, where the configuration forms one and names no other.
pub(super) const COOKIE: &str = "RABBITMQ_ERLANG_COOKIE";

/// Variables with more than one key, or with a value of their own form.
const OWN_FORM: &[(&str, &str)] = &[
    ("RABBITMQ_NODE_PORT", "listeners.tcp.default"),
    ("RABBITMQ_NODE_IP_ADDRESS", "listeners.tcp.default"),
    ("RABBITMQ_VM_MEMORY_HIGH_WATERMARK", "vm_memory_high_watermark.relative"),
    ("RABBITMQ_LOG", "log.console.level"),
    (COOKIE, "warren.cluster.secret"),
];

/// Variables that name files, or hold settings in Erlang's terms: the program reads them, and hands over what they say.
pub const READ_BY_CALLER: &[&str] = &[
    "RABBITMQ_CONFIG_FILE",
    "RABBITMQ_CONFIG_FILES",
    "RABBITMQ_ADVANCED_CONFIG_FILE",
    "RABBITMQ_CONF_ENV_FILE",
    "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS",
    "RABBITMQ_SERVER_START_ARGS",
    "RABBITMQ_DEFAULT_USER_FILE",
    "RABBITMQ_DEFAULT_PASS_FILE",
    "RABBITMQ_DEFAULT_VHOST_FILE",
    "RABBITMQ_ERLANG_COOKIE_FILE",
];

/// Variables that configure RabbitMQ and nothing here, with what to do instead.
pub(super) const WITHOUT_EFFECT: &[(&str, &str)] = &[
    ("RABBITMQ_LOGS", "logs are written to stderr, see log.console"),
    ("RABBITMQ_SERVER_ERL_ARGS", "Warren does not run on Erlang; warren.worker_threads sets the number of threads"),
    ("RABBITMQ_DISK_FREE_LIMIT", "set disk_free_limit.absolute"),
    ("RABBITMQ_DISK_FREE_ABSOLUTE_LIMIT", "set disk_free_limit.absolute"),
    ("RABBITMQ_LOG_BASE", "logs are written to stderr"),
    (
        "RABBITMQ_ENABLED_PLUGINS_FILE",
        "Warren has no plugins; enable features with warren.management.enabled and similar keys",
    ),
    ("RABBITMQ_PLUGINS_DIR", "Warren has no plugins"),
    ("RABBITMQ_MNESIA_BASE", "set warren.data_dir"),
    ("RABBITMQ_MNESIA_DIR", "set warren.data_dir"),
];

/// Assigns what is below all files.
pub(super) fn assign_defaults(values: &mut Values, env: &[(String, String)]) {
    let get = |name: &str| non_empty(env, name);
    for (variable, key) in SETTING_DEFAULTS {
        if let Some(value) = get(variable) {
            assign(values, key, value, variable);
        }
    }
    for (variable, text) in [("RABBITMQ_NODE_PORT", listener(env)), ("RABBITMQ_NODE_IP_ADDRESS", listener(env))] {
        if let Some(text) = text.filter(|_| get(variable).is_some()) {
            assign(values, "listeners.tcp.default", &text, variable);
        }
    }
    if let Some(level) = get("RABBITMQ_LOG").and_then(|text| text.split(',').find(|word| is_level(word))) {
        assign(values, "log.console.level", level, "RABBITMQ_LOG");
    }
    if let Some(text) = get("RABBITMQ_VM_MEMORY_HIGH_WATERMARK") {
        let variable = "RABBITMQ_VM_MEMORY_HIGH_WATERMARK";
        match (text.strip_suffix('%').map(str::parse::<f64>), text.parse::<f64>()) {
            (Some(Ok(percent)), _) => {
                assign(values, "vm_memory_high_watermark.relative", &(percent / 100.0).to_string(), variable);
            }
            (_, Ok(share)) if share <= 1.0 => assign(values, "vm_memory_high_watermark.relative", text, variable),
            _ => assign(values, "vm_memory_high_watermark.absolute", text, variable),
        }
    }
    // As the images did that had these variables: with TLS, and without TLS not at all.
    if get("RABBITMQ_SSL_CERTFILE").is_some() {
        assign(values, "listeners.tcp", "none", "RABBITMQ_SSL_CERTFILE");
        assign(values, "listeners.ssl.default", "5671", "RABBITMQ_SSL_CERTFILE");
        for (key, value) in [("ssl_options.verify", "verify_peer"), ("ssl_options.fail_if_no_peer_cert", "true")] {
            if values.text(key).is_none() {
                assign(values, key, value, "RABBITMQ_SSL_CERTFILE");
            }
        }
    }
    if get("RABBITMQ_MANAGEMENT_SSL_CERTFILE").is_some() {
        assign(values, "management.ssl.port", "15671", "RABBITMQ_MANAGEMENT_SSL_CERTFILE");
    }
}

/// Assigns what is above all files.
pub(super) fn assign_above(values: &mut Values, env: &[(String, String)]) {
    for (variable, key) in SETTING {
        if let Some(value) = non_empty(env, variable) {
            assign(values, key, value, variable);
        }
    }
}

/// Assigns the cookie as the secret, where one is needed and there is none.
pub(super) fn assign_cookie(values: &mut Values, env: &[(String, String)]) {
    let guards = [&keys::SECRET, &keys::SECRET_FILE, &keys::TLS_CERTFILE];
    let is_guarded = guards.iter().any(|key| values.find(key).is_some());
    let is_forming = values.is_set_below(&["cluster_formation"]);
    if let Some(cookie) = non_empty(env, COOKIE).filter(|_| is_forming && !is_guarded) {
        assign(values, keys::SECRET.name(), cookie, COOKIE);
    }
}

/// What is set and has no effect.
pub(super) fn without_effect(env: &[(String, String)]) -> Vec<Warning> {
    // Where the log is to be written to the standard output, which is as good as the standard error, there is nothing to say.
    let set = WITHOUT_EFFECT.iter().filter(|(variable, _)| {
        non_empty(env, variable).is_some_and(|value| (*variable, value) != ("RABBITMQ_LOGS", "-"))
    });
    let warned = set.map(|(variable, instead)| {
        let origin = Origin::Environment(variable);
        Warning(Remark { origin, text: format!("has no effect; {instead}") })
    });
    warned.collect()
}

/// The key that a variable sets, if it sets one.
pub(super) fn key_of(name: &str) -> Option<&'static str> {
    let all = SETTING.iter().chain(SETTING_DEFAULTS).chain(OWN_FORM);
    all.clone().find(|(variable, _)| *variable == name).map(|(_, key)| *key)
}

fn assign(values: &mut Values, key: &str, text: &str, variable: &'static str) {
    let path = KeyPath::parse(key).expect("a key of ours");
    values.assign(&path, text, Origin::Environment(variable));
}

/// Where AMQP is listened for, by the port, the address, or both.
fn listener(env: &[(String, String)]) -> Option<String> {
    let port = non_empty(env, "RABBITMQ_NODE_PORT");
    match (non_empty(env, "RABBITMQ_NODE_IP_ADDRESS").filter(|ip| !["auto", "0.0.0.0", "::"].contains(ip)), port) {
        (None, port) => port.map(str::to_owned),
        (Some(ip), port) if ip.contains(':') && !ip.starts_with('[') => {
            Some(format!("[{ip}]:{}", port.unwrap_or("5672")))
        }
        (Some(ip), port) => Some(format!("{ip}:{}", port.unwrap_or("5672"))),
    }
}

fn is_level(word: &str) -> bool {
    ["debug", "info", "notice", "warning", "error", "critical", "none"].contains(&word)
}

/// An environment variable that is set to something.
fn non_empty<'a>(env: &'a [(String, String)], variable: &str) -> Option<&'a str> {
    env.iter().find(|(name, value)| name == variable && !value.is_empty()).map(|(_, value)| &**value)
}

#[cfg(test)]
mod tests {
    use crate::config::{Config, ConfigError, MemoryWatermark, Source};

    fn parsed(env: &[(&str, &str)], text: &str) -> Result<Config, ConfigError> {
        let env: Vec<_> = env.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        Config::parse(&[Source { name: "f".to_owned(), text: text.to_owned() }], &env, &[]).map(|(config, _)| config)
    }

    fn listeners(env: &[(&str, &str)], text: &str) -> Vec<String> {
        parsed(env, text).unwrap().listeners.iter().map(|listener| listener.address.to_string()).collect()
    }

    #[test]
    fn a_port_and_an_address_hold_unless_a_file_says_otherwise() {
        assert_eq!(listeners(&[("RABBITMQ_NODE_PORT", "5673")], ""), ["5673"]);
        let both = [("RABBITMQ_NODE_PORT", "5673"), ("RABBITMQ_NODE_IP_ADDRESS", "127.0.0.1")];
        assert_eq!(listeners(&both, ""), ["127.0.0.1:5673"]);
        assert_eq!(listeners(&[("RABBITMQ_NODE_IP_ADDRESS", "::1")], ""), ["[::1]:5672"]);
        assert_eq!(listeners(&both, "listeners.tcp.default = 5674\n"), ["5674"]);
        assert!(
            parsed(&[("RABBITMQ_NODE_PORT", "many")], "").unwrap_err().to_string().starts_with("RABBITMQ_NODE_PORT: ")
        );
    }

    #[test]
    fn memory_is_a_share_a_percentage_or_a_size() {
        let limit = |text| parsed(&[("RABBITMQ_VM_MEMORY_HIGH_WATERMARK", text)], "").unwrap().vm_memory_high_watermark;
        assert_eq!(limit("0.5"), MemoryWatermark::Relative(0.5));
        assert_eq!(limit("49%"), MemoryWatermark::Relative(0.49));
        assert_eq!(limit("1024MiB"), MemoryWatermark::Absolute(1 << 30));
    }

    #[test]
    fn the_cookie_is_the_secret_of_a_cluster_that_is_formed() {
        let cookie = [("RABBITMQ_ERLANG_COOKIE", "SWQOKODSQALRPCLNMEQG")];
        assert!(!parsed(&cookie, "").unwrap().cluster.is_wanted());
        let forming = "cluster_formation.classic_config.nodes.1 = rabbit@a\ncluster_formation.classic_config.nodes.2 = rabbit@b\n";
        assert!(parsed(&[], forming).is_err());
        assert!(parsed(&cookie, forming).unwrap().cluster.secret.is_some());
        let own = format!("{forming}warren.cluster.secret_file = /s\n");
        assert!(parsed(&cookie, &own).is_ok());
    }

    #[test]
    fn variables_of_tls_close_the_port_without_it() {
        let env = [("CACERTFILE", "/ca"), ("CERTFILE", "/c"), ("KEYFILE", "/k")];
        let env: Vec<(String, &str)> =
            env.iter().map(|(name, value)| (format!("RABBITMQ_SSL_{name}"), *value)).collect();
        let env: Vec<(&str, &str)> = env.iter().map(|(name, value)| (name.as_str(), *value)).collect();
        let config = parsed(&env, "").unwrap();
        assert_eq!((config.listeners.len(), config.tls_listeners.len()), (0, 1));
    }
}
