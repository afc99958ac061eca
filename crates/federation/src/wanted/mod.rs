//! Which links policies make of upstreams. No I/O.
//!
//! ```text
//!  policy of an exchange or a queue ─► its upstreams, by name, by set or by pattern ─► a link for each
//!                                       set's member before upstream before default
//! ```

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use amqp::{Uri, Value};
use model::arguments::QueueType;
use model::definition;
use model::federation::{
    ALL, Choice, LinkSettings, MAX_HOPS, PREFETCH_COUNT, RECONNECT_DELAY, SetMember, Upstream, UpstreamSet,
};
use model::name::VhostName;
use model::parameter::{FEDERATION_UPSTREAM, FEDERATION_UPSTREAM_SET, VhostParameter};
use model::shovel::AckMode;

use crate::status::{LinkId, LinkKind};

/// What is fed.
#[derive(Clone, Debug, PartialEq)]
pub enum Fed {
    /// An exchange.
    Exchange(definition::Exchange),
    /// A queue.
    Queue(definition::Queue),
}

/// What a policy wants to be fed.
#[derive(Clone, Debug, PartialEq)]
pub struct Subject {
    /// An exchange or a queue.
    pub fed: Fed,
    /// The name of the policy.
    pub policy: Box<str>,
    /// From where.
    pub choice: Choice,
}

/// The upstreams of a vhost, and its sets of them.
#[derive(Clone, Debug, Default)]
pub struct Upstreams {
    cluster_name: Box<str>,
    upstreams: BTreeMap<Box<str>, Upstream>,
    sets: BTreeMap<Box<str>, UpstreamSet>,
}

/// A link that is to be, with all that was left unsaid filled in.
#[derive(Clone, Debug, PartialEq)]
pub struct Link {
    /// Which.
    pub id: LinkId,
    /// What is fed.
    pub fed: Fed,
    /// The name of the policy that wants it.
    pub policy: Box<str>,
    /// What the cluster here is called: what an exchange's link makes has its name.
    pub cluster_name: Box<str>,
    /// Where the upstream is, each with its vhost.
    pub uris: Vec<Uri>,
    /// How a queue's link is called where it consumes.
    pub consumer_tag: Box<str>,
    /// How many messages may be unacked.
    pub prefetch_count: u16,
    /// How long it waits before it connects anew.
    pub reconnect_delay: Duration,
    /// When a message is acked at the upstream.
    pub ack_mode: AckMode,
    /// Whether messages keep the user that they came with.
    pub trusts_user_id: bool,
    /// Over how many links a message may come.
    pub max_hops: u32,
    /// When the queue of an exchange's link expires, once no link is up.
    pub expires_ms: Option<u64>,
    /// How long messages wait in that queue.
    pub message_ttl_ms: Option<u64>,
    /// What that queue is.
    pub queue_type: QueueType,
    /// Whether what an exchange's link has made there is deleted with the link.
    pub cleans_up: bool,
    /// Whether it continues without waiting for its bindings.
    pub binds_without_waiting: bool,
    /// Whether commands have a channel of their own.
    pub has_command_channel: bool,
}

impl Upstreams {
    /// Reads parameters of one vhost, of the cluster that is called so. Those that make no sense are as if they were not there: they were
    /// checked when they were set.
    #[must_use]
    pub fn of(parameters: &[VhostParameter], cluster_name: &str) -> Self {
        let of =
            |component: &'static str| parameters.iter().filter(move |parameter| &*parameter.component == component);
        let upstreams = of(FEDERATION_UPSTREAM).filter_map(|parameter| {
            Some((parameter.name.clone(), Upstream::parse(&parameter.name, &parameter.value).ok()?))
        });
        let sets = of(FEDERATION_UPSTREAM_SET).filter_map(|parameter| {
            Some((parameter.name.clone(), UpstreamSet::parse(&parameter.name, &parameter.value).ok()?))
        });
        Upstreams { cluster_name: cluster_name.into(), upstreams: upstreams.collect(), sets: sets.collect() }
    }

    /// The links that this subject is to have, at most one for each exchange or queue of each upstream.
    pub fn links<'a>(&'a self, subject: &'a Subject) -> impl Iterator<Item = Link> + 'a {
        let mut ids = BTreeSet::new();
        self.members(&subject.choice).into_iter().filter_map(move |member| {
            let link = link(&self.cluster_name, subject, &member, self.upstreams.get(&member.upstream)?);
            ids.insert(link.id.clone()).then_some(link)
        })
    }

    fn members(&self, choice: &Choice) -> Vec<SetMember> {
        let member = |name: &str| SetMember { upstream: name.into(), settings: LinkSettings::default() };
        match choice {
            Choice::Upstream(name) => vec![member(name)],
            Choice::Set(name) if &**name == ALL => self.upstreams.keys().map(|name| member(name)).collect(),
            Choice::Set(name) => self.sets.get(name).map_or_else(Vec::new, |set| set.members.clone()),
            Choice::Pattern(pattern) => {
                self.upstreams.keys().filter(|name| pattern.is_match(name)).map(|name| member(name)).collect()
            }
        }
    }
}

