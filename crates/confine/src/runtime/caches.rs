//! Where toolchains keep what they download and build, one row each.
//!
//! Such a directory can outlive a sandbox, so that the next one need not download and build
//! everything again. Each row is a directory of its own, with nothing else in it: no
//! settings, no programs that `PATH` leads to.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

/// A cache of a toolchain.
struct Row {
    name: &'static str,
    /// Programs on the `PATH` that use it.
    programs: &'static [&'static str],
    /// The variable that names the directory above it; the home directory if empty.
    variable: &'static str,
    /// The path below that.
    below: &'static str,
}

const fn row(
    name: &'static str,
    programs: &'static [&'static str],
    variable: &'static str,
    below: &'static str,
) -> Row {
    Row { name, programs, variable, below }
}

const ROWS: &[Row] = &[
    row("cargo-registry", &["cargo"], "CARGO_HOME", "registry"),
    row("cargo-git", &["cargo"], "CARGO_HOME", "git"),
    row("sccache", &["sccache"], "XDG_CACHE_HOME", "sccache"),
    row("ccache", &["ccache"], "XDG_CACHE_HOME", "ccache"),
    row("go-build", &["go"], "GOCACHE", ""),
    row("go-modules", &["go"], "GOPATH", "pkg/mod"),
    row("npm", &["npm"], "npm_config_cache", ""),
    row("pnpm-store", &["pnpm"], "XDG_DATA_HOME", "pnpm/store"),
    row("yarn", &["yarn"], "YARN_CACHE_FOLDER", ""),
    row("bun", &["bun"], "", ".bun/install/cache"),
    row("deno", &["deno"], "XDG_CACHE_HOME", "deno"),
    row("pip", &["pip", "pip3"], "PIP_CACHE_DIR", ""),
    row("uv", &["uv"], "UV_CACHE_DIR", ""),
    row("pre-commit", &["pre-commit"], "XDG_CACHE_HOME", "pre-commit"),
    row("maven", &["mvn"], "", ".m2/repository"),
    row("gradle-caches", &["gradle", "java"], "", ".gradle/caches"),
    row("gradle-wrapper", &["gradle", "java"], "", ".gradle/wrapper"),
    row("nuget", &["dotnet"], "", ".nuget/packages"),
];

/// Returns the names of the caches that programs in use have, and their places inside.
pub(super) fn find(
    env: &BTreeMap<OsString, OsString>,
    home: &Path,
    has_program: impl Fn(&str) -> bool,
) -> Vec<(String, PathBuf)> {
    let used = ROWS.iter().filter(|row| row.programs.iter().any(|name| has_program(name)));
    let place = |row: &Row| {
        let above = match row.variable {
            "" => home.to_path_buf(),
            name => PathBuf::from(env.get(OsStr::new(name))?),
        };
        // Without a slash at the end.
        let at = if row.below.is_empty() { above } else { above.join(row.below) };
        Some((row.name.to_owned(), at))
    };
    used.filter_map(place).collect()
}
