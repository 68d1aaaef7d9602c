//! Files that would run code later, planted by real confined commands.
//!
//! The tests are a program of their own, because it is also the launcher.

// A test may fail loudly, and says what it does.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

mod between;
mod clones;
mod existing;
mod history;
mod linked;
mod plants;
mod races;
mod restored;

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

use between::*;
use clones::*;
use existing::*;
use history::*;
use linked::*;
use plants::*;
use races::*;
use restored::*;
use zonekeep_confine::activity::Activity;
use zonekeep_confine::plan::{
    Access, Backend, Bind, Entry, Network, Plan, Role, Start, Watch, ZoneRules,
};
use zonekeep_confine::quarantine::{self, Incomplete, Kind, RestoreError};
use zonekeep_confine::tree::{Launcher, Tree};
use zonekeep_confine::{Caught, Fate};
use zonekeep_policy::guard::Guards;
use zonekeep_policy::limit::Limits;
use zonekeep_policy::planted::{Caller, CommandGuards};

const TESTS: &[(&str, fn())] = &[
    ("plants_of_every_kind_are_caught", plants_of_every_kind_are_caught),
    ("what_a_command_writes_later_is_kept", what_a_command_writes_later_is_kept),
    ("plants_are_caught_while_the_command_runs", plants_are_caught_while_the_command_runs),
    ("plants_below_the_top_are_caught_at_the_end", plants_below_the_top_are_caught_at_the_end),
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
    ("directories_that_are_named_in_any_way_are_guarded", directories_named_in_any_way),
    ("what_guarded_links_lead_to_is_guarded", what_guarded_links_lead_to),
    ("guarded_files_are_put_back_under_any_name", guarded_files_with_other_names),
    ("what_is_as_it_was_stays", what_is_as_it_was_stays),
    ("a_directory_that_goes_and_comes_back_is_looked_at", goes_and_comes_back),
    ("closed_directories_in_one_another_are_looked_into", closed_directories_in_one_another),
    ("repositories_in_repositories_are_counted", repositories_in_repositories),
    ("nothing_is_taken_away_after_the_end", nothing_is_taken_away_after_the_end),
    ("nothing_is_left_after_races", nothing_is_left_after_races),
    ("lost_events_are_made_up_for", lost_events_are_made_up_for),
    ("nothing_is_left_when_the_caller_is_killed", nothing_is_left_when_the_caller_is_killed),
    ("what_was_caught_can_be_restored", what_was_caught_can_be_restored),
    ("holes_of_what_was_caught_are_kept", holes_are_kept),
    ("a_part_is_not_restored_as_the_whole", a_part_is_not_restored_as_the_whole),
    ("the_quarantine_has_a_bound", the_quarantine_has_a_bound),
    (
        "one_project_fills_only_its_part_of_the_quarantine",
        one_project_fills_only_its_part_of_the_quarantine,
    ),
    ("what_cannot_be_kept_is_not_said_to_be_there", what_cannot_be_kept_is_not_said_to_be_there),
    ("without_a_tree_of_its_own_files_are_put_back", files_are_put_back_without_a_tree),
    ("git_ends_as_outside", git_ends_as_outside),
    ("git_ends_as_outside_over_several_commands", git_ends_as_outside_over_several_commands),
    (
        "a_clone_of_another_repository_ends_as_outside",
        a_clone_of_another_repository_ends_as_outside,
    ),
    ("files_of_a_clone_are_reported", files_of_a_clone_are_reported),
    ("a_clone_is_no_way_to_plant", a_clone_is_no_way_to_plant),
    ("git_replaces_what_a_guarded_link_leads_to", git_replaces_what_a_guarded_link_leads_to),
    (
        "a_rebase_that_is_left_with_a_command_is_taken_away",
        a_rebase_that_is_left_with_a_command_is_taken_away,
    ),
    ("what_no_commit_has_is_held", what_no_commit_has_is_held),
    ("commits_of_commands_do_not_count", commits_of_commands_do_not_count),
    ("repositories_of_commands_do_not_count", repositories_of_commands_do_not_count),
    (
        "commits_of_the_user_count_from_the_first_command_on",
        commits_of_the_user_count_from_the_first_command_on,
    ),
    ("files_that_the_user_staged_count", files_that_the_user_staged_count),
    ("files_that_a_command_staged_do_not_count", files_that_a_command_staged_do_not_count),
    ("objects_with_other_content_do_not_count", objects_with_other_content_do_not_count),
    ("zones_in_zones_are_guarded", zones_in_zones_are_guarded),
    ("what_the_user_writes_between_commands_stays", what_the_user_writes_between_commands),
    ("what_the_user_changes_between_commands_stays", what_the_user_changes_between_commands),
    (
        "what_the_user_restores_while_a_command_runs_stays",
        what_the_user_restores_while_a_command_runs,
    ),
    ("much_that_happens_between_commands_stays", much_that_happens_between_commands),
    ("while_another_session_is_busy_this_one_waits", while_another_session_is_busy),
    ("what_was_there_for_a_moment_is_not_the_users", what_was_there_for_a_moment),
    ("names_outside_make_files_read_only", names_outside_make_files_read_only),
    ("allowed_hard_links_stay_writable", allowed_hard_links_stay_writable),
    ("what_could_hide_a_shared_file_is_read_only", what_could_hide_a_shared_file_is_read_only),
    ("many_shared_files_are_read_only_with_their_directories", many_shared_files),
    ("too_many_shared_files_are_refused", too_many_shared_files_are_refused),
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
    for backend in [Backend::Namespaces, Backend::Landlock] {
        let offer = zonekeep_confine::probe::probe(backend, &Launcher::this_program());
        if !offer.available {
            return zonekeep_testkit::skip(&format!("{backend} is not available: {offer:?}"));
        }
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
                home: self.dir.clone(),
                guards: CommandGuards::of(&Guards::default(), Caller::Agent),
                quarantine: self.quarantine(),
                git_may_configure: self.git_may_configure,
                git: zonekeep_testkit::program("git").unwrap_or_default(),
                ..Watch::default()
            }),
            rules: ZoneRules::default(),
            prove: false,
            calls: Default::default(),
            dialers: 0,
        }
    }

    fn start(&self) -> Sandbox<'_> {
        let activity = self.activity();
        let launcher = Launcher::this_program();
        let tree = Tree::start_for(self.plan(), &launcher, Some(&activity), None).unwrap();
        Sandbox { project: self, tree, activity }
    }

    /// Tells of commands as a session of its own.
    fn activity(&self) -> Activity {
        fs::create_dir_all(self.quarantine()).unwrap();
        Activity::at(&self.dir.join("state/running")).unwrap()
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
    activity: Activity,
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
        self.tree.take_in().unwrap();
        self.activity.begin([&*zone]).unwrap();
        let process = self.tree.command(start, &stdio).unwrap();
        let ended = process.wait().unwrap();
        let caught = self.tree.settle().unwrap();
        self.activity.end();
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
