//! Commands that build, test, edit and keep versions: work in the directories of a project.
//!
//! The programs of `build` and `test` run code of the project, whatever their options are,
//! so their words are not looked at beyond the program and what it is told to do. Those of
//! `edit` and `git_local` are covered unless they do more than that, by what
//! [`hazards`](super::super::hazards) knows.

use super::is_plain_expansion;
use crate::shell::facts::Facts;
use crate::shell::known::{base_name, lists, without_version};
use crate::shell::line::{RedirectKind, Word};
use crate::shell::rule::Preset;

/// Programs, and what they may be told to do: their first operand. Without a list that is
/// anything.
type Row = (&'static str, &'static str);

const BUILD: &[Row] = &[
    ("make gmake ninja meson cmake bazel buck2 scons just task", ""),
    ("cargo", "build b check c clippy doc run r tree metadata bench rustc version"),
    ("rustc rustdoc", ""),
    ("go", "build vet run generate list version tool"),
    ("npm pnpm yarn bun", "run run-script build lint typecheck start ls list pack why"),
    ("tsc esbuild vite webpack rollup parcel babel swc next nuxt turbo nx", ""),
    ("gcc g++ cc c++ clang clang++ ld ar as nasm", ""),
    ("java javac jar kotlinc scalac mvn mvnw gradle gradlew sbt ant", ""),
    ("dotnet", "build run clean"),
    ("swift", "build run"),
    ("zig", "build run build-exe build-lib fmt"),
    ("mix cabal stack dune", "build compile run"),
    ("rake", ""),
    ("tar gzip gunzip zip unzip xz", ""),
    ("pip pip3", "list show freeze check"),
    ("kill wait sleep jobs ps pgrep", ""),
];

const TEST: &[Row] = &[
    ("pytest py.test tox nox nosetests coverage", ""),
    ("jest vitest mocha ava karma tap", ""),
    ("cargo", "test t nextest bench clippy check"),
    ("go", "test vet"),
    ("npm pnpm yarn bun", "test t tst lint typecheck"),
    ("make gmake ninja just", "test tests check lint"),
    ("ctest rspec phpunit", ""),
    ("mvn mvnw gradle gradlew sbt", "test check verify"),
    ("dotnet swift zig mix cabal stack dune deno", "test"),
    ("mypy pyright pylint flake8 bandit shellcheck hadolint yamllint eslint stylelint tslint", ""),
    ("ruff", "check"),
    ("golangci-lint staticcheck clippy-driver", ""),
];

const EDIT: &[Row] = &[
    ("touch mkdir cp mv ln tee chmod truncate patch dos2unix rm rmdir unlink", ""),
    ("sed", ""),
    ("black isort autopep8 yapf prettier rustfmt gofmt goimports clang-format shfmt", ""),
    ("cargo go", "fmt"),
    ("ruff", "format check"),
];

/// What the programs of [`EDIT`] do by their nature.
const EDITS: &str = "tee truncate patch -i -w";

const GIT_LOCAL: &str = "add commit checkout switch restore reset stash branch tag merge rebase \
                         cherry-pick revert mv rm apply clean status diff log show blame ls-files \
                         rev-parse describe shortlog grep reflog";

/// Modules of Python that are programs of a preset.
const MODULES: &[(Preset, &str)] = &[
    (Preset::Test, "pytest unittest doctest coverage mypy pylint flake8 tox nox ruff"),
    (Preset::Build, "build compileall py_compile venv json.tool http.server timeit"),
    (Preset::Edit, "black isort autopep8 yapf"),
];

/// Runners of programs that a project has installed.
const RUNNERS: &str = "npx pnpx bunx";
/// The same, with the word that comes before the program.
const RUNNERS_BY: &[(&str, &str)] = &[("uv poetry pipenv pdm rye hatch bundle", "run exec")];

/// Variables of the shell that change what later commands of a line are.
const CHANGES_COMMANDS: &str = "PATH IFS ENV BASH_ENV PS4 SHELLOPTS BASHOPTS CDPATH PROMPT_COMMAND";

