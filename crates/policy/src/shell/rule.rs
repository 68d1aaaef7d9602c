//! The rules of one file, ready to be compared with commands.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use super::args::is_open;
use super::facts::Facts;
use super::known::presets;
use super::line::Word;
use super::pattern::{Match, Purpose};
use crate::path::AgentPath;
use crate::policy::{Network, Shell, ShellDefault, ShellRule, ToolRule};
use crate::source::{At, Ruled};
use crate::view::View;
use crate::zone::{Approval, Placement};

/// How the text of a command is understood (`shell.mode`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ShellMode {
    /// As words: no shell runs it.
    Argv,
    /// As a line that bash runs; only under an OS sandbox.
    Bash,
}

impl ShellMode {
    /// Returns the word for it in files and flags.
    pub fn as_str(self) -> &'static str {
        match self {
            ShellMode::Argv => "argv",
            ShellMode::Bash => "bash",
        }
    }

    /// Returns the mode that a word means.
    pub fn parse(word: &str) -> Option<Self> {
        [ShellMode::Argv, ShellMode::Bash].into_iter().find(|mode| mode.as_str() == word)
    }
}

impl fmt::Display for ShellMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Commands that are known well enough to need no rule (`shell.presets`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Preset {
    /// Commands that only look.
    ReadOnly,
    /// Commands that build, and programs and scripts of the work tree.
    Build,
    /// Commands that test and lint.
    Test,
    /// Commands that write files, and redirections to files.
    Edit,
    /// Commands of git that reach no other machine.
    GitLocal,
}

impl Preset {
    /// Every preset.
    pub const ALL: [Preset; 5] =
        [Preset::ReadOnly, Preset::Build, Preset::Test, Preset::Edit, Preset::GitLocal];

    /// Returns the word for it in files and flags.
    pub fn as_str(self) -> &'static str {
        match self {
            Preset::ReadOnly => "read_only",
            Preset::Build => "build",
            Preset::Test => "test",
            Preset::Edit => "edit",
            Preset::GitLocal => "git_local",
        }
    }

    /// Returns the preset that a word means.
    pub fn parse(word: &str) -> Option<Self> {
        Preset::ALL.into_iter().find(|preset| preset.as_str() == word)
    }
}

/// The shell rules that a worker is held to: the project's, and those of each
/// worker down to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rules {
    layers: Vec<Arc<Layer>>,
    mode: Option<Ruled<ShellMode>>,
    taint: Option<Taint>,
}

/// What holds for commands after content was read that is not to be trusted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Taint {
    /// Where it is written that nothing runs without a question any more.
    pub(crate) at: At,
    /// Whether rules give nothing beyond what every command has.
    pub(crate) no_grants: bool,
}

impl Rules {
    /// Returns the project's rules; relative paths in them start where those of the view
    /// do.
    pub(crate) fn project(shell: &Shell, tool: Option<&ToolRule>, view: &View) -> Self {
        let layers = vec![Arc::new(Layer::new(shell, tool, view))];
        Rules { layers, mode: shell.mode.clone(), taint: None }
    }

    /// Returns the rules with those of a worker below them. There is no way to
    /// take any away.
    pub(crate) fn below(&self, shell: &Shell, tool: Option<&ToolRule>, view: &View) -> Self {
        let mut rules = self.clone();
        let layer = Layer::new(shell, tool, view);
        if layer.decides() {
            rules.layers.push(Arc::new(layer));
        }
        // Without a shell less can happen: whoever asks for that gets it.
        let wanted = shell.mode.as_ref();
        let stricter = wanted.is_some_and(|mode| mode.value == ShellMode::Argv);
        if rules.mode.is_none() || stricter && rules.argv().is_none() {
            rules.mode = wanted.cloned().or(rules.mode);
        }
        rules
    }

    /// Returns the rules as they are after untrusted content was read: nothing
    /// runs without a question, presets included.
    pub(crate) fn tainted(&self, taint: Taint) -> Self {
        Rules { taint: Some(taint), ..self.clone() }
    }

