//! `zonekeep trust`: shows what a project file opens, and remembers the answer.

use std::fs::OpenOptions;
use std::io::{BufRead, BufReader, Write};
use std::process::ExitCode;

use zonekeep::Session;
use zonekeep::approve::visible;
use zonekeep::explain::connect::look_up_presets;
use zonekeep::explain::run::HostLine;
use zonekeep::trust::{Standing, TrustStore};

use crate::failure::{Failure, NEGATIVE, UNSAFE};
use crate::output;
use crate::project_args::{ProjectArgs, state};

/// Let a project file reach outside its own directory, and running servers use its rules
///
/// Shows what the file opens, with the hosts of its network presets, and the rules that it
/// loosens, and asks. The answer holds for this file until it opens more: comments and
/// stricter values need no new one.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Do not ask
    #[arg(long)]
    yes: bool,
    #[command(flatten)]
    project: ProjectArgs,
}

pub(crate) fn run(args: Args) -> Result<ExitCode, Failure> {
    // A yes in a sandbox would be written to a private directory, and say otherwise.
    if std::env::var_os("ZONEKEEP").is_some_and(|value| value == "1") {
        let failure =
            Failure::message(UNSAFE, "a command in a sandbox cannot trust a project file");
        return Err(failure.hint("the user can run `zonekeep trust` in a terminal of their own"));
    }
    let project = args.project.load()?;
    let state = state()?;
    let reach = Session::reach(&project, &state)?;
    let store = TrustStore::new(&state);
    let standing = store.standing(&project, &reach);
    if standing == Standing::Trusted {
        let text = match reach.is_empty() {
            true => {
                "This project stays inside its own directory, and its rules are nowhere looser \
                     than those you have trusted."
            }
            false => "This project file is trusted already.",
        };
        output::text(text)?;
        return Ok(ExitCode::SUCCESS);
    }
    let looser = store.looser(&project, &reach);
    let is_changed = matches!(standing, Standing::Changed(_));
    if reach.is_empty() && looser.is_empty() && !is_changed {
        let text = match project.file {
            Some(_) => {
                "This project stays inside its own directory, and its rules are nowhere \
                        looser than the defaults; there is nothing to trust."
            }
            None => "This project stays inside its own directory; there is nothing to trust.",
        };
        output::text(text)?;
        return Ok(ExitCode::SUCCESS);
    }
    let file = project.file.as_deref().unwrap_or(&project.dir);
    let mut text = match reach.is_empty() {
        true => format!("{} stays inside its own directory\n", file.display()),
        false => format!("{} lets agents\n", file.display()),
    };
    for reach in &reach {
        text.push_str(&format!("  {}  ({})\n", reach.what.replace('\n', "\\n"), reach.at));
    }
    let presets = look_up_presets(&project, &state);
    for HostLine { host, from } in presets.hosts {
        text.push_str(&format!("    host: {}\n", format!("{host} ({from})").replace('\n', "\\n")));
    }
    for warning in presets.warnings {
        text.push_str(&format!("    {}\n", warning.replace('\n', "\\n")));
    }
    if let Standing::Changed(changes) = &standing {
        text.push_str(&format!("Since you trusted it last:{changes}\n"));
    }
    for (title, rules) in [
        ("Running servers withhold until you trust it", &looser.withheld),
        ("May be looser than the defaults", &looser.than_defaults),
    ] {
        if !rules.is_empty() {
            text.push_str(&format!("{title}:\n"));
        }
        for rule in rules {
            text.push_str(&format!("  {}\n", rule.replace('\n', "\\n")));
        }
    }
    output::text(&visible(&text))?;
    if !args.yes && output::is_closed() {
        return Err(Failure::message(
            UNSAFE,
            "the list could not be shown: standard output is closed",
        ));
    }
    if !args.yes && !ask()? {
        return Err(Failure::message(NEGATIVE, "not trusted"));
    }
    store.trust(&project, &reach)?;
    output::text(
        "Trusted. Servers that are running use the file as it is now. If the file opens more, it \
         has to be trusted again.",
    )?;
    Ok(ExitCode::SUCCESS)
}

fn ask() -> Result<bool, Failure> {
    let tty = OpenOptions::new().read(true).write(true).open("/dev/tty");
    let mut tty = tty.map_err(|_| {
        Failure::message(UNSAFE, "there is no terminal to ask on")
            .hint("run `zonekeep trust` in a terminal, or `zonekeep trust --yes` if you have read the list")
    })?;
    // What was typed before the question is not an answer to it; what comes after it is.
    let _ = rustix::termios::tcflush(&tty, rustix::termios::QueueSelector::IFlush);
    tty.write_all(b"Trust it? [y/N] ")?;
    let mut line = String::new();
    BufReader::new(tty).read_line(&mut line)?;
    Ok(matches!(line.trim(), "y" | "Y" | "yes"))
}
