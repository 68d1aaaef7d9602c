//! The part of a profile that every sandbox has: what programs of macOS need to
//! start and run, each line with its reason.

use std::path::Path;

use crate::plan::Network;

use super::sbpl::{Text, literal, quoted, subpath};

/// Directories of the system that are read and run from. Not `/System` whole:
/// `/System/Volumes/Data` is the disk with everybody's files.
const PROGRAMS: [(&str, &str); 14] = [
    ("/usr/lib", "libraries, and the loader"),
    ("/usr/bin", "programs"),
    ("/bin", "programs"),
    ("/usr/sbin", "programs"),
    ("/sbin", "programs"),
    ("/usr/libexec", "programs that programs start"),
    ("/System/Library", "frameworks"),
    ("/System/iOSSupport", "frameworks"),
    ("/System/Cryptexes", "all libraries in one file, since macOS 13"),
    ("/System/Volumes/Preboot/Cryptexes", "the same by its other name"),
    ("/private/var/db/dyld", "all libraries in one file, before macOS 13"),
    ("/Library/Apple", "Rosetta"),
    ("/private/var/db/oah", "what Rosetta has translated"),
    ("/Library/Developer/CommandLineTools", "what git, clang and python3 in /usr/bin stand for"),
];

/// Directories of the system that are only read.
const DIRECTORIES: [(&str, &str); 5] = [
    ("/usr/share", "time zones, terminals, languages"),
    ("/private/var/db/timezone", "time zones"),
    ("/private/var/select", "which shell /bin/sh is, and which tools are selected"),
    ("/private/etc/ssl", "the certificates that are trusted"),
    ("/private/etc/paths.d", "where programs are"),
];

/// Files of the system.
const FILES: [(&str, &str); 13] = [
    ("/private/etc/localtime", "the time zone"),
    ("/private/etc/passwd", "the system's own users; people are not in it"),
    ("/private/etc/group", "the system's own groups"),
    ("/private/etc/services", "names of ports"),
    ("/private/etc/protocols", "names of protocols"),
    ("/private/etc/shells", "names of shells"),
    ("/private/etc/paths", "where programs are"),
    ("/private/etc/profile", "read by shells that start"),
    ("/private/etc/bashrc", "read by shells that start"),
    ("/private/etc/zshenv", "read by shells that start"),
    ("/private/etc/zprofile", "read by shells that start"),
    ("/private/etc/zshrc", "read by shells that start"),
    ("/private/var/db/xcode_select_link", "which tools are selected"),
];

/// Files of the system that the network needs.
const NETWORK_FILES: [(&str, &str); 3] = [
    ("/private/etc/hosts", "names given by hand"),
    ("/private/etc/resolv.conf", "where names are looked up: a link"),
    ("/private/var/run/resolv.conf", "where names are looked up"),
];

/// Links and directories on the way to the rest.
const WAY: [&str; 5] = ["/tmp", "/var", "/etc", "/System/Volumes/Data", "/dev"];

/// Services that can be looked up. Each could act for a command outside of its
/// sandbox, so the list is short. Left out on purpose: LaunchServices, launchd
/// and Apple Events start programs outside, `cfprefsd` reads everybody's
/// preferences, `securityd` is the keychain, the pasteboard is the user's,
/// `dirhelper` leads past `TMPDIR`.
const SERVICES: [(&str, &str); 3] = [
    ("com.apple.system.opendirectoryd.libinfo", "the user's name and home directory"),
    ("com.apple.system.opendirectoryd.membership", "the groups of a user"),
    ("com.apple.system.notification_center", "when the time zone or users have changed"),
];

/// Services that the network needs.
const NETWORK_SERVICES: [(&str, &str); 5] = [
    ("com.apple.SystemConfiguration.DNSConfiguration", "where names are looked up"),
    ("com.apple.SystemConfiguration.configd", "interfaces and proxies"),
    ("com.apple.dnssd.service", "looks names up"),
    ("com.apple.trustd", "checks certificates"),
    ("com.apple.trustd.agent", "checks certificates, with what the user trusts"),
];

