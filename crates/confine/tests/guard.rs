//! Files that would run code later, planted by real confined commands.
//!
//! The tests are a program of their own, because it is also the launcher.

// A test may fail loudly, and says what it does.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::Read;
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::panic::AssertUnwindSafe;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use zonekeep_confine::Caught;
use zonekeep_confine::plan::{Access, Backend, Bind, Entry, Network, Plan, Role, Start, Watch};
use zonekeep_confine::quarantine::{self, Kind, RestoreError};
use zonekeep_confine::tree::{Launcher, Tree};
use zonekeep_policy::guard::Guards;
use zonekeep_policy::limit::Limits;
use zonekeep_policy::planted::CommandGuards;

const TESTS: &[(&str, fn())] = &[
    ("plants_of_every_kind_are_caught", plants_of_every_kind_are_caught),
    ("what_a_command_writes_later_is_kept", what_a_command_writes_later_is_kept),
    ("plants_are_caught_while_the_command_runs", plants_are_caught_while_the_command_runs),
    ("permissions_are_not_in_the_way", permissions_are_not_in_the_way),
    ("strange_names_and_deep_trees_are_caught", strange_names_and_deep_trees_are_caught),
    ("repositories_of_any_name_are_guarded", repositories_of_any_name_are_guarded),
    ("what_exists_does_not_change", what_exists_does_not_change),
    ("what_exists_stays_when_it_is_moved", what_exists_stays_when_it_is_moved),
    ("existing_links_are_put_back", existing_links_are_put_back),
    ("ordinary_git_works_in_new_repositories", ordinary_git_works_in_new_repositories),
    ("ordinary_git_works_in_an_existing_repository", ordinary_git_works_in_an_existing_repository),
    ("a_bad_configuration_is_put_back", a_bad_configuration_is_put_back),
    ("directories_that_a_configuration_names_are_guarded", named_directories_are_guarded),
    ("nothing_is_left_after_races", nothing_is_left_after_races),
    ("lost_events_are_made_up_for", lost_events_are_made_up_for),
    ("nothing_is_left_when_the_caller_is_killed", nothing_is_left_when_the_caller_is_killed),
    ("what_was_caught_can_be_restored", what_was_caught_can_be_restored),
    ("without_a_tree_of_its_own_files_are_put_back", files_are_put_back_without_a_tree),
    ("zones_in_zones_are_guarded", zones_in_zones_are_guarded),
    ("large_trees_start_quickly", large_trees_start_quickly),
];

fn main() {
    zonekeep_confine::launcher::become_if_asked();
    let args: Vec<String> = std::env::args().skip(1).collect();
    if let [helper, dir] = &args[..]
        && helper == "plant-until-killed"
    {
        return plant_until_killed(Path::new(dir));
    }
    let exact = args.iter().any(|arg| arg == "--exact");
    let names: Vec<&String> = args.iter().filter(|arg| !arg.starts_with('-')).collect();
    let wanted = |name: &str| {
        names.is_empty()
            || names.iter().any(|n| if exact { name == *n } else { name.contains(n.as_str()) })
    };
    let tests = TESTS.iter().filter(|(name, _)| wanted(name));
    if args.iter().any(|arg| arg == "--list") {
        tests.for_each(|(name, _)| println!("{name}: test"));
        return;
    }
    // Nothing here is ignored.
    if args.iter().any(|arg| arg == "--ignored") {
        return;
    }
    let mut failed = 0;
    for (name, test) in tests {
        let since = Instant::now();
        let passed = std::panic::catch_unwind(AssertUnwindSafe(test)).is_ok();
        let word = if passed { "ok" } else { "FAILED" };
        println!("test {name} ... {word} ({:.2}s)", since.elapsed().as_secs_f64());
        failed += i32::from(!passed);
    }
    std::process::exit(failed.min(1));
}

/// A directory with a writable zone and a quarantine.
struct Project {
    dir: PathBuf,
    _own: Option<tempfile::TempDir>,
    git_may_configure: bool,
    backend: Backend,
    inner_zone: bool,
}

impl Project {
    fn new() -> Self {
        let own = tempfile::tempdir().unwrap();
        let mut project = Project::at(own.path());
        project._own = Some(own);
        fs::create_dir(project.zone()).unwrap();
        project
    }

    fn at(dir: &Path) -> Self {
        Project {
            dir: dir.to_owned(),
            _own: None,
            git_may_configure: false,
            backend: Backend::Namespaces,
            inner_zone: false,
        }
    }

    fn zone(&self) -> PathBuf {
        self.dir.join("zone")
    }

    fn quarantine(&self) -> PathBuf {
        self.dir.join("state/quarantine")
    }

    fn file(self, path: &str, content: &str) -> Self {
        let path = self.zone().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
        self
    }

    fn read(&self, path: &str) -> String {
        fs::read_to_string(self.zone().join(path)).unwrap_or_else(|e| format!("<{e}>"))
    }

