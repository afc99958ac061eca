//! The parameters of a vhost: kept here for the parts of the broker that do what they say.

use std::collections::BTreeMap;
use std::sync::Arc;

use engine::Positions;
use model::parameter::{VhostParameter, is_hidden};
use store::RecordBatch;

use super::topology::Vhost;
use model::definition::Definition;

/// A vhost's parameters, by component and name.
#[derive(Debug, Default)]
pub(super) struct Parameters {
    kept: BTreeMap<(Box<str>, Box<str>), Arc<VhostParameter>>,
    /// The vhost is deleted: it takes no more parameters.
    is_closed: bool,
}

/// What became of a parameter that is to be set.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum PutParameter {
    /// There was none of its name.
    New(Positions),
    /// It had another value.
    Replaced(Positions),
    /// It has this value already.
    Unchanged,
    /// The vhost is deleted.
    VhostDeleted,
}

impl Vhost {
    /// The parameters of a component, or of all that are not hidden, by component and name.
    pub(crate) fn parameters(&self, component: Option<&str>) -> Vec<Arc<VhostParameter>> {
        let is_meant = |parameter: &&Arc<VhostParameter>| match component {
            Some(component) => *parameter.component == *component,
            None => !is_hidden(&parameter.component),
        };
        self.parameters.lock().kept.values().filter(is_meant).cloned().collect()
    }

    /// A parameter.
    pub(crate) fn parameter(&self, component: &str, name: &str) -> Option<Arc<VhostParameter>> {
        self.parameters.lock().kept.get(&key_of(component, name)).cloned()
    }

    /// Sets a parameter; `record` is called before it is seen.
    pub(crate) fn put_parameter(
        &self,
        parameter: VhostParameter,
        record: impl FnOnce(VhostParameter) -> Positions,
    ) -> PutParameter {
        let mut parameters = self.parameters.lock();
        if parameters.is_closed {
            return PutParameter::VhostDeleted;
        }
        let key = key_of(&parameter.component, &parameter.name);
        if parameters.kept.get(&key).is_some_and(|kept| **kept == parameter) {
            return PutParameter::Unchanged;
        }
        let position = record(parameter.clone());
        match parameters.kept.insert(key, Arc::new(parameter)) {
            None => PutParameter::New(position),
            Some(_) => PutParameter::Replaced(position),
        }
    }

    /// Removes a parameter, if it exists; `record` is called before that is seen.
    pub(crate) fn remove_parameter(
        &self,
        component: &str,
        name: &str,
        record: impl FnOnce(VhostParameter) -> Positions,
    ) -> Option<Positions> {
        let mut parameters = self.parameters.lock();
        parameters.kept.remove(&key_of(component, name)).map(|parameter| record(Arc::unwrap_or_clone(parameter)))
    }

    /// Puts a parameter that recovery found where it was.
    pub(crate) fn restore_parameter(&self, parameter: VhostParameter) {
        self.parameters.lock().kept.insert(key_of(&parameter.component, &parameter.name), Arc::new(parameter));
    }

    /// Records that all parameters are deleted with their vhost, and returns which there were. None can be set from then on.
    pub(crate) fn forget_parameters(&self, records: &mut RecordBatch) -> Vec<VhostParameter> {
        let mut parameters = self.parameters.lock();
        parameters.is_closed = true;
        let cleared = std::mem::take(&mut parameters.kept).into_values();
        let cleared: Vec<VhostParameter> = cleared.map(Arc::unwrap_or_clone).collect();
        for parameter in &cleared {
            records.delete(&Definition::Parameter(parameter.clone()).key());
        }
        cleared
    }
}

fn key_of(component: &str, name: &str) -> (Box<str>, Box<str>) {
    (component.into(), name.into())
}
