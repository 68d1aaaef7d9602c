//! The environment inside: made from lists, not inherited.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::{Component, Path, PathBuf};

use zonekeep_policy::policy::is_never_passed;
use zonekeep_policy::zone::system_overlap;

use super::look::Look;
use super::tree::Tree;
use super::{Host, Runtime, Settings, files, git};
use crate::plan::Network;

/// Variables of the caller that say how it looks, not who it is.
const KEPT: &[&str] = &["LANG", "LANGUAGE", "TZ", "TERM", "COLORTERM", "NO_COLOR"];

/// Variables of the caller that name a file, kept where that is in the tree.
const KEPT_FILES: &[&str] = &[
    "CARGO_HTTP_CAINFO",
    "CURL_CA_BUNDLE",
    "GIT_SSL_CAINFO",
    "LOCALE_ARCHIVE",
    "NIX_SSL_CERT_FILE",
    "NODE_EXTRA_CA_CERTS",
    "PIP_CERT",
    "REQUESTS_CA_BUNDLE",
    "SSL_CERT_DIR",
    "SSL_CERT_FILE",
    "TERMINFO_DIRS",
];

/// Places in the home directory inside.
const HOMES: &[(&str, &str)] = &[
    ("XDG_CACHE_HOME", ".cache"),
    ("XDG_CONFIG_HOME", ".config"),
    ("XDG_DATA_HOME", ".local/share"),
    ("XDG_STATE_HOME", ".local/state"),
    ("CARGO_HOME", ".cargo"),
    ("GOPATH", "go"),
    ("GOCACHE", ".cache/go-build"),
    ("PIP_CACHE_DIR", ".cache/pip"),
    ("UV_CACHE_DIR", ".cache/uv"),
    ("YARN_CACHE_FOLDER", ".cache/yarn"),
    ("npm_config_cache", ".npm"),
];

/// What always holds.
const FIXED: &[(&str, &str)] = &[
    ("TMPDIR", "/tmp"),
    ("GIT_TERMINAL_PROMPT", "0"),
    // Empty, so that `git init` writes no sample hooks: hooks are guarded.
    ("GIT_TEMPLATE_DIR", ""),
    ("PIP_DISABLE_PIP_VERSION_CHECK", "1"),
    ("npm_config_update_notifier", "false"),
    ("DENO_NO_UPDATE_CHECK", "1"),
    ("DOTNET_CLI_TELEMETRY_OPTOUT", "1"),
    ("DOTNET_NOLOGO", "1"),
    ("HOMEBREW_NO_AUTO_UPDATE", "1"),
];

/// What makes tools fail at once and clearly where there is no network.
const OFFLINE: &[(&str, &str)] = &[
    ("CARGO_NET_OFFLINE", "true"),
    ("COMPOSER_DISABLE_NETWORK", "1"),
    ("COREPACK_ENABLE_NETWORK", "0"),
    ("GOPROXY", "off"),
    ("MAVEN_ARGS", "--offline"),
    ("PIP_NO_INDEX", "1"),
    ("UV_OFFLINE", "1"),
    ("UV_PYTHON_DOWNLOADS", "never"),
    ("YARN_ENABLE_NETWORK", "0"),
    ("npm_config_offline", "true"),
];

/// What the environment is made from.
pub(super) struct Parts<'p> {
    /// The caller.
    pub(super) host: &'p Host<'p>,
    /// The sandbox.
    pub(super) settings: &'p Settings<'p>,
    /// The directories of `PATH`.
    pub(super) path: &'p [PathBuf],
    /// Prefixes of toolchains that the caller names.
    pub(super) kept: &'p [(&'static str, PathBuf)],
    /// What toolchains need.
    pub(super) tools: &'p BTreeMap<OsString, OsString>,
}