    fn has(&self, path: impl AsRef<OsStr>) -> bool {
        self.zone().join(path.as_ref()).symlink_metadata().is_ok()
    }

    /// Runs git outside, as the user does.
    fn git(&self, args: &[&str]) {
        let out = Command::new("git")
            .current_dir(self.zone())
            .args(["-c", "user.name=U", "-c", "user.email=u@x", "-c", "init.defaultBranch=main"])
            .args(args)
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .output()
            .unwrap();
        assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    }

    fn plan(&self) -> Plan {
        let bind = |host: &Path, at: &str, access, role| {
            Entry::Bind(Bind { host: host.to_owned(), at: at.into(), access, role, identity: None })
        };
        let mut entries = vec![
            bind(Path::new("/usr"), "/usr", Access::Ro, Role::System),
            bind(Path::new("/etc/ld.so.cache"), "/etc/ld.so.cache", Access::Ro, Role::System),
        ];
        for (at, to) in [
            ("/bin", "usr/bin"),
            ("/sbin", "usr/sbin"),
            ("/lib", "usr/lib"),
            ("/lib64", "usr/lib64"),
        ] {
            entries.push(Entry::Link { at: at.into(), to: to.into() });
        }
        let at = if self.backend.has_own_tree() { PathBuf::from("/rw") } else { self.zone() };
        entries.push(bind(&self.zone(), at.to_str().unwrap(), Access::Rw, Role::Zone));
        if self.inner_zone {
            entries.push(bind(&self.zone().join("sub"), "/inner", Access::Rw, Role::Zone));
        }
        Plan {
            backend: self.backend,
            entries,
            home: match self.backend.has_own_tree() {
                true => "/home/agent".into(),
                false => self.dir.join("home"),
            },
            network: Network::Off,
            limits: Limits::default(),
            watch: Some(Watch {
                patterns: CommandGuards::of(&Guards::default()).lines(),
                quarantine: self.quarantine(),
                git_may_configure: self.git_may_configure,
            }),
            prove: false,
        }
    }

    fn start(&self) -> Sandbox<'_> {
        let tree = Tree::start(self.plan(), &Launcher::this_program()).unwrap();
        Sandbox { project: self, tree }
    }

    /// Runs a script in a sandbox of its own.
    fn run(&self, script: &str) -> Run {
        self.start().run(script)
    }

    /// Returns the kept content of a caught path, below the entry's own path.
    fn kept(&self, path: &str, below: &str) -> Option<String> {
        let host = self.zone().join(path);
        let entry = quarantine::list(&self.quarantine())
            .into_iter()
            .rev()
            .find(|entry| entry.host_path() == host)?;
        let item = entry.items.iter().find(|item| item.path == below)?;
        let mut text = String::new();
        let mut file = quarantine::open(&self.quarantine(), &entry.id, item).ok()?;
        file.read_to_string(&mut text).ok()?;
        Some(text)
    }
}

struct Sandbox<'p> {
    project: &'p Project,
    tree: Tree,
}

#[derive(Debug)]
struct Run {
    code: Option<i32>,
    output: String,
    caught: Vec<Caught>,
    zone: PathBuf,
}

impl Sandbox<'_> {
    fn run(&self, script: &str) -> Run {
        let env = [
            ("PATH", "/usr/local/bin:/usr/bin:/bin"),
            ("HOME", "/home/agent"),
            ("GIT_CONFIG_COUNT", "3"),
            ("GIT_CONFIG_KEY_0", "user.name"),
            ("GIT_CONFIG_VALUE_0", "Agent"),
            ("GIT_CONFIG_KEY_1", "user.email"),
            ("GIT_CONFIG_VALUE_1", "agent@example.org"),
            ("GIT_CONFIG_KEY_2", "init.defaultBranch"),
            ("GIT_CONFIG_VALUE_2", "main"),
            ("GIT_EDITOR", "true"),
        ];
        let env: BTreeMap<OsString, OsString> =
            env.into_iter().map(|(name, value)| (name.into(), value.into())).collect();
        let zone = self.project.zone();
        let start = Start {
            argv: ["sh", "-c", script].map(OsString::from).to_vec(),
            env,
            cwd: if self.project.backend.has_own_tree() { "/rw".into() } else { zone.clone() },
            limits: Limits::default(),
            terminal: [false; 3],
        };
        let mut output = tempfile::tempfile().unwrap();
        let input = fs::File::open("/dev/null").unwrap();
        let stdio = [input.as_fd(), output.as_fd(), output.as_fd()];
        let process = self.tree.command(start, &stdio).unwrap();
        let ended = process.wait().unwrap();
        let caught = self.tree.settle().unwrap();
        use std::io::Seek;
        output.rewind().unwrap();
        let mut text = Vec::new();
        output.read_to_end(&mut text).unwrap();
        let output = String::from_utf8_lossy(&text).into_owned();
        Run { code: ended.code, output, caught, zone }
    }
}

