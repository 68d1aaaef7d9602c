use super::{Stage, file, holds};

const MAVEN: &str = "[ \"$1$2\" = -B-o ] || exit 1
echo '[FATAL] Non-resolvable parent POM for x: Cannot access central \
(https://central.test/maven2) in offline mode.'
echo '[ERROR] [Help 1] http://docs.test/'; exit 1";
const GRADLE: &str = "echo 'zonekeep MavenRepo https://central.test/maven2/'
echo 'zonekeep Gradle Portal https://portal.test/m2'; echo 'see https://docs.test'";

#[test]
fn without_settings_the_programs_say_where_they_go() {
    let stage = Stage::new().program("mvn", MAVEN);
    assert_eq!(stage.hosts("java"), ["central.test:443 Maven's own default"]);
    let stage = Stage::new().program("gradle", GRADLE);
    let hosts = ["central.test:443 Gradle's own default", "portal.test:443 Gradle's own default"];
    assert_eq!(stage.hosts("java"), hosts);
    let found = Stage::new().find("java");
    assert!(holds(&found, "neither Maven nor Gradle is installed"), "{found:?}");
}

#[test]
fn a_mirror_stands_for_mavens_own_repository_or_beside_it() {
    let mirror = |of: &str| {
        format!(
            "<settings><mirrors>\n<mirror><id>m</id><mirrorOf>{of}</mirrorOf>\n\
             <url>https://mirror.test/maven</url></mirror></mirrors></settings>"
        )
    };
    for (of, is_mirrored) in
        [("*", true), ("central", true), ("external:*", true), ("*,!central", false), ("x", false)]
    {
        let stage = Stage::new().program("mvn", MAVEN).home(".m2/settings.xml", &mirror(of));
        let mut hosts = vec!["mirror.test:443 ~/.m2/settings.xml:3"];
        if !is_mirrored {
            hosts.insert(0, "central.test:443 Maven's own default");
        }
        assert_eq!(stage.hosts("java"), hosts, "{of}");
    }
}

#[test]
fn mirrors_and_repositories_go_inside_without_servers() {
    let settings = "<settings>
<mirrors>
  <mirror><id>m</id><mirrorOf>*</mirrorOf><url>https://u:hunter2@${env.MIRROR}/maven</url></mirror>
  <mirror><id>b</id><mirrorOf>external:http:*</mirrorOf><url>http://0.0.0.0/</url>
  <blocked>true</blocked></mirror>
</mirrors>
<servers><server><id>m</id><username>u</username><password>s3cret</password></server></servers>
<profiles>
  <profile><id>p</id><repositories><repository><id>r</id>
    <url>https://r.test/a&amp;b</url></repository>
  </repositories></profile>
  <profile><id>q</id><pluginRepositories><pluginRepository><id>s</id><url>https://s.test/</url>
  </pluginRepository></pluginRepositories></profile>
</profiles>
<activeProfiles><activeProfile>p</activeProfile></activeProfiles>
</settings>";
    let stage = Stage::new().home(".m2/settings.xml", settings).var("MIRROR", "mirror.test:8081");
    let found = stage.find("java");
    let hosts = [
        "mirror.test:8081 ~/.m2/settings.xml:3",
        "r.test:443 ~/.m2/settings.xml:10",
        "s.test:443 ~/.m2/settings.xml:12",
    ];
    assert_eq!(stage.shown(&found), hosts);
    let text = file(&found, ".m2/settings.xml");
    assert!(
        text.contains("<mirrorOf>*</mirrorOf><url>https://mirror.test:8081/maven</url>"),
        "{text}"
    );
    assert!(text.contains("<repository><id>r</id><url>https://r.test/a&amp;b</url></repository>"));
    assert!(!text.contains("s.test"), "a profile that is not active: {text}");
    assert!(!holds(&found, "s3cret") && !holds(&found, "hunter2"), "{found:?}");
    assert!(holds(&found, "has credentials"), "{found:?}");
    assert!(super::super::xml::parse(text).is_some(), "{text}");
}

#[test]
fn scripts_of_gradle_are_searched_and_stay_outside() {
    let script = "// https://comment.test/\n\
                  allprojects { repositories { maven { url 'https://m.test/x' } } }\n";
    let stage = Stage::new().home(".gradle/init.d/mirror.gradle", script);
    let found = stage.find("java");
    assert_eq!(stage.shown(&found), ["m.test:443 ~/.gradle/init.d/mirror.gradle:2"]);
    assert!(holds(&found, "stays outside"), "{found:?}");
    assert_eq!(found.files, []);
}

#[test]
fn a_broken_file_is_a_warning() {
    let stage = Stage::new().program("mvn", MAVEN).home(".m2/settings.xml", "<settings>");
    let found = stage.find("java");
    assert!(holds(&found, "is not XML"), "{found:?}");
}
