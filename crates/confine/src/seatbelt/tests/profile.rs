//! The profile as a whole.

use super::*;

#[test]
fn a_read_only_and_a_writable_zone_without_a_network() {
    let profile = profile(&zones());
    assert_snapshot!(profile.text, @r#"
    ; Made by zonekeep. The last rule that matches decides.
    (version 1)
    (deny default)

    ; These are allowed, rule above or not, unless they are denied by name.
    (deny process-info* nvram* iokit* mach-priv*)

    ; Nothing is started outside: no application, job, script of another program.
    (deny lsopen job-creation appleevent-send distributed-notification-post)

    ; No rights of the administrator, even where the administrator runs this.
    (deny system-privilege)

    ; Processes start others, which have the same sandbox, and see and end only those.
    (allow process-fork)
    (allow process-info* (target same-sandbox))
    (allow signal (target same-sandbox))

    ; The system's programs and libraries.
    (allow file-read* file-test-existence file-map-executable process-exec*
      ; libraries, and the loader
      (subpath "/usr/lib")
      ; programs
      (subpath "/usr/bin")
      (subpath "/bin")
      (subpath "/usr/sbin")
      (subpath "/sbin")
      ; programs that programs start
      (subpath "/usr/libexec")
      ; frameworks
      (subpath "/System/Library")
      (subpath "/System/iOSSupport")
      ; all libraries in one file, since macOS 13
      (subpath "/System/Cryptexes")
      ; the same by its other name
      (subpath "/System/Volumes/Preboot/Cryptexes")
      ; all libraries in one file, before macOS 13
      (subpath "/private/var/db/dyld")
      ; Rosetta
      (subpath "/Library/Apple")
      ; what Rosetta has translated
      (subpath "/private/var/db/oah")
      ; what git, clang and python3 in /usr/bin stand for
      (subpath "/Library/Developer/CommandLineTools"))

    ; What programs of the system read.
    (allow file-read* file-test-existence
      ; time zones, terminals, languages
      (subpath "/usr/share")
      ; time zones
      (subpath "/private/var/db/timezone")
      ; which shell /bin/sh is, and which tools are selected
      (subpath "/private/var/select")
      ; the certificates that are trusted
      (subpath "/private/etc/ssl")
      ; where programs are
      (subpath "/private/etc/paths.d")
      ; the time zone
      (literal "/private/etc/localtime")
      ; the system's own users; people are not in it
      (literal "/private/etc/passwd")
      ; the system's own groups
      (literal "/private/etc/group")
      ; names of ports
      (literal "/private/etc/services")
      ; names of protocols
      (literal "/private/etc/protocols")
      ; names of shells
      (literal "/private/etc/shells")
      ; where programs are
      (literal "/private/etc/paths")
      ; read by shells that start
      (literal "/private/etc/profile")
      (literal "/private/etc/bashrc")
      (literal "/private/etc/zshenv")
      (literal "/private/etc/zprofile")
      (literal "/private/etc/zshrc")
      ; which tools are selected
      (literal "/private/var/db/xcode_select_link"))

    ; The way there: names only.
    (allow file-read-metadata file-test-existence
      (literal "/")
      (literal "/Library")
      (literal "/Library/Developer")
      (literal "/System")
      (literal "/System/Volumes")
      (literal "/System/Volumes/Data")
      (literal "/System/Volumes/Preboot")
      (literal "/dev")
      (literal "/etc")
      (literal "/private")
      (literal "/private/etc")
      (literal "/private/var")
      (literal "/private/var/db")
      (literal "/private/var/run")
      (literal "/tmp")
      (literal "/usr")
      (literal "/var"))

    ; No program starts without reading the root directory: the names in it, no more.
    (allow file-read-data (literal "/"))

    ; Devices that hold nothing, and what is already open.
    (allow file-read* file-test-existence file-write-data file-ioctl
      (literal "/dev/null")
      (literal "/dev/zero"))
    (allow file-read* file-test-existence file-ioctl
      (literal "/dev/random")
      (literal "/dev/urandom"))
    (allow file-read* file-test-existence file-write-data
      (subpath "/dev/fd")
      (literal "/dev/stdin")
      (literal "/dev/stdout")
      (literal "/dev/stderr"))

    ; Terminals: the one that the command was given, and those that it makes, which carry this
    ; mark. No other can be opened, so settings can be allowed for all.
    (allow pseudo-tty)
    (allow file-read* file-test-existence file-write-data file-ioctl
      (literal "/dev/tty")
      (literal "/dev/ptmx")
      (require-all (regex #"^/dev/ttys[0-9]+$") (extension "com.apple.sandbox.pty")))
    (allow file-ioctl (regex #"^/dev/ttys[0-9]+$"))

    ; What the machine is, and nothing about other processes.
    (allow sysctl-read
      (sysctl-name-prefix "hw.")
      (sysctl-name-prefix "machdep.cpu.")
      (sysctl-name "kern.argmax")
      (sysctl-name "kern.hostname")
      (sysctl-name "kern.iossupportversion")
      (sysctl-name "kern.maxfiles")
      (sysctl-name "kern.maxfilesperproc")
      (sysctl-name "kern.maxproc")
      (sysctl-name "kern.maxprocperuid")
      (sysctl-name "kern.ngroups")
      (sysctl-name "kern.osproductversion")
      (sysctl-name "kern.osrelease")
      (sysctl-name "kern.ostype")
      (sysctl-name "kern.osvariant_status")
      (sysctl-name "kern.osversion")
      (sysctl-name "kern.secure_kernel")
      (sysctl-name "kern.tcsm_available")
      (sysctl-name "kern.usrstack64")
      (sysctl-name "kern.version")
      (sysctl-name "kern.willshutdown")
      (sysctl-name "machdep.ptrauth_enabled")
      (sysctl-name "sysctl.proc_cputype")
      (sysctl-name "sysctl.proc_native")
      (sysctl-name "vm.loadavg"))

    ; A question that Java asks, which counts as a change.
    (allow sysctl-write (sysctl-name "kern.grade_cputype"))

    ; Semaphores, as Python's multiprocessing has them. Shared memory has names that all
    ; programs share: only those of Python and OpenMP, and when something has changed.
    (allow ipc-posix-sem)
    (allow ipc-posix-shm*
      (ipc-posix-name-regex #"^/psm_")
      (ipc-posix-name-regex #"^/__KMP_REGISTERED_LIB_[0-9]+$"))
    (allow ipc-posix-shm-read* (ipc-posix-name "apple.shm.notification_center"))

    ; What libraries ask of the kernel when they start: am I meant to have a container?
    (allow system-mac-syscall (mac-policy-name "vnguard"))
    (allow system-mac-syscall
      (require-all (mac-policy-name "Sandbox") (mac-syscall-number 67)))

    ; Services of the system, by name.
    (allow mach-lookup
      ; the user's name and home directory
      (global-name "com.apple.system.opendirectoryd.libinfo")
      ; the groups of a user
      (global-name "com.apple.system.opendirectoryd.membership")
      ; when the time zone or users have changed
      (global-name "com.apple.system.notification_center"))

    ; The way to what is granted: these directories can be looked at by name, one by one, and
    ; not listed. Programs that find out where they are need it.
    (allow file-read-metadata file-test-existence
      (literal "/Users")
      (literal "/Users/me")
      (literal "/opt")
      (literal "/private/var/zonekeep")
      (literal "/private/var/zonekeep/1"))

    ; What is granted can be read and run.
    (allow file-read* file-test-existence file-map-executable process-exec*
      (subpath "/opt/tools")
      (subpath "/Users/me/in")
      (subpath "/Users/me/out")
      (subpath (param "HOME"))
      (subpath (param "PRIVATE_1")))

    ; Some of it can be written; what lies deeper comes later, and so decides.
    (allow file-write*
      (subpath (param "HOME"))
      (subpath (param "PRIVATE_1")))
    (allow file-write*
      (subpath "/Users/me/out"))

    ; A copy that shares its blocks is a copy: of what can be read, nothing else. Without a
    ; rule this may be allowed.
    (deny file-clone)
    (allow file-clone
      (subpath "/opt/tools")
      (subpath "/Users/me/in")
      (subpath "/Users/me/out")
      (subpath (param "HOME"))
      (subpath (param "PRIVATE_1")))

    ; No network, and no sockets of other programs: docker's would be the whole machine.
    (deny network*)

    ; A name that is looked up leaves the machine too.
    (deny network-outbound
      (literal "/private/var/run/mDNSResponder"))
    (deny mach-lookup
      ; where names are looked up
      (global-name "com.apple.SystemConfiguration.DNSConfiguration")
      ; interfaces and proxies
      (global-name "com.apple.SystemConfiguration.configd")
      ; looks names up
      (global-name "com.apple.dnssd.service")
      ; checks certificates
      (global-name "com.apple.trustd")
      ; checks certificates, with what the user trusts
      (global-name "com.apple.trustd.agent"))

    ; Unix sockets where files can be written: programs talk to their own parts.
    (allow system-socket (socket-domain AF_UNIX))
    (allow network-bind
      (local unix-socket (subpath "/Users/me/out"))
      (local unix-socket (subpath (param "HOME")))
      (local unix-socket (subpath (param "PRIVATE_1"))))
    (allow network-outbound
      (remote unix-socket (subpath "/Users/me/out"))
      (remote unix-socket (subpath (param "HOME")))
      (remote unix-socket (subpath (param "PRIVATE_1"))))

    ; Rules go by path: what was moved would be judged by its new one. So neither what is
    ; granted nor any directory above it can be moved or removed.
    (deny file-write-unlink
      (literal "/")
      (literal "/Users")
      (literal "/Users/me")
      (literal "/Users/me/in")
      (literal "/Users/me/out")
      (literal "/opt")
      (literal "/opt/tools")
      (literal "/private")
      (literal "/private/var")
      (literal "/private/var/zonekeep")
      (literal "/private/var/zonekeep/1")
      (literal "/private/var/zonekeep/1/home")
      (literal "/private/var/zonekeep/1/tmp"))

    ; A second name would be judged instead of the first: no hard links.
    (deny file-link)

    ; No file becomes another user's program.
    (deny file-write-setugid)

    ; These only start what runs outside: better refused at once.
    (deny process-exec*
      (literal "/usr/bin/open")
      (literal "/usr/bin/osascript")
      (literal "/bin/launchctl"))
    "#);
}

#[test]
fn paths_are_quoted_or_handed_over_as_parameters() {
    let hosts: [&[u8]; 4] = [
        b"/z/a \"b\" \\c",
        "/z/\u{e9}\u{1f600}".as_bytes(),
        b"/z/line\n(allow default)\n",
        b"/z/bytes\xff",
    ];
    let mut plan = plan(&[]);
    for host in hosts {
        plan.entries.push(bind(OsStr::from_bytes(host).into(), Access::Rw, Role::Zone));
    }
    let start = Start {
        argv: vec!["make".into(), "-p".into()],
        env: Default::default(),
        cwd: "/z".into(),
        limits: Limits::none(),
        terminal: [false; 3],
    };
    let profile = profile(&plan);
    for host in &hosts[..2] {
        let path = format!("{}/x", std::str::from_utf8(host).unwrap());
        assert!(allows(&profile, "file-write-data", &path), "{path}");
    }
    assert_snapshot!(parts(&profile, &["can be read and run"]), @r#"
    ; What is granted can be read and run.
    (allow file-read* file-test-existence file-map-executable process-exec*
      (subpath "/z/a \"b\" \\c")
      (subpath "/z/é😀")
      (subpath (param "PATH_0"))
      (subpath (param "PATH_1"))
      (subpath (param "HOME"))
      (subpath (param "PRIVATE_1")))
    "#);
    let mut shown = command(&plan, &start);
    assert_eq!(shown[2], OsStr::new(&profile.text));
    shown[2] = "PROFILE".into();
    let shown: Vec<_> = shown.iter().map(|word| format!("{word:?}")).collect();
    assert_snapshot!(shown.join("\n"), @r#"
    "/usr/bin/sandbox-exec"
    "-p"
    "PROFILE"
    "-DPATH_0=/z/line\n(allow default)\n"
    "-DPATH_1=/z/bytes\xFF"
    "-DHOME=/private/var/zonekeep/1/home"
    "-DPRIVATE_1=/private/var/zonekeep/1/tmp"
    "--"
    "make"
    "-p"
    "#);
}

#[test]
fn no_profile_allows_anything_without_saying_what() {
    let everything = Guards::default();
    let patterns: Vec<&str> = everything.entries().iter().map(|entry| &*entry.pattern).collect();
    let mut nothing = plan(&[]);
    nothing.entries.clear();
    let mut shared = plan(&[]);
    shared.entries =
        ["/tmp", "/var/tmp", "/dev/shm", "/"].map(|at| Entry::Private { at: at.into() }).into();
    for plan in [nothing, shared, zones(), watching(zones(), &patterns)] {
        let gate = Network::Gate(Gateway { proxy: Some(4128), ..Gateway::default() });
        for network in [Network::Off, Network::Host, gate] {
            let profile = profile(&Plan { network, ..plan.clone() });
            let forms = read(&profile.text);
            let rule = |index: usize| format!("{:?}", forms[index]);
            assert_eq!(rule(0), r#"List([Word("version"), Word("1")])"#);
            assert_eq!(rule(1), r#"List([Word("deny"), Word("default")])"#);
            for form in &forms[2..] {
                let Form::List(parts) = form else { panic!("{form:?}") };
                let words: Vec<&str> = parts.iter().filter_map(Form::word).collect();
                let filtered = words.len() < parts.len();
                let bare = ["process-fork", "pseudo-tty", "ipc-posix-sem"];
                match words[0] {
                    "deny" => {}
                    "allow" => assert!(filtered || words[1..].iter().all(|w| bare.contains(w))),
                    other => panic!("a rule that is neither: {other}"),
                }
                assert!(!words[1..].contains(&"default"), "{form:?}");
            }
            for path in ["/private/tmp/x", "/Users/me/x", "/x"] {
                assert!(!allows(&profile, "file-write-data", path), "{path}");
                assert!(!allows(&profile, "file-read-data", path), "{path}");
            }
        }
    }
}

#[test]
fn links_that_every_mac_has_are_followed() {
    let cases = [
        ("/tmp", "/private/tmp"),
        ("/tmp/a/", "/private/tmp/a"),
        ("/var/folders/x", "/private/var/folders/x"),
        ("/etc/hosts", "/private/etc/hosts"),
        ("/private/tmp", "/private/tmp"),
        ("/tmpfs", "/tmpfs"),
        ("/Users/me/./a", "/Users/me/a"),
        ("/System/Volumes/Data/Users/me", "/Users/me"),
        ("/System/Volumes/Data/tmp/a", "/private/tmp/a"),
        ("/System/Volumes/Data", "/System/Volumes/Data"),
        ("/", "/"),
    ];
    for (path, want) in cases {
        assert_eq!(physical(Path::new(path)), Path::new(want), "{path}");
    }
    let profile = profile(&plan(&[("/tmp/z", Access::Rw, Role::Zone)]));
    assert!(allows(&profile, "file-write-data", "/private/tmp/z/a"));
    assert!(!allows(&profile, "file-write-data", "/tmp/z/a"));
}

#[test]
fn what_is_not_held_is_said() {
    let lines = strength().iter().map(|line| format!("{}: {}", line.what, line.degree));
    let mut whats: Vec<_> = strength().iter().map(|line| line.what).collect();
    whats.sort();
    whats.dedup();
    assert_eq!(whats.len(), strength().len(), "each is said once");
    assert_snapshot!(lines.collect::<Vec<_>>().join("\n"), @r#"
    Files outside of the granted directories are not read: held
    Files outside of the granted directories are not written: held
    Files outside of the granted directories are not looked at: partly held
    Guarded files in writable zones do not come into being or change: partly held
    Git may change its harmless settings: not held
    Commands see the tree of the plan: not held
    /tmp and the home directory are private: partly held
    With the network off, nothing is reached: held
    With the network off, commands have a loopback of their own: not held
    With a list of hosts, nothing else is reached: held
    With a list of hosts, programs need not know about it: not held
    With the network on, services of the host are not reached: not held
    Other processes are not signalled, traced or asked about: held
    Commands have processes of their own numbering: not held
    Shared memory and semaphores are private: partly held
    Nothing is started outside: held
    The keychain, the pasteboard and preferences of the user stay out: held
    No program gets another user's rights: held
    Limits on memory, processes and disk hold for all processes together: not held
    "#);
}
