use super::{Site, Stage, file, holds, page, redirect};

const GEM: &str = "echo '*** CURRENT SOURCES ***'; echo; echo https://gems.test/";
const RUBY: &str = "case \"$3\" in https://gems.test/) echo zonekeep https://index.gems.test/;; \
                    *) echo zonekeep $3;; esac";

#[test]
fn without_settings_the_programs_say_where_they_go() {
    let stage = Stage::new().program("gem", GEM).program("bundle", "").program("ruby", RUBY);
    let found = stage.find("ruby");
    let hosts = [
        "gems.test:443 gem's own default",
        "index.gems.test:443 bundler's own place for gems.test",
    ];
    assert_eq!(stage.shown(&found), hosts);
    assert_eq!(found.files, []);
    let stage = Stage::new().program("gem", GEM).program("ruby", RUBY);
    assert_eq!(stage.hosts("ruby"), ["gems.test:443 gem's own default"]);
    assert!(holds(&Stage::new().find("ruby"), "neither gem nor bundler is installed"));
}

#[test]
fn sources_and_mirrors_are_read_and_go_inside() {
    let config = "---\nBUNDLE_MIRROR__HTTPS://GEMS__TEST/: \"https://u:hunter2@mirror.test/gems\"\n\
                  BUNDLE_MIRROR__ALL__FALLBACK_TIMEOUT: \"3\"\n\
                  BUNDLE_GEMS__TEST: \"user:s3cret\"\n";
    let stage = Stage::new()
        .program("gem", GEM)
        .home(
            ".gemrc",
            "---\n:backtrace: true\n:sources:\n- https://own.test/\n- https://two.test/\n",
        )
        .home(".bundle/config", config);
    let found = stage.find("ruby");
    let hosts = [
        "mirror.test:443 ~/.bundle/config:2",
        "own.test:443 ~/.gemrc:4",
        "two.test:443 ~/.gemrc:5",
    ];
    assert_eq!(stage.shown(&found), hosts);
    let gemrc = "---\n:sources:\n- \"https://own.test/\"\n- \"https://two.test/\"\n";
    assert_eq!(file(&found, ".gemrc"), gemrc);
    let text = "---\nBUNDLE_MIRROR__HTTPS://GEMS__TEST/: \"https://mirror.test/gems\"\n";
    assert_eq!(file(&found, ".bundle/config"), text);
    assert!(!holds(&found, "s3cret") && !holds(&found, "hunter2"), "{found:?}");
}

#[test]
fn a_variable_is_a_mirror_too_and_redirects_are_found() {
    let site = Site::serve(|head| match super::path_of(head) {
        "/versions" => redirect("https://cdn.test/versions"),
        _ => page(""),
    });
    let stage = Stage::new().var("BUNDLE_MIRROR__ALL", &site.url()).online();
    let hosts = stage.hosts("ruby").join("\n");
    assert!(hosts.contains("the variable BUNDLE_MIRROR__ALL"), "{hosts}");
    assert!(hosts.contains("cdn.test:443 a redirect of the index"), "{hosts}");
}
