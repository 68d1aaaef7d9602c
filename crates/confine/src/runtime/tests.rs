//! The whole runtime, found on hosts that tests make by hand.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use super::{Host, Runtime, Settings, find};
use crate::plan::{Entry, Gateway, Network, Route};

/// A host in a temporary directory, with the home directory `/home/ann`.
struct Fake {
    root: tempfile::TempDir,
    env: BTreeMap<OsString, OsString>,
    granted: Vec<PathBuf>,
    network: Network,
    pass: Vec<String>,
    set: BTreeMap<String, String>,
}

impl Fake {
    /// Makes a host of these paths: `dir/`, `file`, `program!` or `link -> text`.
    fn new(paths: &[&str]) -> Self {
        let root = tempfile::tempdir().unwrap();
        let usual =
            ["usr/bin/bash!", "usr/bin/git!", "usr/lib/", "bin -> usr/bin", "lib -> usr/lib"];
        for path in usual.iter().chain(paths) {
            make(root.path(), path);
        }
        let env = BTreeMap::new();
        let (granted, pass, set) = Default::default();
        Fake { root, env, granted, network: Network::Off, pass, set }.env("PATH", "/usr/bin:/bin")
    }

    fn env(mut self, name: &str, value: &str) -> Self {
        self.env.insert(name.into(), value.into());
        self
    }

    fn granted(mut self, path: &str) -> Self {
        self.granted.push(path.into());
        self
    }

    fn find(&self) -> Runtime {
        self.find_with(None)
    }

    fn find_with(&self, kept: Option<&Path>) -> Runtime {
        self.find_at(Path::new("/home/agent"), kept)
    }

    /// Finds the runtime for a home directory inside.
    fn find_at(&self, home: &Path, kept: Option<&Path>) -> Runtime {
        let host =
            Host { env: &self.env, home: Some(Path::new("/home/ann")), root: self.root.path() };
        find(
            &host,
            &Settings {
                home,
                user: "agent",
                uid: 1000,
                gid: 1000,
                hostname: "box",
                own_tree: true,
                network: &self.network,
                granted: &self.granted,
                pass_env: &self.pass,
                env: &self.set,
            },
            kept,
        )
    }
}

fn make(root: &Path, what: &str) {
    let (path, text) = match what.split_once(" -> ") {
        Some((path, text)) => (path, Some(text)),
        None => (what, None),
    };
    let at = root.join(path.trim_end_matches('!'));
    fs::create_dir_all(at.parent().unwrap()).unwrap();
    if let Some(text) = text {
        symlink(text, at).unwrap();
    } else if path.ends_with('/') {
        fs::create_dir_all(at).unwrap();
    } else {
        fs::write(&at, "").unwrap();
        let mode = if path.ends_with('!') { 0o755 } else { 0o644 };
        fs::set_permissions(at, fs::Permissions::from_mode(mode)).unwrap();
    }
}

/// Returns what is there of the host but the usual: `host`, `host=at` or `at>text`.
fn places(runtime: &Runtime) -> Vec<String> {
    let usual = ["/usr", "/bin>usr/bin", "/lib>usr/lib", "/etc/mtab>/proc/self/mounts"];
    let mut places: Vec<_> = runtime
        .entries
        .iter()
        .filter_map(|entry| match entry {
            Entry::Bind(bind) if bind.host == bind.at => Some(bind.host.display().to_string()),
            Entry::Bind(bind) => Some(format!("{}={}", bind.host.display(), bind.at.display())),
            Entry::Link { at, to } => Some(format!("{}>{}", at.display(), to.display())),
            Entry::Private { .. } | Entry::File { .. } => None,
        })
        .filter(|place| !usual.contains(&place.as_str()))
        .collect();
    places.sort();
    places
}

fn variable<'r>(runtime: &'r Runtime, name: &str) -> Option<&'r str> {
    runtime.env.get(OsStr::new(name)).and_then(|value| value.to_str())
}

fn content<'r>(runtime: &'r Runtime, path: &str) -> Option<&'r str> {
    runtime.entries.iter().find_map(|entry| match entry {
        Entry::File { at, content } if at == Path::new(path) => Some(content.as_str()),
        _ => None,
    })
}

