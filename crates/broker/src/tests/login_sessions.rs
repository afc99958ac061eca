//! Logins that last longer than a request.

use std::time::Duration;

use model::name::UserName;
use model::user::Tags;

use super::node::Node;
use crate::control::{ControlError, OpenedSession, PasswordChange, UserRequest};
use crate::identity::{Actor, Identity, Interface, Origin};
use crate::limits::{LOGIN_SESSION_COUNT_MAX, LOGIN_SESSION_OF_USER_COUNT_MAX};

const HOUR: Duration = Duration::from_secs(3600);
const HOUR_MS: u64 = 3_600_000;

fn local() -> Origin {
    Origin { peer: None, interface: Interface::Http }
}

/// Some moment in the future, so that the clock ends none of these sessions.
const NOW_MS: u64 = 10_000_000_000_000;

fn put(node: &Node, name: &str, password: PasswordChange) {
    let mut request = UserRequest::named(UserName::parse(name.as_bytes()).unwrap(), password);
    request.tags = Some(Tags::parse("management"));
    node.broker.put_user(&Actor::broker(), request).unwrap();
}

fn with_password(node: &Node, name: &str, password: &str) {
    put(node, name, PasswordChange::Plain(password.to_owned()));
}

fn open_at(node: &Node, name: &str, now_ms: u64) -> OpenedSession {
    let identity = Identity::stored(node.broker.user(name).unwrap());
    node.broker.open_login_session(&identity, name.as_bytes(), &local(), HOUR, now_ms).unwrap().expect("the password")
}

fn open(node: &Node, name: &str) -> String {
    open_at(node, name, NOW_MS).token
}

fn is_open(node: &Node, token: &str) -> bool {
    node.broker.login_session(token, &local(), NOW_MS).is_some()
}

#[test]
fn a_session_is_its_users_until_its_time_is_over() {
    let node = Node::new();
    with_password(&node, "ann", "ann");
    let opened = open_at(&node, "ann", NOW_MS);
    assert_eq!((opened.token.len(), opened.expires_at_ms), (43, NOW_MS + HOUR_MS));
    assert_ne!(open(&node, "ann"), opened.token);
    let (identity, expires_at_ms) = node.broker.login_session(&opened.token, &local(), NOW_MS + HOUR_MS - 1).unwrap();
    assert_eq!((identity.name(), expires_at_ms), ("ann", opened.expires_at_ms));
    assert!(node.broker.renewed(&identity).is_some());
    assert!(node.broker.login_session(&opened.token, &local(), NOW_MS + HOUR_MS).is_none());
    assert!(!is_open(&node, "x") && !is_open(&node, ""));
}

#[test]
fn a_session_outlives_the_process_and_ends_for_good_when_it_is_closed() {
    let node = Node::new();
    with_password(&node, "ann", "ann");
    let (kept, closed) = (open(&node, "ann"), open(&node, "ann"));
    node.broker.close_login_session(&closed);
    node.sync();
    let node = node.kill();
    assert!(is_open(&node, &kept) && !is_open(&node, &closed));
    let names: Vec<_> = node.broker.global_parameters().into_iter().map(|parameter| parameter.name).collect();
    assert!(names.iter().all(|name| !name.contains("session")), "{names:?}");
}

#[test]
fn a_session_ends_with_its_password_and_with_its_user() {
    let node = Node::new();
    for name in ["ann", "bob"] {
        with_password(&node, name, name);
    }
    let (of_ann, of_bob) = (open(&node, "ann"), open(&node, "bob"));
    let (identity, _) = node.broker.login_session(&of_ann, &local(), NOW_MS).unwrap();
    // New tags end nothing, and hold at once.
    put(&node, "ann", PasswordChange::Keep);
    assert!(is_open(&node, &of_ann));
    with_password(&node, "ann", "ann");
    assert!(!is_open(&node, &of_ann) && is_open(&node, &of_bob), "the same password anew is another one");
    assert!(node.broker.renewed(&identity).is_none(), "what goes on for the session ends, too");
    node.broker.delete_user(&Actor::broker(), "bob").unwrap();
    with_password(&node, "bob", "bob");
    node.sync();
    let node = node.kill();
    assert!(!is_open(&node, &of_ann) && !is_open(&node, &of_bob));
}

#[test]
fn a_password_that_stays_valid_as_the_second_one_keeps_its_sessions() {
    let node = Node::new();
    with_password(&node, "ann", "ann");
    let token = open(&node, "ann");
    let name = UserName::parse(b"ann").unwrap();
    let mut request = UserRequest::named(name, PasswordChange::Plain("next".to_owned()));
    request.keeps_old_password = true;
    node.broker.put_user(&Actor::broker(), request).unwrap();
    assert!(is_open(&node, &token));
}

#[test]
fn nobody_gets_a_session_for_a_password_that_is_not_the_users_any_more() {
    let node = Node::new();
    with_password(&node, "ann", "ann");
    let identity = Identity::stored(node.broker.user("ann").unwrap());
    with_password(&node, "ann", "other");
    assert!(node.broker.open_login_session(&identity, b"ann", &local(), HOUR, NOW_MS).unwrap().is_none());
}

#[test]
fn the_oldest_sessions_make_room() {
    let node = Node::new();
    with_password(&node, "ann", "ann");
    let of_ann: Vec<String> =
        (0..=LOGIN_SESSION_OF_USER_COUNT_MAX as u64).map(|n| open_at(&node, "ann", NOW_MS + n).token).collect();
    assert!(!is_open(&node, &of_ann[0]) && is_open(&node, &of_ann[1]));
    for n in 0..LOGIN_SESSION_COUNT_MAX / LOGIN_SESSION_OF_USER_COUNT_MAX {
        let name = format!("user-{n}");
        with_password(&node, &name, &name);
        for _ in 0..LOGIN_SESSION_OF_USER_COUNT_MAX {
            open_at(&node, &name, NOW_MS + 1000);
        }
    }
    assert!(of_ann.iter().all(|token| !is_open(&node, token)));
    assert!(is_open(&node, &open_at(&node, "user-0", NOW_MS).token), "a new one never makes room for itself");
}

#[test]
fn guests_session_is_of_no_use_elsewhere() {
    let node = Node::new();
    let token = open(&node, "guest");
    let elsewhere = Origin { peer: Some(([192, 0, 2, 1], 5).into()), interface: Interface::Http };
    assert!(is_open(&node, &token));
    assert!(node.broker.login_session(&token, &elsewhere, NOW_MS).is_none());
}

#[test]
fn no_parameter_is_taken_for_a_session() {
    let node = Node::new();
    let refused = node.broker.put_global_parameter(&Actor::broker(), "warren-session.x", 1.into());
    let text = "invalid parameter name 'warren-session.x': the prefix 'warren-session.' is reserved for login sessions; \
                choose another name";
    assert_eq!(refused.unwrap_err(), ControlError::Invalid(text.to_owned()));
}
