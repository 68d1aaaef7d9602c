//! The commands that only look, each with every option that it may have.

use super::Rest::{Any, Like, Most, Needs, Only, With};
use super::{EVERYTHING, Row};
use crate::shell::known::hazards::printf_assigns;

/// Commands that only look.
pub(super) static READ_ONLY: &[Row] = &[
    (
        &["ls", "dir", "vdir"],
        &[],
        "-a --all -A --almost-all --author -b --escape --block-size= -B --ignore-backups -c -C --color=? -d --directory -f -F --classify=? --file-type --format= --full-time -g --group-directories-first -G --no-group -h --human-readable --si -H --hide= --hyperlink=? --indicator-style= -i --inode -I= --ignore= -k --kibibytes -l -L --dereference -m -n --numeric-uid-gid -N --literal -o -p -q --hide-control-chars --show-control-chars -Q --quote-name --quoting-style= -r --reverse -R --recursive -s --size -S --sort= --time= --time-style= -t -T= --tabsize= -u -U -v -w= --width= -x -X -Z --context -1 --zero",
        Any,
    ),
    (
        &["cat"],
        &[],
        "-A --show-all -b --number-nonblank -e -E --show-ends -n --number -s --squeeze-blank -t -T --show-tabs -u -v --show-nonprinting",
        Any,
    ),
    (&["tac"], &[], "-b --before -r --regex -s= --separator=", Any),
    (&["rev", "tsort", "factor", "expr"], &[], "", Any),
    (
        &["head"],
        &[],
        "-c= --bytes= -n= --lines= -q --quiet --silent -v --verbose -z --zero-terminated -0 -1 -2 -3 -4 -5 -6 -7 -8 -9",
        Any,
    ),
    (
        &["tail"],
        &[],
        "-c= --bytes= -n= --lines= -q --quiet --silent -v --verbose -z --zero-terminated -0 -1 -2 -3 -4 -5 -6 -7 -8 -9",
        Any,
    ),
    (
        &["wc"],
        &[],
        "-c --bytes -m --chars -l --lines -L --max-line-length -w --words --total=",
        Any,
    ),
    (
        &["nl"],
        &[],
        "-b= --body-numbering= -d= --section-delimiter= -f= --footer-numbering= -h= --header-numbering= -i= --line-increment= -l= --join-blank-lines= -n= --number-format= -p --no-renumber -s= --number-separator= -v= --starting-line-number= -w= --number-width=",
        Any,
    ),
    (
        &["od"],
        &[],
        "-A= --address-radix= -j= --skip-bytes= -N= --read-bytes= -S= --strings=? -t= --format= -v --output-duplicates -w=? --width=? -a -b -c -d -f -i -l -o -s -x",
        Any,
    ),
    (
        &["hexdump", "hd"],
        &[],
        "-b -c -C -d -e= -f= -n= -o -s= -v -x --canonical --length= --skip=",
        Any,
    ),
    (&["xxd"], &[], "-a -b -c= -C -d -e -E -g= -h -i -l= -n= -o= -p -ps -s= -u -v", Most(1)),
    (
        &["strings"],
        &[],
        "-a --all -f --print-file-name -n= --bytes= -t= --radix= -o -e= --encoding= -w --include-all-whitespace -d --data",
        Any,
    ),
    (&["base64", "base32"], &[], "-d --decode -i --ignore-garbage -w= --wrap=", Any),
    (
        &[
            "cksum",
            "sum",
            "md5sum",
            "sha1sum",
            "sha224sum",
            "sha256sum",
            "sha384sum",
            "sha512sum",
            "b2sum",
        ],
        &[],
        "-b --binary -c --check --tag -t --text -z --zero --ignore-missing --quiet --status --strict -w --warn -l= --length= -a= --algorithm=",
        Any,
    ),
    (&["pwd"], &[], "-L -P --logical --physical", Most(0)),
    (&["true", "false", ":"], &[], "", Any),
    (&["echo"], &[], EVERYTHING, Any),
    (
        &["printf"],
        &[],
        "",
        Like(|word| !printf_assigns(word) && !word.contains("$(") && !word.contains('`')),
    ),
    (
        &["test", "["],
        &[],
        "-a -b -c -d -e -f -g -G -h -k -L -N -n -o -O -p -r -s -S -t -u -w -x -z -ef -eq -ge -gt -le -lt -ne -nt -ot",
        // `-v` and `-R` evaluate a subscript, wherever they stand.
        Like(|word| !matches!(word, "-v" | "-R") && !word.contains("$(") && !word.contains('`')),
    ),
    (
        &["stat"],
        &[],
        "-L --dereference -f --file-system -c= --format= --printf= -t --terse --cached=",
        Any,
    ),
    (
        &["file"],
        &[],
        "-b --brief -i --mime --mime-type --mime-encoding -L --dereference -h --no-dereference -k --keep-going -N --no-pad -0 --print0 -s --special-files -F= --separator= -e= --exclude= -P= --parameter= -r --raw -v",
        Any,
    ),
    (
        &["du"],
        &[],
        "-0 --null -a --all --apparent-size -B= --block-size= -b --bytes -c --total -D --dereference-args -d= --max-depth= -h --human-readable --inodes -k -L --dereference -l --count-links -m -P --no-dereference -S --separate-dirs --si -s --summarize -t= --threshold= --time=? --time-style= -x --one-file-system --exclude=",
        Any,
    ),
    (
        &["df"],
        &[],
        "-a --all -B= --block-size= -h --human-readable -H --si -i --inodes -k -l --local -P --portability --output=? -t= --type= -T --print-type -x= --exclude-type= --total",
        Any,
    ),
    (
        &["tree"],
        &[],
        "-a -d -l -f -x -L= -P= -I= --gitignore --matchdirs --ignore-case --metafirst --prune --noreport --charset= --filelimit= -q -N -Q -p -u -g -s -h --si --du -D --timefmt= -F --inodes --device -v -t -c -U -r --dirsfirst --filesfirst --sort= -i -A -S -n -C -X -J --noreport",
        Any,
    ),
    (&["basename"], &[], "-a --multiple -s= --suffix= -z --zero", Any),
    (&["dirname"], &[], "-z --zero", Any),
    (
        &["realpath"],
        &[],
        "-e --canonicalize-existing -m --canonicalize-missing -L --logical -P --physical -q --quiet --relative-to= --relative-base= -s --strip --no-symlinks -z --zero",
        Any,
    ),
    (
        &["readlink"],
        &[],
        "-f --canonicalize -e --canonicalize-existing -m --canonicalize-missing -n --no-newline -q --quiet -s --silent -v --verbose -z --zero",
        Any,
    ),
    (
        &["cut"],
        &[],
        "-b= --bytes= -c= --characters= -d= --delimiter= -f= --fields= -n --complement -s --only-delimited --output-delimiter= -z --zero-terminated",
        Any,
    ),
    (&["tr"], &[], "-c -C --complement -d --delete -s --squeeze-repeats -t --truncate-set1", Any),
    (
        &["uniq"],
        &[],
        "-c --count -d --repeated -D --all-repeated=? -f= --skip-fields= --group=? -i --ignore-case -s= --skip-chars= -u --unique -z --zero-terminated -w= --check-chars=",
        Most(1),
    ),
    (
        &["sort"],
        &[],
        "-b --ignore-leading-blanks -d --dictionary-order -f --ignore-case -g --general-numeric-sort -i --ignore-nonprinting -M --month-sort -h --human-numeric-sort -n --numeric-sort -R --random-sort -r --reverse --sort= -V --version-sort -c --check=? -C --debug -k= --key= -m --merge -s --stable -S= --buffer-size= -t= --field-separator= -u --unique -z --zero-terminated --parallel=",
        Any,
    ),
    (
        &["comm"],
        &[],
        "-1 -2 -3 --check-order --nocheck-order --output-delimiter= --total -z --zero-terminated",
        Any,
    ),
    (&["paste"], &[], "-d= --delimiters= -s --serial -z --zero-terminated", Any),
    (
        &["join"],
        &[],
        "-a= -e= -i --ignore-case -j= -o= -t= -v= -1= -2= --check-order --nocheck-order --header -z --zero-terminated",
        Any,
    ),
    (&["fold"], &[], "-b --bytes -s --spaces -w= --width=", Any),
    (
        &["fmt"],
        &[],
        "-c --crown-margin -p= --prefix= -s --split-only -t --tagged-paragraph -u --uniform-spacing -w= --width= -g= --goal=",
        Any,
    ),
    (&["expand", "unexpand"], &[], "-a --all -i --initial --first-only -t= --tabs=", Any),
    (
        &["column"],
        &[],
        "-t --table -s= --separator= -o= --output-separator= -N= --table-columns= -x --fillrows -c= --output-width= -J --json -R= --table-right= -n= --table-name=",
        Any,
    ),
    (
        &["numfmt"],
        &[],
        "--from= --to= --suffix= --field= --format= --grouping --header=? --padding= --round= -d= --delimiter=",
        Any,
    ),
    (
        &["grep", "egrep", "fgrep"],
        &[],
        "-E --extended-regexp -F --fixed-strings -G --basic-regexp -P --perl-regexp -e= --regexp= -f= --file= -i --ignore-case --no-ignore-case -v --invert-match -w --word-regexp -x --line-regexp -c --count --color=? --colour=? -L --files-without-match -l --files-with-matches -m= --max-count= -o --only-matching -q --quiet --silent -s --no-messages -b --byte-offset -H --with-filename -h --no-filename --label= -n --line-number -T --initial-tab -Z --null -A= --after-context= -B= --before-context= -C= --context= -a --text --binary-files= -D= --devices= -d= --directories= --exclude= --exclude-from= --exclude-dir= -I --include= -r --recursive -R --dereference-recursive --line-buffered -U --binary -z --null-data -0 -1 -2 -3 -4 -5 -6 -7 -8 -9",
        Any,
    ),
    (
        &["rg"],
        &[],
        "-e= --regexp= -f= --file= -i --ignore-case -S --smart-case -s --case-sensitive -F --fixed-strings -w --word-regexp -x --line-regexp -v --invert-match -c --count --count-matches -l --files-with-matches --files-without-match --files -g= --glob= --iglob= -t= --type= -T= --type-not= --type-list -A= --after-context= -B= --before-context= -C= --context= -m= --max-count= -d= --max-depth= --maxdepth= -M= --max-columns= --max-filesize= -n --line-number -N --no-line-number -H --with-filename -I --no-filename -o --only-matching -r= --replace= -u --unrestricted -. --hidden --no-ignore --no-ignore-vcs --no-ignore-parent -L --follow -a --text -U --multiline --multiline-dotall -P --pcre2 -p --pretty --heading --no-heading --column --vimgrep --json --stats --sort= --sortr= --color= --trim -0 --null -q --quiet -j= --threads= --no-messages --no-config --one-file-system --passthru --byte-offset -b --debug",
        Any,
    ),
    (
        &["diff"],
        &[],
        "-q --brief -s --report-identical-files -c -C= --context=? -u -U= --unified=? -e --ed -n --rcs -y --side-by-side -W= --width= --left-column --suppress-common-lines -p --show-c-function -F= --show-function-line= --label= -t --expand-tabs -T --initial-tab --tabsize= -r --recursive --no-dereference -N --new-file --unidirectional-new-file --ignore-file-name-case -x= --exclude= -X= --exclude-from= -S= --starting-file= -i --ignore-case -E --ignore-tab-expansion -Z --ignore-trailing-space -b --ignore-space-change -w --ignore-all-space -B --ignore-blank-lines -I= --ignore-matching-lines= -a --text --strip-trailing-cr -d --minimal --speed-large-files --color=?",
        Any,
    ),
    (
        &["cmp"],
        &[],
        "-b --print-bytes -i= --ignore-initial= -l --verbose -n= --bytes= -s --quiet --silent",
        Any,
    ),
    (&["which"], &[], "-a --all -s", Any),
    (&["type"], &[], "-a -t -p -P -f", Any),
    (&["command"], &[], "-v -V", Needs(&["-v", "-V"])),
    (
        &["uname"],
        &[],
        "-a --all -s --kernel-name -n --nodename -r --kernel-release -v --kernel-version -m --machine -p --processor -i --hardware-platform -o --operating-system",
        Most(0),
    ),
    (
        &["arch", "whoami", "tty", "logname", "groups", "users", "hostid"],
        &[],
        "-s --silent --quiet",
        Most(1),
    ),
    (&["nproc"], &[], "--all --ignore=", Most(0)),
    (
        &["hostname"],
        &[],
        "-s --short -f --fqdn -i --ip-address -I --all-ip-addresses -d --domain",
        Most(0),
    ),
    (
        &["id"],
        &[],
        "-a -Z --context -g --group -G --groups -n --name -r --real -u --user -z --zero",
        Any,
    ),
    (&["who"], &[], "-a --all -b --boot -H --heading -q --count -u --users -m", Most(0)),
    (&["uptime"], &[], "-p --pretty -s --since", Most(0)),
    (&["free"], &[], "-b -k -m -g -h --human --si -w --wide -t --total -l --lohi", Most(0)),
    (
        &["date"],
        &[],
        "-d= --date= -r= --reference= -R --rfc-email -I --iso-8601=? --rfc-3339= -u --utc --universal --debug",
        Like(|word| word.starts_with('+')),
    ),
    (&["cal"], &[], "-1 -3 -s -m -j -y -n=", Any),
    (&["seq"], &[], "-f= --format= -s= --separator= -w --equal-width", Any),
    (&["sleep"], &[], "", Any),
    (&["cd"], &[], "-L -P -e -@", Most(1)),
    (&["find"], &[], FIND, Any),
    // With scripts that only handle text; what they do is in the hazards.
    (
        &["sed"],
        &[],
        "-n --quiet --silent -e= --expression= -E -r --regexp-extended -s --separate -u --unbuffered -z --null-data",
        Any,
    ),
    (&["awk", "gawk", "mawk", "nawk"], &[], "-F= -v=", Any),
    (
        &["jq"],
        &[],
        "-c --compact-output -r --raw-output -j --join-output -a --ascii-output -S --sort-keys -C --color-output -M --monochrome-output --tab --indent= -e --exit-status -n --null-input -R --raw-input -s --slurp --stream --seq --unbuffered --raw-output0",
        Any,
    ),
    // Versions. Without programs that a file in the directory can exchange for others:
    // cargo, rustc and rustup (rust-toolchain.toml), yarn (.yarnrc.yml), pnpm
    // (package.json), go (go.mod), pip (what Python loads from the home directory).
    (
        &[
            "node", "npm", "python", "python3", "ruby", "perl", "php", "gcc", "g++", "clang",
            "make", "cmake", "docker", "kubectl", "helm", "bash", "deno", "uv", "java", "javac",
            "tsc", "gh", "curl",
        ],
        &[],
        "--version",
        Only(&["--version"]),
    ),
    // git, in forms that change nothing.
    (
        &["git"],
        &["status"],
        "-s --short -b --branch --show-stash --porcelain=? --long -v --verbose -u --untracked-files=? --ignore-submodules=? --ignored=? -z --column=? --no-column --ahead-behind --no-ahead-behind --renames --no-renames --find-renames=?",
        Any,
    ),
    (&["git"], &["diff"], DIFF, Any),
    (&["git"], &["log"], LOG, Any),
    (&["git"], &["show"], LOG, Any),
    (&["git"], &["whatchanged"], LOG, Any),
    (
        &["git"],
        &["shortlog"],
        "-n --numbered -s --summary -e --email --format= -c --committer --group= --since= --until= --after= --before= --author= --all --no-merges --merges",
        Any,
    ),
    (
        &["git"],
        &["rev-list"],
        "--all --branches=? --tags=? --remotes=? --count --max-count= -n= --since= --until= --after= --before= --author= --no-merges --merges --left-right --first-parent --reverse --objects --abbrev-commit --oneline --parents --children --topo-order --date-order",
        Any,
    ),
    (
        &["git"],
        &["rev-parse"],
        "--show-toplevel --show-prefix --show-cdup --git-dir --absolute-git-dir --git-common-dir --is-inside-work-tree --is-inside-git-dir --is-bare-repository --is-shallow-repository --abbrev-ref=? --short=? --verify -q --quiet --symbolic --symbolic-full-name --all --branches=? --tags=? --remotes=? --show-superproject-working-tree --show-object-format=?",
        Any,
    ),
    (
        &["git"],
        &["ls-files"],
        "-c --cached -d --deleted -m --modified -o --others -i --ignored -s --stage -u --unmerged -k --killed -z -t -v -f --eol --full-name --exclude-standard -x= --exclude= -X= --exclude-from= --error-unmatch --abbrev=? --directory --no-empty-directory --deduplicate --recurse-submodules --debug",
        Any,
    ),
    (
        &["git"],
        &["ls-tree"],
        "-d -r -t -l --long -z --name-only --name-status --object-only --abbrev=? --full-name --full-tree --format=",
        Any,
    ),
    (
        &["git"],
        &["blame", "annotate"],
        "-b --root --show-stats -L= -l -t -S= --reverse -p --porcelain --line-porcelain --incremental --encoding= --date= -M -C -c -f --show-name -n --show-number -s -e --show-email -w --abbrev=? --ignore-rev= --color-lines --color-by-age --progress --no-progress --first-parent",
        Any,
    ),
    (
        &["git"],
        &["describe"],
        "--all --tags --contains --abbrev=? --candidates= --exact-match --debug --long --match= --exclude= --always --first-parent --dirty=? --broken=?",
        Any,
    ),
    (
        &["git"],
        &["branch"],
        "-a --all -r --remotes -v --verbose -q --quiet --list --show-current --contains= --no-contains= --merged= --no-merged= --points-at= --sort= --format= --color=? --no-color --column=? --no-column --abbrev=? --no-abbrev -i --ignore-case",
        With(&["--list"]),
    ),
    (
        &["git"],
        &["tag"],
        "-l --list -n --contains= --no-contains= --merged= --no-merged= --points-at= --sort= --format= --color=? --column=? --no-column -i --ignore-case",
        With(&["-l", "--list"]),
    ),
    (&["git"], &["remote"], "-v --verbose", Most(0)),
    (&["git"], &["remote get-url"], "--all --push", Any),
    (&["git"], &["stash list"], LOG, Most(0)),
    (&["git"], &["worktree list"], "--porcelain -v --verbose -z", Most(0)),
    (
        &["git"],
        &["config"],
        "--get --get-all --get-regexp --list -l --show-origin --show-scope --global --local --system --worktree --name-only -z --null --bool --int --path --type= --includes --no-includes",
        Needs(&["--get", "--get-all", "--get-regexp", "--list", "-l"]),
    ),
    (&["git"], &["cat-file"], "-p -t -s -e", Any),
    (
        &["git"],
        &["grep"],
        "-a --text -i --ignore-case -I -r --recursive --no-recursive -w --word-regexp -v --invert-match -h -H --full-name -E --extended-regexp -G --basic-regexp -P --perl-regexp -F --fixed-strings -n --line-number --column -l --files-with-matches --name-only -L --files-without-match -z --null -o --only-matching -c --count --color=? --no-color --break --heading -p --show-function -A= --after-context= -B= --before-context= -C= --context= -W --function-context -m= --max-count= --threads= -f= -e= --and --or --not --all-match -q --quiet --cached --untracked --no-index --exclude-standard --no-exclude-standard --max-depth=",
        Any,
    ),
    (
        &["git"],
        &["reflog"],
        "--date= -n= --max-count= --oneline --all -0 -1 -2 -3 -4 -5 -6 -7 -8 -9",
        Most(0),
    ),
    (&["git"], &["reflog show"], LOG, Any),
    (
        &["git"],
        &["for-each-ref"],
        "--count= --sort= --format= --points-at= --merged= --no-merged= --contains= --no-contains= --ignore-case",
        Any,
    ),
    (
        &["git"],
        &["show-ref"],
        "--head --heads --branches --tags -d --dereference -s --hash=? --verify --abbrev=? -q --quiet",
        Any,
    ),
    (&["git"], &["merge-base"], "-a --all --octopus --is-ancestor --independent --fork-point", Any),
    (
        &["git"],
        &["name-rev"],
        "--tags --refs= --exclude= --all --name-only --no-undefined --always",
        Any,
    ),
    (&["git"], &["diff-tree", "diff-index"], DIFF_TREE, Any),
    (&["git"], &["count-objects"], "-v --verbose -H --human-readable", Most(0)),
    (&["git"], &["check-ignore"], "-q --quiet -v --verbose -z -n --non-matching --no-index", Any),
    (&["git"], &["version"], "--build-options", Most(0)),
    (&["git"], &["--version"], "", Most(0)),
];

