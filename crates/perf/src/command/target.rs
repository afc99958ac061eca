//! From what a command says about connections: to the broker that is under load, and to what is asked over HTTPS.

use std::cell::OnceCell;
use std::time::Duration;

use amqp::{TableBuf, Value};
use amqp_client::{ConnectOptions, Mechanism, Uri};
use net::{ClientTls, ClientTlsOptions, DialOptions, Trust};

use super::Failure;
use crate::engine::{self, Recovery, Target};
use crate::perftest::{Allocation, ConnectionSettings, TlsSettings};
use http_client::HttpUrl;

/// Makes the target. `is_spread`: connect from many local addresses.
pub(crate) fn target(settings: &ConnectionSettings, is_spread: bool) -> Result<Target, Failure> {
    let uris =
        settings.uris.iter().map(|uri| Uri::parse(uri)).collect::<Result<Vec<_>, _>>().map_err(Failure::usage)?;
    let needs_tls = uris.iter().any(|uri| uri.is_tls);
    let tls =
        if needs_tls { Some(ClientTls::new(&tls_options(&settings.tls)).map_err(Failure::failed)?) } else { None };
    let seconds = |time: Duration| u16::try_from(time.as_secs()).unwrap_or(u16::MAX);
    let options = ConnectOptions {
        properties: TableBuf::new()
            .with("product", Value::LongStr(b"warren perf"))
            .with("version", Value::LongStr(env!("CARGO_PKG_VERSION").as_bytes()))
            .with("platform", Value::LongStr(b"Rust")),
        mechanism: if settings.is_sasl_external { Mechanism::External } else { Mechanism::Plain },
        heartbeat: settings.heartbeat.map_or(0, seconds),
        frame_max: settings.frame_len_max.unwrap_or(0),
        tls,
        dial: DialOptions {
            nodelay: settings.has_no_delay,
            send_buffer_len: settings.send_buffer_len,
            receive_buffer_len: settings.receive_buffer_len,
            ..DialOptions::default()
        },
        ..ConnectOptions::default()
    };
    let mut target = Target::new(uris, options);
    target.allocation = match settings.allocation {
        Allocation::Random => engine::Allocation::Random,
        Allocation::RoundRobin => engine::Allocation::InTurn,
    };
    target.recovery = match settings.recovery_interval {
        Some((least, most)) => Recovery::Every(least..=most),
        None => Recovery::Never,
    };
    target.startup_timeout = settings.startup_timeout.unwrap_or(Duration::ZERO);
    // Without a time to wait, one that is there is enough.
    target.startup_count = settings.startup_timeout.map_or(1, |_| settings.startup_count);
    target.is_spread = is_spread;
    Ok(target)
}

/// Makes URLs whose servers are trusted as the broker is. Certificates are read once, if any URL needs them.
pub(crate) struct Https {
    settings: TlsSettings,
    tls: OnceCell<ClientTls>,
}

impl Https {
    pub(crate) fn new(settings: &TlsSettings) -> Self {
        // The name to ask for is the broker's, and no other server's.
        Https { settings: TlsSettings { server_name: None, ..settings.clone() }, tls: OnceCell::new() }
    }

    /// The URL that an option has.
    pub(crate) fn url(&self, option: &str, url: &str) -> Result<HttpUrl, Failure> {
        let url = HttpUrl::parse(url).map_err(|error| Failure::usage(format!("{option}: {error}")))?;
        if url.is_tls() { Ok(url.trusting(self.tls()?.clone())) } else { Ok(url) }
    }

    /// How servers are trusted, if the command says anything about it.
    pub(crate) fn given(&self) -> Result<Option<ClientTls>, Failure> {
        if self.settings == TlsSettings::default() { Ok(None) } else { self.tls().cloned().map(Some) }
    }

    /// How servers are trusted.
    pub(crate) fn tls(&self) -> Result<&ClientTls, Failure> {
        if let Some(tls) = self.tls.get() {
            return Ok(tls);
        }
        let tls = ClientTls::new(&tls_options(&self.settings)).map_err(Failure::failed)?;
        Ok(self.tls.get_or_init(|| tls))
    }
}

fn tls_options(settings: &TlsSettings) -> ClientTlsOptions {
    let trust = match &settings.ca {
        _ if settings.is_insecure => Trust::AnyServer,
        Some(file) => Trust::File(file.clone()),
        None => Trust::System,
    };
    let identity = settings.identity.clone().map(|(chain, key)| net::Identity { chain, key, password: None });
    ClientTlsOptions { identity, server_name: settings.server_name.clone(), ..ClientTlsOptions::trusting(trust) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use http_client::HttpError;
    use http_client::testing::TlsServer;

    const TIMEOUT: Duration = Duration::from_secs(10);

    async fn ask(server: &TlsServer, settings: TlsSettings) -> Result<u16, HttpError> {
        let https = Https::new(&settings);
        let url = https.url("--management-url", &format!("https://localhost:{}", server.port)).unwrap();
        http_client::get(&url.below("/api/overview"), TIMEOUT).await.map(|answer| answer.status.as_u16())
    }

    #[tokio::test]
    async fn https_servers_are_trusted_as_the_broker_is() {
        let (server, other) = (TlsServer::start("https-one").await, TlsServer::start("https-other").await);
        let trusting = |ca: &TlsServer| TlsSettings { ca: Some(ca.ca.clone()), ..TlsSettings::default() };
        assert_eq!(ask(&server, trusting(&server)).await.unwrap(), 200);
        let named = TlsSettings { server_name: Some("the-broker".to_owned()), ..trusting(&server) };
        assert_eq!(ask(&server, named).await.unwrap(), 200);
        let insecure = TlsSettings { is_insecure: true, ..TlsSettings::default() };
        assert_eq!(ask(&server, insecure).await.unwrap(), 200);
        let error = ask(&server, trusting(&other)).await.unwrap_err().to_string();
        assert!(error.starts_with(&format!("TLS with localhost:{} failed: ", server.port)), "{error}");
        assert!(Https::new(&trusting(&server)).given().unwrap().is_some());
        assert!(Https::new(&TlsSettings::default()).given().unwrap().is_none());
    }

    #[test]
    fn certificates_are_read_only_where_a_url_needs_them() {
        let https = Https::new(&TlsSettings { ca: Some("/nowhere/ca.pem".into()), ..TlsSettings::default() });
        assert!(https.url("--management-url", "http://localhost").is_ok());
        let Err(Failure::Failed(text)) = https.url("--management-url", "https://localhost") else { panic!() };
        assert!(text.contains("/nowhere/ca.pem"), "{text}");
        let Err(Failure::Usage(text)) = https.url("--management-url", "localhost") else { panic!() };
        assert!(text.starts_with("--management-url: 'localhost' is not"), "{text}");
    }
}
