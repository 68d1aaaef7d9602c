//! How programs read their options: which of them take the next word, which
//! mean the same, and whether `-abc` is three options or one.

use std::collections::HashMap;
use std::sync::LazyLock;

use super::{lists, without_version};

/// Whether a word such as `-abc` is several options.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Style {
    /// `-abc` is `-a -b -c`, as with `getopt`.
    Clusters,
    /// `-abc` is one option, as with `find`.
    OneDash,
    /// As clusters, and the first word is a cluster without its dash, as with `tar`.
    OldTar,
}

/// How one program, or one subcommand of it, reads its options. Lists are
/// separated by spaces.
#[derive(Debug)]
pub(crate) struct Options {
    /// Whether `-abc` is several options.
    pub(crate) style: Style,
    /// The options that take the next word, unless a value is attached.
    pub(crate) values: &'static str,
    /// Options that take no word, where `values` may not have all that do.
    pub(crate) bare: &'static str,
    /// Whether every option that is not in `values` takes no word.
    pub(crate) complete: bool,
    /// Other spellings, each with the one that is compared.
    pub(crate) same: &'static [(&'static str, &'static str)],
    /// The options whose value is where relative paths start.
    pub(crate) moves: &'static str,
    /// The options that stand for every file there is.
    pub(crate) everything: &'static str,
    /// Whether the first word that is no option says what is done.
    pub(crate) subcommands: bool,
    /// What is known of single subcommands.
    pub(crate) subs: &'static [(&'static str, Options)],
}

/// What holds for a program that nothing is known of.
pub(crate) static UNKNOWN: Options = SILENT;

const SILENT: Options = Options {
    style: Style::Clusters,
    values: "",
    bare: "",
    complete: false,
    same: &[],
    moves: "",
    everything: "",
    subcommands: false,
    subs: &[],
};

/// A program whose options with values are all listed.
const fn whole(values: &'static str) -> Options {
    Options { values, complete: true, ..SILENT }
}

/// The same, with other spellings.
const fn spelt(values: &'static str, same: &'static [(&'static str, &'static str)]) -> Options {
    Options { values, complete: true, same, ..SILENT }
}

/// A program with subcommands of which not everything is known.
const fn tree(values: &'static str, bare: &'static str) -> Options {
    Options { values, bare, subcommands: true, ..SILENT }
}

/// The same, with the options whose value is where relative paths start.
const fn moving(values: &'static str, moves: &'static str) -> Options {
    Options { moves, ..tree(values, "-v --verbose -q --quiet --help --version") }
}

/// A program whose options are words after one dash.
const ONE_DASH: Options = Options { style: Style::OneDash, ..SILENT };

/// The rows of the table, by program.
static BY_NAME: LazyLock<HashMap<&str, &Options>> = LazyLock::new(|| {
    let each = |row: &'static (&str, Options)| row.0.split(' ').map(|name| (name, &row.1));
    TABLE.iter().flat_map(each).collect()
});

/// Returns whether anything is known of a program.
pub(crate) fn is_known(name: &str) -> bool {
    !std::ptr::eq(of(name), &UNKNOWN)
}

/// Returns what is known of a program, by its last name.
pub(crate) fn of(name: &str) -> &'static Options {
    let plain = without_version(name);
    // A version of a program reads its words as that does.
    BY_NAME.get(name).or_else(|| BY_NAME.get(plain)).copied().unwrap_or(&UNKNOWN)
}

impl Options {
    /// Returns what is known of a subcommand.
    pub(crate) fn sub(&self, name: &str) -> Option<&'static Options> {
        self.subs.iter().find(|(names, _)| lists(names, name)).map(|(_, options)| options)
    }

    /// Returns the spelling that is compared.
    pub(crate) fn canonical<'a>(&self, flag: &'a str) -> Option<&'a str> {
        self.same.iter().find(|(other, _)| *other == flag).map(|(_, name)| *name)
    }
}

const FORCE: (&str, &str) = ("--force", "-f");
const RECURSIVE: (&str, &str) = ("--recursive", "-r");