impl Fed {
    /// Where it is.
    #[must_use]
    pub fn vhost(&self) -> &VhostName {
        match self {
            Fed::Exchange(exchange) => &exchange.vhost,
            Fed::Queue(queue) => &queue.vhost,
        }
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        match self {
            Fed::Exchange(exchange) => exchange.name.as_str(),
            Fed::Queue(queue) => queue.name.as_str(),
        }
    }

    /// Whether it may be fed at all: not the default exchange, to which nothing can be bound, no internal exchange, and no queue in which
    /// messages wait for another broker's link.
    #[must_use]
    pub fn may_be_fed(&self) -> bool {
        match self {
            Fed::Exchange(exchange) => !exchange.name.as_str().is_empty() && !exchange.is_internal,
            Fed::Queue(queue) => !matches!(queue.arguments.table().get("x-internal-purpose"), Some(Value::LongStr(_))),
        }
    }
}

fn link(cluster_name: &str, subject: &Subject, member: &SetMember, upstream: &Upstream) -> Link {
    let settings = member.settings.clone().or(upstream.settings.clone());
    let (vhost, name) = (subject.fed.vhost(), subject.fed.name());
    let (kind, upstream_name) = match &subject.fed {
        Fed::Exchange(_) => (LinkKind::Exchange, settings.exchange),
        Fed::Queue(_) => (LinkKind::Queue, settings.queue),
    };
    // A URI without a vhost leads to the one of the same name.
    let in_vhost = |uri: &Uri| match uri.has_vhost {
        true => uri.clone(),
        false => Uri { vhost: vhost.as_str().to_owned(), ..uri.clone() },
    };
    Link {
        id: LinkId {
            vhost: vhost.clone(),
            kind,
            name: name.into(),
            upstream: member.upstream.clone(),
            upstream_name: upstream_name.unwrap_or_else(|| name.into()),
        },
        fed: subject.fed.clone(),
        policy: subject.policy.clone(),
        cluster_name: cluster_name.into(),
        uris: upstream.uris.iter().map(in_vhost).collect(),
        consumer_tag: settings.consumer_tag.unwrap_or_else(|| format!("federation-link-{}", member.upstream).into()),
        prefetch_count: settings.prefetch_count.unwrap_or(PREFETCH_COUNT),
        reconnect_delay: settings.reconnect_delay.unwrap_or(RECONNECT_DELAY),
        ack_mode: settings.ack_mode.unwrap_or(AckMode::OnConfirm),
        trusts_user_id: settings.trusts_user_id.unwrap_or(false),
        max_hops: settings.max_hops.unwrap_or(MAX_HOPS),
        expires_ms: settings.expires_ms,
        message_ttl_ms: settings.message_ttl_ms,
        queue_type: settings.queue_type.unwrap_or(QueueType::Classic),
        cleans_up: settings.cleans_up.unwrap_or(true),
        binds_without_waiting: settings.binds_without_waiting.unwrap_or(false),
        has_command_channel: settings.has_command_channel.unwrap_or(true),
    }
}

impl Link {
    /// Whether what this link makes at its upstream has the names of what another one makes there, at the same broker. The URIs of one
    /// upstream lead to the nodes of one cluster.
    pub(crate) fn shares_with(&self, other: &Link) -> bool {
        let is_of_exchange = |link: &Link| matches!(link.fed, Fed::Exchange(_));
        let names = |link: &Link| {
            let LinkId { vhost, kind: _, name, upstream: _, upstream_name } = &link.id;
            (vhost.clone(), name.clone(), upstream_name.clone(), link.cluster_name.clone())
        };
        let is_the_same = |one: &Uri, two: &Uri| {
            (one.is_hostless, &one.host, one.port, &one.vhost) == (two.is_hostless, &two.host, two.port, &two.vhost)
        };
        is_of_exchange(self)
            && is_of_exchange(other)
            && names(self) == names(other)
            && self.uris.iter().any(|one| other.uris.iter().any(|two| is_the_same(one, two)))
    }

    /// Whether another link can use what this one has made at its upstream. What says how far messages come is made anew by each
    /// life of a link.
    pub(crate) fn makes_the_same(&self, other: &Link) -> bool {
        let made = |link: &Link| (link.expires_ms, link.message_ttl_ms, link.queue_type);
        self.shares_with(other) && made(self) == made(other)
    }

    /// What its connections are called.
    pub(crate) fn connection_name(&self) -> String {
        format!("Federation link (upstream: {}, policy: {})", self.id.upstream, self.policy)
    }
}

#[cfg(test)]
mod tests;
