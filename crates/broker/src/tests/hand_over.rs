//! What the next leader has of a broker that has handed over to it.

use store::Random;

use super::client::PERSISTENT;
use super::lives::Home;

/// Wherever a leader just stops, all that may have been delivered is marked: its last mark is open.
#[test]
fn after_a_hand_over_only_what_was_delivered_is_marked() {
    for seed in 0..10 {
        let (home, mut random) = (Home::of_three(seed), Random::new(seed));
        let node = home.begin(&mut random);
        let mut client = node.connect();
        client.declare("q");
        for number in 0..10 {
            client.publish(1, "", "q", PERSISTENT, format!("{number}").as_bytes());
        }
        node.sync();
        for _ in 0..3 {
            client.get(1, "q", false);
            node.listen(&mut client);
        }
        drop(client);
        home.hand_over(node);
        let node = home.begin(&mut random);
        let expected: Vec<_> = (0..10).map(|number| (format!("{number}"), number < 3)).collect();
        assert_eq!(node.drain_marked("q"), expected, "seed {seed}");
    }
}
