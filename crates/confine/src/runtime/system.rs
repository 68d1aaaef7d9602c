//! The system: what programs read that belongs to no user.

use std::path::Path;

use super::tree::Tree;
use crate::plan::{Network, Role};

/// Directories of the root, each a directory or a link into `/usr`.
const ROOTS: &[&str] =
    &["/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/nix/store", "/gnu/store"];

/// What is wanted of `/etc`. No file here holds a secret on any system that we
/// know: what may, such as `pip.conf`, `npmrc` and `gitconfig`, is not listed.
const ETC: &[&str] = &[
    // The loader and the choices of the distribution.
    "ld.so.cache",
    "ld.so.conf",
    "ld.so.conf.d",
    "ld-musl-*.path",
    "alternatives",
    "os-release",
    "static",
    // Time, language and terminals.
    "localtime",
    "timezone",
    "locale.alias",
    "locale.conf",
    "inputrc",
    "terminfo",
    "fonts",
    "papersize",
    "paperspecs",
    // Names that are the same everywhere.
    "protocols",
    "services",
    "gai.conf",
    "mime.types",
    "magic",
    "xattr.conf",
    // Certificates, never keys.
    "ssl/certs",
    "ssl/cert.pem",
    "ssl/openssl.cnf",
    "pki/tls/certs",
    "pki/tls/cert.pem",
    "pki/tls/openssl.cnf",
    "pki/ca-trust/extracted",
    "pki/java",
    "ca-certificates",
    "ca-certificates.conf",
    "crypto-policies",
    // Languages.
    "java-*/*.cfg",
    "java-*/*.properties",
    "java-*/jfr",
    "java-*/management/management.properties",
    "java-*/security",
    "maven/logging",
    "maven/m2.conf",
    "perl",
    "python3*",
    // Not the site's own files: administrators put tokens there.
    "R/ldpaths",
    "R/Makeconf",
    "R/Renviron",
    "R/repositories",
    // Programs: Debian's browser sources each file there; `apikeys` stays outside.
    "chromium.d/default-flags",
    "chromium.d/dev-shm",
    "chromium.d/extensions",
    "ImageMagick-*/*.xml",
];

/// Places the system.
pub(super) fn place(tree: &mut Tree<'_>, network: &Network) {
    for root in ROOTS {
        tree.place(Path::new(root), Role::System);
    }
    // NixOS: a link into the store, though `/run` itself has no place.
    let current = Path::new("/run/current-system");
    if let Some(to) = tree.look.link(current) {
        tree.link(current, to);
    }
    for pattern in ETC {
        for path in tree.look.matches(Path::new("/etc"), pattern) {
            place_in_etc(tree, &Path::new("/etc").join(path));
        }
    }
    tree.link("/etc/mtab", "/proc/self/mounts");
    if network.has_names_of_host() {
        for path in ["/etc/resolv.conf", "/etc/hosts"] {
            tree.place_at_unchecked(Path::new(path), path.into(), Role::System);
        }
    }
}

/// Places a path of `/etc` as it is where its links lead to something in the
/// tree, and otherwise what it leads to in its place.
fn place_in_etc(tree: &mut Tree<'_>, path: &Path) {
    let Some(at) = tree.look.resolve(path) else { return };
    if at.real.starts_with("/etc") || tree.covers(&at.real) {
        tree.place(path, Role::System);
    } else {
        tree.place_at(path, path.to_path_buf(), Role::System);
    }
}
