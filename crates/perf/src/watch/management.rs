//! What a broker's management API says of it, in RabbitMQ's shape.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde::Deserialize;
use tokio::task::JoinHandle;

use crate::http::{self, HttpUrl};
use crate::results::{BrokerUsage, Usage};

/// How long an answer may take.
const PATIENCE: Duration = Duration::from_secs(30);

/// Why the management API is not watched.
#[derive(Debug, thiserror::Error)]
#[error("cannot watch the broker's management API at {url}: {reason}")]
pub struct ManagementError {
    /// Host and port.
    url: String,
    /// What is wrong.
    reason: String,
}

/// A broker's management API, asked once an interval. It is not waited for: a slow answer is a late one.
#[derive(Debug)]
pub struct Management {
    latest: Arc<Mutex<Option<BrokerUsage>>>,
    task: JoinHandle<()>,
}

impl Management {
    /// Starts to ask. It has to answer once. To be called within a runtime.
    pub async fn start(url: &HttpUrl, interval: Duration) -> Result<Self, ManagementError> {
        let first = ask(url).await.map_err(|reason| ManagementError { url: url.to_string(), reason })?;
        let latest = Arc::new(Mutex::new(Some(first)));
        let (url, shared) = (url.clone(), Arc::clone(&latest));
        let task = tokio::spawn(async move {
            let mut ticks = tokio::time::interval(interval);
            ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
            loop {
                ticks.tick().await;
                // What was known is not known any more when there is no answer.
                let answer = ask(&url).await.ok();
                *shared.lock().unwrap_or_else(PoisonError::into_inner) = answer;
            }
        });
        Ok(Management { latest, task })
    }

    /// What it said last. Of its usage only what is in use now is known: memory.
    #[must_use]
    pub fn latest(&self) -> Option<BrokerUsage> {
        *self.latest.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Management {
    fn drop(&mut self) {
        self.task.abort();
    }
}

#[derive(Debug, Default, Deserialize)]
struct Overview {
    #[serde(default)]
    queue_totals: QueueTotals,
}

/// A broker without queues leaves them out.
#[derive(Debug, Default, Deserialize)]
struct QueueTotals {
    messages_ready: Option<u64>,
    messages_unacknowledged: Option<u64>,
}

#[derive(Debug, Deserialize)]
struct Node {
    mem_used: Option<u64>,
}

async fn ask(url: &HttpUrl) -> Result<BrokerUsage, String> {
    let totals = fetch::<Overview>(url, "/api/overview").await?.queue_totals;
    let nodes: Vec<Node> = fetch(url, "/api/nodes?columns=mem_used").await?;
    Ok(BrokerUsage {
        usage: Usage { memory: nodes.iter().map(|node| node.mem_used).sum(), ..Usage::default() },
        ready: totals.messages_ready,
        unacked: totals.messages_unacknowledged,
    })
}

async fn fetch<T: serde::de::DeserializeOwned>(url: &HttpUrl, path: &str) -> Result<T, String> {
    let answer = http::get(&url.below(path), PATIENCE).await.map_err(|error| error.to_string())?;
    if !answer.status.is_success() {
        return Err(format!("{path} is answered with {}", answer.status));
    }
    serde_json::from_slice(&answer.body).map_err(|error| format!("{path} is not what RabbitMQ answers: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_rabbitmq_answers_is_understood() {
        let overview = r#"{"management_version":"4.3","queue_totals":{"messages":3,"messages_ready":2,"messages_unacknowledged":1}}"#;
        let overview: Overview = serde_json::from_str(overview).unwrap();
        assert_eq!(overview.queue_totals.messages_ready, Some(2));
        assert_eq!(overview.queue_totals.messages_unacknowledged, Some(1));
        let empty: Overview = serde_json::from_str(r#"{"queue_totals":{}}"#).unwrap();
        assert_eq!(empty.queue_totals.messages_ready, None);
        let nodes: Vec<Node> = serde_json::from_str(r#"[{"mem_used":5,"name":"a"},{"mem_used":7}]"#).unwrap();
        assert_eq!(nodes.iter().map(|node| node.mem_used).sum::<Option<u64>>(), Some(12));
    }
}