impl Run {
    fn paths(&self) -> Vec<String> {
        let zone = format!("{}/", self.zone.display());
        let path = |c: &Caught| c.path.strip_prefix(&zone).unwrap_or(&c.path).to_owned();
        let mut paths: Vec<String> = self.caught.iter().map(path).collect();
        paths.sort();
        paths
    }

    #[track_caller]
    fn caught(&self, paths: &[&str]) -> &Self {
        let mut want: Vec<String> = paths.iter().map(|path| (*path).to_owned()).collect();
        want.sort();
        assert_eq!(self.paths(), want, "{self:#?}");
        assert!(self.caught.iter().all(|c| c.failed.is_none()), "{self:#?}");
        self
    }

    #[track_caller]
    fn succeeded(&self) -> &Self {
        assert_eq!(self.code, Some(0), "{}", self.output);
        self
    }
}

fn plants_of_every_kind_are_caught() {
    let cases: &[(&str, &[&str])] = &[
        ("echo x > .envrc", &[".envrc"]),
        ("mkdir -p a/b; echo x > a/b/.ENVRC", &["a/b/.ENVRC"]),
        ("echo x > main.worker", &["main.worker"]),
        ("mkdir -p .vscode/x; echo x > .vscode/x/tasks.json", &[".vscode"]),
        ("mkdir .cargo; echo x > .cargo/config.toml", &[".cargo/config.toml"]),
        ("ln -s /etc/passwd .bashrc", &[".bashrc"]),
        ("mkdir e; echo x > e/config.toml; ln -s e .cargo", &[".cargo"]),
        ("mkfifo .npmrc", &[".npmrc"]),
        ("echo x > y; ln y .envrc", &[".envrc"]),
        ("echo x > y; mv y .envrc", &[".envrc"]),
        ("mkdir y; echo x > y/z; mv y .vscode", &[".vscode"]),
        ("mkdir -p y/.vscode; echo x > y/.vscode/z; mv y z", &["z/.vscode"]),
        (
            "mkdir -p t/config; echo x > t/config/config.toml; mv t/config .cargo",
            &[".cargo/config.toml"],
        ),
        ("(umask 777; echo x > .envrc)", &[".envrc"]),
        ("git init -q; echo x > .git/hooks/pre-commit", &[".git/hooks/pre-commit"]),
        ("git init -q; mkdir .git/hooks/x; echo x > .git/hooks/x/y", &[".git/hooks/x"]),
        (
            "git init -q t; mkdir h; echo x > h/pre-commit; rm -r t/.git/hooks; mv h t/.git/hooks",
            &["t/.git/hooks/pre-commit"],
        ),
        ("git init -q t; mv t/.git/hooks h; ln -s ../../h t/.git/hooks", &["t/.git/hooks"]),
        ("git init -q; printf '[core]\\n\\tfsmonitor=x' > .git/config", &[".git/config"]),
        (
            "mkdir -p g/.git; printf '[core]\\n\\tfsmonitor=x' > g/.git/config; mv g h",
            &["h/.git/config"],
        ),
        ("echo '* filter=x' > .gitattributes", &[".gitattributes"]),
        ("echo '* filter=x' > a; ln a .gitattributes", &[".gitattributes"]),
        ("ln -s /dev/null .gitattributes", &[".gitattributes"]),
        ("mkfifo .gitattributes", &[".gitattributes"]),
        ("echo 'gitdir: /tmp/x' > .git", &[".git"]),
        ("mkdir g; ln -s g .git", &[".git"]),
    ];
    for (script, paths) in cases {
        let project = Project::new();
        let run = project.run(script);
        let mut found = run.paths();
        // Caught more than once where the keeper was quick.
        found.retain(|path| *path != "g/.git/config");
        let want: Vec<_> = paths.iter().map(|path| (*path).to_owned()).collect();
        if script.contains("mv y z") || script.contains("mv g h") {
            let old = ["y/.vscode", "g/.git/config"];
            found.retain(|path| !old.contains(&path.as_str()));
            assert!(found.is_empty() || found == want, "{script}: {run:#?}");
        } else {
            // Where the keeper was quick, what comes after finds nothing.
            assert_eq!(found, want, "{script}: {run:#?}");
        }
        let is_fresh_config = script.contains("git init -q; printf");
        for path in *paths {
            assert!(!project.has(path) || is_fresh_config, "{script}: {path} is left");
        }
        if is_fresh_config {
            assert!(!project.read(".git/config").contains("fsmonitor"));
        }
        assert!(run.caught.iter().all(|c| c.failed.is_none() && c.id.is_some()), "{run:#?}");
        let entries = quarantine::list(&project.quarantine());
        assert_eq!(entries.len(), run.caught.len(), "{script}");
    }
}

