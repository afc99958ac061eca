//! A system that stops giving random numbers: no salt, name or token is made of zeros instead.

use std::sync::atomic::{AtomicBool, Ordering};

use amqp::method::{basic, queue};

use super::client::Heard;
use super::node::Node;
use super::operators::{operator, plain, request};
use crate::control::ControlError;
use crate::options::Options;
use crate::random::{RandomError, fill_random};

/// The one of this test.
static IS_DRY: AtomicBool = AtomicBool::new(false);

fn fill(bytes: &mut [u8]) -> Result<(), RandomError> {
    if IS_DRY.load(Ordering::SeqCst) { Err(RandomError(getrandom::Error::UNSUPPORTED)) } else { fill_random(bytes) }
}

#[test]
fn what_needs_random_numbers_fails_without_them() {
    let node = Node::with(Options { fill_random: fill, ..Options::default() });
    node.broker.put_user(&operator(), request("before", plain("pw"))).unwrap();
    IS_DRY.store(true, Ordering::SeqCst);
    let result = node.broker.put_user(&operator(), request("after", plain("pw")));
    assert!(matches!(result, Err(ControlError::Random(_))));
    assert!(node.broker.users.get("after").is_none());
    assert!(node.broker.hash_password("pw").is_err());
    let text = "INTERNAL_ERROR - cannot draw random numbers: ";
    for has_name in [false, true] {
        let mut client = node.connect();
        if has_name {
            client.declare("q");
            client.hear();
            client.send(1, &basic::Consume { queue: b"q", ..Default::default() });
        } else {
            client.send(1, &queue::Declare::default());
        }
        let [heard] = &client.hear()[..] else { panic!("one answer") };
        let Heard::ConnectionClose { code, text: found } = heard else { panic!("{heard:?}") };
        assert!(*code == 541 && found.starts_with(text), "{found}");
    }
}
