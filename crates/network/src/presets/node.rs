//! node: npm, yarn and pnpm.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::ini;
use super::links::json_values;
use super::look::{Config, Index, Look, Need, Question, Said};
use super::url::{Scheme, Url, urls_in};
use super::yaml;

/// How much of a package's page is read: it lists every version, and one will do.
const MAX_PACKAGE: usize = 256 << 10;

/// The registries that one program has been told of.
#[derive(Default)]
struct Registries {
    main: Option<Said>,
    /// For packages whose names begin with `@SCOPE/`.
    scopes: BTreeMap<String, Said>,
}

impl Registries {
    fn only(main: Option<Said>) -> Registries {
        Registries { main, ..Registries::default() }
    }

    /// Adds what another source says and this has not.
    fn fill(&mut self, other: Registries) {
        self.main = self.main.take().or(other.main);
        for (scope, said) in other.scopes {
            self.scopes.entry(scope).or_insert(said);
        }
    }

    fn is_empty(&self) -> bool {
        self.main.is_none() && self.scopes.is_empty()
    }
}

/// The same without credentials.
#[derive(Default)]
struct Named {
    main: Option<Url>,
    scopes: Vec<(String, Url)>,
}

/// Finds out where npm, yarn and pnpm go.
pub(super) fn find(look: &mut Look<'_>) {
    let programs = ["npm", "yarn", "pnpm"].map(|name| look.program(&[name]));
    let [npm, yarn, pnpm] = programs;
    if npm.is_none() && yarn.is_none() && pnpm.is_none() {
        look.warn_missing("none of npm, yarn and pnpm is installed");
    }
    let own = npm_settings(look);
    let told = own.main.is_some();
    let named = name_all(look, &own);
    if let Some(url) = &named.main {
        look.set("npm_config_registry", &url.to_string());
    }
    if !told && let Some(npm) = npm {
        ask_npm(look, &npm);
    }
    find_pnpm(look, pnpm, &named, told);
    write_npmrc(look, &named);
    find_old_yarn(look);
    let new_yarn = find_new_yarn(look);
    if let Some(yarn) = yarn {
        ask_yarn(look, &yarn, told, new_yarn);
    }
}

/// Adds the hosts of registries and asks each where its packages lie.
fn name_all(look: &mut Look<'_>, registries: &Registries) -> Named {
    let main = registries.main.as_ref().and_then(|said| look.name(said));
    let scopes = registries.scopes.iter();
    let scopes: Vec<_> =
        scopes.filter_map(|(scope, said)| Some((scope.clone(), look.name(said)?))).collect();
    main.iter().for_each(|url| ask_registry(look, url, Need::Wanted));
    scopes.iter().for_each(|(_, url)| ask_registry(look, url, Need::Extra));
    Named { main, scopes }
}

fn ask_registry(look: &mut Look<'_>, url: &Url, need: Need) {
    let index = Index {
        path: "npm".to_owned(),
        accept: "application/vnd.npm.install-v1+json, application/json;q=0.5",
        most: MAX_PACKAGE,
        need,
    };
    look.links(url, &index, |body| json_values(body, "tarball"));
}

fn add_default(look: &mut Look<'_>, text: &str, from: &str) {
    let said = Said { text: text.to_owned(), from: from.to_owned() };
    if let Some(url) = look.name(&said) {
        ask_registry(look, &url, Need::Wanted);
    }
}

// npm.

fn npm_settings(look: &mut Look<'_>) -> Registries {
    let mut registries = Registries::default();
    // npm's variables may be written in any case.
    for (name, value) in look.vars().iter().filter(|(_, value)| !value.trim().is_empty()) {
        let said = Said { text: value.clone(), from: format!("the variable {name}") };
        let lower = name.to_ascii_lowercase();
        match lower.strip_prefix("npm_config_").unwrap_or_default() {
            "registry" => registries.main = Some(said),
            key => {
                if let Some(scope) = scope_of(key) {
                    registries.scopes.insert(scope.to_owned(), said);
                }
            }
        }
    }
    let file = |look: &Look<'_>, key: &str| {
        let names = [format!("npm_config_{key}"), format!("NPM_CONFIG_{}", key.to_uppercase())];
        names.iter().find_map(|name| look.path_var(name))
    };
    let user = file(look, "userconfig").unwrap_or_else(|| look.home(".npmrc"));
    let all = file(look, "globalconfig").unwrap_or_else(|| look.system("etc/npmrc"));
    for path in [user, all] {
        if let Some(config) = look.read(&path) {
            let said = read_npmrc(look, &config);
            registries.fill(said);
        }
    }
    registries
}

/// Returns the scope of a key `@SCOPE:registry`, with its `@`.
fn scope_of(key: &str) -> Option<&str> {
    let scope = key.strip_suffix(":registry")?;
    let is_name = |c: char| c.is_ascii_alphanumeric() || "-_.~".contains(c);
    let name = scope.strip_prefix('@')?;
    (!name.is_empty() && name.chars().all(is_name)).then_some(scope)
}

