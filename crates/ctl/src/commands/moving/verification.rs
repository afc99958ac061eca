//! Whether shovels and federation check the certificate of the peer they connect to: it is in their URIs' queries.

use serde_json::{Value, json};

use crate::command::{Argument, Command, required};
use crate::failure::Failure;
use crate::invocation::Invocation;
use crate::listing::text;
use crate::step::{Ask, StepResult, each, escaped, path, remark};

pub(crate) const COMMANDS: &[Command] = &[
    Command::new(
        "shovels disable_tls_peer_verification_for_all_source_uris",
        "has a virtual host's shovels trust any server that answers at their sources: for an emergency",
        |input| change(input, SOURCE, &[]),
    ),
    Command::new(
        "shovels disable_tls_peer_verification_for_all_destination_uris",
        "has them trust any server that answers at their destinations: for an emergency",
        |input| change(input, DESTINATION, &[]),
    ),
    Command::new(
        "shovels enable_tls_peer_verification_for_all_source_uris",
        "makes a virtual host's shovels check certificates at their sources, with files on the server",
        |input| change(input, SOURCE, FILES),
    )
    .taking(PATHS),
    Command::new(
        "shovels enable_tls_peer_verification_for_all_destination_uris",
        "makes them check certificates at their destinations, with files on the server",
        |input| change(input, DESTINATION, FILES),
    )
    .taking(PATHS),
    Command::new(
        "federation disable_tls_peer_verification_for_all_upstreams",
        "has a virtual host's federation trust any server that answers upstream: for an emergency",
        |input| change(input, UPSTREAM, &[]),
    ),
    Command::new(
        "federation enable_tls_peer_verification_for_all_upstreams",
        "makes a virtual host's federation check upstream certificates, with files on the server",
        |input| change(input, UPSTREAM, FILES),
    )
    .taking(PATHS),
];

const PATHS: &[Argument] = &[
    required("node-local-ca-certificate-bundle-path"),
    required("node-local-client-certificate-file-path"),
    required("node-local-client-private-key-file-path"),
];

/// What URIs call what is in those arguments.
const FILES: &[(&str, &str)] = &[
    ("cacertfile", "node-local-ca-certificate-bundle-path"),
    ("certfile", "node-local-client-certificate-file-path"),
    ("keyfile", "node-local-client-private-key-file-path"),
];

/// A component and the key that has its URI, or a list of them.
type Place = (&'static str, &'static str);

const SOURCE: Place = ("shovel", "src-uri");
const DESTINATION: Place = ("shovel", "dest-uri");
const UPSTREAM: Place = ("federation-upstream", "uri");

/// With files certificates are looked at, and without they are not.
fn change(input: &Invocation, (component, key): Place, files: &[(&str, &str)]) -> StepResult {
    let mut settings =
        vec![("verify".to_owned(), if files.is_empty() { "verify_none" } else { "verify_peer" }.to_owned())];
    settings.extend(files.iter().map(|(name, argument)| ((*name).to_owned(), escaped(input.text(argument)))));
    let vhost = input.vhost().to_owned();
    Ask::get(path(&["parameters", component, &vhost])).then(move |reply| {
        let mut asks = Vec::new();
        for parameter in reply.unless(404, || Failure::no_such_vhost(&vhost))?.list()? {
            let mut value = parameter["value"].clone();
            match value.get_mut(key) {
                Some(Value::String(uri)) => *uri = with(uri, &settings),
                Some(Value::Array(uris)) => {
                    for uri in uris {
                        if let Value::String(uri) = uri {
                            *uri = with(uri, &settings);
                        }
                    }
                }
                _ => continue,
            }
            let name = text(&parameter, "name");
            let body = json!({"vhost": vhost, "component": component, "name": name, "value": value});
            asks.push(Ask::put(path(&["parameters", component, &vhost, name]), &body));
        }
        let text = format!("{} changed", asks.len());
        each(asks, || remark(text))
    })
}

/// A URI whose query says this, whatever it said of it before. What is not about TLS stays.
fn with(uri: &str, settings: &[(String, String)]) -> String {
    let (place, query) = uri.split_once('?').unwrap_or((uri, ""));
    let is_said = |part: &&str| settings.iter().any(|(key, _)| part.split('=').next() == Some(key));
    let others = query.split('&').filter(|part| !part.is_empty() && !is_said(part)).map(str::to_owned);
    let settings = settings.iter().map(|(key, value)| format!("{key}={value}"));
    format!("{place}?{}", others.chain(settings).collect::<Vec<_>>().join("&"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rest_of_a_uri_stays() {
        let off = [("verify".to_owned(), "verify_none".to_owned())];
        assert_eq!(with("amqps://h/v", &off), "amqps://h/v?verify=verify_none");
        assert_eq!(
            with("amqps://u:p@h:1/v?heartbeat=5&verify=verify_peer&cacertfile=/x", &off),
            "amqps://u:p@h:1/v?heartbeat=5&cacertfile=/x&verify=verify_none"
        );
    }
}
