use super::{Site, Stage, env, file, holds};

/// Prints what pip's help does, or what python says when it is asked for the host
/// of pip's files.
const PIP: &str = "echo '  -i, --index-url <url>  Base URL of the Python Package Index (default'
echo '      https://simple.test/simple). This should point to https://docs.test/.'";
const PYTHON: &str = "echo zonekeep https://simple.test/simple files.test";
const UV: &str = "echo '--default-index <DEFAULT_INDEX>  The default package index (by default: \
                  <https://uv.test/simple>) [env: UV_DEFAULT_INDEX]'
echo '--other (by default: x) see https://docs.test/'";

#[test]
fn without_settings_the_programs_say_where_they_go() {
    let stage = Stage::new().program("pip3", PIP).program("python3", PYTHON).program("uv", UV);
    let found = stage.find("python");
    let hosts = [
        "files.test:443 pip's own default",
        "simple.test:443 pip's own default",
        "uv.test:443 uv's own default",
    ];
    assert_eq!(stage.shown(&found), hosts);
    assert_eq!(env(&found), Vec::<String>::new());
    assert_eq!(found.files, []);
}

#[test]
fn the_files_of_pips_own_index_are_not_those_of_another() {
    let other = "echo zonekeep https://other.test/simple files.test";
    let stage = Stage::new().program("pip", PIP).program("python3", other);
    assert_eq!(stage.hosts("python"), ["simple.test:443 pip's own default"]);
}

#[test]
fn variables_win_over_files_and_files_over_the_program() {
    let user = "[global]\nindex-url = https://user.test/simple\n";
    let system = "[global]\nindex-url = https://system.test/simple\n";
    let stage = || Stage::new().program("pip3", PIP).system("etc/pip.conf", system);
    let cases = [
        (stage(), "system.test:443 /etc/pip.conf:2", "https://system.test/simple"),
        (
            stage().home(".config/pip/pip.conf", user),
            "user.test:443 ~/.config/pip/pip.conf:2",
            "https://user.test/simple",
        ),
        (
            stage().home(".pip/pip.conf", user),
            "user.test:443 ~/.pip/pip.conf:2",
            "https://user.test/simple",
        ),
        (
            stage()
                .home(".config/pip/pip.conf", user)
                .var("PIP_INDEX_URL", "http://variable.test:8080/x"),
            "variable.test:8080 the variable PIP_INDEX_URL",
            "http://variable.test:8080/x",
        ),
        (
            stage().home(".config/pip/pip.conf", "[install]\nindex_url=https://install.test/\n"),
            "install.test:443 ~/.config/pip/pip.conf:2",
            "https://install.test/",
        ),
    ];
    for (stage, host, url) in cases {
        let found = stage.find("python");
        assert_eq!(stage.shown(&found), [host]);
        assert_eq!(env(&found), [format!("PIP_INDEX_URL={url}")]);
    }
}

#[test]
fn more_indexes_and_pages_of_links_are_found() {
    let conf = "[global]\nextra-index-url =\n    https://one.test/simple\n    \
                https://two.test/simple\n\
                find-links = /srv/wheels https://links.test/page file:///srv\n\
                trusted-host = one.test\n";
    let stage = Stage::new().program("pip3", PIP).home(".config/pip/pip.conf", conf);
    let found = stage.find("python");
    let hosts = [
        "links.test:443 ~/.config/pip/pip.conf:5",
        "one.test:443 ~/.config/pip/pip.conf:2",
        "simple.test:443 pip's own default",
        "two.test:443 ~/.config/pip/pip.conf:2",
    ];
    assert_eq!(stage.shown(&found), hosts);
    let variables = [
        "PIP_EXTRA_INDEX_URL=https://one.test/simple https://two.test/simple",
        "PIP_FIND_LINKS=https://links.test/page",
        "PIP_TRUSTED_HOST=one.test",
    ];
    assert_eq!(env(&found), variables);
}

#[test]
fn without_an_index_nothing_is_asked() {
    let stage = Stage::new().program("pip3", PIP).var("PIP_NO_INDEX", "1");
    let found = stage.find("python");
    assert_eq!(stage.shown(&found), Vec::<String>::new());
    assert_eq!(env(&found), ["PIP_NO_INDEX=1"]);
}

#[test]
fn uv_has_settings_of_its_own() {
    let toml = "index-url = \"https://old.test/simple\"\n[[index]]\nname = \"corp\"\n\
                url = \"https://u:hunter2@corp.test/simple\"\nexplicit = true\n[pip]\n\
                extra-index-url = [\"https://extra.test/\"]\n";
    let stage = Stage::new()
        .program("uv", UV)
        .home(".config/uv/uv.toml", toml)
        .var("UV_INDEX", "https://a.test/simple named=https://b.test/simple")
        .var("UV_PYTHON_INSTALL_MIRROR", "https://python.test/");
    let found = stage.find("python");
    let hosts = [
        "a.test:443 the variable UV_INDEX",
        "b.test:443 the variable UV_INDEX",
        "corp.test:443 ~/.config/uv/uv.toml:4",
        "extra.test:443 ~/.config/uv/uv.toml:7",
        "old.test:443 ~/.config/uv/uv.toml:1",
        "python.test:443 the variable UV_PYTHON_INSTALL_MIRROR",
    ];
    assert_eq!(stage.shown(&found), hosts);
    let variables = [
        "UV_INDEX=https://a.test/simple named=https://b.test/simple",
        "UV_PYTHON_INSTALL_MIRROR=https://python.test/",
    ];
    assert_eq!(env(&found), variables);
    let text = "[[index]]\nname = \"corp\"\nurl = \"https://corp.test/simple\"\nexplicit = true\n\n\
                [[index]]\nurl = \"https://old.test/simple\"\ndefault = true\n\n\
                [[index]]\nurl = \"https://extra.test/\"\n";
    assert_eq!(file(&found, ".config/uv/uv.toml"), text);
    assert!(!holds(&found, "hunter2"), "{found:?}");
    assert!(holds(&found, "has credentials for corp.test"), "{found:?}");
}

#[test]
fn the_index_names_the_hosts_of_its_files() {
    let json = r#"{"files":[{"url":"https://files.test/a.whl"},{"url":"../b.whl"}]}"#;
    let html = "<a href=\"https://other.test:8443/a.whl#sha256=0\">a</a>";
    for (body, host) in [(json, "files.test:443"), (html, "other.test:8443")] {
        let site = Site::pages(&[("/simple/pip/", body)]);
        let url = format!("{}/simple", site.url());
        let place = url.trim_start_matches("http://").trim_end_matches("/simple").to_owned();
        let stage = Stage::new().program("pip", "").var("PIP_INDEX_URL", &url).online();
        let hosts = [
            format!("{host} the links of the index at {place}"),
            format!("{place} the variable PIP_INDEX_URL"),
        ];
        let mut found = stage.hosts("python");
        found.sort();
        let mut wanted = hosts.to_vec();
        wanted.sort();
        assert_eq!(found, wanted);
        let head = site.asked().concat();
        assert!(head.contains("application/vnd.pypi.simple.v1+json"), "{head}");
    }
}

#[test]
fn without_programs_there_is_a_warning_and_what_is_configured() {
    let stage = Stage::new().var("PIP_INDEX_URL", "https://index.test/simple");
    let found = stage.find("python");
    assert_eq!(stage.shown(&found), ["index.test:443 the variable PIP_INDEX_URL"]);
    assert!(holds(&found, "neither pip nor uv is installed"), "{found:?}");
    let found = Stage::new().find("python");
    assert_eq!(found.hosts, []);
    assert_eq!(found.warnings.len(), 1);
}
