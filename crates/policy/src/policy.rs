//! A project's rules, resolved: plain data that everything else is decided from.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use crate::guard::Guards;
use crate::hosts::Hosts;
use crate::limit::Limits;
use crate::model_name::Prices;
use crate::organisation::Organisation;
use crate::path::{AgentPath, RelPath};
use crate::run::RunDefaults;
use crate::secret::Secret;
use crate::sensitive::Sensitive;
use crate::shell::{Pattern, Preset, ShellMode};
use crate::source::{At, Ruled};
use crate::taint::WhenTainted;
use crate::zone::{Approval, Zone};

/// Where zone paths lie (`sandbox.mode`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Layout {
    /// Under `sandbox.root`, made on the first write.
    #[default]
    Sandboxed,
    /// Under the project directory, where they must exist.
    Direct,
}

/// What becomes of questions (`approval.mode`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Consent {
    /// Each zone's and tool's own rule decides.
    #[default]
    Tool,
    /// Every side effect asks.
    Manual,
    /// Every question is answered yes.
    Auto,
    /// Every question is answered no.
    Strict,
}

impl Consent {
    /// Returns a number that grows with strictness.
    pub(crate) fn strictness(self) -> u8 {
        match self {
            Consent::Auto => 0,
            Consent::Tool => 1,
            Consent::Manual => 2,
            Consent::Strict => 3,
        }
    }
}

/// What commands may reach (`sandbox.network`).
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Network {
    /// Nothing.
    #[default]
    Off,
    /// Everything.
    On,
    /// The listed hosts.
    Hosts(Hosts),
}

/// Whether commands may run where the operating system does not fully enforce
/// their boundaries (`sandbox.require_os_sandbox`), the loosest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum OsSandbox {
    /// `false`: they run, with a warning. A file that says so needs trust.
    Optional,
    /// Not written: they run only if the user accepts weaker enforcement.
    #[default]
    Unset,
    /// `true`: they never run, whatever the user accepts.
    Required,
}

impl OsSandbox {
    /// Returns the value that a file or flag writes as `true` or `false`.
    pub fn written(required: bool) -> Self {
        if required { OsSandbox::Required } else { OsSandbox::Optional }
    }

    /// Returns the word for it in reports.
    pub fn as_str(self) -> &'static str {
        match self {
            OsSandbox::Optional => "optional",
            OsSandbox::Unset => "unset",
            OsSandbox::Required => "required",
        }
    }
}

/// What holds commands to their boundaries (`sandbox.backend`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum BackendChoice {
    /// The strongest that the machine has.
    #[default]
    Auto,
    /// Linux namespaces.
    Namespaces,
    /// The program `bwrap`.
    Bubblewrap,
    /// Linux Landlock.
    Landlock,
    /// The sandbox of macOS.
    Seatbelt,
    /// Nothing: commands run as the user. A file that says so needs trust.
    None,
}

impl BackendChoice {
    /// Every choice.
    pub const ALL: [BackendChoice; 6] = [
        BackendChoice::Auto,
        BackendChoice::Namespaces,
        BackendChoice::Bubblewrap,
        BackendChoice::Landlock,
        BackendChoice::Seatbelt,
        BackendChoice::None,
    ];

    /// Returns whether it holds less by its nature than others do, and so is not chosen
    /// by a file that nobody has trusted.
    pub fn is_weak(self) -> bool {
        self.weakness() > 0
    }

    /// Returns whether it surely holds no less than another one.
    pub fn holds_what(self, other: BackendChoice) -> bool {
        self.weakness() <= other.weakness()
    }

    fn weakness(self) -> u8 {
        match self {
            BackendChoice::Auto
            | BackendChoice::Namespaces
            | BackendChoice::Bubblewrap
            | BackendChoice::Seatbelt => 0,
            BackendChoice::Landlock => 1,
            BackendChoice::None => 2,
        }
    }

    /// Returns the word for it in files and flags.
    pub fn as_str(self) -> &'static str {
        match self {
            BackendChoice::Auto => "auto",
            BackendChoice::Namespaces => "namespaces",
            BackendChoice::Bubblewrap => "bubblewrap",
            BackendChoice::Landlock => "landlock",
            BackendChoice::Seatbelt => "seatbelt",
            BackendChoice::None => "none",
        }
    }

    /// Returns the choice that a word means.
    pub fn parse(word: &str) -> Option<Self> {
        BackendChoice::ALL.into_iter().find(|choice| choice.as_str() == word)
    }
}

impl fmt::Display for BackendChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Whether the caches of toolchains in a sandbox outlive it (`sandbox.caches`). They are
/// the sandbox's own either way, never the user's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum Caches {
    /// They are kept for the next run in the same project.
    #[default]
    Keep,
    /// Each sandbox starts with empty ones.
    Fresh,
}

