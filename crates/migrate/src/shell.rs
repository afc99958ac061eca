//! Looks at both brokers, and does what the machine wants.

use std::time::Instant;

use serde_json::Value;

use crate::address::path;
use crate::arguments::Settings;
use crate::broker::Broker;
use crate::facts::{self, Facts};
use crate::failure::Failure;
use crate::journal::Step;
use crate::link::{self, Direction, Link, PREFIX};
use crate::machine::Question;

/// Entries of a document at most: an import holds up what else the broker has to do.
const DOCUMENT_COUNT_MAX: usize = 200;

/// Both brokers.
pub(crate) struct Shell {
    pub(crate) settings: Settings,
    pub(crate) old: Broker,
    pub(crate) new: Broker,
    started: Instant,
}

impl Shell {
    pub(crate) fn new(settings: Settings) -> Self {
        let old = Broker::new("old", &settings.old, &settings.tls);
        let new = Broker::new("new", &settings.new, &settings.tls);
        Shell { settings, old, new, started: Instant::now() }
    }

    pub(crate) fn source(&mut self) -> &mut Broker {
        match self.settings.direction {
            Direction::Forward => &mut self.old,
            Direction::Back => &mut self.new,
        }
    }

    pub(crate) fn destination(&mut self) -> &mut Broker {
        match self.settings.direction {
            Direction::Forward => &mut self.new,
            Direction::Back => &mut self.old,
        }
    }

    /// How old the numbers of a look may be.
    pub(crate) fn lag_ms(&self) -> u64 {
        self.old.lag_ms().max(self.new.lag_ms())
    }

    /// What both brokers say now.
    pub(crate) async fn look(&mut self, question: Question, step: Step) -> Result<Facts, Failure> {
        let mut facts = Facts { destination: self.destination().queues().await?, ..Facts::default() };
        let source = self.source();
        facts.source = source.queues().await?;
        let connections = source
            .list("/api/connections?columns=name,user,vhost,protocol,user_provided_name,client_properties")
            .await?;
        let consumers = source.list("/api/consumers").await?;
        let channels = match step {
            Step::CutOver => source.list("/api/channels?columns=connection_details,message_stats").await?,
            _ => Vec::new(),
        };
        (facts.clients, facts.source_consumers) = facts::clients(&connections, &consumers, &channels);
        let listed = self.new.list("/api/shovels").await?;
        let defined = self.new.list("/api/parameters/shovel").await?;
        facts.shovels = facts::shovels(&listed, &defined);
        if question.ways {
            facts.ways = [ways(self.source()).await?, ways(self.destination()).await?];
        }
        facts.now_ms = u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX);
        if question.is_exact {
            self.source().count_ready(&mut facts.source).await?;
            self.destination().count_ready(&mut facts.destination).await?;
            facts.is_exact = true;
        }
        Ok(facts)
    }

    /// Starts shovels. Returns those that could not be started, and why.
    pub(crate) async fn start(&mut self, links: &[Link]) -> Result<Vec<(Link, String)>, Failure> {
        let mut failed = Vec::new();
        for links in links.chunks(DOCUMENT_COUNT_MAX) {
            match self.start_together(links).await {
                Err(Failure::Stopped(_)) => {
                    // A queue may have been deleted this moment: that is no reason to leave out the others.
                    for link in links {
                        match self.start_together(std::slice::from_ref(link)).await {
                            Err(Failure::Stopped(reason)) => failed.push((link.clone(), reason)),
                            other => other?,
                        }
                    }
                }
                other => other?,
            }
        }
        Ok(failed)
    }

    async fn start_together(&mut self, links: &[Link]) -> Result<(), Failure> {
        let direction = self.settings.direction;
        let ways = link::ways(direction, links.iter().map(|link| &link.queue));
        self.destination().import(&ways, false).await?;
        let old = self.settings.old_for_shovels.clone();
        let shovels = link::shovels(direction, links, &|vhost| old.uri_of(vhost));
        self.new.import(&shovels, false).await.map(drop)
    }

    pub(crate) async fn stop(&mut self, shovels: &[(String, String)]) -> Result<(), Failure> {
        for (vhost, name) in shovels {
            self.new.delete(&path(&["parameters", "shovel", vhost, name])).await?;
        }
        Ok(())
    }

    /// Removes exchanges of ours from the source and the destination.
    pub(crate) async fn remove_ways(&mut self, ways: &[Vec<(String, String)>; 2]) -> Result<(), Failure> {
        let [at_source, at_destination] = ways;
        for (vhost, name) in at_source {
            self.source().delete(&path(&["exchanges", vhost, name])).await?;
        }
        for (vhost, name) in at_destination {
            self.destination().delete(&path(&["exchanges", vhost, name])).await?;
        }
        Ok(())
    }

    pub(crate) async fn revoke(&mut self, vhosts: &[String]) -> Result<(), Failure> {
        let user = self.new.user.clone();
        for vhost in vhosts {
            self.new.delete(&path(&["permissions", vhost, &user])).await?;
        }
        Ok(())
    }
}

async fn ways(broker: &mut Broker) -> Result<Vec<(String, String)>, Failure> {
    let exchanges = broker.list("/api/exchanges?columns=vhost,name").await?;
    let way = |exchange: &Value| {
        let name = exchange["name"].as_str()?;
        Some((exchange["vhost"].as_str()?.to_owned(), name.starts_with(PREFIX).then(|| name.to_owned())?))
    };
    Ok(exchanges.iter().filter_map(way).collect())
}
