//! The authority of a session: it signs for the hosts that get secrets.
//!
//! Commands inside trust it, and nobody else does: its key is made when a
//! session starts, never leaves the memory of this process, and ends with it.

use std::collections::HashMap;
use std::fmt;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa,
    Issuer, KeyPair, KeyUsagePurpose, SerialNumber,
};
use rustls::crypto::CryptoProvider;
use rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer};
use rustls::{ClientConfig, ServerConfig};
use rustls_platform_verifier::BuilderVerifierExt;

/// What HTTP is spoken inside; nothing else is understood here.
const HTTP: &[u8] = b"http/1.1";

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// The most hosts whose certificates are kept: under `*.` there is no end of them.
const KEPT: usize = 256;

/// Signs for hosts, and knows whom to trust as these hosts.
pub struct Authority {
    issuer: Issuer<'static, KeyPair>,
    der: CertificateDer<'static>,
    pem: String,
    /// The one key of all certificates that it signs.
    key: KeyPair,
    /// What is said in the name of a host, made when it is first needed.
    hosts: Mutex<HashMap<String, Arc<ServerConfig>>>,
    /// What speaks TLS to servers and checks who they are, or why it cannot.
    servers: Result<Arc<ClientConfig>, String>,
}

/// Whose signatures are believed when a server says who it is.
enum Trust {
    /// Those that this machine believes.
    Machine,
    /// These alone.
    #[cfg(test)]
    Only(Vec<CertificateDer<'static>>),
}

impl Authority {
    /// Makes an authority with a new key, and reads whom this machine trusts.
    pub fn new() -> io::Result<Authority> {
        Authority::with(Trust::Machine)
    }

    /// Makes an authority that believes servers with these signatures alone.
    #[cfg(test)]
    pub(crate) fn trusting(roots: Vec<CertificateDer<'static>>) -> io::Result<Authority> {
        Authority::with(Trust::Only(roots))
    }

    fn with(trust: Trust) -> io::Result<Authority> {
        let signing = KeyPair::generate().map_err(io::Error::other)?;
        let mut params = params("Zonekeep session authority")?;
        params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign];
        let certificate = params.self_signed(&signing).map_err(io::Error::other)?;
        Ok(Authority {
            der: certificate.der().clone(),
            pem: certificate.pem(),
            issuer: Issuer::new(params, signing),
            key: KeyPair::generate().map_err(io::Error::other)?,
            hosts: Mutex::new(HashMap::new()),
            // Now, and not when a command waits for it: it reads files. Where that
            // fails, only the connections to servers do.
            servers: client(trust).map(Arc::new).map_err(|error| error.to_string()),
        })
    }

    /// Returns its certificate, for those who are to trust it.
    pub fn pem(&self) -> &str {
        &self.pem
    }

    /// Returns what speaks TLS in the name of a host.
    pub(crate) fn as_host(&self, name: &str) -> io::Result<Arc<ServerConfig>> {
        let mut hosts = self.hosts.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(host) = hosts.get(name) {
            return Ok(Arc::clone(host));
        }
        if hosts.len() >= KEPT {
            hosts.clear();
        }
        let host = Arc::new(self.sign(name)?);
        hosts.insert(name.to_owned(), Arc::clone(&host));
        Ok(host)
    }

    fn sign(&self, name: &str) -> io::Result<ServerConfig> {
        let mut params = params(name)?;
        params.subject_alt_names =
            vec![rcgen::SanType::DnsName(name.try_into().map_err(io::Error::other)?)];
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        params.use_authority_key_identifier_extension = true;
        let leaf = params.signed_by(&self.key, &self.issuer).map_err(io::Error::other)?;
        let chain = vec![leaf.der().clone(), self.der.clone()];
        let key = PrivatePkcs8KeyDer::from(self.key.serialize_der()).into();
        let mut config = ServerConfig::builder_with_provider(provider())
            .with_safe_default_protocol_versions()
            .map_err(io::Error::other)?
            .with_no_client_auth()
            .with_single_cert(chain, key)
            .map_err(io::Error::other)?;
        config.alpn_protocols = vec![HTTP.to_vec()];
        Ok(config)
    }

    /// Returns what speaks TLS to servers, and checks who they are.
    pub(crate) fn to_servers(&self) -> Result<Arc<ClientConfig>, String> {
        self.servers.clone()
    }
}

impl fmt::Debug for Authority {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Authority").finish_non_exhaustive()
    }
}

fn client(trust: Trust) -> Result<ClientConfig, rustls::Error> {
    let builder =
        ClientConfig::builder_with_provider(provider()).with_safe_default_protocol_versions()?;
    let builder = match trust {
        Trust::Machine => builder.with_platform_verifier()?,
        #[cfg(test)]
        Trust::Only(trusted) => {
            let mut roots = rustls::RootCertStore::empty();
            for root in trusted {
                roots.add(root)?;
            }
            builder.with_root_certificates(roots)
        }
    };
    let mut config = builder.with_no_client_auth();
    config.alpn_protocols = vec![HTTP.to_vec()];
    Ok(config)
}

