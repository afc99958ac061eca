//! A certificate authority for tests, and files with what it signed.

use std::fs;
use std::path::{Path, PathBuf};

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair};

/// An authority.
pub(crate) struct Authority {
    pub(crate) dir: PathBuf,
    pub(crate) issuer: CertifiedIssuer<'static, KeyPair>,
}

impl Authority {
    /// One whose files are below a directory of the test's own.
    pub(crate) fn new(test: &str) -> Self {
        let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join(test);
        fs::create_dir_all(&dir).unwrap();
        let issuer = CertifiedIssuer::self_signed(authority_params(test), KeyPair::generate().unwrap()).unwrap();
        fs::write(dir.join("ca.pem"), issuer.pem()).unwrap();
        Authority { dir, issuer }
    }

    /// A certificate and a key for a name, as files too.
    pub(crate) fn sign(&self, name: &str) -> (Vec<u8>, KeyPair) {
        self.sign_as(name, self.params(name))
    }

    /// What a certificate for a name says, to be changed.
    pub(crate) fn params(&self, name: &str) -> CertificateParams {
        let mut params = CertificateParams::new(vec![name.to_owned()]).unwrap();
        params.distinguished_name.push(DnType::CommonName, name);
        params
    }

    /// Files `name.pem` and `name.key`.
    pub(crate) fn sign_as(&self, name: &str, params: CertificateParams) -> (Vec<u8>, KeyPair) {
        let key = KeyPair::generate().unwrap();
        let certificate = params.signed_by(&key, &self.issuer).unwrap();
        fs::write(self.file(&format!("{name}.pem")), certificate.pem()).unwrap();
        fs::write(self.file(&format!("{name}.key")), key.serialize_pem()).unwrap();
        (certificate.der().to_vec(), key)
    }

    /// Files `name.pem`, with the chain, and `name.key`, signed by an authority in between.
    pub(crate) fn sign_through(&self, between: &str, name: &str) {
        let between =
            CertifiedIssuer::signed_by(authority_params(between), KeyPair::generate().unwrap(), &self.issuer).unwrap();
        let key = KeyPair::generate().unwrap();
        let certificate = self.params(name).signed_by(&key, &between).unwrap();
        fs::write(self.file(&format!("{name}.pem")), certificate.pem() + &between.pem()).unwrap();
        fs::write(self.file(&format!("{name}.key")), key.serialize_pem()).unwrap();
    }

    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.dir.join(name)
    }
}

fn authority_params(name: &str) -> CertificateParams {
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.distinguished_name.push(DnType::CommonName, name);
    params
}
