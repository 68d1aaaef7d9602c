use super::{Site, Stage, file, holds};

const CARGO: &str = "echo '    Updating index' >&2
echo 'Caused by:' >&2
echo '  failed to download from `https://index.test/config.json`' >&2
echo '  see https://docs.test/' >&2
exit 101";
const GIT: &str = "echo '  failed to fetch `https://git.test/index`' >&2
echo '  https://docs.test/cargo' >&2; exit 101";

#[test]
fn without_settings_cargos_complaint_says_where_it_goes() {
    let stage = Stage::new().program("cargo", CARGO);
    let found = stage.find("rust");
    assert_eq!(stage.shown(&found), ["index.test:443 cargo's own default"]);
    assert_eq!(found.files, []);
    let found = Stage::new().program("cargo", GIT).find("rust");
    assert!(holds(&found, "git.test"), "{found:?}");
    assert!(holds(&found, "is a git repository"), "{found:?}");
}

#[test]
fn cargo_gets_a_home_of_its_own() {
    let script = "[ -f \"$3\" ] && [ \"$CARGO_HOME\" != \"$HOME/.cargo\" ] || exit 1\n".to_owned();
    let stage = Stage::new().program("cargo", &(script + CARGO)).var("CARGO_HOME", "/none");
    assert_eq!(stage.hosts("rust"), ["index.test:443 cargo's own default"]);
}

#[test]
fn a_replaced_source_is_followed() {
    let config = "[source.crates-io]\nreplace-with = \"mirror\"\n[source.mirror]\n\
                  replace-with = \"second\"\n[source.second]\n\
                  registry = \"sparse+https://u:hunter2@mirror.test/index/\"\n[source.unused]\n\
                  registry = \"https://unused.test/\"\n";
    let stage = Stage::new().program("cargo", CARGO).home(".cargo/config.toml", config);
    let found = stage.find("rust");
    assert_eq!(stage.shown(&found), ["mirror.test:443 ~/.cargo/config.toml:6"]);
    let text = "[source.crates-io]\nreplace-with = \"mirror\"\n\n[source.mirror]\n\
                replace-with = \"second\"\n\n[source.second]\n\
                registry = \"sparse+https://mirror.test/index/\"\n";
    assert_eq!(file(&found, ".cargo/config.toml"), text);
    assert!(!holds(&found, "hunter2"), "{found:?}");
}

#[test]
fn other_registries_stand_beside_cargos_own() {
    let config = "[registries]\ncorp = { index = \"sparse+https://corp.test/index/\" }\n";
    let stage = Stage::new()
        .program("cargo", CARGO)
        .home(".cargo/config.toml", config)
        .var("CARGO_REGISTRIES_MY_OWN_INDEX", "sparse+https://own.test/");
    let found = stage.find("rust");
    let hosts = [
        "corp.test:443 ~/.cargo/config.toml:2",
        "index.test:443 cargo's own default",
        "own.test:443 the variable CARGO_REGISTRIES_MY_OWN_INDEX",
    ];
    assert_eq!(stage.shown(&found), hosts);
    let text = file(&found, ".cargo/config.toml");
    assert!(text.contains("[registries.my-own]\nindex = \"sparse+https://own.test/\""), "{text}");
}

#[test]
fn what_cannot_be_followed_is_a_warning_and_no_hole() {
    let cases = [
        ("[source.crates-io]\nreplace-with = \"none\"\n", "'none' is not defined"),
        (
            "[source.crates-io]\nreplace-with = \"a\"\n[source.a]\nreplace-with = \"crates-io\"\n",
            "in a circle",
        ),
        (
            "[source.crates-io]\nreplace-with = \"v\"\n[source.v]\ndirectory = \"vendor\"\n",
            "is a directory",
        ),
    ];
    for (config, warning) in cases {
        let stage = Stage::new().program("cargo", CARGO).home(".cargo/config.toml", config);
        let found = stage.find("rust");
        assert_eq!(found.hosts, [], "{config}");
        assert!(holds(&found, warning), "{found:?}");
    }
    let stage = Stage::new().program("cargo", CARGO).home(".cargo/config.toml", "[[[");
    assert!(holds(&stage.find("rust"), "is not TOML"));
    assert!(holds(&Stage::new().find("rust"), "cargo is not installed"));
}

#[test]
fn the_index_names_where_crates_are_and_not_where_they_are_published() {
    let body = r#"{"dl":"https://static.test/crates/{crate}/download","api":"https://api.test"}"#;
    let site = Site::pages(&[("/index/config.json", body)]);
    let config = format!("[registries.x]\nindex = \"sparse+{}/index/\"\n", site.url());
    let stage = Stage::new().home(".cargo/config.toml", &config).online();
    let hosts = stage.hosts("rust").join("\n");
    assert!(hosts.contains("static.test:443 the links of the index"), "{hosts}");
    assert!(!hosts.contains("api.test"), "{hosts}");
}
