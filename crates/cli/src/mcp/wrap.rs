//! `zonekeep mcp wrap`: runs another server of the Model Context Protocol inside
//! the sandbox.

use std::ffi::OsString;
use std::io::{self, IsTerminal};
use std::process::ExitCode;

use crate::commands::run::{self, ConfineArgs};
use crate::failure::{Failure, USAGE};
use crate::relay;

/// Run another MCP server inside the sandbox
///
/// The server gets what the project grants and nothing else; `--worker` narrows it.
/// It speaks with the client as always, over standard input and output.
/// When the client goes away, the server and all that it started end.
///
/// Examples:
///   zonekeep mcp wrap -- npx -y some-mcp-server
///   zonekeep mcp wrap --ro . --limit memory=1G -- python3 server.py
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Args {
    #[command(flatten)]
    confine: ConfineArgs,
    /// The server and its arguments
    #[arg(last = true, required = true, value_name = "SERVER")]
    server: Vec<OsString>,
}

pub(crate) fn run(mut args: Args) -> Result<ExitCode, Failure> {
    if io::stdin().is_terminal() || io::stdout().is_terminal() {
        return Err(Failure::message(USAGE, "a server speaks with a client, not with a terminal")
            .hint("a client starts this; to try a command by hand, use `zonekeep run`"));
    }
    args.confine.prepare()?;
    let sandbox = run::open(&args.confine)?;
    let command = args.confine.command(&sandbox, &args.server)?;
    let outcome = relay::serve(&sandbox, &command).map_err(run::failure)?;
    run::conclude(&outcome, &[])
}
