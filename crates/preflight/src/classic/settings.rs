//! A file in Erlang's terms, as a start reads it: the same translation that a check judges.

use model::config::{self, Origin, Source};

use super::{Translation, translate};
use crate::input::Unreadable;
use crate::sheet::Severity;
use crate::terms;

/// What a file in Erlang's terms says, by the keys of `rabbitmq.conf`.
#[derive(Debug)]
pub struct ErlangSettings {
    translation: Translation,
}

impl ErlangSettings {
    /// Reads a file's text. What is no list of settings is refused as a whole.
    pub fn read(name: &str, text: &str) -> Result<ErlangSettings, Unreadable> {
        let unreadable = |reason: String| Unreadable { name: name.to_owned(), reason };
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        if terms::is_blank(text) {
            let translation = Translation { source: name.to_owned(), said: Vec::new(), passed_over: Vec::new() };
            return Ok(ErlangSettings { translation });
        }
        let term = terms::parse(text).map_err(|error| unreadable(error.to_string()))?;
        let translation = translate(name, &term);
        match translation.passed_over.iter().find(|passed| passed.remark.severity == Severity::Refused) {
            Some(refused) => Err(unreadable(format!("line {}: {}", refused.line, refused.remark.text))),
            None => Ok(ErlangSettings { translation }),
        }
    }

    /// The settings as a file of `rabbitmq.conf`, whose lines [`Self::origin`] leads back to those of the file.
    #[must_use]
    pub fn source(&self) -> Source {
        Source { name: self.translation.source.clone(), text: self.translation.text() }
    }

    /// Where in the file a setting is that [`Self::source`] has at this place.
    #[must_use]
    pub fn origin(&self, origin: Origin) -> Origin {
        match origin {
            Origin::File { name, line } if name == self.translation.source => {
                let line = self.translation.said(line).map_or(line, |said| said.line);
                Origin::File { name, line }
            }
            other => other,
        }
    }

    /// What of it no key stands for.
    #[must_use]
    pub fn remarks(&self) -> Vec<config::Remark> {
        let passed = self.translation.passed_over.iter();
        passed
            .map(|passed| config::Remark {
                origin: Origin::File { name: self.translation.source.clone(), line: passed.line },
                text: format!("'{}' has {}", passed.path, passed.remark.text),
            })
            .collect()
    }
}

/// Erlang's command line as a file in Erlang's terms: `-rabbit disk_free_limit 2147483648` is
/// `[{rabbit, [{disk_free_limit, 2147483648}]}].` Returns the flags besides that set no application, too.
#[must_use]
pub fn terms_of_arguments(text: &str) -> (String, Vec<String>) {
    let mut words = words(text).into_iter().peekable();
    let (mut applications, mut flags) = (Vec::new(), Vec::new());
    while let Some(word) = words.next() {
        let application = word.strip_prefix('-').filter(|name| *name == "rabbit" || name.starts_with("rabbitmq_"));
        let mut values = Vec::new();
        while let Some(value) = words.next_if(|next| !is_flag(next)) {
            values.push(value);
        }
        match application {
            Some(name) => {
                let pairs = values.chunks_exact(2).map(|pair| format!("{{{}, {}}}", pair[0], pair[1]));
                applications.push(format!("{{{name}, [{}]}}", pairs.collect::<Vec<_>>().join(", ")));
            }
            None => flags.push(word),
        }
    }
    (format!("[{}].", applications.join(", ")), flags)
}

/// A flag, and no negative number.
fn is_flag(word: &str) -> bool {
    let mut chars = word.chars();
    matches!(chars.next(), Some('-' | '+')) && chars.next().is_some_and(char::is_alphabetic)
}

/// Words between white space that is in no brackets and in no quotes.
fn words(text: &str) -> Vec<String> {
    let (mut words, mut word, mut depth, mut quote) = (Vec::new(), String::new(), 0_usize, None);
    for char in text.chars() {
        match (quote, char) {
            (Some(open), _) if open == char => quote = None,
            (Some(_), _) => {}
            (None, '"' | '\'') => quote = Some(char),
            (None, '[' | '{' | '(') => depth += 1,
            (None, ']' | '}' | ')') => depth = depth.saturating_sub(1),
            (None, _) => {}
        }
        if char.is_whitespace() && depth == 0 && quote.is_none() {
            if !word.is_empty() {
                words.push(std::mem::take(&mut word));
            }
        } else {
            word.push(char);
        }
    }
    if !word.is_empty() {
        words.push(word);
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_arguments(text: &str, terms: &str, flags: &[&str]) {
        let (found, others) = terms_of_arguments(text);
        assert_eq!((found.as_str(), others.iter().map(String::as_str).collect::<Vec<_>>()), (terms, flags.to_vec()));
    }

    #[test]
    fn arguments_of_erlang_set_applications() {
        check_arguments(
            "-rabbit log_levels [{connection,error}, {default, error}] disk_free_limit 2147483648 \
             -rabbitmq_management path_prefix \"/a b\"",
            "[{rabbit, [{log_levels, [{connection,error}, {default, error}]}, {disk_free_limit, 2147483648}]}, \
             {rabbitmq_management, [{path_prefix, \"/a b\"}]}].",
            &[],
        );
        check_arguments("-setcookie x +S 2:2 -kernel inet_dist_listen_min 1", "[].", &["-setcookie", "+S", "-kernel"]);
        check_arguments("", "[].", &[]);
    }

    #[test]
    fn lines_lead_back_to_the_file() {
        let text = "[\n{rabbit, [{heartbeat, 5},\n  {channel_max, many}, {of_my_own, 1}]}].";
        let settings = ErlangSettings::read("f", text).unwrap();
        assert_eq!(settings.source().text, "heartbeat = 5\nchannel_max = many\n");
        let line = |line| settings.origin(Origin::File { name: "f".to_owned(), line }).to_string();
        assert_eq!((line(1), line(2)), ("f:2".to_owned(), "f:3".to_owned()));
        let remarks: Vec<_> = settings.remarks().iter().map(ToString::to_string).collect();
        assert_eq!(remarks, ["f:3: 'rabbit.of_my_own' has no effect: this term corresponds to no key"]);
    }

    #[test]
    fn what_is_no_list_of_settings_is_refused() {
        assert!(ErlangSettings::read("f", "{rabbit, []}.").unwrap_err().to_string().contains("a list of applications"));
        assert!(ErlangSettings::read("f", "[{rabbit, ").is_err());
        assert_eq!(ErlangSettings::read("f", "%% nothing\n").unwrap().source().text, "");
    }
}
