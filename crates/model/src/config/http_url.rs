//! URLs of HTTP services in values of keys: which of them a program can ask.

use super::value::Kind;

/// An `http://` or `https://` URL.
pub(super) const HTTP_URL: Kind = Kind {
    what: "an http:// or https:// URL",
    refusal: |text| (!is_http_url(text)).then(String::new),
    shown: |text| amqp::uri::without_passwords(text),
};

/// Whether such a URL can be asked for: a scheme, a host, a port that is one, and no characters that a URL cannot have.
#[must_use]
pub fn is_http_url(text: &str) -> bool {
    let Some(rest) = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://")) else { return false };
    let is_fit = |char: char| char.is_ascii_graphic() && !"\"<>\\^`{|}".contains(char);
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let address = authority.rsplit_once('@').map_or(authority, |(_, address)| address);
    let (host, port) = match address.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((host, port)) => (host, port),
        None => address.split_at(address.find(':').unwrap_or(address.len())),
    };
    let is_port = port.is_empty()
        || port
            .strip_prefix(':')
            .is_some_and(|port| port.is_empty() || port.parse::<u16>().is_ok() && !port.starts_with('+'));
    // A slash that a password has in it would end the host.
    let has_split_password = rest.contains('@') && !authority.contains('@');
    text.chars().all(is_fit) && !host.is_empty() && is_port && !has_split_password
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_has_a_scheme_a_host_and_a_port() {
        for good in
            ["http://h", "https://u:p@h:8443/x?y=z#a", "http://[::1]:80/", "https://id.example/realms/a/", "http://h:"]
        {
            assert!(is_http_url(good), "{good}");
        }
        for bad in [
            "",
            "h",
            "ftp://h",
            "http://",
            "http://:80",
            "https://h:99999",
            "http://h:x",
            "http://a b",
            "http://u:p/q@h",
            "$(URL)",
        ] {
            assert!(!is_http_url(bad), "{bad}");
        }
    }
}
