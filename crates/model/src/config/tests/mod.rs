//! Files, environment and command line become one configuration, or one list of clear reasons why not.

use std::time::Duration;

use proptest::prelude::*;

use super::table::{Row, State, Type};
use super::*;
use crate::arguments::QueueType;
use crate::user::Access;

fn source(text: &str) -> Source {
    Source { name: "rabbitmq.conf".to_owned(), text: text.to_owned() }
}

fn parse(text: &str) -> Result<(Config, Vec<Warning>), ConfigError> {
    Config::parse(&[source(text)], &[], &[])
}

/// The configuration of a text that calls for no warning.
#[track_caller]
fn config(text: &str) -> Config {
    let (config, warnings) = parse(text).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(warnings, [], "{}", warnings[0]);
    config
}

#[track_caller]
fn check_error(text: &str, expected: &str) {
    assert_eq!(parse(text).map(|_| ()).unwrap_err().to_string(), expected);
}

#[track_caller]
fn check_warning(text: &str, expected: &str) {
    let (_, warnings) = parse(text).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(warnings.iter().map(Warning::to_string).collect::<Vec<_>>(), [expected]);
}

fn addresses(config: &Config) -> Vec<String> {
    config.listeners.iter().map(|l| format!("{} {}", l.name, l.address)).collect()
}

#[test]
fn without_any_file_the_defaults_are_rabbitmqs() {
    let config = Config::default();
    assert_eq!(addresses(&config), ["default 5672"]);
    assert_eq!(config.handshake_timeout, Duration::from_secs(10));
    assert_eq!((config.heartbeat, config.channel_max), (60, 2047));
    assert_eq!((config.frame_max, config.initial_frame_max), (131_072, 8192));
    assert_eq!((config.connection_max, config.consumer_max_per_channel), (None, None));
    assert_eq!(config.max_message_size, 16 << 20);
    assert_eq!(config.default_user.name.as_str(), "guest");
    assert_eq!(config.default_user.password, "guest");
    assert_eq!(config.default_user.vhost.as_str(), "/");
    assert_eq!(config.default_user.tags.iter().collect::<Vec<_>>(), ["administrator"]);
    assert!(config.default_user.permission.allows(Access::Configure, "anything"));
    assert_eq!(config.loopback_users, ["guest"]);
    assert_eq!(config.auth_mechanisms.iter().map(|m| m.name()).collect::<Vec<_>>(), ["PLAIN", "AMQPLAIN", "ANONYMOUS"]);
    assert_eq!(config.anonymous_login.as_ref().unwrap().name.as_str(), "guest");
    assert_eq!(config.vm_memory_high_watermark, MemoryWatermark::Relative(0.6));
    assert_eq!(config.total_memory_available_override_value, None);
    assert_eq!(config.disk_free_limit, DiskFreeLimit::Absolute(50_000_000));
    assert_eq!(config.log, Log { level: LogLevel::Info, formatter: LogFormatter::Plaintext });
    assert_eq!((&*config.product_name, config.product_version.as_deref()), ("Warren", None));
    assert_eq!(config.cluster_name, None);
    assert_eq!((config.shutdown_timeout, config.worker_threads), (Duration::from_secs(8), None));
    assert_eq!(
        config.tcp_listen_options,
        TcpOptions { backlog: 128, nodelay: true, keepalive: false, sndbuf: None, recbuf: None, linger: None }
    );
    assert_eq!(
        config.store,
        StoreOptions {
            data_dir: "warren-data".to_owned(),
            confirm_after: ConfirmAfter::Fsync,
            journal_bound: 256 << 20,
            member_journal_bound: 128 << 20,
            journal_file_len: 8 << 20,
            chunk_bound: 40 << 20,
            scrub_interval: Some(Duration::from_secs(7 * 24 * 3600)),
        }
    );
}

#[test]
fn named_listeners_replace_the_default_one() {
    let config = config("listeners.tcp.local = 127.0.0.1:5673\nlisteners.tcp.all = 5674");
    assert_eq!(addresses(&config), ["all 5674", "local 127.0.0.1:5673"]);
}

#[test]
fn no_listener_beats_named_ones() {
    assert_eq!(addresses(&config("listeners.tcp.default = 5672\nlisteners.tcp = none")), [""; 0]);
}

