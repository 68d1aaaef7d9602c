"""The git operations that must end inside as outside, and the repositories to try them in."""

PREFACE = """
Each operation runs over 60 commits (12 in the history that a script makes), the newest
ones of the main branch, six to a command: outside, with `zonekeep run --rw .` and as a line
of the agent's `shell` (project file of `zonekeep init`). After each command the commit and the
status must be equal, at the end also the index, the references, the local settings and each
file of the work tree, of linked work trees, clones and submodules. All these repositories
track CI workflows or other guarded files. "–": does not depend on the repository.
"""

# Public repositories with tracked workflows, pre-commit and editor files.
REPOSITORIES = [
    "unjs/ufo",
    "rust-lang/log",
    "sharkdp/fd",
    "gorilla/mux",
    "encode/httpx",
    "expressjs/express",
]

# Fixed dates make the hashes of new commits comparable.
FIXED = """export GIT_COMMITTER_DATE='@1700000000 +0000' GIT_AUTHOR_DATE='@1700000000 +0000' GIT_EDITOR=true
export GIT_ALLOW_PROTOCOL=file
"""

# A history in which guarded files come, change and go, with a merge.
HISTORY = r"""
git init -q -b main .
git config user.name User; git config user.email user@example.org
for n in $(seq 1 16); do
    mkdir -p src .github/workflows; echo "line $n" >>src/main.txt; echo "on: push # $n" >.github/workflows/ci.yml
    [ $n -lt 3 ] || { mkdir -p .vscode; echo "{\"n\": $n}" >.vscode/settings.json; }
    [ $((n % 4)) -ne 0 ] || { echo "repos: [] # $n" >.pre-commit-config.yaml; mkdir -p sub/.devcontainer
        echo "{}" >sub/.devcontainer/devcontainer.json; echo one >.envrc; ln -sf main.txt src/link; }
    [ $((n % 6)) -ne 0 ] || git rm -qr sub .envrc src/link
    git add -A; git commit -qm "main $n"
done
git checkout -q -b topic HEAD~3
for n in 1 2 3; do echo "on: pull_request # $n" >.github/workflows/topic.yml; git add -A; git commit -qm "topic $n"; done
git checkout -q main; git merge -q -m merged topic; git branch -qd topic
"""

# Writes the commits, oldest first, and their patches to .git/compat, and starts on a branch.
PREPARE = r"""
git config user.name User; git config user.email user@example.org
git remote remove origin 2>/dev/null || :  # relative addresses of submodules start there
git config gc.auto 0; git config advice.detachedHead false; git config maintenance.auto false
echo zonekeep.yaml >>.git/info/exclude
git checkout -q -B compat HEAD
git branch -q | sed 's/^..//' | grep -vx compat | xargs -r git branch -qD
mkdir .git/compat
git rev-list --first-parent -n $((COMMITS + 1)) HEAD | tac >.git/compat/commits
n=0; previous=
for commit in $(cat .git/compat/commits); do
    git branch "c$n" "$commit"
    [ -z "$previous" ] || git format-patch -q --binary --stdout "$previous..$commit" >".git/compat/$n.patch"
    [ -z "$previous" ] || git diff --binary "$previous" "$commit" >".git/compat/$n.diff"
    previous=$commit; n=$((n + 1))
done
git init -q --bare .git/compat/other
git init -q compat-other; cd compat-other
git config user.name User; git config user.email user@example.org
for n in 1 2 3 4; do
    mkdir -p .github/workflows .vscode; echo "on: push # other $n" >.github/workflows/ci.yml; echo "{\"other\": $n}" >.vscode/settings.json
    git add -A; git commit -qm "other $n"
done
git push -q ../.git/compat/other HEAD:refs/heads/main; git -C ../.git/compat/other symbolic-ref HEAD refs/heads/main
cd ..; rm -rf compat-other
"""

