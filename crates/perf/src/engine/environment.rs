//! What a run needs at the broker: declares it, asks about it, and deletes it.

use std::time::Duration;

use amqp_client::{Connection, OpenError};

use super::observer::Observer;
use super::run_error::RunError;
use super::target::{GOODBYE, Target};
use super::topology::Declarations;
use crate::plan::{Plan, Random};
use crate::results::Broker;

/// How long a connection to clean up over may take.
const CLEANUP_TIMEOUT: Duration = Duration::from_secs(10);
/// Queues that are asked for what is left in them, one by one.
const ASKED_QUEUES: usize = 10_000;

/// A plan, its broker, and what is declared there for it.
pub(crate) struct Environment<'a> {
    pub(super) plan: &'a Plan,
    pub(super) target: &'a Target,
    pub(super) declarations: &'a Declarations,
}

impl Environment<'_> {
    /// Connects, and declares what the run needs. Counts in `temporary` what is to be deleted, also when it fails or is given up.
    pub(super) async fn declare(&self, observer: &mut dyn Observer, temporary: &mut usize) -> Result<(), RunError> {
        let mut admin = self.target.open_first(&format!("{}-topology", self.plan.name)).await?;
        let server = admin.take_server();
        observer.connected(&Broker {
            uris: self.target.uris.iter().map(ToString::to_string).collect(),
            product: server.product,
            version: server.version,
            variant: server.product_name.as_ref().map(|name| match &server.product_version {
                Some(version) => format!("{name} {version}"),
                None => name.clone(),
            }),
            platform: server.platform,
        });
        self.declarations.declare_all(&mut admin, temporary).await.map_err(RunError::Declare)?;
        // It would only be in the broker's way from here on.
        admin.close(GOODBYE).await;
        Ok(())
    }

    /// Deletes the first `count` queues of those that are only for the run.
    pub(super) async fn clean_up(&self, count: usize) -> Result<(), RunError> {
        let opening = tokio::time::timeout(CLEANUP_TIMEOUT, self.admin("cleanup"));
        let late = |_| RunError::Failed("no connection to the broker".to_owned());
        let mut admin = opening.await.map_err(late)??;
        let deleted = self.declarations.delete_temporary(&mut admin, count).await;
        admin.close(GOODBYE).await;
        deleted.map_err(|error| RunError::Failed(error.to_string()))
    }

    /// Whether queues can be asked from here, and are not too many.
    pub(crate) fn can_ask_queues(&self) -> bool {
        let queue_count: usize = self.plan.queues.iter().map(|queues| queues.names.len()).sum();
        queue_count <= ASKED_QUEUES && !self.declarations.has_own_queues()
    }

    /// How many messages are ready in all queues. `None`: the broker has not said so in time.
    pub(crate) async fn ready_count(&self, patience: Duration) -> Option<u64> {
        let asking = async {
            let mut admin = self.admin("rest").await.ok()?;
            let count = self.declarations.ready_count(&mut admin).await;
            admin.close(GOODBYE).await;
            count
        };
        tokio::time::timeout(patience, asking).await.ok().flatten()
    }

    async fn admin(&self, what_for: &str) -> Result<Connection, OpenError> {
        self.target.open(&format!("{}-{what_for}", self.plan.name), &mut Random::new(self.plan.seed, 0)).await
    }
}
