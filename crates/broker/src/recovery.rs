//! From what the store recovered to vhosts, users and queues.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fmt::Display;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use model::arguments::{ExchangeArguments, ExchangeType};
use model::definition::{self, Definition, Destination as DefinedDestination, UserPermission};
use model::ids::{Place, QueueId};
use model::login_session::StoredSession;
use model::name::{ExchangeName, VhostName};
use model::parameter::GlobalParameter;
use model::policy::Policy;
use model::user::{PasswordHash, User};
use queue::{Queue, RestoredGeneration, RestoredQueue, TtlHistory};
use routing::{BindingSpec, Destination};
use store::{RecordBatch, RecoveredQueue, RecoveredStore};

use crate::broker::{Broker, StartError};
use crate::changed::Changed;
use crate::events;
use crate::history;
use crate::identity::Actor;
use crate::random::RandomError;
use crate::vhost::{Vhost, settings_of};
use crate::watched::watch_recovered;
use engine::deduplication::recovery::RecoveredKeys;
use engine::delayed;
use engine::delayed::definition::Site;
use engine::features;
use engine::pause;
use engine::queue_ids;
use engine::queued_message::{Priorities, QueuedMessage};
use engine::watermark::Watermark;

/// What definitions find, and what they leave until all of them are there.
#[derive(Default)]
struct RestoreState {
    queues: HashMap<QueueId, RecoveredQueue>,
    /// Times to live that have changed while there were messages.
    ttls: HashMap<QueueId, TtlHistory>,
    /// Those that operators have paused.
    paused: HashSet<QueueId>,
    /// Each changes what holds for everything in its vhost: they are put in place together.
    policies: HashMap<VhostName, Vec<Arc<Policy>>>,
}

/// Messages of queues without a definition.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct LeftOut {
    pub(crate) queue_count: u64,
    pub(crate) message_count: u64,
}

/// Puts everything in place. An empty store gets the default vhost and user, unless definitions are about to be imported.
pub(crate) fn restore(broker: &Arc<Broker>, mut recovered: RecoveredStore) -> Result<(), StartError> {
    broker.engine.queue_ids.resume(recovered.definitions.remove(queue_ids::KEY).as_deref());
    let histories = take_histories(&mut recovered);
    let sites = take_sites(&mut recovered)?;
    let keys = RecoveredKeys::take(&mut recovered).map_err(|(key, error)| unreadable(&key, &error))?;
    let mut state = RestoreState { queues: std::mem::take(&mut recovered.queues), ..RestoreState::default() };
    recovered.definitions.retain(|key, value| {
        let queue = features::queue_of_ttl_key(key);
        state.ttls.extend(queue.map(|queue| (queue, features::decode_ttls(value))));
        let paused = pause::queue_of_pause_key(key);
        state.paused.extend(paused);
        queue.is_none() && paused.is_none()
    });
    for (key, value) in &recovered.definitions {
        let definition = Definition::decode(key, value).map_err(|error| unreadable(key, &error))?;
        define(broker, definition, &mut state);
    }
    restore_delays(broker, sites, &mut state.queues);
    for (name, policies) in state.policies {
        if let Some(vhost) = broker.vhosts.get(name.as_str()) {
            vhost.restore_policies(broker, policies);
        }
    }
    keys.restore(
        &broker.engine,
        |id| broker.vhosts.all().into_iter().find_map(|vhost| vhost.queue_of(id)),
        |vhost, exchange| broker.vhosts.get(vhost)?.keys_at(exchange),
    );
    watch_recovered(broker);
    broker.engine.wake_restored();
    restore_histories(broker, &histories)?;
    leave_out(broker, &state.queues);
    if is_new(broker) && !broker.options.imports_definitions {
        create_defaults(broker)?;
    }
    if let Some(vhost) = broker.vhosts.get(broker.options.default_user.vhost.as_str()) {
        declare_event_exchange(broker, &vhost);
    }
    name_cluster(broker)?;
    Ok(())
}

/// Takes what exchanges have kept out of the definitions.
fn take_histories(recovered: &mut RecoveredStore) -> BTreeMap<Vec<u8>, Vec<u8>> {
    recovered.definitions.extract_if(.., |key, _| history::is_key(key)).collect()
}

/// Gives exchanges what they have kept, in its order, which is that of the keys. What belongs to no exchange is forgotten.
fn restore_histories(broker: &Broker, histories: &BTreeMap<Vec<u8>, Vec<u8>>) -> Result<(), StartError> {
    let mut records = RecordBatch::new();
    for (key, value) in histories {
        let stored = history::read(key, value).map_err(|error| unreadable(key, &error))?;
        let vhost = broker.vhosts.get(stored.vhost);
        let message = || stored.content.into();
        if !vhost.is_some_and(|vhost| vhost.restore_history(stored.exchange, stored.seq, message())) {
            records.delete(key);
        }
    }
    broker.engine.append(&mut records);
    Ok(())
}

