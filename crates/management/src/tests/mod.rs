//! The whole service, without sockets, over a broker on a disk in memory.

mod access;
mod alerts;
mod as_rabbitmq;
mod backends;
mod backup;
mod certificates;
mod cluster;
mod definitions;
mod delayed;
mod explanations;
mod exports;
#[path = "../../../cluster/tests/it/fake_control.rs"]
mod fake_control;
mod house;
mod influxdb;
mod lines;
mod listings;
mod live;
mod local;
mod messages;
mod metrics;
mod oauth;
mod objects;
mod observers;
mod parameters;
mod process;
mod profile;
mod queue_lists;
mod requests;
mod sessions;
mod slow_requests;
mod top;
mod trace;
mod traces;
mod troubles;
