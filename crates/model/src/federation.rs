//! Federation: the brokers from which exchanges and queues are fed, and sets of such brokers, as parameters of a vhost.
//!
//! An upstream says where it is and how its links work. A set names upstreams, and may say for each how its links work instead. The set
//! `all` is always there. What a policy makes of them is not here.

use std::time::Duration;

use amqp::uri::Uri;
use serde_json::Value;

use crate::arguments::QueueType;
use crate::parameter::ParameterError;
use crate::parameter::validation::{self, Constraint, binary, boolean, number, one_of, proplist};
use crate::pattern::Pattern;
use crate::policy::{EffectivePolicy, Policy};
use crate::shovel::AckMode;

/// The set of all upstreams of a vhost, which no parameter makes.
pub const ALL: &str = "all";

/// `prefetch-count`, where it was not said.
pub const PREFETCH_COUNT: u16 = 1000;
/// `reconnect-delay`, where it was not said.
pub const RECONNECT_DELAY: Duration = Duration::from_secs(5);
/// `max-hops`, where it was not said.
pub const MAX_HOPS: u32 = 1;

/// A broker from which a vhost's exchanges and queues are fed.
#[derive(Debug, Clone, PartialEq)]
pub struct Upstream {
    /// Where it is: any one of these. At least one.
    pub uris: Vec<Uri>,
    /// How its links work.
    pub settings: LinkSettings,
}

/// Upstreams that are used together.
#[derive(Debug, Clone, PartialEq)]
pub struct UpstreamSet {
    /// Its upstreams, in the order in which they were given.
    pub members: Vec<SetMember>,
}

/// An upstream in a set.
#[derive(Debug, Clone, PartialEq)]
pub struct SetMember {
    /// The name of the upstream, which need not be there.
    pub upstream: Box<str>,
    /// What counts more than what the upstream says.
    pub settings: LinkSettings,
}

/// Which upstreams a policy wants.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Choice {
    /// `federation-upstream`: the one of this name.
    Upstream(Box<str>),
    /// `federation-upstream-set`: those of this set.
    Set(Box<str>),
    /// `federation-upstream-pattern`: those whose names match.
    Pattern(Pattern),
}

impl Choice {
    /// What the policies for a queue or an exchange say. `None`: it is not federated.
    #[must_use]
    pub fn of(policy: &EffectivePolicy) -> Option<Choice> {
        let [upstream, set, pattern] = POLICY_KEYS.map(|key| policy.get(key));
        let upstream = upstream.as_ref().and_then(Value::as_str).map(|name| Choice::Upstream(name.into()));
        let set = || Some(Choice::Set(set.as_ref()?.as_str()?.into()));
        let pattern = || Some(Choice::Pattern(Policy::parse_pattern(pattern.as_ref()?.as_str()?).ok()?));
        upstream.or_else(set).or_else(pattern)
    }

    /// Whether a policy wants any.
    #[must_use]
    pub fn is_in(policy: &Policy) -> bool {
        POLICY_KEYS.iter().any(|key| policy.definition.settings().contains_key(*key))
    }
}

/// The policy keys that name upstreams.
const POLICY_KEYS: [&str; 3] = ["federation-upstream", "federation-upstream-set", "federation-upstream-pattern"];

/// How links work. What is None was not said.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct LinkSettings {
    /// `exchange`: the name there of the exchange; that of the exchange here, where it was not said.
    pub exchange: Option<Box<str>>,
    /// `queue`: the name there of the queue; that of the queue here, where it was not said.
    pub queue: Option<Box<str>>,
    /// `consumer-tag`.
    pub consumer_tag: Option<Box<str>>,
    /// `prefetch-count`: how many messages may be unacked.
    pub prefetch_count: Option<u16>,
    /// `reconnect-delay`.
    pub reconnect_delay: Option<Duration>,
    /// `ack-mode`: when a message is acked at the upstream.
    pub ack_mode: Option<AckMode>,
    /// `trust-user-id`: whether messages keep the user that they came with.
    pub trusts_user_id: Option<bool>,
    /// `max-hops`: over how many links a message may pass.
    pub max_hops: Option<u32>,
    /// `expires`, in milliseconds: when the queue there expires, once no link is up.
    pub expires_ms: Option<u64>,
    /// `message-ttl`, in milliseconds: how long messages wait there while no link is up.
    pub message_ttl_ms: Option<u64>,
    /// `queue-type`: of the queue there.
    pub queue_type: Option<QueueType>,
    /// `resource-cleanup-mode`: whether what a link has made there is deleted with the link (`default`) or never.
    pub cleans_up: Option<bool>,
    /// `bind-nowait`: whether a link continues before its bindings are there.
    pub binds_without_waiting: Option<bool>,
    /// `channel-use-mode`: whether commands have a channel of their own (`multiple`) or not (`single`).
    pub has_command_channel: Option<bool>,
}

