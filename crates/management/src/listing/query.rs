//! The query of a request: `name=value&…`, percent-decoded.

use percent_encoding::percent_decode_str;

use crate::limits::QUERY_PARAMETER_COUNT_MAX;

/// A query's parameters, in their order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Query(Vec<(String, String)>);

impl Query {
    /// Reads what follows the `?`. Bytes that are not UTF-8 become replacement characters, which match nothing.
    pub(crate) fn parse(text: &str) -> Query {
        let decode = |text: &str| percent_decode_str(&text.replace('+', " ")).decode_utf8_lossy().into_owned();
        let parameters = text.split('&').filter(|parameter| !parameter.is_empty()).take(QUERY_PARAMETER_COUNT_MAX);
        Query(
            parameters
                .map(|parameter| {
                    let (name, value) = parameter.split_once('=').unwrap_or((parameter, ""));
                    (decode(name), decode(value))
                })
                .collect(),
        )
    }

    /// The first parameter of this name.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(own, _)| own == name).map(|(_, value)| &**value)
    }

    /// All parameters of this name.
    pub(crate) fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        self.0.iter().filter(move |(own, _)| own == name).map(|(_, value)| &**value)
    }

    /// All parameters, in their order.
    pub(crate) fn pairs(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, value)| (&**name, &**value))
    }

    /// The names of all parameters, in their order.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|(name, _)| &**name)
    }

    /// Whether the parameter is there and says `true`.
    pub(crate) fn is_true(&self, name: &str) -> bool {
        self.get(name) == Some("true")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_values_are_decoded() {
        let query = Query::parse("a=1&b=x%2Fy+z&&c&a=2&=&d=%ff");
        assert_eq!(query.get("a"), Some("1"));
        assert_eq!(query.get("b"), Some("x/y z"));
        assert_eq!(query.get("c"), Some(""));
        assert_eq!(query.get("d"), Some("\u{fffd}"));
        assert_eq!(query.get("e"), None);
    }

    #[test]
    fn parameters_beyond_the_bound_are_ignored() {
        let text = (0..200).map(|n| format!("p{n}=x")).collect::<Vec<_>>().join("&");
        let query = Query::parse(&text);
        assert_eq!(query.get("p99"), Some("x"));
        assert_eq!(query.get("p100"), None);
    }
}
