//! Runs real tools in a tree that holds only what the runtime found, made with
//! the system's `bwrap`.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use zonekeep_confine::plan::{Entry, Network};
use zonekeep_confine::runtime::{Host, Runtime, Settings, find};

const HOME: &str = "/home/agent";

/// A temporary directory as the one zone, and the runtime of this machine.
struct Sandbox {
    dir: tempfile::TempDir,
    zone: PathBuf,
    runtime: Runtime,
}

impl Sandbox {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let zone = dir.path().canonicalize().unwrap().join("zone");
        fs::create_dir(&zone).unwrap();
        let env: BTreeMap<_, _> = std::env::vars_os().collect();
        let home = env.get("HOME".as_ref() as &std::ffi::OsStr).map(PathBuf::from);
        let host = Host { env: &env, home: home.as_deref(), root: Path::new("/") };
        let runtime = find(
            &host,
            &Settings {
                home: Path::new(HOME),
                user: "agent",
                uid: rustix::process::getuid().as_raw(),
                gid: rustix::process::getgid().as_raw(),
                hostname: "sandbox",
                own_tree: true,
                network: &Network::Off,
                granted: std::slice::from_ref(&zone),
                pass_env: &[],
                env: &BTreeMap::new(),
            },
            None,
        );
        Sandbox { dir, zone, runtime }
    }

    fn run(&self, script: &str) -> Output {
        let mut bwrap = Command::new("bwrap");
        bwrap.env_clear().envs(&self.runtime.env).args(["--unshare-all", "--die-with-parent"]);
        bwrap.args(["--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp", "--tmpfs", "/run"]);
        bwrap.args(["--tmpfs", HOME]);
        for (i, entry) in self.runtime.entries.iter().enumerate() {
            match entry {
                Entry::Bind(bind) => bwrap.arg("--ro-bind").arg(&bind.host).arg(&bind.at),
                Entry::Link { at, to } => bwrap.arg("--symlink").arg(to).arg(at),
                Entry::Private { at } => bwrap.arg("--tmpfs").arg(at),
                Entry::File { at, content } => {
                    let file = self.dir.path().join(i.to_string());
                    fs::write(&file, content).unwrap();
                    bwrap.arg("--ro-bind").arg(file).arg(at)
                }
            };
        }
        bwrap.arg("--bind").arg(&self.zone).arg(&self.zone).arg("--chdir").arg(&self.zone);
        bwrap.args(["--remount-ro", "/", "/bin/sh", "-c", script]).output().unwrap()
    }
}

fn works() -> bool {
    let bwrap = |program| {
        let args = ["--ro-bind", "/", "/", "--unshare-all", program];
        Command::new("bwrap").args(args).output().is_ok_and(|output| output.status.success())
    };
    bwrap("/bin/true")
}

fn has(program: &str) -> bool {
    let script = format!("command -v {program}");
    Command::new("sh").args(["-c", &script]).output().is_ok_and(|output| output.status.success())
}

#[test]
fn ordinary_tools_work() {
    if !works() {
        return zonekeep_testkit::skip("bwrap makes no sandbox here");
    }
    let cases = [
        // program, script, what it says
        ("sh", "echo $HOME; cat /etc/hostname", "/home/agent\nsandbox\n"),
        ("bash", "bash -lc 'id -un'", "agent\n"),
        ("perl", "perl -MConfig -MSocket -e 'print 6*7'", "42"),
        ("python3", "python3 -c 'import ssl, json, ctypes; print(6*7)'", "42\n"),
        ("python3", "python3 -m venv --without-pip v && v/bin/python -c 'print(6*7)'", "42\n"),
        ("node", "node -e 'console.log(6*7)'", "42\n"),
        ("npm", "echo '{\"scripts\":{\"test\":\"echo 42\"}}' >package.json; npm -s test", "42\n"),
        ("gcc", "echo 'int main(){return 42;}' >a.c && gcc a.c -o a; ./a; echo $?", "42\n"),
        (
            "git",
            "git init -q r && cd r && touch a && git add a && git commit -qm x && ls .git/hooks 2>&1 | grep -c sample; git log --format=%s",
            "0\nx\n",
        ),
        ("git", "git config --global a.b c && git config a.b", "c\n"),
        (
            "javac",
            "echo 'class A { public static void main(String[] a) throws Exception { javax.net.ssl.SSLContext.getDefault(); System.out.println(System.getProperty(\"user.home\")); } }' >A.java && javac A.java && java -cp . A",
            "/home/agent\n",
        ),
        ("go", "go version >/dev/null && echo 42", "42\n"),
        ("mvn", "mvn --version >/dev/null && echo 42", "42\n"),
    ];
    for (program, script, said) in cases {
        // No machine needs to have them all.
        if !has(program) {
            continue;
        }
        let output = Sandbox::new().run(script);
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(String::from_utf8_lossy(&output.stdout), said, "{script}\n{stderr}");
    }
}

#[test]
fn cargo_builds_from_the_crates_that_are_there() {
    if !works() || !has("cargo") {
        return zonekeep_testkit::skip("bwrap makes no sandbox here, or there is no cargo");
    }
    let sandbox = Sandbox::new();
    let manifest = "[package]\nname = \"x\"\nversion = \"0.1.0\"\nedition = \"2021\"\n\
                    [dependencies]\nitoa = \"1\"\n[workspace]\n";
    let main = "fn main() { println!(\"{}\", itoa::Buffer::new().format(42)); }";
    fs::write(sandbox.zone.join("Cargo.toml"), manifest).unwrap();
    fs::create_dir(sandbox.zone.join("src")).unwrap();
    fs::write(sandbox.zone.join("src/main.rs"), main).unwrap();
    let output = sandbox.run("cargo run -q");
    let stderr = String::from_utf8_lossy(&output.stderr);
    if stderr.contains("no matching package") {
        return zonekeep_testkit::skip("the crate is not in the cache");
    }
    assert_eq!(String::from_utf8_lossy(&output.stdout), "42\n", "{stderr}");
}

#[test]
fn nothing_of_the_home_directory_is_there_but_tools() {
    if !works() {
        return zonekeep_testkit::skip("bwrap makes no sandbox here");
    }
    let sandbox = Sandbox::new();
    let Some(home) = std::env::var_os("HOME").map(PathBuf::from) else { return };
    let secrets = [
        ".ssh",
        ".bashrc",
        ".gitconfig",
        ".npmrc",
        ".config",
        ".claude",
        ".cargo/credentials.toml",
    ];
    for name in secrets {
        let path = home.join(name);
        let output = sandbox.run(&format!("ls -d '{}'", path.display()));
        assert!(!output.status.success(), "{} is there", path.display());
    }
    for path in
        ["/etc/shadow", "/etc/ssl/private", "/etc/ssh", "/var", "/root/.ssh", "/etc/machine-id"]
    {
        let output = sandbox.run(&format!("ls -d {path}"));
        assert!(!output.status.success(), "{path} is there");
    }
}
