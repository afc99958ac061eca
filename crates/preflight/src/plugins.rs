//! Plugins by name: which are built in, which are not needed, and which nothing stands for here.

use std::collections::BTreeSet;

use crate::pages;
use crate::sheet::{Noun, Place, Remark, Sheet};
use crate::support::{AMQP_1_0, KEEP_FOR_PROTOCOL, MQTT, STOMP, STREAMS, Sign, WEB_MQTT, WEB_STOMP, WITHOUT_LDAP};
use crate::terms::{self, Node};

pub(crate) const PLUGIN: Noun = Noun { one: "plugin", many: "plugins", family: "plugins" };

/// A plugin that a file enables.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct EnabledPlugin {
    pub(crate) name: String,
    pub(crate) line: Option<usize>,
}

/// All plugins that are enabled, if that is known.
#[derive(Debug, Default)]
pub(crate) struct Enabled(Option<BTreeSet<String>>);

impl Enabled {
    /// Whether it is known that this plugin does not run.
    pub(crate) fn lacks(&self, plugin: &str) -> bool {
        self.0.as_ref().is_some_and(|enabled| !enabled.contains(plugin))
    }
}

/// What stands for a plugin here.
#[derive(Debug, Clone, Copy)]
enum Stand {
    /// It is built in, or there is nothing that it would be needed for.
    BuiltIn,
    /// It is built in, and differs; with the page that says how.
    Differs(&'static str, &'static str),
    /// It changes nothing here, for this reason, and that does no harm.
    NotNeeded(&'static str, &'static str),
    /// What the model is asked for, and what is to be said if it is not there: that, what to do, where to read.
    If(Sign, &'static str, &'static str, &'static str),
    /// Nothing: that, and what to do.
    Nothing(&'static str, &'static str, &'static str),
}

const NO_SERVICE: &str =
    "this service is not used to find peers: list them, or use cluster_formation.peer_discovery_backend = dns, or file";
const NO_MQTT: &str = "MQTT is not supported";
const NO_STOMP: &str = "STOMP is not supported";
const NO_AMQP_1_0: &str = "AMQP 1.0 is not supported";
const NO_STREAMS: &str = "streams and their protocol are not supported";
const OF_TANZU: &str = "it is a plugin of Tanzu RabbitMQ, and Warren has no equivalent";

const PLUGINS: &[(&str, Stand)] = {
    use Stand::{BuiltIn, Differs, If, NotNeeded, Nothing};
    &[
        ("rabbitmq_management", BuiltIn),
        ("rabbitmq_management_agent", BuiltIn),
        ("rabbitmq_web_dispatch", BuiltIn),
        ("rabbitmq_prometheus", BuiltIn),
        (
            "prometheus_rabbitmq_exporter",
            NotNeeded(
                "metrics for Prometheus are built in, on port 15692, with the names of rabbitmq_prometheus",
                pages::PROMETHEUS,
            ),
        ),
        ("rabbitmq_top", BuiltIn),
        ("rabbitmq_tracing", BuiltIn),
        ("rabbitmq_event_exchange", BuiltIn),
        ("rabbitmq_auth_backend_http", BuiltIn),
        ("rabbitmq_auth_backend_oauth2", BuiltIn),
        ("rabbitmq_auth_backend_uaa", BuiltIn),
        ("rabbitmq_auth_backend_cache", BuiltIn),
        ("rabbitmq_auth_mechanism_ssl", BuiltIn),
        (
            "rabbitmq_delayed_message_exchange",
            Differs(
                "delayed messages are built in, as durable as others; mandatory ones are returned only if no queue would receive them",
                pages::DELAYED,
            ),
        ),
        (
            "rabbitmq_message_deduplication",
            Differs("deduplication is built in; keys are as durable as their messages", pages::DEDUPLICATION),
        ),
        (
            "rabbitmq_consistent_hash_exchange",
            Differs(
                "keys are routed to other queues than in RabbitMQ, and to the same ones after a restart",
                pages::EXCHANGES,
            ),
        ),
        ("rabbitmq_sharding", Differs("shards are used for as long as they are bound", pages::SHARDING)),
        ("rabbitmq_random_exchange", BuiltIn),
        (
            "rabbitmq_recent_history_exchange",
            Differs("an exchange keeps at most 16 MiB of recent messages", pages::EXCHANGES),
        ),
        ("rabbitmq_queue_info", BuiltIn),
        ("rabbitmq_peer_discovery_common", BuiltIn),
        ("rabbitmq_peer_discovery_k8s", NotNeeded(NO_SERVICE, pages::CLUSTERING)),
        ("rabbitmq_peer_discovery_consul", NotNeeded(NO_SERVICE, pages::CLUSTERING)),
        ("rabbitmq_peer_discovery_etcd", NotNeeded(NO_SERVICE, pages::CLUSTERING)),
        ("rabbitmq_peer_discovery_aws", NotNeeded(NO_SERVICE, pages::CLUSTERING)),
        ("rabbitmq_mqtt", If(MQTT, NO_MQTT, KEEP_FOR_PROTOCOL, pages::DIFFERENCES)),
        ("rabbitmq_web_mqtt", If(WEB_MQTT, NO_MQTT, KEEP_FOR_PROTOCOL, pages::DIFFERENCES)),
        ("rabbitmq_web_mqtt_examples", NotNeeded("it contains only examples", pages::DIFFERENCES)),
        ("rabbitmq_stomp", If(STOMP, NO_STOMP, KEEP_FOR_PROTOCOL, pages::DIFFERENCES)),
        ("rabbitmq_web_stomp", If(WEB_STOMP, NO_STOMP, KEEP_FOR_PROTOCOL, pages::DIFFERENCES)),
        ("rabbitmq_web_stomp_examples", NotNeeded("it contains only examples", pages::DIFFERENCES)),
        ("rabbitmq_amqp1_0", If(AMQP_1_0, NO_AMQP_1_0, KEEP_FOR_PROTOCOL, pages::DIFFERENCES)),
        ("rabbitmq_web_amqp", If(AMQP_1_0, NO_AMQP_1_0, KEEP_FOR_PROTOCOL, pages::DIFFERENCES)),
        ("rabbitmq_stream", If(STREAMS, NO_STREAMS, KEEP_FOR_PROTOCOL, pages::DIFFERENCES)),
        ("rabbitmq_stream_management", If(STREAMS, NO_STREAMS, KEEP_FOR_PROTOCOL, pages::DIFFERENCES)),
        ("rabbitmq_stream_common", BuiltIn),
        ("rabbitmq_shovel", BuiltIn),
        ("rabbitmq_shovel_management", BuiltIn),
        ("rabbitmq_shovel_prometheus", BuiltIn),
        ("rabbitmq_federation", BuiltIn),
        ("rabbitmq_federation_common", BuiltIn),
        ("rabbitmq_federation_management", BuiltIn),
        ("rabbitmq_federation_prometheus", BuiltIn),
        ("rabbitmq_exchange_federation", BuiltIn),
        ("rabbitmq_queue_federation", BuiltIn),
        (
            "rabbitmq_jms_topic_exchange",
            If(
                Sign::ExchangeType("x-jms-topic"),
                "JMS selectors are not supported",
                "keep a RabbitMQ for JMS clients that use selectors",
                pages::EXCHANGES,
            ),
        ),
        (
            "rabbitmq_lvc_exchange",
            If(
                Sign::ExchangeType("x-lvc"),
                "the exchange type for last values is not supported",
                "use x-recent-history with x-recent-history-length = 1, if one value is enough",
                pages::EXCHANGES,
            ),
        ),
        (
            "rabbitmq_auth_backend_ldap",
            If(Sign::Key("auth_ldap.servers.1"), "users cannot be looked up by LDAP", WITHOUT_LDAP, pages::USERS),
        ),
        ("rabbitmq_auth_backend_amqp", Nothing("users cannot be looked up over AMQP", WITHOUT_LDAP, pages::USERS)),
        (
            "rabbitmq_auth_backend_internal_loopback",
            Nothing(
                "this back end is not supported",
                "use loopback_users for users that may log in only from the host itself",
                pages::USERS,
            ),
        ),
        (
            "rabbitmq_auth_backend_ip_range",
            Nothing(
                "this back end is not supported",
                "let an HTTP service decide (auth_backends.1 = http): it receives the address",
                pages::USERS,
            ),
        ),
        (
            "rabbitmq_trust_store",
            If(
                Sign::Key("trust_store.directory"),
                "certificates are not looked up in a trust store",
                "add the authorities to the file of ssl_options.cacertfile, which is read again when it changes",
                pages::TLS,
            ),
        ),
        (
            "rabbitmq_message_timestamp",
            Nothing(
                "messages are not changed: no timestamps are added",
                "let publishers set the property timestamp",
                pages::DIFFERENCES,
            ),
        ),
        (
            "rabbitmq_routing_node_stamp",
            Nothing(
                "messages are not changed: no headers are added",
                "let publishers set the headers that consumers need",
                pages::DIFFERENCES,
            ),
        ),
        (
            "rabbitmq_rtopic_exchange",
            Nothing(
                "the exchange type x-rtopic is not supported",
                "swap routing keys and patterns, and use a topic exchange",
                pages::EXCHANGES,
            ),
        ),
        (
            "rabbitmq_queue_master_balancer",
            NotNeeded("queues have no leaders of their own that could be balanced", pages::CLUSTERING),
        ),
        ("rabbitmq_management_visualiser", NotNeeded("the console has pages of its own", pages::DIFFERENCES)),
        ("rabbitmq_schema_definition_sync", Nothing(OF_TANZU, "import definitions into each broker", pages::HTTP_API)),
        ("rabbitmq_standby_replication_operator", Nothing(OF_TANZU, "see clusters and backups", pages::CLUSTERING)),
        ("rabbitmq_standby_message_store", Nothing(OF_TANZU, "see clusters and backups", pages::CLUSTERING)),
        ("rabbitmq_priority_queue", BuiltIn),
        ("rabbitmq_amqp_client", BuiltIn),
        ("amqp_client", BuiltIn),
        ("amqp10_client", BuiltIn),
        ("amqp10_common", BuiltIn),
        ("oauth2_client", BuiltIn),
        ("rabbit_common", BuiltIn),
        ("cowboy", BuiltIn),
        ("cowlib", BuiltIn),
        ("accept", BuiltIn),
        ("prometheus", BuiltIn),
        ("mochiweb", BuiltIn),
        ("webmachine", BuiltIn),
        ("sockjs", BuiltIn),
    ]
};

/// Plugins whose keys begin with another word than their names.
const PLUGINS_OF_KEYS: &[(&str, &str)] = &[
    ("mqtt", "rabbitmq_mqtt"),
    ("web_mqtt", "rabbitmq_web_mqtt"),
    ("stomp", "rabbitmq_stomp"),
    ("web_stomp", "rabbitmq_web_stomp"),
    ("amqp1_0", "rabbitmq_amqp1_0"),
    ("stream", "rabbitmq_stream"),
    ("shovel", "rabbitmq_shovel"),
    ("federation", "rabbitmq_federation"),
    ("auth_ldap", "rabbitmq_auth_backend_ldap"),
    ("trust_store", "rabbitmq_trust_store"),
];

/// The plugin that reads keys that begin with this word; nothing for keys of RabbitMQ itself, and of plugins that are built in here.
pub(crate) fn of_keys(first_word: &str) -> Option<&'static str> {
    PLUGINS_OF_KEYS.iter().find(|(word, _)| *word == first_word).map(|(_, plugin)| *plugin)
}

/// How it stands with a plugin here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PluginState {
    /// What it does is built in.
    BuiltIn,
    /// It is not needed here, or does something else, for this reason.
    Different(&'static str),
    /// Nothing here does what it does: that, and what to do.
    NotBuilt(&'static str, &'static str),
    /// RabbitMQ has no plugin of this name that is known here.
    Unknown,
}

/// How it stands with the plugin of this name.
#[must_use]
pub fn plugin_state(name: &str) -> PluginState {
    match stand_of(name) {
        None => PluginState::Unknown,
        Some(Stand::BuiltIn) => PluginState::BuiltIn,
        Some(Stand::If(sign, ..)) if sign.is_there() => PluginState::BuiltIn,
        Some(Stand::Differs(text, _) | Stand::NotNeeded(text, _)) => PluginState::Different(text),
        Some(Stand::If(_, text, advice, _) | Stand::Nothing(text, advice, _)) => PluginState::NotBuilt(text, advice),
    }
}

/// Names of all plugins that are known here and are RabbitMQ's own.
pub fn plugin_names() -> impl Iterator<Item = &'static str> {
    PLUGINS.iter().map(|(name, _)| *name).filter(|name| name.starts_with("rabbitmq_"))
}

