//! Distributions of sizes and times.

/// A distribution of numbers. What is drawn is never negative.
#[derive(Clone, Debug, PartialEq)]
pub enum Distribution {
    /// Always this.
    Fixed(f64),
    /// Anything between the two, both included, equally likely.
    Uniform(f64, f64),
    /// Around `mean`, with a standard deviation.
    Normal {
        /// What it is around.
        mean: f64,
        /// How far it strays.
        deviation: f64,
    },
    /// With this mean: as the gaps of a Poisson process.
    Exponential(f64),
    /// One of these, by weight.
    Choice(Vec<(f64, f64)>),
}
