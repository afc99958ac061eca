//! Tables of configuration keys, and what is read by them. The broker's is `schema`; a program beside the broker, whose file has the
//! same format and other keys, has one of its own.

pub mod tls_keys;

pub use super::key::Key;
pub use super::remark::{Origin, Remark};
pub use super::row::{Row, Section, State, Table, effective, no_effect, refused, renamed};
pub use super::syntax::KeyPath;
pub use super::tls::{check as check_tls, check_sni, tls_options};
pub use super::value::{Kind, Type};
pub use super::values::Values;
