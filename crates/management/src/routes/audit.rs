//! What has happened of late, and who did it, from memory: the audit log may be in a file besides.

use broker::Event;
use observe::Search;

use crate::answer::Answer;
use crate::audit;
use crate::call::Call;
use crate::json::Writer;
use crate::limits::PATTERN_LEN_MAX;
use crate::listing::Query;
use crate::problem::Problem;
use crate::route::Role::Administrator;
use crate::route::{Operation, Parameters, Route, Shape, at};

pub(super) static ROUTES: &[Route] = &[at(
    "/api/audit",
    &[Operation::get(Administrator, list, "Lists the latest events with their users, the newest first.", Shape::List)
        .strict()
        .query(&[
            Parameters::Other("count", "The maximum number of events, from 1 to 1000. Default: 100."),
            Parameters::Other("before", "Only events with a smaller `id`."),
            Parameters::Other("event", "Only events whose name matches this regular expression."),
            Parameters::Other("user", "Only events of users whose name matches this regular expression."),
            Parameters::Other("vhost", "Only events in or about vhosts whose name matches this regular expression."),
            Parameters::Other("name", "Only events about objects whose name matches this regular expression."),
        ])],
)];

const COUNT_DEFAULT: usize = 100;
const COUNT_MAX: usize = 1000;

/// Which events are wanted.
struct Filter {
    event: Option<Search>,
    user: Option<Search>,
    vhost: Option<Search>,
    name: Option<Search>,
}

impl Filter {
    fn parse(query: &Query) -> Result<Filter, Problem> {
        let search = |name: &str| query.get(name).map(|pattern| pattern_of(name, pattern)).transpose();
        Ok(Filter { event: search("event")?, user: search("user")?, vhost: search("vhost")?, name: search("name")? })
    }

    fn wants(&self, event: &Event) -> bool {
        let fields = event.fields.as_table();
        let text = |name: &str| fields.get(name).and_then(|value| value.as_str());
        let name = text("name");
        let vhost = text("vhost").or_else(|| name.filter(|_| event.name.starts_with("vhost.")));
        is_found(&self.event, Some(event.name))
            && is_found(&self.user, event.user.as_deref())
            && is_found(&self.vhost, vhost)
            && is_found(&self.name, name)
    }
}

/// A pattern that a parameter gives.
pub(super) fn pattern_of(parameter: &str, pattern: &str) -> Result<Search, Problem> {
    if pattern.chars().count() > PATTERN_LEN_MAX {
        return Err(Problem::bad_request(format!("{parameter} has more than {PATTERN_LEN_MAX} characters")));
    }
    let no_pattern = |reason| Problem::bad_request(format!("{parameter} is not a valid regular expression: {reason}"));
    Search::compile(pattern, false).map_err(no_pattern)
}

fn is_found(search: &Option<Search>, text: Option<&str>) -> bool {
    search.as_ref().is_none_or(|search| text.is_some_and(|text| search.finds(text)))
}

fn list(call: &Call) -> Result<Answer, Problem> {
    let query = &call.query;
    let count = match query.get("count").map(str::parse) {
        None => COUNT_DEFAULT,
        Some(Ok(count @ 1..=COUNT_MAX)) => count,
        Some(_) => return Err(Problem::bad_request(format!("count must be 1 to {COUNT_MAX}"))),
    };
    let before = match query.get("before").map(str::parse::<u64>) {
        None => u64::MAX,
        Some(Ok(id)) => id,
        Some(Err(_)) => return Err(Problem::bad_request("before must be the id of an event")),
    };
    let filter = Filter::parse(query)?;
    let events = call.broker().recent_events();
    let wanted = events.iter().filter(|event| event.id < before && filter.wants(event)).take(count);
    let mut out = Vec::new();
    Writer::new(&mut out).list(wanted, |event, writer| {
        writer.object(|members| {
            members.cell("id").int(event.id);
            audit::write(event, members, true);
        });
    });
    Ok(Answer::json(out))
}
