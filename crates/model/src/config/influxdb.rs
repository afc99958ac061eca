//! The keys of statistics for InfluxDB, typed.

use std::fmt;
use std::time::Duration;

use super::key::Key;
use super::schema::influxdb as keys;
use super::values::Values;
use crate::pattern::Pattern;

/// Tags that lines have anyway, and `time`, which InfluxDB knows as something else.
const TAKEN_TAGS: &[&str] = &["time", "node", "vhost", "queue", "exchange", "type"];

/// Statistics for InfluxDB.
#[derive(Debug, Clone)]
pub struct InfluxdbOptions {
    /// Where they are posted to, if anywhere.
    pub server: Option<InfluxdbServer>,
    /// The file that they are appended to, if any.
    pub file: Option<String>,
    /// How often they are taken.
    pub interval: Duration,
    /// What timestamps count: `ns`, `us`, `ms` or `s`.
    pub precision: String,
    /// What they are taken of.
    pub objects: InfluxdbObjects,
    /// Tags of every line.
    pub tags: Vec<(String, String)>,
}

/// An InfluxDB, and the login for it.
#[derive(Clone, PartialEq, Eq)]
pub struct InfluxdbServer {
    /// Its URL, which may have a password in it.
    pub url: String,
    /// Where it keeps what it is sent.
    pub place: InfluxdbPlace,
    /// The login; None: without one, or with that of the URL.
    pub login: Option<InfluxdbLogin>,
    /// File of the authorities that its certificate is to be from; None: the system's.
    pub cacertfile: Option<String>,
    /// How long a request may take.
    pub timeout: Duration,
}

/// Where an InfluxDB keeps what it is sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum InfluxdbPlace {
    /// In versions 2 and 3.
    Bucket {
        /// The organization; version 3 has none.
        org: Option<String>,
        /// The bucket; in version 3, the database.
        bucket: String,
    },
    /// In version 1.
    Database {
        /// The database.
        database: String,
        /// One of its retention policies; None: its default one.
        retention_policy: Option<String>,
    },
}

/// A login for an InfluxDB.
#[derive(Clone, PartialEq, Eq)]
pub enum InfluxdbLogin {
    /// By a token.
    Token(String),
    /// By a name and a password.
    User(String, String),
}

/// What statistics are taken of.
#[derive(Debug, Clone)]
pub struct InfluxdbObjects {
    /// The node.
    pub node: bool,
    /// Vhosts.
    pub vhosts: bool,
    /// Queues.
    pub queues: bool,
    /// Exchanges.
    pub exchanges: bool,
    /// In these vhosts.
    pub vhost: Pattern,
    /// Those of these names.
    pub queue: Pattern,
    /// Those of these names.
    pub exchange: Pattern,
}

/// Debugging output has no secrets.
impl fmt::Debug for InfluxdbServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("InfluxdbServer")
            .field("place", &self.place)
            .field("timeout", &self.timeout)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for InfluxdbLogin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            InfluxdbLogin::Token(_) => f.write_str("Token"),
            InfluxdbLogin::User(name, _) => f.debug_tuple("User").field(name).finish_non_exhaustive(),
        }
    }
}

/// Checks what no single key can say.
pub(super) fn check(values: &mut Values) {
    for (key, text) in misfits(values) {
        let key = key.name();
        values.refuse(values.origin(key), format!("'{key}' {text}"));
    }
    let is_taken = |name: &str| name.is_empty() || name.starts_with('_') || TAKEN_TAGS.contains(&name);
    let taken: Vec<_> = values
        .below(&["warren", "influxdb", "tags"])
        .filter(|(name, ..)| is_taken(&name[0]))
        .map(|(name, _, origin)| (format!("warren.influxdb.tags.{}", name[0]), origin.clone()))
        .collect();
    for (key, origin) in taken {
        let text = format!("'{key}' cannot be a tag: lines already have a tag with this name, or InfluxDB reserves it");
        values.refuse(origin, text);
    }
}

