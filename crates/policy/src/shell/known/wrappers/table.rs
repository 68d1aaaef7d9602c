//! The wrappers, and how each of them reads its words.

/// How the inner command follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Inner {
    /// As words, after so many operands.
    Words(usize),
    /// As words after assignments.
    Env,
    /// As words to which others are added that nobody knows yet.
    Xargs,
    /// As words that are joined and given to a shell, after so many operands.
    Joined(usize),
    /// As the text after `-c`, where there is one.
    Shell,
    /// As the value of `-c`.
    Command,
    /// As words after one of these words, and so many operands.
    After(&'static [(&'static str, usize)]),
    /// As all words, joined.
    Eval,
    /// As the first word.
    Trap,
    /// After `-exec` and the like.
    Find,
    /// After `-x` and the like.
    Fd,
    /// After `--args`.
    Gdb,
    /// In a way that is not followed.
    Lost,
}

/// What is known of a wrapper. Lists are separated by spaces.
pub(super) struct Row {
    pub(super) names: &'static str,
    /// Whether the inner command is all that matters.
    pub(super) transparent: bool,
    pub(super) inner: Inner,
    /// Options without a value.
    pub(super) bare: &'static str,
    /// Options with one.
    pub(super) values: &'static str,
    /// Options by which there is no inner command at all.
    pub(super) none: &'static str,
    /// Whether the inner command may start in another directory: always, or by
    /// one of these options.
    pub(super) moves: &'static str,
    /// Options that take variables from the inner command.
    pub(super) takes: &'static str,
    /// Whether a rule for the whole speaks of the inner command as well, so that
    /// of the rules for that only those that block matter.
    pub(super) named: bool,
}

const ROW: Row = Row {
    names: "",
    transparent: false,
    inner: Inner::Words(0),
    bare: "",
    values: "",
    none: "",
    moves: "",
    takes: "",
    named: false,
};