#[test]
fn toolchains_are_placed_and_nothing_beside_them() {
    let cases: &[(&str, &[&str], &str, &[&str])] = &[
        (
            "system only",
            &["home/ann/.ssh/id_rsa", "etc/shadow", "etc/ssl/private/k"],
            "/usr/bin",
            &[],
        ),
        (
            "rustup",
            &[
                "home/ann/.cargo/bin/rustup!",
                "home/ann/.cargo/bin/cargo -> rustup",
                "home/ann/.cargo/credentials.toml",
                "home/ann/.cargo/registry/cache/r/a-1.0.0.crate",
                "home/ann/.cargo/registry/src/r/a-1.0.0/",
                "home/ann/.rustup/toolchains/stable/",
                "home/ann/.rustup/downloads/",
            ],
            "/home/ann/.cargo/bin:/usr/bin",
            &[
                "/home/ann/.cargo/bin",
                "/home/ann/.cargo/registry/cache=/home/agent/.cargo/registry/cache",
                "/home/ann/.cargo/registry/src=/home/agent/.cargo/registry/src",
                "/home/ann/.rustup/toolchains",
            ],
        ),
        (
            "a crate that is not unpacked",
            &[
                "usr/bin/cargo!",
                "home/ann/.cargo/registry/cache/r/a-1.0.0.crate",
                "home/ann/.cargo/registry/cache/r/b-1.0.0.crate",
                "home/ann/.cargo/registry/src/r/a-1.0.0/",
            ],
            "/usr/bin",
            &["/home/ann/.cargo/registry/cache=/home/agent/.cargo/registry/cache"],
        ),
        (
            "one version of nvm",
            &[
                "home/ann/.nvm/versions/node/v20/bin/node!",
                "home/ann/.nvm/versions/node/v18/bin/node!",
            ],
            "/home/ann/.nvm/versions/node/v20/bin",
            &["/home/ann/.nvm/versions/node/v20"],
        ),
        (
            "fnm, through a link in a private directory",
            &[
                "home/ann/.local/share/fnm/node-versions/v20/installation/bin/node!",
                "run/user/1/fnm/7 -> /home/ann/.local/share/fnm/node-versions/v20/installation",
            ],
            "/run/user/1/fnm/7/bin",
            &[
                "/home/ann/.local/share/fnm/node-versions/v20/installation",
                "/run/user/1/fnm/7>/home/ann/.local/share/fnm/node-versions/v20/installation",
            ],
        ),
        (
            "links of ~/.local/bin",
            &[
                "home/ann/.local/bin/uv!",
                "home/ann/.local/share/keyrings/a",
                "home/ann/.local/bin/ruff -> ../share/uv/tools/ruff/bin/ruff",
                "home/ann/.local/share/uv/tools/ruff/bin/ruff!",
                "home/ann/.local/bin/mine -> /home/ann/src/mine/run",
                "home/ann/src/mine/run!",
                "home/ann/src/mine/.env",
                "home/ann/.local/bin/key -> /home/ann/.ssh/id_rsa",
                "home/ann/.ssh/id_rsa!",
                "home/ann/.local/bin/text -> /home/ann/notes",
                "home/ann/notes",
            ],
            "/home/ann/.local/bin",
            &[
                "/home/ann/.local/bin",
                "/home/ann/.local/share/uv/tools/ruff",
                "/home/ann/src/mine/run",
            ],
        ),
        (
            "sdkman, through its link",
            &[
                "home/ann/.sdkman/candidates/java/17/bin/java!",
                "home/ann/.sdkman/candidates/java/current -> 17",
            ],
            "/home/ann/.sdkman/candidates/java/current/bin",
            &[
                "/home/ann/.sdkman/candidates/java/17",
                "/home/ann/.sdkman/candidates/java/current>17",
            ],
        ),
        (
            "go modules",
            &[
                "opt/go/bin/go!",
                "opt/go/pkg/tool/",
                "opt/go/VERSION",
                "home/ann/go/pkg/mod/github.com/x/",
                "home/ann/go/pkg/mod/cache/download/",
                "home/ann/go/pkg/mod/cache/vcs/1/config",
            ],
            "/opt/go/bin",
            &["/home/ann/go/pkg/mod/cache/download", "/home/ann/go/pkg/mod/github.com", "/opt/go"],
        ),
        (
            "an unknown prefix",
            &["opt/x/bin/x!", "opt/x/lib/a", "opt/x/etc/password", "opt/y/secret"],
            "/opt/x/bin",
            &["/opt/x/bin", "/opt/x/lib"],
        ),
        ("~/bin", &["home/ann/bin/x!", "home/ann/lib/y"], "/home/ann/bin", &["/home/ann/bin"]),
        (
            "a directory of mixed files",
            &["home/ann/stuff/x!", "home/ann/stuff/notes", "home/ann/stuff/.env"],
            "/home/ann/stuff",
            &["/home/ann/stuff/x"],
        ),
        ("the home directory", &["home/ann/notes"], "/home/ann:/home:/", &[]),
        (
            "secrets",
            &["home/ann/.ssh/bin/x!", "run/wrappers/bin/sudo!"],
            "/home/ann/.ssh/bin:/run/wrappers/bin",
            &[],
        ),
        (
            "a link of the system to /opt",
            &[
                "usr/bin/java -> /etc/alternatives/java",
                "etc/alternatives/java -> /opt/jdk/bin/java",
                "opt/jdk/bin/java!",
                "opt/jdk/release",
            ],
            "/usr/bin",
            &["/etc/alternatives", "/opt/jdk"],
        ),
        (
            "nix",
            &[
                "nix/store/a/bin/x!",
                "home/ann/.nix-profile -> /nix/var/p",
                "nix/var/p -> /nix/store/a",
            ],
            "/home/ann/.nix-profile/bin",
            &["/home/ann/.nix-profile>/nix/var/p", "/nix/store", "/nix/var/p>/nix/store/a"],
        ),
        (
            "dotnet",
            &["home/ann/.dotnet/dotnet!", "home/ann/.dotnet/shared/", "home/ann/.dotnet/corefx/k"],
            "/home/ann/.dotnet",
            &["/home/ann/.dotnet/dotnet", "/home/ann/.dotnet/shared"],
        ),
        (
            "another's home",
            &["home/bob/.cargo/bin/x!", "home/bob/.ssh/id"],
            "/home/bob/.cargo/bin:/home/bob/.ssh",
            &["/home/bob/.cargo/bin"],
        ),
    ];
    for (name, paths, path, want) in cases {
        let fake = Fake::new(paths).env("PATH", path);
        assert_eq!(places(&fake.find()), *want, "{name}");
    }
}

