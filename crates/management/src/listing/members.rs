//! The query parameters that name members, `columns` and `sort`: how many they may be, and how deep.

use super::query::Query;
use crate::limits::{COLUMN_COUNT_MAX, MEMBER_DEPTH_MAX, SORT_KEY_COUNT_MAX};
use crate::problem::Problem;

/// Refuses what would cost too much.
pub(crate) fn check_members(query: &Query) -> Result<(), Problem> {
    for (parameter, count_max) in [("columns", COLUMN_COUNT_MAX), ("sort", SORT_KEY_COUNT_MAX)] {
        let names = query.get(parameter).unwrap_or_default();
        if names.split(',').count() > count_max {
            return Err(Problem::bad_request(format!("'{parameter}' must not have more than {count_max} names")));
        }
        if names.split(',').any(|name| name.split('.').count() > MEMBER_DEPTH_MAX) {
            let text = format!("a name in '{parameter}' must not have more than {MEMBER_DEPTH_MAX} parts");
            return Err(Problem::bad_request(text));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(query: &str, refused: Option<&str>) {
        let expected = refused.map_or(Ok(()), |text| Err(Problem::bad_request(text.to_owned())));
        assert_eq!(check_members(&Query::parse(query)), expected);
    }

    #[test]
    fn names_have_bounds() {
        let depth = |count: usize| vec!["a"; count].join(".");
        let names = |count: usize| vec!["a"; count].join(",");
        check("", None);
        check(&format!("columns={}&sort={}", names(200), names(8)), None);
        check(&format!("columns={}&sort={}", depth(16), depth(16)), None);
        check(&format!("columns={}", names(201)), Some("'columns' must not have more than 200 names"));
        check(&format!("sort={}", names(9)), Some("'sort' must not have more than 8 names"));
        check(&format!("columns=a,{}", depth(15_000)), Some("a name in 'columns' must not have more than 16 parts"));
        check(&format!("sort={}", depth(17)), Some("a name in 'sort' must not have more than 16 parts"));
    }
}
