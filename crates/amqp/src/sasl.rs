//! Users and passwords in a client's login (`connection.start-ok`'s response), by mechanism.

use crate::table::Table;

/// `PLAIN` (RFC 4616): authorization identity, user, password, separated by zeros. Gives the last two. No user
/// acts as another: the first is empty, or the user.
#[must_use]
pub fn plain(response: &[u8]) -> Option<(String, Vec<u8>)> {
    let mut parts = response.splitn(3, |&byte| byte == 0);
    let (identity, name, password) = (parts.next()?, parts.next()?, parts.next()?);
    if !identity.is_empty() && identity != name {
        return None;
    }
    Some((String::from_utf8(name.to_vec()).ok()?, password.to_vec()))
}

/// What a client sends by `PLAIN`: no authorization identity, the user and the password.
#[must_use]
pub fn plain_response(user: &str, password: &[u8]) -> Vec<u8> {
    [&[0], user.as_bytes(), &[0], password].concat()
}

/// `AMQPLAIN`, RabbitMQ's and older brokers' own: user and password in a field table without its length.
#[must_use]
pub fn amqplain(response: &[u8]) -> Option<(String, Vec<u8>)> {
    let table = Table::decode(response).ok()?;
    let name = table.get("LOGIN")?.as_bytes()?;
    let password = table.get("PASSWORD")?.as_bytes()?;
    Some((String::from_utf8(name.to_vec()).ok()?, password.to_vec()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::{TableBuf, Value};

    #[test]
    fn plain_response_has_user_and_password() {
        assert_eq!(plain(b"\0guest\0gu\0est"), Some(("guest".to_owned(), b"gu\0est".to_vec())));
        assert_eq!(plain(b"guest\0guest\0"), Some(("guest".to_owned(), b"".to_vec())));
        assert_eq!(plain(&plain_response("guest", b"gu\0est")), Some(("guest".to_owned(), b"gu\0est".to_vec())));
        assert_eq!(plain(b"admin\0guest\0guest"), None);
        assert_eq!(plain(b"guest"), None);
        assert_eq!(plain(b"\0\xff\0x"), None);
    }

    #[test]
    fn amqplain_response_is_a_bare_table() {
        let table = TableBuf::new().with("LOGIN", Value::LongStr(b"guest")).with("PASSWORD", Value::LongStr(b"pw"));
        assert_eq!(amqplain(table.as_table().as_bytes()), Some(("guest".to_owned(), b"pw".to_vec())));
        assert_eq!(amqplain(b"\x05LOGIN"), None);
    }
}
