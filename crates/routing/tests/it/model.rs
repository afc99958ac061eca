//! Exchanges as simply as can be: lists that are searched from end to end.

use std::collections::{BTreeMap, BTreeSet};

use amqp::table::{TableBuf, Value};
use routing::ExchangeType;

use crate::broker::line;
use crate::naive_hash::{consistent_choice, modulus_choice, weight};

/// A vhost.
#[derive(Debug, Default)]
pub(crate) struct Model {
    pub(crate) exchanges: BTreeMap<String, ModelExchange>,
    pub(crate) queues: BTreeSet<String>,
    pub(crate) bindings: Vec<ModelBinding>,
}

#[derive(Debug, Clone)]
pub(crate) struct ModelExchange {
    pub(crate) kind: ExchangeType,
    pub(crate) is_auto_delete: bool,
    pub(crate) alternate: Option<String>,
    pub(crate) policy_alternate: Option<String>,
    /// A consistent hash exchange hashes this header, or the routing key.
    pub(crate) hash_header: Option<String>,
}

/// A binding. Its end is `q:NAME` or `e:NAME`.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ModelBinding {
    pub(crate) source: String,
    pub(crate) to: String,
    pub(crate) key: String,
    pub(crate) arguments: TableBuf,
}

/// What was removed, in lines as those of `describe_removed`.
pub(crate) type ModelRemoved = (Vec<String>, Vec<String>);

impl Model {
    pub(crate) fn has(&self, to: &str) -> bool {
        match to.split_once(':') {
            Some(("q", name)) => self.queues.contains(name),
            Some((_, name)) => self.exchanges.contains_key(name),
            None => false,
        }
    }

    /// Whether an exchange may be the source of a binding with this key.
    pub(crate) fn is_valid_key(&self, source: &str, key: &str) -> bool {
        self.exchanges.get(source).is_some_and(|it| it.kind != ExchangeType::ConsistentHash || weight(key).is_some())
    }

    pub(crate) fn bind(&mut self, binding: ModelBinding) -> bool {
        let is_new = !self.bindings.contains(&binding);
        if is_new {
            self.bindings.push(binding);
        }
        is_new
    }

    pub(crate) fn unbind(&mut self, binding: &ModelBinding) -> ModelRemoved {
        let mut removed = ModelRemoved::default();
        self.remove_bindings(|it| it == binding, true, &mut removed);
        sorted(removed)
    }

    pub(crate) fn delete_queue(&mut self, name: &str) -> ModelRemoved {
        let mut removed = ModelRemoved::default();
        self.queues.remove(name);
        self.remove_bindings(|it| it.to == format!("q:{name}"), true, &mut removed);
        sorted(removed)
    }

    pub(crate) fn delete_exchange(&mut self, name: &str) -> ModelRemoved {
        let mut removed = ModelRemoved::default();
        self.remove_exchange(name, &mut removed);
        sorted(removed)
    }

    fn remove_exchange(&mut self, name: &str, removed: &mut ModelRemoved) {
        self.exchanges.remove(name);
        removed.1.push(name.to_owned());
        self.remove_bindings(|it| it.source == name, false, removed);
        self.remove_bindings(|it| it.to == format!("e:{name}"), true, removed);
    }

    fn remove_bindings(
        &mut self,
        is_doomed: impl Fn(&ModelBinding) -> bool,
        auto_delete: bool,
        removed: &mut ModelRemoved,
    ) {
        let (doomed, kept) = self.bindings.drain(..).partition::<Vec<_>, _>(is_doomed);
        self.bindings = kept;
        removed.0.extend(doomed.iter().map(ModelBinding::describe));
        if auto_delete {
            for source in doomed.iter().map(|it| &it.source).collect::<BTreeSet<_>>() {
                let is_unused = !self.bindings.iter().any(|it| it.source == *source);
                if is_unused && self.exchanges.get(source).is_some_and(|it| it.is_auto_delete) {
                    self.remove_exchange(source, removed);
                }
            }
        }
    }

    /// All that the random exchanges on the way may make of a message: lists of queues.
    pub(crate) fn routes(&self, exchange: &str, keys: &[&str], headers: Option<&TableBuf>) -> BTreeSet<Vec<String>> {
        let mut all = BTreeSet::new();
        let mut choices = Choices::default();
        loop {
            let (mut queues, mut seen) = (BTreeSet::new(), BTreeSet::new());
            choices.made_count = 0;
            self.visit(exchange, keys, headers, &mut choices, &mut seen, &mut queues);
            all.insert(queues.into_iter().collect());
            if !choices.advance() {
                return all;
            }
        }
    }

