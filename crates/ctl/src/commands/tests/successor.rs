//! The commands of rabbitmqadmin's successor that no other test has: what each asks.

use super::{bare, check, check_one, drive};
use crate::output::Output;
use crate::reply::Reply;

fn answer(text: &str) -> Reply {
    Reply { status: 200, body: text.as_bytes().to_vec() }
}

/// As version 2.29.0 prints with `--help`: a command, and its options with all their names; those with `=` have values.
#[test]
fn every_command_is_known_with_all_its_options() {
    let mut unknown = Vec::new();
    for line in include_str!("../../../tests/data/rabbitmqadmin.txt").lines() {
        let words: Vec<&str> = line.split(' ').collect();
        let [group, name, options @ ..] = words.as_slice() else { panic!("{line}") };
        // Each option by its first name, and once more by its last one.
        for choose in [
            |names: &str| names.split(',').next().map(str::to_owned),
            |names: &str| names.split(',').next_back().map(str::to_owned),
        ] {
            let mut line = vec![(*group).to_owned(), (*name).to_owned()];
            for option in options {
                let (names, has_value) = option.strip_suffix('=').map_or((*option, false), |names| (names, true));
                line.push(choose(names).unwrap());
                line.extend(has_value.then(|| "1".to_owned()));
            }
            match crate::words::parse(&line) {
                Ok(said) if !said.wants_help => {}
                Ok(_) => unknown.push(format!("{line:?} is explained")),
                Err(failure) => unknown.push(failure.text),
            }
        }
    }
    assert_eq!(unknown, [""; 0]);
}

#[test]
fn help_stands_anywhere_in_a_group() {
    for line in [&["help", "queues", "declare"][..], &["queues", "help", "declare"]] {
        let Ok(Output::Text(text)) = drive(line, []).result else { panic!("{line:?}") };
        assert!(text.starts_with("warren ctl declare queue"), "{text}");
    }
    let Ok(Output::Text(text)) = drive(&["queues", "help"], []).result else { panic!() };
    assert!(text.contains("queues declare"), "{text}");
}

#[test]
fn a_user_is_said_by_either_name() {
    let expected = r#"PUT permissions/v/bob {"configure":"","read":".*","write":""}"#;
    let line =
        ["-V", "v", "permissions", "declare", "--username", "bob", "--configure", "", "--read", ".*", "--write", ""];
    check_one(&line, expected);
    // The old one's `--username` is the user that asks.
    let line = ["declare", "permission", "vhost=v", "--username", "me", "user=bob", "configure=", "read=.*", "write="];
    check_one(&line, expected);
    check(&["user_limits", "list", "--username", "bob"], &[answer("[]")], &["GET user-limits/bob?columns=user,value"]);
    check_one(
        &["delete", "user_limit", "--username", "bob", "--name", "max-channels"],
        "DELETE user-limits/bob/max-channels",
    );
}

