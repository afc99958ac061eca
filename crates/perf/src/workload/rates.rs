//! Rates as they are written, and laid out in time.

use std::time::Duration;

use super::document::Value;
use super::error::Fault;
use super::table::Field;
use crate::plan::{RATE_MAX, Rate, Segment};

/// A rate, not yet laid out.
#[derive(Clone, Debug)]
pub(super) enum UnplacedRate {
    Steady(Rate),
    Ramp { from: f64, to: f64, over: Option<Duration> },
    Steps { steps: Vec<(f64, Option<Duration>)>, repeat: bool },
}

impl UnplacedRate {
    /// A number, `"unlimited"`, `"paused"`, or a table.
    pub(super) fn read(field: &Field<'_>) -> Result<Self, Fault> {
        match &field.node.value {
            Value::Text(text) if text == "unlimited" => Ok(UnplacedRate::Steady(Rate::Unlimited)),
            Value::Text(text) if text == "paused" => Ok(UnplacedRate::Steady(Rate::Fixed(0.0))),
            Value::Int(_) | Value::Float(_) => rate(field).map(|rate| UnplacedRate::Steady(Rate::Fixed(rate))),
            Value::Table(_) => Self::read_table(field),
            _ => Err(field.expected(
                "a number of messages a second, \"unlimited\", \"paused\", { from, to }, { poisson } or { steps }",
            )),
        }
    }

    fn read_table(field: &Field<'_>) -> Result<Self, Fault> {
        let table = field.table(&["from", "to", "over", "poisson", "steps", "every", "repeat"])?;
        let extra = |allowed: &[&str]| match table.fields().find(|(key, _)| !allowed.contains(key)) {
            Some((key, other)) => Err(other.fault(format!("\"{key}\" cannot be used with \"{}\"", allowed[0]))),
            None => Ok(()),
        };
        if let Some(poisson) = table.get("poisson") {
            extra(&["poisson"])?;
            return Ok(UnplacedRate::Steady(Rate::Poisson(rate(&poisson)?)));
        }
        if let Some(steps) = table.get("steps") {
            extra(&["steps", "every", "repeat"])?;
            let every = table.get("every").map(|every| every.positive_duration()).transpose()?;
            let mut found = Vec::new();
            for step in steps.list("rates, or of [rate, time]")? {
                found.push(self::step(&step, every)?);
            }
            if found.is_empty() {
                return Err(steps.fault("the list of steps is empty"));
            }
            let repeat = table.bool("repeat", false)?;
            if repeat && found.iter().any(|(_, time)| time.is_none()) {
                return Err(steps.fault("repeated steps require times: \"every\", or [rate, time]"));
            }
            return Ok(UnplacedRate::Steps { steps: found, repeat });
        }
        extra(&["from", "to", "over"])?;
        let over = table.get("over").map(|over| over.positive_duration()).transpose()?;
        let end = |key| table.require(key, "a ramp has \"from\" and \"to\"").and_then(|field| rate(&field));
        Ok(UnplacedRate::Ramp { from: end("from")?, to: end("to")?, over })
    }

    /// The same with rates changed.
    pub(super) fn times(&self, factor: f64) -> Self {
        match self {
            UnplacedRate::Steady(Rate::Fixed(rate)) => UnplacedRate::Steady(Rate::Fixed(rate * factor)),
            UnplacedRate::Steady(Rate::Poisson(rate)) => UnplacedRate::Steady(Rate::Poisson(rate * factor)),
            UnplacedRate::Steady(other) => UnplacedRate::Steady(*other),
            UnplacedRate::Ramp { from, to, over } => {
                UnplacedRate::Ramp { from: from * factor, to: to * factor, over: *over }
            }
            UnplacedRate::Steps { steps, repeat } => {
                let steps = steps.iter().map(|(rate, time)| (rate * factor, *time)).collect();
                UnplacedRate::Steps { steps, repeat: *repeat }
            }
        }
    }

