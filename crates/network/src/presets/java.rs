//! java: Maven and Gradle.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use super::ini;
use super::look::{Config, Index, Look, Need, Question, Said};
use super::url::{Url, urls_in};
use super::xml::{self, Element, encoded};

/// The repository that Maven uses unless something else is said, by its name.
const CENTRAL: &str = "central";

/// Finds out where Maven and Gradle go.
pub(super) fn find(look: &mut Look<'_>) {
    let maven = look.program(&["mvn"]);
    let gradle = look.program(&["gradle"]);
    if maven.is_none() && gradle.is_none() {
        look.warn_missing("neither Maven nor Gradle is installed");
    }
    find_maven(look, maven);
    find_gradle(look, gradle);
}

// Maven.

/// What one settings file says.
#[derive(Default)]
struct Settings {
    mirrors: Vec<Mirror>,
    repositories: Vec<Repository>,
}

struct Mirror {
    id: String,
    of: String,
    said: Said,
}

struct Repository {
    id: String,
    said: Said,
    kind: Kind,
    /// Whether a command uses it without having to name its profile.
    active: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Packages,
    Plugins,
}

fn find_maven(look: &mut Look<'_>, program: Option<PathBuf>) {
    let user = look.home(".m2/settings.xml");
    let own = read_settings(look, &user);
    let conf = |program: &PathBuf| {
        let real = std::fs::canonicalize(program).ok()?;
        Some(real.parent()?.parent()?.join("conf/settings.xml"))
    };
    let all = program.as_ref().and_then(conf).map(|path| read_settings(look, &path));
    let all = all.unwrap_or_default();
    let mut is_mirrored = false;
    for settings in [&own, &all] {
        for mirror in &settings.mirrors {
            is_mirrored |= stands_for_central(&mirror.of);
            look.name(&mirror.said);
        }
        for repository in &settings.repositories {
            look.name(&repository.said);
        }
    }
    // What belongs to the installation is there inside, too.
    write_settings(look, &own);
    if let Some(program) = program.filter(|_| !is_mirrored) {
        ask_maven(look, &program);
    }
}

/// Returns whether a mirror of these repositories is one of Maven's own.
fn stands_for_central(of: &str) -> bool {
    let items: Vec<&str> = of.split(',').map(str::trim).collect();
    let is_out = items.contains(&"!central");
    !is_out && items.iter().any(|item| ["*", "external:*", CENTRAL].contains(item))
}

fn read_settings(look: &mut Look<'_>, path: &Path) -> Settings {
    let mut settings = Settings::default();
    let Some(config) = look.read(path) else { return settings };
    let Some(document) = xml::parse(&config.text) else {
        look.warn(format!("{} is not XML", config.shown));
        return settings;
    };
    for mirror in document.at(&["mirrors"]).into_iter().flat_map(|all| all.all("mirror")) {
        if mirror.text_of("blocked") == Some("true") {
            continue;
        }
        let Some(said) = url_of(look, &config, mirror) else { continue };
        let text = |name| mirror.text_of(name).unwrap_or_default().to_owned();
        settings.mirrors.push(Mirror { id: text("id"), of: text("mirrorOf"), said });
    }
    let active: Vec<&str> = document
        .at(&["activeProfiles"])
        .into_iter()
        .flat_map(|all| all.all("activeProfile").map(|profile| profile.text.trim()))
        .collect();
    for profile in document.at(&["profiles"]).into_iter().flat_map(|all| all.all("profile")) {
        let by_default = profile
            .at(&["activation"])
            .is_some_and(|activation| activation.text_of("activeByDefault") == Some("true"));
        let active = by_default || profile.text_of("id").is_some_and(|id| active.contains(&id));
        read_repositories(look, &config, profile, active, &mut settings.repositories);
    }
    if document.at(&["servers", "server"]).is_some() {
        look.warn(format!(
            "{} has credentials, which stay outside; use `secrets` to send them",
            config.shown
        ));
    }
    settings
}

fn read_repositories(
    look: &Look<'_>,
    config: &Config,
    profile: &Element,
    active: bool,
    to: &mut Vec<Repository>,
) {
    let kinds = [
        ("repositories", "repository", Kind::Packages),
        ("pluginRepositories", "pluginRepository", Kind::Plugins),
    ];
    for (outer, inner, kind) in kinds {
        for element in profile.at(&[outer]).into_iter().flat_map(|all| all.all(inner)) {
            let Some(said) = url_of(look, config, element) else { continue };
            let id = element.text_of("id").unwrap_or_default().to_owned();
            to.push(Repository { id, said, kind, active });
        }
    }
}

/// Returns the URL of an element, with variables of the environment filled in.
fn url_of(look: &Look<'_>, config: &Config, element: &Element) -> Option<Said> {
    let url = element.at(&["url"])?;
    let var = |name: &str| look.var(name.strip_prefix("env.")?);
    let text = ini::filled(url.text.trim(), var)?;
    Some(config.said(&text, url.line))
}

