//! Who may do what: every operation of the table, for every kind of user.

use super::house::in_house;
use crate::access;
use crate::request_context::RequestContext;
use crate::route::Role;
use crate::router;
use crate::routes;

/// A path of a route, with arguments that name nothing but the vhost.
fn filled(pattern: &str) -> String {
    pattern
        .split('/')
        .map(|segment| match segment {
            "{vhost}" => "shop",
            segment if segment.starts_with('{') => "nosuch",
            segment => segment,
        })
        .collect::<Vec<_>>()
        .join("/")
}

/// Why a user with these tags is refused; None: it is not.
fn refusal(role: Role, user: &str) -> Option<&'static str> {
    let not = |users: &[&str], text| (!users.contains(&user)).then_some(text);
    match role {
        Role::Public => None,
        _ if user == "nadia" => Some("Not management user"),
        Role::Configured | Role::Management | Role::InVhost | Role::MonitoringOrInVhost => None,
        Role::Policymaker | Role::PolicymakerInVhost => {
            not(&["alice", "polly"], "User not authorised to access object")
        }
        Role::Monitoring => not(&["alice", "mona"], "Not monitor user"),
        Role::MonitoringOfObject => not(&["alice", "mona"], "User not authorised to access object"),
        Role::Administrator | Role::AdministratorInVhost => not(&["alice"], "Not administrator user"),
    }
}

#[test]
fn every_operation_is_for_whom_the_table_says() {
    in_house(async |house| {
        for route in routes::all() {
            let path = filled(route.path);
            for operation in route.operations {
                let method = operation.method.name();
                for user in ["alice", "mona", "polly", "manny", "nadia"] {
                    let what = format!("{method} {path} as {user}");
                    let Some(reason) = refusal(operation.role, user) else {
                        let user = house.service.broker.user(user).unwrap();
                        let actor = house.service.log_in(user.name.as_str(), user.name.as_bytes(), local()).await;
                        let segments: Vec<String> = path.split('/').skip(1).map(str::to_owned).collect();
                        let segments = if path == "/" { Vec::new() } else { segments };
                        let arguments = router::find(&segments).expect(&what).arguments;
                        let broker = &house.service.broker;
                        let context = RequestContext::new(broker.clone(), actor.unwrap());
                        let checked = access::check(broker, operation, &context, &arguments);
                        assert_eq!(checked, Ok(()), "{what}");
                        continue;
                    };
                    let reply = house.ask(method, &path, user, "{}").await;
                    let expected = serde_json::json!({"error": "not_authorised", "reason": reason});
                    assert_eq!((reply.status, reply.json()), (401, expected), "{what}");
                }
            }
        }
    });
}

fn local() -> broker::Origin {
    broker::Origin { peer: None, interface: broker::Interface::Http }
}

#[test]
fn nothing_but_a_few_pages_is_open_to_everybody() {
    in_house(async |house| {
        for route in routes::all() {
            for operation in route.operations.iter().filter(|operation| operation.role != Role::Public) {
                let (method, path) = (operation.method.name(), filled(route.path));
                let reply = house.ask_with(method, &path, &[], b"{}").await;
                let asks = reply.header("www-authenticate");
                let expected = Some("Basic realm=\"RabbitMQ Management\"");
                assert_eq!((reply.status, asks, reply.body.len()), (401, expected, 0), "{method} {path}");
            }
        }
        for path in ["/", "/api/index.html", "/api/openapi.json"] {
            assert_eq!(house.ask_with("GET", path, &[], b"").await.status, 200, "{path}");
        }
    });
}

#[test]
fn who_has_no_permission_in_a_vhost_does_not_see_it() {
    in_house(async |house| {
        house.check("PUT /api/queues/%2F/plain", "", 201, "").await;
        for user in ["mona", "polly", "manny"] {
            let reply = house.ask("GET", "/api/queues/%2F", user, "").await;
            assert_eq!((reply.status, &reply.json()["error"]), (404, &"Object Not Found".into()), "{user}");
            for (method, path) in [("GET", "/api/queues/%2F/plain"), ("PUT", "/api/queues/%2F/other")] {
                let reply = house.ask(method, path, user, "{}").await;
                assert_eq!(
                    (reply.status, &reply.json()["error"]),
                    (404, &"not_found".into()),
                    "{user} {method} {path}"
                );
            }
            let listed = house.ask("GET", "/api/queues", user, "").await.json();
            assert_eq!(listed, serde_json::json!([]), "{user}");
            let vhosts = house.ask("GET", "/api/vhosts?columns=name", user, "").await.json();
            let names = if user == "mona" { vec!["/", "empty", "shop"] } else { vec!["shop"] };
            let expected: Vec<_> = names.iter().map(|name| serde_json::json!({"name": name})).collect();
            assert_eq!(vhosts, serde_json::json!(expected), "{user}");
        }
        let reply = house.ask("GET", "/api/queues/nosuch", "manny", "").await;
        assert_eq!(reply.status, 404);
    });
}

#[test]
fn refused_permissions_are_401() {
    in_house(async |house| {
        let body = r#"{"configure":"^manny-","write":"","read":".*"}"#;
        house.check("PUT /api/permissions/shop/manny", body, 204, "").await;
        let reply = house.ask("PUT", "/api/queues/shop/other", "manny", "{}").await;
        let expected = serde_json::json!({"error": "not_authorised", "reason": "Access refused."});
        assert_eq!((reply.status, reply.json()), (401, expected));
        assert_eq!(house.ask("PUT", "/api/queues/shop/manny-q", "manny", "{}").await.status, 201);
    });
}

#[test]
fn an_administrator_sees_every_vhost_and_may_do_what_its_permissions_allow() {
    in_house(async |house| {
        house.check("PUT /api/queues/%2F/plain", "", 201, "").await;
        assert_eq!(house.ask("GET", "/api/queues/%2F/plain", "alice", "").await.status, 200);
        let listed = house.ask("GET", "/api/queues?columns=name", "alice", "").await.json();
        assert_eq!(listed, serde_json::json!([{"name": "plain"}]));
        let refused = serde_json::json!({"error": "not_authorised", "reason": "Access refused."});
        for (method, path) in [("PUT", "/api/queues/%2F/other"), ("DELETE", "/api/queues/%2F/plain")] {
            let reply = house.ask(method, path, "alice", "{}").await;
            assert_eq!((reply.status, reply.json()), (401, refused.clone()), "{method}");
        }
    });
}