/// Takes out of the definitions where delayed messages wait, by generation.
fn take_sites(recovered: &mut RecoveredStore) -> Result<BTreeMap<QueueId, Site>, StartError> {
    let found = recovered.definitions.extract_if(.., |key, _| delayed::definition::generation_of(key).is_some());
    let read = |(key, value): (Vec<u8>, Vec<u8>)| {
        let site = Site::decode(&value).map_err(|error| unreadable(&key, &error))?;
        Ok(delayed::definition::generation_of(&key).map(|generation| (generation, site)))
    };
    found.filter_map(|entry| read(entry).transpose()).collect()
}

/// Delayed messages continue to wait at their exchanges. Those of deleted exchanges are deleted, too.
fn restore_delays(broker: &Broker, sites: BTreeMap<QueueId, Site>, queues: &mut HashMap<QueueId, RecoveredQueue>) {
    let mut by_site: BTreeMap<Site, Vec<RestoredGeneration<QueuedMessage>>> = BTreeMap::new();
    for (generation, site) in sites {
        broker.engine.queue_ids.note_used(generation);
        let (ranges, messages) = match queues.remove(&generation) {
            Some(recovered) => (recovered.ranges, recovered.messages),
            None => Default::default(),
        };
        let hold = |content| QueuedMessage::restored(content, true, None, Priorities::default());
        let messages = messages.into_iter().filter_map(|(seq, content)| Some((seq, hold(content)?))).collect();
        let ranges = ranges.into_iter().map(|recovered| recovered.range).collect();
        by_site.entry(site).or_default().push(RestoredGeneration { generation, ranges, messages });
    }
    let mut records = RecordBatch::new();
    for (site, generations) in by_site {
        let left = match broker.vhosts.get(&site.vhost) {
            Some(vhost) => vhost.restore_delays(broker, &site.exchange, generations, &mut records),
            None => Err(generations),
        };
        for RestoredGeneration { generation, .. } in left.err().into_iter().flatten() {
            records.drop_queue(generation);
            records.delete(&delayed::definition::key_of(generation));
        }
    }
    broker.engine.append(&mut records);
}

/// Queues that have no definition. Segments name deleted ones until they are compacted, with nothing alive: those are passed over. If there
/// are messages, the definition was lost to damage, for both are deleted at once. The files are kept, in case it is found again, and no new
/// queue takes the number.
pub(crate) fn leave_out(broker: &Broker, queues: &HashMap<QueueId, RecoveredQueue>) -> LeftOut {
    let mut left_out = LeftOut::default();
    for (id, queue) in queues {
        let in_segments = queue.ranges.iter().map(|recovered| u64::from(recovered.range.count)).sum::<u64>();
        let message_count = in_segments + queue.messages.len() as u64;
        if message_count > 0 {
            broker.engine.queue_ids.note_used(*id);
            left_out.queue_count += 1;
            left_out.message_count += message_count;
        }
    }
    let LeftOut { queue_count, message_count } = left_out;
    if queue_count > 0 {
        tracing::error!(
            queues = queue_count,
            messages = message_count,
            "messages of queues without a definition are kept on disk"
        );
    }
    left_out
}

fn unreadable(key: &[u8], error: &dyn Display) -> StartError {
    StartError::Definition { key: String::from_utf8_lossy(key).into_owned(), reason: error.to_string() }
}

/// Whether there are no users and no vhosts yet, as RabbitMQ has it. An operator who has deleted every vhost has not asked for the default
/// user.
fn is_new(broker: &Broker) -> bool {
    broker.vhosts.is_empty() && broker.users().is_empty()
}

/// A cluster has an id that never changes, as RabbitMQ's have.
fn name_cluster(broker: &Arc<Broker>) -> Result<(), RandomError> {
    if broker.global_parameter(GlobalParameter::CLUSTER_ID).is_some() {
        return Ok(());
    }
    let id = format!("rabbitmq-cluster-id-{}", URL_SAFE_NO_PAD.encode(broker.random()?));
    let parameter = GlobalParameter { name: GlobalParameter::CLUSTER_ID.into(), value: id.into() };
    broker.put_definition(&Definition::GlobalParameter(parameter.clone()));
    define(broker, Definition::GlobalParameter(parameter), &mut RestoreState::default());
    Ok(())
}

/// Events are published on an exchange in the default vhost, as by RabbitMQ's plugin.
pub(crate) fn declare_event_exchange(broker: &Broker, vhost: &Vhost) -> Changed {
    let exchange = definition::Exchange {
        vhost: vhost.name().clone(),
        name: ExchangeName::parse(events::EXCHANGE.as_bytes()).expect("a name of ours"),
        exchange_type: ExchangeType::Topic,
        is_durable: true,
        is_auto_delete: false,
        is_internal: true,
        arguments: ExchangeArguments::default(),
    };
    vhost.declare_exchange(broker, &exchange)
}

