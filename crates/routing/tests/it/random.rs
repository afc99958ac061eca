//! Random lives of a vhost, step by step the same as in the model; and after each step, what the cache remembers is what
//! the model finds.

use amqp::table::{TableBuf, Value};
use proptest::prelude::*;
use routing::{Declaration, DeleteError, ExchangeType, Routable};

use crate::broker::{Vhost, declaration, describe, describe_removed};
use crate::model::{Model, ModelBinding, ModelExchange};

const EXCHANGES: [&str; 8] = ["x0", "x1", "x2", "x3", "x4", "amq.topic", "amq.match", ""];
const QUEUES: [&str; 5] = ["a", "b", "a.b", "q3", "q4"];

#[derive(Debug, Clone)]
enum Step {
    Declare {
        name: String,
        kind: ExchangeType,
        is_auto_delete: bool,
        alternate: Option<String>,
        hash_header: Option<String>,
    },
    DeleteExchange {
        name: String,
        if_unused: bool,
    },
    SetPolicyAlternate {
        name: String,
        alternate: Option<String>,
    },
    AddQueue(String),
    DeleteQueue(String),
    Bind(ModelBinding),
    Unbind(ModelBinding),
    /// The binding at this position, if there are that many.
    UnbindExisting(usize),
    Route {
        exchange: String,
        keys: Vec<String>,
        headers: Option<TableBuf>,
    },
}

fn exchange() -> impl Strategy<Value = String> {
    prop::sample::select(&EXCHANGES[..]).prop_map(str::to_owned)
}

fn queue() -> impl Strategy<Value = String> {
    prop::sample::select(&QUEUES[..]).prop_map(str::to_owned)
}

fn key() -> impl Strategy<Value = String> {
    let word = prop_oneof![4 => Just("a"), 3 => Just("b"), 2 => Just("*"), 2 => Just("#"), 1 => Just("")];
    prop::collection::vec(word, 0..5).prop_map(|words| words.join("."))
}

fn value() -> impl Strategy<Value = Value<'static>> {
    prop::sample::select(vec![
        Value::I32(1),
        Value::I64(1),
        Value::I8(2),
        Value::Bool(true),
        Value::LongStr(b"1"),
        Value::Binary(b"1"),
        Value::F32(1.0),
        Value::F64(1.0),
        Value::I32(1000),
        Value::Timestamp(1),
        Value::Timestamp(1000),
        Value::Void,
    ])
}

fn headers() -> impl Strategy<Value = TableBuf> {
    let name = prop::sample::select(vec!["a", "b", "c", "x-a"]);
    prop::collection::vec((name, value()), 0..5)
        .prop_map(|fields| fields.into_iter().fold(TableBuf::new(), |table, (name, value)| table.with(name, value)))
}

/// Sorted by name, as the model keeps them.
fn arguments() -> impl Strategy<Value = TableBuf> {
    let rule = prop_oneof![
        2 => Just(None),
        3 => prop::sample::select(vec!["all", "any", "all-with-x", "any-with-x"]).prop_map(Some),
    ];
    let conditions = (headers(), rule).prop_map(|(conditions, rule)| {
        let mut fields: Vec<_> = conditions.as_table().iter().collect();
        fields.extend(rule.map(|rule| (&b"x-match"[..], Value::LongStr(rule.as_bytes()))));
        fields.sort_by_key(|(name, _)| *name);
        let mut sorted = TableBuf::new();
        fields.into_iter().for_each(|(name, value)| sorted.push(name, value).expect("short names"));
        sorted
    });
    prop_oneof![2 => Just(TableBuf::new()), 1 => conditions]
}

