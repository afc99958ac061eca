//! `warren trace`: what a broker that runs does, while it does it.

mod calls;
mod list;
mod messages;
mod recorder;

use crate::failure::Failure;
use crate::target::Target;

/// See what a running broker does, while it does it. For administrators.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    #[command(flatten)]
    target: Target,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// Print each call of the functions that match, until a limit is reached or Ctrl-C.
    Calls(calls::Calls),
    /// Print what happens to messages, or have it written into files: where is message 4711?
    Messages(Box<messages::Messages>),
    /// Name the functions that can be traced, with their arguments.
    List(list::List),
    /// Keep the last calls of all functions in a fixed 8 MiB of the broker's memory, and look at them afterwards.
    Recorder(recorder::Recorder),
}

impl Arguments {
    /// Does what was asked for.
    ///
    /// # Errors
    ///
    /// When there is nothing to show, in one sentence.
    pub async fn run(&self) -> Result<(), Failure> {
        match &self.command {
            Command::Calls(calls) => calls.run(&self.target).await,
            Command::Messages(messages) => messages.run(&self.target).await,
            Command::List(list) => list.run(&self.target).await,
            Command::Recorder(recorder) => recorder.run(&self.target).await,
        }
    }
}
