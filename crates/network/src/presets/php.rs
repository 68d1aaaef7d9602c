//! php: composer.

use std::path::Path;

use serde_json::{Map, Value, json};

use super::links::json_values;
use super::look::{Config, Index, Look, MAX_PAGE, Need, Question, Said};
use super::url::Url;

/// A package that is looked for where a repository does not say what it has.
const PACKAGE: &str = "composer/composer";
const JSON: &str = "application/json";

/// Finds out where composer goes.
pub(super) fn find(look: &mut Look<'_>) {
    let program = look.program(&["composer"]);
    let central = match &program {
        Some(program) => ask_default(look, program),
        None => Vec::new(),
    };
    if program.is_none() {
        look.warn_missing("composer is not installed");
    }
    let places = match look.path_var("COMPOSER_HOME") {
        Some(home) => vec![home],
        None => vec![look.config("composer"), look.home(".composer")],
    };
    let config = places.iter().find_map(|place| look.read(&place.join("config.json")));
    let replaced = config.map(|config| read_config(look, &config)).unwrap_or_default();
    for (name, text) in central.iter().filter_map(|line| line.split_once(' ')) {
        // Older versions called it by the first part of its name.
        let short = name.split('.').next().unwrap_or(name);
        if replaced.iter().any(|other| other == name || other == short) {
            continue;
        }
        let said = Said { text: text.to_owned(), from: "composer's own default".to_owned() };
        if let Some(url) = look.name(&said) {
            ask_repository(look, &url, Need::Wanted);
        }
    }
}

/// Adds the repositories of a file, writes them down, and returns the names that
/// it gives to them or switches off.
fn read_config(look: &mut Look<'_>, config: &Config) -> Vec<String> {
    let Ok(document) = serde_json::from_str::<Value>(&config.text) else {
        look.warn(format!("{} is not JSON", config.shown));
        return Vec::new();
    };
    let mut names = Vec::new();
    let mut written = Vec::new();
    for (name, value) in entries(&document) {
        // In a list, `{"NAME": false}` is how one is switched off.
        let inner = value.as_object().filter(|map| map.len() == 1);
        let switched = inner.and_then(|map| map.iter().next());
        let switched = switched.filter(|(_, value)| **value == Value::Bool(false));
        let off = match (&name, switched) {
            (Some(name), _) if *value == Value::Bool(false) => Some(name.clone()),
            (_, Some((name, _))) => Some(name.clone()),
            _ => None,
        };
        let repository = read_repository(look, config, value);
        // What has the name of another takes its place.
        if let Some(name) = off.or(name.filter(|_| repository.is_some())) {
            let mut map = Map::new();
            map.insert(name.clone(), Value::Bool(false));
            written.push(Value::Object(map));
            names.push(name);
        }
        written.extend(repository);
    }
    if !written.is_empty() {
        let is_plain = |value: &Value| {
            value.get("url").and_then(Value::as_str).is_some_and(|url| url.starts_with("http:"))
        };
        let mut document = json!({ "repositories": written });
        if written.iter().any(is_plain) {
            // Without it composer uses no repository that is not encrypted.
            document["config"] = json!({ "secure-http": false });
        }
        let text = serde_json::to_string_pretty(&document);
        look.file(".config/composer/config.json", text.unwrap_or_default() + "\n");
    }
    names
}

/// Returns the repositories of a file: a list, or a map by name.
fn entries(document: &Value) -> Vec<(Option<String>, &Value)> {
    match document.get("repositories") {
        Some(Value::Array(list)) => list
            .iter()
            .map(|value| (value.get("name").and_then(Value::as_str).map(str::to_owned), value))
            .collect(),
        Some(Value::Object(map)) => {
            map.iter().map(|(name, value)| (Some(name.clone()), value)).collect()
        }
        _ => Vec::new(),
    }
}