    /// Returns what holds after untrusted content was read, if any was.
    pub(crate) fn taint(&self) -> Option<&Taint> {
        self.taint.as_ref()
    }

    fn argv(&self) -> Option<&Ruled<ShellMode>> {
        self.mode.as_ref().filter(|mode| mode.value == ShellMode::Argv)
    }

    /// Returns the layers, the project's first.
    pub fn layers(&self) -> &[Arc<Layer>] {
        &self.layers
    }

    /// Returns how commands are understood; `None` is bash under an OS sandbox
    /// and words without.
    pub fn mode(&self) -> Option<&Ruled<ShellMode>> {
        self.mode.as_ref()
    }

    /// Returns whether some rule blocks commands.
    pub(crate) fn blocks(&self) -> bool {
        self.layers.iter().any(|layer| layer.blocks)
    }

    /// Returns whether some rule asks about commands.
    pub(crate) fn asks(&self) -> bool {
        let mut rules = self.layers.iter().flat_map(|layer| &layer.rules);
        rules.any(|rule| rule.approval == Approval::Ask)
    }

    /// Returns the patterns that run without a question, for an agent that was
    /// refused.
    pub(crate) fn open(&self) -> Vec<String> {
        if self.taint.is_some() {
            return Vec::new();
        }
        let rules = self.layers.last().map(|layer| layer.rules.as_slice()).unwrap_or_default();
        let open = rules.iter().filter(|rule| rule.approval == Approval::PreApproved);
        open.map(|rule| rule.pattern.as_str().to_owned()).collect()
    }
}

/// The shell rules of one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layer {
    rules: Vec<ShellRule>,
    default: Option<Ruled<ShellDefault>>,
    presets: Vec<Ruled<Preset>>,
    tool: ToolRule,
    /// The rules for a program, by its name, in file order.
    by_name: HashMap<String, Vec<usize>>,
    /// The rules that may be for any program.
    by_none: Vec<usize>,
    /// Whether any rule blocks.
    blocks: bool,
}

/// What one layer says about one command.
#[derive(Debug, Clone)]
pub(crate) struct Say {
    pub(crate) approval: Approval,
    /// The rule that decided, by its number.
    pub(crate) rule: Option<usize>,
    pub(crate) says: String,
    pub(crate) at: At,
    pub(crate) must_ask: bool,
    pub(crate) grants: Network,
    /// Whether it is `shell.default: contained` that lets the command run.
    pub(crate) contained: bool,
    /// Whether the command asks for effects that leave the sandbox: where `contained` or a
    /// preset lets it run that does more than look.
    pub(crate) in_sandbox: bool,
}

impl Layer {
    /// Makes the rules of a file ready.
    pub(crate) fn new(shell: &Shell, tool: Option<&ToolRule>, view: &View) -> Self {
        let mut by_name: HashMap<String, Vec<usize>> = HashMap::new();
        let mut by_none = Vec::new();
        for (index, rule) in shell.rules.iter().enumerate() {
            match rule.pattern.programs() {
                Some(names) => {
                    for name in names {
                        by_name.entry(name.to_owned()).or_default().push(index);
                    }
                }
                None => by_none.push(index),
            }
        }
        Layer {
            rules: shell.rules.iter().map(|rule| rule.anchored(view)).collect(),
            default: shell.default.clone(),
            presets: shell.presets.clone(),
            tool: tool.cloned().unwrap_or_default(),
            by_name,
            by_none,
            blocks: shell.rules.iter().any(|rule| rule.approval == Approval::Blocked),
        }
    }

    /// Returns whether a rule may block a program of that name.
    pub(crate) fn may_block(&self, name: &str) -> bool {
        let named = self.by_name.get(name).map(Vec::as_slice).unwrap_or_default();
        let blocked = |index: &usize| self.rules[*index].approval == Approval::Blocked;
        self.blocks && named.iter().chain(&self.by_none).any(blocked)
    }