fn binding() -> impl Strategy<Value = ModelBinding> {
    let to =
        prop_oneof![3 => queue().prop_map(|it| format!("q:{it}")), 2 => exchange().prop_map(|it| format!("e:{it}"))];
    let weight = prop::sample::select(vec!["1", "2", "007", "+1", "0", "10001"]).prop_map(str::to_owned);
    let binding = (exchange(), to, prop_oneof![2 => key(), 1 => weight], arguments());
    binding.prop_map(|(source, to, key, arguments)| ModelBinding { source, to, key, arguments })
}

fn step() -> impl Strategy<Value = Step> {
    let kind = || prop::sample::select(&ExchangeType::ALL[..]);
    let alternate = || prop::option::weighted(0.4, exchange());
    let hash_header = prop::option::of(Just("a".to_owned()));
    prop_oneof![
        6 => (exchange(), kind(), prop::bool::weighted(0.4), alternate(), hash_header).prop_map(
            |(name, kind, is_auto_delete, alternate, hash_header)| {
                Step::Declare { name, kind, is_auto_delete, alternate, hash_header }
            }
        ),
        1 => (exchange(), any::<bool>()).prop_map(|(name, if_unused)| Step::DeleteExchange { name, if_unused }),
        1 => (exchange(), alternate()).prop_map(|(name, alternate)| Step::SetPolicyAlternate { name, alternate }),
        4 => queue().prop_map(Step::AddQueue),
        1 => queue().prop_map(Step::DeleteQueue),
        14 => binding().prop_map(Step::Bind),
        1 => binding().prop_map(Step::Unbind),
        4 => (0..20_usize).prop_map(Step::UnbindExisting),
        6 => (exchange(), prop::collection::vec(key(), 1..3), prop::option::of(headers()))
            .prop_map(|(exchange, keys, headers)| Step::Route { exchange, keys, headers }),
    ]
}

/// A step in the life of the hashing exchange `x`.
fn hashing_step() -> impl Strategy<Value = Step> {
    let to = prop::sample::select(vec!["q:a", "q:b", "q:a.b", "q:q3", "e:a", "e:b"]).prop_map(str::to_owned);
    let key = prop::sample::select(vec!["1", "2", "30", "+1"]).prop_map(str::to_owned);
    let binding = (to, key).prop_map(|(to, key)| {
        let (source, arguments) = ("x".to_owned(), TableBuf::new());
        ModelBinding { source, to, key, arguments }
    });
    prop_oneof![
        2 => queue().prop_map(Step::AddQueue),
        1 => queue().prop_map(Step::DeleteQueue),
        4 => binding.prop_map(Step::Bind),
        2 => (2..12_usize).prop_map(Step::UnbindExisting),
    ]
}

/// A vhost and what it should be.
struct Pair {
    vhost: Vhost,
    model: Model,
}

impl Pair {
    fn new() -> Self {
        let vhost = Vhost::new();
        let mut model = Model::default();
        for exchange in vhost.exchanges.exchanges() {
            let name = String::from_utf8_lossy(&exchange.name).into_owned();
            let (is_auto_delete, alternate, policy_alternate) = (false, None, None);
            model.exchanges.insert(
                name,
                ModelExchange { kind: exchange.kind, is_auto_delete, alternate, policy_alternate, hash_header: None },
            );
        }
        Self { vhost, model }
    }

    fn take(&mut self, step: Step) {
        match step {
            Step::Declare { name, kind, is_auto_delete, alternate, hash_header } => self
                .declare(name, ModelExchange { kind, is_auto_delete, alternate, policy_alternate: None, hash_header }),
            Step::DeleteExchange { name, if_unused } => self.delete_exchange(&name, if_unused),
            Step::SetPolicyAlternate { name, alternate } => self.set_policy_alternate(&name, alternate),
            Step::AddQueue(name) => self.add_queue(name),
            Step::DeleteQueue(name) => self.delete_queue(&name),
            Step::Bind(binding) => self.bind(binding),
            Step::Unbind(binding) => self.unbind(&binding),
            Step::UnbindExisting(position) => {
                if let Some(binding) = self.model.bindings.get(position).cloned() {
                    self.unbind(&binding);
                }
            }
            Step::Route { exchange, keys, headers } => self.route(&exchange, &keys, headers.as_ref()),
        }
    }