/// Adds a repository, and returns it without credentials.
fn read_repository(look: &mut Look<'_>, config: &Config, value: &Value) -> Option<Value> {
    let text = value.get("url")?.as_str()?;
    let url = look.name(&config.said(text, line_of(config, text)))?;
    let kind = value.get("type").and_then(Value::as_str).unwrap_or("composer");
    if kind == "composer" {
        ask_repository(look, &url, Need::Wanted);
    }
    let mut clean = Map::new();
    clean.insert("type".to_owned(), json!(kind));
    clean.insert("url".to_owned(), json!(url.to_string()));
    for key in ["canonical", "only", "exclude"] {
        if let Some(value) = value.get(key) {
            clean.insert(key.to_owned(), value.clone());
        }
    }
    Some(Value::Object(clean))
}

fn line_of(config: &Config, text: &str) -> usize {
    let escaped = text.replace('/', "\\/");
    let has = |line: &str| line.contains(text) || line.contains(&escaped);
    config.text.lines().position(has).map_or(1, |at| at + 1)
}

/// Asks composer for its own repositories, as `NAME URL`.
fn ask_default(look: &mut Look<'_>, program: &Path) -> Vec<String> {
    let args = ["--no-plugins", "--no-interaction", "--no-ansi", "config", "--global", "--list"];
    let question = Question::new("composer", program, &args)
        .var("COMPOSER_HOME", "{scratch}")
        .var("COMPOSER_ALLOW_SUPERUSER", "1")
        .var("COMPOSER_DISABLE_NETWORK", "1");
    look.ask(&question, |output| {
        let lines = output.lines().filter_map(|line| line.trim().strip_prefix("[repositories."));
        let values = lines.filter_map(|line| line.split_once(".url] "));
        values.map(|(name, url)| format!("{name} {}", url.trim())).collect()
    })
}

/// Asks a repository where its lists are, then a list where archives are, and then
/// whether the place of one sends us on.
fn ask_repository(look: &mut Look<'_>, url: &Url, need: Need) {
    let index = Index { path: "packages.json".to_owned(), accept: JSON, most: MAX_PAGE, need };
    let Some(answer) = look.fetch(url, &index, |page| read_packages(&page.url, &page.body)) else {
        return;
    };
    look.add_named(url, &answer.passed, "a redirect");
    let of = |kind: &str| {
        let values = answer.values.iter().filter_map(|value| value.strip_prefix(kind));
        values.map(str::to_owned).collect::<Vec<String>>()
    };
    look.add_named(url, &of("place "), "the links");
    let Some(list) = of("list ").first().and_then(|list| Url::parse(list)) else { return };
    look.add_named(url, &[list.to_string()], "the links");
    let page = Index { path: String::new(), accept: JSON, most: MAX_PAGE, need: Need::Extra };
    let archives = look.fetch(&list, &page, |page| {
        let urls = json_values(&page.body, "url").into_iter();
        let archives = urls.filter(|url| !url.ends_with(".git"));
        archives.filter_map(|link| page.url.join(&link)).map(|url| url.to_string()).collect()
    });
    let Some(archives) = archives else { return };
    look.add_named(url, &archives.values, "the links");
    for archive in archives.values.iter().filter_map(|archive| Url::parse(archive)) {
        let page = Index { path: String::new(), accept: "*/*", most: 0, need: Need::Extra };
        if let Some(answer) = look.fetch(&archive, &page, |_| Vec::new()) {
            look.add_named(url, &answer.passed, "a redirect");
        }
    }
}

/// Returns what a repository's first page says, as `place URL` and `list URL`.
fn read_packages(base: &Url, body: &str) -> Vec<String> {
    let Ok(page) = serde_json::from_str::<Value>(body) else { return Vec::new() };
    let mut values = Vec::new();
    let mirrors = page.get("mirrors").and_then(Value::as_array).into_iter().flatten();
    for url in mirrors.filter_map(|mirror| mirror.get("dist-url")?.as_str()) {
        // The rest of it has places to fill in.
        let place = url.split('%').next().unwrap_or_default();
        values.extend(base.join(place).map(|url| format!("place {url}")));
    }
    let has = page.get("available-packages").and_then(Value::as_array);
    let package = has.and_then(|has| has.first()?.as_str()).unwrap_or(PACKAGE);
    if let Some(list) = page.get("metadata-url").and_then(Value::as_str) {
        let url = base.join(&list.replace("%package%", package));
        values.extend(url.map(|url| format!("list {url}")));
    }
    values
}
