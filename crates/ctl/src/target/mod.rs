//! Which server is asked, and as which user: from options, the environment, rabbitmqadmin's file of settings, or existing sockets.

use std::path::{Path, PathBuf};
use std::time::Duration;

use http_client::HttpUrl;
use net::{ClientTls, ClientTlsOptions, Trust};

use crate::command::Grammar;
use crate::failure::{CONFIG, Failure};
use crate::invocation::Invocation;
use crate::settings_file::{self, Section};

/// Names the server when no option does.
pub(crate) const URL_VARIABLE: &str = "WARREN_CTL_URL";

/// Where a broker that was started without options keeps its data.
pub(crate) const DEFAULT_DATA_DIR: &str = "warren-data";

/// Where packages and images have it: this program's own, and those that stand for RabbitMQ's.
const PACKAGED_DATA_DIRS: &[&str] = &["/var/lib/warren/data", "/var/lib/rabbitmq/mnesia/warren"];

/// Variables of RabbitMQ's that name the directory below which data are.
const DATA_VARIABLES: &[&str] = &["RABBITMQ_MNESIA_DIR", "RABBITMQ_MNESIA_BASE"];

/// A broker's own socket, in its data directory.
const SOCKET_NAME: &str = "control.sock";

const DEFAULT_HOST: &str = "127.0.0.1";
const DEFAULT_PORT: u16 = 15672;
const DEFAULT_TLS_PORT: u16 = 15671;
const DEFAULT_USER: &str = "guest";

/// How long an answer may take, if nothing else is said.
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(60);

/// The longest timeout.
const FOREVER: Duration = Duration::from_secs(365 * 24 * 3600);

/// What is around the program: handed in, so that tests have other surroundings.
pub(crate) struct Surroundings<'a> {
    pub(crate) variable: &'a dyn Fn(&str) -> Option<String>,
    /// The text of a file; nothing if there is none.
    pub(crate) read: &'a dyn Fn(&Path) -> std::io::Result<Option<String>>,
    pub(crate) is_there: &'a dyn Fn(&Path) -> bool,
}

/// The server.
#[derive(Debug)]
pub(crate) struct Target {
    /// What stands before `/api`.
    pub(crate) url: HttpUrl,
    pub(crate) timeout: Duration,
}

impl Target {
    /// Decides for the server.
    pub(crate) fn of(input: &Invocation, around: &Surroundings<'_>) -> Result<Self, Failure> {
        let section = section(input, around)?;
        let timeout = timeout(input)?;
        let url = url(input, &section, around)?;
        let url = match path_prefix(input, &section) {
            Some(prefix) => url.with_path(&format!("/{}", prefix.trim_matches('/'))),
            None => url,
        };
        let path = url.path().trim_end_matches('/');
        let path = path.strip_suffix("/api").unwrap_or(path).to_owned();
        let url = url.with_path(if path.is_empty() { "/" } else { &path });
        let url = if url.is_tls() { url.trusting(tls(input, &section)?) } else { url };
        Ok(Target { url, timeout })
    }
}

/// An option, or what the file says.
fn setting<'a>(input: &'a Invocation, section: &'a Section, option: &str, key: &str) -> Option<&'a str> {
    input.shared(option).or_else(|| section.get(key))
}

fn url(input: &Invocation, section: &Section, around: &Surroundings<'_>) -> Result<HttpUrl, Failure> {
    let user = setting(input, section, "username", "username");
    let password = setting(input, section, "password", "password");
    let as_user = |url: HttpUrl| match (user, password) {
        (None, None) if url.has_user() => url,
        (user, password) => {
            let user = user.unwrap_or(DEFAULT_USER);
            url.with_user(user, password.unwrap_or(DEFAULT_USER))
        }
    };
    // A host on the command line is another server than the file's.
    let of_file = |key: &str| section.get(key).filter(|_| !(input.has_shared("host") || input.has_shared("port")));
    let parsed = |what: &str, text: &str| match text.strip_prefix("unix:") {
        // `unix:///run/x` and `unix:/run/x` are the same.
        Some(path) => Ok(HttpUrl::on_socket(path.strip_prefix("//").unwrap_or(path))),
        None => match HttpUrl::parse(text) {
            Ok(url) => Ok(as_user(url)),
            Err(error) => Err(Failure::usage(format!("{what}: {error}"))),
        },
    };
    if let Some(text) = input.shared("url").or(input.shared("base-uri")).or(of_file("base_uri")) {
        return parsed("--url", text);
    }
    if let Some(path) = input.shared("socket") {
        return Ok(HttpUrl::on_socket(path));
    }
    if let Some(dir) = input.shared("data-dir") {
        return Ok(HttpUrl::on_socket(Path::new(dir).join(SOCKET_NAME)));
    }
    let host = setting(input, section, "host", "hostname");
    let port = setting(input, section, "port", "port");
    let is_tls = input.has_shared("ssl") || section.is_true("ssl") || of_file("scheme") == Some("https");
    if host.is_none() && port.is_none() && !is_tls {
        if let Some(text) = (around.variable)(URL_VARIABLE).filter(|text| !text.is_empty()) {
            return parsed(URL_VARIABLE, &text);
        }
        // Where a broker that stands for a RabbitMQ was configured to have it.
        let named = DATA_VARIABLES.iter().filter_map(|name| (around.variable)(name).filter(|dir| !dir.is_empty()));
        let named = named.map(|dir| Path::new(&dir).join("warren"));
        let usual = std::iter::once(&DEFAULT_DATA_DIR).chain(PACKAGED_DATA_DIRS).map(PathBuf::from);
        let mut sockets = named.chain(usual).map(|dir| dir.join(SOCKET_NAME));
        // A user that is named wants to log in.
        if user.is_none()
            && password.is_none()
            && let Some(socket) = sockets.find(|socket| (around.is_there)(socket))
        {
            return Ok(HttpUrl::on_socket(socket));
        }
    }
    let port = match port {
        None if is_tls => DEFAULT_TLS_PORT,
        None => DEFAULT_PORT,
        Some(text) => {
            text.parse().map_err(|_| Failure::usage(format!("a port must be a number up to 65535, not '{text}'")))?
        }
    };
    let host = host.unwrap_or(DEFAULT_HOST);
    let host = if host.contains(':') { format!("[{host}]") } else { host.to_owned() };
    let scheme = if is_tls { "https" } else { "http" };
    parsed("--host", &format!("{scheme}://{host}:{port}"))
}

