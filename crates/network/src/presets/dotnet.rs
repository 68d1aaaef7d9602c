//! dotnet: NuGet.

use std::fmt::Write as _;
use std::path::PathBuf;

use serde_json::Value;

use super::look::{Config, Index, Look, MAX_PAGE, Need, Question, Said};
use super::url::{Scheme, Url};
use super::xml::{self, encoded};

/// Resources of an index that only show pages or take packages in.
const NOT_FOR_DOWNLOADS: [&str; 5] =
    ["PackagePublish", "SymbolPackagePublish", "ReportAbuse", "PackageDetails", "OwnerDetails"];

struct Source {
    key: String,
    said: Said,
}

/// Finds out where NuGet goes.
pub(super) fn find(look: &mut Look<'_>) {
    let dotnet = look.program(&["dotnet"]);
    let nuget = look.program(&["nuget"]);
    if dotnet.is_none() && nuget.is_none() {
        look.warn_missing("neither dotnet nor nuget is installed");
    }
    match settings(look) {
        Some(sources) => use_sources(look, &sources),
        None => ask_default(look, dotnet, nuget),
    }
}

/// Reads the files of the user and of the machine. Without one of the user NuGet
/// makes one, which names its own source.
fn settings(look: &mut Look<'_>) -> Option<Vec<Source>> {
    let mut files = look.list(&look.home(".nuget/config"), &[".config"]);
    files.extend(look.list(&look.config("NuGet/config"), &[".config"]));
    let user = [".nuget/NuGet/NuGet.Config", ".config/NuGet/NuGet.Config"];
    files.extend(user.iter().map(|path| look.home(path)));
    let common = look.path_var("NUGET_COMMON_APPLICATION_DATA");
    let common = common.map(|dir| dir.join("NuGet/Config"));
    let common = common.unwrap_or_else(|| look.system("etc/opt/NuGet/Config"));
    let machine = look.list(&common, &[".config"]);
    let mut sources = Vec::new();
    let mut off = Vec::new();
    let mut own = false;
    for (path, is_own) in
        files.into_iter().map(|path| (path, true)).chain(machine.into_iter().map(|p| (p, false)))
    {
        let Some(config) = look.read(&path) else { continue };
        let next = read_config(look, &config, &mut sources, &mut off);
        own |= is_own && next != Next::Nothing;
        if next == Next::Stop {
            break;
        }
    }
    sources.retain(|source| !off.contains(&source.key));
    (own || !sources.is_empty()).then_some(sources)
}

/// What a file means for the ones that count less.
#[derive(PartialEq, Eq)]
enum Next {
    /// They count, too.
    More,
    /// It removes what they say.
    Stop,
    /// It says nothing about sources.
    Nothing,
}

fn read_config(
    look: &mut Look<'_>,
    config: &Config,
    sources: &mut Vec<Source>,
    off: &mut Vec<String>,
) -> Next {
    let Some(document) = xml::parse(&config.text) else {
        look.warn(format!("{} is not XML", config.shown));
        return Next::Nothing;
    };
    for item in document.at(&["disabledPackageSources"]).into_iter().flat_map(|all| all.all("add"))
    {
        if item.attribute("value").is_some_and(|value| value.eq_ignore_ascii_case("true")) {
            off.extend(item.attribute("key").map(str::to_owned));
        }
    }
    if document.at(&["packageSourceCredentials"]).is_some() {
        look.warn(format!(
            "{} has credentials, which stay outside; use `secrets` to send them",
            config.shown
        ));
    }
    let Some(list) = document.at(&["packageSources"]) else { return Next::Nothing };
    let mut next = Next::More;
    for item in &list.children {
        match (item.name.as_str(), item.attribute("key"), item.attribute("value")) {
            ("clear", ..) => next = Next::Stop,
            ("add", Some(key), Some(value)) if sources.iter().all(|s| s.key != key) => {
                let said = config.said(value, item.line);
                sources.push(Source { key: key.to_owned(), said });
            }
            _ => {}
        }
    }
    next
}

fn use_sources(look: &mut Look<'_>, sources: &[Source]) {
    let mut written = String::new();
    for source in sources {
        let Some(url) = look.name(&source.said) else { continue };
        ask_index(look, &url);
        let (key, value) = (encoded(&source.key), encoded(&url.to_string()));
        // Without it newer versions use no source that is not encrypted.
        let plain = match url.scheme {
            Scheme::Http => " allowInsecureConnections=\"true\"",
            Scheme::Https => "",
        };
        let _ = writeln!(written, "    <add key=\"{key}\" value=\"{value}\"{plain} />");
    }
    let text = format!(
        "<configuration>\n  <packageSources>\n{written}  </packageSources>\n</configuration>\n"
    );
    // The second is where Mono looks.
    look.file(".nuget/NuGet/NuGet.Config", text.clone());
    look.file(".config/NuGet/NuGet.Config", text);
}

/// Asks the program in a home of its own, where it makes a new file.
fn ask_default(look: &mut Look<'_>, dotnet: Option<PathBuf>, nuget: Option<PathBuf>) {
    let question = match (dotnet, nuget) {
        (Some(program), _) => {
            Question::new("dotnet", &program, &["nuget", "list", "source", "--format", "Short"])
                .var("DOTNET_CLI_HOME", "{scratch}")
                .var("DOTNET_CLI_TELEMETRY_OPTOUT", "1")
                .var("DOTNET_NOLOGO", "1")
                .var("DOTNET_SKIP_FIRST_TIME_EXPERIENCE", "1")
                .var("DOTNET_GENERATE_ASPNET_CERTIFICATE", "false")
        }
        (None, Some(program)) => {
            Question::new("nuget", &program, &["sources", "list", "-Format", "Short"])
        }
        (None, None) => return,
    };
    let question = question.var("HOME", "{scratch}").slow();
    // Lines are "E URL", with more letters for where it is from; "D" is not used.
    let read = |output: &str| {
        let lines = output.lines().filter_map(|line| line.trim().split_once(' '));
        let used = lines.filter(|(marks, _)| {
            marks.starts_with('E') && marks.bytes().all(|b| b.is_ascii_uppercase())
        });
        used.map(|(_, url)| url.trim().to_owned()).filter(|url| Url::parse(url).is_some()).collect()
    };
    for text in look.ask(&question, read) {
        let said = Said { text, from: "NuGet's own default".to_owned() };
        if let Some(url) = look.name(&said) {
            ask_index(look, &url);
        }
    }
}

/// Asks an index of version 3 where its services are. Older ones have all in one
/// place.
fn ask_index(look: &mut Look<'_>, url: &Url) {
    if !url.path.ends_with(".json") {
        return;
    }
    let index = Index {
        path: String::new(),
        accept: "application/json",
        most: MAX_PAGE,
        need: Need::Wanted,
    };
    look.links(url, &index, services);
}

fn services(body: &str) -> Vec<String> {
    let Ok(page) = serde_json::from_str::<Value>(body) else { return Vec::new() };
    let resources = page.get("resources").and_then(Value::as_array).into_iter().flatten();
    let is_for_downloads = |resource: &&Value| {
        let kind = resource.get("@type").and_then(Value::as_str).unwrap_or_default();
        !NOT_FOR_DOWNLOADS.iter().any(|other| kind.starts_with(other))
    };
    let ids =
        resources.filter(is_for_downloads).filter_map(|resource| resource.get("@id")?.as_str());
    // Some have places to fill in.
    ids.filter_map(|id| id.split('{').next()).map(str::to_owned).collect()
}