/// Without what runs programs, writes or removes.
const FIND: &str = "-H -L -P -maxdepth= -mindepth= -name= -iname= -path= -ipath= -wholename= -iwholename= -regex= -iregex= -regextype= -lname= -ilname= -type= -xtype= -size= -empty -perm= -user= -group= -uid= -gid= -nouser -nogroup -readable -writable -executable -mtime= -mmin= -atime= -amin= -ctime= -cmin= -newer= -anewer= -cnewer= -newermt= -newerat= -newerct= -newermm= -used= -links= -inum= -samefile= -fstype= -xdev -mount -depth -d -prune -daystart -noleaf -follow -print -print0 -printf= -ls -quit -true -false -not -and -or -a -o -ignore_readdir_race -noignore_readdir_race";

/// Without `--output`, `--ext-diff` and `--textconv`.
const DIFF: &str = "-p -u --patch -s --no-patch -U=? --unified=? --raw --patch-with-raw --indent-heuristic --minimal --patience --histogram --diff-algorithm= --stat=? --stat-width= --stat-count= --compact-summary --numstat --shortstat --dirstat=? --summary --patch-with-stat -z --name-only --name-status --submodule=? --color=? --no-color --color-moved=? --no-color-moved --word-diff=? --word-diff-regex= --color-words=? --no-renames --check --full-index --binary --abbrev=? -B -M --find-renames=? -C --find-copies=? --find-copies-harder -D --irreversible-delete -l= --diff-filter= -S= -G= --pickaxe-all --pickaxe-regex -R --relative=? --no-relative -a --text --ignore-cr-at-eol --ignore-space-at-eol -b --ignore-space-change -w --ignore-all-space --ignore-blank-lines -I= --ignore-matching-lines= --inter-hunk-context= -W --function-context --exit-code --quiet --no-ext-diff --no-textconv --ignore-submodules=? --src-prefix= --dst-prefix= --no-prefix --cached --staged --merge-base --no-index -0 -1 -2 -3 --cc -c --ours --theirs --base";

