//! What operators are shown: whether a node is needed for a majority.

use cluster::control::{Control, ControlError, Role};

use super::fake_control::FakeControl;

#[track_caller]
fn check_critical(voters: usize, down: usize, learners: usize, expected: bool) {
    let names: Vec<_> = (0..voters + learners).map(|at| format!("rabbit@{at}")).collect();
    let control = FakeControl::of(&names.iter().map(String::as_str).collect::<Vec<_>>());
    control.show(|view| {
        view.members[voters - down..].iter_mut().for_each(|member| member.is_running = false);
        view.members[voters..].iter_mut().for_each(|member| member.role = Role::Learner);
    });
    assert_eq!(control.view().is_critical("rabbit@0"), expected, "{voters} voters, {down} down, {learners} learners");
}

#[test]
fn a_node_is_critical_if_no_majority_is_left_without_it() {
    check_critical(1, 0, 0, false);
    check_critical(2, 0, 0, true);
    check_critical(3, 0, 0, false);
    check_critical(3, 1, 0, true);
    check_critical(3, 1, 2, true);
    check_critical(5, 1, 0, false);
    check_critical(5, 2, 0, true);
}

#[test]
fn refusals_are_one_sentence() {
    let errors = [
        ControlError::NotConfigured,
        ControlError::NoCluster,
        ControlError::NotEmpty { queues: 2, messages: 5 },
        ControlError::NoMajority { reachable: 1, of: 3 },
        ControlError::UnknownNode("rabbit@d".to_owned()),
        ControlError::StillRunning("rabbit@b".to_owned()),
        ControlError::NotFit { name: "rabbit@b".to_owned(), why: "it lacks 5,000 entries".to_owned() },
        ControlError::TimedOut { what: "the handover" },
    ];
    for error in errors.map(|error| error.to_string()) {
        assert!(!error.contains('\n') && !error.ends_with('.') && !error.contains(". "), "{error}");
    }
}