# Per operation: a first step, the step for each commit $c (number $n, its parent $p),
# a last step; and whether the newest commit comes first.
OPERATIONS = {
    "checkout": ("", "git checkout -q $c", "git checkout -q compat", True),
    "switch": ("", "git switch -q c$n", "git switch -q compat", True),
    "rebase": (
        """git checkout -q -b upstream c0 && echo new >compat.txt && git add compat.txt && git commit -qm upstream""",
        "git rebase -q --rebase-merges --onto upstream $p c$n && git branch -qf upstream HEAD || git rebase --abort",
        "git rebase -q -i upstream~3 compat || git rebase --abort",
        False,
    ),
    "merge": ("git checkout -q -B work c0", "git merge -q --no-ff --no-edit $c", "", False),
    "cherry-pick": (
        "git checkout -q -B work c0",
        """if git rev-parse -q --verify $c^2 >/dev/null; then m='-m 1'; else m=; fi
        git cherry-pick --allow-empty $m $c || git cherry-pick --skip""",
        "",
        False,
    ),
    "revert": (
        "git checkout -q -B work compat",
        """if git rev-parse -q --verify $c^2 >/dev/null; then m='-m 1'; else m=; fi
        git revert --no-edit $m $c || git revert --skip""",
        "",
        True,
    ),
    "reset": ("git checkout -q -B work compat", "git reset -q --hard $c", "git reset -q --hard compat", True),
    "stash": (
        "",
        """git checkout -q $c && git read-tree -m -u $c $p && git reset -q $c && git stash -q -u
        git checkout -q $p && git checkout -q $c && git stash pop -q
        git stash -q -u && git stash apply -q --index; git reset -q --hard; git clean -qfd""",
        "git stash drop -q; git stash list | wc -l",
        True,
    ),
    "bisect": (
        "",
        """git bisect start -q compat c0 && git bisect run sh -c "! git merge-base --is-ancestor $c HEAD" | tail -n 1
        git rev-parse refs/bisect/bad; git bisect reset -q""",
        "git checkout -q compat",
        True,
    ),
    "worktree": (
        "",
        """git worktree add -q --detach trees/$n $c && git -C trees/$n checkout -q $p && git -C trees/$n checkout -q $c
        git worktree list | wc -l; [ $((n % 3)) -eq 0 ] || git worktree remove trees/$n""",
        "git worktree prune; git worktree list | wc -l",
        True,
    ),
    "clone": (
        "",
        """git clone -q . copies/$n && git -C copies/$n checkout -q $c
        [ $((n % 10)) -eq 0 ] || rm -rf copies/$n""",
        "git clone -q --depth 3 file://$PWD copies/shallow; git clone -q --recurse-submodules --branch c1 . copies/c1",
        True,
    ),
    # Of a repository whose commits are in no other one here.
    "clone of another": ("", "git clone -q .git/compat/other others/$n", "git -C others/1 checkout -q HEAD~2", True),
    "submodule": (
        "git clone -q --bare . .git/compat/bare",
        """if ! [ -d modules/one ]; then git submodule --quiet add ./.git/compat/bare modules/one
        fi; git -C modules/one checkout -q $c && git add modules && git commit -q --allow-empty -m $n
        git checkout -q HEAD~1 2>/dev/null; git submodule --quiet update --init
        git checkout -q compat && git submodule --quiet update --init""",
        """git submodule --quiet sync; git submodule --quiet deinit -f modules/one
        git clone -q --recurse-submodules . copy""",
        True,
    ),
    "am": ("git checkout -q -B work c0", "[ ! -s .git/compat/$n.patch ] || git am -q .git/compat/$n.patch || git am --skip", "", False),
    "apply": (
        "git checkout -q -B work c0",
        """[ ! -s .git/compat/$n.diff ] || { git apply -R --check .git/compat/$n.diff 2>/dev/null
        git apply --index .git/compat/$n.diff && git apply --index -R .git/compat/$n.diff
        git apply .git/compat/$n.diff && git add -A && git commit -qm $n; }""",
        "",
        False,
    ),
}


# Operations that do not depend on the repository.
ONCE = ["clone of another"]

# Operations that can use the network: `shell` asks about them, and is answered yes.
ASKED = ["clone", "clone of another", "submodule"]


def steps(operation, commits):
    """Returns the command lines of an operation over these commits, the oldest first."""
    first, each, last, newest_first = OPERATIONS[operation]
    lines = [f"n={n} c={commits[n]} p={commits[n - 1]}\n{each}" for n in range(1, len(commits))]
    if newest_first:
        lines.reverse()
    return [line for line in [first, *lines, last] if line]
