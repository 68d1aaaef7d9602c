//! Guarded files.

use super::*;

#[test]
fn guarded_files_are_refused_by_name() {
    let zones = plan(&[
        ("/Users/me/out", Access::Rw, Role::Zone),
        ("/Users/me/tmp", Access::Rw, Role::Zone),
        ("/w", Access::Rw, Role::Zone),
    ]);
    let profile =
        profile(&watching(zones, &["zonekeep.yaml", ".git/**", ".cargo/config.toml", "*.worker"]));
    assert_snapshot!(parts(&profile, &["Guarded files", "Directories in which"]), @r#"
    ; Guarded files in zones, at any depth there, whether they exist or not. The file system
    ; ignores case, and so [gG]; it also takes some other letters for these, such as a long s
    ; for s and one sharp s for two, and so [^ -~]+.
    (deny file-write*
      (require-all
        (subpath "/w")
        (require-any
          (regex #"^/[^/]+/(.*/)?[zZ][oO][nN][eE]([kK]|[^ -~]+)[eE][eE][pP][.][yY][aA][mM][lL](/.*)?$")
          (regex #"^/[^/]+/(.*/)?[.][gG][iI][tT](/.*)?$")
          (regex #"^/[^/]+/(.*/)?[.][cC][aA][rR][gG][oO]/[cC][oO][nN]([fF][iI]|[^ -~]+)[gG][.][tT][oO][mM][lL](/.*)?$")
          (regex #"^/[^/]+/(.*/)?[^/]*[.][wW][oO][rR]([kK]|[^ -~]+)[eE][rR](/.*)?$"))))
    (deny file-write*
      (require-all
        (require-any
          (subpath "/Users/me/out")
          (subpath "/Users/me/tmp"))
        (require-any
          (regex #"^/[^/]+/[^/]+/[^/]+/(.*/)?[zZ][oO][nN][eE]([kK]|[^ -~]+)[eE][eE][pP][.][yY][aA][mM][lL](/.*)?$")
          (regex #"^/[^/]+/[^/]+/[^/]+/(.*/)?[.][gG][iI][tT](/.*)?$")
          (regex #"^/[^/]+/[^/]+/[^/]+/(.*/)?[.][cC][aA][rR][gG][oO]/[cC][oO][nN]([fF][iI]|[^ -~]+)[gG][.][tT][oO][mM][lL](/.*)?$")
          (regex #"^/[^/]+/[^/]+/[^/]+/(.*/)?[^/]*[.][wW][oO][rR]([kK]|[^ -~]+)[eE][rR](/.*)?$"))))

    ; Directories in which a file is guarded: one that was filled elsewhere must not be put
    ; there, and none must be moved away to be changed.
    (deny file-write-create file-write-unlink
      (require-all
        (subpath "/w")
        (regex #"^/[^/]+/(.*/)?[.][cC][aA][rR][gG][oO]$")))
    (deny file-write-create file-write-unlink
      (require-all
        (require-any
          (subpath "/Users/me/out")
          (subpath "/Users/me/tmp"))
        (regex #"^/[^/]+/[^/]+/[^/]+/(.*/)?[.][cC][aA][rR][gG][oO]$")))
    "#);
}

#[test]
fn rules_and_guards_agree() {
    let guards = Guards::default();
    let patterns: Vec<&str> = guards.entries().iter().map(|entry| &*entry.pattern).collect();
    let profile = profile(&watching(zones(), &patterns));
    let paths = [
        "a",
        "a.git",
        ".gitignore",
        "git/config",
        "src/main.rs",
        ".cargo/registry",
        "x.workers",
        "zonekeep.yaml",
        "b/ZoneKeep.YAML",
        "zonekeep.yaml/x",
        ".git",
        ".GIT/hooks/x",
        "d/.git/x",
        ".cargo/config.toml",
        "d/.Cargo/Config",
        ".config/fish/x",
        ".config/other",
        "main.worker",
        "w/.worker",
        ".github/workflows/ci.yml",
        ".github/CODEOWNERS",
        ".ssh/x",
        ".bash_profile",
        ".bash",
        "lefthook.yml",
    ];
    for path in paths {
        let agent = AgentPath::absolute(&format!("/{path}")).unwrap();
        let guarded = guards.find(agent.as_rel(), Reach::File).is_some();
        let host = format!("/Users/me/out/{path}");
        assert_eq!(allows(&profile, "file-write-data", &host), !guarded, "{path}");
        let whole = guards.find(agent.as_rel(), Reach::Tree).is_some();
        assert_eq!(allows(&profile, "file-write-create", &host), !whole, "{path}, created");
        assert!(allows(&profile, "file-read-data", &host), "{path}");
    }
}

#[test]
fn other_letters_that_a_file_system_takes_for_the_same_are_guarded() {
    let profile = profile(&watching(
        zones(),
        &[
            ".bashrc",
            "*.worker",
            ".ssh/**",
            ".git/config",
            "lefthook.yml",
            "stra\u{df}e",
            "caf\u{e9}",
        ],
    ));
    let same = [
        ".ba\u{17f}hrc",
        "a.wor\u{212a}er",
        ".\u{df}h",
        ".\u{17f}sh",
        ".git/con\u{fb01}g",
        "Stra\u{df}e",
        "cafe\u{301}",
        "CAF\u{c9}",
    ];
    for name in same {
        let path = format!("/Users/me/out/{name}");
        assert!(!allows(&profile, "file-write-create", &path), "{name}");
    }
    for name in ["caf", "cafe", ".bahrc", "stra", "\u{e9}t\u{e9}"] {
        let path = format!("/Users/me/out/{name}");
        assert!(allows(&profile, "file-write-create", &path), "{name}");
    }
}

#[test]
fn guards_hold_in_every_zone_and_not_above_one() {
    let zones = ["/w/.git", "/w/caf\u{e9} \"1\"/b", "/w/c/.cargo/d"];
    let zones = zones.map(|zone| (zone, Access::Rw, Role::Zone));
    let profile = profile(&watching(plan(&zones), &[".git/**", ".cargo/config"]));
    for (zone, ..) in zones {
        for (name, writes) in [("a", true), ("config", true), (".git/a", false), ("x/.git", false)]
        {
            let path = format!("{zone}/{name}");
            assert_eq!(allows(&profile, "file-write-data", &path), writes, "{path}");
        }
        assert!(!allows(&profile, "file-write-unlink", &format!("{zone}/.cargo")));
        assert!(!allows(&profile, "file-write-unlink", &format!("{zone}/x/.cargo")));
    }
    // Private directories are nobody else's.
    assert!(allows(&profile, "file-write-data", "/private/var/zonekeep/1/home/.git/config"));
}
