//! What the machine says about itself, and what follows from it.

use std::fs;
use std::path::Path;

use crate::plan::Backend;

/// What decides whether namespaces can be made.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Facts {
    /// The kernel's release.
    pub(super) kernel: Option<String>,
    /// How many user namespaces there may be.
    max_user_namespaces: Option<u64>,
    /// Debian's switch for users.
    unprivileged_userns_clone: Option<u64>,
    /// Ubuntu's switch for programs without a profile.
    apparmor_restricts: bool,
    /// Whether this is a container.
    container: bool,
    /// Whether the caller is the superuser.
    root: bool,
    /// The program that installs others.
    installer: Option<&'static str>,
}

impl Facts {
    pub(super) fn read() -> Self {
        let number = |path: &str| fs::read_to_string(path).ok()?.trim().parse::<u64>().ok();
        let installers = [
            ("/usr/bin/apt", "apt install"),
            ("/usr/bin/dnf", "dnf install"),
            ("/usr/bin/pacman", "pacman -S"),
            ("/usr/bin/zypper", "zypper install"),
            ("/sbin/apk", "apk add"),
        ];
        Facts {
            kernel: rustix::system::uname().release().to_str().ok().map(str::to_owned),
            max_user_namespaces: number("/proc/sys/user/max_user_namespaces"),
            unprivileged_userns_clone: number("/proc/sys/kernel/unprivileged_userns_clone"),
            apparmor_restricts: number("/proc/sys/kernel/apparmor_restrict_unprivileged_userns")
                .is_some_and(|number| number != 0),
            container: ["/.dockerenv", "/run/.containerenv"]
                .iter()
                .any(|path| Path::new(path).exists()),
            root: rustix::process::geteuid().is_root(),
            installer: installers
                .iter()
                .find(|(path, _)| Path::new(path).exists())
                .map(|(_, installer)| *installer),
        }
    }

    /// Returns the command that installs a package.
    pub(super) fn install(&self, package: &str) -> String {
        format!("{} {package}", self.installer.unwrap_or("apt install"))
    }

    /// Returns why a tree could not be made, and what would help.
    pub(super) fn explain(
        &self,
        backend: Backend,
        step: &str,
        errno: Option<i32>,
    ) -> (String, Option<String>) {
        // The others need no namespaces, and nothing that is known here helps them.
        if !matches!(backend, Backend::Namespaces | Backend::Bubblewrap) {
            return (step.to_owned(), None);
        }
        let with = |why: &str, raise: &str| (format!("{why} ({step})"), Some(raise.to_owned()));
        let refused = match errno {
            Some(errno) => [libc::EPERM, libc::EACCES, libc::ENOSPC].contains(&errno),
            // `bwrap` only has words.
            None => ["ermission denied", "not permitted", "No space left", "No permissions"]
                .iter()
                .any(|words| step.contains(words)),
        };
        if self.max_user_namespaces == Some(0) {
            let why = "user namespaces are switched off";
            return with(why, "sysctl -w user.max_user_namespaces=15000");
        }
        if self.unprivileged_userns_clone == Some(0) && !self.root {
            let why = "user namespaces are switched off for users";
            return with(why, "sysctl -w kernel.unprivileged_userns_clone=1");
        }
        if errno == Some(libc::ENOSYS) {
            let release = self.kernel.as_deref().unwrap_or("unknown");
            let why = format!("the kernel ({release}) is too old, or a container hides its calls");
            return with(&why, "a kernel from 5.10 on");
        }
        if !refused {
            return (step.to_owned(), None);
        }
        if step.contains("mount /proc") || step.contains("mount proc") {
            let why = "parts of /proc are covered here, and so a new one cannot be mounted";
            return with(why, "docker run --security-opt systempaths=unconfined");
        }
        if self.container {
            let why = "the container does not let programs make namespaces";
            return with(
                why,
                "docker run --security-opt seccomp=unconfined \
                 --security-opt apparmor=unconfined --security-opt systempaths=unconfined",
            );
        }
        if self.apparmor_restricts && !self.root {
            return match backend {
                Backend::Bubblewrap => with(
                    "AppArmor does not let bwrap make user namespaces",
                    "ln -s /usr/share/apparmor/extra-profiles/bwrap-userns-restrict \
                     /etc/apparmor.d/ && apparmor_parser -r /etc/apparmor.d/bwrap-userns-restrict",
                ),
                _ => with(
                    "AppArmor does not let programs without a profile make user namespaces",
                    "a profile for zonekeep in /etc/apparmor.d, or \
                     sysctl -w kernel.apparmor_restrict_unprivileged_userns=0",
                ),
            };
        }
        (format!("this machine does not let programs make namespaces ({step})"), None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stands_in_the_way_and_what_would_help() {
        let user = Facts { kernel: Some("5.4".to_owned()), ..Facts::default() };
        let perm = Some(libc::EPERM);
        let cases = [
            (Facts { max_user_namespaces: Some(0), ..user.clone() }, Some(libc::ENOSPC), "x"),
            (Facts { unprivileged_userns_clone: Some(0), ..user.clone() }, perm, "x"),
            (Facts { apparmor_restricts: true, ..user.clone() }, perm, "make an empty root"),
            (Facts { container: true, ..user.clone() }, perm, "make namespaces"),
            (Facts { container: true, ..user.clone() }, perm, "mount /proc"),
            (user.clone(), Some(libc::ENOSYS), "set the rights of /usr"),
            (user.clone(), perm, "make namespaces"),
            (Facts { container: true, ..user.clone() }, Some(libc::ENOENT), "take /gone"),
            (Facts { container: true, ..user }, None, "No permissions to create new namespace"),
        ];
        let text = cases.map(|(facts, errno, step)| {
            let (why, raise) = facts.explain(Backend::Namespaces, step, errno);
            format!("{why}: {}", raise.as_deref().unwrap_or("-"))
        });
        insta::assert_snapshot!(text.join("\n"), @"
        user namespaces are switched off (x): sysctl -w user.max_user_namespaces=15000
        user namespaces are switched off for users (x): sysctl -w kernel.unprivileged_userns_clone=1
        AppArmor does not let programs without a profile make user namespaces (make an empty root): a profile for zonekeep in /etc/apparmor.d, or sysctl -w kernel.apparmor_restrict_unprivileged_userns=0
        the container does not let programs make namespaces (make namespaces): docker run --security-opt seccomp=unconfined --security-opt apparmor=unconfined --security-opt systempaths=unconfined
        parts of /proc are covered here, and so a new one cannot be mounted (mount /proc): docker run --security-opt systempaths=unconfined
        the kernel (5.4) is too old, or a container hides its calls (set the rights of /usr): a kernel from 5.10 on
        this machine does not let programs make namespaces (make namespaces): -
        take /gone: -
        the container does not let programs make namespaces (No permissions to create new namespace): docker run --security-opt seccomp=unconfined --security-opt apparmor=unconfined --security-opt systempaths=unconfined
        ");
    }
}
