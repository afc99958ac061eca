//! The whole service, without sockets, over a broker on a disk in memory.

mod access;
mod alerts;
mod backends;
mod backup;
mod certificates;
mod cluster;
mod definitions;
mod delayed;
mod exports;
mod house;
mod influxdb;
mod lines;
mod listings;
mod live;
mod local;
mod messages;
mod metrics;
mod objects;
mod observers;
mod process;
mod profile;
mod queue_lists;
mod requests;
mod top;
mod trace;
mod traces;
