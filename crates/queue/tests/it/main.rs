//! What a queue promises: rule by rule, and against a naive model.

mod fixture;
mod model;
