//! Parameters of vhosts: kept, reported without their values, and deleted with their vhost.

use std::collections::BTreeMap;

use model::ids::JournalPosition;
use model::parameter::{FEDERATION_UPSTREAM, SHOVEL, VhostParameter};
use serde_json::{Value, json};
use store::Random;

use super::lives::{Cut, Home, for_each_home};
use super::node::{NOW, Node};
use super::operators::{operator, vhost};
use crate::control::{ControlError, VhostRequest};
use crate::events::Event;
use crate::options::Options;

fn upstream(of: &str, name: &str, prefetch_count: u64) -> VhostParameter {
    let value = json!({"uri": "amqp://me:secret@h", "prefetch-count": prefetch_count});
    VhostParameter { vhost: vhost(of), component: FEDERATION_UPSTREAM.into(), name: name.into(), value }
}

fn hidden(of: &str, name: &str, value: Value) -> VhostParameter {
    VhostParameter { vhost: vhost(of), component: "warren.own".into(), name: name.into(), value }
}

fn shop() -> Node {
    let node = Node::new();
    node.broker.put_vhost(&operator(), VhostRequest::named(vhost("shop"))).unwrap();
    node
}

#[test]
fn parameters_are_there_after_a_crash() {
    let node = shop();
    let broker = &node.broker;
    assert!(broker.put_vhost_parameter(&operator(), upstream("shop", "b", 1)).unwrap().is_new);
    assert!(broker.put_vhost_parameter(&operator(), upstream("shop", "a", 1)).unwrap().is_new);
    assert!(broker.put_vhost_parameter(&operator(), upstream("/", "a", 1)).unwrap().is_new);
    assert!(!broker.put_vhost_parameter(&operator(), upstream("shop", "b", 2)).unwrap().is_new);
    broker.put_vhost_parameter(&operator(), hidden("shop", "h", json!(true))).unwrap();
    broker.delete_vhost_parameter(&operator(), "/", FEDERATION_UPSTREAM, "a").unwrap();
    node.sync();
    let node = node.kill();
    let broker = &node.broker;
    let expected = [upstream("shop", "a", 1), upstream("shop", "b", 2)];
    assert_eq!(broker.vhost_parameters(None, None), expected);
    assert_eq!(broker.vhost_parameters(Some(FEDERATION_UPSTREAM), Some("shop")), expected);
    assert_eq!(broker.vhost_parameters(Some(SHOVEL), None), []);
    assert_eq!(broker.vhost_parameters(None, Some("/")), []);
    assert_eq!(broker.vhost_parameters(Some("warren.own"), None), [hidden("shop", "h", json!(true))]);
    assert_eq!(broker.vhost_parameter("shop", FEDERATION_UPSTREAM, "a"), Some(upstream("shop", "a", 1)));
    assert_eq!(broker.vhost_parameter("/", FEDERATION_UPSTREAM, "a"), None);
}

#[test]
fn there_are_as_many_as_the_limit_says() {
    let parameter_limits = BTreeMap::from([(FEDERATION_UPSTREAM.to_owned(), 2)]);
    let node = Node::with(Options { parameter_limits, ..Options::default() });
    let put = |parameter| node.broker.put_vhost_parameter(&operator(), parameter);
    node.broker.put_vhost(&operator(), VhostRequest::named(vhost("shop"))).unwrap();
    put(upstream("shop", "a", 1)).unwrap();
    put(upstream("/", "a", 1)).unwrap();
    let refused = put(upstream("shop", "b", 1)).unwrap_err();
    assert_eq!(refused, ControlError::Invalid("component federation-upstream is limited to 2 per node".to_owned()));
    put(upstream("shop", "a", 2)).unwrap();
    put(hidden("shop", "h", json!(true))).unwrap();
    node.broker.delete_vhost_parameter(&operator(), "/", FEDERATION_UPSTREAM, "a").unwrap();
    put(upstream("shop", "b", 1)).unwrap();
}

