//! The small part of XML that Maven and NuGet write into their settings.

/// An element.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Element {
    /// Its name without a namespace.
    pub(super) name: String,
    pub(super) attributes: Vec<(String, String)>,
    /// The text directly in it.
    pub(super) text: String,
    /// The line that it begins in.
    pub(super) line: usize,
    pub(super) children: Vec<Element>,
}

impl Element {
    /// Returns the elements directly in it that have a name.
    pub(super) fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a Element> {
        self.children.iter().filter(move |child| child.name == name)
    }

    fn first(&self, name: &str) -> Option<&Element> {
        self.children.iter().find(|child| child.name == name)
    }

    /// Returns the first element that names lead to.
    pub(super) fn at(&self, path: &[&str]) -> Option<&Element> {
        path.iter().try_fold(self, |element, name| element.first(name))
    }

    /// Returns the text of the first element of a name, if there is some.
    pub(super) fn text_of(&self, name: &str) -> Option<&str> {
        self.first(name).map(|child| child.text.trim()).filter(|text| !text.is_empty())
    }

    pub(super) fn attribute(&self, name: &str) -> Option<&str> {
        let found = self.attributes.iter().find(|(own, _)| own.eq_ignore_ascii_case(name))?;
        Some(found.1.as_str())
    }
}

/// How deep elements may lie in each other.
const MAX_DEPTH: usize = 64;

/// Returns the element that a document is; `None` if it is not well-formed.
pub(super) fn parse(text: &str) -> Option<Element> {
    let mut open = vec![Element::default()];
    let mut rest = text;
    let (mut line, mut counted) = (1, 0);
    while let Some((before, after)) = rest.split_once('<') {
        open.last_mut()?.text.push_str(&decoded(before));
        let read = text.len() - after.len();
        let passed = text.as_bytes().get(counted..read).unwrap_or_default();
        line += passed.iter().filter(|byte| **byte == b'\n').count();
        counted = read;
        if let Some(after) = after.strip_prefix("!--") {
            rest = after.split_once("-->")?.1;
        } else if let Some(after) = after.strip_prefix("![CDATA[") {
            let (inner, after) = after.split_once("]]>")?;
            open.last_mut()?.text.push_str(inner);
            rest = after;
        } else if after.starts_with(['?', '!']) {
            rest = after.split_once('>')?.1;
        } else if let Some(after) = after.strip_prefix('/') {
            let (name, after) = after.split_once('>')?;
            let element = open.pop().filter(|element| element.name == local(name.trim()))?;
            open.last_mut()?.children.push(element);
            rest = after;
        } else {
            let end = tag_end(after)?;
            let (tag, after) = after.split_at(end);
            rest = after.strip_prefix('>')?;
            let (tag, is_empty) = match tag.strip_suffix('/') {
                Some(tag) => (tag, true),
                None => (tag, false),
            };
            let element = Element { line, ..opening(tag)? };
            if is_empty {
                open.last_mut()?.children.push(element);
            } else if open.len() < MAX_DEPTH {
                open.push(element);
            } else {
                return None;
            }
        }
    }
    let top = open.pop().filter(|_| open.is_empty())?;
    let mut elements = top.children.into_iter();
    elements.next().filter(|_| elements.next().is_none())
}

/// Returns where a tag ends: at a `>` that is not in quotes.
fn tag_end(text: &str) -> Option<usize> {
    let mut quote = None;
    for (at, c) in text.char_indices() {
        match quote {
            Some(open) if open == c => quote = None,
            Some(_) => {}
            None if c == '"' || c == '\'' => quote = Some(c),
            None if c == '>' => return Some(at),
            None => {}
        }
    }
    None
}

fn opening(tag: &str) -> Option<Element> {
    let end = tag.find(char::is_whitespace).unwrap_or(tag.len());
    let (name, mut rest) = tag.split_at(end);
    let mut attributes = Vec::new();
    while let Some((key, after)) = rest.split_once('=') {
        let after = after.trim_start();
        let quote = after.chars().next().filter(|c| "\"'".contains(*c))?;
        let (value, after) = after.get(1..)?.split_once(quote)?;
        attributes.push((local(key.trim()).to_owned(), decoded(value)));
        rest = after;
    }
    let name = local(name).to_owned();
    (!name.is_empty()).then_some(Element { name, attributes, ..Element::default() })
}

fn local(name: &str) -> &str {
    name.rsplit(':').next().unwrap_or(name)
}

fn decoded(text: &str) -> String {
    let known = [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&apos;", "'"), ("&amp;", "&")];
    known.iter().fold(text.to_owned(), |text, (name, c)| text.replace(name, c))
}

/// Returns a text as it is written in a document.
pub(super) fn encoded(text: &str) -> String {
    let known = [("&", "&amp;"), ("<", "&lt;"), (">", "&gt;"), ("\"", "&quot;")];
    known.iter().fold(text.to_owned(), |text, (c, name)| text.replace(c, name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_document_is_a_tree_with_lines() {
        let text = "<?xml version=\"1.0\"?>\n<!DOCTYPE a>\n<s:settings xmlns=\"urn:x\">\n\
                    <!-- <mirror/> -->\n  \
                    <mirrors>\n    <mirror><id>a</id>\n      \
                    <url> https://a.test/?x=1&amp;y </url></mirror>\n    \
                    <add key='k' value=\"a>b\" />\n  </mirrors><x><![CDATA[<b>]]></x>\n\
                    </s:settings>\n";
        let settings = parse(text).expect("document");
        assert_eq!(settings.name, "settings");
        let mirror = settings.at(&["mirrors", "mirror"]).expect("mirror");
        assert_eq!((mirror.line, mirror.text_of("id")), (6, Some("a")));
        assert_eq!(mirror.text_of("url"), Some("https://a.test/?x=1&y"));
        assert_eq!(mirror.at(&["url"]).map(|url| url.line), Some(7));
        let add = settings.at(&["mirrors", "add"]).expect("add");
        assert_eq!((add.attribute("Key"), add.attribute("value")), (Some("k"), Some("a>b")));
        assert_eq!(settings.text_of("x"), Some("<b>"));
        assert_eq!(settings.at(&["mirrors", "none"]), None);
    }

    #[test]
    fn what_is_not_well_formed_is_nothing() {
        let deep = "<a>".repeat(100) + &"</a>".repeat(100);
        let cases = [
            "", "text", "<a>", "<a></b>", "</a>", "<a", "<a/><b/>", "<a b=c/>", "<!--", "< />",
            &deep,
        ];
        for text in cases {
            assert_eq!(parse(text), None, "{text}");
        }
        assert!(parse("<a/>").is_some());
    }

    #[test]
    fn text_survives_being_written_and_read() {
        let text = "a<b>&\"c\"&lt;";
        let document = format!("<a b=\"{0}\">{0}</a>", encoded(text));
        let element = parse(&document).expect("document");
        assert_eq!((element.text.as_str(), element.attribute("b")), (text, Some(text)));
    }
}
