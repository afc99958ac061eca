//! The first steps: what is checked before anything is changed, and which definitions are brought.

use std::collections::BTreeSet;

use preflight::{AnswerTexts, Report, Severity, grouped};
use serde_json::{Value, json};

use crate::definitions;
use crate::failure::Failure;
use crate::link::{Direction, PREFIX};
use crate::report::counted;
use crate::shell::Shell;

/// Places of a finding that are named.
const PLACE_COUNT_MAX: usize = 3;

/// The lists of definitions that say who may do what where.
const OF_USERS: [&str; 3] = ["users", "vhosts", "permissions"];

/// What a check has found.
pub(crate) struct Checked {
    /// Of the old broker; not on the way back.
    pub(crate) report: Option<Report>,
    /// Upstreams of federation that come along, and then feed both brokers.
    pub(crate) upstream_count: u64,
    /// Shovels and links of the source itself: the cut-over waits until their definitions are deleted there.
    pub(crate) runners: Vec<Runner>,
    /// Delayed messages, which only their exchange can deliver.
    pub(crate) delayed: Vec<(String, u64)>,
}

impl Checked {
    /// Whether something is refused.
    pub(crate) fn is_refused(&self) -> bool {
        self.report.as_ref().is_some_and(|report| report.severity() == Severity::Refused)
    }

    /// What is refused, and what differs, as lines.
    pub(crate) fn lines(&self) -> Vec<String> {
        let mut lines = Vec::new();
        if let Some(report) = &self.report {
            let (total, works) = (grouped(report.total()), grouped(report.works));
            let (different, refused) = (grouped(report.different), grouped(report.refused));
            lines.push(format!(
                "{works} of {total} plugins, settings and objects work as they are; different: {different}; refused: {refused}"
            ));
            for group in report.of_severity(Severity::Refused) {
                let mut places: Vec<String> =
                    group.places.iter().take(PLACE_COUNT_MAX).map(|place| place.object.to_string()).collect();
                if group.places.len() > PLACE_COUNT_MAX {
                    places.push(format!("{} more", grouped(group.places.len() - PLACE_COUNT_MAX)));
                }
                places.retain(|place| !place.is_empty());
                let places = if places.is_empty() { String::new() } else { format!(" ({})", places.join(", ")) };
                lines.push(format!("refused: {}{places}", group.text));
            }
        }
        if self.upstream_count > 0 {
            let upstreams = counted(self.upstream_count, "upstream");
            let does = if self.upstream_count == 1 {
                "is also imported and connects"
            } else {
                "are also imported and connect"
            };
            lines.push(format!(
                "{upstreams} of federation {does} both brokers: federated exchanges get messages twice, unless the upstreams are \
                 deleted at the old broker first"
            ));
        }
        for runner in self.runners.iter().take(PLACE_COUNT_MAX) {
            lines.push(format!(
                "the old broker itself runs the {}, and the cut-over waits until it stops: {}",
                runner.name, runner.advice
            ));
        }
        if self.runners.len() > PLACE_COUNT_MAX {
            let others = self.runners.iter().skip(PLACE_COUNT_MAX).map(|runner| runner.name.as_str());
            lines.push(format!("it also waits for these: {}", others.collect::<Vec<_>>().join(", ")));
        }
        for (exchange, count) in &self.delayed {
            lines.push(format!("{count} messages are delayed in {exchange}: they stay there until they are due"));
        }
        lines
    }

    pub(crate) fn value(&self) -> Value {
        let report = self.report.as_ref().map(|report| {
            let refused = report.of_severity(Severity::Refused).map(|group| {
                let places = group.places.iter().map(|place| place.object.clone());
                json!({"text": group.text, "places": places.collect::<Vec<_>>()})
            });
            json!({"works": report.works, "different": report.different, "refused": report.refused,
                   "findings": refused.collect::<Vec<_>>()})
        });
        let delayed = self.delayed.iter().map(|(exchange, count)| json!({"exchange": exchange, "messages": count}));
        let runners = self.runners.iter().map(|runner| json!({"name": runner.name, "advice": runner.advice}));
        json!({"preflight": report, "upstreams": self.upstream_count, "runners": runners.collect::<Vec<_>>(),
               "delayed": delayed.collect::<Vec<_>>()})
    }
}

/// What a broker runs itself, and what is a client of it like others.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Runner {
    /// Such as `shovel 'mine' in '/'`.
    pub(crate) name: String,
    /// What to do, so that the cut-over does not wait for it.
    pub(crate) advice: String,
}

