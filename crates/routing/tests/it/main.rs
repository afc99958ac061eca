//! Exchanges as the broker uses them.

mod bindings;
mod broker;
mod cache;
mod exchanges;
mod federation_upstream;
mod hashing;
mod headers;
mod model;
mod naive_hash;
mod random;
mod random_exchanges;
mod removal;
mod routes;
mod scale;
mod topic;
