//! A workload: what was said about it, from which source, and what follows from that. Refuses what contradicts itself.

use crate::quantity::Quantity;
use crate::setting::{Key, SETTINGS, Setting, setting_of};
use crate::value;

/// Where a value comes from. A later one precedes an earlier one.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Origin {
    /// Nothing was said: it follows from others, or is what most have.
    Default,
    /// It was read from what exists: results, a broker, this machine.
    Found(String),
    /// It is in the user's file.
    File(String),
    /// It is an option.
    Option,
}

impl Origin {
    /// In words, as a line says it.
    #[must_use]
    pub fn show(&self) -> String {
        match self {
            Origin::Default => "default".to_owned(),
            Origin::Found(place) => format!("found: {place}"),
            Origin::File(name) => format!("from {name}"),
            Origin::Option => "given".to_owned(),
        }
    }
}

/// What was said about a workload, so far.
#[derive(Clone, Debug, Default)]
pub struct Description {
    said: Vec<(Key, f64, Origin)>,
}

impl Description {
    /// Takes a value as it was written.
    ///
    /// # Errors
    ///
    /// When it makes no sense: a sentence.
    pub fn read(&mut self, setting: &Setting, text: &str, origin: Origin) -> Result<(), String> {
        let value = value::parse(setting, text)?;
        self.put(setting.key, value, origin);
        Ok(())
    }

    /// Takes a number that was found.
    ///
    /// # Errors
    ///
    /// When it makes no sense: a sentence.
    pub fn note(&mut self, key: Key, value: f64, place: &str) -> Result<(), String> {
        let value = value::check(setting_of(key), value).map_err(|error| format!("{place}: {error}"))?;
        self.put(key, value, Origin::Found(place.to_owned()));
        Ok(())
    }

    /// Takes all that another one says.
    pub fn merge(&mut self, other: Description) {
        other.said.into_iter().for_each(|(key, value, origin)| self.put(key, value, origin));
    }

    /// The strongest word counts, and of two that are as strong the later one.
    fn put(&mut self, key: Key, value: f64, origin: Origin) {
        let rank = |origin: &Origin| match origin {
            Origin::Default => 0,
            Origin::Found(_) => 1,
            Origin::File(_) => 2,
            Origin::Option => 3,
        };
        match self.said.iter_mut().find(|(known, _, _)| *known == key) {
            Some(known) if rank(&origin) >= rank(&known.2) => (known.1, known.2) = (value, origin),
            Some(_) => {}
            None => self.said.push((key, value, origin)),
        }
    }

    fn get(&self, key: Key) -> Option<(f64, &Origin)> {
        self.said.iter().find(|(known, _, _)| *known == key).map(|(_, value, origin)| (*value, origin))
    }

    /// Whether anything was said about it.
    #[must_use]
    pub fn is_said(&self, key: Key) -> bool {
        self.get(key).is_some()
    }

    /// The whole workload, with what follows from what was said.
    ///
    /// # Errors
    ///
    /// When something is missing, or contradicts something else: a sentence.
    pub fn resolve(mut self) -> Result<Workload, String> {
        self.settle_rate()?;
        for setting in SETTINGS {
            if let (false, Some(default)) = (self.is_said(setting.key), setting.default) {
                self.read(setting, default, Origin::Default)?;
            }
        }
        for (key, from) in [(Key::Channels, Key::Connections), (Key::Nodes, Key::Replicas)] {
            if let (false, Some((value, _))) = (self.is_said(key), self.get(from)) {
                self.put(key, value, Origin::Default);
            }
        }
        let workload = Workload { said: self };
        workload.check()?;
        Ok(workload)
    }

    /// The rate, from the throughput if that is what was said.
    fn settle_rate(&mut self) -> Result<(), String> {
        let throughput = self.get(Key::Throughput).map(|(value, origin)| (value, origin.clone()));
        let rate = self.get(Key::Rate).map(|(value, origin)| (value, origin.clone()));
        let (throughput, origin) = match (rate, throughput) {
            (None, None) => {
                let hint = "set it with --rate or --throughput, or take it from --from or --url";
                return Err(format!("the number of messages published per second is unknown: {hint}"));
            }
            (Some((_, Origin::Option | Origin::File(_))), Some((_, Origin::Option | Origin::File(_)))) => {
                return Err(
                    "rate and throughput cannot be used together, because one follows from the other".to_owned()
                );
            }
            (Some(_), None) => return Ok(()),
            (Some((_, of_rate)), Some((_, of_throughput))) if of_rate > of_throughput => return Ok(()),
            (_, Some(throughput)) => throughput,
        };
        if !self.is_said(Key::Body) {
            let body = setting_of(Key::Body);
            self.read(body, body.default.unwrap_or_default(), Origin::Default)?;
        }
        let body = self.get(Key::Body).map_or(0.0, |(value, _)| value);
        if body == 0.0 {
            return Err("bodies of 0 B have no throughput: set the number of messages with --rate".to_owned());
        }
        let rate = value::check(setting_of(Key::Rate), throughput / 8.0 / body)?;
        self.said.retain(|(key, _, _)| *key != Key::Rate);
        self.put(Key::Rate, rate, origin);
        Ok(())
    }
}

/// A workload in which nothing is missing and nothing contradicts itself.
#[derive(Clone, Debug)]
pub struct Workload {
    said: Description,
}

