//! Distributions of sizes and times.

use super::Random;

/// A distribution of numbers. What is drawn is never negative.
#[derive(Clone, Debug, PartialEq)]
pub enum Distribution {
    /// Always this.
    Fixed(f64),
    /// Anything between the two, both included, equally likely.
    Uniform(f64, f64),
    /// Around `mean`, with a standard deviation. What would be negative is 0.
    Normal {
        /// What it is around.
        mean: f64,
        /// How far it strays.
        deviation: f64,
    },
    /// With this mean: as the gaps of a Poisson process.
    Exponential(f64),
    /// One of these, by weight: value and weight.
    Choice(Vec<(f64, f64)>),
}

impl Distribution {
    /// Draws a number.
    pub fn draw(&self, random: &mut Random) -> f64 {
        let drawn = match self {
            Distribution::Fixed(value) => *value,
            Distribution::Uniform(low, high) => low + (high - low) * random.fraction_inclusive(),
            Distribution::Normal { mean, deviation } => mean + deviation * random.normal(),
            Distribution::Exponential(mean) => mean * random.exponential(),
            Distribution::Choice(choices) => choose(choices, random),
        };
        // Also takes what is not a number to 0.
        drawn.max(0.0)
    }
}

fn choose(choices: &[(f64, f64)], random: &mut Random) -> f64 {
    let total: f64 = choices.iter().map(|(_, weight)| weight).sum();
    let mut left = total * random.fraction();
    for (value, weight) in choices {
        if left < *weight {
            return *value;
        }
        left -= weight;
    }
    // What rounding leaves over belongs to the last that has any weight.
    choices.iter().rev().find(|(_, weight)| *weight > 0.0).map_or(0.0, |(value, _)| *value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const DRAWS: usize = 100_000;

    /// Mean and standard deviation of many draws.
    fn moments(distribution: &Distribution) -> (f64, f64) {
        let mut random = Random::new(20, 26);
        let drawn: Vec<f64> = (0..DRAWS).map(|_| distribution.draw(&mut random)).collect();
        let mean = drawn.iter().sum::<f64>() / DRAWS as f64;
        let variance = drawn.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / DRAWS as f64;
        (mean, variance.sqrt())
    }

    #[track_caller]
    fn check_moments(distribution: Distribution, mean: f64, deviation: f64) {
        let (found_mean, found_deviation) = moments(&distribution);
        assert!((found_mean - mean).abs() <= 0.02 * mean, "mean {found_mean} of {distribution:?}");
        assert!(
            (found_deviation - deviation).abs() <= 0.02 * deviation,
            "deviation {found_deviation} of {distribution:?}"
        );
    }

    #[test]
    fn each_distribution_has_its_mean_and_deviation() {
        check_moments(Distribution::Fixed(12.0), 12.0, 0.0);
        check_moments(Distribution::Uniform(100.0, 300.0), 200.0, 200.0 / 12f64.sqrt());
        check_moments(Distribution::Normal { mean: 1_000.0, deviation: 100.0 }, 1_000.0, 100.0);
        check_moments(Distribution::Exponential(0.25), 0.25, 0.25);
        // One in four is 1,000: 250 and sqrt(1/4 * 3/4) * 1,000.
        check_moments(Distribution::Choice(vec![(0.0, 3.0), (1_000.0, 1.0)]), 250.0, 187_500f64.sqrt());
    }

    #[test]
    fn a_choice_without_weight_is_never_drawn() {
        let distribution = Distribution::Choice(vec![(1.0, 0.0), (2.0, 1.0), (3.0, 0.0)]);
        let mut random = Random::new(1, 2);
        assert!((0..1_000).all(|_| distribution.draw(&mut random) == 2.0));
        assert_eq!(Distribution::Choice(Vec::new()).draw(&mut random), 0.0);
    }

    proptest! {
        #[test]
        fn nothing_drawn_is_negative_or_outside(seed: u64, low in 0.0..1e6f64, width in 0.0..1e6f64) {
            let mut random = Random::new(seed, 0);
            let drawn = Distribution::Uniform(low, low + width).draw(&mut random);
            prop_assert!(drawn >= low && drawn <= low + width);
            let around_nothing = Distribution::Normal { mean: 0.0, deviation: width };
            prop_assert!(around_nothing.draw(&mut random) >= 0.0);
            prop_assert!(Distribution::Exponential(low).draw(&mut random) >= 0.0);
            prop_assert_eq!(Distribution::Fixed(-low - 1.0).draw(&mut random), 0.0);
        }
    }
}
