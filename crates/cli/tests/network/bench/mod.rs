//! A project in the made-up Internet, and commands in its sandbox.

#![allow(dead_code, reason = "each test program uses its own part")]

use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::Value;
use zonekeep_testkit::internet::{Internet, Side};
use zonekeep_testkit::{Project, Run};

pub(crate) const PROGRAM: &str = env!("CARGO_BIN_EXE_zonekeep");

/// Makes every program trust the authority of the made-up Internet.
const TRUST: &str = "CA=$PWD/ca.pem; export CA SSL_CERT_FILE=$CA CURL_CA_BUNDLE=$CA \
    GIT_SSL_CAINFO=$CA PIP_CERT=$CA REQUESTS_CA_BUNDLE=$CA NODE_EXTRA_CA_CERTS=$CA \
    CARGO_HTTP_CAINFO=$CA npm_config_cafile=$CA\n";

/// Forgets every setting that names a proxy.
pub(crate) const NO_PROXY: &str = "unset $(env | grep -i proxy | cut -d= -f1)\n";

/// A project whose commands may reach some hosts, and the Internet it is in.
pub(crate) struct Bench {
    pub(crate) internet: &'static Internet,
    pub(crate) project: Project,
}

/// What a command came to, and how long it took.
pub(crate) struct Took {
    pub(crate) run: Run,
    pub(crate) time: Duration,
}

impl Bench {
    /// Returns a project whose commands may reach those hosts, or `None` where
    /// there can be no Internet of our own.
    pub(crate) fn new(allow: &[&str]) -> Option<Bench> {
        let list: Vec<String> = allow.iter().map(|host| format!("{host:?}")).collect();
        Bench::with(&format!("  network: {{ allow: [{}] }}\n", list.join(", ")))
    }

    /// Returns a project with those lines below `sandbox:`.
    pub(crate) fn with(lines: &str) -> Option<Bench> {
        let internet = Internet::shared()?;
        let config = format!(
            "sandbox:\n  mode: direct\n  zones:\n    work: {{ path: ./work, mode: rw }}\n  \
             working_dir: /work\n{lines}"
        );
        let project = Project::with_config(PROGRAM, &config).dir("work");
        let bench = Bench { internet, project };
        let trusted = fs::read(internet.certificates()).unwrap();
        bench.project.put("work/ca.pem", trusted);
        bench.project.finish(bench.zonekeep().args(["trust", "--yes"])).ok();
        Some(bench)
    }

    /// Returns Zonekeep on the host, for a user who has toolchains at home.
    pub(crate) fn zonekeep(&self) -> Command {
        let mut command = self.internet.zonekeep(&self.project);
        if let Some(home) = std::env::home_dir() {
            command.env("HOME", home);
        }
        command
    }

    /// Runs a script in the sandbox.
    pub(crate) fn confined(&self, script: &str) -> Took {
        let mut command = self.zonekeep();
        command.args(["run", "--", "sh", "-ec", &format!("{TRUST}{script}")]);
        self.timed(&mut command)
    }

    /// Runs a script on the second host, where nothing holds it.
    pub(crate) fn control(&self, script: &str) -> Took {
        let script = format!("cd work; {TRUST}{script}");
        let mut command = self.internet.command(Side::Control, &self.project, "sh");
        if let Some(rustup) = rustup() {
            command.env("RUSTUP_HOME", rustup);
        }
        self.timed(command.args(["-ec", &script]))
    }

    fn timed(&self, command: &mut Command) -> Took {
        let start = Instant::now();
        let run = self.project.finish(command);
        Took { run, time: start.elapsed() }
    }

    /// Asserts that nothing from the host was ever seen at the denied name.
    #[track_caller]
    pub(crate) fn nothing_denied(&self) {
        let seen = self.internet.ever_denied();
        assert!(seen.is_empty(), "the host reached what is denied: {seen:#?}");
    }

    /// Asserts that a refusal to connect to a host is on record.
    #[track_caller]
    pub(crate) fn recorded(&self, host: &str) {
        let run = self.project.finish(self.zonekeep().args(["log", "--json", "-n", "0"]));
        let is_refusal = |line: &str| {
            let record: Value = serde_json::from_str(line).unwrap();
            record["action"] == "connect"
                && record["verdict"] != "allow"
                && (record["outcome"] == "refused" || record["outcome"] == "declined")
                && ["path", "error"].iter().any(|key| record[*key].to_string().contains(host))
        };
        assert!(run.ok().lines().any(is_refusal), "no refusal of {host} is on record: {run}");
    }
}

/// Returns where rustup keeps its toolchains.
fn rustup() -> Option<PathBuf> {
    let set = std::env::var_os("RUSTUP_HOME").map(PathBuf::from);
    set.or_else(|| Some(std::env::home_dir()?.join(".rustup"))).filter(|dir| dir.exists())
}
