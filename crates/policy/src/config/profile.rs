//! Profiles of agents: what one agent needs to run inside a sandbox as a whole.
//!
//! A profile is a data file, with keys of its own and the project file's keys for hosts,
//! secrets, variables and guards. `--profile NAME` puts the latter into the tree of the
//! project file, where they are held to the same rules as what other flags add.

use std::collections::BTreeMap;

use super::check;
use super::keys::PROFILE;
use super::network;
use super::problem::{Mark, Problem, Problems, Source};
use super::secrets;
use super::suggest;
use super::yaml::{self, Node, Origin};
use crate::hosts::HostPattern;
use crate::path::is_plain_name;
use crate::policy::is_never_passed;
use crate::secret::Secret;

/// The profiles that the program brings, by name.
const BUILT_IN: [(&str, &str); 7] = [
    ("aider", include_str!("profiles/aider.yaml")),
    ("claude-code", include_str!("profiles/claude-code.yaml")),
    ("codex", include_str!("profiles/codex.yaml")),
    ("gemini", include_str!("profiles/gemini.yaml")),
    ("goose", include_str!("profiles/goose.yaml")),
    ("opencode", include_str!("profiles/opencode.yaml")),
    ("qwen", include_str!("profiles/qwen.yaml")),
];

/// What one agent needs to run inside a sandbox as a whole. Paths are below the home
/// directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentProfile {
    /// The name of the profile.
    pub name: String,
    /// The agent, for people.
    pub about: String,
    /// The file name of its program.
    pub program: String,
    /// Arguments that come before the user's, such as the switch that turns its own sandbox off.
    pub args: Vec<String>,
    /// Directories that are private to the sandbox and kept between runs.
    pub keep: Vec<String>,
    /// Files and directories of the user that are copied into the sandbox. Changes wait for
    /// the user; what lies in no kept directory is read-only.
    pub settings: Vec<String>,
    /// Files that are never copied.
    pub credentials: Vec<String>,
    /// Files and directories in those of `settings` that the agent makes for itself: they are
    /// neither copied nor held.
    pub except: Vec<String>,
    /// Files of kept directories that are made where they are missing, with their content.
    pub files: BTreeMap<String, String>,
    /// Variables that name a path below the home directory inside.
    pub home_env: BTreeMap<String, String>,
    /// Variables of the user that are passed on.
    pub pass_env: Vec<String>,
    /// Keys, by the variable that holds the placeholder inside. Those whose variable is not
    /// set outside should be removed before use.
    pub secrets: BTreeMap<String, Secret>,
    /// What goes into the tree of the project file.
    root: Node,
}

