//! The toolchains that people keep outside the system, one row each.
//!
//! A row is about files below a root. It comes into use when a directory of
//! `PATH`, or a link that one of them holds, leads below the root to one of
//! [`Tool::on`], or when one of [`Tool::programs`] is on the `PATH`.

/// One toolchain, or one part of it.
#[derive(Debug)]
pub(super) struct Tool {
    /// What it is called in notes.
    pub(super) name: &'static str,
    /// Where its files are: `$VARIABLE`, `~/path` or `/path`.
    pub(super) roots: &'static [&'static str],
    /// Directories below the root that show that it is in use. `*` stands for
    /// any run of characters in a name.
    pub(super) on: &'static [&'static str],
    /// Programs on the `PATH` that show that it is in use.
    pub(super) programs: &'static [&'static str],
    /// What is placed at its own path, read-only: patterns below the root, `@`
    /// for the directory that matched [`Tool::on`], `!name` for what a `*` must
    /// not match.
    pub(super) takes: &'static [&'static str],
    /// What is placed in the private home directory, read-only, where there is
    /// no network. With one, caches are filled afresh: a tool that can download
    /// must be able to write what it downloads.
    pub(super) shares: &'static [Share],
    /// Variables, in which `{root}` and `{home}` stand for the root and for the
    /// home directory inside.
    pub(super) env: &'static [(&'static str, &'static str)],
    /// Whether it is a cache that serves only where nothing can be downloaded.
    pub(super) offline_only: bool,
    /// Whether it holds interpreters that a virtual environment leads to. Links
    /// in granted directories, which a command can write, are followed to these
    /// rows only.
    pub(super) interpreters: bool,
}

/// Something placed in the private home directory.
#[derive(Debug)]
pub(super) struct Share {
    /// A pattern below the root.
    pub(super) from: &'static str,
    /// The directory of the home that stands for the root.
    pub(super) at: &'static str,
    /// When it may be.
    pub(super) when: When,
}

/// When something may be placed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum When {
    /// Always.
    Always,
    /// Where the file holds none of these words and no login in an address.
    Without(&'static [&'static str]),
    /// Where git, in the files that keep addresses, kept none with a login.
    NoLogin,
    /// Where every archive of `registry/cache` is unpacked in `registry/src`:
    /// cargo would unpack the missing ones there.
    Unpacked,
}

const ROW: Tool = Tool {
    name: "",
    roots: &[],
    on: &[],
    programs: &[],
    takes: &["@"],
    shares: &[],
    env: &[],
    offline_only: false,
    interpreters: false,
};

const fn share(from: &'static str, at: &'static str, when: When) -> Share {
    Share { from, at, when }
}

