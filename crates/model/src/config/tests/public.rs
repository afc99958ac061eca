//! Configurations as RabbitMQ's guides, images and charts have them: each starts, or says why not.

use super::*;

/// What a text comes to: the warnings, by their first words, or the refusal.
#[track_caller]
fn check_starts(text: &str, expected_warnings: &[&str]) -> Config {
    let (config, warnings) = parse(text).unwrap_or_else(|error| panic!("{error}\nin\n{text}"));
    let warnings: Vec<String> = warnings.iter().map(ToString::to_string).collect();
    assert_eq!(warnings.len(), expected_warnings.len(), "{warnings:#?}");
    for (warning, expected) in warnings.iter().zip(expected_warnings) {
        assert!(warning.contains(expected), "{warning}");
    }
    config
}

const CERTIFICATES: &str =
    "ssl_options.cacertfile = /c/ca.pem\nssl_options.certfile = /c/s.pem\nssl_options.keyfile = /c/s.key\n";

fn with_certificates(text: &str) -> String {
    format!("listeners.ssl.default = 5671\n{CERTIFICATES}{text}")
}

#[test]
fn suites_and_versions_that_there_are_not_are_passed_over() {
    let text = with_certificates(
        "ssl_options.versions.1 = tlsv1.3\nssl_options.versions.2 = tlsv1.2\nssl_options.versions.3 = tlsv1.1\n\
         ssl_options.ciphers.1 = TLS_AES_256_GCM_SHA384\nssl_options.ciphers.2 = TLS_AES_128_GCM_SHA256\n\
         ssl_options.ciphers.3 = TLS_CHACHA20_POLY1305_SHA256\nssl_options.ciphers.4 = TLS_AES_128_CCM_SHA256\n\
         ssl_options.ciphers.5 = TLS_AES_128_CCM_8_SHA256\nssl_options.ciphers.6 = ECDHE-ECDSA-AES256-GCM-SHA384\n\
         ssl_options.ciphers.7 = ECDHE-RSA-AES256-GCM-SHA384\nssl_options.ciphers.8 = ECDHE-ECDSA-AES256-SHA384\n\
         ssl_options.ciphers.9 = ECDHE-RSA-AES256-SHA384\nssl_options.ciphers.10 = ECDH-ECDSA-AES256-GCM-SHA384\n\
         ssl_options.ciphers.11 = DHE-RSA-AES256-GCM-SHA384\nssl_options.honor_cipher_order = true\n\
         ssl_options.honor_ecc_order = true\nssl_options.client_renegotiation = false\n\
         ssl_options.secure_renegotiate = true\nssl_options.verify = verify_peer\nssl_options.fail_if_no_peer_cert = true",
    );
    let passed_over = [
        "'ssl_options.versions.3' has no effect: the version of TLS 'tlsv1.1' is not supported",
        "'ssl_options.ciphers.10' has no effect: the cipher suite 'ECDH-ECDSA-AES256-GCM-SHA384' is not supported",
        "ciphers.11",
        "ciphers.4",
        "ciphers.5",
        "ciphers.8",
        "ciphers.9",
    ];
    let tls = check_starts(&text, &passed_over).tls.unwrap();
    assert_eq!(tls.versions, [TlsVersion::V1_3, TlsVersion::V1_2]);
    assert_eq!(tls.ciphers.len(), 5);
    assert_eq!(tls.ciphers[4], "ECDHE-RSA-AES256-GCM-SHA384");
    let effective = check_starts(&text, &passed_over).effective();
    assert!(!effective.iter().any(|(key, _)| key == "ssl_options.ciphers.4"));
}

#[test]
fn where_no_suite_is_left_the_start_is_refused() {
    let text = with_certificates("ssl_options.ciphers.1 = AES128-SHA\nssl_options.ciphers.2 = RC4-MD5");
    let error = parse(&text).unwrap_err().to_string();
    assert_eq!(error.lines().count(), 2, "{error}");
}

#[test]
fn the_older_listener_takes_tls_of_clients() {
    let text = with_certificates(
        "ssl_options.verify = verify_peer\nssl_options.fail_if_no_peer_cert = true\nmanagement.listener.port = 15671\n\
         management.listener.ssl = true",
    );
    let config = check_starts(&text, &[]);
    let tls = config.management_listeners[0].tls.as_ref().unwrap();
    assert_eq!((&*tls.identity.certfile, tls.verify, &tls.cacertfile), ("/c/s.pem", PeerVerification::None, &None));
    let own = format!(
        "{text}\nmanagement.listener.ssl_opts.certfile = /c/m.pem\nmanagement.listener.ssl_opts.keyfile = /c/m.key"
    );
    let config = check_starts(&own, &[]);
    assert_eq!(config.management_listeners[0].tls.as_ref().unwrap().identity.certfile, "/c/m.pem");
    check_error(
        "management.listener.ssl = true",
        "rabbitmq.conf:1: 'management.listener.ssl' needs 'management.listener.ssl_opts.certfile' and \
         'management.listener.ssl_opts.keyfile'",
    );
}