fn what_a_command_writes_later_is_kept() {
    let project = Project::new();
    let run = project.run("exec 3> .envrc; sleep 0.2; echo evil >&3; ls .envrc");
    run.caught(&[".envrc"]);
    assert!(run.output.contains("No such file"), "{}", run.output);
    assert_eq!(project.kept(".envrc", "").as_deref(), Some("evil\n"));
    let run = project.run("for i in 1 2 3; do echo $i > .envrc; sleep 0.05; done; : > .envrc");
    run.caught(&[".envrc"]);
    assert_eq!(project.kept(".envrc", "").as_deref(), Some("3\n"), "the last with content");
    let entries = quarantine::list(&project.quarantine());
    assert_eq!(entries.len(), 2);
    let mode = |path: &Path| path.metadata().unwrap().mode() & 0o777;
    let dir = project.quarantine().join(&entries[0].id);
    assert_eq!([mode(&dir), mode(&dir.join("entry.json"))], [0o700, 0o600]);
    assert_eq!(entries[0].agent_path, "/rw/.envrc");
}

fn plants_are_caught_while_the_command_runs() {
    let cases = [
        "echo x > .envrc; sleep 0.3; test ! -e .envrc",
        "mkdir -p a/b/c; echo x > a/b/c/.envrc; sleep 0.3; test ! -e a/b/c/.envrc",
        "mkdir .vscode; sleep 0.3; test ! -e .vscode",
        // Never closed, and without an end of line.
        "exec 3> .gitattributes; printf '* filter=x' >&3; sleep 0.4; test ! -e .gitattributes",
        "git init -q; exec 3>> .git/config; printf '[core]\\nfsmonitor=x' >&3; sleep 0.4
         ! grep fsmonitor .git/config && git status",
        "mkdir x; mv x/ y; echo x > y/.envrc; mv y z; sleep 0.3; test ! -e z/.envrc",
    ];
    for script in cases {
        let project = Project::new();
        let run = project.run(script);
        assert_eq!(run.code, Some(0), "{script}: {run:#?}");
        assert_eq!(run.caught.len(), 1, "{script}: {run:#?}");
    }
}

fn permissions_are_not_in_the_way() {
    let project = Project::new();
    let run = project.run(
        "mkdir d; echo x > d/.envrc; chmod 000 d
         mkdir e; echo x > e/.envrc; chmod 555 e
         mkdir -p f/.vscode/g; echo x > f/.vscode/g/h; chmod 000 f/.vscode/g f/.vscode f
         mkdir -m 000 i; sleep 0.2; chmod 700 i; echo x > i/.envrc; chmod 000 i",
    );
    run.caught(&["d/.envrc", "e/.envrc", "f/.vscode", "i/.envrc"]);
    let mode = |path| project.zone().join(path).metadata().unwrap().mode() & 0o777;
    assert_eq!([mode("d"), mode("e"), mode("f"), mode("i")], [0, 0o555, 0, 0]);
    for dir in ["d", "e", "f", "i"] {
        let path = project.zone().join(dir);
        fs::set_permissions(&path, fs::Permissions::from_mode(0o700)).unwrap();
        assert!(!project.has(format!("{dir}/.envrc")) && !project.has(format!("{dir}/.vscode")));
    }
    // A directory that nobody could look into when the sandbox started.
    let project = Project::new().file("d/x", "");
    let dir = project.zone().join("d");
    fs::set_permissions(&dir, fs::Permissions::from_mode(0o000)).unwrap();
    let run = project.run("chmod 700 d; echo x > d/.envrc; chmod 000 d");
    fs::set_permissions(&dir, fs::Permissions::from_mode(0o700)).unwrap();
    assert!(!project.has("d/.envrc"), "{run:#?}");
}

fn strange_names_and_deep_trees_are_caught() {
    let project = Project::new();
    let run = project.run(
        "n=$(printf 'a\\nb\\377c'); mkdir \"$n\"; echo x > \"$n/.envrc\"
         i=0; while [ $i -lt 500 ]; do mkdir d && cd -P d; i=$((i+1)); done; echo x > .envrc",
    );
    let deep = format!("{}.envrc", "d/".repeat(500));
    run.caught(&["a\\x0ab\\xffc/.envrc", &deep]);
    let name = Path::new(OsStr::from_bytes(b"a\nb\xffc"));
    assert!(!project.has(name.join(".envrc")) && project.has(name) && !project.has(&deep));
    // Deeper than any path that a program can use.
    let run = project.run(
        "mkdir y; cd y; perl -e 'for (1..3000) { mkdir \"d\"; chdir \"d\" }'; mv ../y ../.vscode",
    );
    assert!(!project.has(".vscode"), "{run:#?}");
    let project = Project::new();
    let run = project.run("perl -e 'for (1..2200) { mkdir \"d\"; chdir \"d\" }'");
    assert!(run.caught.iter().any(|c| c.failed.is_some()), "{:#?}", run.caught.len());
    let removed = Command::new("rm").arg("-rf").arg(project.zone()).status().unwrap();
    assert!(removed.success());
}

