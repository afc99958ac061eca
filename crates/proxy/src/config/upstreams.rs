//! Upstreams: where they are, what TLS needs, which of them there are.

use std::collections::BTreeSet;
use std::fmt;

use amqp_client::Uri;
use model::config::Warning;
use model::config::table::{Key, KeyPath, Origin, Remark, Values};
use net::proxy_protocol::Version;
use net::{ClientTlsOptions, Identity, TlsVersion, Trust};

use super::schema::{clients, upstreams as keys};

/// A broker, or several behind one name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Upstream {
    /// Its name in the configuration.
    pub name: String,
    /// A name or an address, without the brackets of IPv6.
    pub host: String,
    /// The port.
    pub port: u16,
    /// TLS, if it is spoken.
    pub tls: Option<ClientTlsOptions>,
    /// The login of health checks; `None`: none, a greeting has to do.
    pub health_login: Option<HealthLogin>,
    /// Its share of new lines.
    pub weight: u32,
    /// Whether it gets none.
    pub is_draining: bool,
    /// The vhosts that it serves; empty: those that no upstream names.
    pub vhosts: Vec<String>,
    /// Which header of the PROXY protocol a connection to it begins with.
    pub proxy_protocol: Option<Version>,
}

/// As which user health checks log in, and where.
#[derive(Clone, PartialEq, Eq)]
pub struct HealthLogin {
    /// The user's name.
    pub user: String,
    /// Its password, in plain.
    pub password: String,
    /// The vhost.
    pub vhost: String,
}

impl fmt::Debug for HealthLogin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let HealthLogin { user, vhost, .. } = self; // the password is not for logs
        f.debug_struct("HealthLogin").field("user", user).field("vhost", vhost).finish_non_exhaustive()
    }
}

/// Where upstreams are.
const UPSTREAMS: [&str; 2] = ["proxy", "upstreams"];

/// The URLs of `AMQP_URL` and its like: one, or several with commas between them.
pub(super) fn split(text: &str) -> Vec<String> {
    let mut urls: Vec<String> = Vec::new();
    for part in text.split(',').map(str::trim) {
        match urls.last_mut() {
            // A password may hold a comma.
            Some(last) if !part.contains("://") => *last = format!("{last},{part}"),
            _ => urls.push(part.to_owned()),
        }
    }
    urls
}

/// Makes these URLs the upstreams `1`, `2` and so on, instead of those of whatever counts less. What else is set of these names stays.
pub(super) fn replace(values: &mut Values, urls: &[String], origin: &Origin) -> Vec<Warning> {
    let given: Vec<String> = (1..=urls.len()).map(|number| number.to_string()).collect();
    let replaced = names(values).into_iter().filter(|name| !given.contains(name));
    let replaced = replaced.filter_map(|name| UpstreamSettings { values, name: &name }.replaced_by(origin)).collect();
    values.retain(|key, _| match key.segments() {
        [first, second, name, ..] => [first, second] != UPSTREAMS || given.contains(name),
        _ => true,
    });
    for (name, url) in given.iter().zip(urls) {
        values.assign(&keys::UPSTREAM_URL.named(name), url, origin.clone());
    }
    replaced
}

/// Notes what does not fit together, and what may be expected and does not happen.
pub(super) fn check(values: &mut Values) -> Vec<Warning> {
    let mut problems = Vec::new();
    let mut warnings = Vec::new();
    let names = names(values);
    if names.is_empty() && !values.is_refused_below("proxy.upstreams.") {
        let text =
            "no upstream is named: write its URL, such as amqp://localhost:5672, or set 'proxy.upstreams.NAME.url'";
        problems.push((Origin::Arguments, text.to_owned()));
    }
    for name in &names {
        let given = UpstreamSettings { values, name };
        match given.find(&keys::UPSTREAM_URL) {
            None => problems.extend(
                given.first().map(|origin| (origin, format!("'{}' is missing", given.key(&keys::UPSTREAM_URL)))),
            ),
            Some(url) => {
                problems.extend(given.tls_without_use(&url));
                warnings.extend(given.url_remarks(&url));
            }
        }
        problems.extend(given.half_an_identity());
    }
    problems.into_iter().for_each(|(origin, text)| values.refuse(origin, text));
    warnings
}

