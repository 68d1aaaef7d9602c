//! uv, which is asked like pip but has settings of its own.

use std::path::PathBuf;

use toml_edit::{ArrayOfTables, Document, DocumentMut, Item, Table, value};

use super::look::{Config, Look, Need, Question, Said};
use super::python::ask_index;
use super::url::{Url, urls_in};

/// An index that uv uses.
struct Place {
    name: Option<String>,
    said: Said,
    kind: Kind,
}

/// What an index is for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// The one that is asked last, instead of uv's own.
    Default,
    /// One more.
    Extra,
    /// One for packages that name it.
    Explicit,
    /// A page of files.
    Links,
}

/// Finds out where uv goes.
pub(super) fn find(look: &mut Look<'_>, program: Option<PathBuf>) {
    let variables = from_variables(look);
    let files = from_files(look);
    let has_default = |places: &[Place]| places.iter().any(|place| place.kind == Kind::Default);
    let is_configured = has_default(&variables) || has_default(&files);
    set_variables(look, &variables);
    write_file(look, &files);
    if let Some(said) = look.said(&["UV_PYTHON_INSTALL_MIRROR"])
        && let Some(url) = look.name(&said)
    {
        look.set("UV_PYTHON_INSTALL_MIRROR", &url.to_string());
    }
    // Hosts whose certificates are not looked at.
    if let Some(said) = look.said(&["UV_INSECURE_HOST"]) {
        look.set("UV_INSECURE_HOST", &said.text);
    }
    if let Some(program) = program.filter(|_| !is_configured) {
        ask_default(look, &program);
    }
}

fn ask_default(look: &mut Look<'_>, program: &std::path::Path) {
    let question =
        Question::new("uv", program, &["pip", "install", "--help"]).var("UV_NO_CONFIG", "1");
    for text in look.ask(&question, default_in_help) {
        let said = Said { text, from: "uv's own default".to_owned() };
        if let Some(url) = look.name(&said) {
            ask_index(look, &url, Need::Wanted);
        }
    }
}

fn default_in_help(output: &str) -> Vec<String> {
    let words: Vec<&str> = output.split_whitespace().collect();
    let text = words.join(" ");
    let after = text.split("by default: ").skip(1);
    let first = |piece: &str| {
        let option = piece.split(')').next().unwrap_or_default();
        urls_in(option).first().map(|url| (*url).to_owned())
    };
    after.filter_map(first).take(1).collect()
}

fn from_variables(look: &Look<'_>) -> Vec<Place> {
    let lists = [
        (["UV_DEFAULT_INDEX", "UV_INDEX_URL"].as_slice(), Kind::Default),
        (["UV_INDEX"].as_slice(), Kind::Extra),
        (["UV_EXTRA_INDEX_URL"].as_slice(), Kind::Extra),
        (["UV_FIND_LINKS"].as_slice(), Kind::Links),
    ];
    let mut places = Vec::new();
    for (names, kind) in lists {
        let Some(said) = look.said(names) else { continue };
        for text in said.text.split([' ', '\t', '\n', ',']).filter(|text| !text.is_empty()) {
            // An index may be written NAME=URL.
            let named = text.split_once('=').filter(|(name, _)| !name.contains(['/', ':']));
            let (name, text) = named.map_or((None, text), |(name, url)| (Some(name), url));
            let said = Said { text: text.to_owned(), from: said.from.clone() };
            places.push(Place { name: name.map(str::to_owned), said, kind });
        }
    }
    places
}

fn from_files(look: &mut Look<'_>) -> Vec<Place> {
    let mut places = Vec::new();
    if look.var("UV_NO_CONFIG").is_some() {
        return places;
    }
    let files = match look.path_var("UV_CONFIG_FILE") {
        Some(path) => vec![path],
        None => vec![
            look.config("uv/uv.toml"),
            look.system("etc/xdg/uv/uv.toml"),
            look.system("etc/uv/uv.toml"),
        ],
    };
    for path in files {
        let Some(config) = look.read(&path) else { continue };
        match Document::parse(config.text.clone()) {
            Ok(document) => read_table(&config, document.as_table(), &mut places),
            Err(_) => look.warn(format!("{} is not TOML", config.shown)),
        }
    }
    places
}