/// Shovels of a broker, by what it lists, without those of a migration.
fn shovels(listed: &[Value]) -> Vec<Runner> {
    let runner = |shovel: &Value| {
        let name = shovel["name"].as_str().filter(|name| !name.starts_with(PREFIX))?;
        let vhost = shovel["vhost"].as_str();
        // One of the configuration has no vhost, or has the type `static`.
        let is_static = vhost.is_none() || shovel["type"] == "static";
        let (name, advice) = match vhost.filter(|_| !is_static) {
            Some(vhost) => (
                format!("shovel '{name}' in '{vhost}'"),
                format!(
                    "it is imported and runs at the new broker: then run `rabbitmqctl clear_parameter -p {vhost} shovel {name}` at the \
                     old broker"
                ),
            ),
            None => (
                format!("shovel '{name}' of the configuration"),
                "add it to the new broker's configuration, remove it from the old broker's, and restart the old node"
                    .to_owned(),
            ),
        };
        Some(Runner { name, advice })
    };
    listed.iter().filter_map(runner).collect()
}

/// Upstreams whose links a broker runs, by its parameters.
fn upstreams(parameters: &[Value]) -> Vec<Runner> {
    let is_upstream = |parameter: &&Value| parameter["component"] == "federation-upstream";
    let runner = |parameter: &Value| {
        let (name, vhost) = (parameter["name"].as_str()?, parameter["vhost"].as_str()?);
        Some(Runner {
            name: format!("links of the upstream '{name}' in '{vhost}'"),
            advice: format!(
                "the upstream is imported: then run `rabbitmqctl clear_parameter -p {vhost} federation-upstream {name}` at the old \
                 broker"
            ),
        })
    };
    parameters.iter().filter(is_upstream).filter_map(runner).collect()
}

/// What was brought.
pub(crate) struct Brought {
    /// How many entries by list.
    pub(crate) counts: Vec<(String, usize)>,
    pub(crate) left_out: Vec<String>,
    /// Vhosts of the new broker in which our user got permissions.
    pub(crate) granted: Vec<String>,
}

impl Shell {
    /// Asks both brokers for product, version and user.
    pub(crate) async fn identify(&mut self) -> Result<(), Failure> {
        self.old.identify().await?;
        self.new.identify().await?;
        if !self.new.is_warren {
            let (named, product) = (self.new.named(), &self.new.product);
            return Err(Failure::Stopped(format!(
                "{named} is {product}: --to must be a Warren, and --back moves from it"
            )));
        }
        Ok(())
    }

    /// Looks at what cannot be moved. Changes nothing.
    pub(crate) async fn check(&mut self) -> Result<Checked, Failure> {
        let (report, upstream_count, runners) = match self.settings.direction {
            Direction::Forward => {
                self.examine().await.map(|(report, count, runners)| (Some(report), count, runners))?
            }
            Direction::Back => (None, 0, Vec::new()),
        };
        let source = self.source();
        let exchanges = source.list("/api/exchanges").await?;
        let delayed = |exchange: &Value| {
            let count = exchange["messages_delayed"].as_u64().filter(|count| *count > 0)?;
            let (name, vhost) = (exchange["name"].as_str()?, exchange["vhost"].as_str()?);
            Some((format!("exchange '{name}' in '{vhost}'"), count))
        };
        let checked =
            Checked { report, upstream_count, runners, delayed: exchanges.iter().filter_map(delayed).collect() };
        self.check_permissions().await?;
        Ok(checked)
    }

    /// What of the old broker works at the new one, how many upstreams it has, and what it runs itself.
    async fn examine(&mut self) -> Result<(Report, u64, Vec<Runner>), Failure> {
        let mut answers = AnswerTexts::new(self.old.named());
        let mut listed = Vec::new();
        for (member, path) in preflight::QUESTIONS {
            let answer = self.old.text(&format!("/api/{path}")).await?;
            if *member == "shovels" {
                // A broker without the plugin has none, and answers something else.
                listed = serde_json::from_str(&answer).unwrap_or_default();
            }
            answers.put(member, answer);
        }
        let parameters = self.old.lists(&["parameters"]).await?;
        let parameters = parameters["parameters"].as_array().map_or(&[][..], Vec::as_slice);
        let is_upstream = |parameter: &&Value| parameter["component"] == "federation-upstream";
        let upstream_count = parameters.iter().filter(is_upstream).count() as u64;
        let runners = shovels(&listed).into_iter().chain(upstreams(parameters)).collect();
        let report = preflight::examine_with(&[], Some(&answers))
            .map_err(|unreadable| Failure::stopped(unreadable.to_string()))?;
        Ok((report, upstream_count, runners))
    }