    /// Returns the rules, in file order.
    pub fn rules(&self) -> &[ShellRule] {
        &self.rules
    }

    /// Returns whether the file says anything about commands.
    fn decides(&self) -> bool {
        !self.rules.is_empty()
            || self.default.is_some()
            || !self.presets.is_empty()
            || self.tool != ToolRule::default()
    }

    /// Returns the numbers of the rules that could be for a command, in order.
    fn candidates(&self, facts: &Facts<'_>) -> Vec<usize> {
        if facts.program.is_none() && !facts.simple.words.is_empty() {
            return (0..self.rules.len()).collect();
        }
        let named = self.by_name.get(facts.name).map(Vec::as_slice).unwrap_or_default();
        let mut all: Vec<usize> = named.iter().chain(&self.by_none).copied().collect();
        all.sort_unstable();
        all.dedup();
        all
    }

    /// Returns whether there is a rule that blocks anything.
    pub(crate) fn blocks(&self) -> bool {
        self.rules.iter().any(|rule| rule.approval == Approval::Blocked)
    }

    /// Returns the rule that blocks a command, whether or not agents can run any.
    pub(crate) fn blocking(&self, facts: &Facts<'_>) -> Option<&ShellRule> {
        let mut rules = self.candidates(facts).into_iter().map(|index| &self.rules[index]);
        rules
            .find(|rule| compare(rule, facts) == Match::Yes)
            .filter(|rule| rule.approval == Approval::Blocked)
    }

    /// Decides one command.
    pub(crate) fn say(&self, facts: &Facts<'_>) -> Say {
        if let Some(allowed) = self.tool.allowed.as_ref().filter(|allowed| !allowed.value) {
            let says = "tool_rules.shell.allowed: false".to_owned();
            return Say::new(Approval::Blocked, says, allowed.at.clone(), false);
        }
        let mut must_ask = false;
        for index in self.candidates(facts) {
            let rule = &self.rules[index];
            match compare(rule, facts) {
                Match::Yes => {
                    let says = rule.says();
                    let mut say = Say::new(rule.approval, says, rule.at.clone(), must_ask);
                    say.rule = Some(index);
                    if rule.approval != Approval::Blocked {
                        say.grants = rule.grants.clone();
                    }
                    return say;
                }
                Match::Maybe if rule.approval == Approval::Blocked => must_ask = true,
                _ => {}
            }
        }
        // A preset only ever adds to what runs without a question.
        let preset = presets::covering(&self.presets, facts)
            .filter(|preset| preset.value == Preset::ReadOnly || self.asking(facts).is_none());
        match preset {
            Some(preset) => {
                let says = format!("shell.presets: {}", preset.value.as_str());
                let say = Say::new(Approval::PreApproved, says, preset.at.clone(), must_ask);
                Say { in_sandbox: preset.value != Preset::ReadOnly, ..say }
            }
            None => self.default_say(facts, must_ask),
        }
    }

    /// Decides one command that neither a rule nor a preset speaks of.
    pub(crate) fn default_say(&self, facts: &Facts<'_>, must_ask: bool) -> Say {
        let say = self.rest(!is_plain(facts), must_ask);
        match say.contained.then(|| self.asking(facts)).flatten() {
            None => say,
            Some((index, rule)) => {
                let says = rule.says();
                Say {
                    rule: Some(index),
                    ..Say::new(rule.approval, says, rule.at.clone(), must_ask)
                }
            }
        }
    }

    /// Returns the rule that asks and may be for a command. A rule that asks usually gives
    /// way to doubt, because the default asks then; `contained` and presets do not.
    fn asking(&self, facts: &Facts<'_>) -> Option<(usize, &ShellRule)> {
        let rules = self.candidates(facts).into_iter().map(|index| (index, &self.rules[index]));
        let may = |rule: &ShellRule| compare_for(rule, facts, Purpose::Block) != Match::No;
        rules.filter(|(_, rule)| rule.approval == Approval::Ask).find(|(_, rule)| may(rule))
    }

