//! Command lines taken apart.

use super::*;

fn parsed(line: &[&str]) -> Result<ParsedWords, Failure> {
    parse(&line.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>())
}

#[track_caller]
fn given_of(line: &[&str]) -> Invocation {
    parsed(line).unwrap().input
}

#[track_caller]
fn check_error(line: &[&str], expected: &str) {
    let failure = parsed(line).unwrap_err();
    assert_eq!((failure.status, failure.text.as_str()), (64, expected));
}

#[test]
fn options_stand_before_the_command_and_after_it() {
    for line in [
        &["-p", "v", "-q", "list_queues", "name", "messages"][..],
        &["list_queues", "-p", "v", "name", "--quiet", "messages"],
        &["list_queues", "name", "messages", "--vhost=v", "-q"],
        &["-pv", "list_queues", "name", "messages", "--quiet=true"],
        &["-qs", "-p", "v", "list_queues", "name", "messages"],
    ] {
        let input = given_of(line);
        assert_eq!(input.vhost(), "v", "{line:?}");
        assert_eq!(input.all("column"), ["name", "messages"], "{line:?}");
        assert!(input.has_shared("quiet"), "{line:?}");
    }
}

#[test]
fn letters_mean_what_they_mean_to_whose_command_it_is() {
    let ctl = given_of(&["-p", "v", "-s", "list_queues"]);
    assert_eq!((ctl.vhost(), ctl.has_shared("silent"), ctl.shared("password")), ("v", true, None));
    let admin = given_of(&["-p", "secret", "-s", "-V", "v", "list", "queues"]);
    assert_eq!((admin.vhost(), admin.has_shared("ssl"), admin.shared("password")), ("v", true, Some("secret")));
}

/// A user's password, and the password of the user that asks.
#[test]
fn a_commands_own_values_are_not_everybodys() {
    let input = given_of(&["-u", "me", "-p", "mine", "declare", "user", "name=bob", "password=his", "vhost=v"]);
    assert_eq!((input.optional("password"), input.shared("password")), (Some("his"), Some("mine")));
    assert_eq!((input.optional("username"), input.shared("username")), (None, Some("me")));
    let input = given_of(&["add_user", "bob", "his", "-u", "me", "--password", "mine"]);
    assert_eq!((input.text("username"), input.text("password")), ("bob", "his"));
    assert_eq!((input.shared("username"), input.shared("password")), (Some("me"), Some("mine")));
}

#[test]
fn underscores_are_dashes_in_options() {
    assert!(given_of(&["list_queues", "--no_table_headers"]).has_shared("no-table-headers"));
    assert_eq!(given_of(&["declare", "queue", "--auto_delete", "true", "--name", "q"]).text("auto-delete"), "true");
}

#[test]
fn what_follows_two_dashes_is_no_option() {
    let input = given_of(&["add_user", "--", "-bob", "--secret"]);
    assert_eq!((input.text("username"), input.text("password")), ("-bob", "--secret"));
    assert_eq!(given_of(&["export_definitions", "-"]).text("file"), "-");
}

#[test]
fn patterns_and_json_are_arguments() {
    let input = given_of(&["set_policy", "p", "^(?!amq\\.).*", r#"{"a":"--b=c"}"#]);
    assert_eq!(input.text("pattern"), "^(?!amq\\.).*");
    assert_eq!(input.text("definition"), r#"{"a":"--b=c"}"#);
}

#[test]
fn errors_name_what_may_have_been_meant() {
    check_error(&["lst_queues"], "unknown command 'lst_queues', did you mean 'list_queues'?");
    check_error(&["frobnicate"], "unknown command 'frobnicate', see warren ctl help");
    check_error(&["declare", "qeue", "name=x"], "unknown command 'declare qeue', did you mean 'declare queue'?");
    check_error(&["list_queues", "--vhots", "x"], "list_queues has no option --vhots, did you mean --vhost?");
    check_error(&["list_queues", "-x"], "list_queues has no option -x, see warren ctl help list_queues");
    check_error(&["declare", "queue", "nme=x"], "declare queue has no 'nme', did you mean 'name'?");
    check_error(&["declare", "queue", "x"], "'x' is not name=value, as declare queue requires");
    check_error(&["purge", "queue"], "purge queue needs name: warren ctl purge queue name=<name>");
    check_error(&[], "no command, see warren ctl help");
    check_error(&["-q"], "no command, see warren ctl help");
    check_error(&["list_queues", "-p"], "the option -p needs a value");
    check_error(&["list_queues", "--quiet=perhaps"], "the option --quiet=perhaps takes no value");
    check_error(&["delete_user"], "delete_user needs username: warren ctl delete_user <username>");
    check_error(
        &["delete_user", "a", "b"],
        "unexpected argument 'b' of delete_user: warren ctl delete_user <username>",
    );
    let failure = parsed(&["show"]).unwrap_err();
    assert!(failure.text.starts_with("show needs one of overview, "), "{}", failure.text);
}

#[test]
fn help_needs_no_arguments() {
    assert!(parsed(&["add_user", "--help"]).unwrap().wants_help);
    assert!(parsed(&["declare", "queue", "-?"]).unwrap().wants_help);
    assert!(parsed(&["declare", "queue", "-h"]).unwrap().wants_help);
}

#[test]
fn banners_are_filled_with_what_was_given() {
    let banner = |line: &[&str]| given_of(line).banner();
    assert_eq!(banner(&["set_user_tags", "bob", "a", "b"]), "Setting tags for user \"bob\" to [a, b] ...");
    assert_eq!(banner(&["list_permissions"]), "Listing permissions for vhost \"/\" ...");
    assert_eq!(banner(&["-p", "v", "list_queues"]), "Timeout: 60.0 seconds ...\nListing queues for vhost v ...");
    assert_eq!(
        banner(&["set_policy", "p", "q", "{}"]),
        "Setting policy \"p\" for pattern \"q\" to \"{}\" with priority \"0\" for vhost \"/\" ..."
    );
    assert_eq!(banner(&["list_vhost_limits", "--global"]), "Listing limits for all vhosts ...");
}

#[test]
fn variables_stand_for_options_that_were_not_said() {
    let variable = |name: &str| match name {
        "RABBITMQADMIN_TARGET_HOST" => Some("h".to_owned()),
        "RABBITMQADMIN_TARGET_VHOST" => Some("v".to_owned()),
        "RABBITMQADMIN_USE_TLS" => Some("false".to_owned()),
        _ => None,
    };
    let completed = |line: &[&str]| {
        let mut input = given_of(line);
        input.complete(&variable);
        (input.shared("host").map(str::to_owned), input.vhost().to_owned(), input.has_shared("ssl"))
    };
    assert_eq!(completed(&["list", "queues"]), (Some("h".to_owned()), "v".to_owned(), false));
    assert_eq!(completed(&["list", "queues", "-H", "i", "-V", "w"]), (Some("i".to_owned()), "w".to_owned(), false));
    assert_eq!(completed(&["list_queues"]), (None, "/".to_owned(), false));
}