fn read_npmrc(look: &mut Look<'_>, config: &Config) -> Registries {
    let mut registries = Registries::default();
    for entry in ini::entries(&config.text) {
        if let Some(place) = entry.key.strip_prefix("//").filter(|key| key.contains(":_")) {
            let host = place.split('/').next().unwrap_or_default();
            look.warn(format!(
                "{} has credentials for {host}, which stay outside; use `secrets` to send them",
                config.shown
            ));
            continue;
        }
        let Some(value) = ini::filled(&entry.value, |name| look.var(name)) else {
            warn_unfilled(look, config, &entry.value, entry.line);
            continue;
        };
        let said = config.said(&value, entry.line);
        if entry.key == "registry" {
            registries.main = Some(said);
        } else if let Some(scope) = scope_of(&entry.key) {
            registries.scopes.insert(scope.to_owned(), said);
        }
    }
    registries
}

/// Asks npm for all of its settings, which are its own and those of files that
/// came with it.
fn ask_npm(look: &mut Look<'_>, program: &Path) {
    let question = Question::new("npm", program, &["config", "ls", "-l", "--json"])
        .var("npm_config_userconfig", "/dev/null")
        .var("npm_config_cache", "{scratch}")
        .var("npm_config_update_notifier", "false");
    let read = |output: &str| {
        let main = json_values(output, "registry").into_iter();
        let pairs = output.lines().filter_map(|line| line.trim().split_once("\": \""));
        let scopes = pairs.filter(|(key, _)| scope_of(key.trim_start_matches('"')).is_some());
        let urls = scopes.filter_map(|(_, value)| value.split('"').next().map(str::to_owned));
        main.chain(urls).collect()
    };
    for text in look.ask(&question, read) {
        add_default(look, &text, "npm's own default");
    }
}

fn write_npmrc(look: &mut Look<'_>, named: &Named) {
    if !named.scopes.is_empty() {
        let line = |(scope, url): &(String, Url)| format!("{scope}:registry={url}\n");
        look.file(".npmrc", named.scopes.iter().map(line).collect());
    }
}

// pnpm, which reads npm's files and its own.

fn find_pnpm(look: &mut Look<'_>, program: Option<PathBuf>, npm: &Named, npm_told: bool) {
    let mut own = Registries::only(look.said(&["pnpm_config_registry", "PNPM_CONFIG_REGISTRY"]));
    for path in [look.config("pnpm/config.yaml"), look.home("Library/Preferences/pnpm/config.yaml")]
    {
        if let Some(config) = look.read(&path) {
            own.fill(read_pnpm_yaml(&config));
        }
    }
    for path in [look.config("pnpm/auth.ini"), look.config("pnpm/rc")] {
        if let Some(config) = look.read(&path) {
            let said = read_npmrc(look, &config);
            own.fill(said);
        }
    }
    let told = own.main.is_some() || npm_told;
    let named = name_all(look, &own);
    // Newer versions do not look at npm's variable.
    if let Some(url) = named.main.as_ref().or(npm.main.as_ref()) {
        look.set("pnpm_config_registry", &url.to_string());
    }
    if !named.scopes.is_empty() {
        let line = |(scope, url): &(String, Url)| format!("{scope}:registry={url}\n");
        let text: String = named.scopes.iter().map(line).collect();
        look.file(".config/pnpm/rc", text.clone());
        look.file(".config/pnpm/auth.ini", text);
    }
    if let Some(program) = program.filter(|_| !told) {
        let question = Question::new("pnpm", &program, &["config", "get", "registry"])
            .var("npm_config_manage_package_manager_versions", "false")
            .var("COREPACK_ENABLE_NETWORK", "0");
        for text in look.ask(&question, first_url) {
            add_default(look, &text, "pnpm's own default");
        }
    }
}

fn read_pnpm_yaml(config: &Config) -> Registries {
    let mut registries = Registries::default();
    for entry in yaml::entries(&config.text) {
        let said = config.said(&entry.value, entry.line);
        let path: Vec<&str> = entry.path.iter().map(String::as_str).collect();
        match path.as_slice() {
            ["registry"] | ["registries", "default"] => registries.main = Some(said),
            ["registries", scope] if scope.starts_with('@') => {
                registries.scopes.insert((*scope).to_owned(), said);
            }
            _ => {}
        }
    }
    registries
}

// yarn: version 1, and the versions since, share a name and little else.

fn find_old_yarn(look: &mut Look<'_>) {
    let mut own = Registries::only(look.said(&["YARN_REGISTRY", "yarn_registry"]));
    if let Some(config) = look.read(&look.home(".yarnrc")) {
        own.fill(read_yarnrc(&config));
    }
    let named = name_all(look, &own);
    if let Some(url) = &named.main {
        look.set("YARN_REGISTRY", &url.to_string());
    }
    if !named.scopes.is_empty() {
        let line = |(scope, url): &(String, Url)| format!("\"{scope}:registry\" \"{url}\"\n");
        look.file(".yarnrc", named.scopes.iter().map(line).collect());
    }
}

