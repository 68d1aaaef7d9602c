//! Programs that connect to other hosts, and what of their words shows it.

use super::lists;
use crate::shell::facts::Facts;
use crate::shell::line::Word;

/// Programs whose work is to connect.
const ALWAYS: &str = "curl wget ssh scp sftp ftp lftp telnet nc ncat netcat ping ping6 dig nslookup \
                      traceroute whois http https xh aria2c mosh autossh s3cmd rclone gh glab hub \
                      aws gcloud gsutil az kubectl helm doctl flyctl fly heroku vercel netlify \
                      wrangler firebase twine ansible ansible-playbook terraform tofu pulumi";

/// Programs, and the subcommands by which they connect.
const SUBCOMMANDS: &[(&str, &str)] = &[
    ("git", "push pull fetch clone ls-remote send-email"),
    (
        "npm pnpm yarn bun",
        "install i ci add update upgrade publish unpublish audit outdated view info search login \
         whoami dist-tag deprecate dlx create",
    ),
    ("pip pip3 pipx", "install download index search"),
    ("uv", "sync add lock publish"),
    ("poetry pdm pipenv rye", "install add update lock publish sync"),
    ("cargo", "install add publish update fetch search login owner yank"),
    ("go", "get install"),
    ("gem bundle bundler", "install update push fetch outdated"),
    ("composer", "install update require"),
    ("apt apt-get dnf yum apk zypper brew snap", "install update upgrade add"),
    ("docker podman", "pull push login run build compose"),
    ("dotnet", "restore"),
    ("conda mamba micromamba", "install create update"),
    ("rustup", "install update toolchain component target"),
    ("svn", "commit ci checkout co update up"),
    ("hg", "push pull clone incoming outgoing"),
    ("deno", "install add publish"),
];

/// The same with two words.
const SUB_SUBCOMMANDS: &[(&str, &str, &str)] = &[
    ("git", "remote", "update prune"),
    ("git", "submodule", "update add"),
    ("git", "lfs", "push pull fetch"),
    ("uv", "pip", "install sync compile"),
    ("go", "mod", "download tidy"),
    ("dart flutter", "pub", "get add upgrade publish"),
    ("mix", "deps.get", ""),
];

/// Subcommands of git that take a repository first.
const BY_URL: &str = "clone fetch pull push ls-remote";

/// Programs that connect to the first host they name, and to no other.
const ONE_HOST: &str = "ssh mosh telnet";

/// Options by which the same work stays on this machine.
const OFFLINE: [&str; 6] =
    ["--offline", "--no-index", "--frozen", "--dry-run", "--help", "--version"];

/// A place that a command connects to, as far as its words show it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Peer {
    /// `HOST` or `HOST:PORT`, and the port where the words leave it out.
    Host(String, u16),
    /// Settings, a file or the running shell name it.
    Unnamed,
}

/// Returns where a command connects to; nothing where its words do not show that it does.
pub(crate) fn peers(facts: &Facts<'_>) -> Vec<Peer> {
    let mut found: Vec<Peer> = facts
        .simple
        .redirects
        .iter()
        .filter_map(|redirect| {
            let target = redirect.target.known()?;
            let rest =
                ["/dev/tcp/", "/dev/udp/"].iter().find_map(|dir| target.strip_prefix(dir))?;
            let (host, port) = rest.split_once('/')?;
            Some(Peer::Host(host.to_owned(), port.parse().unwrap_or(0)))
        })
        .collect();
    let local = |text: &str| text.starts_with(['/', '.']) || text.starts_with("file://");
    // Another repository of this machine is no host.
    let is_git = facts.name == "git" && facts.operand(0).is_some_and(|sub| lists(BY_URL, sub));
    if !connects(facts) || is_git && facts.operand(1).is_some_and(local) {
        return found;
    }
    let named: Vec<Peer> = facts
        .args
        .operands
        .iter()
        .filter(|operand| {
            operand.after.is_none() || is_url(operand.word) || is_loopback(operand.word)
        })
        // The words after the host are a command of that host.
        .take(if lists(ONE_HOST, facts.name) { 1 } else { usize::MAX })
        .filter_map(|operand| peer(facts.name, operand.word.known()?))
        .collect();
    let url = facts.args.flags.iter().filter(|flag| flag.is("--url"));
    let urls = url.filter_map(|flag| peer(facts.name, flag.value.as_ref()?.known()?));
    let named: Vec<Peer> = named.into_iter().chain(urls).collect();
    match named.is_empty() {
        true => found.push(Peer::Unnamed),
        false => found.extend(named),
    }
    found
}