/// Keys that do not fit the others, and why.
fn misfits(values: &Values) -> Vec<(&'static Key<String>, &'static str)> {
    use keys::{BUCKET, CACERTFILE, DATABASE, ORG, PASSWORD, RETENTION_POLICY, TOKEN, URL, USER};
    let has = |key: &Key<String>| text(values, key).is_some();
    let mut misfits = Vec::new();
    if !has(&URL) {
        let of_url = [&ORG, &BUCKET, &TOKEN, &DATABASE, &RETENTION_POLICY, &USER, &PASSWORD, &CACERTFILE];
        misfits.extend(of_url.into_iter().filter(|key| has(key)).map(|key| (key, "needs 'warren.influxdb.url'")));
        return misfits;
    }
    let mut check = |is_misfit: bool, key, text| misfits.extend(is_misfit.then_some((key, text)));
    check(
        !has(&BUCKET) && !has(&DATABASE),
        &URL,
        "needs 'warren.influxdb.bucket' (InfluxDB 2 and 3), or 'warren.influxdb.database' (InfluxDB 1)",
    );
    check(has(&BUCKET) && has(&DATABASE), &DATABASE, "and 'warren.influxdb.bucket' cannot both be set");
    check(has(&ORG) && !has(&BUCKET), &ORG, "needs 'warren.influxdb.bucket'");
    check(has(&RETENTION_POLICY) && !has(&DATABASE), &RETENTION_POLICY, "needs 'warren.influxdb.database'");
    check(has(&TOKEN) && has(&USER), &USER, "and 'warren.influxdb.token' cannot both be set");
    check(has(&USER) && !has(&PASSWORD), &USER, "needs 'warren.influxdb.password'");
    check(has(&PASSWORD) && !has(&USER), &PASSWORD, "needs 'warren.influxdb.user'");
    misfits
}

pub(super) fn read(values: &Values) -> InfluxdbOptions {
    let pattern = |key: &Key<Pattern>| {
        values.find(key).filter(|pattern| !pattern.as_str().is_empty()).unwrap_or_else(Pattern::all)
    };
    let objects: Vec<&str> = values.family(&["warren", "influxdb", "objects"]).map(|(_, object)| object).collect();
    let tags = values.family(&["warren", "influxdb", "tags"]);
    InfluxdbOptions {
        server: text(values, &keys::URL).map(|url| InfluxdbServer {
            url,
            place: place(values),
            login: login(values),
            cacertfile: text(values, &keys::CACERTFILE),
            timeout: values.get(&keys::TIMEOUT),
        }),
        file: text(values, &keys::FILE),
        interval: values.get(&keys::INTERVAL),
        precision: values.get(&keys::PRECISION),
        objects: InfluxdbObjects {
            node: objects.contains(&"node"),
            vhosts: objects.contains(&"vhosts"),
            queues: objects.contains(&"queues"),
            exchanges: objects.contains(&"exchanges"),
            vhost: pattern(&keys::VHOST),
            queue: pattern(&keys::QUEUE),
            exchange: pattern(&keys::EXCHANGE),
        },
        tags: tags.map(|(name, value)| (name.to_owned(), value.to_owned())).collect(),
    }
}

fn place(values: &Values) -> InfluxdbPlace {
    match text(values, &keys::BUCKET) {
        Some(bucket) => InfluxdbPlace::Bucket { org: text(values, &keys::ORG), bucket },
        None => InfluxdbPlace::Database {
            database: text(values, &keys::DATABASE).expect("checked: where there is no bucket, there is a database"),
            retention_policy: text(values, &keys::RETENTION_POLICY),
        },
    }
}

fn login(values: &Values) -> Option<InfluxdbLogin> {
    if let Some(token) = text(values, &keys::TOKEN) {
        return Some(InfluxdbLogin::Token(token));
    }
    Some(InfluxdbLogin::User(text(values, &keys::USER)?, text(values, &keys::PASSWORD)?))
}