const DIFF_TREE: &str = "-r -t --root -m -p -u --patch -s --stat=? --name-only --name-status --raw -z --no-commit-id --cached --abbrev=? -M -C --numstat --shortstat --summary --diff-filter= -q --quiet --exit-code";

const LOG: &str = "--follow --decorate=? --no-decorate --source --log-size -L= -n= --max-count= --skip= --since= --after= --until= --before= --author= --committer= --grep= --all-match --invert-grep -i --regexp-ignore-case -E --extended-regexp -F --fixed-strings -P --perl-regexp --merges --no-merges --first-parent --not --all --branches=? --tags=? --remotes=? --glob= --exclude= --reflog -g --walk-reflogs --cherry --cherry-pick --cherry-mark --left-right --boundary --simplify-by-decoration --full-history --ancestry-path --date-order --author-date-order --topo-order --reverse --pretty=? --format= --abbrev-commit --no-abbrev-commit --oneline --encoding= --notes=? --no-notes --relative-date --date= --parents --children --graph --no-graph --show-linear-break -p -u --patch -s --no-patch -U=? --unified=? --raw --minimal --patience --histogram --stat=? --compact-summary --numstat --shortstat --dirstat=? --summary -z --name-only --name-status --color=? --no-color --word-diff=? --no-renames --check --full-index --binary --abbrev=? -M --find-renames=? -C --find-copies=? --diff-filter= -S= -G= --pickaxe-all --pickaxe-regex -R --relative=? -a --text -b -w --ignore-all-space --ignore-space-change --ignore-blank-lines -W --function-context --no-ext-diff --no-textconv --no-prefix --cc -c -m -t -0 -1 -2 -3 -4 -5 -6 -7 -8 -9";