    fn declare(&mut self, name: String, exchange: ModelExchange) {
        let alternate = exchange.alternate.as_ref().map(String::as_bytes);
        let mut arguments = TableBuf::new();
        if let Some(header) = &exchange.hash_header {
            arguments = arguments.with("hash-header", Value::LongStr(header.as_bytes()));
        }
        let declaration = Declaration {
            is_auto_delete: exchange.is_auto_delete,
            alternate,
            arguments: arguments.as_table(),
            ..declaration(&name, exchange.kind)
        };
        let declared = self.vhost.exchanges.declare(&declaration);
        assert_eq!(declared, !self.model.exchanges.contains_key(&name));
        if declared {
            self.model.exchanges.insert(name, exchange);
        }
    }

    fn delete_exchange(&mut self, name: &str, if_unused: bool) {
        let is_used = self.model.bindings.iter().any(|it| it.source == name);
        let expected = match self.model.exchanges.contains_key(name) {
            false => Err(DeleteError::Missing),
            true if name.is_empty() || name.starts_with("amq.") => Err(DeleteError::Predeclared),
            true if if_unused && is_used => Err(DeleteError::InUse),
            true => Ok(self.model.delete_exchange(name)),
        };
        let removed = self.vhost.exchanges.delete(name.as_bytes(), if_unused);
        assert_eq!(removed.map(|removed| describe_removed(&removed)), expected);
    }

    fn set_policy_alternate(&mut self, name: &str, alternate: Option<String>) {
        let is_set =
            self.vhost.exchanges.set_policy_alternate(name.as_bytes(), alternate.as_ref().map(String::as_bytes));
        let exchange = self.model.exchanges.get_mut(name);
        assert_eq!(is_set, exchange.is_some());
        if let Some(exchange) = exchange {
            exchange.policy_alternate = alternate;
        }
    }

    fn add_queue(&mut self, name: String) {
        if !self.model.queues.contains(&name) {
            self.vhost.add_queue(&name);
            self.model.queues.insert(name);
        }
    }

    fn delete_queue(&mut self, name: &str) {
        if self.model.queues.contains(name) {
            let expected = self.model.delete_queue(name);
            assert_eq!(describe_removed(&self.vhost.delete_queue(name)), expected);
        }
    }

    fn bind(&mut self, binding: ModelBinding) {
        let ModelBinding { source, to, key, arguments } = &binding;
        let bound = self.vhost.try_bind(source, to, key, arguments.as_table()).ok();
        let is_possible =
            !source.is_empty() && to != "e:" && self.model.has(to) && self.model.is_valid_key(source, key);
        assert_eq!(bound, is_possible.then(|| self.model.bind(binding)));
    }

    fn unbind(&mut self, binding: &ModelBinding) {
        let ModelBinding { source, to, key, arguments } = binding;
        let removed = self.vhost.try_unbind(source, to, key, arguments.as_table());
        let removed = removed.map_or_else(|_| Default::default(), |removed| describe_removed(&removed));
        assert_eq!(removed, self.model.unbind(binding));
    }

    fn route(&mut self, exchange: &str, keys: &[String], headers: Option<&TableBuf>) {
        if !self.model.exchanges.contains_key(exchange) {
            return;
        }
        let names: Vec<_> = keys.iter().map(String::as_str).collect();
        let bytes: Vec<_> = keys.iter().map(String::as_bytes).collect();
        let message =
            Routable { more_keys: &bytes[1..], headers: headers.map(TableBuf::as_table), ..Routable::by_key(bytes[0]) };
        let (found, possible) = (self.vhost.route(exchange, &message), self.model.routes(exchange, &names, headers));
        assert!(possible.contains(&found), "{keys:?} to {exchange:?} came to {found:?}, not to any of {possible:?}");
    }

