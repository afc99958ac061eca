//! The shovels of a broker: those of its parameters and those of the configuration. They run as long as the broker does, so in a cluster
//! on the node that leads.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result};
use broker::{Actor, Broker, Event};
use model::config::{LinkOptions, ShovelOptions};
use model::parameter::{ParameterError, SHOVEL, VhostParameter};
use model::shovel::{PAUSE_COMPONENT, Protocol, Shovel};
use serde_json::Value;
use shovel::{DesiredShovel, Host, ShovelId, Shovels, State};
use tokio::runtime::Handle;
use tokio::task::JoinHandle;

use super::own_broker::OwnBroker;

impl Host for OwnBroker {
    fn finished(&self, id: &ShovelId) {
        if let (Some(broker), Some(vhost)) = (self.broker(), &id.vhost)
            && let Err(error) = broker.delete_vhost_parameter(&Actor::broker(), vhost.as_str(), SHOVEL, &id.name)
        {
            // It was deleted meanwhile.
            tracing::debug!(shovel = %id, %error, "deleting a finished shovel failed");
        }
    }

    fn state_changed(&self, id: &ShovelId, state: &State) {
        let Some(broker) = self.broker() else { return };
        let event = Event::new("shovel.worker.status").with_text("name", &id.name).with_text("status", state.name());
        let event = id.vhost.iter().fold(event, |event, vhost| event.with_text("vhost", vhost.as_str()));
        broker.emit(match state {
            State::Terminated { reason } => event.with_text("reason", reason),
            State::Starting | State::Running(_) | State::Paused => event,
        });
    }
}

/// Shovels, and what keeps them as they are wanted.
pub(super) struct RunningShovels {
    shovels: Arc<Shovels>,
    following: JoinHandle<()>,
}

impl RunningShovels {
    /// Starts those that are wanted now, and follows what is wanted.
    pub(super) fn start(broker: &Arc<Broker>, options: &ShovelOptions, links: &LinkOptions) -> Result<Self> {
        let of_configuration = of_configuration(options)?;
        let host = OwnBroker::new(broker, links);
        let shovels = Arc::new(Shovels::new(Arc::new(host), Handle::current()));
        let mut changes = broker.subscribe_vhost_parameters();
        let following = {
            let (shovels, broker) = (shovels.clone(), Arc::downgrade(broker));
            let mut definitions = Definitions { is_predeclared: options.is_predeclared, parsed: HashMap::new() };
            tokio::spawn(async move {
                loop {
                    changes.mark_unchanged();
                    let Some(broker) = broker.upgrade() else { return };
                    forget_pauses(&broker);
                    let of_parameters = definitions.wanted(&broker);
                    // What waits for the next change is not to keep a broker that has stopped.
                    drop(broker);
                    shovels.reconcile(of_configuration.iter().cloned().chain(of_parameters).collect());
                    if changes.changed().await.is_err() {
                        return;
                    }
                }
            })
        };
        Ok(Self { shovels, following })
    }

    pub(super) fn shovels(&self) -> &Arc<Shovels> {
        &self.shovels
    }

    /// Ends all of them, for good. What is under way is settled for so long.
    pub(super) async fn stop(&self, timeout: Duration) {
        self.following.abort();
        self.shovels.stop(timeout).await;
    }
}

fn of_configuration(options: &ShovelOptions) -> Result<Vec<DesiredShovel>> {
    let parsed = options.shovels.iter().map(|(name, value)| {
        let shovel = parsed(value.clone(), options.is_predeclared).with_context(|| format!("warren.shovels.{name}"))?;
        Ok(DesiredShovel {
            id: ShovelId { vhost: None, name: name.as_str().into() },
            shovel: Ok(Arc::new(shovel)),
            is_paused: false,
        })
    });
    parsed.collect()
}

/// What the parameters of shovels say. One that has not changed is not parsed again: there may be thousands, and all are looked at after
/// each change.
struct Definitions {
    is_predeclared: bool,
    parsed: HashMap<ShovelId, Definition>,
}

struct Definition {
    parameter: Arc<VhostParameter>,
    shovel: Result<Arc<Shovel>, Box<str>>,
}

impl Definitions {
    /// The shovels that are wanted now.
    fn wanted(&mut self, broker: &Broker) -> Vec<DesiredShovel> {
        let paused = broker.shared_vhost_parameters(Some(PAUSE_COMPONENT), None);
        let paused: HashSet<ShovelId> = paused.iter().map(|parameter| id_of(parameter)).collect();
        let mut before = std::mem::take(&mut self.parsed);
        let all = broker.shared_vhost_parameters(Some(SHOVEL), None).into_iter();
        all.map(|parameter| {
            let id = id_of(&parameter);
            let shovel = match before.remove(&id) {
                Some(known) if Arc::ptr_eq(&known.parameter, &parameter) => known.shovel,
                _ => {
                    let shovel = parsed(parameter.value.clone(), self.is_predeclared);
                    shovel.map(Arc::new).map_err(|error| error.to_string().into())
                }
            };
            self.parsed.insert(id.clone(), Definition { parameter, shovel: shovel.clone() });
            DesiredShovel { is_paused: paused.contains(&id), id, shovel }
        })
        .collect()
    }
}

fn id_of(parameter: &VhostParameter) -> ShovelId {
    ShovelId { vhost: Some(parameter.vhost.clone()), name: parameter.name.clone() }
}

/// Deletes the pauses of deleted shovels: the next shovel of such a name is another one.
fn forget_pauses(broker: &Broker) {
    for VhostParameter { vhost, name, .. } in broker.vhost_parameters(Some(PAUSE_COMPONENT), None) {
        let vhost = vhost.as_str();
        if broker.vhost_parameter(vhost, SHOVEL, &name).is_none()
            && let Err(error) = broker.delete_vhost_parameter(&Actor::broker(), vhost, PAUSE_COMPONENT, &name)
        {
            tracing::debug!(shovel = %name, %error, "a shovel's pause was already removed");
        }
    }
}

fn parsed(mut value: Value, is_predeclared: bool) -> Result<Shovel, ParameterError> {
    if is_predeclared && let Some(terms) = value.as_object_mut() {
        terms.entry("src-predeclared").or_insert(Value::Bool(true));
        if terms.get("dest-protocol").is_none_or(|protocol| protocol != Protocol::Http.name()) {
            terms.entry("dest-predeclared").or_insert(Value::Bool(true));
        }
    }
    Shovel::parse(&value)
}