#[test]
fn lists_come_in_pages_and_with_columns() {
    let page = || answer(r#"{"items":[{"name":"q","messages":1}],"page":2}"#);
    let driven = drive(&["queues", "list", "--page", "2", "--page-size", "10", "--columns", "name,messages"], [page()]);
    assert_eq!(driven.did, ["GET queues?disable_stats=true&enable_queue_totals=true&page=2&page_size=10"]);
    assert_eq!(driven.text(), "name\tmessages\nq\t1\n");
    check(&["users", "list", "--page-size", "5"], &[page()], &["GET users?columns=name,tags&page=1&page_size=5"]);
    let queues = answer(r#"[{"name":"q","type":"classic"},{"name":"s","type":"stream"}]"#);
    assert_eq!(drive(&["streams", "list", "--columns", "name"], [queues]).text(), "name\ns\n");
    let shown = drive(
        &["-V", "v", "queues", "show", "--name", "q", "--columns", "name, type"],
        [answer(r#"{"name":"q","type":"classic"}"#)],
    );
    assert_eq!((&*shown.did[0], &*shown.text()), ("GET queues/v/q", "name\ttype\nq\tclassic\n"));
    assert_eq!(drive(&["streams", "show", "--name", "q"], [bare(404)]).failure().0, 65);
}

const POLICY: &str =
    r#"{"vhost":"/","name":"p","pattern":"^q","apply-to":"queues","priority":3,"definition":{"max-length":5}}"#;

#[test]
fn policies_are_changed_in_part() {
    check(
        &["policies", "patch", "--name", "p", "--definition", r#"{"expires":9}"#],
        &[answer(POLICY), bare(204)],
        &[
            "GET policies/%2F/p",
            r#"PUT policies/%2F/p {"apply-to":"queues","definition":{"expires":9,"max-length":5},"pattern":"^q","priority":3}"#,
        ],
    );
    check(
        &[
            "operator_policies",
            "update_definition",
            "--name",
            "p",
            "--definition-key",
            "max-length",
            "--new-value",
            "7",
        ],
        &[answer(POLICY), bare(204)],
        &[
            "GET operator-policies/%2F/p",
            r#"PUT operator-policies/%2F/p {"apply-to":"queues","definition":{"max-length":7},"pattern":"^q","priority":3}"#,
        ],
    );
    let all = answer(&format!("[{POLICY}]"));
    check(
        &["policies", "update_definitions_of_all", "--definition-key", "expires", "--new-value", "9"],
        &[all.clone(), bare(204)],
        &[
            "GET policies",
            r#"PUT policies/%2F/p {"apply-to":"queues","definition":{"expires":9,"max-length":5},"pattern":"^q","priority":3}"#,
        ],
    );
    // Nothing would be left of it.
    check(
        &["policies", "delete_definition_keys_from_all_in", "--definition-keys", "max-length,x"],
        &[all],
        &["GET policies/%2F"],
    );
    let line = ["policies", "delete_definition_keys", "--name", "p", "--definition-keys", "x", "max-length"];
    let (status, text) = (65, "nothing but 'x', 'max-length' is in the policy's definition: delete the policy instead");
    assert_eq!(drive(&line, [answer(POLICY)]).failure(), (status, text));
    assert_eq!(drive(&["policies", "delete_definition_keys", "--name", "p"], []).failure().0, 64);
    assert_eq!(drive(&["policies", "patch", "--name", "p", "--definition", "1"], []).failure().0, 65);
}

#[test]
fn policies_are_put_over_and_under_others() {
    check(
        &["policies", "declare_override", "--name", "p", "--definition", r#"{"expires":9}"#],
        &[answer(POLICY), bare(201)],
        &[
            "GET policies/%2F/p",
            r#"PUT policies/%2F/overrides.p {"apply-to":"queues","definition":{"expires":9,"max-length":5},"pattern":"^q","priority":103}"#,
        ],
    );
    check(
        &["policies", "declare_blanket", "--name", "b", "--apply-to", "queues", "--definition", r#"{"expires":9}"#],
        &[answer(&format!("[{}]", POLICY.replace(":3,", ":-40,"))), bare(201)],
        &[
            "GET policies/%2F",
            r#"PUT policies/%2F/b {"apply-to":"queues","definition":{"expires":9},"pattern":".*","priority":-41}"#,
        ],
    );
    let both = answer(&format!(
        "[{POLICY},{},{}]",
        POLICY.replace("\"p\"", "\"r\""),
        POLICY.replace("\"p\"", "\"s\"").replace(":3,", ":4,")
    ));
    let names = |driven: super::CommandRun| -> Vec<String> {
        driven.text().lines().skip(1).filter_map(|line| line.split('\t').nth(1).map(str::to_owned)).collect()
    };
    assert_eq!(names(drive(&["policies", "list_conflicting"], [both.clone()])), ["p", "r"]);
    let line = ["policies", "list_matching_object", "--name", "qq", "--type", "queue"];
    assert_eq!(names(drive(&line, [both.clone()])), ["s", "p", "r"]);
    assert_eq!(names(drive(&["policies", "list_in", "--apply-to", "exchanges"], [both])), [""; 0]);
}

#[test]
fn vhosts_are_protected_and_deleted_by_pattern() {
    check_one(&["vhosts", "enable_deletion_protection", "--name", "v"], "POST vhosts/v/deletion/protection {}");
    check_one(&["vhosts", "disable_deletion_protection", "--name", "v"], "DELETE vhosts/v/deletion/protection");
    let vhosts = || answer(r#"[{"name":"/"},{"name":"a1"},{"name":"a2"},{"name":"b"}]"#);
    check(
        &["vhosts", "delete_multiple", "--name-pattern", "^a|^/", "--approve"],
        &[vhosts(), bare(204), bare(204)],
        &["GET vhosts", "DELETE vhosts/a1", "DELETE vhosts/a2"],
    );
    let dry = drive(&["vhosts", "delete_multiple", "--name-pattern", "^a", "--dry-run"], [vhosts()]);
    assert_eq!((dry.did.len(), &*dry.text()), (1, "name\na1\na2\n"));
    assert_eq!(drive(&["vhosts", "delete_multiple", "--name-pattern", "^a"], []).failure().0, 64);
    assert_eq!(drive(&["vhosts", "delete_multiple", "--name-pattern", "(", "--approve"], []).failure().0, 65);
}

#[test]
fn passwords_are_hashed_by_the_algorithm_that_is_said() {
    let hash = drive(&["passwords", "salt_and_hash", "secret", "--hashing-algorithm", "SHA512"], []).text();
    assert_eq!(hash.trim_end().len(), 92, "{hash}");
    assert_eq!(drive(&["passwords", "salt_and_hash", "secret"], []).text().trim_end().len(), 48);
    assert_eq!(drive(&["passwords", "salt_and_hash", "secret", "--hashing-algorithm", "MD4"], []).failure().0, 64);
    let line = ["users", "declare", "--name", "u", "--password", "secret", "--hashing-algorithm", "SHA512"];
    let declared = drive(&line, [bare(201)]);
    assert!(declared.did[0].contains(r#""hashing_algorithm":"rabbit_password_hashing_sha512""#), "{:?}", declared.did);
    assert!(!declared.did[0].contains("secret"), "{:?}", declared.did);
}

#[test]
fn connections_of_a_user_are_listed_and_closed() {
    check(
        &["connections", "list_of_user", "--username", "u"],
        &[answer("[]")],
        &["GET connections/username/u?columns=name,user,channels"],
    );
    check_one(
        &["connections", "close_of_user", "--username", "u"],
        "DELETE connections/username/u because Closed via warren ctl",
    );
    check(
        &["connections", "close", "--name", "c", "--idempotently"],
        &[bare(404)],
        &["DELETE connections/c because Closed via warren ctl"],
    );
    assert_eq!(drive(&["connections", "close", "--name", "c"], [bare(404)]).failure().0, 69);
}

#[test]
fn nodes_tell_of_plugins_and_logins() {
    let node = || answer(r#"{"name":"n@h","enabled_plugins":["p","q"]}"#);
    assert_eq!(drive(&["plugins", "list_on_node", "--node", "n@h"], [node()]).text(), "node\tname\nn@h\tp\nn@h\tq\n");
    check(&["auth_attempts", "stats", "--node", "n@h"], &[answer("[]")], &["GET auth/attempts/n%40h"]);
    assert_eq!(drive(&["show", "endpoint"], []).text(), "endpoint\nhttp://here:15672/api\n");
}

#[test]
fn uris_of_shovels_and_upstreams_learn_whom_to_trust() {
    let upstreams =
        answer(r#"[{"name":"u","value":{"uri":["amqps://a","amqps://b?verify=verify_peer"],"ack-mode":"no-ack"}}]"#);
    check(
        &["-V", "v", "federation", "disable_tls_peer_verification_for_all_upstreams"],
        &[upstreams, bare(204)],
        &[
            "GET parameters/federation-upstream/v",
            concat!(
                r#"PUT parameters/federation-upstream/v/u {"component":"federation-upstream","name":"u","value":{"ack-mode":"no-ack","#,
                r#""uri":["amqps://a?verify=verify_none","amqps://b?verify=verify_none"]},"vhost":"v"}"#
            ),
        ],
    );
}

#[test]
fn definitions_of_a_vhost_are_its_own() {
    check(&["definitions", "export_from_vhost", "--stdout"], &[answer("{}")], &["GET definitions/%2F"]);
    check(&["definitions", "export", "--stdout"], &[answer("{}")], &["GET definitions"]);
    let did = drive(&["-V", "v", "definitions", "import_into_vhost", "--file", "f"], [bare(204)]).did;
    assert_eq!(did[0], "read f");
    assert!(did[1].starts_with("POST definitions/v "), "{did:?}");
}

#[test]
fn the_file_of_settings_is_shown_and_changed() {
    let settings = |line: &[&str]| match drive(line, []).result {
        Ok(Output::Settings { settings, .. }) => settings,
        other => panic!("{other:?}"),
    };
    let shown = drive(&["config_file", "show"], []).text();
    assert!(shown.contains("********") && !shown.contains("\tp\t"), "{shown}");
    assert_eq!(drive(&["config_file", "show_path"], []).text(), "/home/.rabbitmqadmin.conf\n");
    let added =
        settings(&["config_file", "add_node", "--node", "b", "--host", "h", "--port", "2", "--use-tls", "-V", "/v"]);
    assert_eq!(
        added,
        "[a]\nport = 1\npassword = \"p\"\n\n[b]\nhostname = \"h\"\nport = 2\nvirtual_host = \"/v\"\ntls = true\n"
    );
    assert_eq!(settings(&["config_file", "update_node", "-N", "a", "-P", "9"]), "[a]\nport = 9\npassword = \"p\"\n");
    assert_eq!(settings(&["config_file", "delete_node", "--node", "a"]), "");
    assert_eq!(drive(&["config_file", "add_node", "--node", "a"], []).failure().0, 78);
    assert_eq!(drive(&["config_file", "delete_node", "--node", "none"], []).failure().0, 78);
    assert_eq!(settings(&["config_file", "add_node", "--node", "none", "--create-file-if-missing"]), "[none]\n");
}
