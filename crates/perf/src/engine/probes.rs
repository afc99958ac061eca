//! Questions to the management API, asked at fixed times while the load is on: how long do answers take then?

use std::sync::Arc;
use std::time::Duration;

use super::clock::{now_ns, ns};
use super::incident::{Incident, Incidents, Role, tell};
use super::pacer::Timer;
use super::worker::Local;
use crate::plan::Probe;
use http_client::HttpUrl;

/// An answer that takes longer does not count.
const TIMEOUT: Duration = Duration::from_secs(120);

/// A task that asks a question.
#[derive(Clone, Debug)]
pub(crate) struct ProbeTask {
    pub(crate) probe: Probe,
    /// Its place among all probes, and how many these are: no two ask in step.
    pub(crate) place: (u64, u64),
    pub(crate) url: HttpUrl,
    pub(crate) incidents: Incidents,
}

impl ProbeTask {
    /// Asks until publishers stop. The time of an answer counts from when it was due to be asked for: a question that had to
    /// wait for the answer to the one before is as late as a user's page would be.
    pub(crate) async fn run(self, local: Local) {
        tell(&self.incidents, Incident::Ready);
        let Some(start) = local.control.clone().started().await else { return };
        let name: Arc<str> = self.probe.name.as_str().into();
        let asking = async {
            let mut timer = Timer::new(&local.pacer);
            let mut has_warned = false;
            let every = ns(self.probe.every);
            let (place, count) = self.place;
            let first = start + every / count.max(1) * place;
            for number in 0_u64.. {
                let due = first + number * every;
                timer.until(due).await;
                let problem = match http_client::get(&self.url, TIMEOUT).await {
                    Ok(answer) if answer.status.is_success() => {
                        local.recorder.borrow_mut().answered(&name, now_ns() - due);
                        continue;
                    }
                    Ok(answer) => answer.status.to_string(),
                    Err(error) => error.to_string(),
                };
                local.recorder.borrow_mut().counts.requests_failed += 1;
                if !std::mem::replace(&mut has_warned, true) {
                    tell(&self.incidents, Incident::Warning(format!("probe {name} failed: {problem}")));
                }
            }
        };
        tokio::select! {
            () = asking => {}
            () = local.control.clone().draining() => {}
        }
        tell(&self.incidents, Incident::Done(Role::Other));
    }
}
