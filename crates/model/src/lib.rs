//! Names, arguments, users, permissions, definitions and configuration: the broker's nouns as values that cannot be wrong.
//!
//! Everything that arrives from a peer, a file or the command line is parsed once, here, into a type that carries the
//! proof that it was checked. Texts of errors are RabbitMQ's own, because client libraries and test suites match on them.
//!
//! Deliberately absent: sockets, files, clocks, threads and randomness. The configuration is parsed from texts that the
//! binary has read; random bytes for names and salts come in as arguments.

pub mod arguments;
pub mod config;
pub mod definition;
pub mod erlang;
pub mod features;
pub mod federation;
pub mod ids;
pub mod json;
pub mod login_session;
pub mod name;
pub mod parameter;
pub mod pattern;
pub mod policy;
pub mod refusal;
pub mod resource;
pub mod shovel;
pub mod user;
pub mod vhost;