#[test]
fn only_what_is_listed_comes_from_etc() {
    let fake = Fake::new(&[
        "etc/shadow",
        "etc/ssl/private/key",
        "etc/ssl/certs/a.pem",
        "etc/npmrc",
        "etc/passwd",
        "etc/localtime -> /usr/share/zoneinfo/UTC",
        "usr/share/zoneinfo/UTC",
        "etc/java-17/security/",
        "etc/java-17/management/jmxremote.password",
        "etc/timezone -> /data/zone",
        "data/zone",
        "etc/R/Renviron",
        "etc/R/Renviron.site",
        "etc/chromium.d/apikeys",
        "etc/chromium.d/default-flags",
    ]);
    let want = [
        "/data/zone=/etc/timezone",
        "/etc/R/Renviron",
        "/etc/chromium.d/default-flags",
        "/etc/java-17/security",
        "/etc/localtime>/usr/share/zoneinfo/UTC",
        "/etc/ssl/certs",
    ];
    assert_eq!(places(&fake.find()), want);
}

#[test]
fn the_path_has_nothing_that_a_command_could_plant() {
    let paths = [
        "w/bin/git!",
        "w/node_modules/.bin/x!",
        "w/.venv/bin/y!",
        "w/.venv/pyvenv.cfg",
        "open/bin/z!",
        "home/ann/tool/bin/t!",
    ];
    let cases = [
        (".:/usr/bin", "/usr/bin"),
        ("::bin:/usr/bin:/usr/bin", "/usr/bin"),
        ("/w/bin:/usr/bin", "/usr/bin"),
        (
            "/w/node_modules/.bin:/w/.venv/bin:/usr/bin",
            "/usr/bin:/w/node_modules/.bin:/w/.venv/bin",
        ),
        ("/open/bin:/usr/bin", "/usr/bin"),
        ("/missing:/home/ann/tool/bin:/bin", "/home/ann/tool/bin:/bin"),
        ("", "/usr/local/bin:/usr/bin:/bin"),
    ];
    for (path, want) in cases {
        let fake = Fake::new(&paths).env("PATH", path).granted("/w");
        let open = fs::Permissions::from_mode(0o777);
        fs::set_permissions(fake.root.path().join("open/bin"), open).unwrap();
        assert_eq!(variable(&fake.find(), "PATH"), Some(want), "{path}");
    }
}

