//! Trust: which changes of a trusted file need a new one.

use std::os::unix::ffi::OsStrExt;

use zonekeep::approve::Nobody;
use zonekeep::policy::config::Overrides;
use zonekeep::trust::{Changes, Standing, TrustStore};
use zonekeep::{OpenError, Project, ProjectError, Session, StateDir};
use zonekeep_testkit::Project as Files;

/// A file with one of each kind of opening.
const WIDE: &str = "sandbox:
  mode: direct
  zones:
    work: { path: ./work, mode: rw }
    far: { path: ../far, mode: rw, approval: { write: ask }, suffixes: [.md, .txt] }
  network: { allow: [\"*.example.com\", a.example.org:8443], deny: [x.example.com] }
  pass_env: [ONE, TWO]
  secrets: { KEY: { env: MINE, hosts: [api.example.com] } }
  env: { MODE: fast }
  limits: { memory: 900G, processes: 90000 }
  allow_sensitive: [\"*.pem\"]
  allow_hard_links: [\"store/**\"]
  guard: { \".envrc\": allow }
shell:
  default: ask
  rules:
    - { pattern: 'git push *', approval: preApproved, grants: { network: [git.example.org] } }
    - { pattern: 'rm *', approval: blocked }
";

fn files(config: &str) -> Files {
    Files::with_config("", config).dir("work").file("../far/a.md", "far")
}

struct Opened {
    project: Project,
    state: StateDir,
}

impl Opened {
    fn read(files: &Files) -> Self {
        let project =
            Project::at(&files.path(""), &Overrides::default()).unwrap_or_else(
                |error| match error {
                    ProjectError::Invalid { problems, .. } => panic!("{problems:#?}"),
                    error => panic!("{error}"),
                },
            );
        Opened { project, state: StateDir::at(files.state().join("zonekeep")) }
    }

    fn trust(&self) {
        let reach = Session::reach(&self.project, &self.state).unwrap();
        TrustStore::new(&self.state).trust(&self.project, &reach).unwrap();
    }

    fn standing(&self) -> Standing {
        let reach = Session::reach(&self.project, &self.state).unwrap();
        let standing = TrustStore::new(&self.state).standing(&self.project, &reach);
        let opens = Session::open(&self.project, &self.state, Nobody).is_ok();
        assert_eq!(opens, reach.is_empty() || standing == Standing::Trusted);
        standing
    }
}

/// Returns how a file stands that replaces a trusted one.
fn after(before: &str, now: &str) -> Standing {
    let files = files(before);
    Opened::read(&files).trust();
    assert_eq!(Opened::read(&files).standing(), Standing::Trusted, "the control");
    files.put("zonekeep.yaml", now);
    Opened::read(&files).standing()
}

fn added(standing: Standing) -> Vec<String> {
    match standing {
        Standing::Changed(Changes { added, .. }) => added,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_change_that_opens_nothing_more_needs_no_new_trust() {
    let narrower = [
        ("nothing", "", ""),
        ("a comment", "sandbox:\n", "# why\nsandbox:   # here\n\n"),
        ("white space", "[ONE, TWO]", "[ ONE,\n      TWO ]"),
        (
            "the order of keys",
            "{ memory: 900G, processes: 90000 }",
            "{ processes: 90000, memory: 900G }",
        ),
        ("the order of names", "[ONE, TWO]", "[TWO, ONE]"),
        ("another spelling", "memory: 900G", "memory: '921600M'"),
        ("one variable less", "[ONE, TWO]", "[ONE]"),
        ("one host less", ", a.example.org:8443]", "]"),
        ("a host below a pattern", "\"*.example.com\"", "b.example.com"),
        ("one more denied host", "deny: [x.example.com]", "deny: [x.example.com, y.example.com]"),
        ("read instead of write", "path: ../far, mode: rw", "path: ../far, mode: ro"),
        ("blocked writes", "write: ask", "write: blocked"),
        ("fewer suffixes", "[.md, .txt]", "[.md]"),
        (
            "no zone outside",
            "    far: { path: ../far, mode: rw, approval: { write: ask }, suffixes: [.md, .txt] }\n",
            "",
        ),
        ("a lower limit that is still raised", "memory: 900G", "memory: 800G"),
        ("no secret", "  secrets: { KEY: { env: MINE, hosts: [api.example.com] } }\n", ""),
        ("no pattern of credentials", "[\"*.pem\"]", "[]"),
        ("a guard that asks", "\".envrc\": allow", "\".envrc\": ask"),
        ("a stricter default", "default: ask", "default: blocked"),
        (
            "one more blocked rule",
            "  rules:\n",
            "  rules:\n    - { pattern: 'dd *', approval: blocked }\n",
        ),
        ("an escape for the same value", "env: { MODE: fast }", "env: { MODE: \"f\\u0061st\" }"),
    ];
    for (what, old, new) in narrower {
        assert!(WIDE.contains(old), "{what}");
        let now = WIDE.replacen(old, new, 1);
        assert_eq!(after(WIDE, &now), Standing::Trusted, "{what}:\n{now}");
    }
}

#[test]
fn a_change_that_may_open_more_needs_new_trust_and_is_named() {
    let wider = [
        // A value, its replacement, and what the message says of it.
        (
            "\"*.example.com\"",
            "\"*.example.com\", b.example.net",
            "reach b.example.net (zonekeep.yaml:6)",
        ),
        ("a.example.org:8443", "a.example.org:9443", "reach a.example.org:9443 (zonekeep.yaml:6)"),
        ("\"*.example.com\", a", "\"*.example.net\", a", "reach *.example.net (zonekeep.yaml:6)"),
        (
            ", deny: [x.example.com]",
            "",
            "sandbox.network may be looser than before (zonekeep.yaml:6)",
        ),
        (
            "[ONE, TWO]",
            "[ONE, TWO, AWS_SECRET]",
            "pass the environment variable AWS_SECRET to commands (zonekeep.yaml:7)",
        ),
        (
            "[ONE, TWO]",
            "[ONE, T\u{0057}\u{041e}]",
            "pass the environment variable T\u{0057}\u{041e} to commands (zonekeep.yaml:7)",
        ),
        (
            "write: ask",
            "write: preApproved",
            "sandbox.zones.far.approval.write may be looser than before (zonekeep.yaml:5)",
        ),
        (", suffixes: [.md, .txt]", "", "sandbox.zones.far.suffixes is no longer written"),
        (
            "[.md, .txt]",
            "[.md, .txt, .key]",
            "sandbox.zones.far.suffixes may be looser than before (zonekeep.yaml:5)",
        ),
        ("far: { path", "far: { at: same, path", "far as "),
        (
            "env: MINE",
            "env: YOURS",
            "send the environment variable YOURS to api.example.com as KEY (zonekeep.yaml:8)",
        ),
        (
            "env: MINE,",
            "env: MINE, header: X-Key,",
            "sandbox.secrets.KEY may be looser than before (zonekeep.yaml:8)",
        ),
        (
            "[api.example.com]",
            "[api.example.com, c.example.com]",
            "send the environment variable MINE to api.example.com, c.example.com as KEY (zonekeep.yaml:8)",
        ),
        ("MODE: fast", "MODE: slow", "sandbox.env may be looser than before (zonekeep.yaml:9)"),
        ("memory: 900G", "memory: 901G", "raise the limit 'memory' to 901 GiB (zonekeep.yaml:10)"),
        (
            "processes: 90000",
            "processes: 90000, tmp: none",
            "lift the limit 'tmp' (zonekeep.yaml:10)",
        ),
        (
            "[\"*.pem\"]",
            "[\"*.pem\", \"*.key\"]",
            "read credentials in granted directories that match *.key (zonekeep.yaml:11)",
        ),
        (
            "[\"store/**\"]",
            "[\"store/**\", \"*.db\"]",
            "write files outside by hard links that match *.db (zonekeep.yaml:12)",
        ),
        (
            "\".envrc\": allow",
            "\".envrc\": allow, \".git/**\": allow",
            "change files that match .git/** without a question (zonekeep.yaml:13)",
        ),
        ("default: ask", "default: preApproved", "shell may be looser than before"),
        ("'git push *'", "'git *'", "shell may be looser than before"),
        ("approval: blocked", "approval: ask", "shell may be looser than before"),
        (
            "[git.example.org]",
            "[git.example.org, h.example.org]",
            "reach h.example.org (zonekeep.yaml:17)",
        ),
        (
            "  mode: direct\n",
            "  mode: direct\n  require_os_sandbox: false\n",
            "run commands where the operating system does not fully enforce their boundaries (zonekeep.yaml:3)",
        ),
        (
            "  mode: direct\n",
            "  mode: direct\n  backend: none\n",
            "run commands without an operating-system sandbox (zonekeep.yaml:3)",
        ),
        (
            "shell:\n",
            "approval: { mode: auto }\nshell:\n",
            "have every question answered with yes (zonekeep.yaml:14)",
        ),
    ];
    for (old, new, says) in wider {
        assert!(WIDE.contains(old), "{old}");
        let now = WIDE.replacen(old, new, 1);
        let added = added(after(WIDE, &now));
        assert!(added.iter().any(|line| line.contains(says)), "{old} -> {new}: {added:#?}");
    }
}

#[test]
fn the_message_lists_new_and_gone_openings_and_nothing_else() {
    let now = WIDE.replace("a.example.org:8443", "b.example.org").replace("[ONE, TWO]", "[ONE]");
    let files = files(WIDE);
    Opened::read(&files).trust();
    files.put("zonekeep.yaml", now);
    let Opened { project, state } = Opened::read(&files);
    let error = Session::open(&project, &state, Nobody).unwrap_err();
    assert!(matches!(error, OpenError::Untrusted { .. }));
    assert_eq!(
        error.to_string(),
        "this project file has changed since you trusted it, and may open more:
  + reach b.example.org (zonekeep.yaml:6)
  - pass the environment variable TWO to commands
  - reach a.example.org:8443"
    );
}

#[test]
fn a_zone_that_leads_elsewhere_needs_new_trust_although_the_text_is_the_same() {
    let config = "sandbox: { mode: direct, zones: { far: { path: ./link, mode: ro } } }\n";
    let files = Files::with_config("", config).dir("../one").dir("../two").link("link", "../one");
    Opened::read(&files).trust();
    std::fs::remove_file(files.path("link")).unwrap();
    let files = files.link("link", "../two");
    let lines = added(Opened::read(&files).standing());
    assert!(lines.len() == 1 && lines[0].contains("/two as /far"), "{lines:?}");
    // A narrower text does not help either.
    files.put("zonekeep.yaml", config.replace("mode: ro", "mode: ro, suffixes: [.md]"));
    assert_eq!(added(Opened::read(&files).standing()).len(), 1);
    // What was read-only is not trusted for writing.
    std::fs::remove_file(files.path("link")).unwrap();
    let files = files.link("link", "../one");
    assert_eq!(Opened::read(&files).standing(), Standing::Trusted);
    files.put("zonekeep.yaml", config.replace("mode: ro", "mode: rw"));
    let lines = added(Opened::read(&files).standing());
    assert!(lines.len() == 1 && lines[0].starts_with("read and write "), "{lines:?}");
}

/// A path that is not UTF-8 must not pass for another one that looks the same.
#[test]
fn directories_that_read_alike_are_told_apart() {
    let config = "sandbox: { mode: direct, zones: { far: { path: ./link, mode: ro } } }\n";
    let files = Files::with_config("", config);
    let odd = |byte: u8| {
        let name = [b"odd".as_slice(), &[byte]].concat();
        files.beside("").join(std::ffi::OsStr::from_bytes(&name))
    };
    if std::fs::create_dir(odd(0xfe)).and_then(|()| std::fs::create_dir(odd(0xff))).is_err() {
        return zonekeep_testkit::skip("names that are not UTF-8 cannot be made here");
    }
    std::os::unix::fs::symlink(odd(0xfe), files.path("link")).unwrap();
    Opened::read(&files).trust();
    assert_eq!(Opened::read(&files).standing(), Standing::Trusted, "the control");
    std::fs::remove_file(files.path("link")).unwrap();
    std::os::unix::fs::symlink(odd(0xff), files.path("link")).unwrap();
    assert_eq!(added(Opened::read(&files).standing()).len(), 1);
}

#[test]
fn trust_is_for_one_file_at_one_place() {
    let files = files(WIDE);
    Opened::read(&files).trust();
    std::fs::rename(files.path("zonekeep.yaml"), files.path("golem-forge.config.yaml")).unwrap();
    assert_eq!(Opened::read(&files).standing(), Standing::New);
}

/// The record is of the file that was shown, not of the one that replaced it since.
#[test]
fn a_file_that_changes_before_the_answer_is_not_trusted() {
    let files = files(&WIDE.replace("[ONE, TWO]", "[ONE]"));
    let shown = Opened::read(&files);
    files.put("zonekeep.yaml", WIDE);
    shown.trust();
    let added = added(Opened::read(&files).standing());
    assert_eq!(added, ["pass the environment variable TWO to commands (zonekeep.yaml:7)"]);
}

/// A record that was made where a file opened nothing says nothing about what the same file
/// opens elsewhere, on a machine with less memory or in a home directory.
#[test]
fn a_record_of_a_file_that_opened_nothing_trusts_no_opening() {
    let files = files(WIDE);
    let opened = Opened::read(&files);
    let none = std::collections::BTreeSet::new();
    TrustStore::new(&opened.state).trust(&opened.project, &none).unwrap();
    assert!(!added(opened.standing()).is_empty());
    assert!(TrustStore::new(&opened.state).covers_rules(&opened.project));
}

#[test]
fn records_of_earlier_versions_are_named_and_not_obeyed() {
    let files = files(WIDE);
    let opened = Opened::read(&files);
    let path = opened.state.make("").unwrap().join("trusted");
    let file = opened.project.file.as_ref().unwrap().display();
    let old = format!("{} {file}\n{} /elsewhere/zonekeep.yaml\n", "ab".repeat(32), "cd".repeat(32));
    std::fs::write(&path, &old).unwrap();
    assert_eq!(opened.standing(), Standing::Outdated);
    let error = Session::open(&opened.project, &opened.state, Nobody).unwrap_err().to_string();
    assert!(error.contains("earlier version of zonekeep"), "{error}");
    // The new record replaces this file's lines and no others.
    opened.trust();
    assert_eq!(opened.standing(), Standing::Trusted);
    let list = std::fs::read_to_string(&path).unwrap();
    assert!(list.contains("/elsewhere/") && !list.contains(&"ab".repeat(32)), "{list}");
    // A line that is no record is none.
    std::fs::write(&path, "{}\n{\"place\": 1}\nnull\n\u{0}\n").unwrap();
    assert_eq!(opened.standing(), Standing::New);
}

#[test]
fn several_versions_of_a_file_stay_trusted_and_the_list_stays_short() {
    let files = files(WIDE);
    let version = |n: u32| WIDE.replace("ONE", &format!("ONE_{n}"));
    for n in 0..12 {
        files.put("zonekeep.yaml", version(n));
        Opened::read(&files).trust();
        Opened::read(&files).trust();
    }
    for (n, trusted) in [(11, true), (4, true), (3, false), (0, false)] {
        files.put("zonekeep.yaml", version(n));
        assert_eq!(Opened::read(&files).standing() == Standing::Trusted, trusted, "{n}");
    }
    // Two versions do not add up.
    files.put("zonekeep.yaml", version(11).replace("TWO", "ONE_10"));
    assert_eq!(added(Opened::read(&files).standing()).len(), 1);
    let list = std::fs::read_to_string(files.state().join("zonekeep/trusted")).unwrap();
    assert_eq!(list.lines().count(), 8);
    let left = std::fs::read_dir(files.state().join("zonekeep")).unwrap().count();
    assert_eq!(left, 1 + usize::from(files.state().join("zonekeep/audit").exists()), "no remains");
}

/// A huge file is compared in bounded time, and nothing of it is cut off.
#[test]
fn the_last_line_of_a_huge_file_counts() {
    let names: Vec<String> = (0..2_000).map(|n| format!("NAME_{n}")).collect();
    let config = |names: &[String]| format!("sandbox: {{ pass_env: [{}] }}\n", names.join(", "));
    let before = config(&names);
    let fewer = config(&names[..1_999]);
    let other = config(&[&names[..1_999], &["SECRET".to_owned()]].concat());
    assert_eq!(after(&before, &fewer), Standing::Trusted);
    let added = added(after(&before, &other));
    assert_eq!(added.len(), 1, "{added:?}");
    assert!(added[0].contains("SECRET"));
}
