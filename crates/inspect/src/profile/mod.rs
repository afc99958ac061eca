//! `warren profile`: where a running broker spends its time.

mod cpu;
mod diff;
mod files;
mod output;
mod sampled;
mod symbols;
mod wall;

pub(crate) use cpu::sample_briefly;

use terminal::Interrupt;

use crate::failure::Failure;
use crate::target::Target;

/// Show what a running broker spends its time on. For administrators.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    #[command(flatten)]
    target: Target,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// Profile the CPU: stacks of all threads, sampled many times a second.
    Cpu(cpu::Cpu),
    /// Compare two profiles: what takes more time, and what less. Needs no broker.
    Diff(diff::Diff),
    /// Profile the calls of matching functions by elapsed time, including everything that they call and wait for, in any task or thread.
    Wall(wall::Wall),
}

impl Arguments {
    /// Does what was asked for. An interrupt ends a profile early, which shows what there is by then.
    ///
    /// # Errors
    ///
    /// When there is nothing to show, in one sentence.
    pub async fn run(&self, interrupt: Interrupt) -> Result<(), Failure> {
        match &self.command {
            Command::Cpu(cpu) => cpu.run(&self.target, &interrupt).await,
            Command::Diff(diff) => diff.run(),
            Command::Wall(wall) => wall.run(&self.target, &interrupt).await,
        }
    }
}