/// Returns whether one of these presets covers a command; `has` says which there are.
pub(super) fn covers(facts: &Facts<'_>, has: impl Fn(Preset) -> bool) -> Option<Preset> {
    let simple = facts.simple;
    if simple.redefined || !redirects_fit(facts, has(Preset::Edit)) {
        return None;
    }
    let runs = [Preset::Build, Preset::Test].into_iter().find(|preset| has(*preset));
    if simple.words.is_empty() {
        let plain = |name: &str| !lists(CHANGES_COMMANDS, name) && !name.starts_with("LD_");
        return runs.filter(|_| simple.assignments.iter().all(|(name, _)| plain(name)));
    }
    if let Some(preset) = runs
        && prepares(facts)
    {
        return Some(preset);
    }
    let all = [Preset::Build, Preset::Test, Preset::Edit, Preset::GitLocal];
    all.into_iter().filter(|preset| has(*preset)).find(|preset| match preset {
        Preset::Build => runs_code(facts, *preset, BUILD) || is_script(facts),
        Preset::Test => runs_code(facts, *preset, TEST),
        Preset::Edit => edits(facts),
        Preset::GitLocal => keeps_versions(facts),
        Preset::ReadOnly => false,
    })
}

/// Returns whether redirections go to files only where files may be written, and to files
/// that the line names.
pub(super) fn redirects_fit(facts: &Facts<'_>, may_write: bool) -> bool {
    facts.simple.redirects.iter().all(|redirect| {
        let target = &redirect.target;
        let named = target
            .known()
            .is_some_and(|text| !text.starts_with("/dev/tcp/") && !text.starts_with("/dev/udp/"));
        let named = named || is_plain_expansion(target);
        match redirect.kind {
            RedirectKind::Text => true,
            RedirectKind::Read => named,
            RedirectKind::Duplicate => target
                .known()
                .is_some_and(|text| text.trim_end_matches('-').bytes().all(|b| b.is_ascii_digit())),
            RedirectKind::Write | RedirectKind::Append | RedirectKind::Both => {
                let nowhere = target.known().is_some_and(|text| {
                    matches!(text, "/dev/null" | "/dev/stdout" | "/dev/stderr")
                });
                nowhere || named && may_write
            }
        }
    })
}

/// Returns whether rows have a program, told to do what it is told.
fn listed(rows: &[Row], name: &str, words: &[&str]) -> bool {
    rows.iter().any(|(names, subs)| {
        (lists(names, name) || lists(names, without_version(name)))
            && (subs.is_empty() || words.iter().any(|word| lists(subs, word)))
    })
}

/// Returns the operands that may be what a program is told to do: the first one, and those
/// that an option before it may have taken.
fn told<'f>(facts: &'f Facts<'_>) -> Vec<&'f str> {
    let operands = &facts.args.operands;
    let taken = operands.iter().take_while(|operand| operand.after.is_some()).count();
    operands.iter().take(taken + 1).filter_map(|operand| operand.word.known()).collect()
}

/// Returns whether a command is a program of these rows, called by any path, by a runner or
/// as a module of Python.
fn runs_code(facts: &Facts<'_>, preset: Preset, rows: &[Row]) -> bool {
    let operand = |at: usize| facts.operand(at).map(base_name).unwrap_or_default();
    let by = RUNNERS_BY.iter().any(|(names, subs)| {
        lists(names, facts.name) && lists(subs, facts.operand(0).unwrap_or_default())
    });
    if lists(RUNNERS, facts.name) || by {
        let at = usize::from(by);
        let module = operand(at).starts_with("python") && by;
        let named = [BUILD, TEST, EDIT]
            .iter()
            .any(|rows| listed(rows, operand(at), &[facts.operand(at + 1).unwrap_or_default()]));
        return preset == Preset::Build && module || named && listed_in(rows, operand(at));
    }
    if facts.name.starts_with("python") {
        let module = facts.args.flags.iter().find(|flag| flag.name == "-m");
        let module = module.and_then(|flag| flag.value.as_ref()?.known()).unwrap_or_default();
        return MODULES.iter().any(|(of, modules)| *of == preset && lists(modules, module));
    }
    facts.program.is_some() && listed(rows, facts.name, &told(facts))
}

fn listed_in(rows: &[Row], name: &str) -> bool {
    rows.iter().any(|(names, _)| lists(names, name))
}