static TABLE: &[(&str, Options)] = &[
    ("rm", spelt("", &[FORCE, RECURSIVE, ("-R", "-r"), ("--dir", "-d"), ("--verbose", "-v")])),
    ("rmdir", spelt("", &[("--parents", "-p"), ("--verbose", "-v")])),
    (
        "cp",
        spelt(
            "-S --suffix -t --target-directory --no-preserve --sparse",
            &[
                FORCE,
                RECURSIVE,
                ("-R", "-r"),
                ("--archive", "-a"),
                ("--interactive", "-i"),
                ("--no-clobber", "-n"),
                ("--link", "-l"),
                ("--symbolic-link", "-s"),
                ("--target-directory", "-t"),
                ("--update", "-u"),
            ],
        ),
    ),
    (
        "mv",
        spelt(
            "-S --suffix -t --target-directory",
            &[
                FORCE,
                ("--interactive", "-i"),
                ("--no-clobber", "-n"),
                ("--target-directory", "-t"),
                ("--update", "-u"),
            ],
        ),
    ),
    (
        "ln",
        spelt(
            "-S --suffix -t --target-directory",
            &[FORCE, ("--symbolic", "-s"), ("--target-directory", "-t")],
        ),
    ),
    ("mkdir", spelt("-m --mode", &[("--parents", "-p"), ("--mode", "-m"), ("--verbose", "-v")])),
    (
        "touch",
        spelt(
            "-d --date -r --reference -t --time",
            &[("--no-create", "-c"), ("--reference", "-r"), ("--date", "-d")],
        ),
    ),
    ("chmod", spelt("--reference", &[("--recursive", "-R"), ("--verbose", "-v")])),
    ("chown chgrp", spelt("--from --reference", &[("--recursive", "-R")])),
    (
        "ls dir vdir",
        spelt(
            "-I --ignore --hide -T --tabsize -w --width --block-size --indicator-style --quoting-style --sort --time --time-style --format",
            &[
                ("--all", "-a"),
                ("--almost-all", "-A"),
                ("--recursive", "-R"),
                ("--reverse", "-r"),
                ("--human-readable", "-h"),
                ("--directory", "-d"),
            ],
        ),
    ),
    ("cat pwd true false whoami tty arch sync", whole("")),
    ("tac", whole("-s --separator")),
    ("head", spelt("-n --lines -c --bytes", &[("--lines", "-n"), ("--bytes", "-c")])),
    (
        "tail",
        spelt(
            "-n --lines -c --bytes --pid -s --sleep-interval --max-unchanged-stats",
            &[("--lines", "-n"), ("--bytes", "-c")],
        ),
    ),
    ("wc", whole("--files0-from --total")),
    (
        "grep egrep fgrep",
        spelt(
            "-e --regexp -f --file -m --max-count -A --after-context -B --before-context -C --context -D --devices -d --directories --include --exclude --exclude-from --exclude-dir --label --binary-files --group-separator",
            &[
                RECURSIVE,
                ("--dereference-recursive", "-R"),
                ("--ignore-case", "-i"),
                ("--invert-match", "-v"),
                ("--line-number", "-n"),
                ("--regexp", "-e"),
                ("--file", "-f"),
            ],
        ),
    ),
    (
        "rg",
        spelt(
            "-e --regexp -f --file -g --glob --iglob -t --type -T --type-not --type-add --type-clear -A --after-context -B --before-context -C --context -m --max-count -d --max-depth --maxdepth --max-filesize -M --max-columns -j --threads -r --replace --sort --sortr --pre --pre-glob --hostname-bin --hyperlink-format --ignore-file -E --encoding --color --colors --context-separator --field-context-separator --field-match-separator --path-separator --engine --regex-size-limit --dfa-size-limit --generate",
            &[("--regexp", "-e"), ("--glob", "-g"), ("--type", "-t"), ("--search-zip", "-z")],
        ),
    ),
    (
        "sort",
        spelt(
            "-k --key -t --field-separator -o --output -S --buffer-size -T --temporary-directory --compress-program --batch-size --files0-from --parallel --random-source --sort",
            &[("--output", "-o"), ("--reverse", "-r"), ("--unique", "-u"), ("--key", "-k")],
        ),
    ),
    ("uniq", whole("-f --skip-fields -s --skip-chars -w --check-chars")),
    ("cut", whole("-b --bytes -c --characters -d --delimiter -f --fields --output-delimiter")),
    (
        "sed",
        spelt(
            "-e --expression -f --file -l --line-length",
            &[
                ("--expression", "-e"),
                ("--file", "-f"),
                ("--in-place", "-i"),
                ("--quiet", "-n"),
                ("--silent", "-n"),
                ("--regexp-extended", "-E"),
                ("-r", "-E"),
            ],
        ),
    ),
    (
        "awk gawk mawk nawk",
        spelt(
            "-f --file -F --field-separator -v --assign -e --source -i --include -l --load -E --exec -W",
            &[("--file", "-f"), ("--assign", "-v"), ("--source", "-e"), ("--include", "-i")],
        ),
    ),
    (
        "diff",
        spelt(
            "-C -U -I --ignore-matching-lines -x --exclude -X --exclude-from -S --starting-file --from-file --to-file -W --width -F --show-function-line --label --tabsize --horizon-lines -D --ifdef --palette -L --line-format --old-line-format --new-line-format --unchanged-line-format --old-group-format --new-group-format --unchanged-group-format --changed-group-format",
            &[RECURSIVE],
        ),
    ),
    (
        "tar",
        Options {
            style: Style::OldTar,
            values: "-f --file -C --directory -T --files-from -X --exclude-from -I --use-compress-program -F --info-script --new-volume-script --to-command --checkpoint-action --rsh-command --rmt-command -b --blocking-factor -g --listed-incremental -K --starting-file -L --tape-length -N --newer --after-date -V --label -H --format --exclude --transform --xform --owner --group --mode --mtime --strip-components --suffix --index-file --newer-mtime --sort --warning --add-file --exclude-ignore --exclude-ignore-recursive --exclude-tag --exclude-tag-all --exclude-tag-under --group-map --owner-map --hole-detection --level --pax-option --quote-chars --no-quote-chars --quoting-style --record-size --sparse-version --volno-file --xattrs-exclude --xattrs-include --set-mtime-command --set-mtime-format",
            complete: true,
            same: &[
                ("--extract", "-x"),
                ("--get", "-x"),
                ("--create", "-c"),
                ("--list", "-t"),
                ("--file", "-f"),
                ("--directory", "-C"),
                ("--verbose", "-v"),
                ("--gzip", "-z"),
                ("--use-compress-program", "-I"),
                ("--info-script", "-F"),
                ("--new-volume-script", "-F"),
            ],
            moves: "-C --directory",
            ..SILENT
        },
    ),
    (
        "make gmake",
        Options {
            values: "-C --directory -f --file --makefile -I --include-dir -o --old-file --assume-old -W --what-if --new-file --assume-new -E --eval",
            bare: "-B -d -e -i -k -n -p -q -r -R -s -S -t -v -w --always-make --dry-run --just-print --recon --keep-going --silent --quiet --question --touch --version --trace",
            same: &[("--directory", "-C"), ("--file", "-f"), ("--makefile", "-f")],
            moves: "-C --directory",
            subcommands: true,
            ..SILENT
        },
    ),
    ("git", GIT),
    ("cargo", CARGO),
    ("npm", NPM),
    (
        "pnpm",
        Options {
            values: "--prefix -C --dir --registry --userconfig --globalconfig --cache --loglevel --filter -F --filter-prod --script-shell",
            bare: "-s --silent -g --global --json -d --verbose -v --version --offline --ignore-scripts --if-present --force -f -w --workspace-root -r --recursive",
            same: &[
                ("--global", "-g"),
                ("--silent", "-s"),
                ("--dir", "-C"),
                ("--filter", "-F"),
                FORCE,
            ],
            moves: "--prefix -C -F -w -r --workspace-root --recursive",
            ..NPM
        },
    ),
    (
        "yarn bun deno",
        Options { moves: "--cwd", ..tree("--cwd --config -c", "--silent -s --verbose --json") },
    ),
    ("uv", moving("--directory --project --config-file --cache-dir", "--directory --project")),
    (
        "poetry",
        Options {
            same: &[("--directory", "-C"), ("--project", "-P")],
            ..moving("-C --directory -P --project", "-C -P")
        },
    ),
    ("composer", Options { same: &[("--working-dir", "-d")], ..moving("-d --working-dir", "-d") }),
    (
        "just",
        Options {
            same: &[("--justfile", "-f"), ("--working-directory", "-d")],
            ..moving("-f --justfile -d --working-directory", "-f -d")
        },
    ),
    (
        "task go-task",
        Options {
            same: &[("--dir", "-d"), ("--taskfile", "-t")],
            ..moving("-d --dir -t --taskfile", "-d -t")
        },
    ),
    (
        "rake",
        tree(
            "-f --rakefile -R --rakelibdir -I --libdir -r --require",
            "-v --verbose -q --quiet -n --dry-run -s --silent -t --trace",
        ),
    ),
    (
        "mvn mvnw",
        Options {
            same: &[("--file", "-f")],
            ..moving("-f --file -s --settings -P -pl --projects", "-f")
        },
    ),
    (
        "gradle gradlew",
        Options {
            same: &[("--project-dir", "-p"), ("--build-file", "-b")],
            ..moving(
                "-p --project-dir -b --build-file -c --settings-file -I --init-script -g --gradle-user-home",
                "-p -b",
            )
        },
    ),
    (
        "hg",
        Options {
            same: &[("--repository", "-R")],
            ..moving("-R --repository --cwd --config", "-R --cwd")
        },
    ),
    (
        "jj",
        Options {
            same: &[("--repository", "-R")],
            ..moving("-R --repository --config --config-file", "-R")
        },
    ),
    ("gh glab", Options { same: &[("--repo", "-R")], ..tree("-R --repo", "--help --version") }),
    ("dotnet", moving("--project", "--project")),
    (
        "ninja samu",
        Options {
            values: "-C -f -j -k -l -d -t -w",
            bare: "-n -v --version --verbose --quiet",
            moves: "-C",
            subcommands: true,
            ..SILENT
        },
    ),
    (
        "ant",
        Options {
            values: "-f -file -buildfile -lib -logger -listener",
            subcommands: true,
            ..ONE_DASH
        },
    ),
    ("meson", Options { moves: "-C", ..tree("-C", "-v --verbose -q --quiet --help --version") }),
    (
        "docker podman nerdctl",
        tree(
            "-H --host -c --context --config -l --log-level --tlscacert --tlscert --tlskey",
            "-D --debug --tls --tlsverify -v --version",
        ),
    ),
    (
        "kubectl oc",
        tree(
            "-n --namespace -s --server --context --cluster --user --kubeconfig --token --as --as-group --as-uid -v --v --request-timeout --cache-dir --certificate-authority --client-certificate --client-key --profile --profile-output --tls-server-name --username --password --log-file --vmodule",
            "--insecure-skip-tls-verify --match-server-version --warnings-as-errors",
        ),
    ),
    (
        "helm",
        tree(
            "-n --namespace --kube-context --kubeconfig --registry-config --repository-cache --repository-config",
            "--debug",
        ),
    ),
    (
        "pip pip3",
        tree(
            "--log --proxy --cert --client-cert --cache-dir --python --retries --timeout --exists-action --trusted-host",
            "-v --verbose -q --quiet --isolated --no-color --no-input",
        ),
    ),
    (
        "pipenv pdm rye hatch pixi conda gem bundle rustup brew apt apt-get apk dnf yum systemctl svn aws gcloud az vagrant flutter dart mix npx nix snap flatpak service ip mise asdf pre-commit tox nox sbt bazel swift zig dub cabal stack invoke inv fab gulp grunt turbo nx lerna rush moon lage mage poe doit makers ng scons",
        tree("", "-v --verbose -q --quiet --help --version"),
    ),
    (
        "go",
        Options { style: Style::OneDash, values: "-C", moves: "-C", subcommands: true, ..SILENT },
    ),
    (
        "terraform tofu",
        Options { style: Style::OneDash, subcommands: true, moves: "-chdir", ..SILENT },
    ),
    ("openssl", Options { style: Style::OneDash, subcommands: true, ..SILENT }),
    ("find", Options { style: Style::OneDash, complete: false, ..SILENT }),
    (
        "java javac kotlinc scala gcc g++ cc c++ clang clang++ ld ffmpeg ffprobe ffplay convert magick mogrify identify qemu-system-x86_64 qemu-img xrandr iptables sqlite3 dot latex pdflatex xelatex lualatex tex pdftex luatex exiftool",
        ONE_DASH,
    ),
    (
        "cmake",
        Options { values: "-S -B -build -install -G -A -T -t -target -preset -config", ..ONE_DASH },
    ),
    ("python python3 pypy pypy3", whole("-c -m -W -X --check-hash-based-pycs")),
    (
        "node nodejs",
        Options {
            values: "-e --eval -p --print -r --require --import -C --conditions --input-type --loader --experimental-loader --env-file --inspect-port",
            same: &[("--eval", "-e"), ("--print", "-p"), ("--require", "-r")],
            ..SILENT
        },
    ),
    ("perl", Options { values: "-e -E", ..SILENT }),
    ("ruby", Options { values: "-e -r -I -C", ..SILENT }),
    ("sh bash dash ash ksh zsh mksh", whole("-o +o -O +O --rcfile --init-file --emulate")),
    (
        "curl",
        Options {
            values: "-X --request -H --header -d --data --data-raw --data-binary --data-urlencode -F --form -o --output -T --upload-file -K --config -u --user -A --user-agent -e --referer -b --cookie -c --cookie-jar -m --max-time -x --proxy -w --write-out -r --range -C --continue-at -E --cert --key --cacert --connect-timeout --retry --resolve --connect-to --url -D --dump-header -Q --quote -z --time-cond --limit-rate --max-redirs --interface -U --proxy-user --json --output-dir --netrc-file --stderr --trace --trace-ascii -P --ftp-port -t --telnet-option -Y --speed-limit -y --speed-time --unix-socket --libcurl",
            same: &[
                ("--request", "-X"),
                ("--header", "-H"),
                ("--data", "-d"),
                ("--form", "-F"),
                ("--output", "-o"),
                ("--remote-name", "-O"),
                ("--upload-file", "-T"),
                ("--config", "-K"),
                ("--cookie-jar", "-c"),
                ("--dump-header", "-D"),
                ("--insecure", "-k"),
            ],
            ..SILENT
        },
    ),
    ("ssh", whole("-B -b -c -D -E -e -F -I -i -J -L -l -m -O -o -P -p -Q -R -S -W -w")),
    ("scp", whole("-c -D -F -i -J -l -o -P -S -X")),
    ("sftp", whole("-c -D -F -i -J -l -o -P -S -X -b -B -R -s")),
    (
        "rsync",
        Options {
            values: "-e --rsh -f --filter -B --block-size -T --temp-dir -M --remote-option --rsync-path --exclude --include --exclude-from --include-from --files-from --log-file --password-file --port --bwlimit --timeout --backup-dir --suffix --compare-dest --copy-dest --link-dest --out-format",
            bare: "-a -v -z -r -n -P -h -u -t --archive --delete --dry-run --progress --verbose",
            same: &[("--rsh", "-e"), ("--archive", "-a"), RECURSIVE, ("--remote-option", "-M")],
            ..SILENT
        },
    ),
    ("date", whole("-d --date -f --file -r --reference -s --set --rfc-3339")),
    ("kill", whole("-s --signal -q --queue -n")),
    ("dd echo printf test [", whole("")),
    ("jq", Options { values: "-f --from-file -L --indent", ..SILENT }),
];