fn repositories_of_any_name_are_guarded() {
    let orders = [
        "mkdir r; cd r; mkdir objects refs hooks; echo x > hooks/update; echo ref > HEAD",
        "mkdir r; cd r; echo ref > HEAD; mkdir refs; sleep 0.1; mkdir objects; sleep 0.1
         mkdir hooks; sleep 0.1; echo x > hooks/update",
        "git init -q --bare r; echo x > r/hooks/update",
        // Hooks that look like a repository themselves.
        "git init -q --bare r; cd r/hooks; mkdir objects refs; echo x > HEAD; sleep 0.1
         echo x > update",
    ];
    for script in orders {
        let project = Project::new();
        let run = project.run(script);
        assert!(!project.has("r/hooks/update"), "{script}: {run:#?}");
        assert!(run.paths().contains(&"r/hooks/update".to_owned()), "{script}: {run:#?}");
        assert!(project.has("r/HEAD"), "{script}");
    }
    let project = Project::new();
    let run = project.run("git init -q --bare r; printf '[core]\\nsshCommand=x\\n' > r/config");
    run.caught(&["r/config"]);
    assert!(!project.read("r/config").contains("ssh"));
}

fn what_exists_does_not_change() {
    let project = Project::new()
        .file(".envrc", "use x")
        .file(".vscode/settings.json", "{}")
        .file("a/.npmrc", "a=b")
        .file(".gitattributes", "*.x filter=mine\n");
    project.git(&["init", "-q"]);
    project.git(&["init", "-q", "--bare", "bare"]);
    let project = project.file(".git/hooks/pre-commit", "#!/bin/sh\n");
    let config = project.read(".git/config");
    let run = project.run(
        "for f in .envrc .vscode/settings.json a/.npmrc .git/config .git/hooks/pre-commit \\
            bare/config; do
           echo evil > $f; rm -f $f; mv -f $f x; echo evil > y; mv -f y $f; ln -f y $f
         done
         rm -rf .vscode .git/hooks; mv .vscode z; mv .git/hooks z; rmdir .vscode
         echo evil > .vscode/tasks.json; echo evil > .git/hooks/post-commit
         echo evil > bare/hooks/update; git config core.fsmonitor evil
         echo '*.y text' >> .gitattributes
         true",
    );
    run.succeeded().caught(&[]);
    assert_eq!(project.read(".envrc"), "use x");
    assert_eq!(project.read(".vscode/settings.json"), "{}");
    assert_eq!(project.read("a/.npmrc"), "a=b");
    assert_eq!(project.read(".git/config"), config);
    assert_eq!(project.read(".git/hooks/pre-commit"), "#!/bin/sh\n");
    assert_eq!(project.read(".gitattributes"), "*.x filter=mine\n*.y text\n");
    for path in [".vscode/tasks.json", ".git/hooks/post-commit", "bare/hooks/update"] {
        assert!(!project.has(path), "{path}");
    }
    let run = project.run("echo '*.z filter=evil' >> .gitattributes");
    run.caught(&[".gitattributes"]);
    assert_eq!(project.read(".gitattributes"), "*.x filter=mine\n*.y text\n");
}

fn what_exists_stays_when_it_is_moved() {
    let project = Project::new()
        .file("sub/.envrc", "use x")
        .file("sub/.vscode/settings.json", "{}")
        .file("sub/.gitattributes", "*.x filter=mine\n")
        .file("sub/deep/er/.npmrc", "a=b");
    project.git(&["init", "-q", "sub"]);
    project.git(&["-C", "sub", "config", "alias.x", "!echo"]);
    let project = project.file("sub/.git/hooks/pre-commit", "#!/bin/sh\n");
    let config = project.read("sub/.git/config");
    project.run("mv sub other; sleep 0.2; mkdir in; mv other in/sub").succeeded().caught(&[]);
    assert_eq!(project.read("in/sub/.envrc"), "use x");
    assert_eq!(project.read("in/sub/.vscode/settings.json"), "{}");
    assert_eq!(project.read("in/sub/.gitattributes"), "*.x filter=mine\n");
    assert_eq!(project.read("in/sub/deep/er/.npmrc"), "a=b");
    assert_eq!(project.read("in/sub/.git/config"), config);
    assert_eq!(project.read("in/sub/.git/hooks/pre-commit"), "#!/bin/sh\n");
}

fn existing_links_are_put_back() {
    let project = Project::new().file("real", "use x");
    symlink("real", project.zone().join(".envrc")).unwrap();
    project.run("cat .envrc; touch real").caught(&[]);
    let run = project.run("ln -sfn /tmp .envrc");
    run.caught(&[".envrc"]);
    assert_eq!(fs::read_link(project.zone().join(".envrc")).unwrap(), Path::new("real"));
}

