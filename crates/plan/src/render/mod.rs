//! A sheet as people and programs read it.

mod json;
mod text;

pub use json::json;
pub use text::text;
