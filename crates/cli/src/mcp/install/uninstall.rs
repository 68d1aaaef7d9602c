//! `zonekeep mcp uninstall`: takes the entry of the server out of a client's settings.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::builder::PossibleValuesParser;

use super::clients::{self, CLIENTS, Client, Deny};
use super::{Change, Edit, To, apply, check_name, write};
use crate::failure::{Failure, USAGE};
use crate::output;
use crate::project_args::project_dir;

/// Take the server out of a client's settings
///
/// Shows the file and the change, and asks before it writes. The old file is kept
/// beside the new one.
///
/// Examples:
///   zonekeep mcp uninstall claude-code
///   zonekeep mcp uninstall gemini --deny-native
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Args {
    /// The client
    #[arg(value_parser = PossibleValuesParser::new(CLIENTS.iter().map(|client| client.name)))]
    client: String,
    /// Do not ask
    #[arg(long)]
    yes: bool,
    /// Change your own settings instead of the project's
    #[arg(long)]
    user: bool,
    /// What the client calls the server
    #[arg(long, default_value = "zonekeep")]
    name: String,
    /// Use the project in this directory instead of searching upward
    #[arg(long, value_name = "DIR")]
    project: Option<PathBuf>,
    /// Take back what `install --deny-native` has set, too
    #[arg(long)]
    deny_native: bool,
}

pub(crate) fn run(args: Args) -> Result<ExitCode, Failure> {
    let Some(client) = clients::find(&args.client) else {
        return Err(Failure::message(USAGE, format!("'{}' is not a client", args.client)));
    };
    check_name(&args.name)?;
    let dir = project_dir(args.project.as_deref())?;
    let place = client.place(args.user)?;
    let path = vec![client.key.to_owned(), args.name.clone()];
    let gone = vec![Edit { path, to: To::Gone(None) }];
    let mut changes = vec![Change { place, path: place.path(&dir)?, edits: gone }];
    let denied = denied(client, &args, &dir)?;
    if args.deny_native {
        super::join(&mut changes, denied);
    } else if let Some(change) = denied
        && !apply(client, std::slice::from_ref(&change))?.is_empty()
    {
        output::text(&format!(
            "{}'s own tools are switched off in {} and stay so; --deny-native takes that back too",
            client.title,
            change.path.display()
        ))?;
    }
    let todo = apply(client, &changes)?;
    if todo.is_empty() {
        output::text(&format!("{} has no such server; nothing was changed.", client.title))?;
        return Ok(ExitCode::SUCCESS);
    }
    write(client, &dir, &changes, &todo, args.yes)?;
    Ok(ExitCode::SUCCESS)
}

/// Returns the change that takes `install --deny-native` back.
fn denied(client: &Client, args: &Args, dir: &std::path::Path) -> Result<Option<Change>, Failure> {
    let Deny::By { project, user, edits, .. } = &client.deny else { return Ok(None) };
    let place = project.filter(|_| !args.user).unwrap_or(*user);
    let edits = edits(&args.name).iter().map(Edit::undone).collect();
    Ok(Some(Change { place, path: place.path(dir)?, edits }))
}