    /// Decides what no rule speaks of; `doubtful` is what only `contained` allows
    /// without a question.
    pub(crate) fn rest(&self, doubtful: bool, must_ask: bool) -> Say {
        let (mut approval, says, at) = match (&self.default, self.tool.approval()) {
            (_, Some(rule)) if rule.value == Approval::Blocked => {
                (rule.value, "tool_rules.shell.allowed: false".to_owned(), rule.at)
            }
            (Some(default), _) => {
                let says = format!("shell.default: {}", default.value);
                let say = Say::new(default.value.approval(), says, default.at.clone(), must_ask);
                if default.value == ShellDefault::Contained {
                    return Say { contained: true, in_sandbox: true, ..say };
                }
                (say.approval, say.says, say.at)
            }
            (None, Some(rule)) => {
                let required = rule.value == Approval::Ask;
                (rule.value, format!("tool_rules.shell.approval_required: {required}"), rule.at)
            }
            (None, None) => {
                (Approval::Ask, "no rule matches (default: ask)".to_owned(), At::Default)
            }
        };
        if doubtful {
            approval = approval.max(Approval::Ask);
        }
        Say::new(approval, says, at, must_ask)
    }
}

impl Say {
    fn new(approval: Approval, says: String, at: At, must_ask: bool) -> Self {
        let (grants, contained, in_sandbox) = (Network::Off, false, false);
        Say { approval, rule: None, says, at, must_ask, grants, contained, in_sandbox }
    }
}

/// Returns whether everything about a command is known, and harmless as far as
/// that goes.
fn is_plain(facts: &Facts<'_>) -> bool {
    facts.unknown.is_none() && facts.hazards.is_empty()
}

/// Compares a command with a rule: its pattern, its paths and, where it allows
/// without a question, what is known about the command.
pub(crate) fn compare(rule: &ShellRule, facts: &Facts<'_>) -> Match {
    let purpose = match rule.approval {
        Approval::Blocked => Purpose::Block,
        Approval::Ask | Approval::PreApproved => Purpose::Allow,
    };
    compare_for(rule, facts, purpose)
}

fn compare_for(rule: &ShellRule, facts: &Facts<'_>, purpose: Purpose) -> Match {
    let matched = rule.pattern.compare(facts, purpose);
    if matched == Match::No {
        return matched;
    }
    if rule.approval == Approval::PreApproved {
        let named = facts.hazards.iter().all(|hazard| rule.pattern.names(hazard, facts));
        if facts.unknown.is_some() || !named {
            return Match::No;
        }
    }
    match rule.has_paths() {
        false => matched,
        true => matched.min(in_paths(rule, facts, purpose)),
    }
}

