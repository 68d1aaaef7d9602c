//! YAML text as a tree that remembers where each value stands.
//!
//! The only module that knows the YAML library. What comes out is small and
//! bounded: aliases are expanded within a budget, keys are text and unique, and
//! every node has the place to point at when something is wrong with it.

use std::collections::{BTreeMap, HashMap};

use granit_parser::{ErrorKind, Event, Marker, Parser, ScalarStyle, ScanError, Span, Tag};

use super::problem::{Mark, Problems, Source};
use crate::source::At;

/// The largest file that is read, in bytes.
pub(crate) const MAX_BYTES: usize = 1 << 20;
/// The most keys and values a file may have, with aliases expanded.
pub(crate) const MAX_NODES: usize = 10_000;
/// The deepest nesting, with aliases expanded.
pub(crate) const MAX_DEPTH: usize = 64;

/// One value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Node {
    pub(crate) kind: Kind,
    pub(crate) mark: Mark,
}

/// What a value is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Text; `plain` when it has no quotes and so may mean a number or a boolean.
    Scalar { text: String, plain: bool },
    /// Values in order.
    List(Vec<Node>),
    /// Values by key, in order, each key once.
    Map(Vec<(Key, Node)>),
}

/// A key of a map.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Key {
    pub(crate) text: String,
    pub(crate) mark: Mark,
}

impl Node {
    /// Returns the value for `key`; a null is as good as no key.
    pub(crate) fn get(&self, key: &str) -> Option<&Node> {
        self.entries().find(|(k, _)| k.text == key).map(|(_, v)| v).filter(|v| !v.is_null())
    }

    /// Returns the keys and values of a map, and nothing of anything else.
    pub(crate) fn entries(&self) -> impl Iterator<Item = (&Key, &Node)> {
        let entries = match &self.kind {
            Kind::Map(entries) => entries.as_slice(),
            _ => &[],
        };
        entries.iter().map(|(key, value)| (key, value))
    }

    /// Returns the items of a list.
    pub(crate) fn items(&self) -> Option<&[Node]> {
        match &self.kind {
            Kind::List(items) => Some(items),
            _ => None,
        }
    }

    /// Returns the text of a scalar that is not null.
    pub(crate) fn text(&self) -> Option<&str> {
        match &self.kind {
            Kind::Scalar { text, .. } if !self.is_null() => Some(text),
            _ => None,
        }
    }

    /// Returns the boolean that is written as `true` or `false`.
    pub(crate) fn bool(&self) -> Option<bool> {
        match self.plain()? {
            "true" => Some(true),
            "false" => Some(false),
            _ => None,
        }
    }

    /// Returns the whole number that is written in plain digits.
    pub(crate) fn int(&self) -> Option<u64> {
        let text = self.plain()?;
        let digits = text.bytes().all(|b| b.is_ascii_digit());
        if digits && (text == "0" || !text.starts_with('0')) { text.parse().ok() } else { None }
    }

    /// Returns the number that is written in plain digits, in units of the last of
    /// `digits` after the point.
    pub(crate) fn decimal(&self, digits: u32) -> Option<u64> {
        let text = self.plain()?;
        let (whole, part) = text.split_once('.').unwrap_or((text, ""));
        let places = usize::try_from(digits).ok()?;
        let good = |text: &str| text.bytes().all(|b| b.is_ascii_digit());
        if whole.is_empty() || !good(whole) || !good(part) || part.len() > places {
            return None;
        }
        format!("{whole}{part:0<places$}").parse().ok()
    }

    /// Returns the text of a scalar without quotes.
    pub(crate) fn plain(&self) -> Option<&str> {
        match &self.kind {
            Kind::Scalar { text, plain: true } => Some(text),
            _ => None,
        }
    }

    /// Returns whether the value is left out: nothing, `~` or `null`.
    pub(crate) fn is_null(&self) -> bool {
        matches!(self.plain(), Some("" | "~" | "null" | "Null" | "NULL"))
    }

    /// Returns whether two trees have the same values in the same order, wherever they stand.
    pub(crate) fn same_value(&self, other: &Node) -> bool {
        match (&self.kind, &other.kind) {
            (Kind::List(own), Kind::List(other)) => {
                own.len() == other.len() && own.iter().zip(other).all(|(a, b)| a.same_value(b))
            }
            (Kind::Map(own), Kind::Map(other)) => {
                let same = |((a, one), (b, two)): (&(Key, Node), &(Key, Node))| {
                    a.text == b.text && one.same_value(two)
                };
                own.len() == other.len() && own.iter().zip(other).all(same)
            }
            (own, other) => own == other,
        }
    }

    /// Returns the place as rules remember it.
    pub(crate) fn at(&self) -> At {
        self.mark.at()
    }

    /// Returns how many values the tree has, and how deep it is.
    fn size(&self) -> (usize, usize) {
        let add = |(nodes, depth): (usize, usize), child: &Node| {
            let (n, d) = child.size();
            (nodes + n, depth.max(d + 1))
        };
        match &self.kind {
            Kind::Scalar { .. } => (1, 0),
            Kind::List(items) => items.iter().fold((1, 1), add),
            Kind::Map(entries) => entries.iter().map(|(_, value)| value).fold((1, 1), add),
        }
    }
}

