//! A group of users, made ready to arrive, and what those of one thread share.

use std::cell::RefCell;
use std::sync::Arc;
use std::time::Duration;

use http_client::HttpUrl;
use net::ClientTls;

use super::super::clock::StampUnit;
use super::super::incident::Incidents;
use super::super::settings::Settings;
use super::super::target::Target;
use super::super::worker::Local;
use super::failure::ReportedFailures;
use super::program::Program;
use super::throttle::Throttles;
use super::timetable::Timetable;
use crate::plan::{Plan, Users};

/// A group of users, made ready.
#[derive(Debug)]
pub(crate) struct Crowd {
    pub(super) name: String,
    pub(super) plan_name: String,
    pub(super) count: u32,
    pub(super) repeat: bool,
    pub(super) answer_timeout: Duration,
    pub(super) timetable: Timetable,
    pub(super) program: Program,
    pub(super) target: Arc<Target>,
    pub(super) management: Option<HttpUrl>,
    pub(super) https: Option<ClientTls>,
    pub(super) incidents: Incidents,
    pub(super) unit: StampUnit,
    pub(super) seed: u64,
    pub(super) reported: ReportedFailures,
}

/// What users of one group on one thread share.
#[derive(Debug)]
pub(crate) struct Station {
    pub(super) crowd: Arc<Crowd>,
    pub(super) local: Local,
    /// The run's.
    pub(super) start: u64,
    /// A body and properties, between two messages worth nothing.
    pub(super) scratch: RefCell<(Vec<u8>, Vec<u8>)>,
}

impl Crowd {
    /// All groups of a plan. An error says which script cannot be run, and why.
    pub(crate) fn all(
        plan: &Plan,
        target: &Arc<Target>,
        settings: &Settings,
        incidents: &Incidents,
    ) -> Result<Vec<Arc<Self>>, String> {
        let throttles = Throttles::of(plan.users.iter().map(|users| &users.script));
        let crowd = |(at, users): (usize, &Users)| {
            let seed = plan.seed.wrapping_add(at as u64) ^ 0x7573_6572;
            let program = Program::new(&users.script, &throttles, settings.management.as_ref())
                .map_err(|error| format!("the script of users \"{}\": {error}", users.name))?;
            Ok(Arc::new(Crowd {
                name: users.name.clone(),
                plan_name: plan.name.clone(),
                count: users.count,
                repeat: users.repeat,
                answer_timeout: users.answer_timeout,
                timetable: Timetable::new(users.arrival_rate, seed),
                program,
                target: Arc::clone(target),
                management: settings.management.clone(),
                https: settings.https.clone(),
                incidents: incidents.clone(),
                unit: settings.unit,
                seed,
                reported: ReportedFailures::default(),
            }))
        };
        plan.users.iter().enumerate().map(crowd).collect()
    }
}
