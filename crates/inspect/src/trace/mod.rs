//! `warren trace`: what a broker that runs does, while it does it.

mod calls;
mod list;
mod messages;
mod recorder;

use terminal::Interrupt;

use crate::failure::Failure;
use crate::target::Target;

/// Show what a running broker does, live. For administrators.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    #[command(flatten)]
    target: Target,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// Print each call of matching functions, until a limit is reached or Ctrl-C.
    Calls(calls::Calls),
    /// Print the events of messages, or write them to files on the broker: where is message 4711?
    Messages(Box<messages::Messages>),
    /// List the functions that can be traced, with their arguments.
    List(list::List),
    /// Record the latest calls of all functions in 8 MiB of the broker's memory, for later analysis.
    Recorder(recorder::Recorder),
}

impl Arguments {
    /// Does what was asked for. An interrupt ends a trace, which then says what it came to.
    ///
    /// # Errors
    ///
    /// When there is nothing to show, in one sentence.
    pub async fn run(&self, mut interrupt: Interrupt) -> Result<(), Failure> {
        match &self.command {
            Command::Calls(calls) => calls.run(&self.target, &interrupt).await,
            Command::Messages(messages) => messages.run(&self.target, &interrupt).await,
            Command::List(list) => interrupt.or(list.run(&self.target)).await,
            Command::Recorder(recorder) => interrupt.or(recorder.run(&self.target)).await,
        }
    }
}
