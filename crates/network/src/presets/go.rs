//! go: module proxies and the checksum database.

use std::path::Path;

use super::ini;
use super::look::{Index, Look, Need, Question, Said};
use super::url::{Url, urls_in, without_credentials};

/// What go calls a version that nobody has.
const NO_VERSION: &str = "go1.9999.0";

/// A file by which it does not start another program to count what it does.
const TELEMETRY: (&str, &str) = ("go/telemetry/mode", "off");

/// Finds out where go goes.
pub(super) fn find(look: &mut Look<'_>) {
    let program = look.program(&["go"]);
    if program.is_none() {
        look.warn_missing("go is not installed");
    }
    let proxies = setting(look, "GOPROXY");
    let sums = setting(look, "GOSUMDB");
    let defaults = match &program {
        Some(program) => ask_defaults(look, program),
        None => Defaults::default(),
    };
    let own = |text: &Option<String>| {
        text.clone().map(|text| Said { text, from: "go's own default".to_owned() })
    };
    if let Some(said) = &proxies {
        let text = without_credentials(&said.text);
        look.set("GOPROXY", &text);
    }
    let urls = proxies.or_else(|| own(&defaults.proxy)).map(|said| name_proxies(look, &said));
    if let Some(said) = &sums {
        let clean = without_credentials(&said.text);
        look.set("GOSUMDB", &clean);
    }
    if let Some(said) = sums.or_else(|| own(&defaults.sums)) {
        name_sums(look, &said);
    }
    pass_private(look);
    if let (Some(program), Some(urls)) = (program, urls) {
        ask_redirects(look, &program, &urls, &defaults);
    }
}

/// What go does without settings.
#[derive(Default)]
struct Defaults {
    proxy: Option<String>,
    sums: Option<String>,
    version: Option<String>,
}

fn ask_defaults(look: &mut Look<'_>, program: &Path) -> Defaults {
    let question = Question::new("go", program, &["env", "GOPROXY", "GOSUMDB", "GOVERSION"])
        .file(TELEMETRY.0, TELEMETRY.1)
        .var("GOENV", "off")
        .var("GOTOOLCHAIN", "local")
        .var("XDG_CONFIG_HOME", "{scratch}");
    let lines = look.ask(&question, |output| {
        let lines: Vec<String> = output.lines().map(|line| line.trim().to_owned()).collect();
        if lines.len() == 3 { lines } else { Vec::new() }
    });
    let mut lines = lines.into_iter().map(|line| Some(line).filter(|line| !line.is_empty()));
    let mut next = || lines.next().flatten();
    Defaults { proxy: next(), sums: next(), version: next() }
}

/// Returns a setting from a variable or from the file that `go env -w` writes.
fn setting(look: &mut Look<'_>, name: &str) -> Option<Said> {
    if let Some(said) = look.said(&[name]) {
        return Some(said);
    }
    if look.var("GOENV").is_some_and(|value| value == "off") {
        return None;
    }
    let own = look.path_var("GOENV");
    let mac = look.home("Library/Application Support/go/env");
    for path in own.map_or_else(|| vec![look.config("go/env"), mac], |path| vec![path]) {
        let Some(config) = look.read(&path) else { continue };
        let entries = ini::entries(&config.text);
        let entry = entries.into_iter().find(|entry| entry.key == name);
        if let Some(entry) = entry.filter(|entry| !entry.value.is_empty()) {
            return Some(config.said(&entry.value, entry.line));
        }
    }
    None
}

/// Adds the proxies of a list, whose items are parted by commas and bars.
fn name_proxies(look: &mut Look<'_>, said: &Said) -> Vec<Url> {
    let mut urls = Vec::new();
    let mut direct = false;
    for item in said.text.split([',', '|']).map(str::trim) {
        match item {
            "" | "off" => {}
            "direct" => direct = true,
            item => {
                let said = Said { text: item.to_owned(), from: said.from.clone() };
                urls.extend(look.name(&said));
            }
        }
    }
    if direct && urls.is_empty() {
        look.warn(format!(
            "{} has go fetch modules from their own hosts; add those to `allow`",
            said.from
        ));
    }
    urls
}

/// Adds the checksum database: `NAME[+KEY] [URL]`.
fn name_sums(look: &mut Look<'_>, said: &Said) {
    let mut words = said.text.split_whitespace();
    let Some(name) = words.next().filter(|name| *name != "off") else { return };
    let name = name.split('+').next().unwrap_or(name);
    let text = words.next().map_or_else(|| format!("https://{name}"), str::to_owned);
    look.name(&Said { text, from: said.from.clone() });
}

/// Hands on which modules are private. Those come from hosts that only the project
/// knows.
fn pass_private(look: &mut Look<'_>) {
    for name in ["GOPRIVATE", "GONOPROXY", "GONOSUMDB"] {
        let Some(said) = setting(look, name) else { continue };
        look.set(name, &said.text);
        if name != "GONOSUMDB" {
            look.warn(format!(
                "modules of {} ({}) come from their own hosts; add those to `allow`",
                said.text, said.from
            ));
        }
    }
}

/// Asks proxies for something large, because some send those who want it elsewhere:
/// the program that go itself is. Where that lies is go's to say.
fn ask_redirects(look: &mut Look<'_>, program: &Path, proxies: &[Url], defaults: &Defaults) {
    let Some(version) = &defaults.version else { return };
    let question = Question::new("go", program, &["version"])
        .file(TELEMETRY.0, TELEMETRY.1)
        .var("GOENV", "off")
        .var("GOTOOLCHAIN", NO_VERSION)
        .var("GOPROXY", super::look::NOWHERE)
        .var("GOMODCACHE", "{scratch}/modules")
        .var("XDG_CONFIG_HOME", "{scratch}");
    let read = |output: &str| {
        let urls = urls_in(output).into_iter().filter_map(Url::parse);
        let path = urls.map(|url| url.path).find(|path| path.contains(NO_VERSION));
        path.into_iter().collect()
    };
    // Versions before 1.21 cannot say it, and are not fetched this way.
    let Ok(paths) = look.try_ask(&question, read) else { return };
    let Some(path) = paths.first() else { return };
    let index = Index {
        path: path.replace(NO_VERSION, version).trim_start_matches('/').to_owned(),
        accept: "*/*",
        most: 0,
        need: Need::Extra,
    };
    for url in proxies {
        if let Some(answer) = look.fetch(url, &index, |_| Vec::new()) {
            look.add_named(url, &answer.passed, "a redirect");
        }
    }
}
