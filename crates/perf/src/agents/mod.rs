//! Runs on several machines: `warren perf agent` on each, one coordinator (`--agents`) that generates no load itself.
//!
//! ```text
//!  coordinator                                        agent
//!     │ ◄──────────── Hello: version, nonce ───────────── │   or Refused: busy
//!     │ ───────────── Hello: version, nonce, proof ─────► │
//!     │ ◄──────────── Welcome: proof, processors ──────── │   or Refused: version, token
//!     │ ───── Ping / Pong, many: whose clock is ahead ──► │
//!     │ ───── Prepare: the command, which part of it ───► │   Prepared: so many threads
//!     │ ───── StartConsumers, StartOthers ──────────────► │   Started: so many tasks
//!     │ ───── Start: at this time of your clock ────────► │   Told: what tasks have to say, whenever they do
//!     │ ───── Collect, once an interval ────────────────► │   Collected
//!     │ ───── Drain, End, Leave ────────────────────────► │   Left
//! ```
//!
//!  clocks         whose clock is ahead, and how well that is known
//!  token          proof of the right to command an agent
//!  wire           messages as bytes
//!  message        what they say
//!  order          the command as an agent receives it
//!  wire_interval  what a thread has measured in an interval, as it is sent
//!  agent_pool     the coordinator's side
//!  link           the coordinator's connection to one agent
//!  serve          the agent's side
//!
//! Nothing is encrypted: between machines that do not trust their network, this belongs into a tunnel.

mod agent_pool;
mod clocks;
mod link;
mod message;
mod order;
mod serve;
mod token;
mod wire;
mod wire_interval;

pub(crate) use agent_pool::{AgentPool, DEFAULT_PORT};
pub(crate) use order::{Order, Surroundings};
pub(crate) use serve::{Agent, Job};

#[cfg(test)]
mod tests {
    use tokio::net::TcpListener;

    use super::*;
    use crate::watch;

    #[tokio::test]
    async fn processors_of_all_agents_count() {
        let mut addresses = Vec::new();
        let mut listeners = Vec::new();
        for _ in 0..2 {
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            addresses.push(listener.local_addr().unwrap().to_string());
            listeners.push(listener);
        }
        let agents = listeners.into_iter().map(|listener| Agent {
            listener,
            token: "t".to_owned(),
            read: &|_, _| Box::pin(async { Err("nothing is to be done".to_owned()) }),
            say: &|_| {},
        });
        let [one, other] = <[Agent<'_>; 2]>::try_from(agents.collect::<Vec<_>>()).ok().unwrap();
        tokio::select! {
            pool = AgentPool::connect(&addresses, "t", Order::default()) => {
                assert_eq!(pool.unwrap().processors(), 2 * watch::processors());
            }
            () = one.run() => {}
            () = other.run() => {}
        }
    }
}
