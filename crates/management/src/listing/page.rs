//! Pages: `page`, `page_size`, `name` and `use_regex`. Without `page` the others are ignored, as in RabbitMQ.

use std::ops::Range;

use super::query::Query;
use crate::limits::{PAGE_SIZE_DEFAULT, PAGE_SIZE_MAX, PATTERN_LEN_MAX};
use crate::problem::Problem;
use hyper::StatusCode;
use observe::Search;

/// So many names are matched with a pattern before other requests have their turn.
const MATCHED_COUNT_MAX: usize = 32;

/// A page that is asked for.
#[derive(Debug)]
pub(crate) struct Page {
    /// From 1.
    pub(crate) number: usize,
    /// Objects on it.
    pub(crate) size: usize,
    /// Which objects there are to be on pages at all.
    pub(crate) filter: NameFilter,
}

/// Which names are wanted.
#[derive(Debug)]
pub(crate) enum NameFilter {
    /// All.
    All,
    /// Those that contain this, in whatever case; it is in lower case itself.
    Containing(String),
    /// Those that match.
    Matching(Search),
    /// None: a pattern that is no pattern matches nothing.
    Nothing,
}

impl Page {
    /// The page that a query asks for, if it asks for one.
    pub(crate) fn parse(query: &Query) -> Result<Option<Page>, Problem> {
        let number = |name| match query.get(name) {
            None => Ok(None),
            Some(text) => match integer(text) {
                Some(number) => Ok(Some(number)),
                None => Err(Problem::bad_request("Pagination parameters are invalid")),
            },
        };
        let Some(page) = number("page")? else { return Ok(None) };
        let size = number("page_size")?;
        let is_size_valid = size.is_none_or(|size| (1..=PAGE_SIZE_MAX as i64).contains(&size));
        let (Ok(page_number), true, true) = (usize::try_from(page), page > 0, is_size_valid) else {
            let size = size.map_or("undefined".to_owned(), |size| size.to_string());
            let reason = format!("Invalid pagination parameters: page number {page}, page size {size}");
            return Err(invalid(reason));
        };
        let size = size.and_then(|size| usize::try_from(size).ok()).unwrap_or(PAGE_SIZE_DEFAULT);
        let filter = NameFilter::parse(query)?;
        Ok(Some(Page { number: page_number, size, filter }))
    }

    /// Which of `count` filtered objects are on it.
    pub(crate) fn range(&self, count: usize) -> Result<Range<usize>, Problem> {
        let start = (self.number - 1).saturating_mul(self.size);
        if start >= count && self.number > 1 {
            let reason = format!("Page out of range, page: {} page size: {}, len: {count}", self.number, self.size);
            return Err(Problem::new(StatusCode::BAD_REQUEST, "page_out_of_range", reason));
        }
        Ok(start.min(count)..start.saturating_add(self.size).min(count))
    }
}

/// An integer; one beyond all bounds is the bound.
fn integer(text: &str) -> Option<i64> {
    let (sign, digits) = text.strip_prefix('-').map_or((1, text), |digits| (-1, digits));
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| sign * digits.parse().unwrap_or(i64::MAX))
}

fn invalid(reason: impl Into<serde_json::Value>) -> Problem {
    Problem::new(StatusCode::BAD_REQUEST, "invalid_pagination_parameters", reason)
}

impl NameFilter {
    fn parse(query: &Query) -> Result<NameFilter, Problem> {
        let name = query.get("name").unwrap_or_default();
        if name.is_empty() {
            return Ok(NameFilter::All);
        }
        if !query.is_true("use_regex") {
            return Ok(NameFilter::Containing(name.to_lowercase()));
        }
        if name.chars().count() > PATTERN_LEN_MAX {
            return Err(invalid("name filter regex is too long"));
        }
        Ok(Search::compile(name, true).map_or(NameFilter::Nothing, NameFilter::Matching))
    }

    /// Whether a name is wanted.
    pub(crate) fn wants(&self, name: &str) -> bool {
        match self {
            NameFilter::All => true,
            NameFilter::Containing(part) => contains(name, part),
            NameFilter::Matching(search) => search.finds(name),
            NameFilter::Nothing => false,
        }
    }

