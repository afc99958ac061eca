//! A rule: what is watched, and from when on that is an alert.

use model::pattern::Pattern;
use serde_json::{Map, Value, json};

use crate::limits::{CLEAR_PART, DURATION_MAX_MS, REPEAT_MIN_MS, WINDOW_DEFAULT_MS, WINDOW_MIN_MS};
use crate::members::{MemberError, Members, check_name, exact, refuse};

/// What is watched, and so what a rule's threshold counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// Messages of a queue.
    QueueLength,
    /// Messages that wait in a queue without consumers.
    NoConsumers,
    /// The age of a queue's oldest ready message, in seconds.
    OldestAge,
    /// How many more ready messages a queue has for each second of a window.
    Growth,
    /// The memory alarm.
    MemoryAlarm,
    /// The disk alarm.
    DiskAlarm,
    /// Messages that were lost to damaged files, as long as no operator has taken note.
    DataLoss,
    /// What is out of order in the cluster: nodes that are unreachable, silent, late, or have another time.
    Cluster,
    /// Connections that are held up, in percent of all.
    Flow,
    /// Users and addresses that were locked out within a window.
    Lockouts,
    /// Connections, in percent of those that the limit of open files leaves room for.
    Connections,
    /// Messages that reached no queue, a minute, over a window.
    Unroutable,
}

impl Kind {
    /// All of them.
    pub const ALL: [Kind; 12] = [
        Kind::QueueLength,
        Kind::NoConsumers,
        Kind::OldestAge,
        Kind::Growth,
        Kind::MemoryAlarm,
        Kind::DiskAlarm,
        Kind::DataLoss,
        Kind::Cluster,
        Kind::Flow,
        Kind::Lockouts,
        Kind::Connections,
        Kind::Unroutable,
    ];

    /// What it is called.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Kind::QueueLength => "queue-length",
            Kind::NoConsumers => "no-consumers",
            Kind::OldestAge => "oldest-age",
            Kind::Growth => "growth",
            Kind::MemoryAlarm => "memory-alarm",
            Kind::DiskAlarm => "disk-alarm",
            Kind::DataLoss => "data-loss",
            Kind::Cluster => "cluster",
            Kind::Flow => "flow",
            Kind::Lockouts => "lock-outs",
            Kind::Connections => "connections",
            Kind::Unroutable => "unroutable",
        }
    }

    /// Whether it is about single queues.
    #[must_use]
    pub fn is_of_queues(self) -> bool {
        matches!(self, Kind::QueueLength | Kind::NoConsumers | Kind::OldestAge | Kind::Growth)
    }

    fn has_window(self) -> bool {
        matches!(self, Kind::Growth | Kind::Lockouts | Kind::Unroutable)
    }

    fn is_alarm(self) -> bool {
        matches!(self, Kind::MemoryAlarm | Kind::DiskAlarm | Kind::DataLoss)
    }

    /// The threshold, where a rule need not say it.
    fn threshold(self) -> Option<f64> {
        match self {
            Kind::QueueLength | Kind::OldestAge | Kind::Growth | Kind::Connections | Kind::Unroutable => None,
            Kind::NoConsumers
            | Kind::MemoryAlarm
            | Kind::DiskAlarm
            | Kind::DataLoss
            | Kind::Cluster
            | Kind::Flow
            | Kind::Lockouts => Some(0.0),
        }
    }
}

/// How bad it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Severity {
    /// Good to know.
    Info,
    /// An operator should look at it.
    Warning,
    /// An operator should look at it now.
    Critical,
}

impl Severity {
    /// All of them, the mildest first.
    pub const ALL: [Severity; 3] = [Severity::Info, Severity::Warning, Severity::Critical];

    /// What it is called.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Severity::Info => "info",
            Severity::Warning => "warning",
            Severity::Critical => "critical",
        }
    }
}

/// Which queues.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scope {
    /// In which vhosts.
    pub vhost: Pattern,
    /// By their names.
    pub queue: Pattern,
}

/// A rule.
#[derive(Debug, Clone, PartialEq)]
pub struct Rule {
    /// By which it is known.
    pub name: Box<str>,
    /// What is watched.
    pub kind: Kind,
    /// Where, if it is about queues.
    pub scope: Scope,
    /// Whether a queue's length counts unacked messages, too.
    pub(crate) counts_unacked: bool,
    /// The condition holds above this.
    pub threshold: f64,
    /// Once it fires it is over at this or below.
    pub clear: f64,
    /// How long it has to hold before it fires.
    pub(crate) for_ms: u64,
    /// How long it has to be over before it is resolved.
    pub(crate) clear_for_ms: u64,
    /// How often webhooks are reminded while it fires.
    pub(crate) repeat_ms: Option<u64>,
    /// What growth and rates are measured over.
    pub(crate) window_ms: u64,
    /// How bad it is.
    pub severity: Severity,
    /// The webhooks to notify; empty: all.
    pub webhooks: Box<[Box<str>]>,
}