/// Where a YAML text begins inside the text that is shown.
#[derive(Debug, Clone)]
pub(crate) struct Origin {
    pub(crate) source: Source,
    /// Lines above the first one.
    pub(crate) lines: u32,
    /// Columns before the first one, on the first line only.
    pub(crate) columns: u32,
}

impl Origin {
    /// Returns the place of a text that is shown whole.
    pub(crate) fn whole(source: Source) -> Origin {
        Origin { source, lines: 0, columns: 0 }
    }

    fn mark(&self, marker: &Marker, width: usize) -> Mark {
        let small = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
        let before = if marker.line() <= 1 { self.columns } else { 0 };
        Mark {
            source: self.source.clone(),
            line: small(marker.line().max(1)).saturating_add(self.lines),
            column: small(marker.col() + 1).saturating_add(before),
            width: small(width.max(1)),
        }
    }

    /// Returns the mark of a span; one that ends on another line is one wide.
    fn span(&self, span: &Span) -> Mark {
        let one_line = span.start.line() == span.end.line();
        let width = if one_line { span.end.col().saturating_sub(span.start.col()) } else { 1 };
        self.mark(&span.start, width)
    }
}

/// Reads one document. An empty text is a null; `None` means that the problems say why.
pub(crate) fn parse(text: &str, origin: &Origin, problems: &mut Problems) -> Option<Node> {
    if text.len() > MAX_BYTES {
        let mark = origin.mark(&Marker::new(0, 1, 0), 1);
        let problem = problems.error("too_large", &mark, "the file is larger than 1 MiB");
        problem.hint("remove what is not a rule");
        return None;
    }
    let mut options = granit_parser::options! {
        flow_nesting_limit: MAX_DEPTH,
        block_nesting_limit: MAX_DEPTH,
    };
    options.set_emit_comments(false);
    let mut tree = Tree {
        origin,
        problems,
        anchors: HashMap::new(),
        open: Vec::new(),
        root: None,
        documents: 0,
        nodes: 0,
    };
    for next in Parser::new_from_str_with_options(text, options) {
        match next {
            Ok((event, span)) => tree.event(event, &span).ok()?,
            Err(error) => {
                let mark = origin.mark(error.marker(), 1);
                let message = format!("this is not valid YAML: {}", reason(&error));
                tree.problems.error("syntax", &mark, message).hint(remedy(error.kind()));
                return None;
            }
        }
    }
    let empty = || Node {
        kind: Kind::Scalar { text: String::new(), plain: true },
        mark: origin.mark(&Marker::new(0, 1, 0), 1),
    };
    Some(tree.root.unwrap_or_else(empty))
}

/// Returns the library's words for an error, or the error's name in words when
/// the library is built without them.
fn reason(error: &ScanError) -> String {
    let info = error.info();
    if !info.is_empty() {
        return info;
    }
    let name = format!("{:?}", error.kind());
    let mut words = String::new();
    for c in name.chars().take_while(char::is_ascii_alphanumeric) {
        if c.is_ascii_uppercase() && !words.is_empty() {
            words.push(' ');
        }
        words.push(c.to_ascii_lowercase());
    }
    words
}

/// Returns what to look for after a syntax error.
fn remedy(kind: &ErrorKind) -> &'static str {
    match kind {
        ErrorKind::TabNotAllowed
        | ErrorKind::TabInBlockIndentation
        | ErrorKind::TabInIndentation => "indent with spaces instead of tabs",
        ErrorKind::UnclosedFlowCollection { .. } => "close the bracket that opens here",
        ErrorKind::UnclosedQuotedScalar => "close the quotes that open here",
        ErrorKind::RecursionLimitExceeded => "nest lists and maps less deeply",
        ErrorKind::UnknownAnchor => "write the value out",
        _ => "look at the indentation, the brackets and the quotes up to here",
    }
}

/// The file cannot be read any further; the reason is among the problems.
struct Stop;

struct Tree<'a> {
    origin: &'a Origin,
    problems: &'a mut Problems,
    anchors: HashMap<usize, Node>,
    open: Vec<Open>,
    root: Option<Node>,
    documents: usize,
    nodes: usize,
}

/// A list or map whose end has not come yet.
struct Open {
    mark: Mark,
    anchor: usize,
    partial: Partial,
}

enum Partial {
    List(Vec<Node>),
    Map { entries: Vec<(Key, Node)>, lines: BTreeMap<String, u32>, key: Option<Key> },
}

