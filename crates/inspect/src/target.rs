//! Which broker is asked, and as which user: the options that `warren ctl` has.

use std::path::{Path, PathBuf};

use http_client::HttpUrl;
use net::{ClientTls, ClientTlsOptions, Trust};

use crate::failure::Failure;

/// Where a broker that was started without options keeps its data.
const DEFAULT_DATA_DIR: &str = "warren-data";
/// A broker's own socket, in its data directory.
const SOCKET_NAME: &str = "control.sock";
const DEFAULT_URL: &str = "http://127.0.0.1:15672";
const DEFAULT_USER: &str = "guest";

/// The broker to inspect. Without these options, the broker of WARREN_CTL_URL, or else the broker whose data is in ./warren-data, or else
/// the broker at port 15672 of this machine.
#[derive(Debug, Clone, Default, clap::Args)]
#[command(next_help_heading = "Which broker")]
pub(crate) struct Target {
    /// The URL of the management API: http[s]://user:password@host:port, or unix:/path.
    #[arg(long, value_name = "URL", global = true)]
    url: Option<String>,
    /// The Unix socket that a broker on this machine listens on.
    #[arg(long, value_name = "FILE", global = true)]
    socket: Option<PathBuf>,
    /// The data directory of a broker on this machine, which has its socket.
    #[arg(long, value_name = "DIR", global = true)]
    data_dir: Option<PathBuf>,
    /// The user, an administrator [default: guest].
    #[arg(short, long, value_name = "USER", global = true)]
    username: Option<String>,
    /// The password [default: guest].
    #[arg(short, long, value_name = "PASSWORD", global = true)]
    password: Option<String>,
    /// Trusted authorities, as PEM.
    #[arg(long, value_name = "FILE", global = true)]
    ssl_ca_cert_file: Option<PathBuf>,
    /// Trust any certificate.
    #[arg(long, global = true)]
    ssl_insecure: bool,
}

impl Target {
    /// The URL of the API, without its `/api`.
    pub(crate) fn url(&self) -> Result<HttpUrl, Failure> {
        let variable = std::env::var("WARREN_CTL_URL").ok();
        let url = self.url_around(variable.as_deref(), &|path| path.exists())?;
        if !url.is_tls() {
            return Ok(url);
        }
        let trust = match &self.ssl_ca_cert_file {
            _ if self.ssl_insecure => Trust::AnyServer,
            Some(file) => Trust::File(file.clone()),
            None => Trust::System,
        };
        let tls =
            ClientTls::new(&ClientTlsOptions::trusting(trust)).map_err(|error| Failure::failed(error.to_string()))?;
        Ok(url.trusting(tls))
    }

    fn url_around(&self, variable: Option<&str>, is_there: &dyn Fn(&Path) -> bool) -> Result<HttpUrl, Failure> {
        if let Some(text) = &self.url {
            return self.parse("--url", text);
        }
        if let Some(path) = &self.socket {
            return Ok(HttpUrl::on_socket(path));
        }
        if let Some(dir) = &self.data_dir {
            return Ok(HttpUrl::on_socket(dir.join(SOCKET_NAME)));
        }
        if let Some(text) = variable.filter(|text| !text.is_empty()) {
            return self.parse("WARREN_CTL_URL", text);
        }
        let socket = Path::new(DEFAULT_DATA_DIR).join(SOCKET_NAME);
        if self.username.is_none() && self.password.is_none() && is_there(&socket) {
            return Ok(HttpUrl::on_socket(socket));
        }
        self.parse("", DEFAULT_URL)
    }

    fn parse(&self, what: &str, text: &str) -> Result<HttpUrl, Failure> {
        if let Some(path) = text.strip_prefix("unix:") {
            return Ok(HttpUrl::on_socket(path.strip_prefix("//").unwrap_or(path)));
        }
        let url = HttpUrl::parse(text).map_err(|error| Failure::usage(format!("{what}: {error}")))?;
        let path = url.path().trim_end_matches('/');
        let path = path.strip_suffix("/api").unwrap_or(path).to_owned();
        let url = url.with_path(if path.is_empty() { "/" } else { &path });
        Ok(match (&self.username, &self.password) {
            (None, None) if url.has_user() => url,
            (user, password) => {
                let or_default = |text: &Option<String>| text.clone().unwrap_or_else(|| DEFAULT_USER.to_owned());
                url.with_user(&or_default(user), &or_default(password))
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(target: &Target, variable: Option<&str>, has_socket: bool, expected: &str) {
        let url = target.url_around(variable, &|_| has_socket).map(|url| url.to_string());
        assert_eq!(url.as_deref().map_err(|failure| failure.text.as_str()), Ok(expected));
    }

    #[test]
    fn what_is_said_goes_before_what_is_around() {
        let url = Target { url: Some("http://a:1/api/".to_owned()), ..Target::default() };
        check(&url, Some("http://b:2"), true, "a:1");
        check(&Target::default(), Some("http://b:2"), true, "b:2");
        check(&Target::default(), None, true, "warren-data/control.sock");
        check(&Target::default(), None, false, "127.0.0.1:15672");
        let user = Target { username: Some("ann".to_owned()), ..Target::default() };
        check(&user, None, true, "127.0.0.1:15672");
        let dir = Target { data_dir: Some("/var/x".into()), ..Target::default() };
        check(&dir, None, false, "/var/x/control.sock");
    }

    #[test]
    fn what_is_no_url_is_refused_with_its_option() {
        let url = Target { url: Some("amqp://a".to_owned()), ..Target::default() };
        let failure = url.url_around(None, &|_| false).expect_err("it is refused");
        assert!(failure.status == 2 && failure.text.starts_with("--url: "), "{failure:?}");
    }
}
