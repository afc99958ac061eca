//! What must hold for any input whatever. Each function takes bytes and panics if something does not hold.

use net::proxy_protocol::{HeaderProgress, parse};

/// The first bytes of a connection: a header does not depend on what follows it, no part of one is a whole one, and what is refused
/// stays refused.
pub(crate) fn proxy_header(input: &[u8]) {
    match parse(input) {
        Ok(HeaderProgress::Complete { header, len }) => {
            assert_eq!(parse(&input[..len]), Ok(HeaderProgress::Complete { header, len }));
            assert_eq!(parse(&input[..len - 1]), Ok(HeaderProgress::Incomplete));
        }
        Ok(HeaderProgress::Incomplete) => {
            assert!(input.len() < 16 + usize::from(u16::MAX), "every header has an end");
            assert!(input.is_empty() || parse(&input[..input.len() - 1]) == Ok(HeaderProgress::Incomplete));
        }
        Err(error) => {
            assert!(!error.to_string().is_empty());
            assert_eq!(parse(&[input, b"\r\n"].concat()), Err(error));
        }
    }
}
