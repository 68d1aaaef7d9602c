use super::{Site, Stage, file, holds, page, path_of, redirect};

const COMPOSER: &str = "[ -n \"$COMPOSER_HOME\" ] || exit 1
echo '[repositories.central.test.type] composer'
echo '[repositories.central.test.url] https://repo.test'
echo '[home] /x'";

#[test]
fn without_settings_composer_says_where_it_goes() {
    let stage = Stage::new().program("composer", COMPOSER);
    assert_eq!(stage.hosts("php"), ["repo.test:443 composer's own default"]);
    assert!(holds(&Stage::new().find("php"), "composer is not installed"));
}

#[test]
fn repositories_stand_beside_composers_own_or_for_it() {
    let own = "repo.test:443 composer's own default";
    let mirror = "mirror.test:443 ~/.config/composer/config.json:1";
    let cases = [
        (
            r#"{"repositories":[{"type":"composer","url":"https://mirror.test"}]}"#,
            vec![mirror, own],
        ),
        (
            r#"{"repositories":[{"type":"composer","url":"https://mirror.test"},
                {"central.test":false}]}"#,
            vec![mirror],
        ),
        (
            r#"{"repositories":{"central.test":{"type":"composer","url":"https:\/\/mirror.test"}}
            }"#,
            vec![mirror],
        ),
        (
            r#"{"repositories":{"central":{"type":"composer","url":"https://mirror.test"}}}"#,
            vec![mirror],
        ),
        (r#"{"repositories":{"central.test":false}}"#, vec![]),
        (r#"{"config":{}}"#, vec![own]),
        ("{", vec![own]),
    ];
    for (config, hosts) in cases {
        let stage =
            Stage::new().program("composer", COMPOSER).home(".config/composer/config.json", config);
        assert_eq!(stage.hosts("php"), hosts, "{config}");
    }
}

#[test]
fn repositories_go_inside_without_credentials() {
    let config = r#"{"repositories":{"central.test":{"type":"composer",
        "url":"https://u:hunter2@mirror.test/c",
        "canonical":false,"options":{"http":{"header":["API-TOKEN: s3cret"]}}}}}"#;
    let found = Stage::new().home(".composer/config.json", config).find("php");
    let text = file(&found, ".config/composer/config.json");
    let inside: serde_json::Value = serde_json::from_str(text).expect("JSON");
    let wanted = serde_json::json!({ "repositories": [
        { "central.test": false },
        { "type": "composer", "url": "https://mirror.test/c", "canonical": false },
    ]});
    assert_eq!(inside, wanted);
    assert!(!holds(&found, "s3cret") && !holds(&found, "hunter2"), "{found:?}");
}

#[test]
fn the_repository_names_its_lists_and_these_the_archives() {
    let site = Site::serve(|head| match path_of(head) {
        "/packages.json" => page(
            r#"{"metadata-url":"/p2/%package%.json","available-packages":["acme/one"],
               "mirrors":[{"dist-url":"https://dist.test/%package%.zip","preferred":true}]}"#,
        ),
        "/p2/acme/one.json" => page(
            r#"{"packages":{"acme/one":[{"source":{"url":"https://git.test/acme/one.git"},
               "dist":{"url":"ARCHIVE"}}]}}"#
                .replace("ARCHIVE", "/archive.zip")
                .as_str(),
        ),
        "/archive.zip" => redirect("https://cdn.test/archive.zip?signed=1"),
        _ => "HTTP/1.1 404 Not Found\r\n\r\n".to_owned(),
    });
    let config = format!(r#"{{"repositories":[{{"type":"composer","url":"{}"}}]}}"#, site.url());
    let stage = Stage::new().home(".config/composer/config.json", &config).online();
    let hosts = stage.hosts("php").join("\n");
    assert!(hosts.contains("dist.test:443 the links of the index"), "{hosts}");
    assert!(hosts.contains("cdn.test:443 a redirect of the index"), "{hosts}");
    assert!(!hosts.contains("git.test"), "{hosts}");
}
