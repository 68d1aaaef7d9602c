//! The sandbox of macOS: a plan written as a profile for `sandbox-exec`.
//!
//! [`profile`] only writes text and [`command`] only a command line; neither
//! looks at the machine. There is no tree of our own here: commands see host
//! paths, and the profile says which of them exist for them. Private directories
//! are directories of the host that the launcher has made and the plan lists as
//! [`Entry::Private`]; `HOME` and `TMPDIR` have to lead there.
//!
//! Everything starts denied, and the last rule that matches decides. The rules
//! compare physical paths: see [`physical`].

mod runtime;
mod sbpl;
mod strength;

#[cfg(test)]
mod judge;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::plan::{Access, Entry, Network, Plan, Start, Watch};

use sbpl::{Text, any, covered, literal, parents, quoted, subpath};
pub use strength::{Degree, Strength, strength};

/// The program that carries a profile out.
pub const PROGRAM: &str = "/usr/bin/sandbox-exec";

/// What `sandbox-exec` needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Profile {
    /// The profile, in the sandbox profile language.
    pub text: String,
    /// What the profile names as `(param "...")`: private directories, and paths
    /// that cannot be written as text.
    pub parameters: Vec<(String, OsString)>,
}

/// Returns the profile of a sandbox.
pub fn profile(plan: &Plan) -> Profile {
    let grants = Grants::of(plan);
    let mut text = Text::new();
    text.part("Made by zonekeep. The last rule that matches decides.");
    text.bare("(version 1)");
    text.bare("(deny default)");
    runtime::write(&mut text, &plan.network);
    paths(&mut text, &grants);
    sockets(&mut text, &grants, &plan.network);
    if let Some(watch) = &plan.watch {
        guards(&mut text, &grants, watch);
    }
    places(&mut text, &grants);
    runtime::outside(&mut text);
    text.finish()
}

/// Returns the command line that starts a command in its sandbox.
///
/// The environment and the working directory are those of the process that runs
/// it; a program without a slash is looked for in its `PATH`, inside.
pub fn command(plan: &Plan, start: &Start) -> Vec<OsString> {
    let profile = profile(plan);
    // By its full name: whatever `PATH` has is not to be trusted with this.
    let mut argv = vec![PROGRAM.into(), "-p".into(), profile.text.into()];
    for (name, value) in profile.parameters {
        let mut parameter = OsString::from(format!("-D{name}="));
        parameter.push(value);
        argv.push(parameter);
    }
    argv.push("--".into());
    argv.extend(start.argv.iter().cloned());
    argv
}

/// Returns the path as rules must name it.
///
/// The kernel compares paths after it has followed every link, so a rule for
/// `/tmp` holds nothing. The links that every Mac has are replaced here; others
/// must be followed before a path gets into a plan, which also gives it the case
/// and the Unicode form that the file system stores. A path with `..` is left
/// alone, and matches nothing.
pub fn physical(path: &Path) -> PathBuf {
    // A firmlink: the kernel reports what is below without this prefix.
    let path = match path.strip_prefix("/System/Volumes/Data") {
        Ok(below) if !below.as_os_str().is_empty() => Path::new("/").join(below),
        _ => path.components().collect(),
    };
    let linked = ["/tmp", "/var", "/etc"].iter().any(|link| path.starts_with(link));
    match path.strip_prefix("/") {
        Ok(below) if linked => Path::new("/private").join(below),
        _ => path,
    }
}

/// Directories that everybody uses, and so are never anybody's private ones.
const SHARED: [&str; 5] = ["/", "/Users", "/private/tmp", "/private/var/tmp", "/dev/shm"];

/// The host paths of a plan, in physical form.
struct Grants {
    /// What was placed in the tree, the innermost last.
    binds: Vec<(PathBuf, Access)>,
    /// Private directories, with the parameters that name them.
    private: Vec<(String, PathBuf)>,
    /// Links that lead to what was placed.
    links: Vec<PathBuf>,
}