impl Tree<'_> {
    fn event(&mut self, event: Event<'_>, span: &Span) -> Result<(), Stop> {
        let mark = self.origin.span(span);
        match event {
            Event::DocumentStart(..) => {
                self.documents += 1;
                if self.documents > 1 {
                    let message = "the file has more than one document";
                    let problem = self.problems.error("syntax", &mark, message);
                    problem.hint("remove the second '---' and what follows it");
                    return Err(Stop);
                }
            }
            Event::Scalar(text, style, anchor, tag) => {
                let plain = match self.tag(
                    tag.as_deref(),
                    &mark,
                    &["bool", "float", "int", "null", "str"],
                )? {
                    None => style == ScalarStyle::Plain,
                    Some(tag) => tag != "str",
                };
                // The library writes '~' for a value that is not there.
                let absent = plain && span.start.index() == span.end.index();
                let text = if absent { String::new() } else { text.into_owned() };
                let node = Node { kind: Kind::Scalar { text, plain }, mark };
                self.count(1, 0, &node.mark)?;
                self.finish(node, anchor)?;
            }
            Event::SequenceStart(_, anchor, tag) => {
                self.tag(tag.as_deref(), &mark, &["seq"])?;
                self.open(mark, anchor, Partial::List(Vec::new()))?;
            }
            Event::MappingStart(_, anchor, tag) => {
                self.tag(tag.as_deref(), &mark, &["map"])?;
                let entries = Vec::new();
                self.open(
                    mark,
                    anchor,
                    Partial::Map { entries, lines: BTreeMap::new(), key: None },
                )?;
            }
            Event::SequenceEnd | Event::MappingEnd => {
                let Some(Open { mut mark, anchor, partial }) = self.open.pop() else {
                    return Ok(());
                };
                let end = self.origin.mark(&span.end, 1);
                if end.line == mark.line && end.column > mark.column {
                    mark.width = end.column - mark.column;
                }
                let kind = match partial {
                    Partial::List(items) => Kind::List(items),
                    Partial::Map { entries, .. } => Kind::Map(entries),
                };
                self.finish(Node { kind, mark }, anchor)?;
            }
            Event::Alias(anchor) => {
                let Some(node) = self.anchors.get(&anchor).cloned() else {
                    let problem = self.problems.error(
                        "syntax",
                        &mark,
                        "this alias stands inside its own anchor",
                    );
                    problem.hint("write the value out");
                    return Err(Stop);
                };
                let (nodes, depth) = node.size();
                self.count(nodes, depth, &mark)?;
                self.finish(node, 0)?;
            }
            _ => {}
        }
        Ok(())
    }

    /// Returns the name of a core tag that fits the value.
    fn tag<'t>(
        &mut self,
        tag: Option<&'t Tag>,
        mark: &Mark,
        fitting: &[&str],
    ) -> Result<Option<&'t str>, Stop> {
        let Some(tag) = tag else { return Ok(None) };
        match tag.core_suffix() {
            Some(name) if fitting.contains(&name) => Ok(Some(name)),
            _ => {
                let message = format!("the tag '{}' cannot be used here", tag.original());
                self.problems.error("syntax", mark, message).hint("remove the tag");
                Err(Stop)
            }
        }
    }

    fn count(&mut self, nodes: usize, depth: usize, mark: &Mark) -> Result<(), Stop> {
        self.nodes = self.nodes.saturating_add(nodes);
        let message = if self.nodes > MAX_NODES {
            format!("the file has more than {MAX_NODES} keys and values")
        } else if self.open.len() + depth > MAX_DEPTH {
            format!("the file is nested deeper than {MAX_DEPTH} levels")
        } else {
            return Ok(());
        };
        self.problems
            .error("too_large", mark, message)
            .hint("aliases count as what they stand for");
        Err(Stop)
    }

    fn open(&mut self, mark: Mark, anchor: usize, partial: Partial) -> Result<(), Stop> {
        self.count(1, 1, &mark)?;
        self.open.push(Open { mark, anchor, partial });
        Ok(())
    }

    /// Puts a whole value where it belongs.
    fn finish(&mut self, mut node: Node, anchor: usize) -> Result<(), Stop> {
        if anchor != 0 {
            self.anchors.insert(anchor, node.clone());
        }
        let Some(open) = self.open.last_mut() else {
            self.root = Some(node);
            return Ok(());
        };
        match &mut open.partial {
            Partial::List(items) => items.push(node),
            Partial::Map { entries, lines, key } => match key.take() {
                Some(key) => {
                    if node.plain() == Some("") {
                        // A value that is not there has no place of its own.
                        node.mark = key.mark.clone();
                    }
                    if let Some(first) = lines.get(&key.text) {
                        let (text, line) = (&key.text, key.mark.line);
                        let message =
                            format!("the key '{text}' is on line {first} and again on line {line}");
                        let problem = self.problems.error("duplicate_key", &key.mark, message);
                        problem.hint("remove one of the two");
                    } else if key.text == "<<" {
                        let message = "merge keys ('<<') are not supported";
                        self.problems
                            .error("syntax", &key.mark, message)
                            .hint("write the keys out");
                    } else {
                        lines.insert(key.text.clone(), key.mark.line);
                        entries.push((key, node));
                    }
                }
                None => match node.kind {
                    Kind::Scalar { text, .. } if !text.is_empty() => {
                        *key = Some(Key { text, mark: node.mark });
                    }
                    _ => {
                        let message = "a key must be text";
                        self.problems
                            .error("syntax", &node.mark, message)
                            .hint("write a name, or put it in quotes");
                        return Err(Stop);
                    }
                },
            },
        }
        Ok(())
    }
}
