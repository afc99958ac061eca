//! Live progress for a terminal.