fn path_prefix<'a>(input: &'a Invocation, section: &'a Section) -> Option<&'a str> {
    setting(input, section, "path-prefix", "path_prefix").filter(|prefix| !prefix.is_empty())
}

fn tls(input: &Invocation, section: &Section) -> Result<ClientTls, Failure> {
    let trust = match setting(input, section, "ssl-ca-cert-file", "ssl_ca_cert_file") {
        _ if input.has_shared("ssl-insecure") || section.is_true("ssl_insecure") => Trust::AnyServer,
        Some(file) => Trust::File(file.into()),
        None => Trust::System,
    };
    let certificate = setting(input, section, "ssl-cert-file", "ssl_cert_file");
    let key = setting(input, section, "ssl-key-file", "ssl_key_file");
    let identity = match (certificate, key) {
        (Some(certificate), Some(key)) => {
            Some(net::Identity { chain: certificate.into(), key: key.into(), password: None })
        }
        (None, None) => None,
        _ => return Err(Failure::usage("--ssl-cert-file and --ssl-key-file go together")),
    };
    ClientTls::new(&ClientTlsOptions { identity, ..ClientTlsOptions::trusting(trust) })
        .map_err(|error| Failure::new(CONFIG, error.to_string()))
}

fn timeout(input: &Invocation) -> Result<Duration, Failure> {
    match input.shared("timeout") {
        None if input.command.is_long => Ok(FOREVER),
        None => Ok(DEFAULT_TIMEOUT),
        Some("infinity") => Ok(FOREVER),
        Some(text) => text
            .parse()
            .ok()
            .and_then(|seconds| Duration::try_from_secs_f64(seconds).ok())
            .map(|timeout| timeout.min(FOREVER))
            .ok_or_else(|| Failure::usage(format!("the timeout must be seconds or infinity, not '{text}'"))),
    }
}

/// What rabbitmqadmin's file says about the server that is named.
fn section(input: &Invocation, around: &Surroundings<'_>) -> Result<Section, Failure> {
    if input.grammar != Grammar::Admin {
        return Ok(Section::default());
    }
    let Some((file, is_asked_for)) = settings_path(input, around.variable) else { return Ok(Section::default()) };
    let shown = file.display();
    let text = (around.read)(&file).map_err(|error| Failure::new(CONFIG, format!("cannot read {shown}: {error}")))?;
    let Some(text) = text else {
        return match is_asked_for {
            true => Err(Failure::new(CONFIG, format!("no settings file {shown}"))),
            false => Ok(Section::default()),
        };
    };
    let sections =
        settings_file::parse(&text).map_err(|problem| Failure::new(CONFIG, format!("{shown}: {problem}")))?;
    let name = input.shared("node").unwrap_or("default");
    match sections.into_iter().find(|(known, _)| known == name) {
        Some((_, section)) => Ok(section),
        None if input.has_shared("node") => Err(Failure::new(CONFIG, format!("{shown} has no section [{name}]"))),
        None => Ok(Section::default()),
    }
}

/// Where that file is, and whether it has to be there.
pub(crate) fn settings_path(input: &Invocation, variable: &dyn Fn(&str) -> Option<String>) -> Option<(PathBuf, bool)> {
    match (input.shared("config"), variable("HOME")) {
        (Some(file), _) => Some((PathBuf::from(file), true)),
        (None, Some(home)) => Some((Path::new(&home).join(".rabbitmqadmin.conf"), input.has_shared("node"))),
        (None, None) => None,
    }
}

/// Takes the virtual host from that file if none is said.
pub(crate) fn complete(input: &mut Invocation, around: &Surroundings<'_>) -> Result<(), Failure> {
    if input.said_vhost().is_none()
        && let Some(vhost) = section(input, around)?.get("vhost")
    {
        input.shared.insert("vhost", vec![vhost.to_owned()]);
    }
    Ok(())
}

#[cfg(test)]
mod tests;
