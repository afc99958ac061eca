//! Whether a member that is back has lost what it had promised to the others to have. Such a member must not vote or acknowledge again.

use super::report::Report;
use super::starts::{is_older_start, start_count};

/// What this node knows of a member from before.
#[derive(Debug, Clone, Copy)]
pub(super) struct KnownMember {
    /// Which start of it was listened to last; 0: none.
    pub(super) incarnation: u64,
    /// Up to which entry it has promised to have all.
    pub(super) promised: u64,
}

/// What a member has lost, as a sentence for it; None: nothing.
pub(super) fn find_loss(report: &Report, known: KnownMember) -> Option<String> {
    let what = if is_older_start(report.incarnation, &report.earlier, known.incarnation) {
        let (count, known) = (start_count(report.incarnation), start_count(known.incarnation));
        format!("of which this is start {count}, after start {known} of the directory that it had was seen")
    } else if lacks_promised(report, known) {
        format!("whose log ends at entry {}, after it had entry {}", report.last, known.promised)
    } else {
        return None;
    };
    Some(format!(
        "{} has come back with an older directory, {what}: what it lost it had promised to the others to have. Empty the directory, \
         and it joins anew",
        report.name
    ))
}

/// Whether a start has less than an earlier one had promised. One that is known has lost nothing since: where its log ends was looked at
/// before it took and acknowledged what has come to be known meanwhile.
fn lacks_promised(report: &Report, known: KnownMember) -> bool {
    report.incarnation != known.incarnation && known.promised > report.last
}

#[cfg(test)]
mod tests {
    use super::super::report::tests::report;
    use super::*;

    #[track_caller]
    fn check_lacks(incarnation: u64, last: u64, expected: bool) {
        let report = Report { incarnation, last, ..report() };
        assert_eq!(lacks_promised(&report, KnownMember { incarnation: 7, promised: 100 }), expected);
    }

    #[test]
    fn a_new_start_lacks_what_an_earlier_one_has_promised() {
        check_lacks(8, 99, true);
        check_lacks(8, 100, false);
    }

    /// A leader that was cut off takes the next leader's entries so quickly that its report, made before, comes after its acknowledgement.
    #[test]
    fn a_known_start_may_have_reported_less_than_it_has_by_now() {
        check_lacks(7, 99, false);
    }

    #[test]
    fn the_sentence_names_what_is_missing() {
        let known = KnownMember { incarnation: 0, promised: 100 };
        assert!(find_loss(&Report { last: 100, ..report() }, known).is_none());
        let loss = find_loss(&Report { last: 99, ..report() }, known).unwrap();
        assert!(loss.contains("whose log ends at entry 99, after it had entry 100: what it lost"), "{loss}");
    }
}
