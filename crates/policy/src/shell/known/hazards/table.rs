//! The hazards, by program.

use super::What::{
    Begins, FlagBegins, Flags, Globals, NoOperand, Operands, Program, Script, Sub, SubFlags, Text,
};
use super::scripts::{awk_script, printf_assigns, sed_script, sqlite_script};
use super::{CHANGES, READS_CODE, RUNS, Row, WRITES};

const CODE: &str = "runs code that is given as an argument";
const SENDS: &str = "sends a file over the network";

pub(super) static TABLE: &[Row] = &[
    // What changes the shell itself.
    (
        "eval source . exec trap set shopt enable hash export declare typeset readonly local unset read mapfile readarray alias unalias let getopts complete compgen compopt bind history fc ulimit umask coproc (( setopt unsetopt autoload caller logout suspend",
        Program,
        CHANGES,
    ),
    ("printf", Flags("-v"), CHANGES),
    ("printf", Text("", printf_assigns), CHANGES),
    (
        "[[ test [ printf let read declare typeset unset export",
        Text("-v", |text| text.contains("$(") || text.contains('`')),
        "can run what stands in its argument, because the shell reads it again",
    ),
    (
        "test [",
        Flags("-v -R"),
        "can run what stands in a subscript, because the shell reads it again",
    ),
    ("wait", Flags("-p"), CHANGES),
    // Programs whose work is to write.
    ("tee sponge", Program, WRITES),
    ("dd", Begins("of="), WRITES),
    ("truncate fallocate shred", Program, "changes files"),
    // Programs that run others.
    (
        "parallel expect at batch crontab systemd-run start-stop-daemon screen tmux dtach entr inotifywait socat gdbserver",
        Program,
        RUNS,
    ),
    ("find", Flags("-exec -execdir -ok -okdir"), RUNS),
    ("find", Flags("-delete"), "removes files"),
    ("find", Flags("-fprint -fprint0 -fprintf -fls"), WRITES),
    ("fd fdfind", Flags("-x --exec -X --exec-batch"), RUNS),
    ("sort", Flags("-o"), WRITES),
    ("sort", Flags("--compress-program"), RUNS),
    ("uniq", Operands(1), "writes its second file"),
    ("xxd", Operands(1), "writes its second file"),
    ("xxd", Flags("-r -revert --revert"), "turns text into other data"),
    ("tree", Flags("-o --output -R"), WRITES),
    ("file", Flags("-C --compile"), WRITES),
    ("file", Flags("-z -Z --uncompress --uncompress-noreport"), RUNS),
    ("split csplit", Program, "writes files"),
    // Text that is a program.
    ("sed", Flags("-i"), "changes files in place"),
    ("sed", Flags("-f"), "runs commands from a file"),
    ("sed", Script("-e", "-f", sed_script), "has a command that writes a file or runs a program"),
    ("awk gawk mawk nawk", Flags("-f -E --exec -i -l --load"), "runs code from a file"),
    ("gawk awk", Flags("-d --dump-variables -o --pretty-print -p --profile"), WRITES),
    (
        "awk gawk mawk nawk",
        Script("-e", "-f", awk_script),
        "has code that runs a program, or reads or writes files",
    ),
    ("python python3 pypy pypy3", Flags("-c"), CODE),
    ("python python3 pypy pypy3", Flags("-m"), "runs a module"),
    ("python python3 pypy pypy3", Flags("-i"), READS_CODE),
    ("perl", Flags("-e -E -i -n -p"), CODE),
    ("perl", Flags("-M -m -I -x -d"), "loads code"),
    ("ruby", Flags("-e -i -n -p"), CODE),
    ("ruby", Flags("-r --require -I -x"), "loads code"),
    ("node nodejs", Flags("-e -p -pe -i --interactive"), CODE),
    (
        "node nodejs",
        Flags("-r --import --loader --experimental-loader --env-file --inspect --inspect-brk"),
        "loads code",
    ),
    ("php", Flags("-r -B -R -E -F -a -d -c -z"), CODE),
    ("lua luajit", Flags("-e -l -i"), CODE),
    ("deno", Sub("eval repl"), CODE),
    ("bun", Flags("-e --eval -p --print --preload -r"), CODE),
    ("R Rscript", Flags("-e"), CODE),
    ("osascript", Program, CODE),
    (
        "python python3 pypy pypy3 perl ruby node nodejs php lua luajit tclsh R psql mysql sqlite3 irb ghci ocaml bc dc",
        NoOperand,
        READS_CODE,
    ),
    ("sqlite3", Text("-cmd", sqlite_script), "has a command that runs a program or writes a file"),
    (
        "psql",
        Text("-c --command", |text| {
            text.contains('\\') || text.to_ascii_lowercase().contains("program")
        }),
        RUNS,
    ),
    ("psql", Flags("-f --file -o --output -L --log-file"), "reads or writes files"),
    // Editors and pagers.
    (
        "vi vim nvim view ex ed emacs nano pico joe mc ranger vimdiff",
        Program,
        "can run programs and write files",
    ),
    ("less more most", Program, "can run programs from its prompt"),
    ("man", Flags("-P --pager -H --html -C --config-file -X --gxditview -T -Z"), RUNS),
    // git.
    ("git", Globals("-c --config-env"), "sets configuration, which can name programs"),
    ("git", Globals("--exec-path -p"), RUNS),
    (
        "hg jj svn",
        Flags("--config --config-file --config-toml --config-dir --config-option"),
        "sets configuration, which can name programs",
    ),
    ("git", Flags("--upload-pack --receive-pack"), RUNS),
    ("git", Globals("--git-dir --work-tree"), "takes its configuration from elsewhere"),
    ("git", Flags("--ext-diff --textconv --open-files-in-pager"), RUNS),
    ("git", Flags("--output --output-directory"), WRITES),
    ("git", Flags("--pathspec-from-file"), "takes its paths from a file"),
    ("git", Flags("--template --separate-git-dir"), "can install hooks"),
    ("git", SubFlags("grep", "-O"), RUNS),
    ("git", SubFlags("push ls-remote", "--exec"), RUNS),
    ("git", SubFlags("rebase", "-x --exec -i --interactive"), RUNS),
    ("git", SubFlags("clone", "-u -c --config"), RUNS),
    ("git", SubFlags("format-patch", "-o"), WRITES),
    ("git", SubFlags("archive", "-o --remote --exec"), WRITES),
    ("git", SubFlags("add commit checkout reset stash", "-i -e --edit"), "opens an editor"),
    (
        "git",
        Sub(
            "config bisect filter-branch submodule difftool mergetool hook daemon instaweb gui citool web--browse help credential send-email svn p4 cvsimport fast-import upload-pack receive-pack shell maintenance update-index interpret-trailers am alias var init worktree sparse-checkout replace notes",
        ),
        "can run programs or change configuration",
    ),
    ("git", Begins("ext::"), RUNS),
    ("git", Flags("--filters"), RUNS),
    (
        "git",
        SubFlags("merge pull rebase cherry-pick revert", "-s --strategy"),
        "runs the program for that strategy",
    ),
    ("git", Sub("merge-index merge-one-file mergetool--lib"), RUNS),
    ("git", Sub("mailsplit checkout-index credential-store bugreport diagnose"), WRITES),
    ("git", SubFlags("fast-export", "--export-marks"), WRITES),
    ("git", SubFlags("fetch-pack send-pack", "--exec"), RUNS),
    (
        "git",
        Sub(
            "for-each-repo imap-send remote-ext remote-fd cvsserver cvsexportcommit archimport quiltimport",
        ),
        RUNS,
    ),
    // Archives and copies.
    (
        "tar bsdtar",
        Flags("-I -F --to-command --checkpoint-action --rsh-command --rmt-command"),
        RUNS,
    ),
    (
        "tar bsdtar",
        Flags("--absolute-names -P --unlink-first --recursive-unlink --index-file"),
        "writes outside of the directory",
    ),
    ("zip", Flags("-T -TT --test --unzip-command"), RUNS),
    ("zip", Flags("-m --move"), "removes files"),
    ("rsync", Flags("-e --rsync-path -M --early-input"), RUNS),
    ("rsync", Flags("--log-file --write-batch --only-write-batch"), WRITES),
    ("scp sftp", Flags("-o -S -F -D -b"), RUNS),
    ("ssh", Flags("-o -F -S -E -I -W -L -R -D -w -P"), "can run programs and open connections"),
    ("ssh-keygen ssh-agent ssh-add", Flags("-D -s -P"), "loads code"),
    // Searches.
    ("rg", Flags("--pre --hostname-bin -z"), RUNS),
    ("ag ack", Flags("--pager --ackrc"), RUNS),
    ("jq", Flags("-f --from-file -L --library-path"), "runs code from a file"),
    ("yq", Flags("-i --inplace -s --split-exp"), "changes files in place"),
    // Building.
    (
        "make gmake bmake pmake",
        Flags("--eval -E -f -I --include-dir"),
        "runs rules that are given as an argument",
    ),
    (
        "make gmake bmake pmake",
        Text("", |text| text.contains('=')),
        "sets a variable, which can name programs",
    ),
    ("cargo", Flags("--config -Z"), "sets configuration, which can name programs"),
    ("cargo", Sub("install run publish login yank owner fix"), "runs or publishes programs"),
    (
        "npm pnpm yarn bun",
        Flags(
            "--script-shell --node-options --shell -c --call --userconfig --globalconfig --init-module --git",
        ),
        RUNS,
    ),
    (
        "npm pnpm yarn bun",
        Sub("exec x dlx explore edit config c set publish init create link"),
        RUNS,
    ),
    ("npx bunx pnpx uvx pipx", Program, "downloads and runs programs"),
    ("go", Flags("-exec -toolexec -vettool -overlay -modfile -ldflags -gcflags -o"), RUNS),
    ("go", Sub("run generate install env tool get"), RUNS),
    (
        "gcc g++ cc c++ clang clang++",
        Flags("-wrapper -fplugin -specs -B -o"),
        "runs another program or writes a file",
    ),
    ("terraform tofu", Sub("apply destroy import taint console init"), "changes infrastructure"),
    ("pytest py.test", Flags("-p -c --rootdir --confcutdir --pdbcls"), "loads code"),
    (
        "docker podman nerdctl",
        Sub("run exec build compose cp load import plugin create container buildx start"),
        "runs programs outside of the sandbox",
    ),
    (
        "kubectl oc",
        Sub("exec run apply cp delete edit proxy port-forward debug create replace patch attach"),
        "changes or runs something in a cluster",
    ),
    // The network.
    (
        "curl",
        Flags(
            "-o -O -D -c --output-dir --libcurl --trace --trace-ascii --stderr --remote-name-all -J --remote-header-name --etag-save --hsts --alt-svc",
        ),
        WRITES,
    ),
    ("curl", Flags("-K --engine --proto-default"), "takes its options from a file"),
    (
        "curl",
        Flags(
            "-T -F -d --data-binary --data-raw --data-urlencode --data-ascii --json --form-string --url-query",
        ),
        SENDS,
    ),
    ("wget", Program, WRITES),
    ("nc ncat netcat", Program, "opens connections, and can run programs"),
    ("openssl", Sub("s_client s_server engine enc rsautl"), "opens connections or writes files"),
    (
        "openssl",
        Flags("-out -engine -provider -provider-path -writerand -config"),
        "writes a file or loads code",
    ),
    // The machine.
    ("date", Flags("-s --set"), "sets the clock"),
    ("date", Text("", |text| !text.starts_with('+')), "sets the clock"),
    ("hostname", Operands(0), "renames the machine"),
    ("hostname", Flags("-F --file -b"), "renames the machine"),
    (
        "mount umount insmod modprobe sysctl iptables nft reboot shutdown halt poweroff",
        Program,
        "changes the machine",
    ),
    ("env", Flags("-S --split-string"), "splits a text into a command"),
    ("time", Flags("-o --output"), WRITES),
    ("script", Program, "writes what it shows to a file"),
    ("strace ltrace", Flags("-o --output"), WRITES),
    ("gdb lldb", Flags("-x -ex --command --eval-command -o -s"), CODE),
    ("busctl dbus-send gdbus", Program, "talks to other programs"),
    ("ffmpeg convert magick mogrify", Program, WRITES),
    ("patch", Program, "changes files"),
    ("xargs", Flags("-a --arg-file"), "takes its words from a file"),
    // More ways, by program.
    ("gawk awk", Flags("-D --debug"), READS_CODE),
    ("mawk awk nawk gawk", Flags("-W"), "can run code from a file"),
    ("dc", Flags("-e -f --expression --file"), "can run programs"),
    ("shuf iconv", Flags("-o --output"), WRITES),
    ("split", Flags("--filter"), RUNS),
    ("diff", Flags("-l --paginate"), RUNS),
    ("diff3 sdiff", Flags("--diff-program"), RUNS),
    ("sdiff", Flags("-o --output"), WRITES),
    ("patch", Flags("-e --ed"), RUNS),
    ("install", Flags("--strip-program"), RUNS),
    ("nm ar ranlib objdump ld size addr2line", Flags("--plugin"), "loads code"),
    ("ldd", Program, "runs the loader that the file names"),
    ("cpio", Flags("--rsh-command"), RUNS),
    ("crontab", Operands(0), "changes what runs later"),
    ("crontab", Flags("-e -r"), "changes what runs later"),
    ("vi vim nvim view ex vimdiff rvim gvim", Flags("-c --cmd -S -s -u -U -w -W -i"), CODE),
    ("vi vim nvim view ex vimdiff rvim gvim less more most", Begins("+"), CODE),
    ("emacs emacsclient", Flags("-e --eval -f --funcall -l --load --script --execute"), CODE),
    ("nano pico", Flags("-s --speller"), RUNS),
    (
        "less",
        Flags("-k --lesskey-file --lesskey-src --lesskey-content"),
        "takes its keys from a file",
    ),
    ("less", Flags("-o -O --log-file --LOG-FILE"), WRITES),
    ("bat batcat delta", Flags("--pager --config --config-file --lessopen"), RUNS),
    ("fzf", Flags("--preview --bind --with-shell --listen --history"), RUNS),
    ("xdg-open open sensible-browser x-www-browser", Program, RUNS),
    ("mail mailx sendmail mutt", Program, SENDS),
    (
        "ctags",
        Flags("--options --options-maybe --optlib-dir -f -o"),
        "takes its options from a file, or writes one",
    ),
    ("cscope", Program, "can run programs from its prompt"),
    ("tcpdump", Flags("-z -w"), "runs another program or writes a file"),
    ("nmap", Flags("--script --datadir -o --resume"), "runs code or writes a file"),
    ("ip", Flags("-b -batch"), "takes its commands from a file"),
    ("ip", Sub("netns"), RUNS),
    ("iptables ip6tables", Flags("--modprobe -modprobe"), RUNS),
    ("ftp lftp telnet sftp", Program, "can run programs from its prompt"),
    ("lftp", Flags("-c -e -f"), RUNS),
    ("ssh", Flags("-J -A -X -Y -M -O -f -N"), "can run programs and open connections"),
    ("scp sftp", Flags("-J"), "goes by way of another machine"),
    ("ssh-keygen", Flags("-w"), "loads code"),
    (
        "rsync",
        Flags(
            "--remove-source-files --delete --del --delete-before --delete-during --delete-delay --delete-after --delete-excluded --delete-missing-args",
        ),
        "removes files",
    ),
    ("rsync", Flags("--daemon --config --dparam"), READS_CODE),
    ("rsync", Text("", |text| text.contains(':')), "copies to or from another machine"),
    (
        "tar bsdtar",
        Text("-f", |text| text.contains(':')),
        "runs a program to reach another machine",
    ),
    ("tar bsdtar", Flags("--remove-files"), "removes files"),
    (
        "tar bsdtar",
        Flags("-g --listed-incremental --volno-file --set-mtime-command"),
        "writes a file or runs a program",
    ),
    // Networks.
    ("curl", Flags("--unix-socket --abstract-unix-socket"), "talks to other programs"),
    (
        "curl",
        Flags(
            "-x --proxy --preproxy --socks4 --socks4a --socks5 --socks5-hostname --resolve --connect-to --doh-url",
        ),
        "reaches another machine than the address says",
    ),
    (
        "curl",
        Flags("-Q --quote --variable --mail-from --ssl-sessions --trace-config --dump-ca-embed"),
        "sends or writes something else",
    ),
    ("curl", Text("-w --write-out", |text| text.contains("output{")), WRITES),
    (
        "curl",
        Text("-H --header -w --write-out --url", |text| text.starts_with('@')),
        "takes a value from a file",
    ),
    ("wget", Flags("--use-askpass -e --execute --config"), RUNS),
    ("wget", Flags("--post-file --body-file --post-data --body-data"), SENDS),
    (
        "wget",
        Flags(
            "-O --output-document -o --output-file -a --append-output -P --directory-prefix --save-cookies --warc-file --hsts-file -i --input-file",
        ),
        WRITES,
    ),
    ("nc ncat netcat", Flags("-e -c --exec --sh-exec --lua-exec -l"), RUNS),
    (
        "gpg gpg2",
        Flags(
            "-o --output --exec-path --photo-viewer --agent-program --dirmngr-program --options --homedir --load-extension --log-file --logger-file --status-file --attribute-file",
        ),
        "runs another program or writes a file",
    ),
    (
        "gpg gpg2",
        Flags(
            "--recv-keys --send-keys --search-keys --refresh-keys --import --edit-key --delete-keys --delete-secret-keys --export-secret-keys --export-secret-subkeys",
        ),
        "changes or gives away keys",
    ),
    ("openssl", Flags("-keyout -keylogfile -sess_out -certsout -CAcreateserial"), WRITES),
    ("openssl", Sub("s_time ocsp ca"), "opens connections or writes files"),
    // Databases.
    ("sqlite3", Flags("-init -A -ar -append -vfs"), "takes commands from a file, or changes files"),
    (
        "mysql mariadb",
        Flags(
            "--pager --tee --plugin-dir --default-auth --init-command --defaults-file --defaults-extra-file",
        ),
        RUNS,
    ),
    (
        "mysql mariadb",
        Text("-e --execute", |text| {
            text.contains('\\')
                || text.to_ascii_lowercase().contains("system")
                || text.to_ascii_lowercase().contains("outfile")
                || text.to_ascii_lowercase().contains("dumpfile")
        }),
        RUNS,
    ),
    ("mysqldump mariadb-dump", Flags("-r --result-file -T --tab"), WRITES),
    ("pg_dump pg_dumpall pg_restore", Flags("-f --file"), WRITES),
    ("redis-cli mongosh mongo", Flags("--eval -f --file"), CODE),
    // Languages.
    (
        "jshell jrunscript groovy scala kotlin elixir iex erl ghc runghc julia guile sbcl clojure clj swift octave gnuplot tclsh wish raku io",
        Flags("-e -E -c --eval -eval --execute -p --print -l --load -r -s"),
        CODE,
    ),
    (
        "node nodejs",
        Flags(
            "--run --test --test-reporter --test-global-setup --experimental-config-file --experimental-default-config-file --snapshot-blob --openssl-config --env-file-if-exists --watch-path",
        ),
        "loads code",
    ),
    (
        "node nodejs",
        Flags(
            "--build-snapshot --cpu-prof --heap-prof --prof --diagnostic-dir --redirect-warnings --report-dir --report-filename --trace-event-file-pattern --heapsnapshot-signal",
        ),
        WRITES,
    ),
    (
        "php",
        Flags(
            "--run --process-begin --process-code --process-end --process-file --define --php-ini --interactive --zend-extension -S --server",
        ),
        CODE,
    ),
    ("R", Flags("-f --file"), CODE),
    ("R", Sub("CMD"), RUNS),
    ("deno", Sub("run task install serve compile upgrade x publish"), CODE),
    // Building and packages.
    (
        "gcc g++ cc c++ clang clang++ ld",
        FlagBegins(
            "-B -o -fplugin -iplugindir -specs -wrapper -Wl, -Xlinker -fuse-ld -MF -MD -save-temps -fdump",
        ),
        "runs another program or writes a file",
    ),
    (
        "gcc g++ cc c++ clang clang++ ld java javac nm ar objdump",
        Begins("@"),
        "takes its options from a file",
    ),
    (
        "java",
        FlagBegins(
            "-javaagent -agentlib -agentpath -XX:OnError -XX:OnOutOfMemoryError -XX:Flags -XX:VMOptionsFile -Xrun -Xlog -XX:+HeapDump",
        ),
        "loads code or writes a file",
    ),
    (
        "javac",
        FlagBegins(
            "-J -processor -processorpath --processor-path --processor-module-path -Xplugin",
        ),
        "loads code",
    ),
    (
        "clang clang++",
        FlagBegins("-ld-path -fpass-plugin -Xclang -config"),
        "loads code or runs another program",
    ),
    ("cmake", FlagBegins("-P -E -C -D"), "runs code, or sets what can name programs"),
    ("ninja samu", Flags("-f -t"), "runs rules from another file"),
    ("ctest", Flags("-S -SP --script -D --dashboard"), READS_CODE),
    ("ant", Flags("-lib -propertyfile -logger -listener -inputhandler"), "loads code"),
    ("sbt", FlagBegins("-D --sbt-jar -sbt-jar -J"), "sets what can name programs"),
    ("cargo", Begins("+"), "chooses another toolchain"),
    ("cargo", Sub("r rustc rustdoc vendor add"), "runs programs or takes others in"),
    ("cargo", SubFlags("doc d", "--open"), RUNS),
    ("cargo", SubFlags("clippy", "--fix"), WRITES),
    (
        "rustc rustdoc",
        Flags("-C --codegen -Z --sysroot --test-builder --runtool --test-runtool"),
        "can name programs that it runs",
    ),
    ("rustc rustdoc", Flags("-o --out-dir --emit"), WRITES),
    ("prove", Flags("-e --exec -I -P --harness --formatter --source -a --archive"), RUNS),
    ("rspec", Flags("-r --require -I -O --options"), "loads code"),
    ("nodemon", Flags("-x --exec"), RUNS),
    ("phpunit", Flags("--bootstrap -c --configuration --prepend"), "loads code"),
    ("exiftool", FlagBegins("-config -if -userParam"), "runs code"),
    ("pandoc", Flags("-F --filter -L --lua-filter --pdf-engine -t --to -d --defaults"), RUNS),
    (
        "latex pdflatex xelatex lualatex tex pdftex luatex",
        FlagBegins("-shell-escape -enable-write18"),
        RUNS,
    ),
    (
        "jest",
        Flags(
            "--testRunner --transform --resolver --globalSetup --globalTeardown --filter --runner --setupFiles --config -c",
        ),
        "loads code",
    ),
    (
        "rustup",
        Sub("run install update toolchain override default self component target"),
        "runs or installs programs",
    ),
    ("npm pnpm yarn bun", Flags("--editor --viewer --browser --onload-script"), RUNS),
    (
        "npm pnpm yarn bun",
        Sub("unpublish owner access token deprecate dist-tag login adduser pkg plugin setup"),
        "acts in your name or changes settings",
    ),
    ("pip pip3", Flags("--python"), RUNS),
    ("pip pip3", Flags("--log"), WRITES),
    (
        "pip pip3",
        Sub("install download wheel config uninstall"),
        "runs code of packages, or changes settings",
    ),
    (
        "uv poetry pipenv pdm rye hatch conda mamba micromamba pixi",
        Sub("run tool exec shell publish self config python pip"),
        RUNS,
    ),
    (
        "bundle gem asdf mise direnv op doppler dotenvx dvc",
        Sub("exec run x open console config install push cert yank owner allow edit shell use"),
        RUNS,
    ),
    (
        "composer",
        Sub("exec run-script run global config require install update create-project"),
        RUNS,
    ),
    (
        "docker-compose podman-compose",
        Sub("run exec up build cp create start"),
        "runs programs outside of the sandbox",
    ),
    (
        "docker podman nerdctl",
        Sub(
            "rm rmi kill stop restart pull push login commit save export update volume network image system service stack swarm secret config context attach builder",
        ),
        "changes what runs outside of the sandbox",
    ),
    (
        "kubectl oc",
        Sub(
            "rollout scale drain cordon uncordon taint label annotate set expose autoscale plugin config diff kustomize certificate",
        ),
        "changes or runs something in a cluster",
    ),
    (
        "kubectl oc helm",
        Flags("--kubeconfig"),
        "takes its configuration from a file, which can name programs",
    ),
    (
        "helm",
        Sub("install upgrade uninstall delete rollback plugin push pull repo test"),
        "changes or runs something in a cluster",
    ),
    ("helm", Flags("--post-renderer"), RUNS),
    (
        "terraform tofu",
        Sub("workspace state force-unlock untaint login test refresh"),
        "changes infrastructure",
    ),
    (
        "terraform tofu",
        Flags(
            "-out -state -state-out -backup -plugin-dir -generate-config-out -auto-approve -destroy",
        ),
        "changes infrastructure or writes a file",
    ),
    (
        "go",
        Flags(
            "-cpuprofile -memprofile -coverprofile -blockprofile -mutexprofile -trace -outputdir -pkgdir -asmflags -compiler -work",
        ),
        "writes a file or runs another program",
    ),
    ("go", Sub("fix fmt mod work clean bug telemetry"), "changes files"),
    (
        "apt apt-get aptitude apt-cache",
        Flags("-o --option -c --config-file"),
        "sets configuration, which can name programs",
    ),
    (
        "apt apt-get aptitude",
        Sub(
            "install remove purge autoremove update upgrade full-upgrade dist-upgrade edit-sources changelog source build-dep download",
        ),
        "installs or removes programs",
    ),
    (
        "dpkg",
        Flags(
            "-i --install -r --remove -P --purge --pre-invoke --post-invoke --configure --unpack",
        ),
        "installs or removes programs",
    ),
    (
        "brew dnf yum apk snap flatpak pacman",
        Sub("install remove uninstall upgrade update add del run exec sh edit"),
        "installs or runs programs",
    ),
    (
        "systemctl",
        Sub(
            "start stop restart reload enable disable mask unmask edit link daemon-reload daemon-reexec set-environment import-environment set-property kill isolate reboot poweroff halt suspend hibernate switch-root revert preset",
        ),
        "changes the machine",
    ),
    ("service", Program, "changes the machine"),
    (
        "journalctl",
        Flags("--vacuum-size --vacuum-time --vacuum-files --rotate --cursor-file --setup-keys"),
        "changes files",
    ),
    (
        "gh glab",
        Sub(
            "alias extension extensions ext api auth config secret variable ssh-key gpg-key codespace cs",
        ),
        "acts in your name, or runs programs",
    ),
    (
        "mvn",
        Flags("-s --settings -gs --global-settings -t --toolchains"),
        "takes its rules from another file",
    ),
    (
        "gradle gradlew",
        Flags("-I --init-script -c --settings-file -g --gradle-user-home"),
        "takes its rules from another file",
    ),
    ("bazel", Sub("run"), RUNS),
    ("bazel", Flags("--bazelrc --run_under --override_repository"), RUNS),
    (
        "just task go-task rake tox nox invoke inv fab pre-commit",
        Flags(
            "-f --justfile --rakefile -t --taskfile -c --command --shell --set --chooser -e --edit --execute -r --require",
        ),
        "runs rules that are given as an argument",
    ),
    ("nix", Sub("run develop shell build eval repl profile"), RUNS),
    // Checks and tests.
    ("pytest py.test", Flags("-o --override-ini --import-mode --pyargs --pdbcls"), "loads code"),
    (
        "pytest py.test",
        Flags("--basetemp --junitxml --junit-xml --log-file --debug --pastebin"),
        "removes, writes or sends files",
    ),
    (
        "eslint prettier jest mocha vitest stylelint",
        Flags(
            "-c --config --rulesdir --plugin --resolve-plugins-relative-to -f --format --formatter --parser -r --require --runner --globalSetup --setupFiles --setupFilesAfterEnv --reporters --reporter -R --import",
        ),
        "loads code",
    ),
    ("eslint prettier stylelint", Flags("--fix --write -w -o --output-file"), "changes files"),
    ("mypy", Flags("--python-executable --config-file --install-types"), RUNS),
    (
        "pylint flake8",
        Flags(
            "--load-plugins --init-hook --rcfile --config --append-config --output-file --output",
        ),
        "loads code or writes a file",
    ),
    ("ruff", Flags("--config --fix --unsafe-fixes -o --output-file"), "changes files"),
];