#[test]
fn mechanisms_that_there_are_not_are_passed_over() {
    let text = "auth_mechanisms.1 = PLAIN\nauth_mechanisms.2 = RABBIT-CR-DEMO\nauth_mechanisms.3 = EXTERNAL";
    let config =
        check_starts(text, &["'auth_mechanisms.2' has no effect: the mechanism 'RABBIT-CR-DEMO' is not supported"]);
    assert_eq!(config.auth_mechanisms, [AuthMechanism::Plain, AuthMechanism::External]);
    check_error(
        "auth_mechanisms.1 = RABBIT-CR-DEMO",
        "rabbitmq.conf:1: 'auth_mechanisms.1' must be one of PLAIN, AMQPLAIN, ANONYMOUS, EXTERNAL, not 'RABBIT-CR-DEMO'",
    );
}

#[test]
fn a_key_that_ends_too_early_is_led_on() {
    for (text, meant) in [
        ("ssl_options.cacert = /c/ca.pem", "ssl_options.cacertfile"),
        ("vm_memory_high_watermark = 0.4", "vm_memory_high_watermark.relative"),
        ("disk_free_limit = 1GB", "disk_free_limit.absolute"),
        ("management.listener = 15672", "management.listener.port"),
    ] {
        let error = parse(text).unwrap_err().to_string();
        assert!(error.ends_with(&format!("the closest known key is '{meant}'")), "{error}");
    }
}

#[test]
fn policies_of_operators_come_with_vhosts() {
    let config = check_starts(
        "default_policies.operator.a.vhost_pattern = ^qa\ndefault_policies.operator.a.queue_pattern = ^x\n\
         default_policies.operator.a.expires = 1h\ndefault_policies.operator.a.max_length = 10\n\
         default_policies.operator.a.max_length_bytes = 1MB\ndefault_policies.operator.b.delivery_limit = 3\n\
         default_policies.operator.b.apply_to = quorum_queues\ndefault_policies.operator.b.classic_queues.ha_mode = all",
        &["'default_policies.operator.b.classic_queues.ha_mode' has no effect"],
    );
    let of = |vhost: &str| {
        let vhost = crate::name::VhostName::parse(vhost.as_bytes()).unwrap();
        let policies = config.vhost_defaults.policies_of(&vhost);
        policies
            .map(|policy| (&*policy.name, serde_json::Value::from(policy.definition.clone()).to_string()))
            .collect::<Vec<_>>()
    };
    let a = r#"{"expires":3600000,"max-length":10,"max-length-bytes":1048576}"#.to_owned();
    let b = r#"{"delivery-limit":3}"#.to_owned();
    assert_eq!(of("qa1"), [("a", a), ("b", b.clone())]);
    assert_eq!(of("other"), [("b", b)]);
    for (size, bytes) in [("5", 5_u64), ("1kb", 1 << 10), ("3 GB", 3 << 30), ("1MiB", 1 << 20)] {
        let config = check_starts(&format!("default_policies.operator.a.max_length_bytes = {size}"), &[]);
        assert_eq!(config.vhost_defaults.policies[0].definition["max-length-bytes"], bytes, "{size}");
    }
    check_error(
        "default_policies.operator.a.max_length = 1\ndefault_policies.operator.a.apply_to = things",
        "rabbitmq.conf:2: 'default_policies.operator.a.apply_to' must be one of all, exchanges, queues, classic_queues, \
         quorum_queues, streams, not 'things'",
    );
}