/// All upstreams, by name: numbers in their order before other words in theirs.
pub(super) fn read(values: &Values) -> Vec<Upstream> {
    names(values).iter().filter_map(|name| UpstreamSettings { values, name }.upstream()).collect()
}

fn names(values: &Values) -> Vec<String> {
    let found: BTreeSet<(u32, String)> = values.below(&UPSTREAMS).map(|(rest, ..)| numbered(&rest[0])).collect();
    found.into_iter().map(|(_, name)| name).collect()
}

fn numbered(word: &str) -> (u32, String) {
    (word.parse().unwrap_or(u32::MAX), word.to_owned())
}

/// What is set of one upstream.
struct UpstreamSettings<'a> {
    values: &'a Values,
    name: &'a str,
}

impl UpstreamSettings<'_> {
    fn key<T>(&self, key: &Key<T>) -> KeyPath {
        key.named(self.name)
    }

    fn find<T>(&self, key: &Key<T>) -> Option<T> {
        self.values.find_named(key, self.name)
    }

    /// The value of a key that has a default.
    fn get<T>(&self, key: &Key<T>) -> T {
        self.find(key).expect("it has a default in the table")
    }

    /// Where any of it comes from.
    fn first(&self) -> Option<Origin> {
        let own = [UPSTREAMS[0], UPSTREAMS[1], self.name];
        self.values.below(&own).map(|(.., origin)| origin.clone()).next()
    }

    /// The warning when it is replaced: it is in a file, whose author may expect it to be there.
    fn replaced_by(&self, stronger: &Origin) -> Option<Warning> {
        let origin = self.first().filter(|origin| matches!(origin, Origin::File { .. }))?;
        let text = format!("upstream '{}' has no effect: those of {stronger} replace it", self.name);
        Some(Warning(Remark { origin, text }))
    }

    fn tls_without_use(&self, url: &str) -> Option<(Origin, String)> {
        let is_tls = Uri::parse(url).is_ok_and(|uri| uri.is_tls);
        let own = [UPSTREAMS[0], UPSTREAMS[1], self.name, "ssl_options"];
        let (rest, _, origin) = self.values.below(&own).next().filter(|_| !is_tls)?;
        let key = KeyPath::of(&[&own, &[&**rest.first()?][..]].concat());
        Some((origin.clone(), format!("'{key}' needs a URL with amqps://, because it has no effect without TLS")))
    }

    fn half_an_identity(&self) -> Option<(Origin, String)> {
        let [certfile, keyfile] = [&keys::UPSTREAM_CERTFILE, &keys::UPSTREAM_KEYFILE];
        let password = &keys::UPSTREAM_PASSWORD;
        let (there, missing) = match (self.find(certfile), self.find(keyfile)) {
            (Some(_), None) => (self.key(certfile), keyfile),
            (None, Some(_)) => (self.key(keyfile), certfile),
            (None, None) if self.find(password).is_some() => (self.key(password), keyfile),
            _ => return None,
        };
        Some((self.values.origin(&there.to_string()), format!("'{there}' needs '{}'", self.key(missing))))
    }

    /// What a URL says that other programs would understand otherwise.
    fn url_remarks(&self, url: &str) -> Vec<Warning> {
        let Ok(uri) = Uri::parse(url) else { return Vec::new() };
        let mut texts = Vec::new();
        if has_user(url) {
            texts.push("logs in for health checks only: clients bring their own user, password and vhost".to_owned());
        }
        let parameters = [
            ("heartbeat", uri.heartbeat.is_some(), keys::UPSTREAM_CONNECTIONS_HEARTBEAT.name()),
            ("channel_max", uri.channel_max.is_some(), keys::UPSTREAM_CONNECTIONS_CHANNEL_MAX.name()),
            ("frame_max", uri.frame_max.is_some(), clients::FRAME_MAX.name()),
            ("connection_timeout", uri.connection_timeout.is_some(), keys::CONNECT_TIMEOUT.name()),
        ];
        for (parameter, _, key) in parameters.into_iter().filter(|(_, is_set, _)| *is_set) {
            texts.push(format!("has '{parameter}', which has no effect there: set '{key}'"));
        }
        let key = self.key(&keys::UPSTREAM_URL).to_string();
        let remark = |text| Warning(Remark { origin: self.values.origin(&key), text: format!("'{key}' {text}") });
        texts.into_iter().map(remark).collect()
    }

    fn upstream(&self) -> Option<Upstream> {
        let url = self.find(&keys::UPSTREAM_URL)?;
        let uri = Uri::parse(&url).ok()?;
        let tls = uri.is_tls.then(|| self.tls());
        let health_login =
            has_user(&url).then_some(HealthLogin { user: uri.user, password: uri.password, vhost: uri.vhost });
        Some(Upstream {
            name: self.name.to_owned(),
            host: uri.host,
            port: uri.port,
            tls,
            health_login,
            weight: self.get(&keys::UPSTREAM_WEIGHT),
            is_draining: self.get(&keys::UPSTREAM_DRAIN),
            vhosts: self.vhosts(),
            proxy_protocol: self.get(&keys::UPSTREAM_PROXY_PROTOCOL),
        })
    }

    fn vhosts(&self) -> Vec<String> {
        self.numbered(&["vhosts"]).into_iter().map(str::to_owned).collect()
    }

    /// The values of a key that ends in numbers, in their order.
    fn numbered(&self, rest: &[&str]) -> Vec<&str> {
        let own = [&UPSTREAMS[..], &[self.name], rest].concat();
        let mut found: Vec<_> = self.values.below(&own).map(|(rest, text, _)| (numbered(&rest[0]), text)).collect();
        found.sort();
        found.into_iter().map(|(_, text)| text).collect()
    }

    fn tls(&self) -> ClientTlsOptions {
        ClientTlsOptions {
            trust: match (self.get(&keys::UPSTREAM_VERIFY), self.find(&keys::UPSTREAM_CACERTFILE)) {
                (false, _) => Trust::AnyServer,
                (_, Some(file)) => Trust::File(file),
                (_, None) => Trust::System,
            },
            identity: self
                .find(&keys::UPSTREAM_CERTFILE)
                .zip(self.find(&keys::UPSTREAM_KEYFILE))
                .map(|(chain, key)| Identity { chain, key, password: self.find(&keys::UPSTREAM_PASSWORD) }),
            server_name: self.find(&keys::UPSTREAM_SERVER_NAME_INDICATION),
            versions: self.numbered(&["ssl_options", "versions"]).into_iter().map(version).collect(),
            cipher_suites: self.numbered(&["ssl_options", "ciphers"]).into_iter().map(str::to_owned).collect(),
        }
    }
}

fn version(name: &str) -> TlsVersion {
    if name == "tlsv1.2" { TlsVersion::V1_2 } else { TlsVersion::V1_3 }
}

/// Whether a URL names a user, and not the library's default does.
fn has_user(url: &str) -> bool {
    let authority = url.split_once("://").map(|(_, rest)| rest.split(['?', '/']).next().unwrap_or_default());
    authority.is_some_and(|authority| authority.contains('@'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_are_split_where_one_begins() {
        assert_eq!(split("amqp://a"), ["amqp://a"]);
        assert_eq!(split("amqp://a, amqps://b"), ["amqp://a", "amqps://b"]);
        assert_eq!(split("amqp://u:p,w@a,amqp://b"), ["amqp://u:p,w@a", "amqp://b"]);
        assert_eq!(split("a,b"), ["a,b"]);
    }

    #[test]
    fn a_user_is_what_is_before_the_host() {
        for (url, expected) in [
            ("amqp://a", false),
            ("amqp://u@a", true),
            ("amqp://u:p@a:1/v", true),
            ("amqp://a/v@w", false),
            ("amqp://a?x=@", false),
            ("rubbish@", false),
        ] {
            assert_eq!(has_user(url), expected, "{url}");
        }
    }
}
