//! Examples worked by hand, digit by digit.

use plan::sheet::Sheet;

use crate::planned;

#[track_caller]
fn check(sheet: &Sheet, expected: &[(&str, f64)]) {
    for (id, value) in expected {
        let found = sheet.value(id).unwrap_or_else(|| panic!("there is no line {id}"));
        assert!((found - value).abs() <= value.abs() * 1e-9, "{id} is {found}, not {value}");
    }
}

#[test]
fn five_and_five_is_twenty() {
    let sheet = planned(&[("throughput", "5Gbit/s"), ("body", "125kB"), ("load-balancers", "2")]);
    check(
        &sheet,
        &[
            // 5 Gbit/s of bodies of a million bits are 5,000 messages a second.
            ("load.peak", 5_000.0),
            ("network.bodies-in", 5e9),
            ("network.bodies-out", 5e9),
            // What comes in has to leave: 5 + 5 = 10 one way and 10 the other.
            ("load-balancers.bodies", 10e9),
            ("load-balancers.bodies-carried", 20e9),
            // Each of two has half of it, until one is lost.
            ("load-balancers.bodies-each", 10e9),
            ("load-balancers.bodies-after-loss", 20e9),
        ],
    );
    // And the protocols on top: 17 + 16 + 24 of method, 22 + 64 of header, one frame.
    check(
        &sheet,
        &[
            ("message.publish", 57.0),
            ("message.header", 86.0),
            ("message.body", 125_008.0),
            ("message.published", 125_151.0),
            ("message.delivered", 125_189.0),
            // 5,000 × (125,151 + 21 of an ack) × 8; 5,000 × (125,189 + 21 of a confirm) × 8.
            ("network.amqp-in", 5_006_880_000.0),
            ("network.amqp-out", 5_008_400_000.0),
            // 87 packets a message, one an ack, one for every two that come the other way; 90 bytes each.
            ("network.packets-in", 440_000.0),
            ("network.packets-out", 440_000.0),
            ("network.wire-in", 5_482_080_000.0),
            ("network.wire-out", 5_483_600_000.0),
            ("load-balancers.carried", 21_931_360_000.0),
            ("load-balancers.after-loss", 21_931_360_000.0),
            // 123,976 bytes more than were measured, 0.9 ns each.
            ("processors.bytes", 0.557_892),
            // Each way, 30 % free.
            ("load-balancers.network-needed", 10_965_680_000.0 / 0.7),
        ],
    );
}

#[test]
fn a_persistent_message_of_a_kibibyte_on_one_broker() {
    let sheet = planned(&[("rate", "1000")]);
    check(
        &sheet,
        &[
            // 29 + 16 + 24 + 64 + 1,024; with 16 + 8 + 8 + 16 of its record; with 20 of its slot.
            ("stored.content", 1_157.0),
            ("stored.journaled", 1_205.0),
            ("stored.settled", 48.0),
            ("stored.filed", 1_177.0),
            ("disk.journal", 1_253_000.0),
            // Each commit has one message and takes a page.
            ("disk.commits", 1_000.0),
            ("disk.commit", 4_096.0),
            ("disk.journal-write", 4_096_000.0),
            ("disk.write", 4_096_000.0),
            ("disk.write-in-outage", 5_273_000.0),
            ("disk.operations", 2_000.0),
            ("disk.write-needed", 5_273_000.0 / 0.7),
            // An hour of it, the journal, the reserve, and what has to stay free.
            ("disk.backlog", 4_237_200_000.0),
            ("disk.space", 4_237_200_000.0 + 268_435_456.0 + 52_428_800.0 + 50_000_000.0),
            // 100 connections, 100 queues.
            ("memory.memory", 96.0 * 1_048_576.0 + 100.0 * 20_480.0 + 100.0 * 1_946.0 + 100.0 * 4_096.0),
            ("memory.unread", 100.0 * 4_194_304.0),
            // 2.8 µs a message and 62 a commit.
            ("processors.messages", 0.0028),
            ("processors.commits", 0.062),
            // Half of the most.
            ("processors.waking", 0.095),
            // A tenth of the time there is a commit, of which half is waited for on average.
            ("latency.mean", 127.0 + 0.127 * 127.0 / 2.0),
            ("latency.most", 2.0 * 127.0),
            ("files.files", 356.0),
            ("count.nodes", 1.0),
        ],
    );
    assert_eq!(sheet.remarks.len(), 2, "{:?}", sheet.remarks);
}

#[test]
fn many_messages_share_a_commit() {
    let sheet = planned(&[("rate", "50000"), ("sync-us", "1000")]);
    // Fifty messages of 1,253 bytes and a header are 62,714 bytes: 16 pages.
    check(&sheet, &[("disk.commits", 1_000.0), ("disk.commit", 65_536.0), ("disk.journal-write", 65_536_000.0)]);
    let sheet = planned(&[("rate", "50000")]);
    check(&sheet, &[("disk.commits", 7_880.0)]);
}

