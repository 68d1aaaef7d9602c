//! rust: cargo.

use std::path::Path;

use toml_edit::{Document, DocumentMut, Item, Table, value};

use super::links::json_values;
use super::look::{Config, Index, Look, Need, Question, Said};
use super::url::{Url, urls_in};
use super::uv::line;

/// The source that crates come from unless something else is said.
const CENTRAL: &str = "crates-io";
/// How many times one source may stand for another.
const MAX_STEPS: usize = 16;

/// A name that crates can come from.
struct Source {
    name: String,
    kind: Kind,
}

enum Kind {
    /// Another source stands for it.
    Replaced(String),
    /// A registry with an index, as `[source]` writes it.
    Registry(Said),
    /// A registry with an index, as `[registries]` writes it.
    Alternative(Said),
    /// A directory of this machine, which is not there inside.
    Local,
}

/// Finds out where cargo goes.
pub(super) fn find(look: &mut Look<'_>) {
    let program = look.program(&["cargo"]);
    let sources = settings(look);
    if program.is_none() {
        look.warn_missing("cargo is not installed");
    }
    let mut used = Vec::new();
    let central = follow(look, &sources, &mut used);
    for source in &sources {
        if let Kind::Alternative(_) = source.kind
            && !used.iter().any(|other: &&Source| std::ptr::eq(*other, source))
        {
            used.push(source);
        }
    }
    write_config(look, &used);
    if let (Central::Own, Some(program)) = (central, program) {
        ask_default(look, &program);
    }
}

/// Where crates come from that name no registry.
#[derive(PartialEq, Eq)]
enum Central {
    /// Cargo's own index.
    Own,
    /// What the settings say.
    Set,
}

/// Follows what stands for cargo's own index, and keeps each step.
fn follow<'s>(look: &mut Look<'_>, sources: &'s [Source], used: &mut Vec<&'s Source>) -> Central {
    let mut name = CENTRAL;
    for _ in 0..MAX_STEPS {
        let Some(source) = sources.iter().find(|source| source.name == name) else {
            if name != CENTRAL {
                look.warn(format!("cargo's source '{name}' is not defined"));
            }
            return if name == CENTRAL { Central::Own } else { Central::Set };
        };
        used.push(source);
        match &source.kind {
            Kind::Replaced(next) => name = next,
            Kind::Registry(_) | Kind::Alternative(_) => return Central::Set,
            Kind::Local => {
                look.warn(format!("cargo's source '{name}' is a directory, which is not inside"));
                return Central::Set;
            }
        }
    }
    look.warn("cargo's sources stand for each other in a circle".to_owned());
    Central::Set
}

fn settings(look: &mut Look<'_>) -> Vec<Source> {
    let mut sources = Vec::new();
    for (name, text) in look.vars() {
        let inner = name.strip_prefix("CARGO_REGISTRIES_").and_then(|n| n.strip_suffix("_INDEX"));
        let Some(inner) = inner.filter(|_| !text.trim().is_empty()) else { continue };
        let said = Said { text: text.clone(), from: format!("the variable {name}") };
        let name = inner.to_ascii_lowercase().replace('_', "-");
        sources.push(Source { name, kind: Kind::Alternative(said) });
    }
    let home = look.path_var("CARGO_HOME").unwrap_or_else(|| look.home(".cargo"));
    // Where both are there, cargo reads the one without an ending.
    let Some(config) =
        ["config", "config.toml"].iter().find_map(|name| look.read(&home.join(name)))
    else {
        return sources;
    };
    match Document::parse(config.text.clone()) {
        Ok(document) => read_tables(&config, document.as_table(), &mut sources),
        Err(_) => look.warn(format!("{} is not TOML", config.shown)),
    }
    sources
}