fn ordinary_git_works_in_new_repositories() {
    for _ in 0..3 {
        let project = Project::new();
        let run = project.run(
            "set -e
             git init -q lib; cd lib; echo 1 > f; git add f; git commit -qm one; cd ..
             git init -q app; cd app; echo '*.png binary' > .gitattributes; echo 2 > g
             git add -A; git commit -qm two
             git branch topic; git worktree add -q ../tree topic
             cd ../tree; echo 3 > h; git add h; git commit -qm three; cd ../app
             git merge -q topic; git tag v1; git remote add origin ../lib
             git -c protocol.file.allow=always submodule add -q ../lib vendor/lib
             git commit -qm four; git submodule status; git worktree list
             git checkout -q -b other; echo 5 > i; git add i; git commit -qm five
             git rebase -q main; git stash list; git gc -q; cd ..
             git -c protocol.file.allow=always clone -q --recurse-submodules app copy
             cd copy; git status --short; git log --oneline | wc -l",
        );
        run.succeeded().caught(&[]);
        let config = project.read("app/.git/config");
        assert!(!config.contains("symlinks"), "{config}");
        assert!(project.read("tree/.git").starts_with("gitdir: "));
        assert!(project.read("copy/vendor/lib/f").contains('1'));
        assert!(project.has("app/.git/hooks"));
        assert!(quarantine::list(&project.quarantine()).is_empty());
    }
}

fn ordinary_git_works_in_an_existing_repository() {
    let mut project = Project::new().file("f", "1");
    project.git(&["init", "-q"]);
    project.git(&["add", "-A"]);
    project.git(&["commit", "-qm", "one"]);
    let work = "set -e; echo 2 >> f; git commit -qam two; git checkout -q -b topic
                git worktree add -q w main; cd w; echo 3 > g; git add g; git commit -qm three";
    project.run(work).succeeded().caught(&[]);
    project.git_may_configure = true;
    let run = project.run(
        "set -e; git init -q lib; cd lib; echo 1 > f; git add f; git commit -qm one; cd ..
         git remote add origin https://example.org/x; git branch -q --set-upstream-to main topic
         git -c protocol.file.allow=always submodule add -q ./lib vendor; git commit -qm four",
    );
    run.succeeded().caught(&[]);
    let config = project.read(".git/config");
    assert!(config.contains("example.org") && config.contains("submodule"), "{config}");
    assert!(project.has("vendor/f") && project.has(".git/modules/vendor/config"));
}

fn a_bad_configuration_is_put_back() {
    let mut project = Project::new();
    project.git(&["init", "-q"]);
    project.git(&["config", "alias.mine", "!echo mine"]);
    project.git_may_configure = true;
    let path = project.zone().join(".git/config");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
    let run = project.run(
        "git remote add origin https://example.org/x; sleep 0.2
         git config core.fsmonitor evil; sleep 0.2; git config user.name N",
    );
    run.caught(&[".git/config"]);
    let config = project.read(".git/config");
    assert!(config.contains("mine") && config.contains("example.org"), "{config}");
    assert!(config.contains("name = N") && !config.contains("evil"), "{config}");
    assert!(project.kept(".git/config", "").unwrap().contains("evil"));
    assert_eq!(path.metadata().unwrap().mode() & 0o777, 0o640);
    // A repository that the command made itself.
    let run = project.run("git init -q new; cd new; sleep 0.2; git config core.pager evil");
    run.caught(&["new/.git/config"]);
    let config = project.read("new/.git/config");
    assert!(config.contains("bare = false") && !config.contains("pager"), "{config}");
}

fn named_directories_are_guarded() {
    let project = Project::new().file("tools/hooks/pre-commit", "#!/bin/sh\n").file("inc", "");
    project.git(&["init", "-q"]);
    project.git(&["config", "core.hooksPath", "tools/hooks"]);
    project.git(&["config", "include.path", "../inc"]);
    let run = project.run("echo x > tools/hooks/pre-commit; echo x > inc; rm -rf tools; true");
    run.caught(&[]);
    assert_eq!(project.read("tools/hooks/pre-commit"), "#!/bin/sh\n");
    assert_eq!(project.read("inc"), "");
    // One that is not there yet.
    project.git(&["config", "core.hooksPath", "later/hooks"]);
    let run = project.run("mkdir -p later/hooks later/other; echo x > later/hooks/pre-commit");
    run.caught(&["later/hooks"]);
    assert!(project.has("later/other") && !project.has("later/hooks"));
}

