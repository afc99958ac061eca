//! Distinguished names as text, the way RabbitMQ writes them: RFC 4514 with RabbitMQ's names of attributes and its escapes.
//!
//! Where RabbitMQ's own text shows only how Erlang failed to decode a value (`UID`, and attributes without a name), the value stands here.

use std::fmt::Write as _;

use x509_cert::attr::AttributeTypeAndValue;
use x509_cert::der::asn1::ObjectIdentifier;
use x509_cert::der::{Any, Encode as _, Tag, Tagged as _};
use x509_cert::name::Name;

/// id-at-commonName.
const COMMON_NAME: ObjectIdentifier = ObjectIdentifier::new_unwrap("2.5.4.3");

/// Attributes that have a name of letters.
const NAMES: [(ObjectIdentifier, &str); 17] = [
    (COMMON_NAME, "CN"),
    (ObjectIdentifier::new_unwrap("2.5.4.4"), "SN"),
    (ObjectIdentifier::new_unwrap("2.5.4.5"), "SERIALNUMBER"),
    (ObjectIdentifier::new_unwrap("2.5.4.6"), "C"),
    (ObjectIdentifier::new_unwrap("2.5.4.7"), "L"),
    (ObjectIdentifier::new_unwrap("2.5.4.8"), "ST"),
    (ObjectIdentifier::new_unwrap("2.5.4.10"), "O"),
    (ObjectIdentifier::new_unwrap("2.5.4.11"), "OU"),
    (ObjectIdentifier::new_unwrap("2.5.4.12"), "TITLE"),
    (ObjectIdentifier::new_unwrap("2.5.4.42"), "GIVENNAME"),
    (ObjectIdentifier::new_unwrap("2.5.4.43"), "INITIALS"),
    (ObjectIdentifier::new_unwrap("2.5.4.44"), "GENERATIONQUALIFIER"),
    (ObjectIdentifier::new_unwrap("2.5.4.46"), "DNQUALIFIER"),
    (ObjectIdentifier::new_unwrap("2.5.4.65"), "PSEUDONYM"),
    (ObjectIdentifier::new_unwrap("0.9.2342.19200300.100.1.25"), "DC"),
    (ObjectIdentifier::new_unwrap("0.9.2342.19200300.100.1.1"), "UID"),
    (ObjectIdentifier::new_unwrap("1.2.840.113549.1.9.1"), "EMAILADDRESS"),
];

/// The whole name, its last part first.
pub(super) fn show(name: &Name) -> String {
    let parts = name.0.iter().rev().map(|part| part.0.iter().map(show_attribute).collect::<Vec<_>>().join("+"));
    parts.collect::<Vec<_>>().join(",")
}

/// The values of all common names, in the certificate's order.
pub(super) fn common_names(name: &Name) -> Vec<String> {
    let attributes = name.0.iter().flat_map(|part| part.0.iter());
    attributes.filter(|attribute| attribute.oid == COMMON_NAME).filter_map(|attribute| text(&attribute.value)).collect()
}

fn show_attribute(attribute: &AttributeTypeAndValue) -> String {
    let name = NAMES.iter().find(|(oid, _)| *oid == attribute.oid).map(|(_, name)| (*name).to_owned());
    let name = name.unwrap_or_else(|| attribute.oid.to_string());
    match text(&attribute.value) {
        Some(value) => format!("{name}={}", escape(&value)),
        None => format!("{name}=#{}", hex(&attribute.value.to_der().unwrap_or_default())),
    }
}

/// What a value says, if it is one of ASN.1's kinds of text.
pub(super) fn text(value: &Any) -> Option<String> {
    let bytes = value.value();
    match value.tag() {
        Tag::Utf8String | Tag::PrintableString | Tag::Ia5String | Tag::NumericString | Tag::VisibleString => {
            String::from_utf8(bytes.to_vec()).ok()
        }
        // T.61 in theory; Latin-1 is what all programs put there.
        Tag::TeletexString => Some(bytes.iter().copied().map(char::from).collect()),
        Tag::BmpString => {
            let (units, []) = bytes.as_chunks::<2>() else { return None };
            char::decode_utf16(units.iter().copied().map(u16::from_be_bytes)).collect::<Result<_, _>>().ok()
        }
        _ => None,
    }
}

/// RFC 4514 2.4, and every byte that is no printable ASCII as two hexadecimal digits.
fn escape(value: &str) -> String {
    let mut out = String::with_capacity(value.len());
    let last = value.len().wrapping_sub(1);
    for (at, byte) in value.bytes().enumerate() {
        match byte {
            b' ' if at == 0 || at == last => out.push_str("\\ "),
            b'#' if at == 0 => out.push_str("\\#"),
            b',' | b'+' | b'"' | b'\\' | b'<' | b'>' | b';' => {
                out.push('\\');
                out.push(char::from(byte));
            }
            b' '..=b'}' => out.push(char::from(byte)),
            _ => write!(out, "\\{byte:02X}").expect("writing to a String cannot fail"),
        }
    }
    out
}

pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(2 * bytes.len()), |mut out, byte| {
        write!(out, "{byte:02X}").expect("writing to a String cannot fail");
        out
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_escaped(value: &str, expected: &str) {
        assert_eq!(escape(value), expected);
    }

    #[test]
    fn values_are_escaped_as_rabbitmq_does() {
        check_escaped("client", "client");
        check_escaped("Org, Inc.", "Org\\, Inc.");
        check_escaped(" #lead Zoë~\"<>;\\ trail ", "\\ #lead Zo\\C3\\AB\\7E\\\"\\<\\>\\;\\\\ trail\\ ");
        check_escaped("#1", "\\#1");
        check_escaped("a#1", "a#1");
        check_escaped("a=b", "a=b");
        check_escaped(" ", "\\ ");
        check_escaped("", "");
        check_escaped("a\tb\0", "a\\09b\\00");
    }

    #[test]
    fn text_is_read_from_every_kind_of_string() {
        let value = |tag, bytes: &[u8]| text(&Any::new(tag, bytes).unwrap());
        assert_eq!(value(Tag::Utf8String, "ë".as_bytes()).as_deref(), Some("ë"));
        assert_eq!(value(Tag::PrintableString, b"DE").as_deref(), Some("DE"));
        assert_eq!(value(Tag::TeletexString, b"\xeb").as_deref(), Some("ë"));
        assert_eq!(value(Tag::BmpString, b"\0a\0\xeb").as_deref(), Some("aë"));
        assert_eq!(value(Tag::BmpString, b"\0a\0"), None);
        assert_eq!(value(Tag::Utf8String, b"\xff"), None);
        assert_eq!(value(Tag::OctetString, b"a"), None);
    }
}
