//! Parameters of vhosts: what shovels and federation have to do. Limits of vhosts are parameters for operators only, and are in `vhosts`.
//!
//! Values have passwords. Callers that ask for parameters get them; events never have them.

use std::sync::Arc;

use model::definition::Definition;
use model::parameter::{VhostParameter, check_vhost_parameter, is_hidden};
use tokio::sync::watch;

use super::vhosts::no_vhost;
use super::{ControlError, invalid, not_found};
use crate::broker::Broker;
use crate::changed::Changed;
use crate::events::Event;
use crate::identity::Actor;
use crate::vhost::PutParameter;

impl Broker {
    /// The parameters of a component, or of all that are not hidden, in a vhost or in all, by vhost, component and name.
    #[must_use]
    pub fn vhost_parameters(&self, component: Option<&str>, vhost: Option<&str>) -> Vec<VhostParameter> {
        let shared = self.shared_vhost_parameters(component, vhost);
        shared.iter().map(|parameter| VhostParameter::clone(parameter)).collect()
    }

    /// The same, not copied: for callers that look at all of them after each change. One that has not changed is the same one as before.
    #[must_use]
    pub fn shared_vhost_parameters(&self, component: Option<&str>, vhost: Option<&str>) -> Vec<Arc<VhostParameter>> {
        let vhosts = match vhost {
            Some(name) => self.vhosts.get(name).into_iter().collect(),
            None => self.vhosts.all(),
        };
        vhosts.iter().flat_map(|vhost| vhost.parameters(component)).collect()
    }

    /// A parameter of a vhost.
    #[must_use]
    pub fn vhost_parameter(&self, vhost: &str, component: &str, name: &str) -> Option<VhostParameter> {
        self.vhosts.get(vhost)?.parameter(component, name).map(Arc::unwrap_or_clone)
    }

    /// A number that changes after each change of vhosts' parameters, hidden ones too, once [`Self::vhost_parameters`] shows it.
    #[must_use]
    pub fn subscribe_vhost_parameters(&self) -> watch::Receiver<u64> {
        self.vhost_parameter_changes.subscribe()
    }

    /// Sets a parameter of a vhost. Nothing happens where it has the value already. A limit does not stop changes to existing parameters;
    /// two requests at the same moment may exceed it by one, as in RabbitMQ.
    pub fn put_vhost_parameter(&self, actor: &Actor, parameter: VhostParameter) -> Result<Changed, ControlError> {
        let VhostParameter { vhost, component, name, value } = &parameter;
        check_vhost_parameter(component, name, value).or_else(|error| invalid(error.to_string()))?;
        let Some(vhost) = self.vhosts.get(vhost.as_str()) else { return no_vhost(vhost.as_str()) };
        if let Some(limit) = self.options.parameter_limits.get(&**component)
            && vhost.parameter(component, name).is_none()
            && self.shared_vhost_parameters(Some(component), None).len() >= *limit
        {
            return invalid(format!("component {component} is limited to {limit} per node"));
        }
        let event = event_of("parameter.set", &parameter);
        let record = |parameter| self.put_definition(&Definition::Parameter(parameter));
        let (is_new, position) = match vhost.put_parameter(parameter, record) {
            PutParameter::New(position) => (true, position),
            PutParameter::Replaced(position) => (false, position),
            // The request that has set it may wait still.
            PutParameter::Unchanged => return Ok(Changed { is_new: false, position: self.journal_end() }),
            PutParameter::VhostDeleted => return no_vhost(vhost.name().as_str()),
        };
        self.vhost_parameters_changed();
        if let Some(event) = event {
            self.emit_by(actor, event);
        }
        Ok(Changed { is_new, position })
    }

    /// Deletes a parameter of a vhost.
    pub fn delete_vhost_parameter(
        &self,
        actor: &Actor,
        vhost: &str,
        component: &str,
        name: &str,
    ) -> Result<Changed, ControlError> {
        let Some(found) = self.vhosts.get(vhost) else { return no_vhost(vhost) };
        let mut event = None;
        let record = |parameter: VhostParameter| {
            event = event_of("parameter.cleared", &parameter);
            self.delete(&Definition::Parameter(parameter))
        };
        let Some(position) = found.remove_parameter(component, name, record) else {
            return not_found(format!("no parameter '{name}' of '{component}' in vhost '{vhost}'"));
        };
        self.vhost_parameters_changed();
        if let Some(event) = event {
            self.emit_by(actor, event);
        }
        Ok(Changed { is_new: false, position })
    }

    /// Emits that parameters were deleted with their vhost.
    pub(super) fn emit_parameters_cleared(&self, actor: &Actor, cleared: &[VhostParameter]) {
        if cleared.is_empty() {
            return;
        }
        self.vhost_parameters_changed();
        for event in cleared.iter().filter_map(|parameter| event_of("parameter.cleared", parameter)) {
            self.emit_by(actor, event);
        }
    }

    fn vhost_parameters_changed(&self) {
        self.vhost_parameter_changes.send_modify(|count| *count += 1);
    }
}

/// The event as RabbitMQ has it, without the value. Hidden parameters have no events.
fn event_of(event: &'static str, parameter: &VhostParameter) -> Option<Event> {
    let VhostParameter { vhost, component, name, value: _ } = parameter;
    let event = || {
        let event = Event::new(event).with_text("vhost", vhost.as_str());
        event.with_text("component", component).with_text("name", name)
    };
    (!is_hidden(component)).then(event)
}
