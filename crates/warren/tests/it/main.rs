//! What holds for the workspace and the binary as a whole.

mod arrows;
mod command_line;