/// The toolchains.
pub(super) const TOOLS: &[Tool] = &[
    // Rust.
    Tool { name: "cargo", roots: &["$CARGO_HOME", "~/.cargo"], on: &["bin"], ..ROW },
    Tool {
        name: "rustup",
        roots: &["$RUSTUP_HOME", "~/.rustup"],
        programs: &["rustup"],
        // Without the hashes rustup stops: it would make the directory.
        takes: &["toolchains", "settings.toml", "update-hashes"],
        env: &[("RUSTUP_HOME", "{root}"), ("RUSTUP_AUTO_INSTALL", "0")],
        ..ROW
    },
    Tool {
        name: "rust toolchain",
        roots: &["$RUSTUP_HOME", "~/.rustup"],
        on: &["toolchains/*"],
        ..ROW
    },
    Tool {
        name: "crates",
        roots: &["$CARGO_HOME", "~/.cargo"],
        programs: &["cargo"],
        takes: &[],
        shares: &[
            share("registry/cache", ".cargo", When::Always),
            share("registry/index/*", ".cargo", When::NoLogin),
            share("registry/src", ".cargo", When::Unpacked),
            share("git/db/*", ".cargo", When::NoLogin),
            share("git/checkouts/*", ".cargo", When::Always),
            share("config.toml", ".cargo", When::Without(SECRET_WORDS)),
            share("config", ".cargo", When::Without(SECRET_WORDS)),
        ],
        ..ROW
    },
    // Python.
    Tool {
        name: "pyenv",
        roots: &["$PYENV_ROOT", "~/.pyenv"],
        on: &["bin", "shims", "plugins/*/*"],
        takes: &["bin", "libexec", "shims", "versions", "plugins", "pyenv.d", "version"],
        env: &[("PYENV_ROOT", "{root}")],
        ..ROW
    },
    Tool {
        name: "pyenv python",
        roots: &["$PYENV_ROOT", "~/.pyenv"],
        on: &["versions/*"],
        interpreters: true,
        ..ROW
    },
    Tool {
        name: "uv",
        roots: &["$UV_PYTHON_INSTALL_DIR", "~/.local/share/uv/python"],
        programs: &["uv"],
        takes: &["cpython-*", "pypy-*", "graalpy-*"],
        env: &[("UV_PYTHON_INSTALL_DIR", "{root}")],
        ..ROW
    },
    Tool {
        name: "uv python",
        roots: &["$UV_PYTHON_INSTALL_DIR", "~/.local/share/uv/python"],
        on: &["*"],
        interpreters: true,
        ..ROW
    },
    Tool {
        name: "uv tool",
        roots: &["$UV_TOOL_DIR", "~/.local/share/uv/tools"],
        on: &["*"],
        ..ROW
    },
    Tool {
        name: "pipx",
        roots: &["$PIPX_HOME", "~/.local/share/pipx", "~/.local/pipx"],
        on: &["venvs/*"],
        takes: &["@", "shared"],
        ..ROW
    },
    Tool {
        name: "python packages of the user",
        roots: &["~/.local"],
        programs: &["python3"],
        takes: &[],
        shares: &[share("lib/python3*/site-packages", ".local", When::Always)],
        ..ROW
    },
    // JavaScript.
    Tool { name: "nvm", roots: &["$NVM_DIR", "~/.nvm"], on: &["versions/*/*"], ..ROW },
    Tool {
        name: "fnm",
        roots: &["$FNM_DIR", "~/.local/share/fnm", "~/.fnm"],
        on: &["node-versions/*/installation"],
        ..ROW
    },
    Tool {
        name: "volta",
        roots: &["$VOLTA_HOME", "~/.volta"],
        on: &["bin"],
        takes: &["bin", "tools/image", "tools/user", "layout.v*"],
        env: &[("VOLTA_HOME", "{root}")],
        ..ROW
    },
    Tool {
        name: "bun",
        roots: &["$BUN_INSTALL", "~/.bun"],
        on: &["bin"],
        takes: &["bin", "install/global"],
        ..ROW
    },
    Tool { name: "deno", roots: &["$DENO_INSTALL", "~/.deno"], on: &["bin"], ..ROW },
    Tool {
        name: "pnpm",
        roots: &["$PNPM_HOME", "~/.local/share/pnpm"],
        on: &["", "bin"],
        takes: &["pnpm", "pnpx", "bin", "global", "nodejs", ".tools"],
        ..ROW
    },
    Tool {
        name: "npm packages of the user",
        roots: &["~/.local", "~/.npm-global", "~/.npm-packages"],
        on: &["lib/node_modules/@*/*", "lib/node_modules/*"],
        ..ROW
    },
    Tool {
        name: "corepack",
        roots: &["$COREPACK_HOME", "~/.cache/node/corepack"],
        programs: &["corepack"],
        takes: &[],
        shares: &[share("v1/*/*", ".cache/node/corepack", When::Always)],
        ..ROW
    },
    // Several languages.
    Tool {
        name: "asdf",
        roots: &["$ASDF_DATA_DIR", "~/.asdf"],
        on: &["shims", "bin"],
        takes: &["shims", "installs", "plugins", "bin", "lib", "libexec", "asdf.sh"],
        env: &[("ASDF_DATA_DIR", "{root}")],
        ..ROW
    },
    Tool {
        name: "asdf version",
        roots: &["$ASDF_DATA_DIR", "~/.asdf"],
        on: &["installs/*/*"],
        interpreters: true,
        ..ROW
    },
    Tool {
        name: "mise",
        roots: &["$MISE_DATA_DIR", "~/.local/share/mise"],
        on: &["shims"],
        takes: &["shims", "installs", "plugins"],
        env: &[("MISE_DATA_DIR", "{root}")],
        ..ROW
    },
    Tool {
        name: "mise version",
        roots: &["$MISE_DATA_DIR", "~/.local/share/mise"],
        on: &["installs/*/*"],
        interpreters: true,
        ..ROW
    },
    Tool {
        name: "versions of the user",
        roots: &["~"],
        programs: &["asdf", "mise"],
        takes: &[],
        shares: &[
            share(".tool-versions", "", When::Without(SECRET_WORDS)),
            share(".config/mise/config.toml", "", When::Without(MISE_WORDS)),
        ],
        ..ROW
    },
    // Java.
    Tool { name: "sdkman", roots: &["$SDKMAN_DIR", "~/.sdkman"], on: &["candidates/*/*"], ..ROW },
    Tool {
        name: "maven repository",
        roots: &["~/.m2"],
        programs: &["mvn"],
        takes: &[],
        shares: &[share("repository", ".m2", When::Always)],
        ..ROW
    },
    Tool {
        name: "gradle modules",
        roots: &["$GRADLE_USER_HOME", "~/.gradle"],
        programs: &["gradle", "java"],
        takes: &["caches/modules-2"],
        env: &[("GRADLE_RO_DEP_CACHE", "{root}/caches")],
        ..ROW
    },
    // Go.
    Tool { name: "go programs", roots: &["$GOBIN"], on: &[""], ..ROW },
    Tool { name: "go programs", roots: &["$GOPATH", "~/go"], on: &["bin"], ..ROW },
    Tool {
        name: "go modules",
        roots: &["$GOMODCACHE", "$GOPATH/pkg/mod", "~/go/pkg/mod"],
        programs: &["go"],
        // `cache/vcs` keeps the addresses of repositories, logins and all.
        takes: &["!cache", "*", "cache/download"],
        env: &[("GOMODCACHE", "{root}")],
        offline_only: true,
        ..ROW
    },
    // Ruby and PHP.
    Tool {
        name: "rbenv",
        roots: &["$RBENV_ROOT", "~/.rbenv"],
        on: &["bin", "shims"],
        takes: &["bin", "libexec", "shims", "versions", "plugins", "rbenv.d", "version"],
        env: &[("RBENV_ROOT", "{root}")],
        ..ROW
    },
    Tool { name: "ruby", roots: &["$RBENV_ROOT", "~/.rbenv"], on: &["versions/*"], ..ROW },
    Tool {
        name: "rvm",
        roots: &["$rvm_path", "~/.rvm"],
        on: &["bin", "rubies/*", "gems/*"],
        takes: &["bin", "rubies", "gems", "scripts", "environments", "wrappers"],
        ..ROW
    },
    Tool {
        name: "gems of the user",
        roots: &["~/.gem"],
        on: &["ruby/*"],
        shares: &[share("ruby", ".gem", When::Always)],
        ..ROW
    },
    Tool {
        name: "gems of the user",
        roots: &["~/.local/share/gem"],
        on: &["ruby/*"],
        shares: &[share("ruby", ".local/share/gem", When::Always)],
        ..ROW
    },
    Tool {
        name: "composer",
        roots: &["$COMPOSER_HOME", "~/.config/composer", "~/.composer"],
        on: &["vendor/bin"],
        takes: &["vendor"],
        ..ROW
    },
    // Others.
    Tool {
        name: "dotnet",
        roots: &["$DOTNET_ROOT", "~/.dotnet"],
        on: &["", "tools"],
        takes: &["dotnet", "host", "shared", "sdk", "sdk-manifests", "packs", "templates", "tools"],
        env: &[("DOTNET_ROOT", "{root}")],
        ..ROW
    },
    Tool {
        name: "dart packages",
        roots: &["$PUB_CACHE", "~/.pub-cache"],
        on: &["bin"],
        takes: &["bin", "hosted", "global_packages"],
        ..ROW
    },
    Tool { name: "ghcup", roots: &["~/.ghcup"], on: &["bin"], takes: &["bin", "ghc"], ..ROW },
    Tool { name: "opam", roots: &["$OPAMROOT", "~/.opam"], on: &["*"], ..ROW },
    Tool {
        name: "juliaup",
        roots: &["~/.julia/juliaup"],
        programs: &["julia"],
        takes: &["julia-*", "juliaup.json"],
        ..ROW
    },
    Tool {
        name: "homebrew",
        roots: &["$HOMEBREW_PREFIX", "/home/linuxbrew/.linuxbrew", "~/.linuxbrew"],
        on: &["bin", "sbin", "opt/*", "Cellar/*"],
        takes: &[
            "bin",
            "sbin",
            "lib",
            "libexec",
            "opt",
            "Cellar",
            "share",
            "include",
            "etc/ca-certificates",
            "etc/openssl@*",
        ],
        ..ROW
    },
    Tool { name: "programs of the user", roots: &["~/.local/opt", "~/opt"], on: &["*"], ..ROW },
];

