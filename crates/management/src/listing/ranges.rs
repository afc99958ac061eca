//! The query parameters of history, such as `lengths_age` and `lengths_incr`: seconds back, and between samples.
//! What they ask for is read by [`crate::statistics::Ranges`]; too much of it is refused here.

use hyper::StatusCode;

use super::query::Query;
use crate::problem::Problem;

/// Kinds of history.
const KINDS: [&str; 4] = ["lengths", "msg_rates", "data_rates", "node_stats"];
/// Samples that can be asked for at once.
const SAMPLE_COUNT_MAX: i64 = 500;

/// Refuses ranges of more samples than there may be. What is no number is ignored, as in RabbitMQ.
pub(crate) fn check_ranges(query: &Query) -> Result<(), Problem> {
    for kind in KINDS {
        let number = |what| query.get(&format!("{kind}_{what}")).and_then(|text| text.parse::<i64>().ok());
        let (Some(age), Some(increment)) = (number("age"), number("incr")) else { continue };
        if age <= 0 || increment <= 0 || age / increment > SAMPLE_COUNT_MAX {
            let reason = format!("Invalid range parameters: age {age}, incr {increment}");
            return Err(Problem::new(StatusCode::BAD_REQUEST, "invalid_range_parameters", reason));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn too_many_samples_are_refused() {
        let check = |query: &str| check_ranges(&Query::parse(query));
        assert_eq!(check("lengths_age=60&lengths_incr=5&msg_rates_age=2500&msg_rates_incr=5"), Ok(()));
        assert_eq!(check("lengths_age=x&lengths_incr=5"), Ok(()));
        assert_eq!(check("lengths_age=60"), Ok(()));
        let refused = check("lengths_age=6000&lengths_incr=1").unwrap_err().body.unwrap();
        assert_eq!(refused.error, "invalid_range_parameters");
        assert_eq!(refused.reason, "Invalid range parameters: age 6000, incr 1");
        assert!(check("node_stats_age=60&node_stats_incr=0").is_err());
    }
}
