//! AMQP URIs: `amqp[s]://user:password@host:port/vhost?heartbeat=10`, as RabbitMQ describes them.

use std::borrow::Cow;
use std::fmt;
use std::net::Ipv6Addr;
use std::time::Duration;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

/// The port of AMQP.
const PORT: u16 = 5672;
/// The port of AMQP over TLS.
const PORT_TLS: u16 = 5671;

/// What stands for itself in a URI.
const ESCAPED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// Where a broker is, and the user that logs in.
///
/// An empty path is the vhost `/`, and so is a path of just a slash: brokers have no vhost without a name.
#[derive(Clone, PartialEq, Eq)]
pub struct Uri {
    /// Whether to speak TLS (`amqps`).
    pub is_tls: bool,
    /// A name or an address, without the brackets of IPv6.
    pub host: String,
    /// The port: 5672, or 5671 with TLS, where none was given.
    pub port: u16,
    /// The user's name: `guest` where none was given.
    pub user: String,
    /// The user's password: `guest` where none was given.
    pub password: String,
    /// The vhost.
    pub vhost: String,
    /// A vhost was given: RabbitMQ's links mean their own where none was.
    pub has_vhost: bool,
    /// `heartbeat`, in seconds.
    pub heartbeat: Option<u16>,
    /// `channel_max`.
    pub channel_max: Option<u16>,
    /// `frame_max`, in bytes.
    pub frame_max: Option<u32>,
    /// `connection_timeout`, in milliseconds.
    pub connection_timeout: Option<Duration>,
    /// No host was given. To a program that connects that is `localhost`; to a broker it is that broker itself, as RabbitMQ's direct
    /// connections are.
    pub is_hostless: bool,
    /// A user was given.
    pub has_user: bool,
    /// `auth_mechanism`, such as `external`; of several the first.
    pub auth_mechanism: Option<String>,
    /// What is asked of TLS, if anything is.
    pub tls: Option<Box<TlsQuery>>,
    /// As it was written, without user, password and query; None where it was not.
    pub written: Option<Box<str>>,
}

/// What a URI's query says of TLS, by RabbitMQ's names. Files are those of the program that connects.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TlsQuery {
    /// `cacertfile`: the authorities that are trusted.
    pub authorities: Option<String>,
    /// `certfile`: the client's own certificate.
    pub certificate: Option<String>,
    /// `keyfile`: its key.
    pub key: Option<String>,
    /// `verify`: whether the broker's certificate is looked at (`verify_peer`) or not (`verify_none`).
    pub verifies_peer: Option<bool>,
    /// `server_name_indication`: the name that the broker's certificate has to have; `disable` is none.
    pub server_name: Option<String>,
}

/// Why a text is no AMQP URI.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("'{uri}' is no AMQP URI: {reason}")]
pub struct UriError {
    /// The text, its password left out.
    pub uri: String,
    /// What is wrong with it.
    pub reason: Cow<'static, str>,
}

impl Uri {
    /// Parses a URI.
    pub fn parse(text: &str) -> Result<Self, UriError> {
        parse(text).map_err(|reason| UriError { uri: shown(text), reason })
    }

    /// The URI without user, password and query, as it may be shown to anyone; otherwise as it was written, as RabbitMQ shows it.
    #[must_use]
    pub fn without_user(&self) -> String {
        if let Some(written) = &self.written {
            return written.to_string();
        }
        let (scheme, port) = if self.is_tls { ("amqps", PORT_TLS) } else { ("amqp", PORT) };
        let mut out = format!("{scheme}://");
        if !self.is_hostless {
            let address = self.address();
            let bare = address.strip_suffix(&format!(":{port}"));
            out.push_str(bare.unwrap_or(&address));
        }
        if self.vhost != "/" {
            out.push('/');
            out.extend(utf8_percent_encode(&self.vhost, ESCAPED));
        }
        out
    }