/// Words that show that a file of settings holds a secret.
pub(super) const SECRET_WORDS: &[&str] = &["token", "secret", "password", "credential", "_auth"];

/// The same, and the part of mise's settings that sets variables.
const MISE_WORDS: &[&str] = &["token", "secret", "password", "credential", "env"];

/// Settings that tools keep inside an installed version, and that may hold
/// secrets.
pub(super) const SETTINGS_INSIDE: &[&str] =
    &["etc/npmrc", "lib/node_modules/npm/npmrc", "pip.conf"];

/// Directories of installed versions, and how far below them these are.
pub(super) const VERSIONS: &[(&str, &str)] = &[("versions", "*/"), ("installs", "*/*/")];

/// A toolchain that is known by its files, wherever it is.
#[derive(Debug)]
pub(super) struct Layout {
    /// What it is called in notes.
    pub(super) name: &'static str,
    /// What is below it.
    pub(super) marks: &'static [&'static str],
    /// What is placed at its own path, read-only; nothing stands for all of it.
    pub(super) takes: &'static [&'static str],
}

/// The toolchains that are known by their files.
pub(super) const LAYOUTS: &[Layout] = &[
    Layout { name: "jdk", marks: &["bin/java", "release"], takes: &[] },
    Layout { name: "jdk", marks: &["bin/java", "jre/lib/rt.jar"], takes: &[] },
    Layout { name: "go", marks: &["bin/go", "pkg/tool", "VERSION"], takes: &[] },
    Layout {
        name: "dart",
        marks: &["bin/dart", "lib/_internal"],
        takes: &["bin", "lib", "include", "version", "revision"],
    },
    Layout {
        name: "flutter",
        marks: &["bin/flutter", "packages/flutter"],
        takes: &["bin", "packages", "version", "analysis_options.yaml"],
    },
    Layout {
        name: "conda",
        marks: &["conda-meta", "bin"],
        takes: &[
            "bin",
            "condabin",
            "conda-meta",
            "lib",
            "libexec",
            "include",
            "share",
            "ssl",
            "shell",
            "compiler_compat",
            "*-linux-gnu",
        ],
    },
    Layout {
        name: "virtual environment",
        marks: &["pyvenv.cfg", "bin"],
        takes: &["bin", "lib", "lib64", "include", "share", "pyvenv.cfg"],
    },
    Layout {
        name: "maven",
        marks: &["bin/mvn", "boot", "lib"],
        takes: &["bin", "boot", "lib", "conf/logging"],
    },
    Layout { name: "gradle", marks: &["bin/gradle", "lib"], takes: &["bin", "lib", "init.d"] },
    Layout {
        name: "dotnet",
        marks: &["dotnet", "shared", "host"],
        takes: &["dotnet", "host", "shared", "sdk", "sdk-manifests", "packs", "templates"],
    },
];