fn write_settings(look: &mut Look<'_>, settings: &Settings) {
    let mut mirrors = String::new();
    for mirror in &settings.mirrors {
        let Some(url) = Url::parse(&mirror.said.text) else { continue };
        let _ = writeln!(
            mirrors,
            "    <mirror><id>{}</id><mirrorOf>{}</mirrorOf><url>{}</url></mirror>",
            encoded(&mirror.id),
            encoded(&mirror.of),
            encoded(&url.to_string())
        );
    }
    let list = |kind: Kind, name: &str| {
        let mut list = String::new();
        for repository in settings.repositories.iter().filter(|r| r.kind == kind && r.active) {
            let Some(url) = Url::parse(&repository.said.text) else { continue };
            let (id, url) = (encoded(&repository.id), encoded(&url.to_string()));
            let _ = writeln!(list, "      <{name}><id>{id}</id><url>{url}</url></{name}>");
        }
        list
    };
    let packages = list(Kind::Packages, "repository");
    let plugins = list(Kind::Plugins, "pluginRepository");
    if mirrors.is_empty() && packages.is_empty() && plugins.is_empty() {
        return;
    }
    look.file(
        ".m2/settings.xml",
        format!(
            "<settings>\n  <mirrors>\n{mirrors}  </mirrors>\n  <profiles><profile>\n    \
             <id>zonekeep</id>\n    <repositories>\n{packages}    </repositories>\n    \
             <pluginRepositories>\n{plugins}    </pluginRepositories>\n  </profile></profiles>\n  \
             <activeProfiles><activeProfile>zonekeep</activeProfile></activeProfiles>\n\
             </settings>\n"
        ),
    );
}

/// Asks Maven for its repository: offline and with nothing at hand, its complaint
/// names it.
fn ask_maven(look: &mut Look<'_>, program: &Path) {
    let pom = "<project><modelVersion>4.0.0</modelVersion><parent>\
               <groupId>zonekeep</groupId><artifactId>none</artifactId><version>1</version>\
               <relativePath/></parent><artifactId>zonekeep</artifactId></project>\n";
    let args = [
        "-B",
        "-o",
        "-s",
        "{scratch}/settings.xml",
        "-Dmaven.repo.local={scratch}/repository",
        "-f",
        "{scratch}/pom.xml",
        "validate",
    ];
    let question = Question::new("Maven", program, &args)
        .file("pom.xml", pom)
        .file("settings.xml", "<settings/>\n")
        .file(".mvn/maven.config", "")
        .slow();
    for text in look.ask(&question, repositories_in_complaint) {
        look.name(&Said { text, from: "Maven's own default".to_owned() });
    }
}

fn repositories_in_complaint(output: &str) -> Vec<String> {
    let mut urls: Vec<String> = Vec::new();
    for piece in output.split("Cannot access ").skip(1) {
        // "central (https://…) in offline mode"
        let place = piece.split_once(" (").and_then(|(_, rest)| rest.split_once(')'));
        let url = place.and_then(|(place, _)| urls_in(place).first().map(|url| (*url).to_owned()));
        urls.extend(url.filter(|url| !urls.contains(url)));
    }
    urls
}

// Gradle.

fn find_gradle(look: &mut Look<'_>, program: Option<PathBuf>) {
    let home = look.path_var("GRADLE_USER_HOME").unwrap_or_else(|| look.home(".gradle"));
    let mut scripts = vec![home.join("init.gradle"), home.join("init.gradle.kts")];
    scripts.extend(look.list(&home.join("init.d"), &[".gradle", ".gradle.kts"]));
    for path in scripts {
        let Some(config) = look.read(&path) else { continue };
        read_script(look, &config);
    }
    if let Some(program) = program {
        ask_gradle(look, &program);
    }
}

/// Adds the hosts of the URLs in a script. A script is a program, and may hold
/// credentials in any form, so it does not go inside.
fn read_script(look: &mut Look<'_>, config: &Config) {
    let mut any = false;
    for (number, line) in config.text.lines().enumerate() {
        let code = line.trim_start();
        if code.starts_with("//") || code.starts_with('*') || code.starts_with("/*") {
            continue;
        }
        for url in urls_in(code) {
            look.name(&config.said(url, number + 1));
            any = true;
        }
    }
    if any {
        look.warn(format!(
            "{} stays outside; a project that needs its repositories has to name them",
            config.shown
        ));
    }
}

/// Has Gradle print the repositories that its own words stand for.
fn ask_gradle(look: &mut Look<'_>, program: &Path) {
    let script = "repositories { mavenCentral(); gradlePluginPortal() }\n\
                  repositories.each { println 'zonekeep ' + it.name + ' ' + it.url }\n";
    let args = [
        "-q",
        "--offline",
        "--no-daemon",
        "-g",
        "{scratch}/home",
        "-p",
        "{scratch}/project",
        "help",
    ];
    let question = Question::new("Gradle", program, &args)
        .file("project/settings.gradle", "rootProject.name = 'zonekeep'\n")
        .file("project/build.gradle", script)
        .slow();
    let read = |output: &str| {
        let lines = output.lines().filter_map(|line| line.strip_prefix("zonekeep "));
        lines.flat_map(urls_in).map(str::to_owned).collect()
    };
    for text in look.ask(&question, read) {
        let said = Said { text, from: "Gradle's own default".to_owned() };
        if let Some(url) = look.name(&said) {
            ask_portal(look, &url);
        }
    }
}

/// Asks a repository for a plugin that comes from Gradle's makers: the portal sends
/// those who want one elsewhere.
fn ask_portal(look: &mut Look<'_>, url: &Url) {
    let (id, version) = ("org.gradle.toolchains.foojay-resolver-convention", "0.8.0");
    let marker = format!("{id}.gradle.plugin");
    let path = format!("{}/{marker}/{version}/{marker}-{version}.pom", id.replace('.', "/"));
    let index = Index { path, accept: "*/*", most: 0, need: Need::Extra };
    if let Some(answer) = look.fetch(url, &index, |_| Vec::new()) {
        look.add_named(url, &answer.passed, "a redirect");
    }
}