fn read_tables(config: &Config, document: &Table, sources: &mut Vec<Source>) {
    let said = |item: &Item| Some(config.said(item.as_str()?, line(config, item)));
    let table = |name: &str| document.get(name).and_then(Item::as_table_like);
    for (name, item) in table("source").into_iter().flat_map(|table| table.iter()) {
        let Some(source) = item.as_table_like() else { continue };
        let next = source.get("replace-with").and_then(Item::as_str);
        let kind = match (next, source.get("registry").and_then(said)) {
            (Some(next), _) => Kind::Replaced(next.to_owned()),
            (None, Some(said)) => Kind::Registry(said),
            (None, None) if source.contains_key("directory") => Kind::Local,
            (None, None) if source.contains_key("local-registry") => Kind::Local,
            (None, None) => continue,
        };
        sources.push(Source { name: name.to_owned(), kind });
    }
    for (name, item) in table("registries").into_iter().flat_map(|table| table.iter()) {
        let index = item.as_table_like().and_then(|registry| registry.get("index"));
        let Some(said) = index.and_then(said) else { continue };
        if sources.iter().all(|source| source.name != name) {
            sources.push(Source { name: name.to_owned(), kind: Kind::Alternative(said) });
        }
    }
}

/// Names the registries in use, and writes them down without credentials.
fn write_config(look: &mut Look<'_>, used: &[&Source]) {
    let mut document = DocumentMut::new();
    for source in used {
        let (table, key, text) = match &source.kind {
            Kind::Replaced(next) => ("source", "replace-with", next.clone()),
            Kind::Local => continue,
            Kind::Registry(said) | Kind::Alternative(said) => {
                let Some(url) = look.name(said) else { continue };
                ask_index(look, &url, Need::Wanted);
                match source.kind {
                    Kind::Registry(_) => ("source", "registry", url.to_string()),
                    _ => ("registries", "index", url.to_string()),
                }
            }
        };
        let outer = document.entry(table).or_insert_with(|| {
            let mut table = Table::new();
            table.set_implicit(true);
            Item::Table(table)
        });
        if let Some(outer) = outer.as_table_mut() {
            let mut inner = Table::new();
            inner.insert(key, value(text));
            outer.insert(&source.name, Item::Table(inner));
        }
    }
    if !document.is_empty() {
        look.file(".cargo/config.toml", document.to_string());
    }
}

/// Asks cargo for its index: without a way there, its complaint names it.
fn ask_default(look: &mut Look<'_>, program: &Path) {
    let manifest = "[package]\nname = \"zonekeep\"\nversion = \"0.0.0\"\nedition = \"2021\"\n\
                    [dependencies]\nzonekeep-none = \"1\"\n";
    let args = ["fetch", "--manifest-path", "{scratch}/Cargo.toml"];
    let mut question = Question::new("cargo", program, &args)
        .file("Cargo.toml", manifest)
        .file("src/lib.rs", "")
        .var("CARGO_HOME", "{scratch}/home")
        .var("CARGO_NET_RETRY", "0")
        .var("CARGO_TERM_COLOR", "never")
        .var("RUSTUP_AUTO_INSTALL", "0");
    // Its index has two forms, one of them at another place.
    if let Some(protocol) = look.var("CARGO_REGISTRIES_CRATES_IO_PROTOCOL") {
        question = question.var("CARGO_REGISTRIES_CRATES_IO_PROTOCOL", &protocol);
    }
    for text in look.ask(&question, index_in_complaint) {
        let said = Said { text, from: "cargo's own default".to_owned() };
        if let Some(url) = look.name(&said) {
            ask_index(look, &url, Need::Wanted);
        }
    }
}

fn index_in_complaint(output: &str) -> Vec<String> {
    let quoted = |marker: &str| {
        let (_, after) = output.split_once(marker)?;
        let text = after.split('`').next()?;
        urls_in(text).first().map(|url| (*url).to_owned())
    };
    let sparse = quoted("failed to download from `")
        .and_then(|url| Some(format!("sparse+{}", url.strip_suffix("config.json")?)));
    let git = || quoted("failed to fetch `").or_else(|| quoted("failed to clone into: `"));
    sparse.or_else(git).into_iter().collect()
}

/// Asks an index where crates are downloaded from. Where they are published is in
/// the same file, and not for an agent.
fn ask_index(look: &mut Look<'_>, url: &Url, need: Need) {
    if !url.kind.starts_with("sparse+") {
        look.warn(format!(
            "the index at {} is a git repository and is not asked for the host of its downloads; \
             add that to `allow`",
            url.authority()
        ));
        return;
    }
    let index =
        Index { path: "config.json".to_owned(), accept: "application/json", most: 64 << 10, need };
    look.links(url, &index, |body| json_values(body, "dl"));
}
