//! Erlang's terms as keys.

use crate::sheet::Sheet;
use crate::{classic, terms};

#[track_caller]
fn check(rabbit: &str, expected: &[&str]) {
    let text = format!("[{{rabbit, [{rabbit}]}}].");
    let mut sheet = Sheet::default();
    let translation = classic::translate("f", &terms::parse(&text).unwrap(), &mut sheet);
    let text = translation.text();
    assert_eq!(text.lines().collect::<Vec<_>>(), expected);
}

#[test]
fn settings_become_keys() {
    check("{tcp_listeners, [5672]}", &["listeners.tcp.default = 5672"]);
    check(
        "{tcp_listeners, [{\"127.0.0.1\", 5672}, {\"::1\", 5672}]}",
        &["listeners.tcp.1 = 127.0.0.1:5672", "listeners.tcp.2 = ::1:5672"],
    );
    check("{tcp_listeners, []}", &["listeners.tcp = none"]);
    check("{vm_memory_high_watermark, 0.4}", &["vm_memory_high_watermark.relative = 0.4"]);
    check("{vm_memory_high_watermark, {absolute, \"2GB\"}}", &["vm_memory_high_watermark.absolute = 2GB"]);
    check("{disk_free_limit, {mem_relative, 1.0}}", &["disk_free_limit.relative = 1.0"]);
    check("{disk_free_limit, 50000000}", &["disk_free_limit.absolute = 50000000"]);
    check("{loopback_users, []}", &["loopback_users = none"]);
    check("{default_user_tags, [administrator]}", &["default_user_tags.administrator = true"]);
    check(
        "{cluster_nodes, {['rabbit@a', 'rabbit@b'], disc}}",
        &[
            "cluster_formation.peer_discovery_backend = classic_config",
            "cluster_formation.classic_config.nodes.1 = rabbit@a",
            "cluster_formation.classic_config.nodes.2 = rabbit@b",
        ],
    );
    check(
        "{auth_backends, [{rabbit_auth_backend_ldap, rabbit_auth_backend_internal}]}",
        &["auth_backends.1.authn = rabbit_auth_backend_ldap", "auth_backends.1.authz = rabbit_auth_backend_internal"],
    );
    check(
        "{ssl_options, [{cacertfile, \"/ca.pem\"}, {versions, ['tlsv1.2', 'tlsv1.3']}, {fail_if_no_peer_cert, false}]}",
        &[
            "ssl_options.cacertfile = /ca.pem",
            "ssl_options.versions.1 = tlsv1.2",
            "ssl_options.versions.2 = tlsv1.3",
            "ssl_options.fail_if_no_peer_cert = false",
        ],
    );
    check(
        "{tcp_listen_options, [binary, {backlog, 128}, {linger, {true, 0}}]}",
        &[
            "tcp_listen_options.backlog = 128",
            "tcp_listen_options.linger.on = true",
            "tcp_listen_options.linger.timeout = 0",
        ],
    );
    check("{default_pass, <<\"a#b\">>}", &["default_pass = 'a#b'"]);
}

#[test]
fn shovels_become_keys() {
    let text = "[{rabbitmq_shovel, [{shovels, [{mine, [
        {source, [{protocol, amqp091}, {uris, [\"amqp://a:b@one\", \"amqp://two\"]}, {queue, <<>>}, {prefetch_count, 10},
                  {declarations, [{'queue.declare', []}, {'queue.bind', [{exchange, <<\"x\">>}, {queue, <<>>}]}]}]},
        {destination, [{uris, [\"amqp://\"]}, {publish_fields, [{exchange, <<>>}, {routing_key, <<\"q\">>}]}]},
        {ack_mode, on_confirm}]}]}]}].";
    let mut sheet = Sheet::default();
    let translation = classic::translate("f", &terms::parse(text).unwrap(), &mut sheet);
    let expected = [
        "ack-mode = on-confirm",
        "src-protocol = amqp091",
        "src-uri.1 = amqp://a:b@one",
        "src-uri.2 = amqp://two",
        "src-prefetch-count = 10",
        "src-exchange = x",
        "src-exchange-key = ''",
        "dest-uri = amqp://",
        "dest-queue = q",
    ];
    let text = translation.text();
    let lines: Vec<_> = text.lines().map(|line| line.strip_prefix("warren.shovels.mine.").unwrap()).collect();
    assert_eq!(lines, expected);
    assert!(!translation.said(3).unwrap().shown.contains("a:b"));
    assert_eq!(sheet.works + sheet.different + sheet.refused, 0);
}

#[test]
fn secrets_are_not_shown() {
    let mut sheet = Sheet::default();
    let term = terms::parse("[{rabbit, [{default_pass, <<\"hidden\">>}]}].").unwrap();
    let translation = classic::translate("f", &term, &mut sheet);
    assert_eq!(translation.said(1).unwrap().shown, "default_pass = …");
    assert!(translation.said(0).is_none() && translation.said(2).is_none());
}
