//! The `zonekeep` program.

use std::ffi::OsString;
use std::process::ExitCode;

use clap::error::ErrorKind;
use clap::{Args as _, FromArgMatches as _, Parser, Subcommand};

#[macro_use]
mod output;
mod commands;
mod failure;
mod mcp;
mod project_args;
mod relay;
mod report;
mod view;

/// Keeps AI agents to their zones
///
/// One YAML file says which directories an agent may use and what it has to ask for.
/// Start with `zonekeep init`, look with `zonekeep check` and `zonekeep explain`,
/// call what an agent can call with `zonekeep tool`, run commands with `zonekeep run`
/// and workers with `zonekeep work`; `zonekeep mcp` serves other agents. `zonekeep doctor` says what this machine enforces.
#[derive(Parser)]
#[command(name = "zonekeep", version, max_term_width = 90)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Run(commands::run::Args),
    Profile(commands::profile::Args),
    Mcp(commands::mcp::Args),
    Work(commands::work::Args),
    Chat(commands::chat::Args),
    Init(commands::init::Args),
    Check(commands::check::Args),
    Schema(commands::schema::Args),
    Tool(commands::tool::Args),
    Explain(commands::explain::Args),
    Log(commands::log::Args),
    Replay(commands::replay::Args),
    Approve(commands::approve::Args),
    #[cfg(target_os = "linux")]
    Quarantine(commands::quarantine::Args),
    #[cfg(target_os = "linux")]
    Cache(commands::cache::Args),
    Doctor(commands::doctor::Args),
    Trust(commands::trust::Args),
}

/// Reads the command line, or says what is wrong with it and ends.
fn command() -> Command {
    let args: Vec<OsString> = std::env::args_os().collect();
    if let Some(run) = run_alone(&args) {
        return Command::Run(run);
    }
    let error = match Cli::try_parse_from(&args) {
        Ok(cli) => return cli.command,
        Err(error) => error,
    };
    let _ = error.print();
    let lacks_dashes = is_run(&args) && !args.iter().any(|arg| arg == "--");
    if lacks_dashes && error.kind() == ErrorKind::UnknownArgument {
        tell!("\nhint: write -- before the command, as in `zonekeep run -- ls`");
    }
    std::process::exit(error.exit_code());
}

/// Reads the command line of `run`, where nothing is wrong with it. The parser of
/// all commands takes longer to make than all else that `run` thinks about.
fn run_alone(args: &[OsString]) -> Option<commands::run::Args> {
    if !is_run(args) {
        return None;
    }
    let parser = commands::run::Args::augment_args(clap::Command::new("run"));
    let matches = parser.try_get_matches_from(&args[1..]).ok()?;
    commands::run::Args::from_arg_matches(&matches).ok()
}

fn is_run(args: &[OsString]) -> bool {
    args.get(1).is_some_and(|arg| arg == "run")
}

fn main() -> ExitCode {
    // What is split off is loaded already, and waits for what this finds out.
    zonekeep::confine::launcher::become_or_split_off("run");
    #[cfg(target_os = "linux")]
    zonekeep::confine::signals::ignore_file_size();
    let result = match command() {
        Command::Run(args) => commands::run::run(args),
        Command::Profile(args) => commands::profile::run(args),
        Command::Mcp(args) => commands::mcp::run(args),
        Command::Work(args) => commands::work::run(args),
        Command::Chat(args) => commands::chat::run(args),
        Command::Init(args) => commands::init::run(args),
        Command::Check(args) => commands::check::run(args),
        Command::Schema(args) => commands::schema::run(args),
        Command::Tool(args) => commands::tool::run(args),
        Command::Explain(args) => commands::explain::run(args),
        Command::Log(args) => commands::log::run(args),
        Command::Replay(args) => commands::replay::run(args),
        Command::Approve(args) => commands::approve::run(args),
        #[cfg(target_os = "linux")]
        Command::Quarantine(args) => commands::quarantine::run(args),
        #[cfg(target_os = "linux")]
        Command::Cache(args) => commands::cache::run(args),
        Command::Doctor(args) => commands::doctor::run(args),
        Command::Trust(args) => commands::trust::run(args),
    };
    match result {
        Ok(code) => code,
        Err(failure) => failure.report(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reads a command line in both ways.
    fn both(line: &str) -> (Option<String>, Option<String>) {
        let args: Vec<OsString> = line.split(' ').map(OsString::from).collect();
        let alone = run_alone(&args).map(|run| format!("{run:?}"));
        let whole = match Cli::try_parse_from(&args).map(|cli| cli.command) {
            Ok(Command::Run(run)) => Some(format!("{run:?}")),
            _ => None,
        };
        (alone, whole)
    }

    #[test]
    fn run_is_read_alone_as_it_is_read_with_all_commands() {
        let right = [
            "zonekeep run -- true",
            "zonekeep run --rw . --ro=/usr --rw b --strict -- run -- --help",
            "zonekeep run --backend none --timeout 3s --limit memory=1G --limit tmp=1M -- -x",
            "zonekeep run --zone a=b:rw --set approval.mode=strict --project . --worker w -- a b",
            "zonekeep run --approve all --answer-within 3s --explain -- a",
            "zonekeep run --approver ./p -- a",
            "zonekeep run --profile codex --rw . -- codex exec hi",
            "zonekeep run --net a,b --allow-host h --env A=b --pass-env C --debug --json -- a",
        ];
        for line in right {
            let (alone, whole) = both(line);
            assert!(alone.is_some(), "{line}");
            assert_eq!(alone, whole, "{line}");
        }
        let wrong = [
            "zonekeep",
            "zonekeep run",
            "zonekeep run ls",
            "zonekeep run --",
            "zonekeep run --help -- a",
            "zonekeep run --version -- a",
            "zonekeep run --strict --strict -- a",
            "zonekeep run --backend docker -- a",
            "zonekeep run --approve all --approver ./p -- a",
            "zonekeep --project . run -- a",
            "zonekeep check run -- a",
        ];
        for line in wrong {
            assert_eq!(both(line), (None, None), "{line}");
        }
    }
}
