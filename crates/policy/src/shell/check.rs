//! Rules held against examples and against each other, when a file is read.

use super::decide::single;
use super::facts::Facts;
use super::line::{Simple, Word};
use super::parse::parse;
use super::pattern::Match;
use super::rule::compare;
use crate::path::AgentPath;
use crate::policy::ShellRule;

/// What an example comes to.
pub(crate) enum Example {
    /// The rule matches it.
    Matches,
    /// The rule does not; a hint says why where that can be said.
    Differs(String),
    /// It is no example.
    Unclear(String),
}

/// Holds one rule against one command line. Relative paths are taken to lie in
/// the first of the rule's paths.
pub(crate) fn example(rule: &ShellRule, line: &str) -> Example {
    let line = match parse(line) {
        Ok(line) => line,
        Err(unparsed) => return Example::Unclear(unparsed.to_string()),
    };
    let Some(simple) = single(&line) else {
        return Example::Unclear("it has more than one command, or none".to_owned());
    };
    let cwd = rule.paths.first().map_or_else(AgentPath::root, |path| path.value.clone());
    let rule = ShellRule { pattern: rule.pattern.clone().anchored(&cwd), ..rule.clone() };
    let facts = Facts::of(&simple, false, &cwd);
    match compare(&rule, &facts) {
        Match::Yes => Example::Matches,
        Match::No | Match::Maybe => {
            Example::Differs(match (facts.hazards.first(), &facts.unknown) {
                (Some(hazard), _) => {
                    format!("'{}' {}, and the pattern does not name it", hazard.what, hazard.why)
                }
                (None, Some(unknown)) => unknown.clone(),
                (None, None) => "change the pattern, or remove the example".to_owned(),
            })
        }
    }
}

/// Returns the earlier rule that decides everything that `rule` is for.
pub(crate) fn shadow<'r>(earlier: &'r [ShellRule], rule: &ShellRule) -> Option<&'r ShellRule> {
    let words = rule.pattern.sample();
    let simple = Simple {
        words: words.into_iter().map(Word::Known).collect(),
        assignments: Vec::new(),
        redirects: Vec::new(),
        text: String::new(),
        within: Vec::new(),
        redefined: false,
    };
    let root = AgentPath::root();
    let facts = Facts::of(&simple, false, &root);
    earlier.iter().find(|earlier| {
        let broad = earlier.paths.is_empty() && earlier.sandbox_paths.is_empty();
        broad && earlier.approval != rule.approval && compare(earlier, &facts) == Match::Yes
    })
}
