//! Small files of the system that say what holds inside.

use super::tree::Tree;
use super::{Host, Settings, git};
use crate::plan::Network;

/// Places the files.
pub(super) fn place(tree: &mut Tree<'_>, host: &Host<'_>, settings: &Settings<'_>) {
    let shell = shell(tree);
    let settings_of_git = git::settings(host, &tree.look, settings);
    tree.file(git::SYSTEM_FILE, settings_of_git.file());
    tree.file(git::EXCLUDES_FILE, settings_of_git.excludes);
    tree.file("/etc/passwd", passwd(settings, shell));
    tree.file("/etc/group", group(settings));
    tree.file("/etc/nsswitch.conf", nsswitch(settings.network).to_owned());
    tree.file("/etc/hostname", format!("{}\n", settings.hostname));
    tree.file("/etc/shells", "/bin/sh\n/bin/bash\n".to_owned());
    if !settings.network.has_names_of_host() {
        let name = settings.hostname;
        tree.file("/etc/hosts", format!("127.0.0.1 localhost {name}\n::1 localhost {name}\n"));
        let resolver = match settings.network {
            Network::Gate(_) => "nameserver 127.0.0.1\noptions timeout:2 attempts:2\n",
            // Empty: some programs do not start without the file.
            Network::Off | Network::Host => "",
        };
        tree.file("/etc/resolv.conf", resolver.to_owned());
    }
}

/// Returns the shell of the user inside.
pub(super) fn shell(tree: &Tree<'_>) -> &'static str {
    if tree.leads_to("/bin/bash".as_ref()) { "/bin/bash" } else { "/bin/sh" }
}

/// Java and others take the home directory from here, not from `HOME`.
fn passwd(settings: &Settings<'_>, shell: &str) -> String {
    let Settings { user, uid, gid, home, .. } = *settings;
    let mut text = String::new();
    if uid != 0 {
        text.push_str("root:x:0:0:root:/root:/bin/sh\n");
    }
    text.push_str(&format!("{user}:x:{uid}:{gid}:{user}:{}:{shell}\n", home.display()));
    if uid != 65534 {
        text.push_str("nobody:x:65534:65534:nobody:/nonexistent:/bin/false\n");
    }
    text
}

fn group(settings: &Settings<'_>) -> String {
    let Settings { user, gid, .. } = *settings;
    let mut text = String::new();
    if gid != 0 {
        text.push_str("root:x:0:\n");
    }
    text.push_str(&format!("{user}:x:{gid}:\n"));
    if gid != 65534 {
        text.push_str("nogroup:x:65534:\n");
    }
    text
}

fn nsswitch(network: &Network) -> &'static str {
    match network {
        Network::Off => {
            "passwd: files\ngroup: files\nhosts: files\nservices: files\nprotocols: files\n"
        }
        Network::Host | Network::Gate(_) => {
            "passwd: files\ngroup: files\nhosts: files dns\nservices: files\nprotocols: files\n"
        }
    }
}
