//! The authority that signs for the servers of the made-up Internet.

use std::fs;
use std::path::Path;

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair};

use super::names::NAMES;

/// Writes the authority's certificate, and one for every server there is.
pub(super) fn write(dir: &Path) {
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.distinguished_name.push(DnType::CommonName, "An Internet of our own");
    params.key_usages = vec![
        rcgen::KeyUsagePurpose::KeyCertSign,
        rcgen::KeyUsagePurpose::DigitalSignature,
        rcgen::KeyUsagePurpose::CrlSign,
    ];
    let authority = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
    let mut names: Vec<String> = NAMES.iter().map(|(name, _)| (*name).to_owned()).collect();
    let addresses = NAMES.iter().flat_map(|(_, sets)| sets.iter().flat_map(|set| set.iter()));
    names.extend(addresses.map(|address| (*address).to_owned()));
    names.dedup();
    let mut params = CertificateParams::new(names).unwrap();
    params.distinguished_name.push(DnType::CommonName, "server");
    params.extended_key_usages = vec![rcgen::ExtendedKeyUsagePurpose::ServerAuth];
    let key = KeyPair::generate().unwrap();
    let server = params.signed_by(&key, &authority).unwrap();
    fs::write(dir.join("authority.pem"), authority.pem()).unwrap();
    fs::write(dir.join("server.pem"), server.pem()).unwrap();
    fs::write(dir.join("server.key"), key.serialize_pem()).unwrap();
}