impl Grants {
    fn of(plan: &Plan) -> Self {
        let mut binds: Vec<_> =
            plan.binds().map(|bind| (physical(&bind.host), bind.access)).collect();
        // Stable: of two for one path, the one that was placed later decides.
        binds.sort_by_key(|(path, _)| path.components().count());
        let mut private = Vec::new();
        let mut links = Vec::new();
        for entry in &plan.entries {
            match entry {
                Entry::Private { at } => {
                    let path = physical(at);
                    if SHARED.iter().any(|shared| path == Path::new(shared)) {
                        continue;
                    }
                    let name = match *at == plan.home {
                        true => "HOME".to_owned(),
                        false => format!("PRIVATE_{}", private.len()),
                    };
                    private.push((name, path));
                }
                Entry::Link { at, .. } => links.push(at.clone()),
                Entry::Bind(_) | Entry::File { .. } => {}
            }
        }
        Grants { binds, private, links }
    }

    /// Returns everything that is granted.
    fn roots(&self) -> impl Iterator<Item = &Path> {
        let binds = self.binds.iter().map(|(path, _)| path.as_path());
        binds.chain(self.private.iter().map(|(_, path)| path.as_path()))
    }

    /// Returns the writable paths that are not private.
    fn writable(&self) -> impl Iterator<Item = &Path> {
        let binds = self.binds.iter().filter(|(_, access)| *access == Access::Rw);
        binds.map(|(path, _)| path.as_path())
    }

    /// Returns the directories above what is granted.
    fn above(&self) -> BTreeSet<&Path> {
        self.roots().flat_map(|root| root.ancestors().skip(1)).collect()
    }
}

/// Writes the rules for what the plan grants.
fn paths(text: &mut Text, grants: &Grants) {
    let above: BTreeSet<&Path> = grants
        .above()
        .into_iter()
        .chain(grants.links.iter().flat_map(|link| link.ancestors()))
        .filter(|path| !runtime::is_above(path))
        .collect();
    let above: Vec<_> = above.into_iter().map(|path| literal(&text.path(path))).collect();
    text.part(
        "The way to what is granted: these directories can be looked at by name, one by \
         one, and not listed. Programs that find out where they are need it.",
    );
    text.rule("allow file-read-metadata file-test-existence", &above);

    text.part("What is granted can be read and run.");
    let mut readable = Vec::new();
    for (path, _) in &grants.binds {
        readable.push(subpath(&text.path(path)));
    }
    for (name, path) in &grants.private {
        readable.push(subpath(&text.parameter(name, path)));
    }
    text.rule("allow file-read* file-test-existence file-map-executable process-exec*", &readable);

    text.part("Some of it can be written; what lies deeper comes later, and so decides.");
    let private: Vec<_> =
        grants.private.iter().map(|(name, path)| subpath(&text.parameter(name, path))).collect();
    text.rule("allow file-write*", &private);
    for (at, (path, access)) in grants.binds.iter().enumerate() {
        let filter = subpath(&text.path(path));
        let outer = grants.binds[..at].iter().filter(|(_, access)| *access == Access::Rw);
        let mut writable =
            outer.map(|(path, _)| path).chain(grants.private.iter().map(|(_, path)| path));
        match access {
            Access::Rw => text.rule("allow file-write*", &[filter]),
            Access::Ro if writable.any(|outer| path.starts_with(outer)) => {
                text.rule("deny file-write*", &[filter]);
            }
            Access::Ro => {}
        }
    }

    text.part(
        "A copy that shares its blocks is a copy: of what can be read, nothing else. Without \
         a rule this may be allowed.",
    );
    text.bare("(deny file-clone)");
    text.rule("allow file-clone", &readable);
}

