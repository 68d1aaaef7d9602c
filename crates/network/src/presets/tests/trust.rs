//! What is read and run, and what is remembered.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::PathBuf;

use super::{Site, Stage, env, file, holds, put, write_program};

/// A cargo that says where it goes and counts how often it is asked.
fn counting(stage: &Stage) -> (String, PathBuf) {
    let count = stage.dir.path().join("count");
    let script = format!(
        "echo x >> '{}'\necho 'failed to download from `https://index.test/config.json`'",
        count.display()
    );
    (script, count)
}

fn times(count: &PathBuf) -> usize {
    fs::read_to_string(count).map_or(0, |text| text.lines().count())
}

#[test]
fn programs_that_others_may_have_written_are_not_run() {
    let stage = Stage::new();
    let project = stage.dir.path().join("project");
    let (evil, ran) = counting(&stage);
    write_program(&project.join("bin/cargo"), &evil);
    let good = "echo 'failed to download from `https://good.test/config.json`'";
    let mut stage = stage.program("cargo", good);
    let bin = stage.path();
    stage.machine.untrusted = vec![project.clone()];

    stage.machine.path = vec![project.join("bin"), bin.clone()];
    let found = stage.find("rust");
    assert_eq!(stage.shown(&found), ["good.test:443 cargo's own default"]);
    assert!(holds(&found, "is not asked, because others may have written it"), "{found:?}");

    // A link into the project, and a directory that is one.
    let links = stage.dir.path().join("links");
    fs::create_dir(&links).expect("dir");
    symlink(project.join("bin/cargo"), links.join("cargo")).expect("link");
    symlink(project.join("bin"), stage.dir.path().join("linked")).expect("link");
    for first in [links, stage.dir.path().join("linked")] {
        stage.machine.path = vec![first, bin.clone()];
        assert_eq!(stage.hosts("rust"), ["good.test:443 cargo's own default"]);
    }

    // What everybody can write.
    let open = stage.dir.path().join("open");
    write_program(&open.join("cargo"), &evil);
    fs::set_permissions(&open, fs::Permissions::from_mode(0o777)).expect("mode");
    stage.machine.path = vec![open.clone(), bin.clone()];
    assert_eq!(stage.hosts("rust"), ["good.test:443 cargo's own default"]);
    fs::set_permissions(&open, fs::Permissions::from_mode(0o755)).expect("mode");
    fs::set_permissions(open.join("cargo"), fs::Permissions::from_mode(0o777)).expect("mode");
    assert_eq!(stage.hosts("rust"), ["good.test:443 cargo's own default"]);

    // A relative entry means the project, most of the time.
    stage.machine.path = vec![PathBuf::from("bin"), PathBuf::new(), bin];
    assert_eq!(stage.hosts("rust"), ["good.test:443 cargo's own default"]);
    assert_eq!(times(&ran), 0, "an untrusted program has run");
}

#[test]
fn what_a_program_starts_is_not_looked_for_in_the_project_either() {
    let stage = Stage::new();
    let project = stage.dir.path().join("project");
    fs::create_dir_all(project.join("bin")).expect("dir");
    fs::create_dir_all(project.join("rustup")).expect("dir");
    let script = "case \"$PATH$RUSTUP_HOME$JAVA_HOME\" in *project*) exit 1;; esac\n\
                  [ -z \"$SECRET$RUSTC_WRAPPER\" ] || exit 1\n\
                  echo 'failed to download from `https://index.test/config.json`'";
    let project_home = project.join("rustup").to_string_lossy().into_owned();
    let mut stage = stage
        .program("cargo", script)
        .var("RUSTUP_HOME", &project_home)
        .var("RUSTC_WRAPPER", "/x")
        .var("SECRET", "x");
    stage.machine.path.insert(0, project.join("bin"));
    stage.machine.untrusted = vec![project];
    assert_eq!(stage.hosts("rust"), ["index.test:443 cargo's own default"]);
}

