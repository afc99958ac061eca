//! Keys of what joins this broker with others: which hosts shovels and links may connect to, and which files their URIs may name.

use std::collections::BTreeSet;
use std::path::Path;

use super::values::Values;

/// Where files may be that the URIs of parameters name, unless `warren.links.tls_directories` says otherwise: what belongs to the
/// broker, and where systems keep certificates. Links on a Debian lead from `/etc/ssl/certs` to the last two.
const TLS_DIRECTORIES: [&str; 6] = [
    "/etc/warren",
    "/etc/rabbitmq",
    "/etc/ssl",
    "/etc/pki",
    "/usr/share/ca-certificates",
    "/usr/local/share/ca-certificates",
];

/// Keys that end so name files of certificates and keys.
const FILE_KEYS: [&str; 3] = ["cacertfile", "certfile", "keyfile"];

const DIRECTORIES: [&str; 3] = ["warren", "links", "tls_directories"];

/// What shovels and the links of federation may do.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LinkOptions {
    /// Hosts that may be connected to; empty: all.
    pub allowed_hosts: Vec<String>,
    /// Where files may be that the URIs of parameters name.
    pub tls_directories: Vec<String>,
}

/// Refuses directories that could be any.
pub(super) fn check(values: &mut Values) {
    let relative = values.below(&DIRECTORIES).filter(|(_, text, _)| !Path::new(text).is_absolute());
    let relative: Vec<_> =
        relative.map(|(rest, text, origin)| (rest.join("."), text.to_owned(), origin.clone())).collect();
    for (number, text, origin) in relative {
        let text = format!("'{}.{number}' must be an absolute path, not '{text}'", DIRECTORIES.join("."));
        values.refuse(origin, text);
    }
}

pub(super) fn read(values: &Values) -> LinkOptions {
    let texts = |prefix: &[&str]| values.below(prefix).map(|(_, text, _)| text.to_owned()).collect::<Vec<_>>();
    let mut tls_directories = texts(&DIRECTORIES);
    if tls_directories.is_empty() {
        tls_directories.extend(TLS_DIRECTORIES.map(str::to_owned));
        tls_directories.extend(of_configured_files(values));
    }
    LinkOptions { allowed_hosts: texts(&["warren", "links", "allowed_hosts"]), tls_directories }
}

/// The directories of the files that the configuration itself names for TLS. The root does not count: all would be in it.
fn of_configured_files(values: &Values) -> BTreeSet<String> {
    let files = values.below(&[]).filter(|(key, ..)| key.last().is_some_and(|name| FILE_KEYS.contains(&name.as_str())));
    let parents = files.filter_map(|(_, text, _)| Path::new(text).parent()).filter(|parent| parent.is_absolute());
    let parents = parents.filter(|parent| parent.parent().is_some());
    parents.filter_map(|parent| parent.to_str()).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;

    const INFLUXDB: [&str; 2] = ["warren.influxdb.url=https://localhost:8086", "warren.influxdb.database=d"];

    fn directories(sets: &[&str]) -> Result<Vec<String>, String> {
        let sets: Vec<String> = sets.iter().map(|set| (*set).to_owned()).collect();
        let config = Config::parse(&[], &[], &sets).map_err(|error| error.to_string())?;
        Ok(config.0.links.tls_directories)
    }

    #[test]
    fn files_are_where_certificates_are_or_where_the_operator_says() {
        assert_eq!(directories(&[]).unwrap(), TLS_DIRECTORIES);
        let own = directories(&[
            INFLUXDB[0],
            INFLUXDB[1],
            "warren.influxdb.cacertfile=/srv/tls/ca.pem",
            "warren.otlp.cacertfile=/ca.pem",
        ])
        .unwrap();
        assert_eq!(
            own.split_at(TLS_DIRECTORIES.len()),
            (&TLS_DIRECTORIES.map(str::to_owned)[..], &["/srv/tls".to_owned()][..])
        );
        let said = [
            INFLUXDB[0],
            INFLUXDB[1],
            "warren.links.tls_directories.1=/srv/a",
            "warren.influxdb.cacertfile=/srv/tls/ca.pem",
        ];
        assert_eq!(directories(&said).unwrap(), ["/srv/a"]);
        let error = directories(&["warren.links.tls_directories.2=certs"]).unwrap_err();
        assert!(error.contains("'warren.links.tls_directories.2' must be an absolute path, not 'certs'"), "{error}");
    }
}