/// Returns everything below a directory that is guarded by its name.
fn planted(dir: &Path) -> Vec<PathBuf> {
    let out = Command::new("find")
        .arg(dir)
        .args(["(", "-name", ".envrc", "-o", "-name", ".vscode", "-o", "-path"])
        .args(["*/.git/hooks/pre-commit", ")"])
        .output()
        .unwrap();
    String::from_utf8_lossy(&out.stdout).lines().map(PathBuf::from).collect()
}

const HOSTILE: &str = "
    swap() { while :; do mkdir -p a/b/c; echo x > a/b/c/.envrc; mv a z; mv z/b y; rm -rf z;
             mv y a 2>/dev/null; rm -rf a/c/d; done; }
    fill() { while :; do mkdir -p .vscode/d; echo x > .vscode/d/$1; echo x > .vscode/$1; done; }
    link() { while :; do mkdir -p l/m; echo x > l/m/.envrc; rm -rf l; ln -s /usr l; rm l; done; }
    hook() { while :; do git init -q g; echo x > g/.git/hooks/pre-commit; mv g h; rm -rf h; done; }
    swap 2>/dev/null & fill 1 2>/dev/null & fill 2 2>/dev/null & link 2>/dev/null &
    hook 2>/dev/null &";

fn nothing_is_left_after_races() {
    for _ in 0..3 {
        let project = Project::new();
        let sandbox = project.start();
        let run = sandbox.run(&format!("{HOSTILE} sleep 0.7"));
        assert_eq!(planted(&project.zone()), Vec::<PathBuf>::new(), "{:?}", run.paths());
        assert!(!run.caught.is_empty());
        let failed = run.caught.iter().filter(|c| c.failed.is_some()).collect::<Vec<_>>();
        assert!(failed.is_empty(), "{failed:#?}");
    }
}

fn lost_events_are_made_up_for() {
    let project = Project::new();
    // Many more than the kernel queues, while the keeper stands still.
    let sandbox = project.start();
    sandbox.tree.layers().unwrap();
    let keeper = sandbox.tree.keeper_pid().unwrap().to_string();
    let signal = |name: &str| {
        assert!(Command::new("kill").args([name, &keeper]).status().unwrap().success());
    };
    signal("-STOP");
    let waker = std::thread::spawn({
        let keeper = keeper.clone();
        move || {
            std::thread::sleep(Duration::from_secs(3));
            Command::new("kill").args(["-CONT", &keeper]).status().unwrap();
        }
    });
    let run = sandbox.run(
        "mkdir s a; i=0; while [ $i -lt 20000 ]; do : > s/$i.worker; i=$((i+1)); done
         mkdir -p a/b; echo x > a/b/.envrc; mkdir .vscode; echo x > .vscode/y",
    );
    waker.join().unwrap();
    assert_eq!(planted(&project.zone()), Vec::<PathBuf>::new());
    assert_eq!(fs::read_dir(project.zone().join("s")).unwrap().count(), 0);
    assert!(run.caught.len() <= 1001);
}

/// Starts a sandbox that plants for ever; is killed meanwhile.
fn plant_until_killed(dir: &Path) {
    let project = Project::at(dir);
    project.start().run(&format!("{HOSTILE} wait"));
}

fn nothing_is_left_when_the_caller_is_killed() {
    let project = Project::new();
    for delay in [150, 400, 700] {
        let mut helper = Command::new(std::env::current_exe().unwrap())
            .arg("plant-until-killed")
            .arg(&project.dir)
            .spawn()
            .unwrap();
        std::thread::sleep(Duration::from_millis(delay));
        helper.kill().unwrap();
        helper.wait().unwrap();
        let since = Instant::now();
        // Nothing is left, and nothing comes any more.
        let mut clean = 0;
        while clean < 4 {
            clean = if planted(&project.zone()).is_empty() { clean + 1 } else { 0 };
            std::thread::sleep(Duration::from_millis(50));
            assert!(since.elapsed() < Duration::from_secs(2), "{:?}", planted(&project.zone()));
        }
    }
    std::thread::sleep(Duration::from_millis(300));
    assert!(!quarantine::list(&project.quarantine()).is_empty());
}

