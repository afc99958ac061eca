//! Exchanges as the broker uses them.

mod bindings;
mod broker;
mod cache;
mod exchanges;
mod headers;
mod model;
mod random;
mod removal;
mod routes;
mod scale;
mod topic;
