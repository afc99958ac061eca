//! The run, its connections and its output.

use super::*;

#[test]
fn limits_are_for_each_channel() {
    let plan = plan("-C 5 -D 3 -z 10 -ew idle -i 2");
    assert_eq!((plan.publishers[0].message_limit, plan.consumers[0].message_limit), (Some(5), Some(3)));
    assert_eq!((plan.duration, plan.interval), (Some(Duration::from_secs(10)), Duration::from_secs(2)));
    assert_eq!(plan.exit_when, Some(ExitWhen::Idle));
}

#[test]
fn no_limit_is_zero() {
    let plan = plan("-C 0 -D 0 -z 0");
    assert_eq!((plan.publishers[0].message_limit, plan.consumers[0].message_limit, plan.duration), (None, None, None));
}

#[test]
fn the_same_seed_gives_the_same_plan() {
    let options = options("-K -rkcs 5 -jb");
    let read = |_: &Path| Err(io::Error::other("no files"));
    assert_eq!(options.plan("a", 5, &read).unwrap(), options.plan("a", 5, &read).unwrap());
    assert_ne!(options.plan("a", 5, &read).unwrap(), options.plan("a", 6, &read).unwrap());
}

#[test]
fn an_id_is_the_time_of_day() {
    let now = UNIX_EPOCH + Duration::from_millis(1_654_242_354_042);
    assert_eq!(Options::generated_id(now), "test-074554-042");
    assert_eq!(Options::generated_id(SystemTime::UNIX_EPOCH), "test-000000-000");
}

#[test]
fn connections_are_as_perftest_has_them() {
    let connection = options("").connection;
    assert_eq!(connection.uris, ["amqp://localhost"]);
    assert_eq!((connection.send_buffer_len, connection.receive_buffer_len), (Some(65_536), Some(65_536)));
    assert!(connection.has_no_delay);
    assert_eq!(connection.recovery_interval, Some((Duration::from_secs(5), Duration::from_secs(5))));
    assert_eq!((connection.heartbeat, connection.frame_len_max, connection.startup_timeout), (None, None, None));
}

#[test]
fn connections_can_be_told_otherwise() {
    let connection = options(
        "-H amqp://a,amqp://b -cal round-robin -dcr -b 10 -M 4096 -tsbs 0 -tnd false -sst 30 -sul 1 -se -sni x,y \
         --tls-cert c.pem --tls-key k.pem --tls-ca ca.pem -o2uri http://t -o2id me -o2sec pw -o2p a=1 -o2p b=2=3",
    )
    .connection;
    assert_eq!(connection.uris, ["amqp://a", "amqp://b"]);
    assert_eq!(connection.allocation, Allocation::RoundRobin);
    assert_eq!(connection.recovery_interval, None);
    assert_eq!((connection.heartbeat, connection.frame_len_max), (Some(Duration::from_secs(10)), Some(4096)));
    assert_eq!((connection.send_buffer_len, connection.has_no_delay), (None, false));
    assert_eq!((connection.startup_timeout, connection.startup_count), (Some(Duration::from_secs(30)), 1));
    assert!(connection.is_sasl_external);
    assert_eq!(connection.tls.server_name.as_deref(), Some("x"));
    assert_eq!(connection.tls.identity, Some(("c.pem".into(), "k.pem".into())));
    let oauth2 = connection.oauth2.unwrap();
    assert_eq!(oauth2.grant_type, "client_credentials");
    assert_eq!(oauth2.parameters, [("a".to_owned(), "1".to_owned()), ("b".to_owned(), "2=3".to_owned())]);
}

#[test]
fn metrics_are_served_on_demand() {
    let metrics = options("").output.metrics;
    assert_eq!((metrics.is_served, metrics.port, metrics.path.as_str()), (false, 8080, "/metrics"));
    let metrics =
        options("-mpr -mpp 9090 -mpe stats -mpx my_ -mt env=test,region=eu -em expected_published=50000 -mcla")
            .output
            .metrics;
    assert_eq!((metrics.is_served, metrics.port, metrics.path.as_str()), (true, 9090, "/stats"));
    assert_eq!(metrics.labels.len(), 2);
    assert_eq!(metrics.constants, [("expected_published".to_owned(), 50_000.0)]);
    assert!(metrics.has_command_line);
}

#[test]
fn commands_from_the_documentation_work() {
    for command in [
        "-x 1 -y 2 -u throughput-test-1 -a --id test-1",
        "-x 1 -y 2 -u throughput-test-2 -id test-2",
        "-x1 -y2 -uthroughput-test-3 --id=test3 -f persistent -q 200 -s1000",
        "-x 0 -y 0 -z 30",
        "-H amqp://a,amqp://b,amqp://c --producers 10 --consumers 10 --quorum-queue --queue qq --rate 500 --autoack",
        "--queue-pattern perf-test-%d --queue-pattern-from 1 --queue-pattern-to 10 --producers 100 --consumers 100",
        "--producers 1000 --publishing-interval 60 --producer-random-start-delay 1800 --producer-scheduler-threads 10 \
         --heartbeat-sender-threads 10 --nio-threads 10 --consumers-thread-pools 10",
        "--variable-rate 200:100 --variable-rate 500:60 --variable-size 1000:30 --variable-size 10000:20",
        "-x 1 -y 1 -e amq.fanout -t fanout -f persistent --flag mandatory -c 10 -A 10 -q 20 -m 0 -n 0",
        "--metrics-prometheus --metrics-prometheus-port 8081 --metrics-tags type=publisher,deployment=europe \
         --metrics-command-line-arguments",
        "--body content1.json,content2.json --body-content-type application/json",
        "--message-properties priority=5,header1=value1 --queue-args x-max-length=10,x-dead-letter-exchange=some.exchange",
        "--uris amqps://a --use-default-ssl-context --sasl-external --servers-startup-timeout 30 --servers-up-limit 1",
        "--stream-queue --stream-consumer-offset first --max-length-bytes 10gb --max-age PT15M",
    ] {
        run(command, &[]).unwrap_or_else(|error| panic!("{command}: {error}"));
    }
}
