//! The headers exchange: a binding's arguments are conditions on the message's headers.
//!
//! A condition is a name with a value that the header must equal, or with nothing (`V`): then its presence is enough.
//! `x-match` says whether `all` conditions must hold (as when it is absent) or `any` one; both ignore arguments whose
//! names begin with `x-`, which `all-with-x` and `any-with-x` do not. No condition at all: all of them hold, none holds.
//!
//! Bindings with the same arguments share one matcher, and no message is compared with every matcher. An `all` matcher
//! is filed under one of its conditions, the one under which fewest others are; an `any` matcher under each. A message
//! looks only at what is filed under one of its headers.

use amqp::table::{Table, TableBuf, Value};
use hashbrown::HashTable;

use crate::handles::BindingHandle;
use crate::header_fields::{HeaderField, HeaderFields, find, pair_hash};
use crate::header_value::HeaderValue;
use crate::seed::HashSeed;
use crate::slab::{Handle, Slab};
use crate::target::{Destinations, Target, TargetPlace, Targets};

/// A headers exchange's bindings.
#[derive(Debug)]
pub(crate) struct Headers {
    seed: HashSeed,
    matchers: Slab<Matcher>,
    by_arguments: HashTable<Handle<Matcher>>,
    /// What is filed under conditions, by the condition's hash.
    files: HashTable<ConditionFile>,
    /// The matchers that match everything: all of no conditions.
    unconditional: Vec<Handle<Matcher>>,
}

/// All bindings with the same arguments.
#[derive(Debug)]
struct Matcher {
    arguments: TableBuf,
    rule: Rule,
    conditions: Box<[Condition]>,
    /// Its position among the unconditional ones, if it is one.
    unconditional_at: Option<usize>,
    targets: Targets,
}

/// How many of the conditions must hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Rule {
    All,
    Any,
}

#[derive(Debug)]
struct Condition {
    name: Box<[u8]>,
    name_hash: u64,
    /// None: its presence is enough.
    value: Option<HeaderValue<Box<[u8]>>>,
    /// Of name and value, or of the name if there is no value.
    hash: u64,
    /// Where the matcher is filed under this condition, if it is.
    filed_at: Option<usize>,
}

#[derive(Debug)]
struct ConditionFile {
    hash: u64,
    filed: Vec<FilingPosition>,
}

/// A matcher and the position of the condition under which it is filed.
#[derive(Debug, Clone, Copy)]
struct FilingPosition {
    matcher: Handle<Matcher>,
    condition: usize,
}

/// The argument `x-match` is none of the four texts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct InvalidMatch;

/// Whether a binding from a headers exchange may have these arguments.
#[must_use]
pub fn is_valid_match(arguments: Table<'_>) -> bool {
    check(arguments).is_ok()
}

/// Whether a binding may have these arguments.
pub(crate) fn check(arguments: Table<'_>) -> Result<(), InvalidMatch> {
    match arguments.get("x-match") {
        None | Some(Value::LongStr(b"all" | b"any" | b"all-with-x" | b"any-with-x")) => Ok(()),
        Some(_) => Err(InvalidMatch),
    }
}

impl Headers {
    pub(crate) fn new(seed: HashSeed) -> Self {
        Self {
            seed,
            matchers: Slab::new(),
            by_arguments: HashTable::new(),
            files: HashTable::new(),
            unconditional: Vec::new(),
        }
    }

    /// Adds a binding. The arguments were sorted and checked.
    pub(crate) fn bind(&mut self, arguments: Table<'_>, target: Target) -> TargetPlace {
        let hash = self.seed.hash(arguments.as_bytes());
        let found = self.by_arguments.find(hash, |matcher| self.matchers[*matcher].arguments.as_table() == arguments);
        let matcher = found.copied().unwrap_or_else(|| self.insert(arguments));
        TargetPlace { point: matcher.place(), position: self.matchers[matcher].targets.add(target) }
    }

    pub(crate) fn unbind(&mut self, place: TargetPlace) -> Option<BindingHandle> {
        let matcher = Handle::new(place.point);
        let moved = self.matchers[matcher].targets.remove(place.position);
        if self.matchers[matcher].targets.is_empty() {
            self.remove(matcher);
        }
        moved
    }

    pub(crate) fn route(&self, headers: &mut HeaderFields<'_>, reached: &mut Destinations) {
        for matcher in &self.unconditional {
            reached.add_all(&self.matchers[*matcher].targets);
        }
        if self.files.is_empty() {
            return;
        }
        let headers = headers.all();
        for header in headers {
            for hash in [header.name_hash, header.pair_hash(self.seed)] {
                let Some(file) = self.files.find(hash, |file| file.hash == hash) else { continue };
                for filed in &file.filed {
                    let matcher = &self.matchers[filed.matcher];
                    if matcher.matches(filed.condition, header, headers) {
                        reached.add_all(&matcher.targets);
                    }
                }
            }
        }
    }

