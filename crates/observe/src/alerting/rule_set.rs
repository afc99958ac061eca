//! Where rules and webhooks are: in the configuration, which does not change while the broker runs, and in global parameters, one
//! each, which are durable and travel with definitions. An entry of the configuration precedes a parameter of the same name.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use alerts::limits::{RULE_COUNT_MAX, WEBHOOK_COUNT_MAX};
use alerts::{Rule, Webhook};
use broker::{Actor, Broker, Changed};
use http_client::HttpUrl;
use model::config::AlertOptions;
use model::parameter::GlobalParameter;
use net::{ClientTls, ClientTlsOptions, Trust};
use serde_json::{Map, Value};

use crate::SetupError;

/// What the names of these parameters begin with.
pub(super) const PREFIX: &str = GlobalParameter::ALERTS;

/// A kind of thing in the book.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Family {
    /// What one is called.
    pub word: &'static str,
    prefix: &'static str,
    count_max: usize,
}

/// Rules.
pub const RULES: Family = Family { word: "rule", prefix: "warren-alerts.rules.", count_max: RULE_COUNT_MAX };
/// Webhooks.
pub const WEBHOOKS: Family =
    Family { word: "webhook", prefix: "warren-alerts.webhooks.", count_max: WEBHOOK_COUNT_MAX };

/// Where something was said.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// In the configuration.
    Configuration,
    /// In a global parameter.
    Runtime,
}

impl Source {
    /// How it is shown.
    pub fn name(self) -> &'static str {
        match self {
            Source::Configuration => "configuration",
            Source::Runtime => "runtime",
        }
    }
}

/// A rule or a webhook, as it was given.
#[derive(Debug, Clone)]
pub struct RuleSetEntry {
    /// Its name.
    pub name: String,
    /// Where it was given.
    pub source: Source,
    /// What was given.
    pub given: Map<String, Value>,
}

/// A webhook, and the way to it.
#[derive(Debug, Clone, PartialEq)]
pub struct WebhookTarget {
    /// The webhook.
    pub webhook: Webhook,
    /// With the authorities to trust, if they are not the system's.
    pub url: HttpUrl,
}

impl WebhookTarget {
    /// Reads a webhook that was given here or there.
    pub fn parse(name: &str, given: &Map<String, Value>, source: Source) -> Result<WebhookTarget, String> {
        let webhook = Webhook::parse(name, given).map_err(|error| error.to_string())?;
        let url = HttpUrl::parse(&webhook.url).map_err(|error| error.to_string())?;
        if source == Source::Runtime && webhook.cacertfile.is_some() {
            return Err("'cacertfile' names a file of the host, and can only be set in the configuration".to_owned());
        }
        Ok(WebhookTarget { webhook, url })
    }

    /// Reads the file of authorities that it names, if it names one.
    fn authorities(&self) -> Result<Option<ClientTls>, String> {
        let file = self.webhook.cacertfile.as_ref().filter(|_| self.url.is_tls());
        let Some(file) = file else { return Ok(None) };
        let trust = Trust::File(PathBuf::from(file));
        let tls = ClientTls::new(&ClientTlsOptions::trusting(trust));
        tls.map(Some).map_err(|error| error.to_string())
    }
}

/// All that can be read of rules and webhooks.
pub(super) struct ParsedRuleSet {
    pub(super) rules: Vec<Rule>,
    pub(super) webhooks: Vec<WebhookTarget>,
}

/// What the configuration says, and the way to the rest.
#[derive(Debug)]
pub struct RuleSet {
    rules: BTreeMap<String, Map<String, Value>>,
    webhooks: BTreeMap<String, Map<String, Value>>,
    /// Authorities to trust, of webhooks of the configuration that name some: read once, so that no delivery waits for a file afterwards.
    authorities: BTreeMap<String, ClientTls>,
}

impl RuleSet {
    /// Checks what the configuration says.
    pub(super) fn new(options: &AlertOptions) -> Result<Self, SetupError> {
        let key = |family: Family, name: &str| format!("warren.alerts.{}s.{name}", family.word);
        let mut authorities = BTreeMap::new();
        for (name, given) in &options.webhooks {
            let target = WebhookTarget::parse(name, given, Source::Configuration);
            let read = target.and_then(|target| target.authorities());
            let read = read.map_err(|error| SetupError(format!("{}: {error}", key(WEBHOOKS, name))))?;
            authorities.extend(read.map(|tls| (name.clone(), tls)));
        }
        for (name, given) in &options.rules {
            let rule =
                Rule::parse(name, given).map_err(|error| SetupError(format!("{}: {error}", key(RULES, name))))?;
            if let Some(missing) = rule.webhooks.iter().find(|name| !options.webhooks.contains_key(&***name)) {
                let reason = format!("no webhook '{missing}' in the configuration");
                return Err(SetupError(format!("{}: {reason}", key(RULES, name))));
            }
        }
        for (family, count) in [(RULES, options.rules.len()), (WEBHOOKS, options.webhooks.len())] {
            if count > family.count_max {
                return Err(SetupError(format!("{count} {}s exceed the maximum of {}", family.word, family.count_max)));
            }
        }
        Ok(Self { rules: options.rules.clone(), webhooks: options.webhooks.clone(), authorities })
    }

    fn configured(&self, family: Family) -> &BTreeMap<String, Map<String, Value>> {
        if family == RULES { &self.rules } else { &self.webhooks }
    }

    /// All of a family, by name, whether it can be read or not.
    pub fn entries(&self, broker: &Broker, family: Family) -> Vec<RuleSetEntry> {
        self.merged(&broker.global_parameters_below(family.prefix), family)
    }