#[test]
fn a_cluster_of_three() {
    let sheet = planned(&[("rate", "10000"), ("replicas", "3"), ("connections", "3000")]);
    let clients = sheet.value("network.wire-in").unwrap() + sheet.value("network.wire-out").unwrap();
    let replication = 194_400_000.0 * (1.0 + 90.0 / 1_448.0);
    check(
        &sheet,
        &[
            ("load.brokers", 1.0),
            // The pace; ten messages and a longer header in four pages.
            ("disk.commits", 1_000.0),
            ("disk.commit", 16_384.0),
            // Records at 12.53 MB/s, and in an outage messages at 11.77.
            ("nodes.replication", 194_400_000.0),
            ("nodes.replication-wire", replication),
            ("nodes.leader-out", sheet.value("network.wire-out").unwrap() + 2.0 * replication),
            ("nodes.follower-in", clients / 3.0 + replication),
            ("nodes.follower-out", clients / 3.0),
            ("nodes.follower-in-after-loss", clients / 2.0 + replication),
            ("nodes.follower-out-after-loss", clients / 2.0),
            ("processors.messages", 0.028),
            ("processors.commits", 0.512),
            ("processors.follower", 0.216),
            ("files.files", 3_256.0),
            // Two files each for the 1,500 that come to one of the two that are left.
            ("files.follower", 3_256.0),
            ("count.nodes", 3.0),
        ],
    );
}

#[test]
fn brokers_that_stand_alone_carry_more_when_one_is_lost() {
    let sheet = planned(&[("rate", "9000"), ("nodes", "3"), ("outage", "100s"), ("connections", "300")]);
    let (wire_in, write) = (sheet.value("network.wire-in").unwrap(), sheet.value("disk.write-in-outage").unwrap());
    check(
        &sheet,
        &[
            ("load.brokers", 3.0),
            ("load.rate", 3_000.0),
            ("nodes.in-after-loss", wire_in * 1.5),
            ("disk.write-needed", write * 1.5 / 0.7),
            ("disk.backlog", 3_000.0 * 1.5 * 100.0 * 1_177.0),
            ("files.files", 150.0 + 256.0),
        ],
    );
}

#[test]
fn copies_are_delivered_each_and_share_a_long_content() {
    let short = planned(&[("rate", "100"), ("copies", "3")]);
    check(&short, &[("stored.journaled", 1_237.0), ("stored.settled", 144.0), ("stored.filed", 3.0 * 1_177.0)]);
    let long = planned(&[("rate", "100"), ("copies", "3"), ("body", "10000")]);
    check(&long, &[("stored.content", 10_133.0), ("stored.filed", 20.0 + 10_133.0 + 2.0 * 28.0)]);
    check(&long, &[("network.bodies-in", 8e6), ("network.bodies-out", 24e6), ("network.acks", 300.0)]);
}

#[test]
fn delayed_messages_are_written_twice_and_wait() {
    let sheet = planned(&[("rate", "1000"), ("delayed", "50%"), ("delay", "10m")]);
    check(
        &sheet,
        &[
            ("disk.journal", 1.5 * 1_253_000.0),
            ("disk.segments", 588_500.0),
            ("disk.delayed", 1_000.0 * 0.5 * 600.0 * 1_177.0),
        ],
    );
}

#[test]
fn transient_messages_without_confirms_leave_the_journal_alone() {
    let sheet =
        planned(&[("rate", "1000"), ("persistent", "no"), ("confirms", "no"), ("ack-every", "0"), ("replicas", "3")]);
    check(
        &sheet,
        &[
            ("network.acks", 0.0),
            ("network.confirms", 0.0),
            ("disk.commits", 0.0),
            ("disk.write", 0.0),
            ("disk.write-in-outage", 1_177_000.0),
            ("nodes.replication", 0.0),
            ("processors.messages", 0.001_32),
        ],
    );
}

#[test]
fn what_a_node_has_says_how_many_there_have_to_be() {
    let limits =
        [("rate", "100000"), ("body", "10kB"), ("network", "10Gbit/s"), ("cpus", "0.5"), ("disk-write", "1GB/s")];
    let sheet = planned(&limits);
    let way = sheet.value("nodes.most").unwrap();
    assert!(way > 8e9, "{way}");
    let write = sheet.value("disk.write-in-outage").unwrap();
    let cores = sheet.value("processors.cores").unwrap();
    let brokers = [(way / 7e9).ceil(), (write / 0.7e9).ceil(), (cores / 0.35).ceil()];
    let most = brokers.into_iter().fold(1.0, f64::max);
    check(&sheet, &[("count.network", brokers[0]), ("count.disk-write", brokers[1]), ("count.processors", brokers[2])]);
    check(&sheet, &[("count.brokers", most), ("count.nodes", most + 1.0)]);
    assert_eq!(sheet.fits(), Some(false));
    let alike = planned(&[&limits[..], &[("replicas", "3")]].concat());
    assert_eq!(alike.value("count.nodes").unwrap() % 3.0, 0.0);
}

#[test]
fn the_time_that_was_measured_takes_the_place_of_the_assumed() {
    let sheet = planned(&[("rate", "10000"), ("cpu-us", "50")]);
    check(&sheet, &[("processors.messages", 0.5), ("processors.commits", 0.0)]);
}

#[test]
fn tls_has_records_around_what_it_carries() {
    let sheet = planned(&[("rate", "10"), ("body", "40000"), ("tls", "yes")]);
    // 57 + 86 + 40,008 bytes are three records, an ack is one.
    check(&sheet, &[("network.tls-published", 40_151.0 + 66.0), ("network.tls-ack", 43.0)]);
    check(&sheet, &[("network.amqp-in", 10.0 * (40_217.0 + 43.0) * 8.0)]);
}
