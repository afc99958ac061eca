//! Certificates of listeners that are about to end.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use net::{ClientVerification, Identity, Reload, ServerTls, ServerTlsOptions, TlsVersion};
use rcgen::{CertificateParams, KeyPair, date_time_ymd};
use serde_json::json;

use super::house::{House, in_house};
use crate::options::ListenerInfo;

/// Files of a certificate, and a listener with it.
struct Shown {
    dir: PathBuf,
    tls: Arc<ServerTls>,
}

impl Drop for Shown {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.dir);
    }
}

/// Writes a certificate that ends at the start of that year.
fn sign(dir: &Path, name: &str, end_year: i32) {
    let mut params = CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
    params.not_after = date_time_ymd(end_year, 1, 1);
    let key = KeyPair::generate().unwrap();
    fs::write(dir.join(format!("{name}.pem")), params.self_signed(&key).unwrap().pem()).unwrap();
    fs::write(dir.join(format!("{name}.key")), key.serialize_pem()).unwrap();
}

impl Shown {
    fn new(end_year: i32, authorities_end_year: Option<i32>) -> Shown {
        let dir = own_dir();
        sign(&dir, "own", end_year);
        let authorities = dir.join("ca.pem");
        let clients = match authorities_end_year {
            None => ClientVerification::None,
            Some(year) => {
                sign(&dir, "ca", year);
                ClientVerification::Optional { authorities, depth: 1 }
            }
        };
        let identity = Identity { chain: dir.join("own.pem"), key: dir.join("own.key"), password: None };
        let versions = vec![TlsVersion::V1_2, TlsVersion::V1_3];
        let options = ServerTlsOptions {
            identity,
            sni: Vec::new(),
            clients,
            versions,
            cipher_suites: Vec::new(),
            is_cipher_order_ours: false,
        };
        Shown { tls: Arc::new(ServerTls::new(options).unwrap()), dir }
    }

    fn file(&self, name: &str) -> String {
        self.dir.join(name).to_string_lossy().into_owned()
    }

    fn listen(&self, house: &House) {
        let tls = Some(self.tls.clone());
        let listener =
            ListenerInfo { protocol: "amqp/ssl".to_owned(), ip: [127, 0, 0, 1].into(), port: 5671, tls, gate: None };
        house.service.set_listeners(vec![listener]);
    }
}

/// A directory of the test's own.
fn own_dir() -> PathBuf {
    static COUNT: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
    let number = COUNT.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    let dir = std::env::temp_dir().join(format!("warren-certificates-{}-{number}", std::process::id()));
    fs::create_dir_all(&dir).unwrap();
    dir
}

const WITHIN_A_YEAR: &str = "GET /api/health/checks/certificate-expiration/1/year";
const OK: &str = r#"{"status":"ok"}"#;

#[test]
fn a_certificate_that_has_ended_or_is_about_to_is_told_with_its_files() {
    in_house(async |house| {
        house.check(WITHIN_A_YEAR, "", 200, OK).await;
        let shown = Shown::new(2001, None);
        shown.listen(house);
        let mut listener = json!({
            "node": house.service.node(), "protocol": "amqp/ssl", "interface": "127.0.0.1", "port": 5671,
            "certfile": shown.file("own.pem"), "certfile_expires_on": ["2001-01-01 00:00:00"],
            "cacertfile": "", "cacertfile_expires_on": [],
        });
        let failed = |listener: &serde_json::Value| {
            json!({"status": "failed", "reason": "Certificates expiring", "expired": [listener]}).to_string()
        };
        house.check(WITHIN_A_YEAR, "", 503, &failed(&listener)).await;

        let shown = Shown::new(4000, Some(2002));
        shown.listen(house);
        listener["certfile"] = shown.file("own.pem").into();
        listener["certfile_expires_on"] = json!([]);
        listener["cacertfile"] = shown.file("ca.pem").into();
        listener["cacertfile_expires_on"] = json!(["2002-01-01 00:00:00"]);
        house.check(WITHIN_A_YEAR, "", 503, &failed(&listener)).await;

        let shown = Shown::new(4000, Some(4001));
        shown.listen(house);
        house.check(WITHIN_A_YEAR, "", 200, OK).await;
        let in_ten_thousand_years = "GET /api/health/checks/certificate-expiration/10000/years";
        listener["certfile"] = shown.file("own.pem").into();
        listener["certfile_expires_on"] = json!(["4000-01-01 00:00:00"]);
        listener["cacertfile"] = shown.file("ca.pem").into();
        listener["cacertfile_expires_on"] = json!(["4001-01-01 00:00:00"]);
        house.check(in_ten_thousand_years, "", 503, &failed(&listener)).await;
    });
}

#[test]
fn a_renewed_certificate_counts_as_soon_as_it_is_in_force() {
    in_house(async |house| {
        let shown = Shown::new(2001, None);
        shown.listen(house);
        sign(&shown.dir, "own", 4000);
        assert_eq!(house.get(WITHIN_A_YEAR.strip_prefix("GET ").unwrap()).await.status, 503);
        assert_eq!(shown.tls.reload_if_changed().unwrap(), Reload::Reloaded);
        house.check(WITHIN_A_YEAR, "", 200, OK).await;
    });
}
