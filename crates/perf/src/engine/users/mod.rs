//! Simulated users: each goes through a script of steps, with a connection of its own, as a program would.
//!
//! ```text
//!  template   texts with variables, made ready            ─┐
//!  program    a script, made ready: loops are jumps        │ pure
//!  line       who waits at a throttle, and until when     ─┘
//!  throttle   a line that all threads of the process share
//!  failure    why a script ended early, and what of it is told
//!  link       a user's connection: what comes, measured and settled
//!  user       one user: instruction after instruction
//!  arrivals   who arrives when
//! ```
//!
//! A user is a task, from when it arrives until its script is over. Those of a thread share its pacer, its recorder and
//! one buffer. Across threads they share throttles, and a set of failures that were told of.
//!
//! Deliberately absent: following users' messages for loss. A user may leave with messages on the way, which is no one's
//! fault.

mod arrivals;
mod failure;
mod line;
mod link;
mod program;
mod template;
mod throttle;
mod user;

#[cfg(test)]
mod tests;

use std::cell::RefCell;
use std::sync::Arc;
use std::time::Duration;

use net::ClientTls;

use super::clock::StampUnit;
use super::incident::Incidents;
use super::settings::Settings;
use super::target::Target;
use super::worker::Local;
use crate::plan::{Plan, Users};
use http_client::HttpUrl;

pub(crate) use arrivals::Arrivals;
use arrivals::Timetable;
use failure::ToldFailures;
use program::Program;
use throttle::Throttles;

/// A group of users, made ready.
#[derive(Debug)]
pub(crate) struct Crowd {
    name: String,
    plan_name: String,
    count: u32,
    repeat: bool,
    answer_timeout: Duration,
    timetable: Timetable,
    program: Program,
    target: Arc<Target>,
    management: Option<HttpUrl>,
    https: Option<ClientTls>,
    incidents: Incidents,
    unit: StampUnit,
    seed: u64,
    told: ToldFailures,
}

/// What users of one group on one thread share.
#[derive(Debug)]
pub(crate) struct Station {
    crowd: Arc<Crowd>,
    local: Local,
    /// The run's.
    start: u64,
    /// A body and properties, between two messages worth nothing.
    scratch: RefCell<(Vec<u8>, Vec<u8>)>,
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
                told: ToldFailures::default(),
            }))
        };
        plan.users.iter().enumerate().map(crowd).collect()
    }
}
