//! Who asks: the header `authorization`.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hyper::header::{self, HeaderMap};

/// What a request says about who it is from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Credentials {
    /// Nothing.
    None,
    /// A name and a password.
    Basic { name: String, password: Vec<u8> },
    /// A way to log in that is not built.
    Other,
    /// Nonsense.
    Malformed,
}

/// Longest name and password together, in bytes.
const CREDENTIALS_LEN_MAX: usize = 4096;

impl Credentials {
    pub(crate) fn of(headers: &HeaderMap) -> Credentials {
        let Some(value) = headers.get(header::AUTHORIZATION) else { return Credentials::None };
        let Some((scheme, value)) = value.to_str().ok().and_then(|text| text.split_once(' ')) else {
            return Credentials::Malformed;
        };
        if scheme.eq_ignore_ascii_case("bearer") {
            return Credentials::Other;
        }
        if !scheme.eq_ignore_ascii_case("basic") || value.len() > CREDENTIALS_LEN_MAX {
            return Credentials::Malformed;
        }
        STANDARD.decode(value.trim()).ok().and_then(basic).unwrap_or(Credentials::Malformed)
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
    fn what_cannot_be_read_is_malformed() {
        for value in ["", "Basic", "Basic !!", "Basic Z3Vlc3Q=", "Digest x", "Basic /zo="] {
            check(value, Credentials::Malformed);
        }
        check("Bearer abc", Credentials::Other);
        assert_eq!(Credentials::of(&HeaderMap::new()), Credentials::None);
    }
}
