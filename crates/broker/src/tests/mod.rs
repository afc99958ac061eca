//! The broker through its sessions, without sockets: bytes in, bytes out, on a disk in memory.
//!
//! `node` starts and kills brokers, `client` speaks to one, `operators` change what is
//! allowed. `tests/clients` has the same from outside, with real clients.

mod access;
mod alarms;
mod backends;
mod backups;
mod carriers;
mod client;
mod confirms;
mod consumers;
mod control;
mod data_loss;
mod dead_letter_order;
mod dead_letters;
mod deduplication;
mod deduplication_power_loss;
mod delayed;
mod delayed_power_loss;
mod endings;
mod events;
mod exchange_types;
mod expiry;
mod external;
mod groups;
mod histories;
mod holders;
mod kept;
mod limits;
mod limits_of_queues;
mod lives;
mod logins;
mod memory;
mod node;
mod oldest;
mod operators;
mod policies;
mod power_loss;
mod power_loss_in_chains;
mod priorities;
mod quorum;
mod rates;
mod refusals;
mod replacing_power_loss;
mod restored_bindings;
mod selection;
mod selection_power_loss;
mod sharding;
mod single_active;
mod statistics;
mod timers;
mod unused_queues;
mod vhost_defaults;
mod vhosts;
mod walks;
mod ways;
