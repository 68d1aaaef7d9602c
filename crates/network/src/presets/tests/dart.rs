use super::{Site, Stage, env, holds, page, path_of, redirect};

const DART: &str = "[ \"$2$3$4\" = pubglobalactivate ] || exit 1
echo 'Welcome: see https://docs.test/'
echo \"Got socket error trying to find package $5 at https://pub.test.\" >&2; exit 69";

#[test]
fn without_settings_darts_complaint_says_where_it_goes() {
    let stage = Stage::new().program("dart", DART);
    assert_eq!(stage.hosts("dart"), ["pub.test:443 dart's own default"]);
    let found = Stage::new().find("dart");
    assert!(holds(&found, "dart is not installed"), "{found:?}");
}

#[test]
fn variables_name_mirrors() {
    let stage = Stage::new()
        .program("dart", DART)
        .var("PUB_HOSTED_URL", "https://t@mirror.test/")
        .var("FLUTTER_STORAGE_BASE_URL", "https://storage.test");
    let found = stage.find("dart");
    let hosts = [
        "mirror.test:443 the variable PUB_HOSTED_URL",
        "storage.test:443 the variable FLUTTER_STORAGE_BASE_URL",
    ];
    assert_eq!(stage.shown(&found), hosts);
    let variables =
        ["FLUTTER_STORAGE_BASE_URL=https://storage.test", "PUB_HOSTED_URL=https://mirror.test/"];
    assert_eq!(env(&found), variables);
}

#[test]
fn the_repository_names_the_hosts_of_its_archives() {
    let site = Site::serve(|head| match path_of(head) {
        "/api/packages/path" => page(
            r#"{"latest":{"archive_url":"/archives/path.tar.gz"},
               "versions":[{"archive_url":"https://files.test/a"}]}"#,
        ),
        "/archives/path.tar.gz" => redirect("https://cdn.test/path.tar.gz"),
        _ => "HTTP/1.1 404 Not Found\r\n\r\n".to_owned(),
    });
    let stage = Stage::new().var("PUB_HOSTED_URL", &site.url()).online();
    let hosts = stage.hosts("dart").join("\n");
    assert!(hosts.contains("files.test:443 the links of the index"), "{hosts}");
    assert!(hosts.contains("cdn.test:443 a redirect of the index"), "{hosts}");
}
