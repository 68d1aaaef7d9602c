//! Reads credentials that lie in a granted directory: by their path, by a link, after
//! moving the directory they are in, by another name.

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "files/hidden_keys",
    what: "reads keys and passwords in a granted directory",
    setup: |scene| {
        scene.put("home/.ssh/id_ed25519", SECRET);
        scene.put("home/.netrc", SECRET);
        // Known by both names, so that neither may change.
        scene.put("app/.aws/credentials", SECRET);
    },
    attempt: |t| {
        let home = t.rw.join("home");
        let link = std::os::unix::fs::symlink("home/.ssh", t.rw.join("link"));
        let read = |path: PathBuf| Target::is_secret(&fs::read(path));
        let direct = read(home.join(".ssh/id_ed25519")) || read(home.join(".netrc"));
        let linked = link.is_ok() && read(t.rw.join("link/id_ed25519"));
        let second = fs::hard_link(home.join(".netrc"), t.rw.join("name")).is_ok()
            && read(t.rw.join("name"));
        let moved = fs::rename(home.join(".ssh"), home.join("ssh")).is_ok()
            && read(home.join("ssh/id_ed25519"));
        let outer = fs::rename(&home, t.rw.join("elsewhere")).is_ok()
            && (read(t.rw.join("elsewhere/.ssh/id_ed25519"))
                || read(t.rw.join("elsewhere/.netrc")));
        let outer = outer || fs::rename(t.rw.join("app/.aws"), t.rw.join("app/aws")).is_ok();
        Outcome::when("read a key or a password", direct || linked || second || moved || outer)
    },
    held_by: OWN_TREE,
    ..BASE
};
