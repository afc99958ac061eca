//! The whole service, without sockets, over a broker on a disk in memory.

mod access;
mod backends;
mod certificates;
mod definitions;
mod house;
mod listings;
mod objects;
mod requests;