/// Members of a rule as it is given.
const KNOWN: &[&str] = &[
    "kind",
    "vhost",
    "queue",
    "unacked",
    "above",
    "clear",
    "for",
    "clear_for",
    "repeat",
    "window",
    "severity",
    "webhooks",
];
/// Members that answers have beside them.
const SHOWN: &[&str] = &["name", "source", "problem", "untracked"];

impl Rule {
    /// Reads a rule as operators give it.
    pub fn parse(name: &str, members: &Map<String, Value>) -> Result<Rule, MemberError> {
        check_name(name)?;
        let members = Members(members);
        members.check_known(KNOWN, SHOWN)?;
        let kind = one_of("kind", members.text("kind")?, &Kind::ALL, Kind::name)?;
        let Some(kind) = kind else { return refuse(format!("'kind' is required: {}", names(&Kind::ALL, Kind::name))) };
        check_fits(kind, members)?;
        let pattern = |name: &str| -> Result<Pattern, MemberError> {
            let text = members.text(name)?;
            if text == Some("") {
                // It would match the empty name, which no queue has.
                return refuse(format!("'{name}' must not be empty: omit it to select all"));
            }
            let pattern = text.map_or(Ok(Pattern::all()), Pattern::parse);
            pattern.map_err(|error| MemberError(format!("'{name}': {error}")))
        };
        let duration = |name, first| members.duration_ms(name, first..=DURATION_MAX_MS);
        let Some(threshold) = members.number("above")?.or(kind.threshold()) else {
            return refuse(format!("a rule of the kind {} requires 'above'", kind.name()));
        };
        let clear = members.number("clear")?.unwrap_or(threshold * CLEAR_PART);
        if clear > threshold {
            return refuse("'clear' must not be greater than 'above'");
        }
        Ok(Rule {
            name: name.into(),
            kind,
            scope: Scope { vhost: pattern("vhost")?, queue: pattern("queue")? },
            counts_unacked: members.bool("unacked")?,
            threshold,
            clear,
            for_ms: duration("for", 0)?.unwrap_or(0),
            clear_for_ms: duration("clear_for", 0)?.unwrap_or(0),
            repeat_ms: duration("repeat", REPEAT_MIN_MS)?,
            window_ms: duration("window", WINDOW_MIN_MS)?.unwrap_or(WINDOW_DEFAULT_MS),
            severity: one_of("severity", members.text("severity")?, &Severity::ALL, Severity::name)?
                .unwrap_or(Severity::Warning),
            webhooks: members.texts("webhooks")?.into_iter().map(Box::from).collect(),
        })
    }

    /// The rule with everything that was not said, as it could have been given.
    #[must_use]
    pub fn shown(&self) -> Map<String, Value> {
        let mut shown = Map::new();
        let mut put = |name: &str, value: Value| shown.insert(name.to_owned(), value);
        put("name", json!(self.name));
        put("kind", json!(self.kind.name()));
        if self.kind.is_of_queues() {
            put("vhost", json!(self.scope.vhost.as_str()));
            put("queue", json!(self.scope.queue.as_str()));
        }
        if self.kind == Kind::QueueLength {
            put("unacked", json!(self.counts_unacked));
        }
        if !self.kind.is_alarm() {
            put("above", exact(self.threshold));
            put("clear", exact(self.clear));
        }
        put("for", json!(self.for_ms));
        put("clear_for", json!(self.clear_for_ms));
        if let Some(repeat_ms) = self.repeat_ms {
            put("repeat", json!(repeat_ms));
        }
        if self.kind.has_window() {
            put("window", json!(self.window_ms));
        }
        put("severity", json!(self.severity.name()));
        put("webhooks", json!(self.webhooks));
        shown
    }

    /// Whether it is for this webhook.
    pub(crate) fn notifies(&self, webhook: &str) -> bool {
        self.webhooks.is_empty() || self.webhooks.iter().any(|name| **name == *webhook)
    }

    /// Whether another rule means the same, so that its measurements are of use to this one. Those over another window are.
    pub(crate) fn measures_as(&self, other: &Rule) -> bool {
        self.kind == other.kind && self.scope == other.scope
    }
}