#[test]
fn files_that_others_may_have_written_are_not_read() {
    let stage = Stage::new();
    let project = stage.dir.path().join("project");
    put(&project.join("pip.conf"), "[global]\nindex-url = https://evil.test/\n");
    let path = project.join("pip.conf").to_string_lossy().into_owned();
    let mut stage = stage.program("pip", "").var("PIP_CONFIG_FILE", &path);
    assert_eq!(stage.find("python").hosts.len(), 1, "it is read when nobody else writes it");
    stage.machine.untrusted = vec![project.clone()];
    let found = stage.find("python");
    assert_eq!(found.hosts, []);
    assert!(holds(&found, "is not read, because others may have written it"), "{found:?}");
    stage.machine.env.clear();
    fs::create_dir_all(stage.machine.home.join(".pip")).expect("dir");
    symlink(project.join("pip.conf"), stage.machine.home.join(".pip/pip.conf")).expect("link");
    assert_eq!(stage.find("python").hosts, []);
}

#[test]
fn a_pipe_or_a_device_for_a_file_does_not_hold_things_up() {
    let stage = Stage::new();
    let pipe = stage.dir.path().join("pipe");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status().expect("mkfifo");
    assert!(made.success());
    for path in [pipe.to_string_lossy().as_ref(), "/dev/zero", "/dev/null", "/"] {
        let mut machine = stage.machine.clone();
        machine.env.insert("UV_CONFIG_FILE".to_owned(), path.to_owned());
        assert_eq!(super::super::find(&["python"], &machine).presets["python"].hosts, []);
    }
}

#[test]
fn programs_are_asked_once() {
    let stage = Stage::new();
    let (script, count) = counting(&stage);
    let stage = stage.program("cargo", &script);
    for _ in 0..3 {
        assert_eq!(stage.hosts("rust"), ["index.test:443 cargo's own default"]);
    }
    assert_eq!(times(&count), 1);
    // Another program is asked again, and so is one whose answers are lost.
    let stage = stage.program("cargo", &format!("{script}\n# newer"));
    stage.hosts("rust");
    assert_eq!(times(&count), 2);
    fs::write(stage.dir.path().join("cache/rust.json"), "{").expect("write");
    stage.hosts("rust");
    assert_eq!(times(&count), 3);
    let left = fs::read_dir(stage.dir.path().join("cache")).expect("list").count();
    assert_eq!(left, 1, "only the file of answers is left");
}

#[test]
fn a_program_without_an_answer_is_a_warning_and_not_asked_each_time() {
    let stage = Stage::new();
    let count = stage.dir.path().join("count");
    let script = format!("echo x >> '{}'; echo nothing", count.display());
    let stage = stage.program("cargo", &script);
    for _ in 0..3 {
        let found = stage.find("rust");
        assert_eq!(found.hosts, []);
        assert!(holds(&found, "cargo does not say where it goes by default"), "{found:?}");
    }
    assert_eq!(times(&count), 1);
}

#[test]
fn indexes_are_asked_once_a_day_and_old_links_are_better_than_none() {
    let body = r#"{"files":[{"url":"https://files.test/x"}]}"#;
    let site = Site::pages(&[("/pip/", body)]);
    let stage = Stage::new().program("pip", "").var("PIP_INDEX_URL", &site.url()).online();
    for _ in 0..3 {
        assert!(stage.hosts("python").concat().contains("files.test:443"));
    }
    assert_eq!(site.asked().len(), 1);
    // Two days later it is asked again; gone, its last answer still counts.
    let path = stage.dir.path().join("cache/python.json");
    let older = |path: &PathBuf| {
        let mut content: serde_json::Value =
            serde_json::from_str(&fs::read_to_string(path).expect("text")).expect("JSON");
        for kept in content["kept"].as_object_mut().expect("map").values_mut() {
            kept["at"] = (kept["at"].as_u64().expect("time") - 2 * 24 * 60 * 60).into();
        }
        fs::write(path, content.to_string()).expect("write");
    };
    older(&path);
    assert!(stage.hosts("python").concat().contains("files.test:443"));
    assert_eq!(site.asked().len(), 2);
    older(&path);
    drop(site);
    let found = stage.find("python");
    assert!(holds(&found, "files.test") && found.warnings.is_empty(), "{found:?}");
}