    /// One of a family.
    pub fn entry(&self, broker: &Broker, family: Family, name: &str) -> Option<RuleSetEntry> {
        self.entries(broker, family).into_iter().find(|entry| entry.name == name)
    }

    /// A webhook of the book, and the way to it.
    pub fn target(&self, entry: &RuleSetEntry) -> Result<WebhookTarget, String> {
        let target = WebhookTarget::parse(&entry.name, &entry.given, entry.source)?;
        Ok(match (entry.source, self.authorities.get(&entry.name)) {
            (Source::Configuration, Some(tls)) => WebhookTarget { url: target.url.trusting(tls.clone()), ..target },
            _ => target,
        })
    }

    /// Names of the webhooks that can be notified.
    pub fn webhook_names(&self, broker: &Broker) -> BTreeSet<String> {
        let entries = self.entries(broker, WEBHOOKS).into_iter();
        entries.filter(|entry| self.target(entry).is_ok()).map(|entry| entry.name).collect()
    }

    fn merged(&self, parameters: &[GlobalParameter], family: Family) -> Vec<RuleSetEntry> {
        let entry = |name: &str, source, given: &Map<String, Value>| {
            (name.to_owned(), RuleSetEntry { name: name.to_owned(), source, given: given.clone() })
        };
        let mut entries = BTreeMap::new();
        for parameter in parameters {
            let (Some(name), Some(given)) = (parameter.name.strip_prefix(family.prefix), parameter.value.as_object())
            else {
                continue;
            };
            entries.extend([entry(name, Source::Runtime, given)]);
        }
        let configured = self.configured(family).iter();
        entries.extend(configured.map(|(name, given)| entry(name, Source::Configuration, given)));
        entries.into_values().collect()
    }

    /// All that can be read; what cannot is logged, for it came by a way that checks nothing.
    pub(super) fn read(&self, parameters: &[GlobalParameter]) -> ParsedRuleSet {
        fn all<T>(
            entries: Vec<RuleSetEntry>,
            family: Family,
            parse: impl Fn(&RuleSetEntry) -> Result<T, String>,
        ) -> Vec<T> {
            let mut read = Vec::new();
            for entry in entries {
                let (what, name) = (family.word, &entry.name);
                match parse(&entry) {
                    Ok(_) if read.len() >= family.count_max => {
                        tracing::warn!(what, name, "the maximum number is exceeded; this one is ignored");
                    }
                    Ok(item) => read.push(item),
                    Err(error) => tracing::warn!(what, name, error, "invalid alert rule or webhook"),
                }
            }
            read
        }
        let rule = |entry: &RuleSetEntry| Rule::parse(&entry.name, &entry.given).map_err(|error| error.to_string());
        let book = ParsedRuleSet {
            rules: all(self.merged(parameters, RULES), RULES, rule),
            webhooks: all(self.merged(parameters, WEBHOOKS), WEBHOOKS, |entry| self.target(entry)),
        };
        let names: BTreeSet<&str> = book.webhooks.iter().map(|target| &*target.webhook.name).collect();
        for rule in &book.rules {
            for webhook in rule.webhooks.iter().filter(|name| !names.contains(&***name)) {
                tracing::warn!(
                    rule = &*rule.name,
                    webhook = &**webhook,
                    "alert rule names a webhook that does not exist"
                );
            }
        }
        book
    }

    /// Sets a rule or a webhook that has been checked.
    pub fn put(
        &self,
        broker: &Broker,
        actor: &Actor,
        family: Family,
        name: &str,
        given: Map<String, Value>,
    ) -> Result<Changed, String> {
        self.check_changeable(family, name)?;
        let entries = self.entries(broker, family);
        if entries.len() >= family.count_max && entries.iter().all(|entry| entry.name != name) {
            return Err(format!("the maximum is {} {}s", family.count_max, family.word));
        }
        let put = broker.put_global_parameter(actor, &parameter(family, name), Value::Object(given));
        put.map_err(|error| error.to_string())
    }

    /// Removes a rule or a webhook that is there.
    pub fn delete(&self, broker: &Broker, actor: &Actor, family: Family, name: &str) -> Result<Changed, String> {
        self.check_changeable(family, name)?;
        broker.delete_global_parameter(actor, &parameter(family, name)).map_err(|error| error.to_string())
    }

    fn check_changeable(&self, family: Family, name: &str) -> Result<(), String> {
        if self.configured(family).contains_key(name) {
            return Err(format!("the {} '{name}' is in the configuration, and can only be changed there", family.word));
        }
        Ok(())
    }
}

fn parameter(family: Family, name: &str) -> String {
    format!("{}{name}", family.prefix)
}

/// Whether a global parameter is a rule or a webhook: it may have secrets, and only administrators may set it.
pub fn is_parameter(name: &str) -> bool {
    name.starts_with(PREFIX)
}

/// Whether a global parameter, if it is a rule or a webhook, can be read as one.
pub fn check_parameter(parameter: &GlobalParameter) -> Result<(), String> {
    if !is_parameter(&parameter.name) {
        return Ok(());
    }
    let Some(given) = parameter.value.as_object() else {
        return Err(format!("the parameter '{}' must be an object", parameter.name));
    };
    let checked = match (parameter.name.strip_prefix(RULES.prefix), parameter.name.strip_prefix(WEBHOOKS.prefix)) {
        (Some(name), _) => Rule::parse(name, given).map(drop).map_err(|error| error.to_string()),
        (_, Some(name)) => WebhookTarget::parse(name, given, Source::Runtime).map(drop),
        _ => return Err(format!("only names of alert rules and webhooks may start with '{PREFIX}'")),
    };
    checked.map_err(|error| format!("the parameter '{}': {error}", parameter.name))
}
