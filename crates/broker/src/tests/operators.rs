//! What tests of operators' work start from: a node, the user `ann`, and an operator that changes what it may do.

use std::sync::Arc;

use amqp::content::Properties;
use amqp::table::Table;
use model::definition::UserPermission;
use model::name::{ExchangeName, QueueName, UserName, VhostName};
use model::user::{Permission, Tags};

use super::client::{Client, Heard};
use super::node::Node;
use crate::control::{PasswordChange, UserRequest};
use crate::identity::{Actor, Identity, Interface, Origin};
use crate::vhost_access::{PublishRequest, QueueRequest, VhostAccess};

pub(super) fn vhost(name: &str) -> VhostName {
    VhostName::parse(name.as_bytes()).unwrap()
}

pub(super) fn user(name: &str) -> UserName {
    UserName::parse(name.as_bytes()).unwrap()
}

pub(super) fn queue_name(name: &str) -> QueueName {
    QueueName::parse(name.as_bytes()).unwrap()
}

pub(super) fn exchange_name(name: &str) -> ExchangeName {
    ExchangeName::parse(name.as_bytes()).unwrap()
}

pub(super) fn operator() -> Actor {
    Actor::broker()
}

pub(super) fn request(name: &str, password: PasswordChange) -> UserRequest {
    UserRequest {
        name: user(name),
        password,
        second_password: PasswordChange::Keep,
        keeps_old_password: false,
        tags: Some(Tags::default()),
        limits: None,
    }
}

pub(super) fn plain(password: &str) -> PasswordChange {
    PasswordChange::Plain(password.to_owned())
}

pub(super) fn permit(node: &Node, configure: &str, write: &str, read: &str) {
    let permission = Permission::parse(configure, write, read).unwrap();
    let given = UserPermission { vhost: vhost("/"), user: user("ann"), permission };
    node.broker.put_permission(&operator(), given).unwrap();
}

/// A node on which `ann` may do what the three patterns say.
pub(super) fn node_with(configure: &str, write: &str, read: &str) -> Node {
    let node = Node::new();
    node.broker.put_user(&operator(), request("ann", plain("pw"))).unwrap();
    permit(&node, configure, write, read);
    node
}

pub(super) fn connect(node: &Node) -> Client {
    let mut client = node.accept("127.0.0.1:40000");
    client.log_in("ann", "pw");
    client.open_channel(1);
    client
}

pub(super) fn guest(node: &Node) -> VhostAccess {
    let identity = Identity::stored(node.broker.user("guest").unwrap());
    let actor = Actor { identity: Arc::new(identity), origin: over_http() };
    block_on(node.broker.enter(&actor, "/")).unwrap()
}

pub(super) fn over_http() -> Origin {
    Origin { peer: None, interface: Interface::Http }
}

pub(super) fn channel_closed(code: u16, text: &str) -> Heard {
    Heard::ChannelClose { code, text: text.to_owned() }
}

pub(super) fn connection_closed(code: u16, text: &str) -> Heard {
    Heard::ConnectionClose { code, text: text.to_owned() }
}

pub(super) fn lasting(name: &QueueName) -> QueueRequest<'_> {
    QueueRequest { name, is_durable: true, is_auto_delete: false, is_exclusive: false, arguments: Table::EMPTY }
}

pub(super) fn publish(access: &VhostAccess, exchange: &str, routing_key: &str) -> bool {
    let request = PublishRequest {
        exchange: &exchange_name(exchange),
        routing_key: routing_key.as_bytes(),
        properties: Properties::default(),
        body: b"body",
    };
    access.publish(&request).unwrap().is_routed
}

pub(super) fn block_on<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(future)
}
