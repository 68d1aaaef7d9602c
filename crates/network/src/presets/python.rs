//! python: pip and uv.

use std::path::PathBuf;

use super::ini;
use super::links::{html_links, json_values};
use super::look::{Config, Index, Look, MAX_PAGE, Need, Question, Said};
use super::url::{Url, urls_in};
use super::uv;

/// Finds out where pip and uv go.
pub(super) fn find(look: &mut Look<'_>) {
    let pip = look.program(&["pip3", "pip"]);
    let uv = look.program(&["uv"]);
    if pip.is_none() && uv.is_none() {
        look.warn_missing("neither pip nor uv is installed");
    }
    find_pip(look, pip);
    uv::find(look, uv);
}

/// The settings of pip that name places.
#[derive(Default)]
struct Pip {
    index: Option<Said>,
    extra: Vec<Said>,
    links: Vec<Said>,
    /// Hosts whose certificates are not looked at, and that may be plain HTTP.
    trusted: Option<Said>,
    /// Whether no index is used at all.
    none: bool,
}

fn find_pip(look: &mut Look<'_>, program: Option<PathBuf>) {
    let pip = settings(look);
    if pip.none {
        look.set("PIP_NO_INDEX", "1");
    } else if let Some(url) = pip.index.as_ref().and_then(|said| look.name(said)) {
        look.set("PIP_INDEX_URL", &url.to_string());
        ask_index(look, &url, Need::Wanted);
    } else if let Some(program) = program.filter(|_| pip.index.is_none()) {
        ask_default(look, program);
    }
    let extra: Vec<Url> = pip.extra.iter().filter_map(|said| look.name(said)).collect();
    for url in &extra {
        ask_index(look, url, Need::Extra);
    }
    set_list(look, "PIP_EXTRA_INDEX_URL", &extra);
    let links: Vec<Url> = pip.links.iter().filter_map(|said| look.name(said)).collect();
    set_list(look, "PIP_FIND_LINKS", &links);
    if let Some(said) = pip.trusted {
        let hosts: Vec<&str> = said.text.split_whitespace().collect();
        look.set("PIP_TRUSTED_HOST", &hosts.join(" "));
    }
}

fn set_list(look: &mut Look<'_>, name: &str, urls: &[Url]) {
    if !urls.is_empty() {
        let texts: Vec<String> = urls.iter().map(Url::to_string).collect();
        look.set(name, &texts.join(" "));
    }
}

/// Reads the variables, and then the files, of which the first that says
/// something is the one that counts.
fn settings(look: &mut Look<'_>) -> Pip {
    let mut pip = Pip {
        index: look.said(&["PIP_INDEX_URL"]),
        extra: words(look.said(&["PIP_EXTRA_INDEX_URL"])),
        links: words(look.said(&["PIP_FIND_LINKS"])),
        trusted: look.said(&["PIP_TRUSTED_HOST"]),
        none: look.var("PIP_NO_INDEX").is_some_and(|value| is_yes(&value)),
    };
    for path in files(look) {
        let Some(config) = look.read(&path) else { continue };
        read_file(&config, &mut pip);
    }
    pip
}

/// Returns the files that pip reads, the ones that win first. A file of a virtual
/// environment is not among them: most of those lie in projects.
fn files(look: &Look<'_>) -> Vec<PathBuf> {
    let mut files = Vec::new();
    if let Some(path) = look.path_var("PIP_CONFIG_FILE") {
        if path.as_os_str() == "/dev/null" {
            return files;
        }
        files.push(path);
    }
    files.push(look.home("Library/Application Support/pip/pip.conf"));
    files.push(look.config("pip/pip.conf"));
    files.push(look.home(".pip/pip.conf"));
    files.push(look.system("etc/pip.conf"));
    files.push(look.system("etc/xdg/pip/pip.conf"));
    files
}