#[test]
fn configurations_of_guides_and_charts_start() {
    for (text, warnings) in [
        // The Docker image's own file.
        ("loopback_users.guest = false\nlisteners.tcp.default = 5672\nmanagement.tcp.port = 15672", &[][..]),
        // The guide of production.
        (
            "vm_memory_high_watermark.relative = 0.6\ndisk_free_limit.relative = 1.0\nchannel_max = 128\n\
             heartbeat = 30\nmanagement.rates_mode = none\nlog.console = true\nlog.console.level = info",
            &[],
        ),
        // The guide of access control.
        (
            "auth_mechanisms.1 = PLAIN\nauth_mechanisms.2 = AMQPLAIN\nauth_mechanisms.3 = EXTERNAL\nanonymous_login_user = none\n\
             auth_backends.1 = internal\nauth_backends.2 = rabbit_auth_backend_http\n\
             auth_http.user_path = http://h/user\nauth_http.vhost_path = http://h/vhost\n\
             auth_http.resource_path = http://h/resource\nauth_http.topic_path = http://h/topic",
            &[],
        ),
        // The guide of OAuth 2.
        (
            "auth_backends.1 = rabbit_auth_backend_oauth2\nauth_oauth2.resource_server_id = rabbitmq\n\
             auth_oauth2.issuer = https://i.example/realms/r\nauth_oauth2.preferred_username_claims.1 = user_name\n\
             auth_oauth2.additional_scopes_key = roles\nauth_oauth2.https.hostname_verification = wildcard\n\
             auth_oauth2.https.depth = 2\nauth_oauth2.verify_aud = true\nauth_oauth2.require_exp = true",
            &["hostname_verification", "depth"],
        ),
        (
            "auth_backends.1 = oauth2\nauth_oauth2.issuer = https://i.example\nauth_oauth2.resource_servers.1.id = prod\n\
             auth_oauth2.resource_servers.1.scope_prefix = prod.\nauth_oauth2.resource_servers.2.id = dev\n\
             auth_oauth2.resource_servers.2.oauth_provider_id = k\nauth_oauth2.oauth_providers.k.issuer = https://k.example\n\
             auth_oauth2.oauth_providers.k.https.verify = verify_none",
            &[],
        ),
        // The guide of guard rails.
        (
            "default_limits.vhosts.1.pattern = ^device\ndefault_limits.vhosts.1.max_queues = 10\n\
             default_policies.operator.1.vhost_pattern = ^device\ndefault_policies.operator.1.max_length_bytes = 1GB",
            &[],
        ),
    ] {
        check_starts(text, warnings);
    }
}

#[test]
fn what_a_token_needs_is_asked_for() {
    for (text, missing) in [
        ("auth_backends.1 = oauth2\nauth_oauth2.issuer = https://i", "needs 'auth_oauth2.resource_server_id'"),
        (
            "auth_backends.1 = oauth2\nauth_oauth2.resource_server_id = r",
            "needs 'auth_oauth2.issuer', 'auth_oauth2.jwks_uri' or",
        ),
        (
            "auth_backends.1 = oauth2\nauth_oauth2.issuer = https://i\nauth_oauth2.resource_servers.a.oauth_provider_id = k",
            "no 'auth_oauth2.oauth_providers.k'",
        ),
    ] {
        let error = parse(text).unwrap_err().to_string();
        assert!(error.contains(missing), "{error}");
    }
}

#[test]
fn the_older_listener_and_the_newer_are_one_at_one_port() {
    let older = "management.listener.port = 15672\nmanagement.listener.ssl = false\n";
    let listeners = check_starts(&format!("{older}management.tcp.port = 15672"), &[]).management_listeners;
    assert_eq!(listeners.len(), 1);
    assert_eq!(listeners[0].prefix, "management.listener");
    assert_eq!(check_starts(&format!("{older}management.tcp.port = 15673"), &[]).management_listeners.len(), 2);
}

#[test]
fn two_listeners_at_one_port_are_refused() {
    let error = parse("listeners.tcp.1 = 5672\nlisteners.tcp.2 = 15672").unwrap_err().to_string();
    assert!(error.contains(":2: 'listeners.tcp.2' and 'management.tcp.port' are the same: port 15672"), "{error}");
    check_starts("listeners.tcp.1 = 127.0.0.1:5672\nlisteners.tcp.2 = ::1:5672", &[]);
    check_starts("listeners.tcp.1 = 0\nlisteners.tcp.2 = 0", &[]);
}

#[test]
fn a_shovel_that_is_none_is_refused_where_it_is_written() {
    let text = "warren.shovels.s.src-uri = amqp://\nwarren.shovels.s.src-queue = q\nwarren.shovels.s.dest-queue = p\n";
    let error = parse(&format!("{text}warren.shovels.s.dest-uri = CONNECTION")).unwrap_err().to_string();
    assert!(error.contains("'warren.shovels.s': \"CONNECTION\" not a valid URI"), "{error}");
    check_starts(&format!("{text}warren.shovels.s.dest-uri = amqp://"), &[]);
}