/// Reads lines `registry "https://…"`.
fn read_yarnrc(config: &Config) -> Registries {
    let mut registries = Registries::default();
    for (number, line) in config.text.lines().enumerate() {
        let Some((key, value)) = line.trim().split_once(char::is_whitespace) else { continue };
        let said = config.said(ini::unquoted(value.trim()), number + 1);
        let key = ini::unquoted(key);
        if key == "registry" {
            registries.main = Some(said);
        } else if let Some(scope) = scope_of(key) {
            registries.scopes.insert(scope.to_owned(), said);
        }
    }
    registries
}

/// Returns whether yarn's newer versions have been told of a registry.
fn find_new_yarn(look: &mut Look<'_>) -> bool {
    let mut own = Registries::only(look.said(&["YARN_NPM_REGISTRY_SERVER"]));
    if let Some(config) = look.read(&look.home(".yarnrc.yml")) {
        let said = read_yarn_yaml(look, &config);
        own.fill(said);
    }
    if own.is_empty() {
        return false;
    }
    let named = name_all(look, &own);
    if let Some(url) = &named.main {
        // The server's name has no slash at the end there.
        look.set("YARN_NPM_REGISTRY_SERVER", url.to_string().trim_end_matches('/'));
    }
    let mut text = String::new();
    let urls = named.main.iter().chain(named.scopes.iter().map(|(_, url)| url));
    let plain: Vec<String> = urls
        .filter(|url| url.scheme == Scheme::Http)
        .map(|url| format!("  - {}\n", url.host()))
        .collect();
    if !plain.is_empty() {
        // Without it yarn uses no server that is not encrypted.
        text.push_str(&format!("unsafeHttpWhitelist:\n{}", plain.concat()));
    }
    if !named.scopes.is_empty() {
        let scope = |(scope, url): &(String, Url)| {
            let name = scope.trim_start_matches('@');
            let url = url.to_string();
            format!("  \"{name}\":\n    npmRegistryServer: \"{}\"\n", url.trim_end_matches('/'))
        };
        let scopes: String = named.scopes.iter().map(scope).collect();
        text.push_str(&format!("npmScopes:\n{scopes}"));
    }
    if !text.is_empty() {
        look.file(".yarnrc.yml", text);
    }
    own.main.is_some()
}

/// Says that an address is left out because of a variable in it.
fn warn_unfilled(look: &mut Look<'_>, config: &Config, value: &str, line: usize) {
    if value.contains("://") {
        look.warn(format!(
            "{} has an address with a variable in line {line}, which is left out",
            config.shown
        ));
    }
}

fn read_yarn_yaml(look: &mut Look<'_>, config: &Config) -> Registries {
    let mut registries = Registries::default();
    for entry in yaml::entries(&config.text) {
        let Some(value) = ini::filled(&entry.value, |name| look.var(name)) else {
            warn_unfilled(look, config, &entry.value, entry.line);
            continue;
        };
        let said = config.said(&value, entry.line);
        let path: Vec<&str> = entry.path.iter().map(String::as_str).collect();
        match path.as_slice() {
            ["npmRegistryServer"] => registries.main = Some(said),
            ["npmScopes", scope, "npmRegistryServer"] => {
                let key = format!("@{scope}:registry");
                if let Some(scope) = scope_of(&key) {
                    registries.scopes.insert(scope.to_owned(), said);
                }
            }
            [.., "npmAuthToken" | "npmAuthIdent"] => look.warn(format!(
                "{} has credentials, which stay outside; use `secrets` to send them",
                config.shown
            )),
            _ => {}
        }
    }
    registries
}

/// Asks yarn, of whichever version. The first one follows npm's settings.
fn ask_yarn(look: &mut Look<'_>, program: &Path, npm_told: bool, new_told: bool) {
    let old_told = npm_told || look.said(&["YARN_REGISTRY", "yarn_registry"]).is_some();
    let ask = |key: &str| {
        Question::new("yarn", program, &["config", "get", key])
            .var("COREPACK_ENABLE_NETWORK", "0")
            .var("COREPACK_ENABLE_PROJECT_SPEC", "0")
            .var("YARN_ENABLE_TELEMETRY", "0")
    };
    let (answer, is_told) = match look.try_ask(&ask("npmRegistryServer"), first_url) {
        Ok(urls) => (Ok(urls), new_told),
        Err(_) => (look.try_ask(&ask("registry"), first_url), old_told),
    };
    match answer {
        Ok(urls) if !is_told => {
            urls.iter().for_each(|text| add_default(look, text, "yarn's own default"));
        }
        Ok(_) => {}
        Err(_) if old_told || new_told => {}
        Err(fault) => look.warn(format!("yarn does not say where it goes by default: {fault}")),
    }
}

fn first_url(output: &str) -> Vec<String> {
    let line = output.lines().map(str::trim).find(|line| Url::parse(line).is_some());
    line.map(urls_in).unwrap_or_default().into_iter().take(1).map(str::to_owned).collect()
}