    /// Host and port, as they are written together.
    #[must_use]
    pub fn address(&self) -> String {
        if self.host.contains(':') {
            format!("[{}]:{}", self.host, self.port)
        } else {
            format!("{}:{}", self.host, self.port)
        }
    }
}

impl Default for Uri {
    /// `amqp://localhost`.
    fn default() -> Self {
        Uri {
            is_tls: false,
            host: "localhost".to_owned(),
            port: PORT,
            user: "guest".to_owned(),
            password: "guest".to_owned(),
            vhost: "/".to_owned(),
            has_vhost: false,
            heartbeat: None,
            channel_max: None,
            frame_max: None,
            connection_timeout: None,
            is_hostless: false,
            has_user: false,
            auth_mechanism: None,
            tls: None,
            written: None,
        }
    }
}

/// Without the password: this ends up in logs and reports.
impl fmt::Display for Uri {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = if self.is_tls { "amqps" } else { "amqp" };
        let user = utf8_percent_encode(&self.user, ESCAPED);
        write!(f, "{scheme}://{user}@{}", self.address())?;
        if self.vhost == "/" { Ok(()) } else { write!(f, "/{}", utf8_percent_encode(&self.vhost, ESCAPED)) }
    }
}

impl fmt::Debug for Uri {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

fn parse(text: &str) -> Result<Uri, Cow<'static, str>> {
    let (scheme, rest) = text.split_once("://").ok_or("it has to begin with amqp:// or amqps://")?;
    let is_tls = match scheme.to_ascii_lowercase().as_str() {
        "amqp" => false,
        "amqps" => true,
        _ => return Err(format!("it has to begin with amqp:// or amqps://, not with {scheme}://").into()),
    };
    let mut uri = Uri { is_tls, port: if is_tls { PORT_TLS } else { PORT }, ..Uri::default() };
    let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
    let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
    let (user_info, host_port) =
        authority.rsplit_once('@').map_or((None, authority), |(user, host)| (Some(user), host));
    let path_with_slash = &rest[authority.len()..];
    uri.written = Some(format!("{scheme}://{host_port}{path_with_slash}").into());
    if let Some(user_info) = user_info {
        let (user, password) = user_info.split_once(':').unwrap_or((user_info, ""));
        uri.user = decoded(user, "user name")?;
        // A user without a password is still a user; only when both are missing it is the guest.
        uri.password = decoded(password, "password")?;
        uri.has_user = true;
    }
    let port = match host_port.strip_prefix('[') {
        Some(bracketed) => {
            let (host, port) = bracketed.split_once(']').ok_or("the address has no closing bracket")?;
            check_address(host)?;
            uri.host = host.to_owned();
            port
        }
        None => {
            let (host, port) = host_port.find(':').map_or((host_port, ""), |at| host_port.split_at(at));
            uri.is_hostless = host_port.is_empty();
            if !host.is_empty() {
                uri.host = decoded(host, "host")?;
                check_name(&uri.host)?;
            }
            port
        }
    };
    if !port.is_empty() {
        let digits = port.strip_prefix(':').ok_or("after the address only a port may follow")?;
        uri.port = digits.parse().map_err(|_| "the port is no number up to 65535")?;
    }
    if path.contains('/') {
        return Err("the vhost has a slash in it, which has to be written as %2f".into());
    }
    if !path.is_empty() {
        uri.vhost = decoded(path, "vhost")?;
        uri.has_vhost = true;
    }
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        take_option(&mut uri, name, value)?;
    }
    Ok(uri)
}

/// What the query says of TLS.
fn tls(uri: &mut Uri) -> &mut TlsQuery {
    uri.tls.get_or_insert_default()
}