/// Makes the environment. What it leaves out of the caller's wishes is noted.
pub(super) fn build(parts: &Parts<'_>, tree: &Tree<'_>) -> BTreeMap<OsString, OsString> {
    let Parts { host, settings, .. } = *parts;
    let mut env = BTreeMap::new();
    let mut set = |name: &str, value: &OsStr| env.insert(OsString::from(name), value.to_owned());

    for (name, value) in host.env {
        let Some(name) = name.to_str() else { continue };
        if KEPT.contains(&name)
            || is_about_language(name.as_ref())
            || KEPT_FILES.contains(&name) && tree.leads_to(Path::new(value))
        {
            set(name, value);
        }
    }
    for (name, value) in FIXED {
        set(name, value.as_ref());
    }
    for (name, inner) in HOMES {
        let own = own_dir(host, settings, &tree.look, name);
        set(name, own.unwrap_or_else(|| settings.home.join(inner)).as_ref());
    }
    if *settings.network == Network::Off {
        for (name, value) in OFFLINE {
            set(name, value.as_ref());
        }
    }
    for (name, value) in parts.kept {
        set(name, value.as_ref());
    }
    set("SHELL", files::shell(tree).as_ref());
    set("USER", settings.user.as_ref());
    set("LOGNAME", settings.user.as_ref());
    let path = std::env::join_paths(parts.path).unwrap_or_else(|_| "/usr/bin:/bin".into());
    set("PATH", &path);
    // Variables win over a repository's own settings, so they hold defaults only where no
    // file can be placed.
    let git = git::settings(host, &tree.look, settings);
    let mut in_env = git.fixed;
    if settings.own_tree {
        set("GIT_CONFIG_SYSTEM", git::SYSTEM_FILE.as_ref());
    } else {
        in_env.extend(git.defaults);
    }
    set("GIT_CONFIG_COUNT", in_env.len().to_string().as_ref());
    for (i, (key, value)) in in_env.iter().enumerate() {
        set(&format!("GIT_CONFIG_KEY_{i}"), key.as_ref());
        set(&format!("GIT_CONFIG_VALUE_{i}"), value.as_ref());
    }
    env.extend(parts.tools.clone());

    env
}

/// Returns the directory that a variable of the caller names for caches or settings, where
/// the home directory inside has the caller's path and so have these: what was built
/// outside names them.
fn own_dir(
    host: &Host<'_>,
    settings: &Settings<'_>,
    look: &Look<'_>,
    name: &str,
) -> Option<PathBuf> {
    let home = host.home.filter(|home| *home == settings.home)?;
    // `GOPATH` can be a list.
    let path = std::env::split_paths(host.env.get(OsStr::new(name))?).next()?;
    let mut parts = path.components();
    let plain = parts.next() == Some(Component::RootDir)
        && parts.all(|part| matches!(part, Component::Normal(_)));
    let mut others = settings.granted.iter().map(PathBuf::as_path).chain([home]);
    let hides = others.any(|other| other.starts_with(&path));
    // Toolchains behind a link in the way are placed where it leads to, and need the link.
    let mut above = path.ancestors().filter_map(|above| Some((above, look.resolve(above)?)));
    let linked = above.next().is_some_and(|(above, at)| at.real != above);
    (plain && !hides && !linked && system_overlap(&path).is_none()).then_some(path)
}

/// Returns the directories of the caller's variables that need a place of their own: empty
/// and private, whatever the host has there.
pub(super) fn private_dirs(
    host: &Host<'_>,
    settings: &Settings<'_>,
    look: &Look<'_>,
) -> Vec<PathBuf> {
    let dirs = HOMES.iter().filter_map(|(name, _)| own_dir(host, settings, look, name));
    let is_in = |path: &Path, dirs: &[PathBuf]| dirs.iter().any(|dir| path.starts_with(dir));
    let mut dirs: Vec<PathBuf> = dirs
        .filter(|path| !path.starts_with(settings.home) && !is_in(path, settings.granted))
        .collect();
    dirs.sort();
    let mut outer: Vec<PathBuf> = Vec::new();
    for dir in dirs {
        if !is_in(&dir, &outer) {
            outer.push(dir);
        }
    }
    outer
}

/// Adds what the project wants to have in the environment.
pub(super) fn add(host: &Host<'_>, settings: &Settings<'_>, runtime: &mut Runtime) {
    let Runtime { env, notes, .. } = runtime;
    for name in settings.pass_env {
        let Some(value) = host.env.get(OsStr::new(name)) else { continue };
        if is_never_passed(name) {
            notes.push(format!("{name} is not passed on"));
        } else {
            env.insert(name.into(), value.clone());
        }
    }
    for (name, value) in settings.env {
        if name.is_empty() || name.contains(['=', '\0']) || value.contains('\0') || name == "HOME" {
            notes.push(format!("{name} cannot be set"));
        } else {
            env.insert(name.into(), value.into());
        }
    }
    env.insert("HOME".into(), settings.home.into());
}

/// Returns the names of all variables of the caller that have a part in the
/// environment inside, but for those about the language.
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    let homes = HOMES.iter().map(|(name, _)| *name);
    KEPT.iter().chain(KEPT_FILES).copied().chain(["PATH"]).chain(homes)
}

/// Returns whether a variable is one of those that choose a language.
pub(super) fn is_about_language(name: &OsStr) -> bool {
    name.as_encoded_bytes().starts_with(b"LC_")
}
