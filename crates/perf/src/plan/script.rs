//! What a simulated user does, step by step.

use std::time::Duration;

use super::{Arguments, Distribution, Properties, Settle, Sizes};

/// A user's steps, in order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Script {
    /// The steps.
    pub steps: Vec<Step>,
}

impl Script {
    /// Whether users publish or consume.
    pub(crate) fn moves_messages(&self) -> bool {
        moves_messages(&self.steps)
    }
}

fn moves_messages(steps: &[Step]) -> bool {
    steps.iter().any(|step| match step {
        Step::Publish { .. } | Step::Consume { .. } | Step::DeleteQueue { .. } => true,
        Step::Repeat { steps, .. } => moves_messages(steps),
        _ => false,
    })
}

/// A text with variables: `{user}` is the user's number, `{uuid}` is random, `{name}` what `set` or an earlier answer
/// gave. `{{` is a brace.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Template(pub String);

/// One step.
#[derive(Clone, Debug, PartialEq)]
#[allow(clippy::large_enum_variant, reason = "a script has few steps, and is made once")]
pub enum Step {
    /// Connect, and open a channel.
    Connect,
    /// Open another channel, which further steps use.
    OpenChannel,
    /// Declare a queue. Its name, as the broker gives it, becomes the variable `queue`.
    DeclareQueue {
        /// The queue's name; empty: the broker gives it one.
        name: Template,
        /// Whether it lives through a restart.
        durable: bool,
        /// Whether it is deleted with the connection.
        exclusive: bool,
        /// Whether it is deleted with its last consumer.
        auto_delete: bool,
        /// Optional arguments.
        arguments: Arguments,
    },
    /// Declare an exchange.
    DeclareExchange {
        /// The exchange's name.
        name: Template,
        /// Its type.
        kind: String,
        /// Whether it lives through a restart.
        durable: bool,
    },
    /// Bind a queue to an exchange.
    Bind {
        /// The queue's name.
        queue: Template,
        /// The exchange's name.
        exchange: Template,
        /// The routing key.
        key: Template,
    },
    /// Delete a queue.
    DeleteQueue {
        /// The queue's name.
        name: Template,
    },
    /// Publish.
    Publish {
        /// The exchange's name.
        exchange: Template,
        /// The routing key.
        key: Template,
        /// How long the body is.
        size: Sizes,
        /// Properties.
        properties: Properties,
        /// How many messages, one after the other.
        count: u32,
        /// Whether to wait until all of them are confirmed.
        confirm: bool,
        /// Wait for a turn at this throttle before each one.
        throttle: Option<Throttle>,
    },
    /// Start to consume.
    Consume {
        /// The queue's name.
        queue: Template,
        /// `basic.qos`; 0 is unlimited.
        prefetch: u16,
        /// How deliveries are settled.
        settle: Settle,
    },
    /// Wait until so many messages have come since the last such step. Fails when they have not within the time.
    ConsumeUntil {
        /// How many.
        count: u32,
        /// How long.
        timeout: Duration,
    },
    /// Stop consuming.
    Cancel,
    /// Wait for a fixed time.
    Wait(Duration),
    /// Wait for a time that is drawn, in seconds.
    Think(Distribution),
    /// Check something. The script ends here if it is not so, and that is counted.
    Expect(Expectation),
    /// Ask for a URL with GET.
    HttpGet {
        /// Absolute, or a path below the management URL.
        url: Template,
        /// The status that it has to have.
        status: u16,
    },
    /// Set a variable.
    Set {
        /// The variable's name.
        name: String,
        /// Its value.
        value: Template,
    },
    /// Wait for a turn at a throttle that all users share: never more than its rate, never two at once.
    Throttle(Throttle),
    /// Do steps several times.
    Repeat {
        /// How often.
        count: u32,
        /// The steps.
        steps: Vec<Step>,
    },
    /// Close the connection.
    Disconnect,
}

/// Turns that all users take together, wherever they run. A name has the same rate in all steps.
#[derive(Clone, Debug, PartialEq)]
pub struct Throttle {
    /// Its name.
    pub name: String,
    /// Turns a second.
    pub rate: f64,
}

/// What a step checks.
#[derive(Clone, Debug, PartialEq)]
pub enum Expectation {
    /// A queue has so many messages.
    QueueLength {
        /// The queue's name.
        queue: Template,
        /// At least.
        min: u32,
        /// At most.
        max: u32,
    },
    /// So many messages were received since the user connected.
    Received {
        /// At least.
        min: u64,
        /// At most.
        max: u64,
    },
    /// A variable has this value.
    Variable {
        /// The variable's name.
        name: String,
        /// Its value.
        value: Template,
    },
}
