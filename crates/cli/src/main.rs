//! The `zonekeep` program.

// This is the one crate that talks to the terminal.
#![allow(clippy::print_stdout, clippy::print_stderr)]

use std::process::ExitCode;

use clap::{Parser, Subcommand};

mod commands;
mod failure;
mod mcp;
mod output;
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
    Doctor(commands::doctor::Args),
    Trust(commands::trust::Args),
}

fn main() -> ExitCode {
    // What is split off is loaded already, and waits for what this finds out.
    zonekeep::confine::launcher::become_or_split_off("run");
    let cli = Cli::parse();
    let result = match cli.command {
        Command::Run(args) => commands::run::run(args),
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
        Command::Doctor(args) => commands::doctor::run(args),
        Command::Trust(args) => commands::trust::run(args),
    };
    match result {
        Ok(code) => code,
        Err(failure) => failure.report(),
    }
}