/// Returns whether a program connects, by what it is told to do.
pub(crate) fn names(name: &str, words: &[&str]) -> bool {
    let sub = |at: usize| words.get(at).copied().unwrap_or_default();
    // Without a subcommand, yarn installs.
    lists(ALWAYS, name)
        || name == "yarn" && words.is_empty()
        || SUBCOMMANDS.iter().any(|(names, subs)| lists(names, name) && lists(subs, sub(0)))
        || SUB_SUBCOMMANDS.iter().any(|(names, first, subs)| {
            lists(names, name) && sub(0) == *first && (subs.is_empty() || lists(subs, sub(1)))
        })
}

fn connects(facts: &Facts<'_>) -> bool {
    if OFFLINE.iter().any(|flag| facts.args.flags.iter().any(|held| held.name == *flag)) {
        return false;
    }
    let words: Vec<&str> = facts.args.operands.iter().map_while(|o| o.word.known()).collect();
    // An option that takes a value leaves the subcommand to be second.
    let taken = facts.args.operands.iter().take_while(|o| o.after.is_some()).count();
    let module = facts.args.flags.iter().find(|flag| flag.name == "-m");
    let module = module.and_then(|flag| flag.value.as_ref()?.known());
    let is_python = facts.name.starts_with("python");
    let name = if is_python { module.unwrap_or_default() } else { facts.name };
    (0..=taken.min(words.len())).any(|at| names(name, &words[at..]))
}

/// Returns whether a word is a host of this machine, so that it counts also after an option
/// that might take it: `curl -s localhost:3000`.
fn is_loopback(word: &Word) -> bool {
    let host = word.known().and_then(|text| text.split(['/', '?']).next()).unwrap_or_default();
    let name = host.rsplit_once(':').map_or(host, |(name, _)| name);
    name == "localhost" || name.starts_with("127.") || host == "::1" || name == "[::1]"
}

fn is_url(word: &Word) -> bool {
    word.known().is_some_and(|text| text.contains("://"))
}

/// Returns the host in a URL, in `user@host:path`, or in the first word of a program that
/// takes hosts.
fn peer(name: &str, text: &str) -> Option<Peer> {
    let (scheme, rest) = match text.split_once("://") {
        Some((scheme, rest)) => (Some(scheme), rest),
        None => (None, text),
    };
    if scheme == Some("file") {
        return None;
    }
    let authority = rest.split(['/', '?', '#']).next()?;
    let (user, host) = match authority.rsplit_once('@') {
        Some((user, host)) => (Some(user), host),
        None => (None, authority),
    };
    let takes_hosts = matches!(
        name,
        "curl" | "wget" | "ssh" | "sftp" | "ping" | "ping6" | "telnet" | "nc" | "ncat" | "netcat"
    ) || matches!(name, "http" | "https" | "xh" | "dig" | "nslookup" | "mosh");
    let remote = lists("scp rsync git", name) && (user.is_some() || rest.contains(':'));
    if scheme.is_none() && !takes_hosts && !remote || host.is_empty() {
        return None;
    }
    let port = match scheme.unwrap_or(name) {
        "http" | "curl" | "wget" | "xh" => 80,
        "ssh" | "scp" | "sftp" | "rsync" | "mosh" => 22,
        "git" if scheme.is_none() => 22,
        _ => 443,
    };
    // What follows the host of `scp` and of a repository is a path.
    let host = if remote && scheme.is_none() { host.split(':').next()? } else { host };
    let numbers = host.chars().all(|c| c.is_ascii_digit());
    (!numbers).then(|| Peer::Host(host.to_owned(), port))
}
