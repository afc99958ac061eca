//! The broker through its sessions, without sockets: bytes in, bytes out, on a disk in memory.
//!
//! `node` starts and kills brokers, `client` speaks to one. `tests/clients` has the same from outside, with real clients.

mod backends;
mod backups;
mod carriers;
mod client;
mod confirms;
mod consumers;
mod control;
mod external;
mod kept;
mod logins;
mod memory;
mod node;
mod power_loss;
mod refusals;
mod vhost_defaults;