/// What is placed of a prefix that is known by nothing but its `bin`.
pub(super) const PREFIX: &[&str] = &["bin", "lib", "lib64", "libexec", "share", "include"];

/// Variables of the caller that name a toolchain's prefix; kept where it is in
/// the tree.
pub(super) const PREFIX_VARIABLES: &[&str] =
    &["JAVA_HOME", "GOROOT", "VIRTUAL_ENV", "CONDA_PREFIX"];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runtime::deny::Deny;
    use std::path::Path;

    #[test]
    fn no_row_takes_what_the_list_of_secrets_refuses() {
        let home = Path::new("/home/ann");
        let deny = Deny::new([home.to_path_buf()]);
        for tool in TOOLS {
            for root in tool.roots.iter().filter_map(|root| root.strip_prefix("~/")) {
                let takes = tool.takes.iter().filter(|take| !take.contains(['@', '!', '*']));
                for take in takes {
                    let path = home.join(root).join(take);
                    assert!(!deny.refuses(&path), "{}: {}", tool.name, path.display());
                }
            }
        }
    }

    #[test]
    fn every_row_can_come_into_use() {
        for tool in TOOLS {
            let known = !tool.on.is_empty() || !tool.programs.is_empty();
            assert!(known && !tool.roots.is_empty() && !tool.name.is_empty(), "{tool:?}");
            let wants_match = tool.takes.contains(&"@");
            assert!(!wants_match || !tool.on.is_empty(), "{tool:?}");
        }
    }
}