/// Returns whether the paths of a command lie in a rule's paths: each of them for
/// a rule that allows, any of them for one that blocks.
fn in_paths(rule: &ShellRule, facts: &Facts<'_>, purpose: Purpose) -> Match {
    let paths: Vec<AgentPath> = rule.all_paths().collect();
    let lies = |path: &AgentPath| paths.iter().any(|dir| path.as_rel().starts_with(dir.as_rel()));
    let mut found: Vec<Match> = Vec::new();
    let mut check = |inside: Match| found.push(inside);
    let place = |text: &str| -> Match {
        let absolute = text.starts_with('/');
        // To git, what begins so is no path below this directory.
        let magic = facts.name == "git" && text.starts_with(':');
        if magic || facts.moved && !absolute {
            return Match::Maybe;
        }
        let dotted = if absolute { text.to_owned() } else { format!("./{text}") };
        match AgentPath::parse(&dotted, facts.cwd, &AgentPath::root()) {
            Ok(path) if lies(&path) => Match::Yes,
            // A text that is too long for a path, such as a message.
            Err(_) if !text.contains('/') && lies(facts.cwd) => Match::Yes,
            _ => Match::No,
        }
    };
    let mut any = false;
    for operand in facts.args.operands.iter().skip(rule.pattern.own_operands(facts)) {
        any = true;
        check(match operand.word {
            Word::Known(text) if text == "-" => Match::Yes,
            Word::Known(text) => place(text),
            word if is_open(word) => Match::Maybe,
            Word::Glob { text, fixed } => {
                let dir = fixed.rfind('/').map_or(".", |at| &fixed[..=at]);
                if climbs(&text[fixed.len().min(text.len())..], text) {
                    Match::Maybe
                } else {
                    place(dir)
                }
            }
            Word::Unknown { .. } => Match::Maybe,
        });
    }
    for flag in facts.args.flags.iter().filter(|flag| !rule.pattern.sets(&flag.name, facts)) {
        let Some(value) = &flag.value else { continue };
        match value {
            Word::Known(text) => {
                if text.contains('/') || text == "." || text == ".." {
                    any = true;
                    check(place(text));
                }
            }
            _ => check(Match::Maybe),
        }
    }
    // A path may be attached to a letter, where nothing says where it begins.
    for word in facts.simple.words.iter().skip(1).filter_map(Word::known) {
        let short = word.starts_with('-') && !word.starts_with("--");
        let known = facts.complete();
        if short && !known && (word.contains('/') || word.ends_with('.')) {
            check(Match::Maybe);
        }
    }
    let everything = facts.sub.unwrap_or(facts.options).everything;
    if everything.split(' ').any(|flag| !flag.is_empty() && facts.has_flag(flag)) {
        any = true;
        // Everything is all of the tree that the command starts in.
        check(match facts.moved {
            true => Match::Maybe,
            false => place(&rule.pattern.top_of(facts.cwd).to_string()),
        });
    }
    for redirect in &facts.simple.redirects {
        use super::line::RedirectKind::{Append, Both, Read, Write};
        if matches!(redirect.kind, Append | Both | Read | Write) {
            check(match &redirect.target {
                Word::Known(text) if text.starts_with("/dev/") => Match::Yes,
                Word::Known(text) => place(text),
                _ => Match::Maybe,
            });
        }
    }
    // Without a path a command works where it starts.
    if !any {
        check(place("."));
    }
    let all = found.into_iter();
    match purpose {
        Purpose::Allow => all.min().unwrap_or(Match::No),
        Purpose::Block => all.max().unwrap_or(Match::Yes),
    }
}

/// Returns whether a pattern for file names could lead upwards.
fn climbs(rest: &str, text: &str) -> bool {
    let start = text.len() - rest.len();
    let from = text[..start].rfind('/').map_or(0, |at| at + 1);
    text[from..].split('/').any(|name| {
        let mut chars = name.chars();
        chars.next() == Some('.') && matches!(chars.next(), Some('.' | '*' | '?' | '['))
    })
}

impl ShellRule {
    /// Returns the rule as it is for commands in a view.
    fn anchored(&self, view: &View) -> Self {
        let pattern = self.pattern.clone().anchored(view.working_dir()).placed(view);
        let mut rule = ShellRule { pattern, ..self.clone() };
        for path in &mut rule.paths {
            path.value = view.canonical(path.value.clone());
        }
        // A zone at its host path is not at `/NAME`.
        rule.sandbox_paths.retain(|name| match view.mount(name) {
            Some(mount) if mount.zone.placement.value == Placement::Same => {
                rule.paths.push(Ruled::new(mount.path(), self.at.clone()));
                false
            }
            _ => true,
        });
        rule
    }

    /// Returns what the rule says, for records.
    pub fn says(&self) -> String {
        format!("shell rule '{}': {}", self.pattern, self.approval)
    }

    fn has_paths(&self) -> bool {
        !self.paths.is_empty() || !self.sandbox_paths.is_empty()
    }

    /// Returns the directories that every path of a command must lie in.
    fn all_paths(&self) -> impl Iterator<Item = AgentPath> + '_ {
        let root = crate::path::RelPath::root();
        let zones = self.sandbox_paths.iter().map(move |zone| AgentPath::of(zone, &root));
        self.paths.iter().map(|path| path.value.clone()).chain(zones)
    }
}