/// What happens when the audit log cannot be written (`audit`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Audit {
    /// The action fails.
    #[default]
    Required,
    /// The action goes on.
    BestEffort,
}

/// A rule for one tool (`tool_rules.NAME`).
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ToolRule {
    /// Whether the tool exists at all.
    pub allowed: Option<Ruled<bool>>,
    /// Whether every call asks.
    pub approval_required: Option<Ruled<bool>>,
}

impl ToolRule {
    /// Returns what the rule says about consent, if it says anything.
    pub fn approval(&self) -> Option<Ruled<Approval>> {
        match (&self.allowed, &self.approval_required) {
            (Some(allowed), _) if !allowed.value => {
                Some(Ruled::new(Approval::Blocked, allowed.at.clone()))
            }
            (_, Some(required)) => {
                let approval = if required.value { Approval::Ask } else { Approval::PreApproved };
                Some(Ruled::new(approval, required.at.clone()))
            }
            _ => None,
        }
    }
}

/// A rule for commands that start with certain words (`shell.rules`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShellRule {
    /// The words.
    pub pattern: Pattern,
    /// Zones that every path argument must lie in (the old form of `paths`).
    pub sandbox_paths: Vec<String>,
    /// Directories that every path argument must lie in; none is no limit.
    pub paths: Vec<Ruled<AgentPath>>,
    /// Whether a matching command asks.
    pub approval: Approval,
    /// Whether an approved command gets the network (`grants.network`).
    pub grants: Network,
    /// Where the rule is written.
    pub at: At,
}

/// What holds for commands that no rule and no preset decides (`shell.default`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ShellDefault {
    /// They run without a question where everything about them is known and harmless.
    PreApproved,
    /// They run without a question where the operating system fully confines them, unless
    /// their words show that an effect would leave the sandbox. Elsewhere they ask.
    Contained,
    /// They ask.
    Ask,
    /// They never run.
    Blocked,
}

impl ShellDefault {
    /// Every value.
    pub const ALL: [ShellDefault; 4] = [
        ShellDefault::PreApproved,
        ShellDefault::Contained,
        ShellDefault::Ask,
        ShellDefault::Blocked,
    ];

    /// Returns the word for it in files and flags.
    pub fn as_str(self) -> &'static str {
        match self {
            ShellDefault::PreApproved => "preApproved",
            ShellDefault::Contained => "contained",
            ShellDefault::Ask => "ask",
            ShellDefault::Blocked => "blocked",
        }
    }

    /// Returns the default that a word means.
    pub fn parse(word: &str) -> Option<Self> {
        ShellDefault::ALL.into_iter().find(|default| default.as_str() == word)
    }

    /// Returns the most that it lets through.
    pub fn approval(self) -> Approval {
        match self {
            ShellDefault::PreApproved | ShellDefault::Contained => Approval::PreApproved,
            ShellDefault::Ask => Approval::Ask,
            ShellDefault::Blocked => Approval::Blocked,
        }
    }

    /// Returns whether it is surely no looser than another. `contained` and `preApproved`
    /// each let lines through that the other one asks about.
    pub(crate) fn holds(self, old: ShellDefault) -> bool {
        self == old || self.approval() > old.approval()
    }
}

impl From<Approval> for ShellDefault {
    fn from(approval: Approval) -> Self {
        match approval {
            Approval::PreApproved => ShellDefault::PreApproved,
            Approval::Ask => ShellDefault::Ask,
            Approval::Blocked => ShellDefault::Blocked,
        }
    }
}

impl fmt::Display for ShellDefault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Rules for commands as the files write them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Shell {
    /// How commands are understood; `None` is bash under an OS sandbox and words
    /// without.
    pub mode: Option<Ruled<ShellMode>>,
    /// Rules in file order; the first that matches decides.
    pub rules: Vec<ShellRule>,
    /// What holds for the rest.
    pub default: Option<Ruled<ShellDefault>>,
    /// Commands that need no rule; they come after the rules.
    pub presets: Vec<Ruled<Preset>>,
}