    /// Whether others have their turn after so many names: patterns may take long for each.
    pub(crate) fn is_turn_of_others(&self, count: usize) -> bool {
        matches!(self, NameFilter::Matching(_)) && count % MATCHED_COUNT_MAX == MATCHED_COUNT_MAX - 1
    }

    /// 400 once the pattern has taken all the work that it may take: what it would find is not known.
    pub(crate) fn check_work(&self) -> Result<(), Problem> {
        match self {
            NameFilter::Matching(search) if search.is_exhausted() => Err(too_much_work()),
            _ => Ok(()),
        }
    }
}

/// What a list is not made of: the pattern would have to be tried for longer than others can wait.
fn too_much_work() -> Problem {
    invalid("name filter regex takes too much work for the names that there are")
}

/// Whether a name has a part, which is in lower case, in whatever case.
fn contains(name: &str, part: &str) -> bool {
    if !name.is_ascii() {
        return name.to_lowercase().contains(part);
    }
    // Most names: nothing is copied.
    name.as_bytes().windows(part.len()).any(|window| window.eq_ignore_ascii_case(part.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(query: &str) -> Result<Option<Page>, Problem> {
        Page::parse(&Query::parse(query))
    }

    #[track_caller]
    fn check_refused(query: &str, error: &str, reason: &str) {
        let problem = parse(query).unwrap_err();
        assert_eq!(problem.status, 400);
        let body = problem.body.unwrap();
        assert_eq!((&*body.error, body.reason.as_str().unwrap()), (error, reason));
    }

    #[test]
    fn no_page_means_everything() {
        assert!(parse("").unwrap().is_none());
        assert!(parse("page_size=3&name=x").unwrap().is_none());
    }

    #[test]
    fn size_is_a_hundred_unless_said() {
        assert_eq!(parse("page=2").unwrap().unwrap().size, 100);
        assert_eq!(parse("page=2&page_size=500").unwrap().unwrap().size, 500);
    }

    #[test]
    fn nonsense_is_refused_in_the_words_of_rabbitmq() {
        check_refused("page=x", "bad_request", "Pagination parameters are invalid");
        check_refused("page=1&page_size=x", "bad_request", "Pagination parameters are invalid");
        let error = "invalid_pagination_parameters";
        check_refused("page=-1", error, "Invalid pagination parameters: page number -1, page size undefined");
        check_refused("page=0&page_size=2", error, "Invalid pagination parameters: page number 0, page size 2");
        check_refused("page=1&page_size=501", error, "Invalid pagination parameters: page number 1, page size 501");
        check_refused(
            &format!("page=1&use_regex=true&name={}", "a".repeat(1025)),
            error,
            "name filter regex is too long",
        );
    }

    #[test]
    fn a_page_beyond_the_last_is_refused() {
        let page = parse("page=100&page_size=2").unwrap().unwrap();
        let problem = page.range(14).unwrap_err();
        assert_eq!(
            problem,
            Problem::new(
                StatusCode::BAD_REQUEST,
                "page_out_of_range",
                "Page out of range, page: 100 page size: 2, len: 14"
            )
        );
        let beyond = parse("page=99999999999999999999999").unwrap().unwrap().range(14).unwrap_err();
        assert_eq!(beyond.body.unwrap().error, "page_out_of_range");
        assert_eq!(parse("page=1").unwrap().unwrap().range(0).unwrap(), 0..0);
        assert_eq!(parse("page=7&page_size=2").unwrap().unwrap().range(13).unwrap(), 12..13);
    }

    #[test]
    fn names_are_filtered_whatever_their_case() {
        let wants = |query: &str, name: &str| parse(query).unwrap().unwrap().filter.wants(name);
        assert!(wants("page=1&name=ORD", "orders"));
        assert!(!wants("page=1&name=ord", "other"));
        assert!(wants("page=1&name=%C3%84R", "B\u{e4}ren"));
        assert!(!wants("page=1&name=orders-and-more", "orders"));
        assert!(wants("page=1&name=%5EO.*s%24&use_regex=true", "orders"));
        assert!(!wants("page=1&name=%5EO.*s%24", "orders"));
        assert!(!wants("page=1&name=(&use_regex=true", "("));
        assert!(wants("page=1&name=%5E(%3F!AMQ%5C.)&use_regex=true", "orders"));
        assert!(!wants("page=1&name=%5E(%3F!AMQ%5C.)&use_regex=true", "amq.gen-x"));
    }
}