fn provider() -> Arc<CryptoProvider> {
    Arc::new(rustls::crypto::ring::default_provider())
}

/// Returns what all certificates have in common: they hold for a month, since
/// no session lasts longer, and from the day before, for clocks that are slow.
fn params(subject: &str) -> io::Result<CertificateParams> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_err(io::Error::other)?;
    let start = rcgen::date_time_ymd(1970, 1, 1);
    let mut params = CertificateParams::default();
    params.not_before = start + now.saturating_sub(DAY);
    params.not_after = start + now + 30 * DAY;
    params.distinguished_name = DistinguishedName::new();
    // A longer one is not allowed to stand there; the name counts elsewhere.
    if subject.len() <= 64 {
        params.distinguished_name.push(DnType::CommonName, subject);
    }
    let mut serial = [0; 16];
    getrandom::fill(&mut serial).map_err(io::Error::other)?;
    serial[0] = serial[0] & 0x7f | 0x40;
    params.serial_number = Some(SerialNumber::from_slice(&serial));
    Ok(params)
}

#[cfg(test)]
mod tests {
    use rustls::client::WebPkiServerVerifier;
    use rustls::client::danger::ServerCertVerifier;
    use rustls::pki_types::{ServerName, UnixTime};

    use super::*;

    /// Returns whether somebody who trusts the authority takes a chain for a name,
    /// so many days from now.
    fn takes(authority: &Authority, chain: &[CertificateDer<'_>], name: &str, days: i32) -> bool {
        let mut roots = rustls::RootCertStore::empty();
        roots.add(authority.der.clone()).unwrap();
        let verifier = WebPkiServerVerifier::builder_with_provider(roots.into(), provider());
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
        let when = match days {
            0.. => now + DAY * days.unsigned_abs(),
            _ => now - DAY * days.unsigned_abs(),
        };
        let name = ServerName::try_from(name.to_owned()).unwrap();
        let when = UnixTime::since_unix_epoch(when);
        let verifier = verifier.build().unwrap();
        verifier.verify_server_cert(&chain[0], &chain[1..], &name, &[], when).is_ok()
    }

    fn leaf(authority: &Authority, name: &str) -> CertificateDer<'static> {
        let mut params = params(name).unwrap();
        params.subject_alt_names =
            vec![rcgen::SanType::DnsName(name.to_owned().try_into().unwrap())];
        params.signed_by(&authority.key, &authority.issuer).unwrap().der().clone()
    }

    #[test]
    fn it_signs_for_one_name_and_one_month() {
        let authority = Authority::new().unwrap();
        let chain = [leaf(&authority, "api.test")];
        for (name, days, want) in [
            ("api.test", 0, true),
            ("api.test", 29, true),
            ("api.test", 31, false),
            ("api.test", -2, false),
            ("a.api.test", 0, false),
            ("test", 0, false),
            ("other.test", 0, false),
        ] {
            assert_eq!(takes(&authority, &chain, name, days), want, "{name} in {days} days");
        }
        assert!(!takes(&Authority::new().unwrap(), &chain, "api.test", 0), "of another session");
        let long = format!("{}.{}.test", "a".repeat(60), "b".repeat(60));
        assert!(takes(&authority, &[leaf(&authority, &long)], &long, 0));
    }

    #[test]
    fn nothing_that_it_signs_can_sign() {
        let authority = Authority::new().unwrap();
        let signed = leaf(&authority, "api.test");
        let issuer = Issuer::new(params("api.test").unwrap(), &authority.key);
        let mut below = params("other.test").unwrap();
        below.subject_alt_names = vec![rcgen::SanType::DnsName("other.test".try_into().unwrap())];
        let below = below.signed_by(&authority.key, &issuer).unwrap().der().clone();
        assert!(!takes(&authority, &[below, signed], "other.test", 0));

        let has = |bytes: &[u8]| authority.der.windows(bytes.len()).any(|part| part == bytes);
        // What not every reader checks of those it trusts: critical, an authority,
        // of none below it; and critical, for signing certificates alone.
        let constraints = [&b"\x55\x1d\x13\x01\x01\xff\x04\x08"[..], b"\x30\x06\x01\x01\xff"];
        assert!(has(&[&constraints.concat()[..], b"\x02\x01\x00"].concat()));
        assert!(has(b"\x55\x1d\x0f\x01\x01\xff\x04\x04\x03\x02\x02\x04"));
        assert!(has(b"Zonekeep session authority"));
    }

    #[test]
    fn certificates_are_kept_but_not_without_end() {
        let authority = Authority::new().unwrap();
        let first = authority.as_host("a.test").unwrap();
        assert!(Arc::ptr_eq(&first, &authority.as_host("a.test").unwrap()));
        for number in 0..KEPT + 10 {
            authority.as_host(&format!("{number}.test")).unwrap();
        }
        assert!(authority.hosts.lock().unwrap().len() <= KEPT);
        assert!(authority.pem().starts_with("-----BEGIN CERTIFICATE-----"));
        assert_eq!(format!("{authority:?}"), "Authority { .. }");
    }
}