impl Workload {
    /// A value that every workload has.
    #[must_use]
    pub fn value(&self, key: Key) -> f64 {
        self.optional(key).unwrap_or_default()
    }

    /// A value that is there if it was said.
    #[must_use]
    pub fn optional(&self, key: Key) -> Option<f64> {
        self.said.get(key).map(|(value, _)| value)
    }

    /// Whether a flag is set.
    #[must_use]
    pub fn is(&self, key: Key) -> bool {
        self.value(key) != 0.0
    }

    /// A value with its name.
    #[must_use]
    pub fn quantity(&self, key: Key) -> Quantity {
        let setting = setting_of(key);
        Quantity::new(setting.title, self.value(key), setting.unit)
    }

    /// What was said or follows, with its origin.
    pub(crate) fn entries(&self) -> impl Iterator<Item = (&'static Setting, Quantity, Origin)> {
        SETTINGS.iter().filter_map(|setting| {
            let (value, origin) = self.said.get(setting.key)?;
            Some((setting, Quantity::new(setting.title, value, setting.unit), origin.clone()))
        })
    }

    fn check(&self) -> Result<(), String> {
        let value = |key| self.value(key);
        let (replicas, nodes) = (value(Key::Replicas), value(Key::Nodes));
        if ![1.0, 3.0, 5.0].contains(&replicas) {
            return Err(format!(
                "replicas must be 1, 3 or 5, not {replicas}: an even number does not tolerate more failures"
            ));
        }
        if nodes % replicas != 0.0 {
            return Err(format!(
                "nodes must be a multiple of replicas, and {nodes} is not a multiple of {replicas}: all nodes of a cluster store every \
                 message"
            ));
        }
        if value(Key::Delayed) > 0.0 && !self.said.is_said(Key::Delay) {
            return Err("delayed messages require a delay: set it with --delay".to_owned());
        }
        if self.said.is_said(Key::Delay) && value(Key::Delayed) == 0.0 {
            return Err("a delay requires the share of delayed messages: set it with --delayed".to_owned());
        }
        if self.said.is_said(Key::LbNetwork) && value(Key::LoadBalancers) == 0.0 {
            return Err("lb-network requires load balancers: set their number with --load-balancers".to_owned());
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::setting::find;

    fn described(said: &[(&str, &str)]) -> Description {
        let mut description = Description::default();
        for (name, text) in said {
            description.read(find(name).unwrap(), text, Origin::Option).unwrap();
        }
        description
    }

    #[track_caller]
    fn check_refused(said: &[(&str, &str)], words: &str) {
        let error = described(said).resolve().unwrap_err();
        assert!(error.contains(words) && !error.contains('\n'), "{error}");
    }

    #[test]
    fn what_contradicts_itself_is_refused_with_a_sentence() {
        check_refused(&[], "set it with --rate or --throughput");
        check_refused(&[("rate", "1"), ("throughput", "1Mbit/s")], "cannot be used together");
        check_refused(&[("throughput", "1Mbit/s"), ("body", "0")], "have no throughput");
        check_refused(&[("rate", "1"), ("replicas", "2")], "replicas must be 1, 3 or 5, not 2");
        check_refused(&[("rate", "1"), ("replicas", "3"), ("nodes", "4")], "4 is not a multiple of 3");
        check_refused(&[("rate", "1"), ("delayed", "10%")], "set it with --delay");
        check_refused(&[("rate", "1"), ("delay", "1h")], "set it with --delayed");
        check_refused(&[("rate", "1"), ("lb-network", "1Gbit/s")], "set their number with --load-balancers");
    }

    #[test]
    fn the_rate_follows_from_the_throughput() {
        let workload = described(&[("throughput", "5Gbit/s"), ("body", "62500")]).resolve().unwrap();
        assert_eq!(workload.value(Key::Rate), 10_000.0);
    }

    #[test]
    fn who_knows_better_goes_first() {
        let rate = find("rate").unwrap();
        let mut description = Description::default();
        description.read(rate, "3", Origin::Option).unwrap();
        description.read(rate, "2", Origin::File("f".to_owned())).unwrap();
        description.note(Key::Rate, 1.0, "a broker").unwrap();
        description.note(Key::Throughput, 8e9, "a broker").unwrap();
        let mut other = Description::default();
        other.read(find("queues").unwrap(), "7", Origin::File("f".to_owned())).unwrap();
        description.merge(other);
        description.note(Key::Queues, 9.0, "a broker").unwrap();
        assert_eq!(description.get(Key::Rate).unwrap().0, 3.0);
        assert_eq!(description.get(Key::Queues).unwrap().0, 7.0);
    }

    #[test]
    fn a_rate_that_is_given_goes_before_a_throughput_that_was_found() {
        let mut description = described(&[("rate", "3")]);
        description.note(Key::Throughput, 8e9, "a broker").unwrap();
        assert_eq!(description.resolve().unwrap().value(Key::Rate), 3.0);
    }

    #[test]
    fn what_is_not_said_follows_or_is_usual() {
        let workload = described(&[("rate", "1"), ("connections", "70"), ("replicas", "3")]).resolve().unwrap();
        assert_eq!(workload.value(Key::Channels), 70.0);
        assert_eq!(workload.value(Key::Nodes), 3.0);
        assert_eq!(workload.value(Key::Body), 1024.0);
        assert_eq!(workload.optional(Key::Cpus), None);
    }
}