/// A key's text, if it has one that is not empty.
fn text(values: &Values, key: &Key<String>) -> Option<String> {
    values.find(key).filter(|text| !text.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;

    #[track_caller]
    fn parsed(sets: &[&str]) -> Config {
        let sets: Vec<String> = sets.iter().map(|set| format!("warren.influxdb.{set}")).collect();
        Config::parse(&[], &[], &sets).unwrap().0
    }

    #[track_caller]
    fn check_refused(sets: &[&str], text: &str) {
        let sets: Vec<String> = sets.iter().map(|set| format!("warren.influxdb.{set}")).collect();
        assert_eq!(Config::parse(&[], &[], &sets).unwrap_err().to_string(), format!("--set: {text}"), "{sets:?}");
    }

    #[test]
    fn nothing_goes_anywhere_unless_said() {
        let options = Config::default().influxdb;
        assert!(options.server.is_none() && options.file.is_none());
        let InfluxdbObjects { node, vhosts, queues, exchanges, vhost, .. } = options.objects;
        assert!(node && vhosts && queues && exchanges && vhost.is_match("any"));
        assert_eq!((options.interval.as_secs(), &*options.precision), (10, "ns"));
        assert!(parsed(&["url = ", "file = "]).influxdb.server.is_none(), "what is empty is not said");
    }

    #[test]
    fn a_server_is_of_one_version() {
        let server = |sets| parsed(sets).influxdb.server.unwrap();
        let second = server(&["url = https://h:8086", "org = o", "bucket = b", "token = t", "timeout = 2s"]);
        assert_eq!(second.place, InfluxdbPlace::Bucket { org: Some("o".to_owned()), bucket: "b".to_owned() });
        assert!(second.login == Some(InfluxdbLogin::Token("t".to_owned())));
        assert_eq!((&*second.url, second.timeout.as_secs()), ("https://h:8086", 2));
        let first = server(&["url = http://h", "database = d", "retention_policy = r", "user = u", "password = p"]);
        let place = InfluxdbPlace::Database { database: "d".to_owned(), retention_policy: Some("r".to_owned()) };
        assert_eq!(first.place, place);
        assert!(first.login == Some(InfluxdbLogin::User("u".to_owned(), "p".to_owned())));
    }

    #[test]
    fn what_is_said_of_objects_replaces_all_of_them() {
        let options = parsed(&["objects.1 = queues", "queue = ^orders", "tags.dc = fra", "file = /f"]).influxdb;
        let InfluxdbObjects { node, vhosts, queues, exchanges, queue, .. } = options.objects;
        assert!(queues && !node && !vhosts && !exchanges);
        assert!(queue.is_match("orders.eu") && !queue.is_match("other"));
        assert_eq!(options.tags, [("dc".to_owned(), "fra".to_owned())]);
        assert_eq!(options.file.as_deref(), Some("/f"));
    }

    #[test]
    fn keys_that_do_not_go_together_stop_the_start() {
        let url = "url = http://h";
        check_refused(
            &[url],
            "'warren.influxdb.url' needs 'warren.influxdb.bucket' (InfluxDB 2 and 3), or 'warren.influxdb.database' (InfluxDB 1)",
        );
        check_refused(&["token = t"], "'warren.influxdb.token' needs 'warren.influxdb.url'");
        check_refused(
            &[url, "bucket = b", "database = d"],
            "'warren.influxdb.database' and 'warren.influxdb.bucket' cannot both be set",
        );
        check_refused(&[url, "database = d", "org = o"], "'warren.influxdb.org' needs 'warren.influxdb.bucket'");
        check_refused(
            &[url, "bucket = b", "retention_policy = r"],
            "'warren.influxdb.retention_policy' needs 'warren.influxdb.database'",
        );
        check_refused(
            &[url, "bucket = b", "token = t", "user = u", "password = p"],
            "'warren.influxdb.user' and 'warren.influxdb.token' cannot both be set",
        );
        check_refused(&[url, "bucket = b", "user = u"], "'warren.influxdb.user' needs 'warren.influxdb.password'");
        check_refused(&[url, "bucket = b", "password = p"], "'warren.influxdb.password' needs 'warren.influxdb.user'");
        for name in ["time", "queue", "_field"] {
            let text = "cannot be a tag: lines already have a tag with this name, or InfluxDB reserves it";
            check_refused(&[&format!("tags.{name} = x")], &format!("'warren.influxdb.tags.{name}' {text}"));
        }
        check_refused(
            &["interval = 1"],
            "'warren.influxdb.interval' must be milliseconds, or a duration such as 10s or 5m, from 100 to 3600000 ms, not '1'",
        );
    }

    #[test]
    fn secrets_are_not_shown() {
        let url = "url = http://me:s1cret@h";
        for config in [
            parsed(&[url, "bucket = b", "token = s2cret"]),
            parsed(&[url, "database = b", "user = u", "password = s3cret"]),
        ] {
            let shown = format!("{config:?} {:?}", config.effective());
            assert!(!["s1cret", "s2cret", "s3cret"].iter().any(|secret| shown.contains(secret)), "{shown}");
        }
        check_refused(
            &["token = encrypted:x"],
            "'warren.influxdb.token' is encrypted, which is not supported; write it in plain",
        );
    }
}