fn read_table(config: &Config, table: &Table, places: &mut Vec<Place>) {
    let said = |item: &Item| Some(config.said(item.as_str()?, line(config, item)));
    for index in table.get("index").and_then(Item::as_array_of_tables).into_iter().flatten() {
        let Some(said) = index.get("url").and_then(said) else { continue };
        let is = |key: &str| index.get(key).and_then(Item::as_bool) == Some(true);
        let kind = match (is("default"), is("explicit")) {
            (true, _) => Kind::Default,
            (false, true) => Kind::Explicit,
            (false, false) => Kind::Extra,
        };
        let name = index.get("name").and_then(Item::as_str).map(str::to_owned);
        places.push(Place { name, said, kind });
    }
    let inner = table.get("pip").and_then(Item::as_table);
    for table in [Some(table), inner].into_iter().flatten() {
        if let Some(said) = table.get("index-url").and_then(said) {
            places.push(Place { name: None, said, kind: Kind::Default });
        }
        for (key, kind) in [("extra-index-url", Kind::Extra), ("find-links", Kind::Links)] {
            let Some(item) = table.get(key) else { continue };
            let texts = item.as_array().into_iter().flatten().filter_map(|text| text.as_str());
            for text in texts {
                let said = config.said(text, line(config, item));
                places.push(Place { name: None, said, kind });
            }
        }
    }
}

/// Returns the line that a value begins in.
pub(super) fn line(config: &Config, item: &Item) -> usize {
    let start = item.span().map_or(0, |span| span.start);
    let before = config.text.as_bytes().get(..start).unwrap_or_default();
    1 + before.iter().filter(|byte| **byte == b'\n').count()
}

/// Names the places, asks the indexes among them, and returns what is left of them
/// without credentials.
fn name_all<'p>(look: &mut Look<'_>, places: &'p [Place]) -> Vec<(&'p Place, Url)> {
    let mut named = Vec::new();
    for place in places {
        let Some(url) = look.name(&place.said) else { continue };
        match place.kind {
            Kind::Default => ask_index(look, &url, Need::Wanted),
            Kind::Extra | Kind::Explicit => ask_index(look, &url, Need::Extra),
            Kind::Links => {}
        }
        named.push((place, url));
    }
    named
}

fn set_variables(look: &mut Look<'_>, places: &[Place]) {
    let named = name_all(look, places);
    let lists = [
        ("UV_DEFAULT_INDEX", Kind::Default, " "),
        ("UV_INDEX", Kind::Extra, " "),
        ("UV_FIND_LINKS", Kind::Links, ","),
    ];
    for (variable, kind, separator) in lists {
        let written = |(place, url): &(&Place, Url)| match &place.name {
            Some(name) => format!("{name}={url}"),
            None => url.to_string(),
        };
        let own = named.iter().filter(|(place, _)| place.kind == kind);
        let texts: Vec<String> = own.map(written).collect();
        if !texts.is_empty() {
            look.set(variable, &texts.join(separator));
        }
    }
}

/// Writes the indexes of files into one file: a variable cannot say that an index
/// is only for packages that name it.
fn write_file(look: &mut Look<'_>, places: &[Place]) {
    let named = name_all(look, places);
    if named.is_empty() {
        return;
    }
    let mut document = DocumentMut::new();
    let links: toml_edit::Array = named
        .iter()
        .filter(|(place, _)| place.kind == Kind::Links)
        .map(|(_, url)| url.to_string())
        .collect();
    if !links.is_empty() {
        document.insert("find-links", value(links));
    }
    let mut indexes = ArrayOfTables::new();
    let mut has_default = false;
    for (place, url) in named.iter().filter(|(place, _)| place.kind != Kind::Links) {
        // Only one can be the default; the file that counts most is read first.
        if place.kind == Kind::Default && std::mem::replace(&mut has_default, true) {
            continue;
        }
        let mut table = Table::new();
        if let Some(name) = &place.name {
            table.insert("name", value(name.as_str()));
        }
        table.insert("url", value(url.to_string()));
        match place.kind {
            Kind::Default => table.insert("default", value(true)),
            Kind::Explicit => table.insert("explicit", value(true)),
            Kind::Extra | Kind::Links => None,
        };
        indexes.push(table);
    }
    if !indexes.is_empty() {
        document.insert("index", Item::ArrayOfTables(indexes));
    }
    look.file(".config/uv/uv.toml", document.to_string());
}