#[test]
fn planted_links_lead_to_interpreters_only() {
    let fake = Fake::new(&[
        "w/.venv/bin/python -> /home/ann/.pyenv/versions/3.12/bin/python",
        "w/.venv/bin/a -> /home/ann/notes",
        "home/ann/notes!",
        "w/.venv/bin/b -> /home/ann/.cargo/bin/x",
        "home/ann/.cargo/bin/x!",
        "w/.venv/bin/c -> /home/ann/.ssh/id_rsa",
        "home/ann/.ssh/id_rsa!",
        "home/ann/.pyenv/versions/3.12/bin/python!",
        "home/ann/.pyenv/versions/3.11/bin/python!",
    ])
    .granted("/w");
    assert_eq!(places(&fake.find()), ["/home/ann/.pyenv/versions/3.12"]);
}

#[test]
fn what_is_granted_is_not_placed_again() {
    let fake = Fake::new(&["home/ann/.cargo/bin/cargo!", "home/ann/.cargo/registry/cache/"])
        .env("PATH", "/home/ann/.cargo/bin:/usr/bin")
        .granted("/home/ann");
    assert_eq!(places(&fake.find()), [""; 0]);
}

#[test]
fn a_home_behind_a_link_is_guarded_under_both_names() {
    let fake = Fake::new(&["home/ann -> /data/ann", "data/ann/.ssh/bin/x!", "data/ann/bin/y!"])
        .env("PATH", "/data/ann/.ssh/bin:/home/ann/bin:/data/ann");
    assert_eq!(places(&fake.find()), ["/data/ann/bin", "/home/ann>/data/ann"]);
}

#[test]
fn settings_of_cargo_are_shared_only_without_secrets() {
    for (text, shared) in [
        ("[source.x]\nregistry = \"https://mirror/\"", true),
        ("[registries.x]\ntoken = \"t\"", false),
        ("[http]\nproxy = \"http://ann:word@proxy\"", false),
    ] {
        let fake = Fake::new(&["usr/bin/cargo!", "home/ann/.cargo/config.toml"]);
        fs::write(fake.root.path().join("home/ann/.cargo/config.toml"), text).unwrap();
        let places = places(&fake.find());
        assert_eq!(places.iter().any(|place| place.contains("config.toml")), shared, "{text}");
    }
}

#[test]
fn settings_with_secrets_are_cut_out_of_a_version() {
    let node = "home/ann/.nvm/versions/node/v20";
    for (text, whole) in [("prefix=/x", true), ("//r/:_authToken=t", false)] {
        let fake = Fake::new(&[
            "home/ann/.nvm/versions/node/v20/bin/node!",
            "home/ann/.nvm/versions/node/v20/etc/npmrc",
            "home/ann/.nvm/versions/node/v20/etc/other",
        ])
        .env("PATH", "/home/ann/.nvm/versions/node/v20/bin");
        fs::write(fake.root.path().join(node).join("etc/npmrc"), text).unwrap();
        let parts = ["/bin", "/etc/other"].map(|part| format!("/{node}{part}"));
        let want = if whole { vec![format!("/{node}")] } else { parts.to_vec() };
        assert_eq!(places(&fake.find()), want, "{text}");
    }
}