    /// Shovels log in at the old broker with the user of its URI, which needs permissions in each vhost. The operator gives them: that
    /// broker's users are none of our business.
    async fn check_permissions(&mut self) -> Result<(), Failure> {
        let user = self.settings.old_for_shovels.uri.user.clone();
        let definitions = self.old.lists(&OF_USERS).await?;
        let is_known =
            definitions["users"].as_array().is_some_and(|users| users.iter().any(|entry| entry["name"] == user));
        let permitted = definitions::permitted(&definitions, &user);
        let lacking: Vec<String> =
            definitions::vhosts(&definitions).into_iter().filter(|vhost| !permitted.contains(vhost)).collect();
        if !is_known || lacking.is_empty() {
            return Ok(());
        }
        let vhosts = lacking.iter().map(|vhost| format!("'{vhost}'")).collect::<Vec<_>>().join(", ");
        Err(Failure::Stopped(format!(
            "user '{user}' has no permissions at {} in {vhosts}: grant them with rabbitmqctl set_permissions -p VHOST {user} '.*' '.*' \
             '.*'",
            self.old.named()
        )))
    }

    /// What the destination would get now, with all that the first import sets, or what it would get later.
    pub(crate) async fn lacking(&mut self, is_first: bool) -> Result<Value, Failure> {
        let source = self.source().definitions().await?;
        let destination = self.destination().definitions().await?;
        let user = self.destination().user.clone();
        let differing = if is_first { definitions::differing(&source, &destination) } else { Vec::new() };
        let mut document = definitions::lacking(source, &destination, &user);
        differing.into_iter().for_each(|(list, entries)| document[list] = Value::Array(entries));
        Ok(document)
    }

    /// Brings all definitions to Warren; on the way back those that the old broker lacks.
    pub(crate) async fn define(&mut self) -> Result<Brought, Failure> {
        if self.settings.direction == Direction::Back {
            return self.complete().await;
        }
        let source = self.old.definitions().await?;
        let destination = self.new.lists(&OF_USERS).await?;
        let document = definitions::all(source, &destination, &self.new.user);
        let left_out = self.new.import(&document, self.settings.skips_unsupported).await?;
        let granted = self.grant().await?;
        Ok(Brought { counts: definitions::counted(&document), left_out, granted })
    }

    /// Brings what the destination lacks.
    pub(crate) async fn complete(&mut self) -> Result<Brought, Failure> {
        let document = self.lacking(false).await?;
        let counts = definitions::counted(&document);
        let mut left_out = Vec::new();
        if !counts.is_empty() {
            let skips = self.settings.direction == Direction::Forward && self.settings.skips_unsupported;
            left_out = self.destination().import(&document, skips).await?;
        }
        let new_vhosts: Vec<String> = definitions::vhosts(&document).into_iter().collect();
        if self.settings.direction == Direction::Back && !new_vhosts.is_empty() {
            let permissions = definitions::permissions(&self.settings.old_for_shovels.uri.user, &new_vhosts);
            self.old.import(&permissions, false).await?;
        }
        let granted = self.grant().await?;
        Ok(Brought { counts, left_out, granted })
    }

    /// Gives our user what it lacks at the new broker, where its vhosts have just been made. Returns where.
    async fn grant(&mut self) -> Result<Vec<String>, Failure> {
        let definitions = self.new.lists(&OF_USERS).await?;
        let user = self.new.user.clone();
        let is_known =
            definitions["users"].as_array().is_some_and(|users| users.iter().any(|entry| entry["name"] == user));
        let permitted: BTreeSet<String> = definitions::permitted(&definitions, &user);
        let lacking: Vec<String> =
            definitions::vhosts(&definitions).into_iter().filter(|vhost| !permitted.contains(vhost)).collect();
        // The operator at the control socket is no user, and may do everything.
        if !is_known || lacking.is_empty() {
            return Ok(Vec::new());
        }
        self.new.import(&definitions::permissions(&user, &lacking), false).await?;
        Ok(lacking)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_old_broker_runs_itself_is_named_with_what_to_do() {
        let listed = [
            json!({"name": "mine", "vhost": "/", "type": "dynamic", "state": "running"}),
            json!({"name": "warren-migrate.forward.1", "vhost": "/", "type": "dynamic"}),
            json!({"name": "of_config", "type": "static"}),
        ];
        let parameters = [
            json!({"component": "federation-upstream", "vhost": "v", "name": "up", "value": {}}),
            json!({"component": "shovel", "vhost": "/", "name": "mine", "value": {}}),
        ];
        let runners: Vec<Runner> = shovels(&listed).into_iter().chain(upstreams(&parameters)).collect();
        let names: Vec<&str> = runners.iter().map(|runner| runner.name.as_str()).collect();
        assert_eq!(
            names,
            ["shovel 'mine' in '/'", "shovel 'of_config' of the configuration", "links of the upstream 'up' in 'v'"]
        );
        assert!(runners[0].advice.contains("clear_parameter -p / shovel mine"), "{}", runners[0].advice);
        let checked = Checked { report: None, upstream_count: 0, runners, delayed: Vec::new() };
        let lines = checked.lines();
        assert!(lines[0].starts_with(
            "the old broker itself runs the shovel 'mine' in '/', and the cut-over waits until it stops: "
        ));
    }
}
