use super::{Site, Stage, file, holds};

const DOTNET: &str = "[ \"$1 $2 $3\" = 'nuget list source' ] || exit 1
echo 'E https://index.test/v3/feed'
echo 'D https://off.test/v3/index.json'; echo 'See https://docs.test'";
const NUGET: &str = "echo 'EO https://old.test/api/v2/'";

#[test]
fn without_settings_the_programs_say_where_they_go() {
    let stage = Stage::new().program("dotnet", DOTNET).program("nuget", NUGET);
    assert_eq!(stage.hosts("dotnet"), ["index.test:443 NuGet's own default"]);
    let stage = Stage::new().program("nuget", NUGET);
    assert_eq!(stage.hosts("dotnet"), ["old.test:443 NuGet's own default"]);
    assert!(holds(&Stage::new().find("dotnet"), "neither dotnet nor nuget is installed"));
}

#[test]
fn sources_are_read_and_go_inside() {
    let config = "\u{feff}<?xml version=\"1.0\"?>\n<configuration>\n<packageSources>\n\
        <add key=\"a\" value=\"https://u:hunter2@a.test/v3/feed\" />\n\
        <add key=\"b\" value=\"https://b.test/\"/>\n\
        <add key=\"local\" value=\"/srv/packages\" />\n</packageSources>\n\
        <disabledPackageSources><add key=\"b\" value=\"true\" /></disabledPackageSources>\n\
        <packageSourceCredentials><a><add key=\"ClearTextPassword\" value=\"s3cret\" /></a>\
        </packageSourceCredentials></configuration>";
    let machine = "<configuration><packageSources><add key='m' value='https://m.test/' />\
                   </packageSources></configuration>";
    let stage = Stage::new()
        .program("dotnet", DOTNET)
        .home(".nuget/NuGet/NuGet.Config", config)
        .system("etc/opt/NuGet/Config/all.config", machine);
    let found = stage.find("dotnet");
    let hosts = [
        "a.test:443 ~/.nuget/NuGet/NuGet.Config:4",
        "m.test:443 /etc/opt/NuGet/Config/all.config:1",
    ];
    assert_eq!(stage.shown(&found), hosts);
    let text = "<configuration>\n  <packageSources>\n    \
                <add key=\"a\" value=\"https://a.test/v3/feed\" />\n    \
                <add key=\"m\" value=\"https://m.test/\" />\n  </packageSources>\n\
                </configuration>\n";
    assert_eq!(file(&found, ".nuget/NuGet/NuGet.Config"), text);
    assert!(!holds(&found, "s3cret") && !holds(&found, "hunter2"), "{found:?}");
    let cleared = config.replace("<packageSources>\n", "<packageSources><clear />");
    let stage = stage.home(".nuget/NuGet/NuGet.Config", &cleared);
    assert_eq!(stage.hosts("dotnet"), ["a.test:443 ~/.nuget/NuGet/NuGet.Config:3"]);
}

#[test]
fn the_index_names_its_services_and_not_where_packages_are_published() {
    let body = r#"{"version":"3.0.0","resources":[
        {"@id":"https://flat.test/v3-flatcontainer/","@type":"PackageBaseAddress/3.0.0"},
        {"@id":"https://search.test/query","@type":"SearchQueryService"},
        {"@id":"https://template.test/x/{id}","@type":"ReadmeUriTemplate/6.13.0"},
        {"@id":"https://publish.test/api/v2/package","@type":"PackagePublish/2.0.0"}]}"#;
    let site = Site::pages(&[("/v3/index.json", body)]);
    let config = format!(
        "<configuration><packageSources><add key='a' value='{}/v3/index.json'/>\
         </packageSources></configuration>",
        site.url()
    );
    let stage = Stage::new().home(".nuget/NuGet/NuGet.Config", &config).online();
    let hosts = stage.hosts("dotnet").join("\n");
    assert!(hosts.contains("flat.test:443") && hosts.contains("search.test:443"), "{hosts}");
    assert!(hosts.contains("template.test:443"), "{hosts}");
    assert!(!hosts.contains("publish.test"), "{hosts}");
}