#[test]
fn a_cache_that_an_agent_can_write_is_not_used() {
    let stage = Stage::new();
    let (script, count) = counting(&stage);
    let mut stage = stage.program("cargo", &script);
    stage.machine.untrusted = vec![stage.dir.path().join("cache")];
    stage.hosts("rust");
    stage.hosts("rust");
    assert_eq!(times(&count), 2);
    assert_eq!(fs::read_dir(stage.dir.path().join("cache")).expect("list").count(), 0);
}

#[test]
fn nothing_that_goes_inside_or_is_kept_has_credentials() {
    let url = "https://user:hunter2@host.test/x?token=hunter3";
    let stage = Stage::new()
        .var("PIP_INDEX_URL", url)
        .var("PIP_EXTRA_INDEX_URL", url)
        .var("UV_DEFAULT_INDEX", url)
        .var("UV_FIND_LINKS", url)
        .var("npm_config_registry", url)
        .var("YARN_NPM_REGISTRY_SERVER", url)
        .var("CARGO_REGISTRIES_X_INDEX", &format!("sparse+{url}"))
        .var("GOPROXY", &format!("{url},direct"))
        .var("GOSUMDB", &format!("sums.test {url}"))
        .var("PUB_HOSTED_URL", url)
        .var("BUNDLE_MIRROR__ALL", url)
        .home(".gradle/init.gradle", &format!("maven {{ url '{url}' }}"))
        .home(".gemrc", &format!("sources:\n- {url}\n"))
        .program("composer", &format!("echo '[repositories.x.url] {url}'"))
        .program("nuget", &format!("echo 'E {url}'"))
        .program("npm", &format!("echo '\"@a:registry\": \"{url}\"'"));
    let found = super::super::find(&super::super::NAMES, &stage.machine);
    assert_eq!(found.presets.len(), 9);
    for (name, preset) in &found.presets {
        assert!(
            preset.hosts.iter().any(|host| host.pattern.to_string() == "host.test:443"),
            "{name}"
        );
        assert!(!holds(preset, "hunter"), "{name}: {preset:?}");
        let told = preset.warnings.iter().any(|warning| warning.contains("credentials"));
        assert!(told || ["php", "dotnet"].contains(&name.as_str()), "{name}: {preset:?}");
    }
    for entry in fs::read_dir(stage.dir.path().join("cache")).expect("list").flatten() {
        let text = fs::read_to_string(entry.path()).expect("text");
        assert!(!text.contains("hunter"), "{text}");
    }
}

#[test]
fn what_was_found_is_put_together() {
    let stage = Stage::new()
        .var("GOPROXY", "https://go.test")
        .var("GOSUMDB", "off")
        .home(".gemrc", "sources:\n- https://gems.test\n");
    let found = super::super::find(&["go", "ruby", "nothing"], &stage.machine);
    let hosts = found.hosts();
    let shown = |name: &str| hosts[name].iter().map(ToString::to_string).collect::<Vec<_>>();
    assert_eq!(hosts.len(), 2);
    assert_eq!(
        (shown("go"), shown("ruby")),
        (vec!["go.test:443".into()], vec!["gems.test:443".into()])
    );
    assert_eq!(found.env()["GOPROXY"], "https://go.test");
    assert!(found.files().contains_key(".gemrc"));
    let warning = "preset go: go is not installed, so only what is configured is known";
    assert!(found.warnings().contains(&warning.to_owned()), "{:?}", found.warnings());
    let go = &found.presets["go"];
    assert_eq!((env(go).len(), file(go, ".gemrc")), (2, ""));
}