/// The plugins that a file `enabled_plugins` lists, or why it lists none.
pub fn enabled_plugins(text: &str) -> Result<Vec<String>, String> {
    if terms::is_blank(text) {
        return Ok(Vec::new());
    }
    let term = terms::parse(text).map_err(|error| error.to_string())?;
    Ok(listed(&term)?.into_iter().map(|plugin| plugin.name).collect())
}

/// What to do about a plugin that nothing stands for, and where to read of it.
pub(crate) fn advice(plugin: &str) -> Option<(&'static str, &'static str)> {
    match stand_of(plugin)? {
        Stand::If(sign, ..) if sign.is_there() => None,
        Stand::If(_, _, advice, page) | Stand::Nothing(_, advice, page) => Some((advice, page)),
        Stand::BuiltIn | Stand::Differs(..) | Stand::NotNeeded(..) => None,
    }
}

fn stand_of(name: &str) -> Option<Stand> {
    PLUGINS.iter().find(|(known, _)| *known == name).map(|(_, stand)| *stand)
}

/// The plugins that a term lists.
pub(crate) fn listed(term: &Node) -> Result<Vec<EnabledPlugin>, String> {
    let wrong =
        |line| format!("line {line} is not a list of plugins, such as [rabbitmq_management,rabbitmq_prometheus].");
    let items = term.list().ok_or_else(|| wrong(term.line))?;
    let named = |item: &Node| {
        let name = item.atom().ok_or_else(|| wrong(item.line))?;
        Ok(EnabledPlugin { name: name.to_owned(), line: Some(item.line) })
    };
    items.iter().map(named).collect()
}