    fn visit(
        &self,
        name: &str,
        keys: &[&str],
        headers: Option<&TableBuf>,
        choices: &mut Choices,
        seen: &mut BTreeSet<String>,
        queues: &mut BTreeSet<String>,
    ) {
        let Some(exchange) = self.exchanges.get(name) else { return };
        if !seen.insert(name.to_owned()) {
            return;
        }
        if name.is_empty() {
            queues.extend(keys.iter().filter(|key| self.queues.contains(**key)).map(|key| (*key).to_owned()));
            return;
        }
        let bound: Vec<_> = self.bindings.iter().filter(|it| it.source == name).collect();
        let filtered = |is_match: &dyn Fn(&ModelBinding) -> bool| -> Vec<&ModelBinding> {
            bound.iter().copied().filter(|it| is_match(it)).collect()
        };
        let matching = match exchange.kind {
            // One that does not say as what it routes routes as a direct one.
            ExchangeType::Direct | ExchangeType::DelayedMessage => filtered(&|it| keys.contains(&it.key.as_str())),
            ExchangeType::Fanout
            | ExchangeType::RecentHistory
            | ExchangeType::MessageDeduplication
            | ExchangeType::FederationUpstream => bound,
            ExchangeType::Topic => filtered(&|it| keys.iter().any(|key| topic_matches(&words(&it.key), &words(key)))),
            ExchangeType::Headers => filtered(&|it| headers_match(&it.arguments, headers)),
            ExchangeType::Random | ExchangeType::LocalRandom => match bound.len() {
                0 => bound,
                len => vec![bound[choices.choose(len)]],
            },
            ExchangeType::ModulusHash => modulus_choice(&bound, keys).into_iter().collect(),
            ExchangeType::ConsistentHash => {
                let header = exchange.hash_header.as_ref().map(|name| header(headers, name.as_bytes()));
                consistent_choice(&bound, keys[0], header).into_iter().collect()
            }
        };
        for binding in &matching {
            match binding.to.split_once(':') {
                Some(("q", queue)) => drop(queues.insert(queue.to_owned())),
                Some((_, exchange)) => self.visit(exchange, keys, headers, choices, seen, queues),
                None => unreachable!("every end has its kind"),
            }
        }
        if matching.is_empty()
            && let Some(alternate) = exchange.alternate.as_ref().or(exchange.policy_alternate.as_ref())
            && !alternate.is_empty()
        {
            self.visit(alternate, keys, headers, choices, seen, queues);
        }
    }
}

/// What random exchanges choose on one way, in the order in which they are asked; all ways, one after the other.
#[derive(Debug, Default)]
struct Choices {
    /// What is chosen, and of how many.
    chosen: Vec<(usize, usize)>,
    made_count: usize,
}

impl Choices {
    fn choose(&mut self, count: usize) -> usize {
        if self.made_count == self.chosen.len() {
            self.chosen.push((0, count));
        }
        self.made_count += 1;
        self.chosen[self.made_count - 1].0
    }

    /// On to the next way. False: that was the last.
    fn advance(&mut self) -> bool {
        while let Some((chosen, count)) = self.chosen.pop() {
            if chosen + 1 < count {
                self.chosen.push((chosen + 1, count));
                return true;
            }
        }
        false
    }
}

impl ModelBinding {
    pub(crate) fn describe(&self) -> String {
        let (kind, name) = self.to.split_once(':').expect("every end has its kind");
        line(&self.source, kind == "q", name, &self.key, self.arguments.as_table())
    }
}

fn sorted((mut bindings, mut exchanges): ModelRemoved) -> ModelRemoved {
    bindings.sort();
    exchanges.sort();
    (bindings, exchanges)
}

fn words(key: &str) -> Vec<&str> {
    if key.is_empty() { Vec::new() } else { key.split('.').collect() }
}

fn topic_matches(pattern: &[&str], key: &[&str]) -> bool {
    match (pattern.split_first(), key.split_first()) {
        (None, rest) => rest.is_none(),
        (Some((&"#", pattern_rest)), None) => topic_matches(pattern_rest, key),
        (Some((&"#", pattern_rest)), Some((_, key_rest))) => {
            topic_matches(pattern_rest, key) || topic_matches(pattern, key_rest)
        }
        (Some((word, pattern_rest)), Some((found, key_rest))) => {
            (*word == "*" || word == found) && topic_matches(pattern_rest, key_rest)
        }
        (Some(_), None) => false,
    }
}

fn headers_match(arguments: &TableBuf, headers: Option<&TableBuf>) -> bool {
    let rule = arguments.as_table().get("x-match").and_then(|value| value.as_str()).unwrap_or("all");
    let with_x = rule.ends_with("-with-x");
    let mut conditions = arguments
        .as_table()
        .iter()
        .filter(|(name, _)| *name != b"x-match" && (with_x || !name.starts_with(b"x-")))
        .map(|(name, wanted)| {
            header(headers, name).is_some_and(|found| wanted == Value::Void || is_equal(wanted, found))
        });
    if rule.starts_with("any") { conditions.any(|holds| holds) } else { conditions.all(|holds| holds) }
}

/// The last header of this name.
fn header<'a>(headers: Option<&'a TableBuf>, name: &[u8]) -> Option<Value<'a>> {
    let fields = headers.map(|it| it.as_table().iter()).into_iter().flatten();
    fields.filter(|(found, _)| *found == name).map(|(_, value)| value).last()
}

/// For the kinds of values that the random tests use.
fn is_equal(wanted: Value<'_>, found: Value<'_>) -> bool {
    let integer = |value: Value<'_>, timestamp_factor: u64| match value {
        Value::Timestamp(seconds) => Some(i64::try_from(seconds * timestamp_factor).expect("small in tests")),
        _ => value.as_i64(),
    };
    match (wanted, found) {
        (Value::LongStr(a) | Value::Binary(a), Value::LongStr(b) | Value::Binary(b)) => a == b,
        (Value::F32(a), Value::F64(b)) | (Value::F64(b), Value::F32(a)) => f64::from(a) == b,
        _ if integer(wanted, 1).is_some() => integer(wanted, 1) == integer(found, 1000),
        _ => wanted == found,
    }
}