/// Writes the rules for sockets.
fn sockets(text: &mut Text, grants: &Grants, network: &Network) {
    text.part("No network, and no sockets of other programs: docker's would be the whole machine.");
    text.bare("(deny network*)");
    if *network == Network::Host {
        text.part("The network of the host, with its loopback: macOS has no other.");
        text.bare("(allow network-outbound (remote ip))");
        text.bare("(allow network-bind (local ip))");
        text.bare("(allow network-inbound (local ip))");
        text.rule(
            "allow system-socket",
            &[
                "(socket-domain AF_INET)".to_owned(),
                "(socket-domain AF_INET6)".to_owned(),
                // Interfaces and routes.
                "(require-all (socket-domain AF_SYSTEM) (socket-protocol 2))".to_owned(),
            ],
        );
    }
    if let Some(port) = network.gateway().and_then(|gateway| gateway.proxy) {
        text.part("One port of the host's loopback, where every connection is judged.");
        text.bare(&format!("(allow network-outbound (remote ip \"localhost:{port}\"))"));
        let families = ["(socket-domain AF_INET)", "(socket-domain AF_INET6)"];
        text.rule("allow system-socket", &families.map(str::to_owned));
    }
    let resolver = literal(&quoted(runtime::RESOLVER));
    match network {
        Network::Host => {
            text.part("Names are looked up by a system service.");
            text.rule("allow network-outbound", &[resolver]);
        }
        Network::Off | Network::Gate(_) => {
            text.part("A name that is looked up leaves the machine too.");
            text.rule("deny network-outbound", &[resolver]);
            text.rule("deny mach-lookup", &runtime::network_services());
        }
    }

    text.part("Unix sockets where files can be written: programs talk to their own parts.");
    let mut writable: Vec<_> = grants.writable().map(|path| subpath(&text.path(path))).collect();
    for (name, path) in &grants.private {
        writable.push(subpath(&text.parameter(name, path)));
    }
    let local: Vec<_> = writable.iter().map(|at| format!("(local unix-socket {at})")).collect();
    let remote: Vec<_> = writable.iter().map(|at| format!("(remote unix-socket {at})")).collect();
    text.bare("(allow system-socket (socket-domain AF_UNIX))");
    text.rule("allow network-bind", &local);
    text.rule("allow network-outbound", &remote);
}

/// Writes the rules for guarded files.
fn guards(text: &mut Text, grants: &Grants, watch: &Watch) {
    if watch.patterns.is_empty() || grants.writable().next().is_none() {
        return;
    }
    // A zone is left out of the comparison by the number of its names: it may
    // have such a name itself.
    let mut depths: BTreeMap<usize, Vec<String>> = BTreeMap::new();
    for zone in grants.writable() {
        let filter = subpath(&text.path(zone));
        depths.entry(zone.components().count().saturating_sub(1)).or_default().push(filter);
    }
    text.part(
        "Guarded files in zones, at any depth there, whether they exist or not. The file system \
         ignores case, and so [gG]; it also takes some other letters for these, such as a long s \
         for s and one sharp s for two, and so [^ -~]+.",
    );
    let inside = |zones: &[String], files: &[String]| {
        format!("(require-all\n    {}\n    {})", any(zones, "\n      "), any(files, "\n      "))
    };
    for (&depth, zones) in &depths {
        let files: Vec<_> = watch.patterns.iter().map(|one| covered(depth, one)).collect();
        text.rule("deny file-write*", &[inside(zones, &files)]);
    }
    text.part(
        "Directories in which a file is guarded: one that was filled elsewhere must not be put \
         there, and none must be moved away to be changed.",
    );
    for (&depth, zones) in &depths {
        let directories: BTreeSet<_> =
            watch.patterns.iter().flat_map(|one| parents(depth, one)).collect();
        let directories: Vec<_> = directories.into_iter().collect();
        if !directories.is_empty() {
            let filter = inside(zones, &directories);
            text.rule("deny file-write-create file-write-unlink", &[filter]);
        }
    }
}

/// Writes the rules that keep paths meaning what they mean.
fn places(text: &mut Text, grants: &Grants) {
    text.part(
        "Rules go by path: what was moved would be judged by its new one. So neither what is \
         granted nor any directory above it can be moved or removed.",
    );
    let mut fixed = grants.above();
    fixed.extend(grants.roots());
    let fixed: Vec<_> = fixed.into_iter().map(|path| literal(&text.path(path))).collect();
    text.rule("deny file-write-unlink", &fixed);
    text.part("A second name would be judged instead of the first: no hard links.");
    text.bare("(deny file-link)");
    text.part("No file becomes another user's program.");
    text.bare("(deny file-write-setugid)");
}
