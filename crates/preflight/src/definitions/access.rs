//! Users and what they may do.

use definitions::{Fields, UserRequest};

use super::expected::Expected;
use super::refusal::Judgement;
use crate::pages;
use crate::sheet::Remark;

pub(super) fn user(_: &mut Expected, fields: Fields<'_>) -> Judgement {
    let (_, remark) = UserRequest::of_entry(fields)?;
    let useless = |_| {
        let text = "'password_hash' has an invalid length: as in RabbitMQ, logins with a password fail";
        let advice =
            "give the user a password, or a hash from `warren ctl hash_password`: 4 bytes of salt, then the hash";
        Remark::different(text, pages::USERS).advising(advice)
    };
    Ok(remark.map(useless).into_iter().collect())
}

pub(super) fn permission(expected: &mut Expected, fields: Fields<'_>) -> Judgement {
    let given = definitions::permissions(fields, expected.scope())?;
    expected.check_vhost(given.vhost.as_str())?;
    expected.check_user(given.user.as_str())?;
    Ok(Vec::new())
}

pub(super) fn topic_permission(expected: &mut Expected, fields: Fields<'_>) -> Judgement {
    let given = definitions::topic_permission(fields, expected.scope())?;
    expected.check_vhost(given.vhost.as_str())?;
    expected.check_user(given.user.as_str())?;
    Ok(Vec::new())
}
