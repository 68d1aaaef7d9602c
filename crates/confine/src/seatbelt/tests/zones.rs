//! Zones.

use super::*;

#[test]
fn what_can_be_done_in_zones_and_elsewhere() {
    let profile = profile(&zones());
    let cases = [
        // path, read, run, write
        ("/Users/me/in/a", true, true, false),
        ("/Users/me/out/a", true, true, true),
        ("/Users/me/outside", false, false, false),
        ("/Users/me/.ssh/id_ed25519", false, false, false),
        ("/opt/tools/bin/x", true, true, false),
        ("/usr/bin/env", true, true, false),
        ("/usr/bin/open", true, false, false),
        ("/private/etc/master.passwd", false, false, false),
        ("/private/var/zonekeep/1/tmp/a", true, true, true),
        ("/private/var/zonekeep/2/tmp/a", false, false, false),
        ("/private/tmp/a", false, false, false),
        ("/System/Library/Frameworks/x", true, true, false),
        ("/System/Volumes/Data/Users/me/.ssh/id_ed25519", false, false, false),
        ("/Library/Keychains/System.keychain", false, false, false),
        ("/dev/ttys003", false, false, false),
    ];
    for (path, reads, runs, writes) in cases {
        let got = ["file-read-data", "process-exec", "file-write-create"]
            .map(|operation| allows(&profile, operation, path));
        assert_eq!(got, [reads, runs, writes], "{path}");
    }
    assert!(allows(&profile, "file-read-metadata", "/Users/me"));
    assert!(!allows(&profile, "file-read-data", "/Users/me"));
    assert!(!allows(&profile, "file-read-metadata", "/Users/you"));
    assert!(!allows(&profile, "file-link", "/Users/me/out/a"));
    assert!(!allows(&profile, "file-write-setugid", "/Users/me/out/a"));
}

#[test]
fn nothing_that_rules_go_by_can_be_moved() {
    let profile = profile(&zones());
    for path in ["/", "/Users", "/Users/me", "/Users/me/out", "/private/var/zonekeep/1/tmp"] {
        assert!(!allows(&profile, "file-write-unlink", path), "{path}");
    }
    assert!(allows(&profile, "file-write-unlink", "/Users/me/out/a"));
}

#[test]
fn the_innermost_zone_decides() {
    let profile = profile(&plan(&[
        ("/w/a/b/c", Access::Rw, Role::Zone),
        ("/w/a/b", Access::Ro, Role::Zone),
        ("/w/a", Access::Rw, Role::Zone),
        ("/private/var/zonekeep/1/home/ro", Access::Ro, Role::Zone),
    ]));
    assert!(!allows(&profile, "file-write-data", "/private/var/zonekeep/1/home/ro/x"));
    let cases = [("/w/a/x", true), ("/w/a/b/x", false), ("/w/a/b/c/x", true), ("/w/x", false)];
    for (path, writes) in cases {
        assert_eq!(allows(&profile, "file-write-data", path), writes, "{path}");
    }
    assert!(!allows(&profile, "file-write-unlink", "/w/a/b"));
}