#[test]
fn the_environment_is_made_and_not_inherited() {
    let mut fake = Fake::new(&["home/ann/.gitconfig", "opt/jdk/bin/java!", "opt/jdk/release"])
        .env("AWS_SECRET_ACCESS_KEY", "s")
        .env("SSH_AUTH_SOCK", "/run/a")
        .env("LD_PRELOAD", "/x.so")
        .env("LC_TIME", "C")
        .env("CI", "1")
        .env("SSL_CERT_FILE", "/home/ann/cert")
        .env("JAVA_HOME", "/opt/jdk")
        .env("GOROOT", "/home/ann");
    fs::write(fake.root.path().join("home/ann/.gitconfig"), "[user]\nname = Ann").unwrap();
    fake.pass = vec!["CI".into(), "LD_PRELOAD".into(), "UNSET".into()];
    fake.set = [("HOME", "/x"), ("USER", "me"), ("LD_LIBRARY_PATH", "/l"), ("A=B", "c")]
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .into();
    let runtime = fake.find();
    let cases = [
        ("AWS_SECRET_ACCESS_KEY", None),
        ("SSH_AUTH_SOCK", None),
        ("LD_PRELOAD", None),
        ("LD_LIBRARY_PATH", Some("/l")),
        ("SSL_CERT_FILE", None),
        ("GOROOT", None),
        ("A=B", None),
        ("CI", Some("1")),
        ("LC_TIME", Some("C")),
        ("HOME", Some("/home/agent")),
        ("USER", Some("me")),
        ("SHELL", Some("/bin/bash")),
        ("JAVA_HOME", Some("/opt/jdk")),
        ("CARGO_HOME", Some("/home/agent/.cargo")),
        ("CARGO_NET_OFFLINE", Some("true")),
        ("GIT_TEMPLATE_DIR", Some("")),
        ("GIT_CONFIG_SYSTEM", Some("/etc/gitconfig")),
        ("GIT_CONFIG_COUNT", Some("3")),
        ("GIT_CONFIG_VALUE_0", Some("*")),
        ("GIT_CONFIG_KEY_1", Some("maintenance.autoDetach")),
        ("GIT_CONFIG_VALUE_1", Some("false")),
        ("GIT_CONFIG_KEY_2", Some("gc.autoDetach")),
        ("GIT_CONFIG_VALUE_2", Some("false")),
    ];
    for (name, value) in cases {
        assert_eq!(variable(&runtime, name), value, "{name}");
    }
    let git = content(&runtime, "/etc/gitconfig").unwrap();
    assert!(git.starts_with("[user]\n\tname = \"Ann\"\n[user]\n\temail = \"agent@localhost\"\n"));
}

#[test]
fn a_home_at_the_hosts_path_has_its_caches_at_theirs() {
    let paths = ["usr/bin/cargo!", "home/ann/.cargo/registry/cache/", "data/cargo/registry/cache/"];
    let private = |runtime: &Runtime| -> Vec<PathBuf> {
        let entries = runtime.entries.iter();
        let private = entries.filter(|entry| matches!(entry, Entry::Private { .. }));
        private.map(|entry| entry.at().to_owned()).collect()
    };
    let home = Path::new("/home/ann");
    let plain = Fake::new(&paths).find_at(home, None);
    assert_eq!(variable(&plain, "HOME"), Some("/home/ann"));
    assert_eq!(variable(&plain, "CARGO_HOME"), Some("/home/ann/.cargo"));
    assert_eq!(places(&plain), ["/home/ann/.cargo/registry/cache"]);
    assert_eq!(private(&plain), [""; 0].map(PathBuf::from));

    let fake = Fake::new(&paths)
        .env("CARGO_HOME", "/data/cargo")
        .env("GOPATH", "/data/go:/data/more")
        .env("GOCACHE", "/data/go/cache")
        .env("PIP_CACHE_DIR", "/work/pip")
        .granted("/work");
    let moved = fake.find_at(home, None);
    let cases = [
        ("CARGO_HOME", "/data/cargo"),
        ("GOPATH", "/data/go"),
        ("GOCACHE", "/data/go/cache"),
        ("PIP_CACHE_DIR", "/work/pip"),
        ("XDG_CACHE_HOME", "/home/ann/.cache"),
    ];
    for (name, value) in cases {
        assert_eq!(variable(&moved, name), Some(value), "{name}");
    }
    assert_eq!(places(&moved), ["/data/cargo/registry/cache"]);
    assert_eq!(private(&moved), ["/data/cargo", "/data/go"].map(PathBuf::from));
    // With another home all of them are in it.
    let other = fake.find();
    assert_eq!(variable(&other, "CARGO_HOME"), Some("/home/agent/.cargo"));
    assert_eq!(private(&other), [""; 0].map(PathBuf::from));
}

#[test]
fn no_variable_of_the_caller_hides_the_system_or_what_is_granted() {
    for value in [
        "/",
        "/home",
        "/usr/local/cargo",
        "/etc/x",
        "/proc",
        "/work",
        "rel",
        "",
        "/a/../b",
        "/way",
        "/way/new",
    ] {
        let fake =
            Fake::new(&["data/", "way -> /data"]).env("CARGO_HOME", value).granted("/work/project");
        let found = fake.find_at(Path::new("/home/ann"), None);
        assert_eq!(variable(&found, "CARGO_HOME"), Some("/home/ann/.cargo"), "{value}");
        let private = |entry: &Entry| matches!(entry, Entry::Private { .. });
        assert!(!found.entries.iter().any(private), "{value}");
    }
}