#[test]
fn what_cannot_be_is_refused() {
    let node = shop();
    let put = |parameter| node.broker.put_vhost_parameter(&operator(), parameter).unwrap_err();
    let wrong = VhostParameter { value: json!({}), ..upstream("shop", "a", 1) };
    assert_eq!(put(wrong), ControlError::Invalid("Key \"uri\" not found in a".to_owned()));
    let unknown = VhostParameter { component: "nosuch".into(), ..upstream("shop", "a", 1) };
    assert_eq!(put(unknown), ControlError::Invalid("component nosuch not found".to_owned()));
    assert_eq!(put(upstream("nosuch", "a", 1)), ControlError::NotFound("vhost 'nosuch' not found".to_owned()));
    let deleted = node.broker.delete_vhost_parameter(&operator(), "shop", SHOVEL, "a");
    assert!(matches!(deleted, Err(ControlError::NotFound(_))), "{deleted:?}");
    assert_eq!(node.broker.vhost_parameters(None, None), []);
}

#[test]
fn parameters_go_with_their_vhost() {
    let node = shop();
    let make = |node: &Node| {
        node.broker.put_vhost_parameter(&operator(), upstream("shop", "a", 1)).unwrap();
        node.broker.put_vhost_parameter(&operator(), hidden("shop", "h", json!(1))).unwrap();
    };
    make(&node);
    let stale = node.broker.vhosts.get("shop").unwrap();
    node.broker.delete_vhost(&operator(), "shop").unwrap();
    node.broker.put_vhost(&operator(), VhostRequest::named(vhost("shop"))).unwrap();
    // Of an operator that has found the vhost before it was deleted.
    let late = stale.put_parameter(upstream("shop", "late", 1), |_| panic!("nothing is written"));
    assert_eq!(late, crate::vhost::PutParameter::VhostDeleted);
    node.sync();
    let node = node.kill();
    assert_eq!(node.broker.vhost_parameters(None, None), []);
    assert_eq!(node.broker.vhost_parameters(Some("warren.own"), None), []);
}

#[test]
fn changes_are_told_without_values_and_once() {
    let node = shop();
    let mut changes = node.broker.subscribe_vhost_parameters();
    let mut has_changed = || {
        let has_changed = changes.has_changed().unwrap();
        changes.mark_unchanged();
        has_changed
    };
    let told = |node: &Node| {
        let told = |event: &std::sync::Arc<Event>| {
            let fields = event.fields.as_table();
            let text = |name| fields.get(name).and_then(|value| value.as_str().map(str::to_owned));
            let text = |name| text(name).unwrap_or("-".to_owned());
            assert!(!format!("{:?}", event.fields).contains("secret"));
            let [vhost, component, name, value] = ["vhost", "component", "name", "value"].map(text);
            format!("{} {vhost} {component} {name} {value}", event.name)
        };
        let of_parameters = |event: &&std::sync::Arc<Event>| event.name.starts_with("parameter.");
        node.broker.recent_events().iter().filter(of_parameters).map(told).collect::<Vec<_>>()
    };
    assert!(!has_changed());
    let put = |parameter| node.broker.put_vhost_parameter(&operator(), parameter).unwrap();
    let first = put(upstream("shop", "a", 1));
    assert!(has_changed());
    // The same again: nothing happens, and the answer is no sooner than that of the first.
    let again = put(upstream("shop", "a", 1));
    assert!(!has_changed() && !again.is_new && again.position.and(first.position) == again.position);
    put(hidden("shop", "h", json!(1)));
    assert!(has_changed());
    node.broker.delete_vhost_parameter(&operator(), "shop", "warren.own", "h").unwrap();
    assert!(has_changed());
    node.broker.delete_vhost_parameter(&operator(), "shop", FEDERATION_UPSTREAM, "a").unwrap();
    assert!(has_changed());
    put(upstream("shop", "b", 1));
    assert!(has_changed());
    node.broker.delete_vhost(&operator(), "shop").unwrap();
    assert!(has_changed());
    let mut expected = [
        "parameter.set shop federation-upstream a -",
        "parameter.cleared shop federation-upstream a -",
        "parameter.set shop federation-upstream b -",
        "parameter.cleared shop federation-upstream b -",
    ];
    expected.reverse();
    assert_eq!(told(&node), expected);
}

