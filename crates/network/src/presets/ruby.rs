//! ruby: gem and bundler.

use std::path::{Path, PathBuf};

use super::look::{Index, Look, Need, Question, Said};
use super::url::Url;
use super::yaml;

/// Finds out where gem and bundler go.
pub(super) fn find(look: &mut Look<'_>) {
    let gem = look.program(&["gem"]);
    let bundler = look.program(&["bundle", "bundler"]);
    let ruby = look.program(&["ruby"]).filter(|_| bundler.is_some());
    if gem.is_none() && bundler.is_none() {
        look.warn_missing("neither gem nor bundler is installed");
    }
    let configured = gem_settings(look);
    let mut sources: Vec<Url> = configured.iter().filter_map(|said| look.name(said)).collect();
    if !sources.is_empty() {
        let line = |url: &Url| format!("- \"{url}\"\n");
        let list: String = sources.iter().map(line).collect();
        look.file(".gemrc", format!("---\n:sources:\n{list}"));
    }
    if let Some(gem) = gem.filter(|_| configured.is_empty()) {
        sources = ask_gem(look, &gem);
    }
    let mirrors = find_mirrors(look);
    for url in sources.iter().chain(&mirrors) {
        ask_source(look, url);
        if let Some(ruby) = &ruby {
            ask_bundler(look, ruby, url);
        }
    }
}

/// Returns the sources of gem's files, of which the first that has some counts.
fn gem_settings(look: &mut Look<'_>) -> Vec<Said> {
    let listed = look.var("GEMRC").unwrap_or_default();
    let mut files: Vec<PathBuf> =
        listed.split([':', ';']).map(PathBuf::from).filter(|path| path.is_absolute()).collect();
    files.push(look.home(".gemrc"));
    files.push(look.config("gem/gemrc"));
    files.push(look.system("etc/gemrc"));
    for path in files {
        let Some(config) = look.read(&path) else { continue };
        let entries = yaml::entries(&config.text);
        let is_source =
            |entry: &&yaml::Entry| entry.is_at(&[":sources"]) || entry.is_at(&["sources"]);
        let sources = entries.iter().filter(is_source);
        let said: Vec<Said> = sources.map(|e| config.said(&e.value, e.line)).collect();
        if !said.is_empty() {
            return said;
        }
    }
    Vec::new()
}

fn ask_gem(look: &mut Look<'_>, program: &Path) -> Vec<Url> {
    let question = Question::new("gem", program, &["sources", "--list"]);
    let urls = look.ask(&question, |output| {
        output.lines().filter(|line| Url::parse(line).is_some()).map(str::to_owned).collect()
    });
    let said = |text| Said { text, from: "gem's own default".to_owned() };
    urls.into_iter().filter_map(|text| look.name(&said(text))).collect()
}

/// Adds what bundler uses instead of sources, and writes that down.
fn find_mirrors(look: &mut Look<'_>) -> Vec<Url> {
    let mut settings: Vec<(String, Said)> = Vec::new();
    for (name, text) in look.vars() {
        let said = Said { text: text.clone(), from: format!("the variable {name}") };
        settings.push((name.clone(), said));
    }
    let own = look.path_var("BUNDLE_USER_CONFIG");
    let home = look.path_var("BUNDLE_USER_HOME").map(|home| home.join("config"));
    let path = own.or(home).unwrap_or_else(|| look.home(".bundle/config"));
    if let Some(config) = look.read(&path) {
        for entry in yaml::entries(&config.text) {
            let said = config.said(&entry.value, entry.line);
            settings.extend(entry.path.last().map(|key| (key.clone(), said)));
        }
    }
    let mut written = String::new();
    let mut urls = Vec::new();
    for (key, said) in settings {
        // The other settings of a mirror say how long to wait for it.
        let is_mirror = key.starts_with("BUNDLE_MIRROR__") && !key.contains("FALLBACK_TIMEOUT");
        if !is_mirror || said.text.trim().is_empty() || key.contains(['"', '\n', '@']) {
            continue;
        }
        if let Some(url) = look.name(&said) {
            written.push_str(&format!("{key}: \"{url}\"\n"));
            urls.push(url);
        }
    }
    if !written.is_empty() {
        look.file(".bundle/config", format!("---\n{written}"));
    }
    urls
}

/// Asks bundler for the host that it turns to for a source, which may be another
/// one. It does not say so without going there, so ruby is asked for the part of
/// bundler that knows it.
fn ask_bundler(look: &mut Look<'_>, ruby: &Path, source: &Url) {
    let code = "require 'bundler'; require 'bundler/fetcher'; require 'uri'\n\
                fetcher = Bundler::Fetcher::Base.allocate\n\
                remote = Struct.new(:uri).new(URI(ARGV[0]))\n\
                fetcher.instance_variable_set(:@remote, remote)\n\
                puts \"zonekeep #{fetcher.fetch_uri}\"";
    let question = Question::new("bundler", ruby, &["-e", code, &source.to_string()])
        .var("BUNDLE_USER_HOME", "{scratch}")
        .var("BUNDLE_IGNORE_CONFIG", "1");
    let read = |output: &str| {
        let lines = output.lines().filter_map(|line| line.strip_prefix("zonekeep "));
        lines.filter(|url| Url::parse(url).is_some()).map(str::to_owned).collect()
    };
    // Where it is not as expected, the source itself is all that is known.
    let Ok(urls) = look.try_ask(&question, read) else { return };
    let from = format!("bundler's own place for {}", source.authority());
    for text in urls {
        look.name(&Said { text, from: from.clone() });
    }
}

/// Asks a source whether it sends those who want its list elsewhere.
fn ask_source(look: &mut Look<'_>, url: &Url) {
    let index = Index { path: "versions".to_owned(), accept: "*/*", most: 0, need: Need::Extra };
    if let Some(answer) = look.fetch(url, &index, |_| Vec::new()) {
        look.add_named(url, &answer.passed, "a redirect");
    }
}
