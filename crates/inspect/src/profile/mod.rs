//! `warren profile`: where the time of a broker that runs goes.

mod cpu;
mod diff;
mod files;
mod output;
mod sampled;
mod symbols;
mod wall;

pub(crate) use cpu::sample_briefly;

use crate::failure::Failure;
use crate::target::Target;

/// See where the time of a running broker goes. For administrators.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    #[command(flatten)]
    target: Target,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// What the processors do: the stacks of all threads, looked at many times a second.
    Cpu(cpu::Cpu),
    /// What takes more time in one profile than in another, and what less. Asks no broker.
    Diff(diff::Diff),
    /// Where the time of calls goes that match, in all that they call and wait for, whichever task or thread does it.
    Wall(wall::Wall),
}

impl Arguments {
    /// Does what was asked for.
    ///
    /// # Errors
    ///
    /// When there is nothing to show, in one sentence.
    pub async fn run(&self) -> Result<(), Failure> {
        match &self.command {
            Command::Cpu(cpu) => cpu.run(&self.target).await,
            Command::Diff(diff) => diff.run(),
            Command::Wall(wall) => wall.run(&self.target).await,
        }
    }
}
