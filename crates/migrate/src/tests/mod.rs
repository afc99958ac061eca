//! The steps of a migration, and whole migrations whatever is killed.

mod machine;
mod model;
