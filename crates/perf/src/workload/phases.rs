//! Phases: stretches of time in which groups have rates of their own, or pause.

use std::collections::BTreeMap;
use std::time::Duration;

use super::document::{Node, SourcePlace};
use super::error::{Fault, suggestion};
use super::rates::UnplacedRate;
use super::table::{Field, Table};
use crate::plan::{Phase, Rate, Schedule, Segment};

const KEYS: [&str; 4] = ["name", "duration", "rates", "pause"];

/// More rounds of phases than this are a slip.
const ROUNDS_MAX: u128 = 10_000;

/// The course of a run.
pub(super) struct Course<'a> {
    phases: Vec<WrittenPhase<'a>>,
    /// How long the whole run is, if that is known.
    pub(super) duration: Option<Duration>,
    /// How often the phases follow each other; the last time perhaps not to their end.
    rounds: u32,
}

struct WrittenPhase<'a> {
    name: &'a str,
    duration: Duration,
    rates: BTreeMap<&'a str, Field<'a>>,
    paused: BTreeMap<&'a str, Field<'a>>,
}

impl<'a> Course<'a> {
    pub(super) fn read(workload: &Table<'a>) -> Result<Self, Fault> {
        let duration = workload.get("duration").map(|field| field.positive_duration()).transpose()?;
        let repeat = workload.bool("repeat_phases", false)?;
        let Some(list) = workload.get("phases") else {
            if repeat {
                return Err(Fault::new(workload.place_of("repeat_phases"), "\"repeat_phases\" requires phases"));
            }
            return Ok(Course { phases: Vec::new(), duration, rounds: 1 });
        };
        let mut phases: Vec<WrittenPhase<'a>> = Vec::new();
        for field in list.list("[[phases]]")? {
            let phase = WrittenPhase::read(&field)?;
            if phases.iter().any(|other| other.name == phase.name) {
                return Err(field.fault(format!("duplicate phase \"{}\"", phase.name)));
            }
            phases.push(phase);
        }
        let round: Duration = phases.iter().map(|phase| phase.duration).sum();
        match (repeat, duration) {
            (true, Some(duration)) => {
                let rounds = duration.as_nanos().div_ceil(round.as_nanos().max(1));
                if rounds > ROUNDS_MAX {
                    let place = workload.place_of("duration");
                    return Err(Fault::new(
                        place,
                        format!("the phases would repeat {rounds} times, more than {ROUNDS_MAX}"),
                    ));
                }
                Ok(Course { phases, duration: Some(duration), rounds: u32::try_from(rounds).unwrap_or(u32::MAX) })
            }
            (true, None) => {
                let place = workload.place_of("repeat_phases");
                Err(Fault::new(place, "\"repeat_phases\" requires a \"duration\" of the whole run"))
            }
            (false, Some(_)) => {
                let place = workload.place_of("duration");
                Err(Fault::new(
                    place,
                    "\"duration\" is only allowed with \"repeat_phases\": phases have their own durations",
                ))
            }
            (false, None) => Ok(Course { phases, duration: Some(round), rounds: 1 }),
        }
    }

    /// Checks that phases speak of groups that exist.
    pub(super) fn check_groups(&self, publishers: &[&str], consumers: &[&str]) -> Result<(), Fault> {
        for phase in &self.phases {
            for (name, field) in &phase.rates {
                if consumers.contains(name) && !publishers.contains(name) {
                    let message = format!(
                        "\"{name}\" are consumers: phases cannot change their rate, only pause them with \"pause\""
                    );
                    return Err(field.fault(message));
                }
                if !publishers.contains(name) {
                    let hint = suggestion(name, publishers.iter().copied());
                    return Err(field.fault(format!("unknown publishers \"{name}\"{hint}")));
                }
            }
            for (name, field) in &phase.paused {
                if !publishers.contains(name) && !consumers.contains(name) {
                    let hint = suggestion(name, publishers.iter().chain(consumers).copied());
                    return Err(field.fault(format!("unknown publishers or consumers \"{name}\"{hint}")));
                }
            }
        }
        Ok(())
    }