fn read_file(config: &Config, pip: &mut Pip) {
    let entries = ini::entries(&config.text);
    let commands = ["install", "download", "wheel"];
    let value = |key: &str| {
        // A command's own section wins over the one for all.
        let own = entries.iter().filter(|entry| commands.contains(&entry.section.as_str()));
        let all = entries.iter().filter(|entry| entry.section == "global");
        let is = |entry: &&ini::Entry| entry.key.replace('_', "-") == key;
        own.chain(all).find(is).map(|entry| config.said(&entry.value, entry.line))
    };
    if pip.index.is_none() {
        pip.index = value("index-url");
    }
    if pip.extra.is_empty() {
        pip.extra = words(value("extra-index-url"));
    }
    if pip.links.is_empty() {
        pip.links = words(value("find-links"));
    }
    if pip.trusted.is_none() {
        pip.trusted = value("trusted-host");
    }
    pip.none |= value("no-index").is_some_and(|said| is_yes(&said.text));
}

fn words(said: Option<Said>) -> Vec<Said> {
    let Some(said) = said else { return Vec::new() };
    let one = |text: &str| Said { text: text.to_owned(), from: said.from.clone() };
    said.text.split_whitespace().map(one).collect()
}

fn is_yes(value: &str) -> bool {
    ["1", "true", "yes", "on"].contains(&value.trim().to_ascii_lowercase().as_str())
}

/// Asks pip for its index, which its help shows, and for the host of its files.
fn ask_default(look: &mut Look<'_>, program: PathBuf) {
    let question = Question::new("pip", &program, &["install", "--help"])
        .var("PIP_DISABLE_PIP_VERSION_CHECK", "1");
    let from = "pip's own default";
    for text in look.ask(&question, default_in_help) {
        let said = Said { text, from: from.to_owned() };
        let Some(url) = look.name(&said) else { continue };
        ask_index(look, &url, Need::Wanted);
        add_storage(look, &url, from);
    }
}

fn default_in_help(output: &str) -> Vec<String> {
    let words: Vec<&str> = output.split_whitespace().collect();
    let text = words.join(" ");
    let after = text.split_once("--index-url").map_or("", |(_, after)| after);
    let default = after.split_once("(default ").map_or("", |(_, after)| after);
    let option = default.split(')').next().unwrap_or_default();
    urls_in(option).into_iter().take(1).map(str::to_owned).collect()
}

/// Adds the host that pip knows the files of its own index at. The index says the
/// same; this also works without a network.
fn add_storage(look: &mut Look<'_>, index: &Url, from: &str) {
    let Some(python) = look.program(&["python3", "python"]) else { return };
    let code = "from pip._internal.models.index import PyPI\n\
                print('zonekeep', PyPI.simple_url, PyPI.file_storage_domain)";
    let question = Question::new("pip", &python, &["-c", code]);
    let read = |output: &str| {
        let line = output.lines().find_map(|line| line.strip_prefix("zonekeep "));
        line.into_iter().flat_map(str::split_whitespace).map(str::to_owned).collect()
    };
    // What is inside pip may change; then there is the index.
    let Ok(words) = look.try_ask(&question, read) else { return };
    let [simple, storage] = words.as_slice() else { return };
    let same = |url: &Url| url.to_string().trim_end_matches('/') == simple.trim_end_matches('/');
    if let Some(url) = Url::parse(&format!("https://{storage}")).filter(|_| same(index)) {
        look.add(url.pattern, from);
    }
}

/// Asks an index where the files of a project lie.
pub(super) fn ask_index(look: &mut Look<'_>, url: &Url, need: Need) {
    let index = Index {
        path: "pip/".to_owned(),
        accept: "application/vnd.pypi.simple.v1+json, text/html;q=0.5",
        most: MAX_PAGE,
        need,
    };
    look.links(url, &index, |body| {
        if body.trim_start().starts_with('{') { json_values(body, "url") } else { html_links(body) }
    });
}