const SEED_COUNT: u64 = 150;
/// Of runs over a group, which take longer.
const GROUP_SEED_COUNT: u64 = 40;

/// What the parameter `u` of a vhost may be after a start: each value that it had, and where the journal ended before it may have got it,
/// and when it had.
type Past = Vec<(JournalPosition, JournalPosition, Option<u64>)>;

/// What it may be if the journal ends here.
fn possible(past: &Past, end: JournalPosition) -> Vec<Option<u64>> {
    let last = past.iter().rposition(|(_, after, _)| *after <= end);
    let sure = last.and_then(|last| past[last].2);
    let begun = past[last.map_or(0, |last| last + 1)..].iter().filter(|(before, _, _)| *before < end);
    std::iter::once(sure).chain(begun.map(|(_, _, value)| *value)).collect()
}

#[derive(Debug, Default)]
struct Seen {
    kept: u64,
    gone: u64,
}

/// Sets and deletes parameters, and vhosts with them; all that was durable is there after the power has failed, and nothing else.
fn run(home: &Home, seed: u64) -> Seen {
    let mut random = Random::new(seed);
    let mut pasts: BTreeMap<&str, Past> = ["a", "b"].into_iter().map(|name| (name, Past::new())).collect();
    let mut seen = Seen::default();
    for life in 0..4 {
        let node = home.begin(&mut random);
        node.broker.engine.clock.set(NOW);
        for (name, past) in &mut pasts {
            let own = node.broker.vhost_parameter(name, FEDERATION_UPSTREAM, "u");
            let own = own.map(|parameter| parameter.value["prefetch-count"].as_u64().unwrap());
            let possible = possible(past, node.recovered);
            assert!(possible.contains(&own), "{own:?} in vhost {name} at {:?}: {past:?}", node.recovered);
            *(if own.is_some() { &mut seen.kept } else { &mut seen.gone }) += 1;
            *past = vec![(JournalPosition::START, JournalPosition::START, own)];
        }
        if life < 3 {
            home.cut_soon(&mut random, 40);
        }
        for number in 0..random.below(60) {
            if act(&node, &mut random, &mut pasts, number).is_err() {
                break;
            }
        }
        home.end(node, &mut random);
    }
    seen
}

fn act(node: &Node, random: &mut Random, pasts: &mut BTreeMap<&str, Past>, number: u64) -> Result<(), Cut> {
    let name = if random.percent(50) { "a" } else { "b" };
    let broker = &node.broker;
    let mut before = None;
    let value = match random.below(10) {
        0..4 => {
            if broker.vhosts.get(name).is_none() {
                broker.put_vhost(&operator(), VhostRequest::named(vhost(name))).unwrap();
            }
            broker.put_vhost_parameter(&operator(), upstream(name, "u", number)).unwrap();
            Some(number)
        }
        4 => {
            _ = broker.delete_vhost_parameter(&operator(), name, FEDERATION_UPSTREAM, "u");
            None
        }
        5 => {
            // The parameter is deleted before its vhost.
            before = Some(node.appended());
            _ = broker.delete_vhost(&operator(), name);
            None
        }
        6 => return node.checkpoint(),
        _ => return node.step(),
    };
    let after = node.appended();
    pasts.get_mut(name).unwrap().push((before.unwrap_or(after), after, value));
    Ok(())
}

fn test(home_of: fn(u64) -> Home, seed_count: u64) {
    let mut all = Seen::default();
    let is_whole = for_each_home(home_of, seed_count, run, |seen| {
        all.kept += seen.kept;
        all.gone += seen.gone;
    });
    println!("{all:?}");
    assert!(!is_whole || all.kept.min(all.gone) > seed_count / 2, "too little happened: {all:?}");
}

#[test]
fn parameters_survive_as_they_were_when_the_power_goes() {
    test(Home::alone, SEED_COUNT);
}

#[test]
fn parameters_survive_as_they_were_whoever_leads() {
    test(Home::of_three, GROUP_SEED_COUNT);
}