    /// Laid out over a time; `None`: without end. Errors are said of `field`.
    pub(super) fn lay_out(&self, length: Option<Duration>, field: &Field<'_>) -> Result<Vec<Segment>, Fault> {
        match self {
            UnplacedRate::Steady(rate) => Ok(vec![Segment { rate: *rate, duration: length }]),
            UnplacedRate::Ramp { from, to, over } => {
                let ramp = Rate::Ramp { from: *from, to: *to };
                let Some(over) = over.or(length) else {
                    return Err(field.fault("a ramp requires \"over\", a duration of the run, or phases"));
                };
                let rest = rest_of(length, over, field)?;
                let hold = Segment { rate: Rate::Fixed(*to), duration: rest };
                let mut segments = vec![Segment { rate: ramp, duration: Some(over) }];
                if rest != Some(Duration::ZERO) {
                    segments.push(hold);
                }
                Ok(segments)
            }
            UnplacedRate::Steps { steps, repeat: true } => Ok(repeated(steps, length)),
            UnplacedRate::Steps { steps, repeat: false } => stairs(steps, length, field),
        }
    }

    /// Whether it repeats: laid out without end, it is a single round.
    pub(super) fn repeats(&self) -> bool {
        matches!(self, UnplacedRate::Steps { repeat: true, .. })
    }
}

fn rate(field: &Field<'_>) -> Result<f64, Fault> {
    match field.number() {
        Ok(rate) if rate <= RATE_MAX => Ok(rate),
        Ok(_) => Err(field.expected(&format!("a rate of at most {RATE_MAX} per second"))),
        Err(_) => Err(field.expected("a rate of at least 0")),
    }
}

fn step(field: &Field<'_>, every: Option<Duration>) -> Result<(f64, Option<Duration>), Fault> {
    if !matches!(field.node.value, Value::List(_)) {
        return Ok((rate(field)?, every));
    }
    match field.list("a rate and a time")?.as_slice() {
        [step, time] => Ok((rate(step)?, Some(time.positive_duration()?))),
        _ => Err(field.fault("expected [rate, time]")),
    }
}

/// What is left of a time after a part of it.
fn rest_of(length: Option<Duration>, part: Duration, field: &Field<'_>) -> Result<Option<Duration>, Fault> {
    let Some(length) = length else { return Ok(None) };
    match length.checked_sub(part) {
        Some(rest) => Ok(Some(rest)),
        None => Err(field.fault(format!("takes {part:?}, longer than the {length:?} of the run or phase"))),
    }
}

/// One step after the other; the last lasts to the end. Steps without times share what is left evenly.
fn stairs(
    steps: &[(f64, Option<Duration>)],
    length: Option<Duration>,
    field: &Field<'_>,
) -> Result<Vec<Segment>, Fault> {
    let without = u32::try_from(steps.iter().filter(|(_, time)| time.is_none()).count()).unwrap_or(u32::MAX);
    let given: Duration = steps.iter().filter_map(|(_, time)| *time).sum();
    let rest = rest_of(length, given, field)?;
    let share = match rest {
        Some(rest) if without > 0 => rest / without,
        None if without > 0 => {
            return Err(field.fault("steps require \"every\", a duration of the run, or phases"));
        }
        _ => Duration::ZERO,
    };
    let mut segments: Vec<Segment> = steps
        .iter()
        .map(|(rate, time)| Segment { rate: Rate::Fixed(*rate), duration: Some(time.unwrap_or(share)) })
        .collect();
    if let Some(last) = segments.last_mut() {
        let before: Duration = given + share * without - last.duration.unwrap_or_default();
        last.duration = length.map(|length| length.saturating_sub(before));
    }
    Ok(segments)
}

/// Over and over until the time is over; once, if it never is: the schedule itself repeats.
fn repeated(steps: &[(f64, Option<Duration>)], length: Option<Duration>) -> Vec<Segment> {
    let round = steps.iter().map(|(rate, time)| (Rate::Fixed(*rate), time.unwrap_or_default()));
    let Some(mut left) = length else {
        return round.map(|(rate, time)| Segment { rate, duration: Some(time) }).collect();
    };
    let mut segments = Vec::new();
    for (rate, time) in round.cycle() {
        if left.is_zero() || time.is_zero() {
            break;
        }
        let duration = time.min(left);
        segments.push(Segment { rate, duration: Some(duration) });
        left -= duration;
    }
    segments
}