/// Whether nothing is said that means nothing for this kind.
fn check_fits(kind: Kind, members: Members<'_>) -> Result<(), MemberError> {
    let misfits: &[(&str, bool)] = &[
        ("vhost", kind.is_of_queues()),
        ("queue", kind.is_of_queues()),
        ("unacked", kind == Kind::QueueLength),
        ("above", !kind.is_alarm()),
        ("clear", !kind.is_alarm()),
        ("window", kind.has_window()),
    ];
    match misfits.iter().find(|(name, fits)| !fits && members.has(name)) {
        Some((name, _)) => refuse(format!("a rule of the kind {} cannot have '{name}'", kind.name())),
        None => Ok(()),
    }
}

fn one_of<T: Copy>(
    name: &str,
    text: Option<&str>,
    all: &[T],
    name_of: fn(T) -> &'static str,
) -> Result<Option<T>, MemberError> {
    let Some(text) = text else { return Ok(None) };
    match all.iter().find(|item| name_of(**item) == text) {
        Some(item) => Ok(Some(*item)),
        None => refuse(format!("'{name}' must be one of {}", names(all, name_of))),
    }
}

fn names<T: Copy>(all: &[T], name_of: fn(T) -> &'static str) -> String {
    all.iter().map(|item| name_of(*item)).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(members: Value) -> Result<Rule, String> {
        let Value::Object(members) = members else { panic!("{members}") };
        Rule::parse("r", &members).map_err(|error| error.to_string())
    }

    #[track_caller]
    fn check_refused(members: Value, text: &str) {
        assert_eq!(parse(members).unwrap_err(), text);
    }

    #[test]
    fn what_is_not_said_has_a_default() {
        let rule = parse(json!({"kind": "queue-length", "above": 1000})).unwrap();
        assert_eq!((rule.threshold, rule.clear, rule.severity), (1000.0, 900.0, Severity::Warning));
        assert!(rule.scope.vhost.is_match("any") && rule.scope.queue.is_match("") && rule.notifies("anyone"));
        assert_eq!(parse(json!({"kind": "no-consumers"})).unwrap().threshold, 0.0);
    }

    #[test]
    fn a_rule_can_be_given_as_it_is_shown() {
        for kind in Kind::ALL {
            let mut members = json!({"kind": kind.name(), "for": "90s", "repeat": "1h", "webhooks": ["a"]});
            if kind.threshold().is_none() {
                members["above"] = json!(2.5);
            }
            let rule = parse(members).unwrap();
            assert_eq!(parse(Value::Object(rule.shown())).unwrap(), rule, "{kind:?}");
            assert_eq!((rule.for_ms, rule.repeat_ms), (90_000, Some(3_600_000)));
        }
        for above in [0.0004, 0.1 + 0.2, 1e15, 9_007_199_254_740_992.0] {
            let rule = parse(json!({"kind": "growth", "above": above})).unwrap();
            assert_eq!(parse(Value::Object(rule.shown())).unwrap(), rule);
        }
    }

    #[test]
    fn what_makes_no_sense_is_refused_with_its_reason() {
        check_refused(json!({"kind": "growth"}), "a rule of the kind growth requires 'above'");
        check_refused(json!({"kind": "flow", "queue": "q"}), "a rule of the kind flow cannot have 'queue'");
        check_refused(json!({"kind": "disk-alarm", "above": 1}), "a rule of the kind disk-alarm cannot have 'above'");
        check_refused(json!({"kind": "flow", "above": -1}), "'above' must be a number from 0 to 9007199254740992");
        check_refused(json!({"kind": "growth", "above": 1e308}), "'above' must be a number from 0 to 9007199254740992");
        check_refused(
            json!({"kind": "growth", "above": 1, "queue": ""}),
            "'queue' must not be empty: omit it to select all",
        );
        check_refused(json!({"kind": "flow", "above": 5, "clear": 6}), "'clear' must not be greater than 'above'");
        check_refused(json!({"kind": "flow", "severity": "bad"}), "'severity' must be one of info, warning, critical");
        check_refused(json!({"kind": "flow", "webhooks": "a"}), "'webhooks' must be a list of texts");
        let unknown = parse(json!({"kind": "flow", "abov": 5})).unwrap_err();
        assert!(unknown.starts_with("'abov' is not one of kind, vhost"), "{unknown}");
        let short = parse(json!({"kind": "flow", "repeat": "1s"})).unwrap_err();
        assert!(short.starts_with("'repeat' must be milliseconds"), "{short}");
        assert!(
            parse(json!({"kind": "growth", "above": 1, "queue": "("})).unwrap_err().starts_with("'queue': invalid")
        );
        assert!(Rule::parse("", &Map::new()).is_err() && Rule::parse(&"x".repeat(101), &Map::new()).is_err());
    }
}
