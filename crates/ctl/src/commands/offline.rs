//! What is done to the data directory of a node that does not run: the last way out of a cluster that has lost its majority, and copies.

use std::path::PathBuf;

use crate::command::{Command, flag};
use crate::failure::{DATA, Failure, UNAVAILABLE};
use crate::invocation::Invocation;
use crate::step::{DirectoryOrder, Step, StepResult, say};
use crate::target::DEFAULT_DATA_DIR;

const ACCEPT_LOSS: &str = "accept-loss";

pub(crate) const COMMANDS: &[Command] = &[
    Command::new(
        "force_boot",
        "has a stopped node leave a cluster that has lost its majority for good, with all that its own directory has",
        |input| {
            order(
                input,
                DirectoryOrder::ForceBoot,
                "the node will run alone with the data in its data directory: confirmed messages and definitions that only the missing \
                 nodes have are lost, and these nodes can no longer be in a cluster with it",
            )
        },
    )
    .also(&["force_standalone_khepri_boot"])
    .with(&[flag(ACCEPT_LOSS, "required to proceed: without it, the command only reports what may be lost")]),
    Command::new(
        "accept_copy",
        "makes a stopped node accept a copy of its data directory, after a move, as the directory itself",
        |input| {
            order(
                input,
                DirectoryOrder::AcceptCopy,
                "the node will run on this copy of its data directory: if a node has run on the original since it was copied, \
                 confirmed messages may be lost, and the directory must be emptied instead",
            )
        },
    )
    .with(&[flag(ACCEPT_LOSS, "required to proceed: without it, the command only reports what may be lost")]),
];

fn order(input: &Invocation, order: DirectoryOrder, loss: &str) -> StepResult {
    if ["url", "base-uri", "socket", "host", "port"].iter().any(|option| input.has_shared(option)) {
        return Err(Failure::usage(format!(
            "{} works on the files of a stopped node: name their directory with --data-dir DIR",
            input.command.name
        )));
    }
    let dir = PathBuf::from(input.shared("data-dir").unwrap_or(DEFAULT_DATA_DIR));
    if !input.has(ACCEPT_LOSS) {
        return Err(Failure::new(
            UNAVAILABLE,
            format!("nothing was changed in {}: {loss}. If that is wanted, add --{ACCEPT_LOSS}", dir.display()),
        ));
    }
    let done = |outcome: Result<String, String>| match outcome {
        Ok(text) => say(text),
        Err(why) => Err(Failure::new(DATA, why)),
    };
    Ok(Step::Directory { order, dir, next: Box::new(done) })
}