/// One pair of the query.
fn take_option(uri: &mut Uri, name: &str, value: &str) -> Result<(), Cow<'static, str>> {
    let wrong = || format!("'{value}' is no value of {name}");
    let text = || decoded(value, name).map(Some);
    match name {
        "heartbeat" => uri.heartbeat = Some(value.parse().map_err(|_| wrong())?),
        "channel_max" => uri.channel_max = Some(value.parse().map_err(|_| wrong())?),
        "frame_max" => uri.frame_max = Some(value.parse().map_err(|_| wrong())?),
        "connection_timeout" => {
            uri.connection_timeout = Some(Duration::from_millis(value.parse().map_err(|_| wrong())?));
        }
        "cacertfile" => tls(uri).authorities = text()?,
        "certfile" => tls(uri).certificate = text()?,
        "keyfile" => tls(uri).key = text()?,
        "server_name_indication" => tls(uri).server_name = text()?,
        "verify" => match value {
            "verify_peer" => tls(uri).verifies_peer = Some(true),
            "verify_none" => tls(uri).verifies_peer = Some(false),
            _ => return Err(wrong().into()),
        },
        "auth_mechanism" if uri.auth_mechanism.is_none() => uri.auth_mechanism = text()?,
        // The rest means something to other clients.
        _ => {}
    }
    Ok(())
}

/// An address of version 6, with or without a zone.
fn check_address(text: &str) -> Result<(), Cow<'static, str>> {
    let (address, zone) = text.split_once('%').unwrap_or((text, ""));
    match address.parse::<Ipv6Addr>() {
        Ok(_) => check_name(zone),
        Err(_) => Err(format!("'{text}' is no address of IPv6, and nothing else is in brackets").into()),
    }
}

/// The name of a host, an address of version 4, or what may be one of them.
fn check_name(text: &str) -> Result<(), Cow<'static, str>> {
    let is_part = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.');
    match text.chars().find(|c| !is_part(*c)) {
        None => Ok(()),
        Some(' ') => Err(format!("the host '{text}' has a space in it").into()),
        Some(wrong) => Err(format!("the host '{}' has '{}' in it", text.escape_debug(), wrong.escape_debug()).into()),
    }
}

fn decoded(text: &str, what: &str) -> Result<String, Cow<'static, str>> {
    match percent_decode_str(text).decode_utf8() {
        Ok(decoded) => Ok(decoded.into_owned()),
        Err(_) => Err(format!("the {what} is not UTF-8").into()),
    }
}

/// A text as it may be kept and shown: passwords of all URLs in it are `***`, even of wrong ones.
///
/// `amqp://me:secret@here,amqp://there` becomes `amqp://me:***@here,amqp://there`. What is before the last `@` counts as
/// the user, even where a slash in a password should have been escaped: rather too much than too little.
#[must_use]
pub fn without_passwords(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find("://") {
        let (before, url) = rest.split_at(at + 3);
        out.push_str(before);
        let len = next_url(url).unwrap_or(url.len());
        put_without_password(&url[..len], &mut out);
        rest = &url[len..];
    }
    out.push_str(rest);
    out
}

/// Where in a text another URL begins: after a comma, a space or a quote, with the name of its scheme. Passwords may hold `://`.
fn next_url(text: &str) -> Option<usize> {
    text.match_indices("://").find_map(|(at, _)| {
        let is_scheme = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.');
        let start = text[..at].trim_end_matches(is_scheme).len();
        let separator = text[..start].chars().next_back()?;
        (start < at && matches!(separator, ',' | ';' | '"' | '\'' | ' ' | '\n' | '\t' | '=')).then_some(start)
    })
}

fn put_without_password(part: &str, out: &mut String) {
    let rest = match part.rsplit_once('@').and_then(|(user, rest)| Some((user.split_once(':')?.0, rest))) {
        Some((user, rest)) => {
            out.extend([user, ":***@"]);
            rest
        }
        None => part,
    };
    // That of a key's file (`?keyfile=…&password=…`).
    match rest.find("?password=").or_else(|| rest.find("&password=")) {
        Some(at) => {
            let (before, secret) = rest.split_at(at + "?password=".len());
            out.extend([before, "***"]);
            out.push_str(secret.find('&').map_or("", |end| &secret[end..]));
        }
        None => out.push_str(rest),
    }
}