pub(super) static TABLE: &[Row] = &[
    Row {
        names: "env",
        transparent: true,
        inner: Inner::Env,
        bare: "-i --ignore-environment -0 --null -v --debug -",
        values: "-u --unset -C --chdir",
        moves: "-C --chdir",
        takes: "-i --ignore-environment - -u --unset",
        ..ROW
    },
    Row {
        names: "timeout gtimeout",
        transparent: true,
        inner: Inner::Words(1),
        bare: "--preserve-status --foreground -v --verbose -p -f",
        values: "-k --kill-after -s --signal",
        ..ROW
    },
    Row {
        names: "nice",
        transparent: true,
        values: "-n --adjustment",
        bare: "-0 -1 -2 -3 -4 -5 -6 -7 -8 -9",
        ..ROW
    },
    Row { names: "nohup", transparent: true, ..ROW },
    Row {
        names: "time",
        transparent: true,
        bare: "-p --portability -v --verbose -q --quiet",
        values: "-f --format",
        ..ROW
    },
    Row { names: "command", transparent: true, bare: "-p", none: "-v -V", ..ROW },
    Row { names: "builtin noglob nocorrect -", transparent: true, ..ROW },
    Row { names: "stdbuf", transparent: true, values: "-i --input -o --output -e --error", ..ROW },
    Row {
        names: "ionice",
        transparent: true,
        bare: "-t --ignore",
        values: "-c --class -n --classdata",
        none: "-p --pid -P --pgid -u --uid",
        ..ROW
    },
    Row { names: "setsid", transparent: true, bare: "-c --ctty -f --fork -w --wait", ..ROW },
    Row {
        names: "chrt",
        transparent: true,
        inner: Inner::Words(1),
        bare: "-f --fifo -r --rr -o --other -b --batch -i --idle -d --deadline -v --verbose -R --reset-on-fork",
        values: "-T --sched-runtime -P --sched-period -D --sched-deadline",
        none: "-p --pid -m --max",
        ..ROW
    },
    Row {
        names: "taskset",
        transparent: true,
        inner: Inner::Words(1),
        bare: "-c --cpu-list -a --all-tasks",
        none: "-p --pid",
        ..ROW
    },
    Row { names: "unbuffer", transparent: true, bare: "-p", ..ROW },
    // Those that matter themselves.
    Row {
        names: "sudo",
        inner: Inner::Env,
        bare: "-A -b -E -H -i -K -k -n -P -S -s -B -N --askpass --background --preserve-env --set-home --login --non-interactive --stdin --shell --reset-timestamp",
        values: "-u --user -g --group -h --host -p --prompt -C --close-from -r --role -t --type -T --command-timeout -U --other-user -D --chdir -R --chroot",
        none: "-e --edit -l --list -v --validate -V --version",
        moves: "-D --chdir -i --login -R --chroot",
        ..ROW
    },
    Row { names: "doas", inner: Inner::Env, bare: "-n -s -L", values: "-u -C", ..ROW },
    Row {
        names: "pkexec",
        bare: "--disable-internal-agent --keep-cwd",
        values: "--user",
        moves: "*",
        ..ROW
    },
    // Another shell (`-s`) or a command in words (`runuser -u`) is not followed.
    Row {
        names: "su runuser sg",
        inner: Inner::Command,
        bare: "- -f --fast -l --login -m -p --preserve-environment -P",
        values: "-g --group -G --supp-group -w --whitelist-environment",
        moves: "*",
        ..ROW
    },
    Row {
        names: "xargs",
        inner: Inner::Xargs,
        bare: "-0 --null -r --no-run-if-empty -t --verbose -p --interactive -x --exit -o --open-tty",
        values: "-n --max-args -P --max-procs -L -s --max-chars -a --arg-file -d --delimiter -E -I --process-slot-var",
        ..ROW
    },
    Row { names: "find", inner: Inner::Find, ..ROW },
    Row { names: "fd fdfind", inner: Inner::Fd, ..ROW },
    Row { names: SHELLS, inner: Inner::Shell, ..ROW },
    Row {
        names: "watch",
        inner: Inner::Joined(0),
        bare: "-b --beep -c --color -C --no-color -d --differences -e --errexit -g --chgexit -p --precise -r --no-rerun -t --no-title -w --no-wrap -x --exec",
        values: "-n --interval -q --equexit",
        ..ROW
    },
    Row {
        names: "parallel entr expect at batch fish csh tcsh nu pwsh perf hyperfine screen tmux dtach abduco start-stop-daemon daemonize run-parts capsh setarch linux32 linux64 nix-shell guix socat ncat",
        inner: Inner::Lost,
        ..ROW
    },
    Row {
        names: "ssh",
        inner: Inner::Joined(1),
        bare: "-4 -6 -A -a -C -f -G -g -K -k -M -N -n -q -s -T -t -V -v -X -x -Y -y",
        values: "-B -b -c -D -E -e -F -I -i -J -L -l -m -O -o -P -p -Q -R -S -W -w",
        moves: "*",
        ..ROW
    },
    Row {
        names: "script",
        inner: Inner::Command,
        bare: "-a --append -e --return -f --flush --force -q --quiet",
        values: "-I --log-in -O --log-out -B --log-io -T --log-timing -m --logging-format -E --echo -o --output-limit",
        ..ROW
    },
    Row {
        names: "strace",
        bare: "-A -f -F -c -C -d -i -k -n -N -q -r -t -T -v -w -x -y -Y -z -Z -D",
        values: "-e -o -p -s -u -a -E -P -S -b -I -X -O -U",
        ..ROW
    },
    Row {
        names: "ltrace",
        bare: "-b -c -C -f -i -L -r -S -t -T",
        values: "-a -A -D -e -F -l -n -o -p -s -u -w -x",
        ..ROW
    },
    Row { names: "gdb lldb", inner: Inner::Gdb, ..ROW },
    Row {
        names: "chroot",
        inner: Inner::Words(1),
        bare: "--skip-chdir",
        values: "--userspec --groups",
        moves: "*",
        ..ROW
    },
    Row {
        names: "unshare",
        bare: "-m --mount -u --uts -i --ipc -n --net -p --pid -U --user -C --cgroup -T --time -f --fork -r --map-root-user -c --map-current-user --map-auto --mount-proc --keep-caps --kill-child",
        values: "--map-user --map-group --map-users --map-groups --propagation --setgroups -R --root -w --wd -S --setuid -G --setgid",
        moves: "-R --root -w --wd",
        ..ROW
    },
    Row {
        names: "nsenter",
        bare: "-a --all -m --mount -u --uts -i --ipc -n --net -p --pid -U --user -C --cgroup -F --no-fork --preserve-credentials -r --root -w --wd",
        values: "-t --target -S --setuid -G --setgid",
        moves: "*",
        ..ROW
    },
    Row {
        names: "flock",
        inner: Inner::Words(1),
        bare: "-s --shared -x -e --exclusive -n --nonblock --nb -u --unlock -o --close -F --no-fork --verbose",
        values: "-w --timeout --wait -E --conflict-exit-code",
        ..ROW
    },
    Row { names: "busybox toybox", ..ROW },
    Row { names: "exec", bare: "-c -l", values: "-a", takes: "-c", ..ROW },
    Row { names: "eval", inner: Inner::Eval, ..ROW },
    Row { names: "trap", inner: Inner::Trap, ..ROW },
    Row {
        names: "fakeroot catchsegv eatmydata dbus-run-session proxychains proxychains4 torsocks firejail bwrap proot systemd-run prlimit numactl xvfb-run caffeinate systemd-inhibit cgexec valgrind rlwrap winpty setpriv runcon ld.so ld-linux.so.2 ld-linux-x86-64.so.2 ld-linux-aarch64.so.1 ld-musl-x86_64.so.1 ld-musl-aarch64.so.1 dotenv",
        ..ROW
    },
    Row { names: "uvx npx bunx pnpx", named: true, ..ROW },
    Row { names: "faketime setuidgid envdir", inner: Inner::Words(1), ..ROW },
    // Those of which some subcommands run a command.
    Row {
        names: "uv poetry pipenv pdm rye hatch conda mamba micromamba bundle asdf pipx op doppler dotenvx dvc pixi",
        inner: Inner::After(&[("run", 0), ("exec", 0)]),
        named: true,
        ..ROW
    },
    Row {
        names: "npm pnpm yarn bun mise",
        inner: Inner::After(&[("exec", 0), ("x", 0), ("dlx", 0)]),
        named: true,
        ..ROW
    },
    Row { names: "ip", inner: Inner::After(&[("netns exec", 1)]), named: true, ..ROW },
    Row { names: "rustup", inner: Inner::After(&[("run", 1)]), named: true, ..ROW },
    Row { names: "direnv", inner: Inner::After(&[("exec", 1)]), named: true, ..ROW },
    Row {
        names: "docker podman nerdctl kubectl oc distrobox toolbox",
        inner: Inner::After(&[("exec", 1), ("run", 1)]),
        named: true,
        moves: "*",
        ..ROW
    },
    Row {
        names: "git",
        inner: Inner::After(&[("bisect run", 0), ("submodule foreach", 0)]),
        named: true,
        ..ROW
    },
];

/// The shells that take a line with `-c`.
pub(super) const SHELLS: &str = "sh bash dash ash ksh zsh mksh rbash";