/// Looks at plugins that are enabled.
pub(crate) fn examine(source: &str, found: &[EnabledPlugin], enabled: &mut Enabled, sheet: &mut Sheet) {
    let known = enabled.0.get_or_insert_default();
    for plugin in found {
        if known.insert(plugin.name.clone()) {
            let place = Place::of(source, plugin.line, &plugin.name);
            sheet.put(PLUGIN, place, remark(&plugin.name).into_iter().collect());
        }
    }
}

fn remark(name: &str) -> Option<Remark> {
    match stand_of(name) {
        Some(Stand::BuiltIn) => None,
        Some(Stand::If(sign, ..)) if sign.is_there() => None,
        Some(Stand::Differs(text, page) | Stand::NotNeeded(text, page)) => Some(Remark::different(text, page)),
        Some(Stand::If(_, text, advice, page) | Stand::Nothing(text, advice, page)) => {
            Some(Remark::refused(text, page).advising(advice))
        }
        None => {
            let remark = Remark::refused("unknown plugin, and plugins cannot be added", pages::DIFFERENCES);
            Some(remark.advising(
                "find out what uses it; its exchange types, queue arguments and ports do not exist in Warren",
            ))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sheet::Severity;

    #[test]
    fn no_plugin_is_listed_twice() {
        let mut seen = BTreeSet::new();
        assert!(PLUGINS.iter().all(|(name, _)| seen.insert(*name)));
        assert!(PLUGINS_OF_KEYS.iter().all(|(_, plugin)| stand_of(plugin).is_some()));
    }

    #[test]
    fn a_plugin_is_judged_by_what_the_model_can_do() {
        let severity = |name: &str| remark(name).map(|remark| remark.severity);
        assert_eq!(severity("rabbitmq_management"), None);
        assert_eq!(severity("rabbitmq_sharding"), Some(Severity::Different));
        assert_eq!(severity("rabbitmq_of_my_own"), Some(Severity::Refused));
        assert_eq!(severity("rabbitmq_mqtt").is_none(), MQTT.is_there());
        assert_eq!(severity("rabbitmq_shovel"), None);
    }

    #[test]
    fn a_list_of_plugins_is_one_of_names() {
        let listed = |text| listed(&terms::parse(text).unwrap());
        assert_eq!(listed("[a,\n'b-c'].").unwrap()[1], EnabledPlugin { name: "b-c".to_owned(), line: Some(2) });
        assert!(listed("[{rabbit, []}].").unwrap_err().starts_with("line 1 is not a list of plugins"));
        assert!(listed("a.").is_err());
    }
}