/// A text that should be one URI, as it may be shown.
fn shown(text: &str) -> String {
    if text.contains("://") {
        return without_passwords(text);
    }
    let mut out = String::new();
    put_without_password(text, &mut out);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: Uri) {
        let uri = Uri::parse(text).unwrap();
        assert_eq!(uri.password, expected.password);
        assert_eq!(uri, Uri { written: uri.written.clone(), ..expected });
    }

    #[track_caller]
    fn check_refused(text: &str, message: &str) {
        assert_eq!(Uri::parse(text).unwrap_err().to_string(), message);
    }

    #[test]
    fn what_is_left_out_has_a_default() {
        check("amqp://localhost", Uri::default());
        check("amqp://", Uri { is_hostless: true, ..Uri::default() });
        check("amqp:///v", Uri { is_hostless: true, vhost: "v".into(), has_vhost: true, ..Uri::default() });
        check("amqp://localhost/", Uri::default());
        check("AMQP://:5673", Uri { port: 5673, ..Uri::default() });
        check("amqps://b.example", Uri { is_tls: true, host: "b.example".into(), port: 5671, ..Uri::default() });
    }

    #[test]
    fn every_part_may_be_escaped() {
        let expected = Uri {
            host: "h".into(),
            port: 10,
            user: "a/b".into(),
            password: "c@d:e".into(),
            vhost: "/x y".into(),
            has_vhost: true,
            has_user: true,
            ..Uri::default()
        };
        check("amqp://a%2Fb:c%40d%3Ae@h:10/%2fx%20y", expected);
    }

    #[test]
    fn addresses_of_six_are_in_brackets() {
        check("amqp://[::1]", Uri { host: "::1".into(), ..Uri::default() });
        check(
            "amqp://u@[::1]:7/v",
            Uri {
                host: "::1".into(),
                port: 7,
                user: "u".into(),
                password: String::new(),
                vhost: "v".into(),
                has_vhost: true,
                has_user: true,
                ..Uri::default()
            },
        );
        assert_eq!(Uri::parse("amqp://[::1]:7").unwrap().address(), "[::1]:7");
        assert_eq!(Uri::parse("amqp://[fe80::1%eth0]").unwrap().host, "fe80::1%eth0");
    }

    #[test]
    fn query_carries_what_the_java_client_reads() {
        let uri = Uri::parse("amqp://h?heartbeat=10&channel_max=5&frame_max=9000&connection_timeout=250&x=y").unwrap();
        assert_eq!((uri.heartbeat, uri.channel_max, uri.frame_max), (Some(10), Some(5), Some(9000)));
        assert_eq!(uri.connection_timeout, Some(Duration::from_millis(250)));
    }

    #[test]
    fn query_carries_what_rabbitmq_reads_of_tls() {
        let text = "amqps://h?cacertfile=/ca%20dir/ca.pem&certfile=c.pem&keyfile=k.pem&verify=verify_peer&server_name_indication=b\
            &auth_mechanism=external&auth_mechanism=plain&depth=2";
        let uri = Uri::parse(text).unwrap();
        let expected = TlsQuery {
            authorities: Some("/ca dir/ca.pem".into()),
            certificate: Some("c.pem".into()),
            key: Some("k.pem".into()),
            verifies_peer: Some(true),
            server_name: Some("b".into()),
        };
        assert_eq!((uri.tls, uri.auth_mechanism.as_deref()), (Some(Box::new(expected)), Some("external")));
        assert_eq!(Uri::parse("amqps://h?verify=verify_none").unwrap().tls.unwrap().verifies_peer, Some(false));
        check_refused("amqps://h?verify=yes", "'amqps://h?verify=yes' is no AMQP URI: 'yes' is no value of verify");
    }

    #[test]
    fn refusal_says_what_is_wrong_and_keeps_the_password() {
        check_refused("localhost", "'localhost' is no AMQP URI: it has to begin with amqp:// or amqps://");
        check_refused(
            "http://h",
            "'http://h' is no AMQP URI: it has to begin with amqp:// or amqps://, not with http://",
        );
        check_refused("amqp://u:secret@h:x", "'amqp://u:***@h:x' is no AMQP URI: the port is no number up to 65535");
        check_refused("amqp://u:sec/ret@h", "'amqp://u:***@h' is no AMQP URI: the port is no number up to 65535");
        check_refused("amqp://u:a://b@h:x", "'amqp://u:***@h:x' is no AMQP URI: the port is no number up to 65535");
        check_refused("u:secret@h", "'u:***@h' is no AMQP URI: it has to begin with amqp:// or amqps://");
        check_refused(
            "amqp://h/a/b",
            "'amqp://h/a/b' is no AMQP URI: the vhost has a slash in it, which has to be written as %2f",
        );
        check_refused("amqp://[::1", "'amqp://[::1' is no AMQP URI: the address has no closing bracket");
        check_refused(
            "amqp://u:x@local host",
            "'amqp://u:***@local host' is no AMQP URI: the host 'local host' has a space in it",
        );
        check_refused("amqp://a%2fb", "'amqp://a%2fb' is no AMQP URI: the host 'a/b' has '/' in it");
        check_refused("amqp://h\n", "'amqp://h\n' is no AMQP URI: the host 'h\\n' has '\\n' in it");
        check_refused("amqp://[::1%a b]", "'amqp://[::1%a b]' is no AMQP URI: the host 'a b' has a space in it");
        check_refused(
            "amqp://[local]",
            "'amqp://[local]' is no AMQP URI: 'local' is no address of IPv6, and nothing else is in brackets",
        );
        check_refused("amqp://h?heartbeat=x", "'amqp://h?heartbeat=x' is no AMQP URI: 'x' is no value of heartbeat");
    }

    #[test]
    fn passwords_of_all_urls_are_hidden() {
        for (text, expected) in [
            ("-H amqp://a:b@x,amqps://c:d@y/v", "-H amqp://a:***@x,amqps://c:***@y/v"),
            ("nothing to hide", "nothing to hide"),
            ("amqp://u@h", "amqp://u@h"),
            (
                "amqps://u:p@h?keyfile=k&password=secret&verify=verify_none",
                "amqps://u:***@h?keyfile=k&password=***&verify=verify_none",
            ),
            ("amqps://h?password=secret", "amqps://h?password=***"),
        ] {
            assert_eq!(without_passwords(text), expected);
        }
    }

    #[test]
    fn shown_without_its_user() {
        for (text, expected) in [
            ("amqp://", "amqp://"),
            ("amqp://u:p@/v", "amqp:///v"),
            ("amqp://u:p@h:5672/%2f?heartbeat=3", "amqp://h:5672/%2f"),
            ("AMQP://h", "AMQP://h"),
            ("amqps://u:p@[::1]:7/a%20b", "amqps://[::1]:7/a%20b"),
        ] {
            assert_eq!(Uri::parse(text).unwrap().without_user(), expected);
        }
        let made = Uri { is_tls: true, port: PORT_TLS, vhost: "v w".to_owned(), ..Uri::default() };
        assert_eq!(made.without_user(), "amqps://localhost/v%20w");
    }

    #[test]
    fn shown_without_its_password() {
        let uri = Uri::parse("amqp://u%3A:secret@h/v%2f").unwrap();
        assert_eq!(uri.to_string(), "amqp://u%3A@h:5672/v%2F");
        assert_eq!(format!("{uri:?}"), "amqp://u%3A@h:5672/v%2F");
    }
}