const GIT: Options = Options {
    style: Style::Clusters,
    values: "-C -c --git-dir --work-tree --namespace --config-env --super-prefix --attr-source --list-cmds",
    bare: "-p --paginate -P --no-pager --bare --no-replace-objects --no-lazy-fetch --no-optional-locks --no-advice --literal-pathspecs --glob-pathspecs --noglob-pathspecs --icase-pathspecs --exec-path -v --version -h --help --html-path --man-path --info-path",
    complete: false,
    same: &[("--paginate", "-p"), ("--no-pager", "-P")],
    moves: "-C --git-dir --work-tree",
    everything: "",
    subcommands: true,
    subs: &[
        (
            "push",
            spelt(
                "-o --push-option --repo --receive-pack --exec --recurse-submodules",
                &[
                    FORCE,
                    ("--delete", "-d"),
                    ("--set-upstream", "-u"),
                    ("--dry-run", "-n"),
                    ("--push-option", "-o"),
                    ("--quiet", "-q"),
                    ("--verbose", "-v"),
                ],
            ),
        ),
        (
            "add stage",
            Options {
                values: "--chmod --pathspec-from-file -U --unified --inter-hunk-context",
                complete: true,
                same: &[
                    FORCE,
                    ("--all", "-A"),
                    ("--no-ignore-removal", "-A"),
                    ("--update", "-u"),
                    ("--patch", "-p"),
                    ("--interactive", "-i"),
                    ("--edit", "-e"),
                    ("--dry-run", "-n"),
                    ("--intent-to-add", "-N"),
                ],
                everything: "-A -u --renormalize",
                ..SILENT
            },
        ),
        (
            "commit",
            Options {
                values: "-m --message -F --file -C --reuse-message -c --reedit-message --fixup --squash --author --date -t --template --cleanup --pathspec-from-file --trailer -U --unified --inter-hunk-context",
                complete: true,
                same: &[
                    ("--all", "-a"),
                    ("--message", "-m"),
                    ("--file", "-F"),
                    ("--no-verify", "-n"),
                    ("--signoff", "-s"),
                    ("--patch", "-p"),
                ],
                everything: "-a",
                ..SILENT
            },
        ),
        (
            "clean",
            spelt(
                "-e --exclude",
                &[FORCE, ("--dry-run", "-n"), ("--interactive", "-i"), ("--quiet", "-q")],
            ),
        ),
        (
            "reset",
            spelt(
                "--pathspec-from-file -U --unified --inter-hunk-context",
                &[("--patch", "-p"), ("--quiet", "-q")],
            ),
        ),
        (
            "checkout",
            spelt(
                "-b -B --orphan --conflict --pathspec-from-file -U --unified --inter-hunk-context",
                &[FORCE, ("--patch", "-p"), ("--track", "-t"), ("--detach", "-d")],
            ),
        ),
        (
            "branch",
            spelt(
                "-u --set-upstream-to --sort --points-at --format --contains --no-contains --merged --no-merged",
                &[
                    FORCE,
                    ("--delete", "-d"),
                    ("--move", "-m"),
                    ("--copy", "-c"),
                    ("--all", "-a"),
                    ("--remotes", "-r"),
                ],
            ),
        ),
        (
            "rm",
            Options {
                values: "--pathspec-from-file",
                complete: true,
                same: &[FORCE, ("--dry-run", "-n"), ("--quiet", "-q")],
                ..SILENT
            },
        ),
        (
            "fetch pull",
            Options {
                values: "--upload-pack -o --server-option --depth --deepen --shallow-since --shallow-exclude --refmap -j --jobs --negotiation-tip -s --strategy -X --strategy-option",
                same: &[FORCE, ("--all", "-a")],
                ..SILENT
            },
        ),
    ],
};

