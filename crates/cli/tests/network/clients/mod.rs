//! The clients, one by one.

use std::path::PathBuf;
use std::time::Duration;

use zonekeep_testkit::internet::Service;
use zonekeep_testkit::{program, skip};

use super::bench::{Bench, NO_PROXY, Took};

mod databases;
mod git;
mod languages;
mod packages;
mod web;

/// The longest that a refusal may take beyond what the client takes anyway.
const AT_ONCE: Duration = Duration::from_secs(5);

fn recipes() -> String {
    let guide = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/guide/recipes.md");
    std::fs::read_to_string(guide).unwrap()
}

/// Returns the command of a recipe that begins like this.
fn shown(start: &str) -> String {
    let guide = recipes();
    let command = guide.lines().filter_map(|line| line.strip_prefix("$ "));
    command.into_iter().find(|line| line.starts_with(start)).unwrap().to_owned()
}

/// Returns the project file of a recipe.
fn recipe(title: &str) -> String {
    let guide = recipes();
    let (_, after) = guide.split_once(&format!("## {title}\n")).unwrap();
    let (_, block) = after.split_once("```yaml\n").unwrap();
    block.split_once("```").unwrap().0.to_owned()
}

/// How a client finds its way out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ways {
    /// By a proxy where it is told of one, and without.
    Both,
    /// It knows no proxies.
    Direct,
}

/// A program that talks to a server.
struct Client<'a> {
    /// Programs that have to be there.
    needs: &'a [&'a str],
    /// Servers that have to run.
    services: &'a [Service],
    /// What the list allows.
    allow: &'a str,
    /// The name that is allowed.
    name: &'a str,
    /// A shell script; `$NAME` is the name of the server.
    script: &'a str,
    /// What is printed when it worked.
    works: &'a str,
    ways: Ways,
    /// Files that have to be in the working directory.
    files: &'a [(&'a str, &'a str)],
}

impl Client<'_> {
    const USUAL: Client<'static> = Client {
        needs: &[],
        services: &[],
        allow: "allowed.test",
        name: "allowed.test",
        script: "false",
        works: "hello from allowed.test",
        ways: Ways::Both,
        files: &[],
    };

    fn bench(&self) -> Option<Bench> {
        for needed in self.needs {
            if program(needed).is_none() && !PathBuf::from(needed).exists() {
                skip(&format!("there is no {needed}"));
                return None;
            }
        }
        let bench = Bench::new(&[self.allow])?;
        for service in self.services {
            if let Err(why) = bench.internet.start(*service) {
                skip(&why);
                return None;
            }
        }
        for (name, text) in self.files {
            bench.project.put(&format!("work/{name}"), text);
        }
        Some(bench)
    }

    fn line(&self, name: &str) -> String {
        format!("NAME={name}\n{}", self.script)
    }

    /// Asserts everything that has to hold of a client.
    #[track_caller]
    fn check(&self) {
        if let Some(bench) = self.bench() {
            self.check_on(&bench);
        }
    }

    #[track_caller]
    fn check_on(&self, bench: &Bench) {
        let control = bench.control(&self.line(self.name));
        self.worked(&control);
        let denied = bench.control(&self.line("denied.test"));
        let works = self.works.replace(self.name, "denied.test");
        assert!(denied.run.ok().contains(&works), "{}", denied.run);

        let ways: &[&str] = if self.ways == Ways::Both { &["", NO_PROXY] } else { &[NO_PROXY] };
        for way in ways {
            let mark = bench.internet.mark();
            let allowed = bench.confined(&format!("{way}{}", self.line(self.name)));
            self.worked(&allowed);
            let seen = bench.internet.of_host(mark);
            assert!(seen.iter().any(|one| one.kind() == "packet" && one.beyond()), "{seen:?}");

            let refused = bench.confined(&format!("{way}{}", self.line("denied.test")));
            assert_ne!(refused.run.exit, 0, "{}", refused.run);
            assert_ne!(refused.run.exit, 125, "{}", refused.run);
            assert!(!refused.run.stdout.contains(&works), "{}", refused.run);
            let longest = control.time.max(allowed.time) + AT_ONCE;
            assert!(refused.time < longest, "took {:?}: {}", refused.time, refused.run);
        }
        bench.nothing_denied();
        bench.recorded("denied.test");
    }

    #[track_caller]
    fn worked(&self, took: &Took) {
        assert!(took.run.ok().contains(self.works), "{}", took.run);
    }
}
