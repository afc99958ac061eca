//! Global parameters, the cluster's name among them.

use model::definition::Definition;
use model::login_session::StoredSession;
use model::parameter::GlobalParameter;
use serde_json::Value;

use super::{ControlError, invalid, not_found};
use crate::broker::Broker;
use crate::changed::Changed;
use crate::events::Event;
use crate::identity::Actor;
use crate::server_properties::server_properties;

/// What events call the component of these parameters.
const GLOBAL: &str = "global";

/// The longest name of a parameter, in bytes.
const NAME_LEN_MAX: usize = 255;

impl Broker {
    /// All global parameters, by name.
    #[must_use]
    pub fn global_parameters(&self) -> Vec<GlobalParameter> {
        let parameters = self.global_parameters.lock();
        parameters.iter().map(|(name, value)| GlobalParameter { name: name.clone(), value: value.clone() }).collect()
    }

    /// Global parameters whose names begin like this, by name.
    #[must_use]
    pub fn global_parameters_below(&self, prefix: &str) -> Vec<GlobalParameter> {
        let parameters = self.global_parameters.lock();
        let from = (std::ops::Bound::Included(prefix), std::ops::Bound::Unbounded);
        let found = parameters.range::<str, _>(from).take_while(|(name, _)| name.starts_with(prefix));
        found.map(|(name, value)| GlobalParameter { name: name.clone(), value: value.clone() }).collect()
    }

    /// The value of a global parameter.
    #[must_use]
    pub fn global_parameter(&self, name: &str) -> Option<Value> {
        self.global_parameters.lock().get(name).cloned()
    }

    /// The cluster's name: the one that was set, or the configured one.
    #[must_use]
    pub fn cluster_name(&self) -> String {
        let set = self.global_parameter(GlobalParameter::CLUSTER_NAME);
        set.as_ref().and_then(Value::as_str).unwrap_or(&self.options.cluster_name).to_owned()
    }

    /// Sets a global parameter.
    pub fn put_global_parameter(&self, actor: &Actor, name: &str, value: Value) -> Result<Changed, ControlError> {
        check_parameter_name(name)?;
        let parameter = GlobalParameter { name: name.into(), value: value.clone() };
        let (is_new, position) = {
            let mut parameters = self.global_parameters.lock();
            let position = self.put_definition(&Definition::GlobalParameter(parameter));
            (parameters.insert(name.into(), value.clone()).is_none(), position)
        };
        self.parameter_changed(name);
        let event = Event::new("parameter.set").with_text("component", GLOBAL).with_text("name", name);
        // Everybody may be let in where events are published, and the audit log outlives a password. Plugins and programs keep in global
        // parameters what they like.
        let event = match name == GlobalParameter::CLUSTER_NAME {
            true => event.with_text("value", &value.to_string()),
            false => event,
        };
        self.emit_by(actor, event);
        Ok(Changed { is_new, position })
    }

    /// Deletes a global parameter.
    pub fn delete_global_parameter(&self, actor: &Actor, name: &str) -> Result<Changed, ControlError> {
        let position = {
            let mut parameters = self.global_parameters.lock();
            let Some(value) = parameters.remove(name) else {
                return not_found(format!("no global parameter '{name}'"));
            };
            self.delete(&Definition::GlobalParameter(GlobalParameter { name: name.into(), value }))
        };
        self.parameter_changed(name);
        self.emit_by(actor, Event::new("parameter.cleared").with_text("component", GLOBAL).with_text("name", name));
        Ok(Changed { is_new: false, position })
    }

    pub(crate) fn parameter_changed(&self, name: &str) {
        if name == GlobalParameter::CLUSTER_NAME {
            let properties = server_properties(&self.options, &self.cluster_name());
            *self.server_properties.write() = properties;
            // What links make at their upstreams has the name.
            self.federated_changed();
        }
    }
}

/// Whether a parameter may have this name.
pub fn check_parameter_name(name: &str) -> Result<(), ControlError> {
    if name.is_empty() || name.len() > NAME_LEN_MAX {
        let len = name.len();
        return invalid(format!("invalid parameter name: it has {len} bytes, and 1 to {NAME_LEN_MAX} are allowed"));
    }
    if StoredSession::is_name(name) {
        return invalid(format!(
            "invalid parameter name '{name}': the prefix '{}' is reserved for login sessions; choose another name",
            GlobalParameter::SESSIONS
        ));
    }
    Ok(())
}
