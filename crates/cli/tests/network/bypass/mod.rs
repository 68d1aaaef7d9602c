//! The attacks, and what all of them have in common.

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};

use zonekeep_testkit::internet::{Internet, RESOLVER, Seen, Side};
use zonekeep_testkit::{Run, skip};

use super::bench::{Bench, NO_PROXY};

mod addresses;
mod backends;
mod dns;
mod load;
mod mismatch;
mod names;
mod profiles;
mod protocols;
mod records;
mod secrets;
mod smuggling;
mod upgrades;

/// Where packets of the host may go: the public addresses of names that some
/// test allows, and an address that one test lists.
const PERMITTED: &[&str] = &[
    "203.0.113.10",
    "2001:db8::10",
    "203.0.113.11",
    "203.0.113.12",
    "203.0.113.13",
    "203.0.113.14",
    "203.0.113.60",
    "203.0.113.61",
    "203.0.113.70",
    "203.0.113.71",
    "203.0.113.72",
    "203.0.113.73",
    "10.9.9.9",
];

/// An attack on a project that allows some hosts.
struct Attack {
    bench: Bench,
    /// The file in `attacks/`, without its ending.
    name: &'static str,
    /// A word that nothing else sends.
    token: String,
}

impl Attack {
    /// Returns the attack of that name on a project that allows those hosts.
    fn new(name: &'static str, allow: &[&str]) -> Option<Attack> {
        Bench::new(allow).map(|bench| Attack::on(bench, name))
    }

    fn on(bench: Bench, name: &'static str) -> Attack {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let attacks = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/network/attacks");
        for file in ["probe", "websocket", name] {
            let text = fs::read(attacks.join(format!("{file}.py"))).unwrap();
            bench.project.put(&format!("work/{file}.py"), text);
        }
        Attack { bench, name, token: format!("t0k3n{number}x") }
    }

    fn internet(&self) -> &'static Internet {
        self.bench.internet
    }

    /// Returns the command line of the attack: its control, the attack with
    /// what is allowed after it, or the `bare` attack.
    fn line(&self, part: &str) -> String {
        format!("/usr/bin/python3 -B {}.py {part} {}", self.name, self.token)
    }

    /// Runs the control on the second host, and asserts that the servers saw the
    /// token.
    #[track_caller]
    fn control(&self) -> Run {
        let mark = self.internet().mark();
        let run = self.bench.control(&self.line("control")).run;
        self.internet().settle();
        let seen = self.internet().since(mark);
        assert!(seen.iter().any(|one| self.tells(one)), "the attack is none: {run}\n{seen:#?}");
        run
    }

    /// Runs the attack in the sandbox. Nothing may go where nothing may go, and
    /// afterwards what is allowed has to work still.
    #[track_caller]
    fn confined(&self) -> Run {
        let mark = self.internet().mark();
        let run = self.bench.confined(&self.line("attack")).run;
        let seen = self.internet().of_host(mark);
        let strays: Vec<&Seen> = seen.iter().filter(|one| one.beyond() && stray(one)).collect();
        assert!(strays.is_empty(), "packets strayed: {run}\n{strays:#?}");
        assert_eq!(run.exit, 0, "{run}");
        for way in ["direct", "tls", "tunnel", "socks"] {
            assert!(run.stdout.contains(&format!("legit {way} works")), "{way}: {run}");
        }
        run
    }

    /// Runs the attack, asserts that the token never left the host and that no
    /// line of it speaks of an answer, and returns what it said. The kinds of
    /// lines are given with how many there are of each.
    #[track_caller]
    fn unanswered(&self, kinds: &[(&str, usize)]) -> Run {
        let run = self.confined();
        for (kind, count) in kinds {
            let lines = said(&run, kind);
            assert_eq!(lines.len(), *count, "{kind}: {run}");
            for line in lines {
                assert!(!line.contains("hello from"), "{kind} {line}: {run}");
            }
        }
        self.unseen(&run);
        run
    }

    /// Runs the attack in the sandbox, and returns the most memory that any
    /// process of it had, Zonekeep's own among them, in MiB.
    fn memory(&self) -> (Run, u64) {
        let project = &self.bench.project;
        let measure = "import resource, subprocess, sys\n\
                       status = subprocess.run(sys.argv[1:]).returncode\n\
                       most = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss\n\
                       print(f'most {most // 1024}')\n\
                       sys.exit(status)\n";
        let mut command = self.internet().command(Side::Host, project, "/usr/bin/python3");
        command.args(["-c", measure]).arg(project.program());
        command.args(["run", "--", "sh", "-c", &self.line("attack")]);
        let run = project.finish(&mut command);
        let most = said(&run, "most").pop().and_then(|most| most.parse().ok());
        (run.clone(), most.unwrap_or_else(|| panic!("{run}")))
    }

    /// Returns whether a server saw the token in something.
    fn tells(&self, seen: &Seen) -> bool {
        let keys = ["data", "target", "host", "sni", "body", "name"];
        keys.iter().any(|key| seen.text(key).contains(&self.token))
    }

    /// Asserts that the token never left the host.
    #[track_caller]
    fn unseen(&self, run: &Run) {
        let all = self.internet().all_of_host();
        let seen: Vec<&Seen> = all.iter().filter(|one| self.tells(one)).collect();
        assert!(seen.is_empty(), "the attack got out: {run}\n{seen:#?}");
    }
}

fn stray(seen: &Seen) -> bool {
    let asks = seen.text("to") == RESOLVER && seen.port() == 53;
    match seen.kind() {
        "packet" => !PERMITTED.contains(&seen.text("to")) && !asks,
        // Names are asked for by Zonekeep alone, of the one name server.
        "dns" => seen.text("to") != RESOLVER,
        "udp" | "dns-stream" => true,
        _ => !PERMITTED.contains(&seen.text("to")),
    }
}

/// Returns the lines of a run that begin with a word, without it.
fn said<'a>(run: &'a Run, word: &str) -> Vec<&'a str> {
    let lines = run.stdout.lines().filter_map(|line| line.strip_prefix(word));
    lines.map(str::trim).collect()
}

/// Asserts that lines say that something works.
#[track_caller]
fn all_work(run: &Run, word: &str, count: usize) {
    assert_eq!(said(run, word), vec!["works"; count], "{run}");
}
