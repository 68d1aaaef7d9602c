//! The file work that every store must do, on directories that are mounts of
//! their own: what file tools act on where the kernel offers it.

#![cfg(target_os = "linux")]
#![allow(unsafe_code, reason = "something has to run before the tests do")]
#![allow(clippy::unwrap_used, unreachable_pub, reason = "tests")]

use std::path::Path;

use zonekeep::confine::plan::{Access, Backend, Bind, Entry, Network, Plan, Role, ZoneRules};
use zonekeep::confine::tree::{Launcher, handles};
use zonekeep::files::write::{WriteOptions, write};
use zonekeep::files::{Fault, HostStore, Store};
use zonekeep::policy::limit::Limits;
use zonekeep::policy::{Place, RelPath};
use zonekeep_testkit::enforced;

const PROGRAM: &str = env!("CARGO_BIN_EXE_zonekeep");

#[path = "../../files/tests/stores.rs"]
mod stores;

/// Has the tests of the stores open directories as sandboxes do.
// SAFETY: runs once, in the only thread, and only sets a value.
#[unsafe(link_section = ".init_array")]
#[used]
static INIT: extern "C" fn() = {
    extern "C" fn init() {
        let _ = stores::common::OPENER.set(|path| held(path, Access::Rw));
    }
    init
};

fn held(path: &Path, access: Access) -> HostStore {
    let zone = Bind {
        host: path.to_owned(),
        at: "/zone".into(),
        access,
        role: Role::Zone,
        identity: None,
    };
    let plan = Plan {
        backend: Backend::Namespaces,
        entries: vec![Entry::Bind(zone)],
        home: "/home/agent".into(),
        network: Network::Off,
        limits: Limits::none(),
        watch: None,
        rules: ZoneRules::default(),
        prove: false,
        calls: Default::default(),
        dialers: 0,
    };
    let launcher = Launcher::at(PROGRAM);
    match handles(&plan, &launcher) {
        Ok(mut handles) => HostStore::from_fd(handles.remove(0)),
        // The test goes on with the directory itself, as file tools do.
        Err(_) if !enforced(PROGRAM) => HostStore::open(path).unwrap(),
        Err(failed) => panic!("{failed}"),
    }
}

/// With every check of ours switched off, a mount that is read-only stays so,
/// and nothing above it is there.
#[test]
fn without_our_checks_the_mount_still_holds() {
    if !zonekeep_testkit::enforced(env!("CARGO_BIN_EXE_zonekeep")) {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    std::fs::create_dir(dir.path().join("zone")).unwrap();
    std::fs::write(dir.path().join("zone/a"), "before").unwrap();
    std::fs::write(dir.path().join("secret"), "secret").unwrap();
    let path = dir.path().join("zone");
    let place = |path: &str| Place::unchecked(RelPath::root().join(path.as_bytes()));

    let ro = held(&path, Access::Ro);
    let refused = write(&ro, &place("a"), b"after", &WriteOptions::default());
    assert!(refused.is_err(), "{refused:?}");
    assert_eq!(std::fs::read_to_string(path.join("a")).unwrap(), "before");
    // Not even the system's own calls on the handle, with `..` and by name.
    let flags = rustix::fs::OFlags::RDONLY;
    let up = rustix::fs::openat(&ro, "../secret", flags, rustix::fs::Mode::empty());
    assert_eq!(up.err(), Some(rustix::io::Errno::NOENT));
    let remove = rustix::fs::unlinkat(&ro, "a", rustix::fs::AtFlags::empty());
    assert_eq!(remove.err(), Some(rustix::io::Errno::ROFS));

    let rw = held(&path, Access::Rw);
    write(&rw, &place("a"), b"after", &WriteOptions::default()).unwrap();
    assert_eq!(std::fs::read_to_string(path.join("a")).unwrap(), "after");
    let up = rustix::fs::openat(&rw, "../secret", flags, rustix::fs::Mode::empty());
    assert_eq!(up.err(), Some(rustix::io::Errno::NOENT));
    assert!(matches!(rw.check(), Ok(()) | Err(Fault::Gone)));
}
