//! dart: pub.

use std::path::Path;

use super::links::json_values;
use super::look::{Index, Look, MAX_PAGE, Need, Question, Said};
use super::url::{Url, urls_in};

/// A package that every public repository has.
const PACKAGE: &str = "path";
/// A package that none has.
const NO_PACKAGE: &str = "zonekeep_none";

/// Finds out where pub goes.
pub(super) fn find(look: &mut Look<'_>) {
    let program = look.program(&["dart"]);
    if program.is_none() {
        look.warn_missing("dart is not installed");
    }
    if let Some(said) = look.said(&["PUB_HOSTED_URL"]) {
        if let Some(url) = look.name(&said) {
            look.set("PUB_HOSTED_URL", &url.to_string());
            ask_repository(look, &url);
        }
    } else if let Some(program) = program {
        ask_default(look, &program);
    }
    // Where flutter gets its own parts from, if that is a mirror.
    if let Some(said) = look.said(&["FLUTTER_STORAGE_BASE_URL"])
        && let Some(url) = look.name(&said)
    {
        look.set("FLUTTER_STORAGE_BASE_URL", &url.to_string());
    }
}

/// Asks pub for its repository: without a way there, its complaint names it.
fn ask_default(look: &mut Look<'_>, program: &Path) {
    let args = ["--suppress-analytics", "pub", "global", "activate", NO_PACKAGE];
    let question = Question::new("dart", program, &args)
        .var("PUB_CACHE", "{scratch}/cache")
        .var("PUB_MAX_HTTP_RETRIES", "1")
        .var("XDG_CONFIG_HOME", "{scratch}")
        .slow();
    for text in look.ask(&question, repository_in_complaint) {
        let said = Said { text, from: "dart's own default".to_owned() };
        if let Some(url) = look.name(&said) {
            ask_repository(look, &url);
        }
    }
}

/// Reads "… trying to find package NAME at URL". Other URLs are of pages to read.
fn repository_in_complaint(output: &str) -> Vec<String> {
    let text = output.split_whitespace().collect::<Vec<_>>().join(" ");
    let place = text.split_once(&format!("{NO_PACKAGE} at ")).map_or("", |(_, place)| place);
    let word = place.split(' ').next().unwrap_or_default();
    urls_in(word).into_iter().map(str::to_owned).collect()
}

fn ask_repository(look: &mut Look<'_>, url: &Url) {
    let index = Index {
        path: format!("api/packages/{PACKAGE}"),
        accept: "application/vnd.pub.v2+json",
        most: MAX_PAGE,
        need: Need::Wanted,
    };
    let answer = look.fetch(url, &index, |page| {
        let archives = json_values(&page.body, "archive_url").into_iter();
        archives.filter_map(|link| page.url.join(&link)).map(|url| url.to_string()).collect()
    });
    let Some(answer) = answer else { return };
    look.add_named(url, &answer.passed, "a redirect");
    look.add_named(url, &answer.values, "the links");
    for archive in answer.values.iter().filter_map(|archive| Url::parse(archive)) {
        let page = Index { path: String::new(), accept: "*/*", most: 0, need: Need::Extra };
        if let Some(answer) = look.fetch(&archive, &page, |_| Vec::new()) {
            look.add_named(url, &answer.passed, "a redirect");
        }
    }
}