/// What can be asked of the kernel. Not all of it: `kern.procargs2` tells the
/// arguments and the environment of every process of the user.
const KERNEL: [&str; 22] = [
    "kern.argmax",
    "kern.hostname",
    "kern.iossupportversion",
    "kern.maxfiles",
    "kern.maxfilesperproc",
    "kern.maxproc",
    "kern.maxprocperuid",
    "kern.ngroups",
    "kern.osproductversion",
    "kern.osrelease",
    "kern.ostype",
    "kern.osvariant_status",
    "kern.osversion",
    "kern.secure_kernel",
    "kern.tcsm_available",
    "kern.usrstack64",
    "kern.version",
    "kern.willshutdown",
    "machdep.ptrauth_enabled",
    "sysctl.proc_cputype",
    "sysctl.proc_native",
    "vm.loadavg",
];

/// The socket of the service that looks names up.
pub(super) const RESOLVER: &str = "/private/var/run/mDNSResponder";

/// Writes the part.
pub(super) fn write(text: &mut Text, network: &Network) {
    text.part("These are allowed, rule above or not, unless they are denied by name.");
    text.bare("(deny process-info* nvram* iokit* mach-priv*)");
    text.part("Nothing is started outside: no application, job, script of another program.");
    text.bare("(deny lsopen job-creation appleevent-send distributed-notification-post)");
    text.part("No rights of the administrator, even where the administrator runs this.");
    text.bare("(deny system-privilege)");

    text.part("Processes start others, which have the same sandbox, and see and end only those.");
    text.bare("(allow process-fork)");
    text.bare("(allow process-info* (target same-sandbox))");
    text.bare("(allow signal (target same-sandbox))");

    text.part("The system's programs and libraries.");
    let programs = reasoned(&PROGRAMS, subpath);
    text.rule("allow file-read* file-test-existence file-map-executable process-exec*", &programs);
    text.part("What programs of the system read.");
    let mut files = reasoned(&DIRECTORIES, subpath);
    files.extend(reasoned(&FILES, literal));
    if network.has_names_of_host() {
        files.extend(reasoned(&NETWORK_FILES, literal));
    }
    text.rule("allow file-read* file-test-existence", &files);
    text.part("The way there: names only.");
    let mut way: Vec<&Path> = all_paths().flat_map(|path| path.ancestors().skip(1)).collect();
    way.extend(WAY.map(Path::new));
    way.sort();
    way.dedup();
    let way: Vec<_> = way.into_iter().map(|path| literal(&text.path(path))).collect();
    text.rule("allow file-read-metadata file-test-existence", &way);
    text.part("No program starts without reading the root directory: the names in it, no more.");
    text.bare("(allow file-read-data (literal \"/\"))");

    devices(text);

    text.part("What the machine is, and nothing about other processes.");
    let mut kernel = vec![
        "(sysctl-name-prefix \"hw.\")".to_owned(),
        "(sysctl-name-prefix \"machdep.cpu.\")".to_owned(),
    ];
    kernel.extend(KERNEL.map(|name| format!("(sysctl-name {})", quoted(name))));
    if *network == Network::Host {
        kernel.push("; addresses of interfaces\n  (sysctl-name-prefix \"net.routetable.\")".into());
    }
    text.rule("allow sysctl-read", &kernel);
    text.part("A question that Java asks, which counts as a change.");
    text.bare("(allow sysctl-write (sysctl-name \"kern.grade_cputype\"))");

    text.part(
        "Semaphores, as Python's multiprocessing has them. Shared memory has names that all \
         programs share: only those of Python and OpenMP, and when something has changed.",
    );
    text.bare("(allow ipc-posix-sem)");
    text.rule(
        "allow ipc-posix-shm*",
        &[
            "(ipc-posix-name-regex #\"^/psm_\")".to_owned(),
            "(ipc-posix-name-regex #\"^/__KMP_REGISTERED_LIB_[0-9]+$\")".to_owned(),
        ],
    );
    text.bare("(allow ipc-posix-shm-read* (ipc-posix-name \"apple.shm.notification_center\"))");

    text.part("What libraries ask of the kernel when they start: am I meant to have a container?");
    text.bare("(allow system-mac-syscall (mac-policy-name \"vnguard\"))");
    let container = "(require-all (mac-policy-name \"Sandbox\") (mac-syscall-number 67))";
    text.rule("allow system-mac-syscall", &[container.to_owned()]);

    text.part("Services of the system, by name.");
    text.rule("allow mach-lookup", &reasoned(&SERVICES, |name| format!("(global-name {name})")));
    if *network == Network::Host {
        text.rule("allow mach-lookup", &network_services());
    }
}

