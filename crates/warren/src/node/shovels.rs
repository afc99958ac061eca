//! The shovels of a broker: those of its parameters and those of the configuration. They run as long as the broker does, so in a cluster
//! on the node that leads.

use std::collections::HashSet;
use std::io;
use std::sync::{Arc, Weak};
use std::time::Duration;

use anyhow::{Context as _, Result};
use broker::{Actor, Broker, Event};
use model::config::ShovelOptions;
use model::parameter::{ParameterError, SHOVEL, VhostParameter};
use model::shovel::{PAUSE_COMPONENT, Protocol, Shovel};
use net::Stream;
use serde_json::Value;
use shovel::{Host, ShovelId, Shovels, State, Wanted};
use tokio::runtime::Handle;
use tokio::task::JoinHandle;

/// What shovels are given of this process.
struct BrokerHost {
    broker: Weak<Broker>,
    runtime: Handle,
    allowed_hosts: Vec<String>,
}

impl bridge::Host for BrokerHost {
    fn connect(&self, is_trusted: bool) -> io::Result<Stream> {
        let Some(broker) = self.broker.upgrade() else { return Err(io::ErrorKind::ConnectionRefused.into()) };
        let (ours, its) = Stream::pair()?;
        if is_trusted {
            self.runtime.spawn(broker.serve_own(its));
        } else {
            self.runtime.spawn(broker.serve(its));
        }
        Ok(ours)
    }

    fn permits(&self, host: &str) -> bool {
        self.allowed_hosts.is_empty() || self.allowed_hosts.iter().any(|pattern| is_like(pattern, host))
    }

    fn cluster_name(&self) -> String {
        self.broker.upgrade().map(|broker| broker.cluster_name()).unwrap_or_default()
    }
}

impl Host for BrokerHost {
    fn finished(&self, id: &ShovelId) {
        if let (Some(broker), Some(vhost)) = (self.broker.upgrade(), &id.vhost)
            && let Err(error) = broker.delete_vhost_parameter(&Actor::broker(), vhost.as_str(), SHOVEL, &id.name)
        {
            // It was deleted meanwhile.
            tracing::debug!(shovel = %id, %error, "a shovel that is done cannot be deleted");
        }
    }

    fn state_changed(&self, id: &ShovelId, state: &State) {
        let Some(broker) = self.broker.upgrade() else { return };
        let event = Event::new("shovel.worker.status").with_text("name", &id.name).with_text("status", state.name());
        let event = id.vhost.iter().fold(event, |event, vhost| event.with_text("vhost", vhost.as_str()));
        broker.emit(match state {
            State::Terminated { reason } => event.with_text("reason", reason),
            State::Starting | State::Running(_) | State::Paused => event,
        });
    }
}

/// Whether a host is meant: by its name, or as one below a domain (`*.example.com`).
fn is_like(pattern: &str, host: &str) -> bool {
    match pattern.strip_prefix('*') {
        Some(rest) => {
            let start = host.len().checked_sub(rest.len());
            start.is_some_and(|start| host.as_bytes()[start..].eq_ignore_ascii_case(rest.as_bytes()))
        }
        None => pattern.eq_ignore_ascii_case(host),
    }
}

/// Shovels, and what keeps them as they are wanted.
pub(super) struct RunningShovels {
    shovels: Arc<Shovels>,
    following: JoinHandle<()>,
}

impl RunningShovels {
    /// Starts those that are wanted now, and follows what is wanted.
    pub(super) fn start(broker: &Arc<Broker>, options: &ShovelOptions) -> Result<Self> {
        let of_configuration = of_configuration(options)?;
        let runtime = Handle::current();
        let host = BrokerHost {
            broker: Arc::downgrade(broker),
            runtime: runtime.clone(),
            allowed_hosts: options.allowed_hosts.clone(),
        };
        let shovels = Arc::new(Shovels::new(Arc::new(host), runtime));
        let mut changes = broker.subscribe_vhost_parameters();
        let following = {
            let (shovels, broker, is_predeclared) = (shovels.clone(), Arc::downgrade(broker), options.is_predeclared);
            tokio::spawn(async move {
                loop {
                    changes.mark_unchanged();
                    let Some(broker) = broker.upgrade() else { return };
                    forget_pauses(&broker);
                    let of_parameters = of_parameters(&broker, is_predeclared);
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
    pub(super) async fn stop(&self, patience: Duration) {
        self.following.abort();
        self.shovels.stop(patience).await;
    }
}

fn of_configuration(options: &ShovelOptions) -> Result<Vec<Wanted>> {
    let parsed = options.shovels.iter().map(|(name, value)| {
        let shovel = parsed(value.clone(), options.is_predeclared).with_context(|| format!("warren.shovels.{name}"))?;
        Ok(Wanted {
            id: ShovelId { vhost: None, name: name.as_str().into() },
            shovel: Ok(Arc::new(shovel)),
            is_paused: false,
        })
    });
    parsed.collect()
}

fn of_parameters(broker: &Broker, is_predeclared: bool) -> Vec<Wanted> {
    let id = |vhost, name| ShovelId { vhost: Some(vhost), name };
    let paused = broker.vhost_parameters(Some(PAUSE_COMPONENT), None);
    let paused: HashSet<ShovelId> =
        paused.into_iter().map(|VhostParameter { vhost, name, .. }| id(vhost, name)).collect();
    let all = broker.vhost_parameters(Some(SHOVEL), None).into_iter();
    all.map(|VhostParameter { vhost, name, value, .. }| {
        let id = id(vhost, name);
        let shovel = parsed(value, is_predeclared).map(Arc::new).map_err(|error| error.to_string().into());
        Wanted { is_paused: paused.contains(&id), id, shovel }
    })
    .collect()
}

/// What is said of a shovel goes with it: the next one of its name is another one.
fn forget_pauses(broker: &Broker) {
    for VhostParameter { vhost, name, .. } in broker.vhost_parameters(Some(PAUSE_COMPONENT), None) {
        let vhost = vhost.as_str();
        if broker.vhost_parameter(vhost, SHOVEL, &name).is_none()
            && let Err(error) = broker.delete_vhost_parameter(&Actor::broker(), vhost, PAUSE_COMPONENT, &name)
        {
            tracing::debug!(shovel = %name, %error, "what says that a shovel waits has gone already");
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_are_meant_by_name_or_domain() {
        for (pattern, host, expected) in [
            ("a.example", "A.example", true),
            ("a.example", "b.example", false),
            ("*.example", "a.b.example", true),
            ("*.example", "example", false),
            ("*", "anything", true),
        ] {
            assert_eq!(is_like(pattern, host), expected, "{pattern} {host}");
        }
    }
}