#[test]
fn the_network_decides_about_names_and_caches() {
    let paths = [
        "etc/resolv.conf -> /run/r",
        "run/r",
        "etc/hosts",
        "usr/bin/cargo!",
        "home/ann/.cargo/registry/index/r/",
    ];
    let mut fake = Fake::new(&paths);
    let off = fake.find();
    assert_eq!(content(&off, "/etc/resolv.conf"), Some(""));
    assert!(content(&off, "/etc/hosts").unwrap().starts_with("127.0.0.1 localhost box\n"));
    assert_eq!(
        places(&off),
        ["/home/ann/.cargo/registry/index/r=/home/agent/.cargo/registry/index/r"]
    );

    fake.network = Network::Host;
    let on = fake.find();
    assert_eq!(content(&on, "/etc/hosts"), None);
    assert_eq!(places(&on), ["/etc/hosts", "/run/r=/etc/resolv.conf"]);
    assert_eq!(variable(&on, "CARGO_NET_OFFLINE"), None);

    fake.network = Network::Gate(Gateway::default());
    let gate = fake.find();
    let resolver = "nameserver 127.0.0.1\noptions timeout:2 attempts:2\n";
    assert_eq!(content(&gate, "/etc/resolv.conf"), Some(resolver));
    assert_eq!(content(&gate, "/etc/hosts"), content(&off, "/etc/hosts"));
    assert!(content(&gate, "/etc/nsswitch.conf").unwrap().contains("hosts: files dns\n"));
    assert_eq!(places(&gate), Vec::<String>::new());
    assert_eq!(gate.env, on.env);

    // Without a tree of its own, files are the host's.
    fake.network = Network::Gate(Gateway { proxy: Some(1), ..Gateway::default() });
    assert_eq!(fake.find(), on);
}

/// Finds with a directory to keep things in, after what was made has settled.
fn settled(fake: &Fake, kept: &Path) -> Runtime {
    // What changed just now is never kept.
    std::thread::sleep(std::time::Duration::from_millis(2100));
    fake.find_with(Some(kept))
}

fn kept_files(dir: &Path) -> Vec<PathBuf> {
    fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path()).collect()
}

/// Adds a note to what is kept.
fn mark(kept: &Path, text: &str) {
    let file = &kept_files(kept)[0];
    let whole = fs::read_to_string(file).unwrap();
    let at = whole.rfind("\"notes\":[").unwrap() + "\"notes\":[".len();
    let comma = if whole[at..].starts_with(']') { "" } else { "," };
    fs::write(file, format!("{}\"{text}\"{comma}{}", &whole[..at], &whole[at..])).unwrap();
}

#[test]
fn what_was_found_is_kept_and_found_again_only_while_it_is_true() {
    let fake = Fake::new(&["home/ann/.cargo/bin/cargo!", "home/ann/.gitconfig"])
        .env("PATH", "/home/ann/.cargo/bin:/usr/bin:/bin");
    let kept = tempfile::tempdir().unwrap();
    let first = settled(&fake, kept.path());
    assert_eq!(first, fake.find());
    let files = kept_files(kept.path());
    assert_eq!(files.len(), 1, "{files:?}");

    // What is kept is what is used: a note that nobody could have found shows it.
    let mark = |text: &str| mark(kept.path(), text);
    mark("kept");
    assert!(fake.find_with(Some(kept.path())).notes.contains(&"kept".to_owned()));

    // Each of these is a reason to look again.
    type Change<'c> = (&'c str, &'c dyn Fn(&Path));
    let changes: [Change<'_>; 4] = [
        ("a program more", &|root| make(root, "home/ann/.cargo/bin/rustc!")),
        ("a program less", &|root| {
            fs::remove_file(root.join("home/ann/.cargo/bin/rustc")).unwrap()
        }),
        ("a text changed", &|root| {
            fs::write(root.join("home/ann/.gitconfig"), "[user]\nname = X").unwrap()
        }),
        ("a directory that everybody can write to", &|root| {
            let dir = root.join("home/ann/.cargo/bin");
            fs::set_permissions(dir, fs::Permissions::from_mode(0o777)).unwrap();
        }),
    ];
    for (name, change) in changes {
        settled(&fake, kept.path());
        mark("stale");
        assert!(fake.find_with(Some(kept.path())).notes.contains(&"stale".to_owned()), "{name}");
        change(fake.root.path());
        let now = fake.find_with(Some(kept.path()));
        assert!(!now.notes.contains(&"stale".to_owned()), "{name}");
        assert_eq!(now, fake.find(), "{name}");
    }
}