/// Writes what comes last: a plan that grants `/usr/bin` does not mean these.
pub(super) fn outside(text: &mut Text) {
    text.part("These only start what runs outside: better refused at once.");
    let outside = ["/usr/bin/open", "/usr/bin/osascript", "/bin/launchctl"];
    text.rule("deny process-exec*", &outside.map(|program| literal(&quoted(program))));
}

/// Writes the rules for devices.
fn devices(text: &mut Text) {
    let null = ["/dev/null", "/dev/zero"].map(|path| literal(&quoted(path)));
    let random = ["/dev/random", "/dev/urandom"].map(|path| literal(&quoted(path)));
    text.part("Devices that hold nothing, and what is already open.");
    text.rule("allow file-read* file-test-existence file-write-data file-ioctl", &null);
    text.rule("allow file-read* file-test-existence file-ioctl", &random);
    text.rule(
        "allow file-read* file-test-existence file-write-data",
        &[
            "(subpath \"/dev/fd\")".to_owned(),
            "(literal \"/dev/stdin\")".to_owned(),
            "(literal \"/dev/stdout\")".to_owned(),
            "(literal \"/dev/stderr\")".to_owned(),
        ],
    );
    text.part(
        "Terminals: the one that the command was given, and those that it makes, which carry \
         this mark. No other can be opened, so settings can be allowed for all.",
    );
    text.bare("(allow pseudo-tty)");
    text.rule(
        "allow file-read* file-test-existence file-write-data file-ioctl",
        &[
            "(literal \"/dev/tty\")".to_owned(),
            "(literal \"/dev/ptmx\")".to_owned(),
            "(require-all (regex #\"^/dev/ttys[0-9]+$\") (extension \"com.apple.sandbox.pty\"))"
                .to_owned(),
        ],
    );
    text.bare("(allow file-ioctl (regex #\"^/dev/ttys[0-9]+$\"))");
}

/// Returns the filters for the services that the network needs.
pub(super) fn network_services() -> Vec<String> {
    reasoned(&NETWORK_SERVICES, |name| format!("(global-name {name})"))
}

/// Returns whether the way to a path is open for every sandbox.
pub(super) fn is_above(path: &Path) -> bool {
    WAY.iter().any(|way| path == Path::new(way))
        || all_paths().any(|known| known != path && known.starts_with(path))
}

fn all_paths() -> impl Iterator<Item = &'static Path> {
    let directories = PROGRAMS.iter().chain(&DIRECTORIES);
    let files = FILES.iter().chain(&NETWORK_FILES);
    directories.chain(files).map(|(path, _)| Path::new(*path))
}

/// Returns filters, below the reasons why they are there.
fn reasoned(lines: &[(&str, &str)], filter: impl Fn(&str) -> String) -> Vec<String> {
    let mut last = "";
    let mut filters = Vec::new();
    for &(name, why) in lines {
        let filter = filter(&quoted(name));
        filters.push(if why == last { filter } else { format!("; {why}\n  {filter}") });
        last = why;
    }
    filters
}