#[test]
fn the_last_value_of_a_key_counts() {
    let sources = [
        source("heartbeat = 10\nheartbeat = 20\nframe_max = 8192"),
        Source { name: "conf.d/20-site.conf".to_owned(), text: "heartbeat = 30".to_owned() },
    ];
    let (config, _) = Config::parse(&sources, &[], &[]).unwrap();
    assert_eq!((config.heartbeat, config.frame_max), (30, 8192));
    let (config, _) = Config::parse(&sources, &[], &["heartbeat = 40".to_owned()]).unwrap();
    assert_eq!(config.heartbeat, 40);
}

#[test]
fn the_environment_beats_files_and_set_beats_the_environment() {
    let file = [source("default_user = file\ndefault_vhost = file")];
    let variables = environment(&[
        ("PATH", "/bin"),
        ("RABBITMQ_DEFAULT_USER", "env"),
        ("RABBITMQ_DEFAULT_PASS", "s#cret"),
        ("RABBITMQ_DEFAULT_VHOST", ""),
    ]);
    let (config, _) = Config::parse(&file, &variables, &[]).unwrap();
    let DefaultUser { name, password, vhost, .. } = &config.default_user;
    assert_eq!((name.as_str(), &**password, vhost.as_str()), ("env", "s#cret", "file"));
    let (config, _) = Config::parse(&file, &variables, &["default_user=set=it".to_owned()]).unwrap();
    assert_eq!(config.default_user.name.as_str(), "set=it");
}