#[test]
fn what_is_closed_to_the_user_and_names_of_any_kind_are_kept_too() {
    let fake = Fake::new(&["home/bob/bin/tool!", "opt/odd\n=1 name/bin/tool!"])
        .env("PATH", "/home/bob/bin:/opt/odd\n=1 name/bin:/usr/bin:/bin");
    let bob = fake.root.path().join("home/bob");
    let close = |mode| fs::set_permissions(&bob, fs::Permissions::from_mode(mode)).unwrap();
    close(0o000);
    let kept = tempfile::tempdir().unwrap();
    let first = settled(&fake, kept.path());
    mark(kept.path(), "kept");
    let again = fake.find_with(Some(kept.path()));
    assert!(again.notes.contains(&"kept".to_owned()), "{again:?}");
    assert_eq!(places(&first), places(&again));

    close(0o755);
    let now = fake.find_with(Some(kept.path()));
    assert!(!now.notes.contains(&"kept".to_owned()), "{now:?}");
    assert_eq!(now, fake.find());
    settled(&fake, kept.path());
    mark(kept.path(), "kept");
    make(fake.root.path(), "opt/odd\n=1 name/bin/more!");
    let now = fake.find_with(Some(kept.path()));
    assert!(!now.notes.contains(&"kept".to_owned()), "{now:?}");
}

#[test]
fn nothing_is_kept_of_what_the_project_passes_on() {
    let mut fake = Fake::new(&["usr/bin/ls!"]).env("TOKEN", "hidden-1").env("OTHER", "hidden-2");
    fake.pass = vec!["TOKEN".into()];
    fake.set = BTreeMap::from([("KEY".to_owned(), "hidden-3".to_owned())]);
    let kept = tempfile::tempdir().unwrap();
    for _ in 0..2 {
        let found = settled(&fake, kept.path());
        assert_eq!(variable(&found, "TOKEN"), Some("hidden-1"));
        assert_eq!(variable(&found, "KEY"), Some("hidden-3"));
    }
    let files = kept_files(kept.path());
    assert_eq!(files.len(), 1, "{files:?}");
    let text = fs::read_to_string(&files[0]).unwrap();
    assert!(!text.contains("hidden"), "{text}");
}

#[test]
fn what_is_kept_is_for_one_kind_of_network() {
    let mut fake = Fake::new(&["usr/bin/ls!", "etc/hosts"]);
    let kept = tempfile::tempdir().unwrap();
    let gate = |base: &str, proxy| {
        let routes = vec![Route { base: base.parse().unwrap(), bits: 32 }];
        Network::Gate(Gateway { routes, proxy, ..Gateway::default() })
    };
    let kinds = [
        (Network::Off, 1),
        (Network::Host, 2),
        (gate("198.18.0.1", None), 3),
        (gate("198.18.0.2", None), 3),
        (gate("198.18.0.1", Some(4000)), 4),
        (gate("198.18.0.1", Some(4001)), 4),
        (Network::Off, 4),
    ];
    settled(&fake, kept.path());
    for (network, files) in kinds {
        fake.network = network;
        assert_eq!(fake.find_with(Some(kept.path())), fake.find());
        assert_eq!(kept_files(kept.path()).len(), files, "{:?}", fake.network);
    }
}

#[test]
fn what_is_kept_badly_is_found_anew() {
    let fake = Fake::new(&["usr/bin/ls!"]);
    let kept = tempfile::tempdir().unwrap();
    let first = settled(&fake, kept.path());
    for text in
        ["", "{}", "[", "{\"key\":\"x\",\"seen\":[],\"entries\":[],\"env\":{},\"notes\":[]}"]
    {
        fs::write(&kept_files(kept.path())[0], text).unwrap();
        assert_eq!(fake.find_with(Some(kept.path())), first, "{text}");
    }
    // Where nothing can be kept, everything is found all the same.
    assert_eq!(fake.find_with(Some(&kept.path().join("missing"))), first);
}