fn what_was_caught_can_be_restored() {
    let project = Project::new();
    let run = project.run(
        "mkdir -p a v/d; echo one > a/t; chmod 755 a/t; mv a/t a/.envrc; ln -s x .bashrc
         echo two > v/d/t; ln -s d v/l; mv v .vscode; mkfifo .npmrc; echo three > b.worker",
    );
    run.caught(&["a/.envrc", ".bashrc", ".vscode", ".npmrc", "b.worker"]);
    let state = project.quarantine();
    let id = |path: &str| {
        let end = format!("zone/{path}");
        run.caught.iter().find(|c| c.path.ends_with(&end)).unwrap().id.clone().unwrap()
    };
    assert_eq!(
        quarantine::restore(&state, &id("a/.envrc")).unwrap(),
        project.zone().join("a/.envrc")
    );
    assert_eq!(project.read("a/.envrc"), "one\n");
    let mode = project.zone().join("a/.envrc").metadata().unwrap().mode();
    assert_eq!(mode & 0o7777, 0o755);
    quarantine::restore(&state, &id(".bashrc")).unwrap();
    assert_eq!(fs::read_link(project.zone().join(".bashrc")).unwrap(), Path::new("x"));
    fs::create_dir(project.zone().join(".vscode")).unwrap();
    let occupied = quarantine::restore(&state, &id(".vscode"));
    assert!(matches!(occupied, Err(RestoreError::Occupied { .. })), "{occupied:?}");
    fs::remove_dir(project.zone().join(".vscode")).unwrap();
    quarantine::restore(&state, &id(".vscode")).unwrap();
    assert_eq!(project.read(".vscode/d/t"), "two\n");
    assert_eq!(project.read(".vscode/l/t"), "two\n");
    let special = quarantine::restore(&state, &id(".npmrc"));
    assert!(matches!(special, Err(RestoreError::NotKept { .. })), "{special:?}");
    assert_eq!(quarantine::read(&state, &id(".npmrc")).unwrap().kind, Kind::Special);
    quarantine::drop(&state, &id(".npmrc")).unwrap();
    quarantine::restore(&state, &id("b.worker")).unwrap();
    assert!(quarantine::list(&state).is_empty());
    for bad in ["", "..", "../x", "a/b"] {
        assert!(matches!(quarantine::restore(&state, bad), Err(RestoreError::NoEntry { .. })));
        assert!(quarantine::drop(&state, bad).is_err());
    }
    // A link in the way is not followed; missing directories are made.
    let project = Project::new();
    let run = project.run("mkdir -p a/b; echo one > a/b/.envrc");
    let id = run.caught[0].id.clone().unwrap();
    fs::remove_dir_all(project.zone().join("a")).unwrap();
    symlink(&project.dir, project.zone().join("a")).unwrap();
    let crooked = quarantine::restore(&project.quarantine(), &id);
    assert!(matches!(crooked, Err(RestoreError::Crooked { .. })), "{crooked:?}");
    fs::remove_file(project.zone().join("a")).unwrap();
    quarantine::restore(&project.quarantine(), &id).unwrap();
    assert_eq!(project.read("a/b/.envrc"), "one\n");
}

fn files_are_put_back_without_a_tree() {
    let mut project = Project::new()
        .file(".envrc", "use x")
        .file(".vscode/settings.json", "{}")
        .file(".vscode/more/x", "y");
    project.git(&["init", "-q"]);
    project.git(&["config", "alias.mine", "!echo mine"]);
    project.backend = Backend::None;
    let run = project.run(
        "echo evil > .envrc; echo evil > .vscode/settings.json; mkdir .vscode/new
         echo evil > .vscode/tasks.json; git config core.fsmonitor evil; cat .vscode/more/x",
    );
    run.caught(&[
        ".envrc",
        ".git/config",
        ".vscode/new",
        ".vscode/settings.json",
        ".vscode/tasks.json",
    ]);
    assert_eq!(project.read(".envrc"), "use x");
    assert_eq!(project.read(".vscode/settings.json"), "{}");
    assert_eq!(project.read(".vscode/more/x"), "y");
    assert!(!project.has(".vscode/tasks.json") && !project.has(".vscode/new"));
    let config = project.read(".git/config");
    assert!(config.contains("mine") && !config.contains("evil"), "{config}");
    project.run("git commit --allow-empty -qm x; cat .envrc").succeeded().caught(&[]);
}

fn zones_in_zones_are_guarded() {
    let mut project = Project::new().file("sub/.vscode/x", "y");
    project.inner_zone = true;
    let run = project.run(
        "echo x > /inner/.envrc; mkdir -p /inner/a; echo x > /inner/a/.envrc; echo x > .envrc
         echo evil > /inner/.vscode/x; echo evil > sub/.vscode/x; echo x > sub/a/b.worker; true",
    );
    run.caught(&[".envrc", "sub/.envrc", "sub/a/.envrc", "sub/a/b.worker"]);
    assert_eq!(project.read("sub/.vscode/x"), "y");
}

fn large_trees_start_quickly() {
    let project = Project::new();
    for i in 0..100 {
        for j in 0..100 {
            let dir = project.zone().join(format!("n{i}/m{j}"));
            fs::create_dir_all(&dir).unwrap();
            fs::write(dir.join("index.js"), "").unwrap();
        }
    }
    let since = Instant::now();
    let sandbox = project.start();
    sandbox.tree.layers().unwrap();
    let took = since.elapsed();
    println!("      10,000 directories: {took:?}");
    assert!(took < Duration::from_secs(2), "{took:?}");
    sandbox.run("echo x > n99/m99/.envrc").caught(&["n99/m99/.envrc"]);
}
