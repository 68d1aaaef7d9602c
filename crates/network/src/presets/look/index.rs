//! Asks indexes, and says what is believed of their answers.

use super::super::cache::{self, Answer, Known};
use super::super::get::{self, Get, Page};
use super::super::url::{Scheme, Url};
use super::Look;

/// How much of a page is read.
pub(in super::super) const MAX_PAGE: usize = 2 << 20;
/// How many other hosts one index may name.
const MAX_NAMED: usize = 16;

/// What is asked of an index.
pub(in super::super) struct Index {
    /// The page, below the index's URL.
    pub(in super::super) path: String,
    pub(in super::super) accept: &'static str,
    pub(in super::super) most: usize,
    /// Whether downloads cannot work without an answer.
    pub(in super::super) need: Need,
}

/// Whether it is worth a word when there is no answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) enum Need {
    /// Downloads may fail.
    Wanted,
    /// It would only have been good to know.
    Extra,
}

impl Look<'_> {
    /// Fetches a page of an index, and returns what `read` makes of it.
    pub(in super::super) fn fetch(
        &mut self,
        at: &Url,
        index: &Index,
        read: impl Fn(&Page) -> Vec<String>,
    ) -> Option<Answer> {
        let url = if index.path.is_empty() { at.clone() } else { at.below(&index.path) };
        let key = cache::key([b"index", url.to_string().as_bytes(), index.accept.as_bytes()]);
        let (fault, old) = match self.cache.known(&key) {
            Known::Fresh(answer) => return Some(answer),
            Known::Failed(fault, old) => (fault, old),
            Known::Unknown(old) if !self.machine.online => {
                ("the network is not used now".to_owned(), old)
            }
            Known::Unknown(old) => {
                let wanted = Get { url, accept: index.accept, most: index.most };
                match get::get(wanted) {
                    Ok(page) => {
                        let passed = page.passed.iter().map(without_path).collect();
                        let answer = Answer { values: read(&page), passed };
                        self.cache.keep(key, answer.clone());
                        return Some(answer);
                    }
                    Err(fault) => {
                        self.cache.keep_fault(key, fault.to_string());
                        (fault.to_string(), old)
                    }
                }
            }
        };
        if old.is_none() && index.need == Need::Wanted {
            self.warn(format!(
                "the index at {} could not be asked for the hosts of its downloads: {fault}",
                at.authority()
            ));
        }
        old
    }

    /// Fetches a page of an index, and adds the hosts of the links in it.
    pub(in super::super) fn links(
        &mut self,
        at: &Url,
        index: &Index,
        links: impl Fn(&str) -> Vec<String>,
    ) {
        let read = |page: &Page| {
            let to = |link: String| page.url.join(&link).map(|url| without_path(&url));
            let mut hosts: Vec<String> = links(&page.body).into_iter().filter_map(to).collect();
            hosts.sort();
            hosts.dedup();
            hosts
        };
        let Some(answer) = self.fetch(at, index, read) else { return };
        self.add_named(at, &answer.passed, "a redirect");
        self.add_named(at, &answer.values, "the links");
    }

    /// Adds hosts that an index names.
    ///
    /// An index is trusted to say where its downloads lie, and no more: not to
    /// open this machine or bare addresses, which would be dialled although they
    /// are private, and not when anybody on the way could have changed its answer.
    pub(in super::super) fn add_named(&mut self, at: &Url, urls: &[String], what: &str) {
        let from = format!("{what} of the index at {}", at.authority());
        let others = urls.iter().filter_map(|url| Url::parse(url));
        let others = others.filter(|url| url.pattern != at.pattern);
        for (count, url) in others.enumerate() {
            let host = url.authority();
            let same = url.pattern.name == at.pattern.name;
            let why = if count >= MAX_NAMED {
                Some("it names too many")
            } else if url.is_bare() {
                Some("it is not a public name")
            } else if at.scheme == Scheme::Http && !at.is_loopback() && !same {
                Some("the index is not encrypted")
            } else {
                None
            };
            match why {
                None => self.add(url.pattern, &from),
                Some(why) => {
                    self.warn(format!("{host}, in {from}, is left out, because {why}"));
                    if count >= MAX_NAMED {
                        return;
                    }
                }
            }
        }
    }
}

fn without_path(url: &Url) -> String {
    Url { kind: String::new(), path: String::new(), ..url.clone() }.to_string()
}