impl AgentProfile {
    /// Returns the names of the profiles that the program brings.
    pub fn names() -> impl Iterator<Item = &'static str> {
        BUILT_IN.iter().map(|(name, _)| *name)
    }

    /// Returns the text of a profile that the program brings.
    pub fn built_in(name: &str) -> Option<&'static str> {
        BUILT_IN.iter().find(|(known, _)| *known == name).map(|(_, text)| *text)
    }

    /// Returns the names that a misspelt one may have been meant to be, as a hint.
    pub fn hint(name: &str, known: &[&str]) -> String {
        suggest::hint(name, "profiles", known)
    }

    /// Reads a profile; `file` is the name to show.
    pub fn parse(name: &str, text: &str, file: &str) -> Result<Self, Vec<Problem>> {
        let mut problems = Problems::default();
        let shown = Origin::whole(Source::File(file.into()));
        let profile = yaml::parse(text, &shown, &mut problems)
            .map(|root| AgentProfile::of(name, &root, &mut problems));
        // The same tree with the flag as its source: the user named it.
        let origin = Origin::whole(Source::Flag(flag(name).into()));
        let root = yaml::parse(text, &origin, &mut Problems::default());
        match (profile, root) {
            (Some(profile), Some(root)) if !problems.any_error() => {
                Ok(AgentProfile { root, ..profile })
            }
            _ => Err(problems.sorted(file)),
        }
    }

    fn of(name: &str, root: &Node, problems: &mut Problems) -> Self {
        check::check(root, &PROFILE, "", problems);
        let text = |key: &str| root.get(key).and_then(Node::text).unwrap_or_default().to_owned();
        let list = |key: &str| -> Vec<(String, Mark)> {
            let items = root.get(key).and_then(Node::items).unwrap_or_default();
            items.iter().filter_map(|n| Some((n.text()?.to_owned(), n.mark.clone()))).collect()
        };
        let map = |key: &str| -> Vec<(String, String, Mark)> {
            let entries = root.get(key).into_iter().flat_map(Node::entries);
            let known = |(key, node): (&yaml::Key, &Node)| {
                Some((key.text.clone(), node.text()?.to_owned(), key.mark.clone()))
            };
            entries.filter_map(known).collect()
        };
        let hosts = network::allowed(root.get("hosts"), problems);
        let secrets =
            root.get("secrets").map(|n| secrets::secrets(n, problems)).unwrap_or_default();
        for (name, secret) in &secrets {
            let listed = |host: &HostPattern| hosts.iter().any(|listed| listed.value == *host);
            for host in secret.value.hosts.iter().filter(|host| !listed(host)) {
                let mark = Mark::of(&secret.at, name.chars().count());
                let message = format!("the secret '{name}' is for '{host}', which hosts lacks");
                problems.error("bad_host", &mark, message).hint(format!("add {host} to hosts"));
            }
        }
        let paths = |list: Vec<(String, Mark)>, problems: &mut Problems| -> Vec<String> {
            let good = |(path, mark): &(String, Mark)| check_path(path, mark, problems);
            list.into_iter().filter(good).map(|(path, _)| path).collect()
        };
        let mut good = |list: Vec<(String, Mark)>| paths(list, problems);
        let (keep, settings) = (good(list("keep")), good(list("settings")));
        let (credentials, except) = (good(list("credentials")), good(list("except")));
        let (files, home_env) = (map("files"), map("home_env"));
        good(files.iter().map(|(path, _, mark)| (path.clone(), mark.clone())).collect());
        good(home_env.iter().map(|(_, path, mark)| (path.clone(), mark.clone())).collect());
        for (path, _, mark) in &files {
            if !keep.iter().any(|dir| is_below(path, dir)) {
                let message = format!("the file '{path}' lies in no directory of keep");
                problems.error("bad_path", mark, message).hint("add its directory to keep");
            }
        }
        for (path, mark) in list("settings") {
            if credentials.iter().any(|secret| is_below(&path, secret)) {
                let message = format!("'{path}' is in credentials, which are never copied");
                problems.error("conflict", &mark, message).hint("remove it from settings");
            }
        }
        for (name, mark) in list("pass_env") {
            if is_never_passed(&name) || secrets.values().any(|secret| secret.value.env == name) {
                let message = format!("'{name}' cannot be passed on");
                problems.error("bad_value", &mark, message).hint("remove it from pass_env");
            }
        }
        AgentProfile {
            name: name.to_owned(),
            about: text("about"),
            program: text("program"),
            args: list("args").into_iter().map(|(arg, _)| arg).collect(),
            keep,
            settings,
            credentials,
            except,
            files: files.into_iter().map(|(path, content, _)| (path, content)).collect(),
            home_env: home_env.into_iter().map(|(name, path, _)| (name, path)).collect(),
            pass_env: list("pass_env").into_iter().map(|(name, _)| name).collect(),
            secrets: secrets.into_iter().map(|(name, secret)| (name, secret.value)).collect(),
            root: root.clone(),
        }
    }

    /// Returns whether a path is never copied: it lies in `credentials`, or has a name that
    /// keys and tokens go by.
    pub fn is_credential(&self, path: &str) -> bool {
        let name = path.rsplit('/').next().unwrap_or(path).to_ascii_lowercase();
        let ends = [".pem", ".key", ".p12", ".env"].iter().any(|end| name.ends_with(end));
        let begins = [".env.", "oauth", "auth.", "id_rsa", "id_ed25519", "token"];
        let named = ["credential", "secret", ".netrc", "oauth-token"];
        self.credentials.iter().any(|secret| is_below(path, secret))
            || ends
            || begins.iter().any(|begin| name.starts_with(begin))
            || named.iter().any(|word| name.contains(word))
    }

    /// Returns whether the agent makes a path for itself.
    pub fn is_excepted(&self, path: &str) -> bool {
        self.except.iter().any(|dir| is_below(path, dir))
    }

    /// Returns the kept directory that a path lies in.
    pub fn kept(&self, path: &str) -> Option<&str> {
        self.keep.iter().map(String::as_str).find(|dir| is_below(path, dir))
    }

    /// Returns the value of a key that goes into the project file.
    pub(super) fn node(&self, key: &str) -> Option<&Node> {
        self.root.get(key)
    }
}

