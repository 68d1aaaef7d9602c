//! Files that have other names outside the writable zone (hard links).

use super::*;

impl Project {
    /// Makes a file outside the zone, and another name of it inside.
    fn linked(self, path: &str) -> Self {
        let outside = self.outside(path);
        fs::create_dir_all(outside.parent().unwrap()).unwrap();
        fs::write(&outside, "original").unwrap();
        let inside = self.zone().join(path);
        fs::create_dir_all(inside.parent().unwrap()).unwrap();
        fs::hard_link(outside, inside).unwrap();
        self
    }

    fn outside(&self, path: &str) -> PathBuf {
        self.dir.join("outside").join(path)
    }

    #[track_caller]
    fn is_unchanged_outside(&self, path: &str, run: &Run) {
        let found = fs::read_to_string(self.outside(path)).unwrap();
        assert_eq!(found, "original", "{path} on {}: {}", self.backend, run.output);
        let mode = fs::metadata(self.outside(path)).unwrap().mode() & 0o777;
        assert_eq!(mode, 0o644, "{path} on {}: {}", self.backend, run.output);
    }
}

/// Returns the backends with a tree of their own that work here.
fn own_trees() -> impl Iterator<Item = Backend> {
    let launcher = Launcher::this_program();
    [Backend::Namespaces, Backend::Bubblewrap]
        .into_iter()
        .filter(move |backend| zonekeep_confine::probe::probe(*backend, &launcher).available)
}

pub(super) fn names_outside_make_files_read_only() {
    for backend in own_trees() {
        let mut project = Project::new().linked("a").linked("dir/b").file("own/c", "old");
        project.backend = backend;
        fs::hard_link(project.zone().join("own/c"), project.zone().join("d")).unwrap();
        let sandbox = project.start();
        let run = sandbox.run(
            "for f in a dir/b; do
               echo evil > $f; echo evil >> $f; rm -f $f; mv -f $f x; ln $f second
               echo evil > second; chmod 777 $f; echo new > y; mv -f y $f; truncate -s 0 $f
             done
             mv dir moved; echo evil > moved/b; echo evil > dir/b; mkdir dir; mv moved/b dir/b
             echo evil > dir/b
             echo changed > own/c && test \"$(cat d)\" = changed",
        );
        run.succeeded();
        for path in ["a", "dir/b"] {
            project.is_unchanged_outside(path, &run);
        }
        let shared = sandbox.tree.shared().unwrap();
        assert_eq!((shared.count, shared.list()), (2, "/rw/a, /rw/dir/b".to_owned()));
    }
}

pub(super) fn allowed_hard_links_stay_writable() {
    let project = Project::new().linked("cache/a").linked("b");
    let mut plan = project.plan();
    plan.rules.allow_hard_links = vec!["cache/**".to_owned()];
    let activity = project.activity();
    let tree = Tree::start_for(plan, &Launcher::this_program(), Some(&activity), None).unwrap();
    let sandbox = Sandbox { project: &project, tree, activity };
    let run = sandbox.run("echo changed > cache/a; echo evil > b");
    assert_eq!(fs::read_to_string(project.outside("cache/a")).unwrap(), "changed\n");
    project.is_unchanged_outside("b", &run);
    assert_eq!(sandbox.tree.shared().unwrap().list(), "/rw/b");
}

/// A command could have moved a shared file to where the next sandbox does not see it.
pub(super) fn what_could_hide_a_shared_file_is_read_only() {
    let project = Project::new().linked("closed/a").linked("deep/b").linked("c");
    let hide = project.run(
        "chmod 0 closed
         perl -e '$n = \"0\" x 200; for (1..25) { mkdir $n; chdir $n or die $! }
                  rename \"/rw/deep\", \"deep\" or die $!'",
    );
    hide.succeeded();
    assert!(!project.has("deep"));
    let run = project.run(
        "chmod 755 closed; echo evil > closed/a
         perl -e '$n = \"0\" x 200; for (1..25) { chdir $n or die $! }
                  open(F, \">\", \"deep/b\") and print F \"evil\"; close F;
                  rename \"deep\", \"/rw/deep\"; print \"was there\\n\" if -e \"deep/b\"'
         echo evil > deep/b",
    );
    assert!(run.output.contains("was there"), "{}", run.output);
    fs::set_permissions(project.zone().join("closed"), fs::Permissions::from_mode(0o755)).unwrap();
    for path in ["closed/a", "deep/b", "c"] {
        project.is_unchanged_outside(path, &run);
    }
    // The standard library gives up on paths of that length.
    let removed = Command::new("rm").arg("-rf").arg(project.zone()).status().unwrap();
    assert!(removed.success());
}

pub(super) fn many_shared_files() {
    let mut project = Project::new().file("src/own", "old");
    for package in 0..100 {
        for file in 0..50 {
            project = project.linked(&format!("node_modules/p{package}/f{file}"));
        }
    }
    project = project.linked("top");
    let since = Instant::now();
    let sandbox = project.start();
    sandbox.tree.layers().unwrap();
    println!("      5,001 shared files: {:?}", since.elapsed());
    let run = sandbox.run(
        "for p in 0 57 99; do
           echo evil > node_modules/p$p/f7; rm -rf node_modules/p$p; echo x > node_modules/p$p/new
           mv node_modules/p$p/f1 node_modules/f; echo evil > node_modules/f
         done
         echo evil > top
         echo new > src/new && echo new > src/own && echo new > node_modules/new",
    );
    run.succeeded();
    for package in [0, 57, 99] {
        for file in 0..50 {
            project.is_unchanged_outside(&format!("node_modules/p{package}/f{file}"), &run);
        }
        assert!(!project.has(format!("node_modules/p{package}/new")));
    }
    project.is_unchanged_outside("top", &run);
    assert_eq!(sandbox.tree.shared().unwrap().count, 5_001);
}

pub(super) fn too_many_shared_files_are_refused() {
    let mut project = Project::new();
    for file in 0..10_001 {
        project = project.linked(&format!("f{file}"));
    }
    let failed = project.start().tree.layers().unwrap_err().to_string();
    assert!(failed.contains("10001 files in writable directories have other names"), "{failed}");
    assert!(failed.contains("sandbox.allow_hard_links"), "{failed}");
}
