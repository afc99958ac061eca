//! The configuration: `rabbitmq.conf`, and what files in Erlang's terms say by other words, read by `model` as the broker reads it.

use std::collections::{BTreeMap, HashMap};

use model::config::table::State;
use model::config::{Config, Examination, Origin, SetKey, Source, examine as examine_keys};

use crate::classic::{self, Translation};
use crate::input::{Content, Read};
use crate::plugins::{self, Enabled};
use crate::sheet::{Noun, Place, Remark, Severity, Sheet};
use crate::{pages, support};

pub(crate) const SETTING: Noun = Noun { one: "setting", many: "settings", family: "settings" };

/// Looks at all of it together. Returns what it comes to, or what holds without any.
pub(crate) fn examine(read: &[Read<'_>], env: &[(String, String)], enabled: &Enabled, sheet: &mut Sheet) -> Config {
    let mut sources = Vec::new();
    let mut translations: HashMap<String, Translation> = HashMap::new();
    for (at, Read { name, content, .. }) in read.iter().enumerate() {
        match content {
            Content::Configuration(text) => {
                sources.push(Source { name: (*name).to_owned(), text: (*text).to_owned() });
            }
            Content::Classic(term) => {
                let translation = classic::translate(name, term);
                for passed in &translation.passed_over {
                    let place = Place::of(name, Some(passed.line), &passed.path);
                    sheet.put(SETTING, place, vec![passed.remark.clone()]);
                }
                // No path has such a name.
                let source = format!("{at}\0{name}");
                sources.push(Source { name: source.clone(), text: translation.text() });
                translations.insert(source, translation);
            }
            _ => {}
        }
    }
    if sources.is_empty() {
        return Config::default();
    }
    // Files in Erlang's terms go before others.
    sources.sort_by_key(|source| translations.contains_key(&source.name));
    let examination = examine_keys(&sources, env);
    Reader { enabled, translations, sheet }.examine(examination)
}

struct Reader<'a> {
    enabled: &'a Enabled,
    translations: HashMap<String, Translation>,
    sheet: &'a mut Sheet,
}