/// Returns the flag that names a profile, as it is shown.
pub(super) fn flag(name: &str) -> String {
    format!("--profile {name}")
}

/// Returns whether a path is `dir`, or lies in it.
fn is_below(path: &str, dir: &str) -> bool {
    path.strip_prefix(dir).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

fn check_path(path: &str, mark: &Mark, problems: &mut Problems) -> bool {
    let good = path.split('/').all(|name| is_plain_name(name.as_bytes()));
    if !good {
        let message = format!("'{path}' is no path below the home directory");
        problems.error("bad_path", mark, message).hint("write names alone, such as .config/agent");
    }
    good
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::config::{Overrides, defaults, load};
    use crate::guard::Guard;
    use crate::policy::{Network, Policy};
    use crate::source::At;

    fn built_in(name: &str) -> AgentProfile {
        let text = AgentProfile::built_in(name).unwrap();
        AgentProfile::parse(name, text, name).unwrap_or_else(|found| panic!("{found:#?}"))
    }

    fn with(profile: &AgentProfile, text: &str) -> Policy {
        let profile = Some(profile.clone());
        let overrides = Overrides { profile, ..Overrides::default() };
        let loaded = match text {
            "" => defaults(Path::new("/project"), &overrides),
            text => load(text, "zonekeep.yaml", Path::new("/project/zonekeep.yaml"), &overrides),
        };
        loaded.policy.unwrap_or_else(|| panic!("{:#?}", loaded.problems))
    }

    #[test]
    fn every_profile_opens_named_hosts_and_copies_no_credential() {
        assert!(AgentProfile::names().is_sorted());
        for name in AgentProfile::names() {
            let profile = built_in(name);
            let policy = with(&profile, "");
            let Network::Hosts(hosts) = &policy.network.value else { panic!("{name}") };
            assert!(!hosts.allow.is_empty() && hosts.presets.is_empty(), "{name}");
            for host in &hosts.allow {
                let text = host.value.to_string();
                let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-');
                assert!(text.contains('.') && text.chars().all(plain), "{name}: {text}");
                assert_eq!(host.at, At::flag(format!("--profile {name}")), "{name}");
            }
            assert!(!policy.secrets.is_empty(), "{name}: no key");
            for (key, secret) in &policy.secrets {
                assert!(matches!(secret.at, At::Flag(_)), "{name}");
                assert_eq!(secret.value.env, *key, "{name}: the variable that the agent reads");
                let listed =
                    |host: &HostPattern| hosts.allow.iter().any(|listed| listed.value == *host);
                assert!(secret.value.hosts.iter().all(listed), "{name}: {key}");
            }
            for path in &profile.settings {
                assert!(!profile.is_credential(path), "{name}: {path}");
            }
            assert!(!profile.credentials.is_empty(), "{name}");
            assert!(profile.credentials.iter().all(|path| profile.is_credential(path)), "{name}");
            assert!(!profile.keep.is_empty() && !profile.settings.is_empty(), "{name}");
            // Nothing that the program guards by itself is guarded less.
            let usual = Policy::empty("/project");
            for (key, node) in profile.node("guard").into_iter().flat_map(Node::entries) {
                let level = |policy: &Policy| {
                    policy
                        .guards
                        .entries()
                        .iter()
                        .find(|entry| entry.pattern == key.text)
                        .map(|entry| entry.guard.value)
                };
                let order = |guard: Guard| {
                    [Guard::Allow, Guard::Report, Guard::Ask, Guard::Block]
                        .iter()
                        .position(|one| *one == guard)
                };
                let (was, is) = (level(&usual), level(&policy));
                assert!(was.map(order) <= is.map(order), "{name}: {} {node:?}", key.text);
            }
        }
    }

    #[test]
    fn a_profile_joins_the_project_file_and_beats_its_secrets() {
        let profile = built_in("claude-code");
        let file = "sandbox:\n  network: { allow: [a.test], deny: [b.test] }\n  \
                    env: { IS_SANDBOX: '0', MINE: '1' }\n  guard: { .mcp.json: block }\n  \
                    secrets: { ANTHROPIC_API_KEY: { env: OTHER, hosts: [a.test] } }\n";
        let policy = with(&profile, file);
        let Network::Hosts(hosts) = &policy.network.value else { panic!() };
        let names: Vec<String> = hosts.allow.iter().map(|host| host.value.to_string()).collect();
        assert_eq!(names, ["a.test", "api.anthropic.com"]);
        assert_eq!(hosts.deny.len(), 1, "a refused host stays refused");
        assert_eq!(policy.env["IS_SANDBOX"].value, "1");
        assert_eq!(policy.env["MINE"].value, "1");
        let secret = &policy.secrets["ANTHROPIC_API_KEY"];
        assert_eq!(secret.at, At::flag("--profile claude-code"));
        assert_eq!(secret.value, profile.secrets["ANTHROPIC_API_KEY"]);
        let entry = policy.guards.entries().iter().find(|e| e.pattern == ".mcp.json");
        assert_eq!(entry.unwrap().guard.value, Guard::Block, "the file's own is stricter");

        // A key that the user does not have is not promised to the agent.
        let mut without = profile.clone();
        without.secrets.clear();
        assert!(with(&without, "").secrets.is_empty());
        // Other flags win over the profile.
        let set = vec![("sandbox.secrets.ANTHROPIC_API_KEY.hosts".into(), "[c.test]".into())];
        let overrides = Overrides { profile: Some(profile), set, ..Overrides::default() };
        let policy = defaults(Path::new("/project"), &overrides).policy.unwrap();
        let hosts = &policy.secrets["ANTHROPIC_API_KEY"].value.hosts;
        assert_eq!(hosts.iter().map(ToString::to_string).collect::<Vec<_>>(), ["c.test"]);
    }

    #[test]
    fn mistakes_in_a_profile_are_told_with_their_lines() {
        let ok = "program: x\nhosts: [a.test]\n";
        let cases = [
            ("hosts: [a.test]\n", "missing_key"),
            ("program: x\nhost: [a.test]\n", "unknown_key"),
            (&format!("{ok}keep: [../x]\n"), "bad_path"),
            (&format!("{ok}settings: [/etc/passwd]\n"), "bad_path"),
            (&format!("{ok}files: {{ .x/y: z }}\n"), "bad_path"),
            (&format!("{ok}keep: [.x]\nsettings: [.x/a/b]\ncredentials: [.x/a]\n"), "conflict"),
            (&format!("{ok}secrets: {{ K: {{ env: K, hosts: [b.test] }} }}\n"), "bad_host"),
            (&format!("{ok}pass_env: [PATH]\n"), "bad_value"),
            (
                &format!("{ok}secrets: {{ K: {{ env: K, hosts: [a.test] }} }}\npass_env: [K]\n"),
                "bad_value",
            ),
        ];
        for (text, code) in cases {
            let found = AgentProfile::parse("x", text, "x.yaml").expect_err(text);
            assert!(found.iter().any(|problem| problem.code == code), "{text}: {found:#?}");
            assert!(found.iter().all(|problem| &*problem.file == "x.yaml"), "{text}");
        }
        AgentProfile::parse("x", ok, "x.yaml").unwrap();
    }
}