/// A project's rules, resolved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Policy {
    /// The project directory.
    pub project: PathBuf,
    /// The project file, where there is one.
    pub file: Option<PathBuf>,
    /// Where zone paths lie.
    pub layout: Ruled<Layout>,
    /// The directory that holds zones in the sandboxed layout.
    pub root: Ruled<PathBuf>,
    /// The zones, in file order.
    pub zones: Vec<Zone>,
    /// Where relative agent paths start.
    pub working_dir: Ruled<AgentPath>,
    /// What `~` is.
    pub home: Ruled<AgentPath>,
    /// What commands may reach.
    pub network: Ruled<Network>,
    /// Secrets that commands use without seeing them, by the variable that they
    /// see instead.
    pub secrets: BTreeMap<String, Ruled<Secret>>,
    /// Names of environment variables that commands inherit.
    pub pass_env: Vec<Ruled<String>>,
    /// Environment variables that commands get.
    pub env: BTreeMap<String, Ruled<String>>,
    /// Whether commands may run where their boundaries are not fully enforced.
    pub require_os_sandbox: Ruled<OsSandbox>,
    /// How much commands may use.
    pub limits: Limits,
    /// Where limits are written, by name.
    pub limit_lines: BTreeMap<&'static str, At>,
    /// What holds commands to their boundaries.
    pub backend: Ruled<BackendChoice>,
    /// Whether the boundaries are tried out before each command.
    pub prove: Ruled<bool>,
    /// Whether caches of toolchains outlive a sandbox.
    pub caches: Ruled<Caches>,
    /// Files that guard the user, and what may happen to them.
    pub guards: Guards,
    /// Patterns of files that commands may write although they have other names outside
    /// the writable zones.
    pub allow_hard_links: Vec<Ruled<String>>,
    /// Patterns of credentials in granted directories that are not hidden.
    pub allow_sensitive: Vec<Ruled<String>>,
    /// What becomes of questions.
    pub consent: Ruled<Consent>,
    /// How deep workers may call workers.
    pub max_depth: Ruled<u32>,
    /// How often, how long and for how much workers run.
    pub run: RunDefaults,
    /// The model that workers use unless they name one.
    pub model: Option<Ruled<String>>,
    /// What models cost.
    pub prices: Prices,
    /// What workers lose that have read untrusted content.
    pub when_tainted: WhenTainted,
    /// The tools that exist, by canonical name; `None` is all of them.
    pub tools: Option<Ruled<Vec<String>>>,
    /// Rules for single tools, by canonical name.
    pub tool_rules: BTreeMap<String, ToolRule>,
    /// Rules for commands.
    pub shell: Shell,
    /// Other versions of them that hold as well, after the file has changed: the
    /// strictest decides. No file says this; see [`tightened`](crate::tighten::tightened).
    pub shell_before: Vec<Shell>,
    /// What happens when the audit log cannot be written.
    pub audit: Ruled<Audit>,
    /// The organisation's bounds, which these rules have been held to: all versions of its
    /// file that a running program has read, the newest last.
    pub organisations: Vec<Arc<Organisation>>,
}

impl Policy {
    /// Returns the rules that hold in a project without a file: no zones yet.
    pub fn empty(project: impl Into<PathBuf>) -> Self {
        let project = project.into();
        Policy {
            root: Ruled::default_of(project.join(".sandbox")),
            project,
            file: None,
            layout: Ruled::default(),
            zones: Vec::new(),
            working_dir: Ruled::default(),
            home: Ruled::default(),
            network: Ruled::default(),
            secrets: BTreeMap::new(),
            pass_env: Vec::new(),
            env: BTreeMap::new(),
            require_os_sandbox: Ruled::default(),
            limits: Limits::default(),
            limit_lines: BTreeMap::new(),
            backend: Ruled::default(),
            prove: Ruled::default(),
            caches: Ruled::default(),
            guards: Guards::default(),
            allow_hard_links: Vec::new(),
            allow_sensitive: Vec::new(),
            consent: Ruled::default(),
            max_depth: Ruled::default_of(5),
            run: RunDefaults::default(),
            model: None,
            prices: Prices::default(),
            when_tainted: WhenTainted::default(),
            tools: None,
            tool_rules: BTreeMap::new(),
            shell: Shell::default(),
            shell_before: Vec::new(),
            audit: Ruled::default(),
            organisations: Vec::new(),
        }
    }

    /// Returns the credentials that are hidden in a granted directory: by their names, and
    /// those at `paths` below it.
    pub fn sensitive(&self, paths: Vec<RelPath>) -> Sensitive {
        let allow = self.allow_sensitive.iter().map(|pattern| pattern.value.clone());
        Sensitive::new(paths, allow.collect())
    }

    /// Returns the zone of that name.
    pub fn zone(&self, name: &str) -> Option<&Zone> {
        self.zones.iter().find(|zone| zone.name == name)
    }
}

/// Returns whether a variable of the caller is kept from commands although
/// `pass_env` names it: the sandbox has its own, or it makes the loader or the C
/// library run other code.
pub fn is_never_passed(name: &str) -> bool {
    let begins = ["LD_", "DYLD_"].iter().any(|start| name.starts_with(start));
    begins
        || matches!(name, "PATH" | "HOME" | "GCONV_PATH" | "GLIBC_TUNABLES" | "LOCPATH" | "NLSPATH")
}
