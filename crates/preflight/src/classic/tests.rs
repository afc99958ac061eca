//! Erlang's terms as keys.

use crate::{classic, terms};

#[track_caller]
fn check(rabbit: &str, expected: &[&str]) {
    let text = format!("[{{rabbit, [{rabbit}]}}].");
    let translation = classic::translate("f", &terms::parse(&text).unwrap());
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
    let translation = classic::translate("f", &terms::parse(text).unwrap());
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
    assert!(translation.passed_over.is_empty(), "{:?}", translation.passed_over);
}

#[test]
fn oauth_becomes_keys() {
    let text = "[{rabbitmq_auth_backend_oauth2, [{resource_server_id, <<\"rabbit\">>}, {extra_scopes_source, <<\"roles\">>},
        {scope_aliases, #{<<\"api://x/admin\">> => [<<\"a\">>, <<\"b\">>]}},
        {key_config, [{default_key, <<\"k\">>}, {peer_verification, verify_none}, {algorithms, [<<\"HS256\">>]},
            {signing_keys, #{
                <<\"k\">> => {map, #{<<\"kty\">> => <<\"MAC\">>, <<\"alg\">> => <<\"HS256\">>, <<\"value\">> => <<\"token\">>}},
                <<\"p\">> => {pem_file, <<\"/key.pem\">>},
                <<\"q\">> => {pem, <<\"-----BEGIN X-----\nMA==\n-----END X-----\n\">>}}}]},
        {resource_servers, #{<<\"prod\">> => [{scope_prefix, <<\"p:\">>}, {oauth_provider_id, <<\"kc\">>}]}},
        {oauth_providers, #{<<\"kc\">> => [{issuer, <<\"https://kc\">>}, {https, [{cacertfile, \"/ca\"}]}]}}]},
     {rabbitmq_management, [{oauth_enabled, true}, {cors_allow_origins, [\"*\"]},
        {oauth_resource_servers, #{<<\"prod\">> => [{oauth_client_id, <<\"ui\">>}]}}]}].";
    let translation = classic::translate("f", &terms::parse(text).unwrap());
    let said = translation.text();
    let expected = [
        "auth_oauth2.resource_server_id = rabbit",
        "auth_oauth2.additional_scopes_key = roles",
        "auth_oauth2.scope_aliases.1.alias = api://x/admin",
        "auth_oauth2.scope_aliases.1.scope = a b",
        "auth_oauth2.default_key = k",
        "auth_oauth2.https.peer_verification = verify_none",
        "auth_oauth2.algorithms.1 = HS256",
        r#"auth_oauth2.signing_keys.k = {"alg":"HS256","k":"dG9rZW4","kty":"oct"}"#,
        "auth_oauth2.signing_keys.p = /key.pem",
        "auth_oauth2.signing_keys.q = '-----BEGIN X----- MA== -----END X----- '",
        "auth_oauth2.resource_servers.prod.id = prod",
        "auth_oauth2.resource_servers.prod.scope_prefix = p:",
        "auth_oauth2.resource_servers.prod.oauth_provider_id = kc",
        "auth_oauth2.oauth_providers.kc.issuer = https://kc",
        "auth_oauth2.oauth_providers.kc.https.cacertfile = /ca",
        "management.oauth_enabled = true",
        "management.cors.allow_origins.1 = *",
        "management.oauth_resource_servers.prod.id = prod",
        "management.oauth_resource_servers.prod.oauth_client_id = ui",
    ];
    assert_eq!(said.lines().collect::<Vec<_>>(), expected);
    assert!(translation.passed_over.is_empty(), "{:?}", translation.passed_over);
}