/// What an upstream and a member of a set may both have. The last is of classic mirrored queues, which no longer exist: it has no effect.
const SHARED: [Constraint; 15] = [
    Constraint::optional("exchange", binary),
    Constraint::optional("queue", binary),
    Constraint::optional("consumer-tag", binary),
    Constraint::optional("prefetch-count", number),
    Constraint::optional("reconnect-delay", number),
    Constraint::optional("max-hops", number),
    Constraint::optional("expires", number),
    Constraint::optional("message-ttl", number),
    Constraint::optional("trust-user-id", boolean),
    Constraint::optional("ack-mode", |key, value| one_of(&["no-ack", "on-publish", "on-confirm"], key, value)),
    Constraint::optional("resource-cleanup-mode", |key, value| one_of(&["default", "never"], key, value)),
    Constraint::optional("queue-type", |key, value| one_of(&["classic", "quorum"], key, value)),
    Constraint::optional("bind-nowait", boolean),
    Constraint::optional("channel-use-mode", |key, value| one_of(&["multiple", "single"], key, value)),
    Constraint::optional("ha-policy", binary),
];

fn check(name: &str, own: Constraint, value: &Value) -> Vec<String> {
    let constraints: Vec<Constraint> = std::iter::once(own).chain(SHARED).collect();
    proplist(name, &constraints, value)
}

impl Upstream {
    /// Reads the parameter of this name.
    pub fn parse(name: &str, value: &Value) -> Result<Upstream, ParameterError> {
        ParameterError::check(check(name, Constraint::mandatory("uri", validation::uris), value))?;
        let texts = match &value["uri"] {
            Value::Array(texts) => texts.as_slice(),
            text => std::slice::from_ref(text),
        };
        let uris = texts.iter().filter_map(Value::as_str).map(validation::uri).collect::<Result<_, _>>();
        Ok(Upstream { uris: uris.map_err(ParameterError::new)?, settings: LinkSettings::read(value) })
    }
}

impl UpstreamSet {
    /// Reads the parameter of this name.
    pub fn parse(name: &str, value: &Value) -> Result<UpstreamSet, ParameterError> {
        let Value::Array(members) = value else {
            return Err(ParameterError::new(format!("{name} not a list {}", validation::shown(value))));
        };
        let own = Constraint::mandatory("upstream", binary);
        ParameterError::check(members.iter().flat_map(|member| check(name, own, member)).collect())?;
        let read = |member: &Value| {
            Some(SetMember { upstream: member["upstream"].as_str()?.into(), settings: LinkSettings::read(member) })
        };
        Ok(UpstreamSet { members: members.iter().filter_map(read).collect() })
    }
}

impl LinkSettings {
    /// Reads what was checked. Numbers that are too large are the largest, and what is below zero is zero.
    fn read(value: &Value) -> LinkSettings {
        let text = |key: &str| value[key].as_str();
        let number = |key: &str| value[key].as_f64().filter(|number| !number.is_nan());
        let at_most = |key: &str, max: f64| number(key).map(|number| number.clamp(0.0, max));
        LinkSettings {
            exchange: text("exchange").map(Box::from),
            queue: text("queue").map(Box::from),
            consumer_tag: text("consumer-tag").map(Box::from),
            prefetch_count: at_most("prefetch-count", u16::MAX.into()).map(|count| count as u16),
            reconnect_delay: at_most("reconnect-delay", u32::MAX.into()).map(Duration::from_secs_f64),
            ack_mode: text("ack-mode").map(|mode| match mode {
                "no-ack" => AckMode::NoAck,
                "on-publish" => AckMode::OnPublish,
                _ => AckMode::OnConfirm,
            }),
            trusts_user_id: value["trust-user-id"].as_bool(),
            max_hops: at_most("max-hops", u32::MAX.into()).map(|count| count as u32),
            expires_ms: at_most("expires", u32::MAX.into()).map(|ms| ms as u64),
            message_ttl_ms: at_most("message-ttl", u32::MAX.into()).map(|ms| ms as u64),
            queue_type: text("queue-type").and_then(|name| QueueType::parse(name.as_bytes())),
            cleans_up: text("resource-cleanup-mode").map(|mode| mode == "default"),
            binds_without_waiting: value["bind-nowait"].as_bool(),
            has_command_channel: text("channel-use-mode").map(|mode| mode == "multiple"),
        }
    }

