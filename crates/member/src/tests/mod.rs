//! Members as their owners have them: whole groups with the stores of those that lead, and one member with a disk that hangs.

mod group;
mod hanging_disk;
