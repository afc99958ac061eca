//! For which host a request is.

use hyper::Version;
use hyper::header::{HOST, HeaderMap, HeaderValue};

/// A request names two hosts, or none although its version must.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HostError;

/// The host that a request names, once: what stands between could understand two in two ways. Before HTTP/1.1 none had to be named.
pub fn host(headers: &HeaderMap, version: Version) -> Result<Option<&HeaderValue>, HostError> {
    let mut hosts = headers.get_all(HOST).iter();
    match (hosts.next(), hosts.next()) {
        (Some(host), None) => Ok(Some(host)),
        (None, None) if version < Version::HTTP_11 => Ok(None),
        _ => Err(HostError),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_names_one_host() {
        let names = |version, hosts: &[&'static str]| {
            let all: HeaderMap = hosts.iter().map(|host| (HOST, HeaderValue::from_static(host))).collect();
            host(&all, version).is_ok()
        };
        assert!(names(Version::HTTP_11, &["a"]) && names(Version::HTTP_10, &[]) && names(Version::HTTP_10, &["a"]));
        assert!(!names(Version::HTTP_11, &[]));
        for version in [Version::HTTP_10, Version::HTTP_11] {
            assert!(!names(version, &["a", "a"]) && !names(version, &["a", "b"]));
        }
    }
}
