//! The whole store, step by step, with a small broker on a simulated disk: what was durable is there after any failure, exactly once,
//! in order, and nothing else is.

mod backup;
mod borders;
mod copied;
mod damage;
mod delays;
mod failing_disk;
mod full_disk;
mod known_errors;
mod meddling;
mod power_loss;
mod removed;
mod rest;
mod threads;