/// Returns whether a command runs a script or a program of the work tree.
fn is_script(facts: &Facts<'_>) -> bool {
    let Some(program) = facts.program else { return false };
    let own = program.contains('/') && !program.starts_with('/');
    let interprets = lists("python pypy node ruby bash sh deno bun", without_version(facts.name));
    let code = ["-c", "-e", "-p", "-pe", "-i", "-s", "-r", "-m", "--eval", "--print"];
    let given = facts.args.flags.iter().any(|flag| code.contains(&&*flag.name));
    let script = facts.args.operands.first().and_then(|operand| operand.word.known());
    let named = script.is_some_and(|script| script.contains(['/', '.']) && script != "/dev/stdin");
    own && !interprets || interprets && !given && named
}

/// Returns whether a command only sets up the shell for what follows in the line.
fn prepares(facts: &Facts<'_>) -> bool {
    let words: Vec<Option<&str>> = facts.simple.words.iter().skip(1).map(Word::known).collect();
    let all = |fits: fn(&str) -> bool| words.iter().all(|word| word.is_some_and(fits));
    let lower = |word: &str| {
        word.starts_with('-') || word.bytes().all(|b| b.is_ascii_lowercase() || b == b'_')
    };
    match facts.name {
        "break" | "continue" => {
            words.len() <= 1 && all(|word| word.bytes().all(|b| b.is_ascii_digit()))
        }
        // What these run is a command of the line, and decided by itself.
        "xargs" => facts.is_system() && facts.hazards.iter().all(|hazard| hazard.what == "xargs"),
        "find" => {
            let runs = |what: &str| matches!(what, "-exec" | "-execdir");
            facts.is_system() && facts.hazards.iter().all(|hazard| runs(&hazard.what))
        }
        "set" => all(|word| word.starts_with(['-', '+']) || word == "pipefail"),
        "read" => words.iter().all(|word| word.is_some_and(lower)),
        "source" | "." => words.len() == 1 && all(|word| word.ends_with("bin/activate")),
        "export" => facts.simple.words.iter().skip(1).all(|word| {
            let text = word.to_string();
            let name = text.split('=').next().unwrap_or_default();
            let named = name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
            named && !name.is_empty() && !lists(CHANGES_COMMANDS, name) && !name.starts_with("LD_")
        }),
        _ => false,
    }
}

/// Returns whether a command has nothing around it or about it but what `may` lets through.
fn is_known(facts: &Facts<'_>, may: impl Fn(&str) -> bool) -> bool {
    let open = |word: &Word| crate::shell::args::is_open(word) && !is_plain_expansion(word);
    facts.is_system()
        && !facts.simple.words.iter().any(open)
        && facts.hazards.iter().all(|hazard| hazard.what == ">" || may(&hazard.what))
}

fn edits(facts: &Facts<'_>) -> bool {
    // A word of the running shell could be a script.
    let script = facts.name == "sed" && facts.unknown.is_some();
    let formats = facts.args.flags.iter().any(|flag| flag.name == "--plugin");
    !script
        && !formats
        && listed(EDIT, facts.name, &told(facts))
        && is_known(facts, |what| lists(EDITS, what))
        || lists(RUNNERS, facts.name)
            && listed(EDIT, facts.operand(0).unwrap_or_default(), &[])
            && facts.operand(0) != Some("sed")
}

fn keeps_versions(facts: &Facts<'_>) -> bool {
    let sub = facts.operand(0).unwrap_or_default();
    // A message is one word, whatever the shell makes of it.
    let message = |word: &Word| matches!(word, Word::Unknown { raw } if raw.starts_with('"'));
    let values = facts.args.flags.iter().filter(|flag| lists("-m --message", &flag.name));
    let messages: Vec<&Word> = values.filter_map(|flag| flag.value.as_ref()).collect();
    let open = |word: &&Word| crate::shell::args::is_open(word) && !is_plain_expansion(word);
    let fits = facts
        .simple
        .words
        .iter()
        .filter(open)
        .all(|word| sub == "commit" && message(word) && messages.contains(&word));
    facts.name == "git"
        && facts.is_system()
        && lists(GIT_LOCAL, sub)
        && fits
        && facts.hazards.iter().all(|hazard| hazard.what == ">" || hazard.moves)
}
