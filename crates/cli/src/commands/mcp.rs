//! `zonekeep mcp`: serves the sandbox to clients of the Model Context Protocol.

use std::io::{self, IsTerminal};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use zonekeep::approve::{
    AllNo, AllYes, Answer, Approver, Opening, Program, Request, Socket, Unfit, visible,
};

use crate::failure::{Failure, USAGE};
use crate::mcp::{self, Asking, Http, Serving, install, wrap};
use crate::project_args::{
    DirArgs, NotifyArgs, ProjectArgs, WeakerArgs, announced, state, time, unfit,
};

/// Serve the sandbox to an agent by the Model Context Protocol
///
/// Speaks on standard input and output; clients start it by themselves. The agent
/// gets the tools that `zonekeep tool` lists, held to the project file, and what
/// the rules ask for is asked in the client.
///
/// Examples:
///   claude mcp add zonekeep -- zonekeep mcp
///   zonekeep mcp --rw .
///   zonekeep mcp --worker review.worker
///   zonekeep mcp --http 127.0.0.1:7333 --token-file ~/.config/zonekeep/token
#[derive(clap::Args)]
#[command(verbatim_doc_comment, args_conflicts_with_subcommands = true)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Option<Sub>,
    #[command(flatten)]
    dirs: DirArgs,
    #[command(flatten)]
    project: ProjectArgs,
    #[command(flatten)]
    weaker: WeakerArgs,
    /// Use what this worker file needs instead of the whole project
    #[arg(long, value_name = "FILE")]
    worker: Option<PathBuf>,
    /// Who answers questions: client (the default: the client asks its user; where it
    /// cannot, whoever is attached with `zonekeep approve`), socket (whoever is attached),
    /// all (every answer is yes), none (every answer is no), or a program's path. Overrides
    /// `approval.mode: auto` of the file
    #[arg(long, value_name = "WHO")]
    approve: Option<Who>,
    /// How long an answer may take, such as 30s (5m if left out)
    #[arg(long, value_name = "TIME")]
    answer_within: Option<String>,
    #[command(flatten)]
    notify: NotifyArgs,
    /// Serve on a port instead, such as 127.0.0.1:7333
    #[arg(long, value_name = "ADDR", requires = "token_file")]
    http: Option<SocketAddr>,
    /// The file with the token that clients have to send; made where it is missing
    #[arg(long, value_name = "FILE", requires = "http")]
    token_file: Option<PathBuf>,
    /// A name that clients may know the port by, beside its address
    #[arg(long, value_name = "NAME", requires = "http")]
    allow_host: Vec<String>,
    /// Web pages that may talk to the port, such as `https://example.org`; none if left out
    #[arg(long, value_name = "ORIGIN", requires = "http")]
    allow_origin: Vec<String>,
}

#[derive(clap::Subcommand)]
enum Sub {
    Install(install::Args),
    Uninstall(install::uninstall::Args),
    Wrap(Box<wrap::Args>),
}

/// Who answers questions.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Who {
    Client,
    Socket,
    All,
    None,
    Program(PathBuf),
}

impl FromStr for Who {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Ok(match text {
            "client" => Who::Client,
            "socket" => Who::Socket,
            "all" => Who::All,
            "none" => Who::None,
            path if path.contains('/') => Who::Program(path.into()),
            _ => return Err("write client, socket, all, none, or a program's path".to_owned()),
        })
    }
}

/// A socket that is only there for clients that cannot ask: where it cannot be made,
/// nobody is asked for those.
struct Perhaps(Arc<Socket>);

impl Approver for Perhaps {
    fn begin(&self, opening: &Opening<'_>) -> Result<(), Unfit> {
        if let Err(error) = self.0.begin(opening) {
            let error = visible(&error.to_string());
            tell!("zonekeep: `zonekeep approve` cannot answer for this server: {error}");
        }
        Ok(())
    }

    fn ask(&self, request: &Request) -> Answer {
        self.0.ask(request)
    }

    fn name(&self) -> &str {
        self.0.name()
    }
}

pub(crate) fn run(mut args: Args) -> Result<ExitCode, Failure> {
    match args.command {
        Some(Sub::Install(args)) => return install::run(args),
        Some(Sub::Uninstall(args)) => return install::uninstall::run(args),
        Some(Sub::Wrap(args)) => return wrap::run(*args),
        None => {}
    }
    if args.http.is_none() && io::stdin().is_terminal() {
        return Err(Failure::message(
            USAGE,
            "stdin is a terminal: `zonekeep mcp` is a server that an MCP client starts and talks \
             to over stdin and stdout",
        )
        .hint(
            "`zonekeep mcp install CLIENT` sets a client up (claude-code, codex, cursor …); \
             `zonekeep tool` calls the same tools by hand; --http serves on a port",
        ));
    }
    args.project.dirs = args.dirs;
    let within = match &args.answer_within {
        Some(text) => time("--answer-within", text)?,
        None => Duration::from_secs(5 * 60),
    };
    let http = match (args.http, args.token_file) {
        (Some(addr), Some(token_file)) => {
            let (hosts, origins) = (args.allow_host, args.allow_origin);
            Some(Http { addr, token_file, hosts, origins })
        }
        (None, None) => None,
        _ => return Err(Failure::message(USAGE, "--http and --token-file belong together")),
    };
    let overrides_auto = !matches!(args.approve, None | Some(Who::All));
    let who = args.approve.unwrap_or(Who::Client);
    let asking = match &who {
        Who::Client => Asking::Client,
        Who::Socket => Asking::Socket,
        Who::All | Who::None | Who::Program(_) => Asking::Itself,
    };
    let notifier = args.notify.open()?;
    let notify = notifier.clone();
    let answering = Box::new(move || {
        let approver: Box<dyn Approver> = match &who {
            Who::All => Box::new(AllYes),
            Who::None => Box::new(AllNo),
            Who::Program(path) => Box::new(Program::new(path).map_err(unfit)?.within(within)),
            Who::Client | Who::Socket => {
                let socket = Arc::new(Socket::of_user(&state()?).within(within));
                let approver: Box<dyn Approver> = match &who {
                    Who::Client => Box::new(Perhaps(Arc::clone(&socket))),
                    _ => Box::new(Arc::clone(&socket)),
                };
                return Ok((announced(approver, notify.as_ref()), Some(socket)));
            }
        };
        Ok((approver, None))
    });
    let (project, worker, weaker) = (args.project, args.worker, args.weaker.weaker()?);
    mcp::serve(Serving {
        project,
        worker,
        weaker,
        asking,
        overrides_auto,
        answering,
        within,
        http,
        notifier,
    })?;
    Ok(ExitCode::SUCCESS)
}