const CARGO: Options = Options {
    style: Style::Clusters,
    values: "--config -Z -C --color --explain --manifest-path --target-dir -p --package --features -F --target --profile -j --jobs --message-format --bin --example --test --bench --exclude",
    bare: "-v --verbose -q --quiet --offline --locked --frozen --list -V --version --release -r --workspace --all --all-targets --all-features --no-default-features --lib --bins --tests --no-run",
    complete: false,
    same: &[("--release", "-r"), ("--verbose", "-v"), ("--quiet", "-q"), ("--package", "-p")],
    moves: "-C --manifest-path",
    everything: "",
    subcommands: true,
    subs: &[],
};

const NPM: Options = Options {
    style: Style::Clusters,
    values: "--prefix -C -w --workspace --registry --userconfig --globalconfig --cache --loglevel --script-shell",
    bare: "-s --silent -g --global --json -d --verbose -v --version --offline --ignore-scripts --no-audit --no-fund --if-present --workspaces -ws --force -f",
    complete: false,
    same: &[
        ("--global", "-g"),
        ("--silent", "-s"),
        ("--workspace", "-w"),
        ("-C", "--prefix"),
        FORCE,
    ],
    moves: "--prefix -w --workspaces",
    everything: "",
    subcommands: true,
    subs: &[],
};

/// Programs that run whatever the words after them say, so that a rule for the
/// bare name is a rule for everything.
pub(crate) const OVERBROAD: &str = "sh bash dash ash ksh zsh mksh fish env sudo doas su xargs parallel ssh python python3 pypy pypy3 perl ruby node nodejs php lua deno bun busybox toybox eval exec source . command builtin watch script chroot unshare nsenter flock strace gdb awk gawk mawk nawk nohup timeout nice time npx pkexec runuser setsid stdbuf trap tclsh expect osascript powershell pwsh";