    /// Asks the cache, twice, about what was asked before and what was not.
    fn check_cache(&mut self) {
        let names: Vec<_> = self.model.exchanges.keys().filter(|it| !it.starts_with("amq.")).cloned().collect();
        for name in names {
            for key in ["a", "a.b", "#"] {
                let possible = self.model.routes(&name, &[key], None);
                for _ in 0..2 {
                    let found = self.vhost.route_cached(&name, key);
                    assert!(
                        possible.contains(&found),
                        "{key:?} to {name:?} came to {found:?}, not to any of {possible:?}"
                    );
                }
            }
        }
    }

    fn check_lists(&self) {
        let mut found: Vec<_> =
            self.vhost.exchanges.bindings().filter(|it| !it.source.is_empty()).map(|it| describe(&it)).collect();
        let mut expected: Vec<_> = self.model.bindings.iter().map(ModelBinding::describe).collect();
        found.sort();
        expected.sort();
        assert_eq!(found, expected);
        self.vhost.exchanges.check();
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, ..ProptestConfig::default() })]

    #[test]
    fn every_life_is_as_in_the_model(steps in prop::collection::vec(step(), 1..120)) {
        let mut pair = Pair::new();
        for step in steps {
            pair.take(step);
            pair.check_cache();
            pair.check_lists();
        }
    }

    #[test]
    fn hashing_exchanges_choose_as_the_naive_version_does(
        kind in prop::sample::select(vec![ExchangeType::ConsistentHash, ExchangeType::ModulusHash]),
        steps in prop::collection::vec(hashing_step(), 1..60),
    ) {
        let mut pair = Pair::new();
        let kinds = [("x", kind), ("a", ExchangeType::Fanout), ("b", ExchangeType::Fanout)];
        for (name, kind) in kinds {
            let (is_auto_delete, alternate, policy_alternate, hash_header) = (false, None, None, None);
            let exchange = ModelExchange { kind, is_auto_delete, alternate, policy_alternate, hash_header };
            pair.declare(name.to_owned(), exchange);
        }
        // Exchanges that have the names of queues, and queues behind them.
        for (source, queue) in [("a", "behind a"), ("b", "behind b")] {
            pair.add_queue(queue.to_owned());
            let (source, to, key) = (source.to_owned(), format!("q:{queue}"), String::new());
            pair.bind(ModelBinding { source, to, key, arguments: TableBuf::new() });
        }
        for step in steps {
            pair.take(step);
            pair.vhost.exchanges.check();
            for key in 0..20 {
                pair.route("x", &[key.to_string()], None);
            }
        }
    }

    #[test]
    fn topics_match_as_the_naive_matcher_does(
        patterns in prop::collection::vec(key(), 1..30),
        keys in prop::collection::vec(key(), 1..10),
    ) {
        let mut pair = Pair::new();
        for (number, pattern) in patterns.iter().enumerate() {
            let name = format!("q{number}");
            pair.add_queue(name.clone());
            let (source, to, key) = ("amq.topic".to_owned(), format!("q:{name}"), pattern.clone());
            pair.bind(ModelBinding { source, to, key, arguments: TableBuf::new() });
        }
        for key in keys {
            pair.route("amq.topic", &[key], None);
        }
    }

    #[test]
    fn headers_match_as_the_naive_matcher_does(
        bound in prop::collection::vec(arguments(), 1..30),
        messages in prop::collection::vec(headers(), 1..10),
    ) {
        let mut pair = Pair::new();
        for (number, arguments) in bound.into_iter().enumerate() {
            let name = format!("q{number}");
            pair.add_queue(name.clone());
            let (source, to, key) = ("amq.match".to_owned(), format!("q:{name}"), String::new());
            pair.bind(ModelBinding { source, to, key, arguments });
        }
        for headers in messages {
            pair.route("amq.match", &[String::new()], Some(&headers));
        }
    }
}
