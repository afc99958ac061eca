//! What the configuration gives to vhosts when they are made, and which passwords it lets be set.

use model::name::{UserName, VhostName};
use model::pattern::Pattern;
use model::policy::{ApplyTo, PolicyKind};
use model::user::{CredentialValidator, Permission, Tags};
use model::vhost::{VhostDefaults, VhostLimitDefault, VhostLimits, VhostPolicyDefault, VhostUserDefault};

use super::node::Node;
use crate::control::{ControlError, PasswordChange, UserRequest, VhostRequest};
use crate::identity::Actor;
use crate::options::Options;

fn name(vhost: &str) -> VhostName {
    VhostName::parse(vhost.as_bytes()).unwrap()
}

fn defaults() -> VhostDefaults {
    let limits = VhostLimits { queue_max: Some(3), ..VhostLimits::default() };
    let tester = VhostUserDefault {
        name: UserName::parse(b"tester").unwrap(),
        vhosts: Pattern::parse("^qa|^/$").unwrap(),
        password: Some("one".into()),
        tags: Tags::parse("monitoring"),
        permission: Permission::parse("", "", ".*").unwrap(),
    };
    VhostDefaults {
        limits: vec![VhostLimitDefault { pattern: Pattern::parse("^qa").unwrap(), limits }],
        users: vec![tester],
        policies: vec![VhostPolicyDefault {
            name: "bound".to_owned(),
            vhosts: Pattern::parse("^qa").unwrap(),
            pattern: "^x".to_owned(),
            apply_to: ApplyTo::Queues,
            definition: serde_json::Map::from_iter([("max-length".to_owned(), 3.into())]),
        }],
    }
}

fn make(node: &Node, vhost: &str) {
    let made = node.broker.put_vhost(&Actor::broker(), VhostRequest::named(name(vhost))).unwrap();
    assert!(made.is_new);
}

fn tester(password: &str) -> UserRequest {
    UserRequest::named(UserName::parse(b"tester").unwrap(), PasswordChange::Plain(password.into()))
}

#[test]
fn new_vhosts_have_their_limits_and_users() {
    let node = Node::with(Options { vhost_defaults: defaults(), ..Options::default() });
    let user = node.broker.user("tester").expect("it came with the first vhost");
    assert!(user.verify(b"one") && user.tags.has("monitoring"));
    make(&node, "qa.1");
    make(&node, "other");
    let policies = node.broker.policies(PolicyKind::Operator);
    let [policy] = &policies[..] else { panic!("{policies:?}") };
    assert_eq!((policy.vhost.as_str(), &*policy.name, policy.pattern.as_str()), ("qa.1", "bound", "^x"));
    let limits = |vhost| node.broker.vhost_view(vhost).unwrap().facts.limits.queue_max;
    assert_eq!((limits("qa.1"), limits("other"), limits("/")), (Some(3), None, None));
    let mut client = node.accept("127.0.0.1:40000");
    client.log_in("tester", "one");
    let permitted: Vec<_> =
        node.broker.permissions().into_iter().filter(|given| given.user.as_str() == "tester").collect();
    assert_eq!(permitted.iter().map(|given| given.vhost.as_str()).collect::<Vec<_>>(), ["/", "qa.1"]);
    assert_eq!(permitted[0].permission.configure.as_str(), "");
}

#[test]
fn a_user_that_is_there_keeps_its_password_and_its_tags() {
    let node = Node::with(Options { vhost_defaults: defaults(), ..Options::default() });
    let changed = UserRequest { tags: Some(Tags::default()), ..tester("two") };
    node.broker.put_user(&Actor::broker(), changed).unwrap();
    make(&node, "qa.1");
    let user = node.broker.user("tester").unwrap();
    assert!(user.verify(b"two") && !user.verify(b"one") && !user.tags.has("monitoring"));
    // A vhost that is only changed gives no user back what was taken away.
    node.broker.delete_permission(&Actor::broker(), "tester", "qa.1").unwrap();
    node.broker.put_vhost(&Actor::broker(), VhostRequest::named(name("qa.1"))).unwrap();
    assert!(node.broker.permissions().iter().all(|given| given.vhost.as_str() != "qa.1"));
}

#[test]
fn passwords_that_the_validator_refuses_are_not_set() {
    let validator = CredentialValidator::MinLength(8);
    let node = Node::with(Options { credential_validator: validator, ..Options::default() });
    let refused = node.broker.put_user(&Actor::broker(), tester("short")).unwrap_err();
    assert!(matches!(&refused, ControlError::Invalid(text) if text == "minimum required password length is set to 8"));
    assert!(node.broker.user("tester").is_none());
    let second = UserRequest { second_password: PasswordChange::Plain("short".into()), ..tester("long enough") };
    assert!(node.broker.put_user(&Actor::broker(), second).is_err());
    node.broker.put_user(&Actor::broker(), tester("long enough")).unwrap();
}