/// Keys sort so that whatever a definition needs comes before it.
fn define(broker: &Arc<Broker>, definition: Definition, state: &mut RestoreState) {
    match definition {
        Definition::Vhost(vhost) => {
            let vhost = Vhost::new(vhost, broker.hash_seed);
            // What a leader of a group has found in its journal may not be on a majority's disks.
            vhost.note_defined(broker.journal_end());
            broker.vhosts.put(vhost);
        }
        Definition::User(user) => drop(broker.users.put(user, |_| ())),
        Definition::Permission(permission) => drop(broker.users.permit(permission, |_| ())),
        Definition::TopicPermission(permission) => drop(broker.users.permit_topic(permission, |_| ())),
        Definition::Policy(policy) => {
            state.policies.entry(policy.vhost.clone()).or_default().push(Arc::new(policy));
        }
        Definition::GlobalParameter(parameter) if StoredSession::is_name(&parameter.name) => {
            // One that a newer program has written otherwise is no session here.
            StoredSession::of_parameter(&parameter)
                .into_iter()
                .for_each(|session| broker.login_sessions.restore(session));
        }
        Definition::GlobalParameter(parameter) => {
            let GlobalParameter { name, value } = parameter;
            broker.global_parameters.lock().insert(name.clone(), value);
            broker.parameter_changed(&name);
        }
        Definition::Parameter(parameter) => {
            if let Some(vhost) = broker.vhosts.get(parameter.vhost.as_str()) {
                vhost.restore_parameter(parameter);
            }
        }
        Definition::Exchange(exchange) => {
            if let Some(vhost) = broker.vhosts.get(exchange.vhost.as_str()) {
                vhost.restore_exchange(broker, &exchange);
            }
        }
        Definition::Queue(queue) => {
            let Some(vhost) = broker.vhosts.get(queue.vhost.as_str()) else { return };
            broker.engine.queue_ids.note_used(queue.id);
            let (mut restored_queue, watermark) = match state.queues.remove(&queue.id) {
                Some(recovered) => restored(&queue, recovered),
                None => (Queue::new(settings_of(&queue)), Watermark::closed_at(model::ids::QueueSeq(0))),
            };
            if let Some(ttls) = state.ttls.remove(&queue.id) {
                restored_queue.restore_ttls(ttls);
            }
            restored_queue.set_paused(state.paused.contains(&queue.id));
            vhost.restore_queue(broker, queue, restored_queue, watermark);
        }
        Definition::Binding(binding) => {
            let Some(vhost) = broker.vhosts.get(binding.vhost().as_str()) else { return };
            let destination = match binding.destination() {
                DefinedDestination::Exchange(name) => Destination::Exchange(name.as_bytes()),
                DefinedDestination::Queue(name) => match vhost.queue(name.as_bytes()) {
                    Some(queue) => Destination::Queue(queue.id()),
                    None => return,
                },
            };
            let spec = BindingSpec {
                source: binding.source().as_bytes(),
                destination,
                routing_key: binding.routing_key(),
                arguments: binding.arguments(),
            };
            vhost.restore_binding(&spec);
        }
    }
}

fn restored(
    definition: &definition::Queue,
    recovered: RecoveredQueue,
) -> (Queue<QueuedMessage, engine::gate::ConsumerGate>, Watermark) {
    let watermark = Watermark::recovered(recovered.watermark);
    let priorities = Priorities::of_arguments(&definition.arguments);
    let hold = |content, place: Option<Place>| QueuedMessage::restored(content, true, place, priorities);
    let messages = recovered.messages.into_iter().filter_map(|(seq, content)| Some((seq, hold(content, None)?)));
    let restored = RestoredQueue {
        next_seq: recovered.next_seq,
        watermark: recovered.watermark,
        ranges: recovered.ranges.into_iter().map(|recovered| (recovered.lane, recovered.range)).collect(),
        messages: messages.collect(),
        returned: recovered.returned.iter().map(|(seq, r)| (*seq, r.counts, r.waits_until_ms)).collect(),
        may_expire: recovered.may_expire,
    };
    (Queue::restore(settings_of(definition), restored), watermark)
}

fn create_defaults(broker: &Arc<Broker>) -> Result<(), RandomError> {
    let wanted = &broker.options.default_user;
    let [a, b, c, d, ..] = broker.random()?;
    let hash = PasswordHash::new(wanted.password.as_bytes(), [a, b, c, d]);
    let user = User::new(wanted.name.clone(), Some(hash), wanted.tags.clone());
    let permission = UserPermission {
        vhost: wanted.vhost.clone(),
        user: wanted.name.clone(),
        permission: wanted.permission.clone(),
    };
    let definitions = [
        Definition::Vhost(broker.new_vhost(wanted.vhost.clone())),
        Definition::User(user),
        Definition::Permission(permission),
    ];
    // All or nothing: with a part of them the next start would not take the store for a new one.
    let mut records = RecordBatch::new();
    definitions.iter().for_each(|definition| records.put(&definition.key(), &definition.encode()));
    broker.engine.append(&mut records);
    for definition in definitions {
        define(broker, definition, &mut RestoreState::default());
    }
    if let Err(error) = broker.create_default_exchanges(&Actor::broker(), &wanted.vhost) {
        tracing::error!(%error, "the first vhost did not get all its users");
    }
    Ok(())
}