impl Reader<'_> {
    fn examine(&mut self, examination: Examination) -> Config {
        let Examination { keys, problems, warnings, unset_variables, config } = examination;
        let mut warned: BTreeMap<String, Vec<Remark>> = BTreeMap::new();
        for warning in warnings {
            let remark = Remark::different(warning.0.text.clone(), pages::CONFIGURATION);
            warned.entry(place_key(&warning.0.origin)).or_default().push(remark);
        }
        let mut seen: Vec<(Origin, Place, Vec<Remark>)> = Vec::new();
        for set in &keys {
            let mut remarks: Vec<Remark> = self.remark(set).into_iter().collect();
            remarks.extend(warned.remove(&place_key(&set.origin)).unwrap_or_default());
            let place = self.place(&set.origin, set.key.to_string());
            seen.push((set.origin.clone(), place, remarks));
        }
        for unset in unset_variables {
            let text = format!("the value comes from the environment variable {}", unset.name);
            let advice = "set this variable in the environment of the broker; its value cannot be checked here";
            let remarks = vec![Remark::different(text, pages::CONFIGURATION).advising(advice)];
            let place = self.place(&unset.origin, unset.key.to_string());
            seen.push((unset.origin, place, remarks));
        }
        for problem in problems {
            let key = quoted_key(&problem.text).unwrap_or_default().to_owned();
            let remarks = vec![self.refused(&key, &problem.text)];
            let shown = if self.translation(&problem.origin).is_some() { key } else { String::new() };
            let place = self.place(&problem.origin, shown);
            // What does not fit together may be of a key that is there already.
            let is_set = !matches!(problem.origin, Origin::Default);
            match seen.iter_mut().find(|(origin, ..)| is_set && *origin == problem.origin) {
                Some((.., known)) => {
                    known.retain(|remark| remark.severity == Severity::Refused || remark.is_a_list);
                    known.extend(remarks);
                }
                None => seen.push((problem.origin, place, remarks)),
            }
        }
        seen.sort_by(|(_, a, _), (_, b, _)| (&a.source, a.line).cmp(&(&b.source, b.line)));
        for (_, place, remarks) in seen {
            self.sheet.put(SETTING, place, remarks);
        }
        for remarks in warned.into_values() {
            self.sheet.put(SETTING, Place::of("all files", None, ""), remarks);
        }
        config.unwrap_or_default()
    }

    fn translation(&self, origin: &Origin) -> Option<&Translation> {
        match origin {
            Origin::File { name, .. } => self.translations.get(name),
            _ => None,
        }
    }

    /// Where something is set. What is in Erlang's terms is at another line, and has another name there.
    fn place(&self, origin: &Origin, object: String) -> Place {
        let Origin::File { name, line } = origin else { return Place::of("all files", None, object) };
        let Some(translation) = self.translations.get(name) else { return Place::of(name, Some(*line), object) };
        match translation.said(*line) {
            Some(said) => Place::of(&translation.source, Some(said.line), said.path.clone()),
            None => Place::of(&translation.source, None, object),
        }
    }

    fn remark(&self, set: &SetKey) -> Option<Remark> {
        let first_word = set.key.segments().first().map_or("", String::as_str);
        let plugin = plugins::of_keys(first_word);
        // What stops the start here does so whatever RabbitMQ has enabled.
        if let Some(plugin) = plugin.filter(|plugin| set.state != State::Refused && self.enabled.lacks(plugin)) {
            let honoured = matches!(set.state, State::Effective | State::AliasOf(_) | State::RenamedTo(_));
            let text = format!("no effect: the plugin {plugin} is not enabled");
            return (!honoured).then(|| Remark::different(text, pages::CONFIGURATION));
        }
        let key = set.key.to_string();
        match set.state {
            State::Effective | State::AliasOf(_) | State::RenamedTo(_) => None,
            State::NoEffect | State::NotBuilt if plugin.is_some_and(|plugin| plugins::advice(plugin).is_some()) => {
                Some(self.refused(&key, set.reason))
            }
            State::NoEffect => Some(Remark::different(format!("no effect: {}", set.reason), page_of(&key))),
            State::NotBuilt => {
                Some(Remark::different(format!("not supported, and without effect: {}", set.reason), page_of(&key)))
            }
            State::Refused => Some(self.refused(&key, &format!("the broker does not start with it: {}", set.reason))),
        }
    }

    fn refused(&self, key: &str, text: &str) -> Remark {
        let first_word = key.split('.').next().unwrap_or_default();
        let of_plugin = plugins::of_keys(first_word).and_then(plugins::advice);
        let (advice, page) = of_plugin.unwrap_or_else(|| (advice_on(key, text), page_of(key)));
        Remark::refused(text, page).advising(advice)
    }
}

fn place_key(origin: &Origin) -> String {
    origin.to_string()
}

/// The key that a text of the model's is about: the first in quotes.
fn quoted_key(text: &str) -> Option<&str> {
    let (_, rest) = text.split_once('\'')?;
    Some(rest.split_once('\'')?.0)
}

/// What to do about a key that is refused.
fn advice_on(key: &str, text: &str) -> &'static str {
    if key.starts_with("auth_backends") {
        return support::WITHOUT_LDAP;
    }
    if key.starts_with("cluster_formation.peer_discovery_backend") {
        return match text.contains(" needs ") {
            true => "set what is missing, with the same value on all nodes",
            false => "choose one of these, and give all nodes the same warren.cluster.secret",
        };
    }
    if key.starts_with("definitions.") {
        return "download the file before the start, and name it in load_definitions";
    }
    if key.starts_with("password_hashing_module") {
        return "remove it: existing hashes of all of RabbitMQ's algorithms are accepted, new ones use SHA-256";
    }
    if text.contains("is encrypted") {
        return "write it in plain text, or refer to an environment variable with $(NAME)";
    }
    if text.starts_with("unknown key") {
        return "correct it, or remove it";
    }
    "change it, or remove it"
}

/// The page that documents a key.
fn page_of(key: &str) -> &'static str {
    const PAGES: &[(&str, &str)] = &[
        ("auth_", pages::USERS),
        ("cluster_", pages::CLUSTERING),
        ("disk_free_limit", pages::ALARMS),
        ("management.ssl", pages::TLS),
        ("management", pages::HTTP_API),
        ("prometheus", pages::PROMETHEUS),
        ("ssl_", pages::TLS),
        ("vm_memory", pages::ALARMS),
    ];
    PAGES.iter().find(|(prefix, _)| key.starts_with(prefix)).map_or(pages::CONFIGURATION, |(_, page)| page)
}
