//! What a broker's management API says of it, in RabbitMQ's shape.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde_json::Value;
use tokio::task::JoinHandle;

use crate::results::{BrokerUsage, Usage};
use http_client::HttpUrl;

/// How long an answer may take.
const TIMEOUT: Duration = Duration::from_secs(30);

/// Why the management API is not watched.
#[derive(Debug, thiserror::Error)]
#[error("cannot watch the broker's management API at {url}: {reason}")]
pub(crate) struct ManagementError {
    /// Host and port.
    url: String,
    /// What is wrong.
    reason: String,
}

/// A broker's management API, asked once an interval. It is not waited for: a slow answer is a late one.
#[derive(Debug)]
pub(crate) struct Management {
    latest: Arc<Mutex<Option<BrokerUsage>>>,
    task: JoinHandle<()>,
}

impl Management {
    /// Starts to ask. It has to answer once. To be called within a runtime.
    pub(crate) async fn start(url: &HttpUrl, interval: Duration) -> Result<Self, ManagementError> {
        let first = ask(url).await.map_err(|reason| ManagementError { url: url.to_string(), reason })?;
        let latest = Arc::new(Mutex::new(Some(first)));
        let (url, shared) = (url.clone(), Arc::clone(&latest));
        let task = tokio::spawn(async move {
            let mut ticks = tokio::time::interval(interval);
            ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
            loop {
                ticks.tick().await;
                // Without an answer, what was known no longer holds.
                let answer = ask(&url).await.ok();
                *shared.lock().unwrap_or_else(PoisonError::into_inner) = answer;
            }
        });
        Ok(Management { latest, task })
    }

    /// What it said last. Of its usage only what is in use now is known: memory.
    #[must_use]
    pub(crate) fn latest(&self) -> Option<BrokerUsage> {
        *self.latest.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Management {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn ask(url: &HttpUrl) -> Result<BrokerUsage, String> {
    let overview = fetch(url, "/api/overview").await?;
    Ok(usage(&overview, &fetch(url, "/api/nodes?columns=mem_used").await?))
}

/// What both answers say. A broker that has just started leaves out what it has not measured, in several ways.
fn usage(overview: &Value, nodes: &Value) -> BrokerUsage {
    let total = |name: &str| overview["queue_totals"][name].as_u64();
    let memory = nodes.as_array().and_then(|nodes| nodes.iter().map(|node| node["mem_used"].as_u64()).sum());
    BrokerUsage {
        usage: Usage { memory, ..Usage::default() },
        ready: total("messages_ready"),
        unacked: total("messages_unacknowledged"),
    }
}

async fn fetch(url: &HttpUrl, path: &str) -> Result<Value, String> {
    let answer = http_client::get(&url.below(path), TIMEOUT).await.map_err(|error| error.to_string())?;
    if !answer.status.is_success() {
        return Err(format!("{path} is answered with {}", answer.status));
    }
    serde_json::from_slice(&answer.body)
        .map_err(|error| format!("the answer to {path} differs from RabbitMQ's: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(overview: &str, nodes: &str, memory: Option<u64>, ready: Option<u64>, unacked: Option<u64>) {
        let usage = usage(&serde_json::from_str(overview).unwrap(), &serde_json::from_str(nodes).unwrap());
        assert_eq!((usage.usage.memory, usage.ready, usage.unacked), (memory, ready, unacked));
    }

    #[test]
    fn what_rabbitmq_answers_is_understood() {
        let overview = r#"{"queue_totals":{"messages":3,"messages_ready":2,"messages_unacknowledged":1}}"#;
        check(overview, r#"[{"mem_used":5,"name":"a"},{"mem_used":7}]"#, Some(12), Some(2), Some(1));
    }

    #[test]
    fn what_it_has_not_measured_yet_is_not_known() {
        check(r#"{"queue_totals":{}}"#, "[{}]", None, None, None);
        check(r#"{"queue_totals":[]}"#, r#"[{"mem_used":5},{}]"#, None, None, None);
        check("{}", "[]", Some(0), None, None);
    }
}