    fn insert(&mut self, arguments: Table<'_>) -> Handle<Matcher> {
        let matcher = self.matchers.insert(Matcher::new(self.seed, arguments));
        self.by_arguments.insert_unique(self.seed.hash(arguments.as_bytes()), matcher, |matcher| {
            self.seed.hash(self.matchers[*matcher].arguments.as_table().as_bytes())
        });
        match self.matchers[matcher].rule {
            Rule::All => match self.least_common_condition(matcher) {
                Some(condition) => self.file(FilingPosition { matcher, condition }),
                None => {
                    self.matchers[matcher].unconditional_at = Some(self.unconditional.len());
                    self.unconditional.push(matcher);
                }
            },
            Rule::Any => {
                for condition in 0..self.matchers[matcher].conditions.len() {
                    self.file(FilingPosition { matcher, condition });
                }
            }
        }
        matcher
    }

    fn remove(&mut self, matcher: Handle<Matcher>) {
        for condition in 0..self.matchers[matcher].conditions.len() {
            self.unfile(FilingPosition { matcher, condition });
        }
        if let Some(position) = self.matchers[matcher].unconditional_at {
            self.unconditional.swap_remove(position);
            if let Some(moved) = self.unconditional.get(position) {
                self.matchers[*moved].unconditional_at = Some(position);
            }
        }
        let hash = self.seed.hash(self.matchers[matcher].arguments.as_table().as_bytes());
        let entry = self.by_arguments.find_entry(hash, |other| *other == matcher);
        entry.expect("every matcher is in the table").remove();
        self.matchers.remove(matcher);
    }

    /// The condition under which fewest matchers are filed; presence is common, so it is the last choice.
    fn least_common_condition(&self, matcher: Handle<Matcher>) -> Option<usize> {
        let conditions = self.matchers[matcher].conditions.iter().enumerate();
        let rank = |condition: &Condition| {
            let file = self.files.find(condition.hash, |file| file.hash == condition.hash);
            (condition.value.is_none(), file.map_or(0, |file| file.filed.len()))
        };
        conditions.min_by_key(|(_, condition)| rank(condition)).map(|(position, _)| position)
    }

    fn file(&mut self, filed: FilingPosition) {
        let condition = &mut self.matchers[filed.matcher].conditions[filed.condition];
        let hash = condition.hash;
        let entry = self.files.entry(hash, |file| file.hash == hash, |file| file.hash);
        let file = entry.or_insert_with(|| ConditionFile { hash, filed: Vec::new() }).into_mut();
        condition.filed_at = Some(file.filed.len());
        file.filed.push(filed);
    }

    fn unfile(&mut self, filed: FilingPosition) {
        let condition = &mut self.matchers[filed.matcher].conditions[filed.condition];
        let Some(position) = condition.filed_at.take() else { return };
        let hash = condition.hash;
        let mut entry =
            self.files.find_entry(hash, |file| file.hash == hash).expect("what is filed is under its condition's hash");
        let list = &mut entry.get_mut().filed;
        list.swap_remove(position);
        if let Some(moved) = list.get(position) {
            self.matchers[moved.matcher].conditions[moved.condition].filed_at = Some(position);
        }
        if list.is_empty() {
            entry.remove();
        }
    }
}

impl Matcher {
    fn new(seed: HashSeed, arguments: Table<'_>) -> Self {
        let (rule, with_x) = match arguments.get("x-match") {
            Some(Value::LongStr(b"any")) => (Rule::Any, false),
            Some(Value::LongStr(b"any-with-x")) => (Rule::Any, true),
            Some(Value::LongStr(b"all-with-x")) => (Rule::All, true),
            _ => (Rule::All, false),
        };
        let is_condition = |name: &[u8]| name != b"x-match" && (with_x || !name.starts_with(b"x-"));
        let conditions = arguments.iter().filter(|(name, _)| is_condition(name));
        Self {
            arguments: arguments.to_owned(),
            rule,
            conditions: conditions.map(|(name, value)| Condition::new(seed, name, value)).collect(),
            unconditional_at: None,
            targets: Targets::default(),
        }
    }

    /// Whether a message matches that has `header`, under which this matcher may be filed by `condition`.
    #[inline]
    fn matches(&self, condition: usize, header: &HeaderField<'_>, headers: &[HeaderField<'_>]) -> bool {
        self.conditions[condition].holds(header)
            && (self.rule == Rule::Any || self.conditions.iter().all(|condition| condition.holds_among(headers)))
    }
}

impl Condition {
    fn new(seed: HashSeed, name: &[u8], value: Value<'_>) -> Self {
        let name_hash = seed.hash(name);
        let value = (value != Value::Void).then(|| HeaderValue::of_argument(value));
        Self {
            name: name.into(),
            name_hash,
            hash: value.map_or(name_hash, |value| pair_hash(seed, name_hash, value)),
            value: value.map(HeaderValue::to_owned),
            filed_at: None,
        }
    }

    fn holds(&self, header: &HeaderField<'_>) -> bool {
        *self.name == *header.name && self.value.as_ref().is_none_or(|value| value.as_ref() == header.value)
    }

    fn holds_among(&self, headers: &[HeaderField<'_>]) -> bool {
        find(headers, self.name_hash, &self.name).is_some_and(|header| self.holds(header))
    }
}