    /// These settings, and others where these say nothing: those of a member of a set before those of its upstream.
    #[must_use]
    pub fn or(self, others: LinkSettings) -> LinkSettings {
        LinkSettings {
            exchange: self.exchange.or(others.exchange),
            queue: self.queue.or(others.queue),
            consumer_tag: self.consumer_tag.or(others.consumer_tag),
            prefetch_count: self.prefetch_count.or(others.prefetch_count),
            reconnect_delay: self.reconnect_delay.or(others.reconnect_delay),
            ack_mode: self.ack_mode.or(others.ack_mode),
            trusts_user_id: self.trusts_user_id.or(others.trusts_user_id),
            max_hops: self.max_hops.or(others.max_hops),
            expires_ms: self.expires_ms.or(others.expires_ms),
            message_ttl_ms: self.message_ttl_ms.or(others.message_ttl_ms),
            queue_type: self.queue_type.or(others.queue_type),
            cleans_up: self.cleans_up.or(others.cleans_up),
            binds_without_waiting: self.binds_without_waiting.or(others.binds_without_waiting),
            has_command_channel: self.has_command_channel.or(others.has_command_channel),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check_refused(value: &Value, text: &str) {
        assert_eq!(Upstream::parse("up", value).unwrap_err().to_string(), text);
    }

    #[test]
    fn an_upstream_is_read_with_all_it_may_have() {
        let value = json!({
            "uri": ["amqp://me:secret@a", "amqps://b/v"], "exchange": "x", "queue": "q", "consumer-tag": "c",
            "prefetch-count": 7, "reconnect-delay": 0.5, "max-hops": 2, "expires": 60_000, "message-ttl": 5,
            "trust-user-id": true, "ack-mode": "no-ack", "resource-cleanup-mode": "never", "queue-type": "quorum",
            "bind-nowait": true, "channel-use-mode": "single", "ha-policy": "all",
        });
        let upstream = Upstream::parse("up", &value).unwrap();
        assert_eq!(upstream.uris.iter().map(|uri| &*uri.host).collect::<Vec<_>>(), ["a", "b"]);
        let settings = LinkSettings {
            exchange: Some("x".into()),
            queue: Some("q".into()),
            consumer_tag: Some("c".into()),
            prefetch_count: Some(7),
            reconnect_delay: Some(Duration::from_millis(500)),
            ack_mode: Some(AckMode::NoAck),
            trusts_user_id: Some(true),
            max_hops: Some(2),
            expires_ms: Some(60_000),
            message_ttl_ms: Some(5),
            queue_type: Some(QueueType::Quorum),
            cleans_up: Some(false),
            binds_without_waiting: Some(true),
            has_command_channel: Some(false),
        };
        assert_eq!(upstream.settings, settings);
        assert_eq!(Upstream::parse("up", &json!({"uri": "amqp://"})).unwrap().settings, LinkSettings::default());
    }

    #[test]
    fn what_an_upstream_cannot_have_is_said_in_rabbitmqs_words() {
        check_refused(&json!({}), "Key \"uri\" not found in up");
        check_refused(
            &json!({"uri": "amqp://", "ack-mode": "x", "nosuch": 1, "max-hops": "2"}),
            "Unrecognised terms [{<<\"nosuch\">>,1}] in up\n\
             ack-mode should be one of [<<\"no-ack\">>,<<\"on-publish\">>,<<\"on-confirm\">>], actually was <<\"x\">>\n\
             max-hops should be a number, actually was <<\"2\">>",
        );
        check_refused(
            &json!({"uri": "http://me:secret@h"}),
            "\"http://me:***@h\" not a valid URI: it has to begin with amqp:// or amqps://, not with http://",
        );
        check_refused(&json!({"uri": []}), "uri should have at least one URI");
        check_refused(&json!("amqp://me:secret@h"), "up not a list <<\"amqp://me:***@h\">>");
    }

    #[test]
    fn numbers_without_meaning_are_the_nearest_with_one() {
        let value = json!({"uri": "amqp://", "prefetch-count": 1e9, "reconnect-delay": -1, "expires": 1e300});
        let settings = Upstream::parse("up", &value).unwrap().settings;
        assert_eq!((settings.prefetch_count, settings.reconnect_delay), (Some(u16::MAX), Some(Duration::ZERO)));
        assert_eq!(settings.expires_ms, Some(u32::MAX.into()));
    }

    #[test]
    fn a_set_names_upstreams_and_what_counts_more() {
        let set = UpstreamSet::parse("set", &json!([{"upstream": "a"}, {"upstream": "b", "max-hops": 3}])).unwrap();
        assert_eq!(set.members.iter().map(|member| &*member.upstream).collect::<Vec<_>>(), ["a", "b"]);
        let upstream = LinkSettings { max_hops: Some(1), prefetch_count: Some(5), ..LinkSettings::default() };
        let merged = set.members[1].settings.clone().or(upstream);
        assert_eq!((merged.max_hops, merged.prefetch_count), (Some(3), Some(5)));
        assert_eq!(UpstreamSet::parse("set", &json!([])).unwrap().members, []);
    }

    #[test]
    fn what_a_set_cannot_have_is_said_of_each_member() {
        let refused = |value| UpstreamSet::parse("set", &value).unwrap_err().to_string();
        assert_eq!(refused(json!({"upstream": "a"})), "set not a list #{<<\"upstream\">> => <<\"a\">>}");
        assert_eq!(
            refused(json!([{"uri": "amqp://"}, {"upstream": 1}, 2])),
            "Unrecognised terms [{<<\"uri\">>,<<\"amqp://\">>}] in set\nKey \"upstream\" not found in set\n\
             upstream should be binary, actually was 1\nset not a list 2"
        );
    }
}