    /// The schedule of one publisher of a group: `rate` is the group's own, `factor` makes of its rate the publisher's.
    pub(super) fn schedule(&self, group: &str, rate: Option<Field<'a>>, factor: f64) -> Result<Schedule, Fault> {
        let unlimited = Node { value: super::document::Value::Text("unlimited".into()), place: SourcePlace::Offset(0) };
        let is_mentioned =
            self.phases.iter().any(|phase| phase.rates.contains_key(group) || phase.paused.contains_key(group));
        let has_rates = self.phases.iter().any(|phase| phase.rates.contains_key(group));
        if !is_mentioned {
            let field = rate.unwrap_or(Field::new("rate", &unlimited));
            let pace = UnplacedRate::read(&field)?.times(factor);
            // One round is enough of repeated steps: spelled out, a day of it would be megabytes for each publisher.
            let repeat = pace.repeats();
            let segments = pace.lay_out(self.duration.filter(|_| !repeat), &field)?;
            // What is due at the very end is not sent: the run is over. A single segment needs no end of its own.
            return Ok(match segments.as_slice() {
                [Segment { rate, .. }] if !matches!(rate, Rate::Ramp { .. }) => Schedule::constant(*rate),
                _ => Schedule { segments, repeat },
            });
        }
        let mut segments = Vec::new();
        for phase in &self.phases {
            let pause = Segment { rate: Rate::Fixed(0.0), duration: Some(phase.duration) };
            if phase.paused.contains_key(group) {
                segments.push(pause);
                continue;
            }
            match phase.rates.get(group).or(rate.as_ref()) {
                Some(field) => {
                    let pace = UnplacedRate::read(field)?.times(factor);
                    segments.extend(pace.lay_out(Some(phase.duration), field)?);
                }
                // Rates in other phases only: nothing here.
                None if has_rates => segments.push(pause),
                None => segments.push(Segment { rate: Rate::Unlimited, duration: Some(phase.duration) }),
            }
        }
        Ok(Schedule { segments, repeat: self.rounds > 1 })
    }

    /// When consumers of a group pause.
    pub(super) fn pauses(&self, group: &str) -> Vec<(Duration, Duration)> {
        let mut pauses: Vec<(Duration, Duration)> = Vec::new();
        for (start, end, phase) in self.laid_out() {
            if !phase.paused.contains_key(group) {
                continue;
            }
            match pauses.last_mut() {
                Some((_, last_end)) if *last_end == start => *last_end = end,
                _ => pauses.push((start, end)),
            }
        }
        pauses
    }

    /// The phases as reports mark them.
    pub(super) fn marks(&self) -> Vec<Phase> {
        self.laid_out()
            .map(|(start, end, phase)| Phase { name: phase.name.to_owned(), duration: end - start })
            .collect()
    }

    /// Start, end and phase, of all rounds, to the end of the run.
    fn laid_out(&self) -> impl Iterator<Item = (Duration, Duration, &WrittenPhase<'a>)> {
        let run_end = self.duration.unwrap_or(Duration::MAX);
        let mut start = Duration::ZERO;
        (0..self.rounds).flat_map(|_| &self.phases).filter_map(move |phase| {
            let (phase_start, phase_end) = (start, (start + phase.duration).min(run_end));
            start = phase_end;
            (phase_start < phase_end).then_some((phase_start, phase_end, phase))
        })
    }
}

impl<'a> WrittenPhase<'a> {
    fn read(field: &Field<'a>) -> Result<Self, Fault> {
        let mut table = field.table(&KEYS)?;
        let name = table.require("name", "phases are named in reports")?.text()?;
        table.rename("phase", name);
        let duration = table.require("duration", "how long the phase is")?.positive_duration()?;
        let rates = match table.get("rates") {
            Some(rates) => rates.open_table()?.fields().collect(),
            None => BTreeMap::new(),
        };
        let mut paused = BTreeMap::new();
        if let Some(groups) = table.get("pause") {
            for group in groups.list("names of groups")? {
                paused.insert(group.text()?, group);
            }
        }
        Ok(WrittenPhase { name, duration, rates, paused })
    }
}
