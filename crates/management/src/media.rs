//! Which types of content a request accepts and brings.

use hyper::header::{self, HeaderMap};

/// Whether an answer of this type, such as `application/json`, is acceptable. No `accept` at all accepts everything.
pub(crate) fn accepts(headers: &HeaderMap, content_type: &str) -> bool {
    let mut ranges = headers.get_all(header::ACCEPT).iter().peekable();
    if ranges.peek().is_none() {
        return true;
    }
    let Some((kind, _)) = content_type.split_once('/') else { return false };
    ranges.filter_map(|value| value.to_str().ok()).flat_map(|value| value.split(',')).any(|range| {
        let mut parts = range.split(';').map(str::trim);
        let named = parts.next().unwrap_or_default().to_ascii_lowercase();
        let is_ruled_out = parts.any(|part| {
            let quality = part.strip_prefix("q=").and_then(|quality| quality.parse::<f32>().ok());
            quality.is_some_and(|quality| quality <= 0.0)
        });
        let is_named = named == content_type || named == "*/*" || named.strip_suffix("/*") == Some(kind);
        is_named && !is_ruled_out
    })
}

/// Whether an answer may be compressed by gzip.
pub(crate) fn accepts_gzip(headers: &HeaderMap) -> bool {
    let values = headers.get_all(header::ACCEPT_ENCODING).iter().filter_map(|value| value.to_str().ok());
    values.flat_map(|value| value.split(',')).any(|coding| {
        let mut parts = coding.split(';').map(str::trim);
        let is_gzip = parts.next().is_some_and(|name| name.eq_ignore_ascii_case("gzip"));
        let is_ruled_out = parts.filter_map(|part| part.strip_prefix("q=")?.parse::<f32>().ok()).any(|q| q <= 0.0);
        is_gzip && !is_ruled_out
    })
}

/// Whether `content-type` is one at all: two words with a `/` between. Which one does not matter, as in RabbitMQ.
pub(crate) fn has_valid_content_type(headers: &HeaderMap) -> bool {
    let Some(value) = headers.get(header::CONTENT_TYPE) else { return true };
    let Ok(text) = value.to_str() else { return false };
    let is_word = |word: &str| !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_graphic());
    text.split(';').next().and_then(|text| text.trim().split_once('/')).is_some_and(|(a, b)| is_word(a) && is_word(b))
}

/// The boundary of a body of several parts.
pub(crate) fn multipart_boundary(headers: &HeaderMap) -> Option<String> {
    let text = headers.get(header::CONTENT_TYPE)?.to_str().ok()?;
    let mut parts = text.split(';').map(str::trim);
    if !parts.next()?.eq_ignore_ascii_case("multipart/form-data") {
        return None;
    }
    let boundary = parts.find_map(|part| {
        let (name, value) = part.split_once('=')?;
        name.trim().eq_ignore_ascii_case("boundary").then(|| value.trim().trim_matches('"').to_owned())
    })?;
    // RFC 2046: up to 70 characters.
    (1..=70).contains(&boundary.len()).then_some(boundary)
}

#[cfg(test)]
mod tests {
    use super::*;
    use hyper::header::HeaderValue;

    fn with(name: header::HeaderName, value: &'static str) -> HeaderMap {
        HeaderMap::from_iter([(name, HeaderValue::from_static(value))])
    }

    #[test]
    fn json_is_sent_to_who_accepts_it() {
        let accepts = |value| accepts(&with(header::ACCEPT, value), "application/json");
        for value in ["*/*", "application/json;q=0.1", "text/html, application/*", "Application/JSON"] {
            assert!(accepts(value), "{value}");
        }
        for value in ["text/html", "text/*", "application/xml", "application/json;q=0", ""] {
            assert!(!accepts(value), "{value}");
        }
        assert!(super::accepts(&HeaderMap::new(), "application/json"));
    }

    #[test]
    fn any_content_type_will_do_if_it_is_one() {
        let is_valid = |value| has_valid_content_type(&with(header::CONTENT_TYPE, value));
        assert!(is_valid("text/plain"));
        assert!(is_valid("application/json; charset=utf-8"));
        assert!(!is_valid("rubbish"));
        assert!(!is_valid(""));
        assert!(has_valid_content_type(&HeaderMap::new()));
    }

    #[test]
    fn the_boundary_of_parts_is_found() {
        let boundary = |value| multipart_boundary(&with(header::CONTENT_TYPE, value));
        assert_eq!(boundary("multipart/form-data; boundary=abc").as_deref(), Some("abc"));
        assert_eq!(boundary("Multipart/Form-Data; charset=x; Boundary=\"a b\"").as_deref(), Some("a b"));
        assert_eq!(boundary("application/json"), None);
        assert_eq!(boundary("multipart/form-data"), None);
        assert_eq!(boundary("multipart/form-data; boundary="), None);
    }
}
