//! The user that asks: the header `authorization`.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hyper::header::{self, HeaderMap};

/// What a request says about its user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Credentials {
    /// Nothing.
    None,
    /// A name and a password.
    Basic { name: String, password: Vec<u8> },
    /// A token, which names the user itself.
    Bearer { token: Vec<u8> },
    /// Nonsense.
    Malformed,
}

/// What follows the scheme, in bytes. A token with many scopes is long, and may be a password.
const CREDENTIALS_LEN_MAX: usize = 16 << 10;

impl Credentials {
    pub(crate) fn of(headers: &HeaderMap) -> Credentials {
        let Some(value) = headers.get(header::AUTHORIZATION) else { return Credentials::None };
        let Some((scheme, value)) = value.to_str().ok().and_then(|text| text.split_once(' ')) else {
            return Credentials::Malformed;
        };
        let value = value.trim();
        if value.len() > CREDENTIALS_LEN_MAX {
            return Credentials::Malformed;
        }
        if scheme.eq_ignore_ascii_case("bearer") && !value.is_empty() {
            return Credentials::Bearer { token: value.as_bytes().to_vec() };
        }
        if !scheme.eq_ignore_ascii_case("basic") {
            return Credentials::Malformed;
        }
        STANDARD.decode(value).ok().and_then(basic).unwrap_or(Credentials::Malformed)
    }
}

fn basic(mut decoded: Vec<u8>) -> Option<Credentials> {
    let colon = decoded.iter().position(|byte| *byte == b':')?;
    let password = decoded.split_off(colon + 1);
    decoded.truncate(colon);
    let name = String::from_utf8(decoded).ok()?;
    Some(Credentials::Basic { name, password })
}

#[cfg(test)]
mod tests {
    use super::*;
    use hyper::header::HeaderValue;

    #[track_caller]
    fn check(value: &str, expected: Credentials) {
        let headers = HeaderMap::from_iter([(header::AUTHORIZATION, HeaderValue::from_str(value).unwrap())]);
        assert_eq!(Credentials::of(&headers), expected);
    }

    #[test]
    fn a_name_ends_at_the_first_colon() {
        let basic = |name: &str, password: &[u8]| Credentials::Basic { name: name.into(), password: password.into() };
        check("Basic Z3Vlc3Q6Z3Vlc3Q=", basic("guest", b"guest"));
        check("basic Z3Vlc3Q6Z3Vlc3Q=", basic("guest", b"guest"));
        check("Basic YTpiOmM=", basic("a", b"b:c"));
        check("Basic Og==", basic("", b""));
    }

    #[test]
    fn a_token_is_taken_as_it_is() {
        check("Bearer a.b-c_d.e=", Credentials::Bearer { token: b"a.b-c_d.e=".to_vec() });
        check("bearer  abc", Credentials::Bearer { token: b"abc".to_vec() });
    }

    #[test]
    fn what_cannot_be_read_is_malformed() {
        let long = format!("Bearer {}", "a".repeat(CREDENTIALS_LEN_MAX + 1));
        for value in ["", "Basic", "Basic !!", "Basic Z3Vlc3Q=", "Digest x", "Basic /zo=", "Bearer", "Bearer ", &long] {
            check(value, Credentials::Malformed);
        }
        assert_eq!(Credentials::of(&HeaderMap::new()), Credentials::None);
    }
}