fn environment(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
    pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

#[test]
fn files_may_ask_for_variables() {
    let file =
        [source("listeners.tcp.default = 127.0.0.1:$(PORT)\ndefault_pass = '$( SEED_PASS )'\ncluster_name = d-$(ID)")];
    let variables = environment(&[("PORT", "5673"), ("SEED_PASS", "a $(ID) #"), ("ID", "7")]);
    let (config, _) = Config::parse(&file, &variables, &[]).unwrap();
    assert_eq!(addresses(&config), ["default 127.0.0.1:5673"]);
    assert_eq!(config.default_user.password, "a $(ID) #");
    assert_eq!(config.cluster_name.as_deref(), Some("d-7"));
}

#[test]
fn a_variable_that_is_not_set_is_an_error() {
    check_error(
        "heartbeat = 5\ndefault_pass = $(SEED_USER_PASSWORD)",
        "rabbitmq.conf:2: 'default_pass' asks for the environment variable 'SEED_USER_PASSWORD', which is not set",
    );
    let error = Config::parse(&[source("heartbeat = $(BEAT)")], &environment(&[("BEAT", "often")]), &[]);
    assert_eq!(
        error.map(|_| ()).unwrap_err().to_string(),
        "rabbitmq.conf:1: 'heartbeat' must be an integer from 0 to 65535, not 'often'"
    );
}

#[test]
fn only_files_ask_for_variables() {
    let variables = environment(&[("RABBITMQ_DEFAULT_PASS", "$(X)")]);
    let (config, _) = Config::parse(&[], &variables, &["default_user=$(Y)".to_owned()]).unwrap();
    assert_eq!((config.default_user.name.as_str(), &*config.default_user.password), ("$(Y)", "$(X)"));
}

#[test]
fn variables_that_configure_only_rabbitmq_are_warned_of() {
    let variables = environment(&[
        ("RABBITMQ_NODE_PORT", "5673"),
        ("RABBITMQ_MNESIA_BASE", ""),
        ("RABBITMQ_LOGS", "-"),
        ("RABBITMQ_DISK_FREE_LIMIT", "1GB"),
        ("RABBITMQ_PLUGINS_DIR", "/plugins"),
    ]);
    let (_, warnings) = Config::parse(&[], &variables, &[]).unwrap();
    let warnings: Vec<_> = warnings.iter().map(Warning::to_string).collect();
    let disk = "RABBITMQ_DISK_FREE_LIMIT: has no effect; set disk_free_limit.absolute";
    assert_eq!(warnings, [disk, "RABBITMQ_PLUGINS_DIR: has no effect; Warren has no plugins"]);
    let (_, warnings) = Config::parse(&[], &environment(&[("RABBITMQ_LOGS", "/var/log/r.log")]), &[]).unwrap();
    assert_eq!(warnings[0].to_string(), "RABBITMQ_LOGS: has no effect; logs are written to stderr, see log.console");
}

#[test]
fn older_and_newer_names_of_a_key_are_one() {
    assert_eq!(config("channel_max = 5\nmax_channels_per_connection = 6").channel_max, 6);
    assert_eq!(config("max_connections = 7").connection_max, Some(7));
}

#[test]
fn loopback_users_are_those_set_to_true() {
    assert_eq!(config("loopback_users.guest = false").loopback_users, [""; 0]);
    assert_eq!(config("loopback_users = none").loopback_users, [""; 0]);
    assert_eq!(config("loopback_users.ann = true\nloopback_users.j\\.doe = true").loopback_users, ["ann", "j.doe"]);
}

#[test]
fn the_first_user_is_configurable() {
    let config = config(
        "default_user = ann\ndefault_pass = 'a # b'\ndefault_vhost = v\ndefault_permissions.configure = ''\n\
         default_user_tags.monitoring = true\ndefault_user_tags.management = false",
    );
    let DefaultUser { name, password, tags, vhost, permission } = config.default_user;
    assert_eq!((name.as_str(), &*password, vhost.as_str()), ("ann", "a # b", "v"));
    assert_eq!(tags.iter().collect::<Vec<_>>(), ["monitoring"]);
    assert!(!permission.allows(Access::Configure, "q") && permission.allows(Access::Read, "q"));
}

#[test]
fn mechanisms_are_offered_in_the_order_of_their_names() {
    let mechanisms = config("auth_mechanisms.2 = PLAIN\nauth_mechanisms.1 = AMQPLAIN").auth_mechanisms;
    assert_eq!(mechanisms, [AuthMechanism::Amqplain, AuthMechanism::Plain]);
    assert_eq!(config("anonymous_login_user = none").anonymous_login, None);
}

#[test]
fn the_absolute_limit_goes_before_the_relative_one() {
    assert_eq!(
        config("vm_memory_high_watermark.absolute = 1GiB").vm_memory_high_watermark,
        MemoryWatermark::Absolute(1 << 30)
    );
    assert_eq!(
        config("vm_memory_high_watermark.relative = 0.8").vm_memory_high_watermark,
        MemoryWatermark::Relative(0.8)
    );
    assert_eq!(config("disk_free_limit.relative = 1.5").disk_free_limit, DiskFreeLimit::MemoryRelative(1.5));
    assert_eq!(config("disk_free_limit.absolute = 2GB").disk_free_limit, DiskFreeLimit::Absolute(2_000_000_000));
    check_warning(
        "vm_memory_high_watermark.absolute = 1GiB\nvm_memory_high_watermark.relative = 0.8",
        "rabbitmq.conf:2: 'vm_memory_high_watermark.relative' has no effect: \
         'vm_memory_high_watermark.absolute' takes precedence",
    );
    let (config, _) = parse("disk_free_limit.absolute = 1GB\ndisk_free_limit.relative = 1.5").unwrap();
    assert_eq!(config.disk_free_limit, DiskFreeLimit::Absolute(1_000_000_000));
}

#[test]
fn the_more_severe_level_is_logged() {
    assert_eq!(config("log.console.level = debug").log.level, LogLevel::Debug);
    assert_eq!(config("log.console.level = debug\nlog.default.level = error").log.level, LogLevel::Error);
    assert_eq!(config("log.console.formatter = json").log.formatter, LogFormatter::Json);
}

#[test]
fn nothing_is_logged_only_where_no_log_is_wanted() {
    assert_eq!(config("log.console = false").log.level, LogLevel::None);
    assert_eq!(config("log.console = false\nlog.file = false").log.level, LogLevel::None);
    for elsewhere in
        ["log.file = rabbit.log", "log.file.level = debug", "log.dir = /var/log/rabbitmq", "log.syslog = true"]
    {
        let (config, warnings) = parse(&format!("log.console = false\n{elsewhere}")).unwrap();
        assert_eq!(config.log.level, LogLevel::Info, "{elsewhere}");
        assert_eq!(
            warnings.last().unwrap().to_string(),
            "rabbitmq.conf:1: 'log.console' = false has no effect: the other configured log is written to stderr"
        );
    }
}

#[test]
fn the_first_frames_are_no_longer_than_the_others() {
    let lengths = |text| {
        let (config, warnings) = parse(text).unwrap();
        (config.initial_frame_max, warnings.first().map(Warning::to_string))
    };
    assert_eq!(lengths("frame_max = 4096"), (4096, None));
    assert_eq!(lengths("frame_max = 8192"), (8192, None));
    assert_eq!(lengths("initial_frame_max = 16KiB"), (16_384, None));
    let lowered = "rabbitmq.conf:1: 'initial_frame_max' (16KiB) is lowered to 'frame_max' (8KiB)".to_owned();
    assert_eq!(lengths("initial_frame_max = 16KiB\nframe_max = 8KiB"), (8192, Some(lowered)));
}

#[test]
fn parameters_are_limited_by_component() {
    let text = "runtime_parameters.limits.shovel = 3\nruntime_parameters.limits.federation-upstream = 0";
    let limits = config(text).parameter_limits;
    assert_eq!((limits.len(), limits["federation-upstream"], limits["shovel"]), (2, 0, 3));
    assert!(config("").parameter_limits.is_empty());
}

#[test]
fn local_random_exchanges_are_permitted_unless_disabled() {
    assert!(config("").local_random_exchanges);
    assert!(!config("exchange_types.local_random.enabled = false").local_random_exchanges);
}

#[test]
fn delayed_messages_are_returned_for_a_reason_unless_that_is_wanted_otherwise() {
    assert!(!config("").returns_every_delayed);
    assert!(config("warren.delayed.strict = true").returns_every_delayed);
    assert!(!config("").answers_definitions_at_once);
    assert!(config("warren.definitions.answer_after = write").answers_definitions_at_once);
}

#[test]
fn deprecated_features_are_permitted_unless_forbidden() {
    let features = config("deprecated_features.permit.global_qos = false").deprecated_features;
    assert!(!features.permits("global_qos"));
    assert!(features.permits("transient_nonexcl_queues"));
    check_warning(
        "deprecated_features.permit.ram_node_type = false",
        "rabbitmq.conf:1: 'deprecated_features.permit.ram_node_type' has no effect: \
         Warren does not have this feature",
    );
    check_error(
        "deprecated_features.permit.transient_nonexclusive_queues = false",
        "rabbitmq.conf:1: unknown key 'deprecated_features.permit.transient_nonexclusive_queues'; \
         the closest known key is 'deprecated_features.permit.transient_nonexcl_queues'",
    );
}

#[test]
fn queues_have_a_default_type() {
    let queue_type = |text| config(text).default_queue_type;
    assert_eq!(queue_type(""), QueueType::Classic);
    assert_eq!(queue_type("default_queue_type = quorum"), QueueType::Quorum);
    assert_eq!(queue_type("default_queue_type = rabbit_quorum_queue"), QueueType::Quorum);
    check_error(
        "default_queue_type = stream",
        "rabbitmq.conf:1: 'default_queue_type' must be one of classic, quorum, rabbit_classic_queue, rabbit_quorum_queue, \
         not 'stream'",
    );
    let relaxed = "quorum_queue.property_equivalence.relaxed_checks_on_redeclaration = true";
    assert!(config(relaxed).permits_quorum_queues_declared_as_classic);
    assert!(!config("").permits_quorum_queues_declared_as_classic);
}

#[test]
fn socket_options_are_read() {
    let options = config(
        "tcp_listen_options.backlog = 4096\ntcp_listen_options.nodelay = false\ntcp_listen_options.keepalive = true\n\
         tcp_listen_options.sndbuf = 196608\ntcp_listen_options.recbuf = 192KiB\n\
         tcp_listen_options.linger.on = true\ntcp_listen_options.linger.timeout = 3",
    )
    .tcp_listen_options;
    assert_eq!(
        options,
        TcpOptions {
            backlog: 4096,
            nodelay: false,
            keepalive: true,
            sndbuf: Some(196_608),
            recbuf: Some(196_608),
            linger: Some(Duration::from_secs(3)),
        }
    );
}

#[test]
fn an_unknown_key_names_its_place_and_the_closest_one() {
    check_error(
        "# comment\nlistener.tcp.default = 5672",
        "rabbitmq.conf:2: unknown key 'listener.tcp.default'; the closest known key is 'listeners.tcp.default'",
    );
    let error = Config::parse(&[], &[], &["hearbeat=5".to_owned()]).map(|_| ()).unwrap_err();
    assert_eq!(error.to_string(), "--set: unknown key 'hearbeat'; the closest known key is 'heartbeat'");
}

#[test]
fn a_wrong_value_names_what_it_must_be() {
    check_error("heartbeat = often", "rabbitmq.conf:1: 'heartbeat' must be an integer from 0 to 65535, not 'often'");
    check_error(
        "listeners.tcp.default = host:5672",
        "rabbitmq.conf:1: 'listeners.tcp.default' must be a port, or address:port, not 'host:5672'",
    );
    check_error(
        "max_message_size = 1GiB",
        "rabbitmq.conf:1: 'max_message_size' must be a size such as 50MB or 1GiB, from 1 to 512MiB, not '1GiB'",
    );
    check_error(
        "default_permissions.read = (?!x",
        "rabbitmq.conf:1: 'default_permissions.read' must be a regular expression, not '(?!x'",
    );
    check_error(
        "warren.confirm_after = never",
        "rabbitmq.conf:1: 'warren.confirm_after' must be one of fsync, write, not 'never'",
    );
}

#[test]
fn all_reasons_are_given_at_once() {
    check_error(
        "heartbeat = x\ndefinitions.import_backend = https\nlog.consol = 1",
        "rabbitmq.conf:1: 'heartbeat' must be an integer from 0 to 65535, not 'x'\n\
         rabbitmq.conf:2: 'definitions.import_backend' cannot be honoured: \
         definitions are imported from local files only\n\
         rabbitmq.conf:3: unknown key 'log.consol'; the closest known key is 'log.console'",
    );
}

#[test]
fn a_line_that_is_no_setting_is_an_error() {
    check_error("rubbish", "rabbitmq.conf:1: expected 'key = value'");
    check_error(
        "[{rabbit, []}].",
        "rabbitmq.conf:1: expected 'key = value'; Erlang terms (rabbitmq.config, advanced.config) are not read, \
         write the keys of rabbitmq.conf",
    );
    let error = Config::parse(&[], &[], &["heartbeat".to_owned()]).map(|_| ()).unwrap_err();
    assert_eq!(error.to_string(), "--set: expected 'KEY=VALUE', not 'heartbeat'");
}

#[test]
fn what_would_be_less_safe_than_written_stops_the_start() {
    check_error(
        "ssl_options.crl_check = true",
        "rabbitmq.conf:1: 'ssl_options.crl_check' cannot be honoured: \
         revocation lists are not checked, so revoked certificates would be accepted",
    );
    check_error(
        "auth_backends.1 = ldap",
        "rabbitmq.conf:1: 'auth_backends.1' must be one of internal, http, oauth2, cache, oauth, uaa, \
         rabbit_auth_backend_internal, rabbit_auth_backend_http, rabbit_auth_backend_oauth2, rabbit_auth_backend_cache, \
         not 'ldap'",
    );
    check_error(
        "definitions.import_backend = https",
        "rabbitmq.conf:1: 'definitions.import_backend' cannot be honoured: definitions are imported from local files only",
    );
    check_error(
        "default_pass = encrypted:abc",
        "rabbitmq.conf:1: 'default_pass' is encrypted, which is not supported; write it in plain",
    );
}

#[test]
fn what_happens_anyway_is_accepted_in_silence() {
    config(
        "auth_backends.1 = internal\nlisteners.ssl = none\nproxy_protocol = false\nlog.file = false\ndefault_queue_type = classic",
    );
}

#[test]
fn what_does_nothing_is_warned_of() {
    check_warning(
        "delegate_count = 16",
        "rabbitmq.conf:1: 'delegate_count' has no effect: all queues are on the leader, and nodes do not delegate work",
    );
    check_warning(
        "management.http_log_dir = x",
        "rabbitmq.conf:1: 'management.http_log_dir' is not supported and has no effect: single requests are not logged",
    );
}

#[test]
fn warnings_come_in_the_order_of_the_files() {
    let (_, warnings) = parse("raft.wal_max_size_bytes = 1\ndelegate_count = 1\ncollect_statistics = fine").unwrap();
    let places: Vec<_> = warnings.iter().map(|w| w.to_string()[..15].to_owned()).collect();
    assert_eq!(places, ["rabbitmq.conf:1", "rabbitmq.conf:2", "rabbitmq.conf:3"]);
}

#[test]
fn the_journal_must_hold_four_of_its_files() {
    check_error(
        "warren.journal.file_size = 128MiB",
        "rabbitmq.conf:1: 'warren.journal.bound' (256MiB) must hold at least 4 files of 'warren.journal.file_size' (128MiB)",
    );
    check_error(
        "\nwarren.journal.bound = 16MiB",
        "rabbitmq.conf:2: 'warren.journal.bound' (16MiB) must hold at least 4 files of 'warren.journal.file_size' (8MiB)",
    );
    let bounds = |text: &str| (config(text).store.journal_bound, config(text).store.member_journal_bound);
    assert_eq!(bounds("warren.journal.bound = 200MiB"), (200 << 20, 200 << 20));
    assert_eq!(bounds("warren.journal.file_size = 64MiB"), (256 << 20, 256 << 20));
}

#[test]
fn passwords_are_shown_nowhere() {
    let (config, _) = Config::parse(&[source("default_pass = topsecret")], &[], &[]).unwrap();
    assert!(!format!("{config:?} {:?}", source("default_pass = topsecret")).contains("topsecret"));
    assert!(config.effective().contains(&("default_pass".to_owned(), "[hidden]".to_owned())));
    let error = Config::parse(&[], &[], &["default pass=topsecret".to_owned()]).map(|_| ()).unwrap_err();
    assert_eq!(error.to_string(), "--set: expected 'KEY=VALUE', not 'default pass'");
}

#[test]
fn what_is_in_force_is_listed() {
    let (config, _) = parse("heartbeat = 5\nlisteners.tcp.x = 1234\ndelegate_count = 3").unwrap();
    let effective = config.effective();
    let value = |key: &str| effective.iter().find(|(k, _)| k == key).map(|(_, v)| &**v);
    assert_eq!(value("heartbeat"), Some("5"));
    assert_eq!(value("listeners.tcp.x"), Some("1234"));
    assert_eq!(value("listeners.tcp.default"), None);
    assert_eq!(value("loopback_users.guest"), Some("true"));
    assert_eq!(value("frame_max"), Some("131072"));
    assert_eq!(value("delegate_count"), None);
    assert!(effective.is_sorted());
}

#[test]
fn both_ends_of_every_range_fit() {
    let is_literal = |row: &&Row| !row.pattern.contains(['$', '*', '{']);
    for row in schema::TABLE.keys().filter(|row| row.state == State::Effective).filter(is_literal) {
        if row.pattern.starts_with("management.ssl.") || row.pattern.starts_with("prometheus.ssl.") {
            continue; // any of them asks for a certificate
        }
        let ends = match row.kind {
            Type::Integer(first, last) => [first.to_string(), last.to_string()],
            Type::Unbounded(first) => [first.to_string(), "infinity".to_owned()],
            Type::Size(first, last) => [first.to_string(), last.to_string()],
            Type::DurationMs(first, last) => [first.to_string(), last.to_string()],
            Type::Float(first, last) => [first.to_string(), last.to_string()],
            _ => continue,
        };
        for end in ends {
            let parsed = parse(&format!("{} = {end}", row.pattern));
            // Two keys must fit each other, too.
            assert!(parsed.is_ok() || row.pattern.starts_with("warren.journal."), "{} = {end}", row.pattern);
        }
    }
}

#[test]
fn a_file_of_rabbitmqs_documentation_is_understood() {
    let file = include_str!("../testdata/typical.conf");
    assert!(parse(file).is_ok(), "one node needs no secret");
    let second = "cluster_formation.classic_config.nodes.2 = rabbit@hostname2";
    let error = parse(&format!("{file}\n{second}")).unwrap_err().to_string();
    assert!(error.contains("needs 'warren.cluster.secret'") && !error.contains('\n'), "its cookie file: {error}");
    let file = format!("{file}\nwarren.cluster.secret = x");
    let (config, warnings) = parse(&file).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(addresses(&config), ["local 127.0.0.1:5672", "local_v6 [::1]:5672"]);
    assert_eq!(config.heartbeat, 30);
    assert_eq!(config.vm_memory_high_watermark, MemoryWatermark::Relative(0.7));
    assert_eq!(config.disk_free_limit, DiskFreeLimit::Absolute(2_000_000_000));
    assert_eq!(warnings.len(), 4, "{warnings:#?}");
}

proptest! {
    #[test]
    fn any_text_becomes_a_configuration_or_an_error(text in "(([a-z_]{1,12}\\.){0,2}[a-z_$]{1,9} ?= ?[a-z0-9:.' #]{0,9}\n){0,6}") {
        let _ = parse(&text);
    }

    #[test]
    fn any_value_of_any_key_is_taken_or_refused(
        row in 0..schema::TABLE.keys().count(),
        value in "[a-z0-9.:]{1,8}|[0-9]{1,20}[A-Za-z]{0,3}",
    ) {
        let row = schema::TABLE.keys().nth(row).unwrap();
        let key = row.spellings()[0].replace(['$', '*'], "x");
        let _ = Config::parse(&[], &[], &[format!("{key}={value}")]);
    }
}

/// What TLS needs before anything else can be said of it.
const CERTIFICATE: &str = "listeners.ssl.default = 5671\nssl_options.certfile = s.pem\nssl_options.keyfile = s.key\n";

fn tls(text: &str) -> TlsOptions {
    config(&format!("{CERTIFICATE}{text}")).tls.unwrap()
}

#[test]
fn tls_is_rabbitmqs_unless_it_says_otherwise() {
    let config = config(CERTIFICATE);
    assert_eq!(config.tls_listeners.len(), 1);
    assert_eq!(config.tls_listeners[0].address.to_string(), "5671");
    assert_eq!((config.ssl_handshake_timeout, config.proxy_protocol), (Duration::from_secs(5), false));
    let identity = TlsIdentity { certfile: "s.pem".to_owned(), keyfile: "s.key".to_owned(), password: None };
    assert_eq!(
        config.tls,
        Some(TlsOptions {
            identity,
            sni: Vec::new(),
            cacertfile: None,
            verify: PeerVerification::None,
            depth: 10,
            versions: vec![TlsVersion::V1_3, TlsVersion::V1_2],
            ciphers: Vec::new(),
            honor_cipher_order: false,
        })
    );
    assert_eq!((Config::default().tls, Config::default().tls_listeners), (None, Vec::new()));
}

#[test]
fn clients_certificates_are_asked_for_and_required() {
    let verify = |text: &str| tls(&format!("ssl_options.cacertfile = ca.pem\n{text}")).verify;
    assert_eq!(verify("ssl_options.verify = verify_none"), PeerVerification::None);
    assert_eq!(verify("ssl_options.verify = verify_peer"), PeerVerification::Required);
    let optional = "ssl_options.verify = verify_peer\nssl_options.fail_if_no_peer_cert = false";
    assert_eq!(verify(optional), PeerVerification::Optional);
}

#[test]
fn suites_are_in_the_order_of_their_numbers() {
    let tls =
        tls("ssl_options.ciphers.10 = TLS_AES_128_GCM_SHA256\nssl_options.ciphers.2 = ECDHE-RSA-AES256-GCM-SHA384\n\
         ssl_options.honor_cipher_order = true\nssl_options.versions.1 = tlsv1.2\nssl_options.depth = 2");
    assert_eq!(tls.ciphers, ["ECDHE-RSA-AES256-GCM-SHA384", "TLS_AES_128_GCM_SHA256"]);
    assert_eq!((tls.versions, tls.depth, tls.honor_cipher_order), (vec![TlsVersion::V1_2], 2, true));
}

#[test]
fn what_tls_lacks_is_named() {
    check_error(
        "listeners.ssl.default = 5671\nssl_options.certfile = s.pem",
        "rabbitmq.conf:1: 'listeners.ssl.default' needs 'ssl_options.keyfile'",
    );
    check_error(
        &format!("{CERTIFICATE}ssl_options.verify = verify_peer"),
        "rabbitmq.conf:4: 'ssl_options.verify' = verify_peer needs 'ssl_options.cacertfile'",
    );
    check_error(
        &format!("{CERTIFICATE}ssl_options.fail_if_no_peer_cert = true"),
        "rabbitmq.conf:4: 'ssl_options.fail_if_no_peer_cert' = true needs 'ssl_options.verify' = verify_peer",
    );
    check_error(
        "ssl_options.versions.1 = tlsv1.1",
        "rabbitmq.conf:1: 'ssl_options.versions.1' must be one of tlsv1.3, tlsv1.2, not 'tlsv1.1'",
    );
    let error = parse("ssl_options.ciphers.1 = AES128-SHA").map(|_| ()).unwrap_err().to_string();
    assert!(
        error.contains("must be one of TLS_AES_256_GCM_SHA384, ") && error.contains(", not 'AES128-SHA'"),
        "{error}"
    );
    check_error(
        "\nmanagement.ssl.port = 15671",
        "rabbitmq.conf:2: 'management.ssl.port' needs 'management.ssl.certfile' and 'management.ssl.keyfile'",
    );
    check_error(
        "prometheus.ssl.certfile = s.pem",
        "rabbitmq.conf:1: 'prometheus.ssl.certfile' needs 'prometheus.ssl.keyfile'",
    );
    config("listeners.ssl = none\nlisteners.ssl.default = 5671");
}

#[test]
fn names_have_certificates_of_their_own() {
    let tls = tls(
        "warren.tls.sni.a.hostname = *.example.com\nwarren.tls.sni.a.certfile = a.pem\nwarren.tls.sni.a.keyfile = a.key\n\
         warren.tls.sni.a.password = secret",
    );
    let identity = TlsIdentity { certfile: "a.pem".into(), keyfile: "a.key".into(), password: Some("secret".into()) };
    assert_eq!(tls.sni, [SniIdentity { hostname: "*.example.com".to_owned(), identity }]);
    assert!(!format!("{tls:?}").contains("secret"));
    check_error(
        "warren.tls.sni.a.hostname = a.example.com",
        "rabbitmq.conf:1: the name 'a' for SNI needs 'warren.tls.sni.a.certfile' and 'warren.tls.sni.a.keyfile'",
    );
}

#[test]
fn listeners_have_limits_of_their_own() {
    let text = "warren.listeners.tcp.default.connection_max = 7\nwarren.listeners.unix.local = /run/warren\n\
                warren.listeners.unix.local.connection_max = infinity";
    let config = config(text);
    assert_eq!(config.listeners[0].connection_max, Some(7));
    let local = UnixListener { name: "local".to_owned(), path: "/run/warren".to_owned(), connection_max: None };
    assert_eq!(config.unix_listeners, [local]);
    check_error(
        "warren.listeners.ssl.default.connection_max = 7",
        "rabbitmq.conf:1: no listener 'listeners.ssl.default' to limit",
    );
    check_error(
        "warren.listeners.unix.x.connection_max = 7",
        "rabbitmq.conf:1: no listener 'warren.listeners.unix.x' to limit",
    );
}

fn management(text: &str) -> Vec<String> {
    let shown = |listener: &HttpListener| {
        format!("{} {}{}", listener.prefix, listener.address, if listener.tls.is_some() { " tls" } else { "" })
    };
    config(text).management_listeners.iter().map(shown).collect()
}

#[test]
fn the_management_api_listens_where_rabbitmqs_does() {
    assert_eq!(management(""), ["management.tcp 15672"]);
    assert_eq!(management("management.tcp.ip = ::1\nmanagement.tcp.port = 1"), ["management.tcp [::1]:1"]);
    let tls = "management.ssl.certfile = s.pem\nmanagement.ssl.keyfile = s.key\n";
    assert_eq!(management(tls), ["management.ssl 15671 tls"]);
    assert_eq!(
        management(&format!("{tls}management.ssl.port = 2\nmanagement.tcp.port = 1")),
        ["management.tcp 1", "management.ssl 2 tls"]
    );
    assert_eq!(management("management.listener.port = 3\nmanagement.listener.ssl = false"), ["management.listener 3"]);
    let older = "management.listener.ssl = true\nmanagement.listener.ssl_opts.certfile = s.pem\n\
                 management.listener.ssl_opts.keyfile = s.key\nmanagement.listener.ip = 127.0.0.1";
    assert_eq!(management(older), ["management.listener 127.0.0.1:15672 tls"]);
}

#[test]
fn the_short_list_of_queues_has_a_port_of_its_own_where_one_is_named() {
    assert_eq!(config("").queue_info_listener, None);
    let set = config("warren.queue_info.tcp.port = 8000\nwarren.queue_info.tcp.ip = 127.0.0.1");
    let listener = set.queue_info_listener.unwrap();
    assert_eq!((listener.address.to_string(), listener.max_keepalive), ("127.0.0.1:8000".to_owned(), 1000));
    // It takes nothing from the others.
    assert_eq!(set.management_listeners.len(), 1);
}

#[test]
fn the_management_api_has_the_time_outs_of_rabbitmqs() {
    let config = config("");
    let listener = &config.management_listeners[0];
    let seconds = [listener.idle_timeout, listener.inactivity_timeout, listener.request_timeout].map(|t| t.as_secs());
    assert_eq!((seconds, listener.max_keepalive, listener.max_connections), ([60, 300, 5], 1000, None));
    let older = &self::config("management.listener.port = 1").management_listeners[0];
    assert_eq!((older.idle_timeout, older.max_keepalive), (listener.idle_timeout, listener.max_keepalive));
    let set = "management.listener.server.idle_timeout = 2s\nmanagement.listener.server.max_keepalive = 3";
    let older = &self::config(set).management_listeners[0];
    assert_eq!((older.idle_timeout, older.max_keepalive), (Duration::from_secs(2), 3));
}

mod public;
