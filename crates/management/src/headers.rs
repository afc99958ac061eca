//! Headers that answers have besides their own: safety, caches, and other origins (CORS).

use hyper::header::{self, HeaderMap, HeaderName, HeaderValue};

use crate::options::{Cors, Headers};

/// What every answer of the API says about itself.
pub(crate) fn add_common(headers: &mut HeaderMap, options: &Headers, allow: Option<&'static str>) {
    headers.entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-cache"));
    headers.insert(header::VARY, HeaderValue::from_static("accept, accept-encoding, origin"));
    if let Some(allow) = allow.filter(|_| !options.hides_allow) {
        headers.insert(header::ALLOW, HeaderValue::from_static(allow));
    }
    add_safety(headers, options);
}

/// A browser asks for name and password itself where a header requests that. Where a page's script asks, the page does.
pub(crate) fn keep_dialogue_away(headers: &mut HeaderMap, request: &HeaderMap) {
    if request.get("sec-fetch-dest").is_some_and(|destination| destination == "empty") {
        headers.remove(header::WWW_AUTHENTICATE);
    }
}

/// What keeps a browser from doing harm.
pub(crate) fn add_safety(headers: &mut HeaderMap, options: &Headers) {
    let configured: [(HeaderName, &Option<HeaderValue>); 6] = [
        (header::CONTENT_SECURITY_POLICY, &options.content_security_policy),
        (header::STRICT_TRANSPORT_SECURITY, &options.strict_transport_security),
        (header::X_CONTENT_TYPE_OPTIONS, &options.content_type_options),
        (header::X_XSS_PROTECTION, &options.xss_protection),
        (header::X_FRAME_OPTIONS, &options.frame_options),
        (header::REFERRER_POLICY, &options.referrer_policy),
    ];
    for (name, value) in configured {
        if let Some(value) = value {
            // A page of ours that says something stricter keeps it.
            headers.entry(name).or_insert_with(|| value.clone());
        }
    }
}

/// The headers for a page of another origin, if that origin is permitted.
pub(crate) fn add_cors(headers: &mut HeaderMap, options: &Cors, request: &HeaderMap, preflight_allow: Option<&str>) {
    let Some(origin) = request.get(header::ORIGIN).filter(|origin| options.allows(origin)) else { return };
    headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin.clone());
    headers.insert(header::ACCESS_CONTROL_ALLOW_CREDENTIALS, HeaderValue::from_static("true"));
    let Some(allow) = preflight_allow else { return };
    if let Some(max_age_s) = options.max_age_s {
        headers.insert(header::ACCESS_CONTROL_MAX_AGE, HeaderValue::from(max_age_s));
    }
    if let Ok(methods) = HeaderValue::from_str(allow) {
        headers.insert(header::ACCESS_CONTROL_ALLOW_METHODS, methods);
    }
    if let Some(wanted) = request.get(header::ACCESS_CONTROL_REQUEST_HEADERS) {
        headers.insert(header::ACCESS_CONTROL_ALLOW_HEADERS, wanted.clone());
    }
}
