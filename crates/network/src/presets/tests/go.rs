use super::{Site, Stage, env, holds, page, path_of, redirect};

const GO: &str = "if [ \"$1\" = env ]; then
  [ \"$GOENV\" = off ] || exit 1
  echo https://proxy.test,direct; echo sum.test; echo go1.30.1; exit
fi
echo \"go: x: Get \\\"$GOPROXY/some.test/toolchain/@v/v0.0.1-$GOTOOLCHAIN.zip\\\": refused\" >&2
exit 1";

#[test]
fn without_settings_go_says_where_it_goes() {
    let stage = Stage::new().program("go", GO);
    let found = stage.find("go");
    let hosts = ["proxy.test:443 go's own default", "sum.test:443 go's own default"];
    assert_eq!(stage.shown(&found), hosts);
    assert_eq!((env(&found), found.warnings.clone()), (Vec::new(), Vec::new()));
}

#[test]
fn settings_are_read_from_variables_and_from_gos_file() {
    let file = "GOPROXY=https://u:hunter2@mirror.test/go|https://second.test,direct\n\
                GOSUMDB=sums.test+abc https://sums.test:8443/db\nGOPRIVATE=git.test/*\n";
    let stage = Stage::new().program("go", GO).home(".config/go/env", file);
    let found = stage.find("go");
    let hosts = [
        "mirror.test:443 ~/.config/go/env:1",
        "second.test:443 ~/.config/go/env:1",
        "sums.test:8443 ~/.config/go/env:2",
    ];
    assert_eq!(stage.shown(&found), hosts);
    let variables = [
        "GOPRIVATE=git.test/*",
        "GOPROXY=https://mirror.test/go|https://second.test,direct",
        "GOSUMDB=sums.test+abc https://sums.test:8443/db",
    ];
    assert_eq!(env(&found), variables);
    assert!(!holds(&found, "hunter2"), "{found:?}");
    assert!(holds(&found, "modules of git.test/*"), "{found:?}");
    let stage = stage.var("GOPROXY", "off").var("GOSUMDB", "off");
    assert_eq!(stage.hosts("go"), Vec::<String>::new());
    let stage = stage.var("GOPROXY", "direct");
    assert!(holds(&stage.find("go"), "from their own hosts"));
    let stage = Stage::new().home(".config/go/env", file).var("GOENV", "off");
    assert_eq!(stage.hosts("go"), Vec::<String>::new());
}

#[test]
fn where_a_proxy_sends_those_who_want_something_large_is_found() {
    let site = Site::serve(|head| match path_of(head) {
        "/p/some.test/toolchain/@v/v0.0.1-go1.30.1.zip" => {
            redirect("https://storage.test/signed?token=1")
        }
        _ => page(""),
    });
    let stage =
        Stage::new().program("go", GO).var("GOPROXY", &format!("{}/p", site.url())).online();
    let hosts = stage.hosts("go").join("\n");
    assert!(hosts.contains("storage.test:443 a redirect of the index"), "{hosts}");
}
