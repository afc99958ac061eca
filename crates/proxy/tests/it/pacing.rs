//! How many channels a pool opens: as many as the way there and back takes, and not ever more for an upstream that does not keep up.

use proxy::switchboard::{ClientId, Options};

use crate::broker::{BrokerConnection, PASSWORD};
use crate::fixture::World;

/// A world in which clients come, publish and go, and confirms take their time.
struct Churn {
    world: World,
    waiting: Vec<ClientId>,
    confirmed: usize,
    /// How many had been published, a millisecond after the other.
    published: Vec<usize>,
}

impl Churn {
    fn new() -> Self {
        let mut world = World::new(Options { upstream_channel_max: 2_000, ..Options::default() });
        world.new_broker = BrokerConnection::hesitant;
        world.open("u", PASSWORD, "/");
        Churn { world, waiting: Vec::new(), confirmed: 0, published: Vec::new() }
    }

    /// A millisecond, in which so many clients come, and at most so many messages are confirmed of those that are so old. Gives how many
    /// clients wait at its end.
    fn pass(&mut self, clients: usize, confirms_max: usize, age_ms: usize) -> usize {
        let world = &mut self.world;
        world.now_ms += 1;
        for _ in 0..clients {
            let id = world.open("u", PASSWORD, "/");
            world.open_channel(id, 1);
            world.publish(id, 1, "", "q", b"x");
            world.leave(id);
            self.waiting.push(id);
        }
        self.published.push(world.only_broker().published.len());
        let old = self.published.len().checked_sub(age_ms + 1).map_or(0, |at| self.published[at]);
        let count = confirms_max.min(old.saturating_sub(self.confirmed));
        self.confirmed += count;
        world.only_broker().confirm_first(count);
        world.settle();
        let is_over: Vec<ClientId> = self.waiting.extract_if(.., |id| world.is_over(*id)).collect();
        is_over.into_iter().for_each(|id| world.vanish(id));
        self.waiting.len()
    }

    /// So many milliseconds of these.
    fn go_on(&mut self, ms: usize, clients: usize, confirms_max: usize, age_ms: usize) {
        for _ in 0..ms {
            self.pass(clients, confirms_max, age_ms);
        }
    }

    fn open_count(&self) -> usize {
        let report = self.world.board.report(|_| (String::new(), None));
        report.pools.iter().flat_map(|pool| &pool.connections).map(|connection| connection.channel_count).sum()
    }

    fn opened(&self) -> usize {
        self.world.board.counters().channels_opened as usize
    }
}

const ALL: usize = usize::MAX;

#[test]
fn as_many_are_opened_as_are_under_way() {
    let mut churn = Churn::new();
    for clients in [1, 3, 6] {
        // More of them need more, and the upstream takes no longer for it.
        churn.go_on(1_000, clients, ALL, 100);
        for _ in 0..300 {
            assert_eq!(churn.pass(clients, ALL, 100), 0, "no client waits");
        }
        assert!((clients * 100..=clients * 210).contains(&churn.opened()), "{clients}: {}", churn.opened());
    }
}

#[test]
fn an_upstream_that_falls_behind_is_not_given_ever_more() {
    let mut churn = Churn::new();
    churn.pass(1, ALL, 0);
    for clients in [3, 2, 2, 2] {
        churn.go_on(1_000, clients, 1, 0);
        assert!(churn.opened() <= 150, "{}", churn.opened());
    }
    // All that it can confirm has been published, and what waits for that.
    let published = churn.world.only_broker().published.len();
    assert!((4_000..=4_050).contains(&published), "{published}");
}

#[test]
fn what_takes_longer_than_it_did_is_covered_after_a_while() {
    let mut churn = Churn::new();
    for age_ms in [0, 50, 200] {
        churn.go_on(3_000, 1, ALL, age_ms);
        for _ in 0..500 {
            assert_eq!(churn.pass(1, ALL, age_ms), 0, "{age_ms} ms");
        }
    }
}

#[test]
fn what_is_never_confirmed_holds_others_up_for_a_moment_only() {
    let mut churn = Churn::new();
    churn.go_on(1_000, 1, ALL, 1);
    for _ in 0..4 {
        let before = churn.world.only_broker().published.len();
        churn.go_on(1_500, 1, 0, 0);
        churn.world.board.tick(churn.world.now_ms);
        churn.world.settle();
        let published = churn.world.only_broker().published.len() - before;
        assert!(published >= 100, "{published}");
    }
}

#[test]
fn channels_that_nobody_needs_any_more_are_closed() {
    let mut churn = Churn::new();
    churn.go_on(2_000, 3, ALL, 100);
    assert!(churn.open_count() >= 300);
    churn.go_on(1_000, 1, ALL, 1);
    for _ in 0..150 {
        // Some are used all the time.
        churn.go_on(10, 1, ALL, 1);
        churn.world.pass_ms(500);
    }
    assert!((1..10).contains(&churn.open_count()), "{}", churn.open_count());
    churn.go_on(10, 0, ALL, 1);
    churn.world.pass_ms(70_000);
    assert_eq!(churn.open_count(), 1);
}
