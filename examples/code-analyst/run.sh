#!/bin/sh
# Makes a small repository in a copy of this directory, and lets a worker review it.
# Needs git, and no network.
set -eu

here=$(CDPATH= cd -- "$(dirname -- "$0")" && pwd)
if ! command -v zonekeep >/dev/null; then
    zonekeep() { cargo run -q --manifest-path "$here/../../Cargo.toml" -p zonekeep-cli -- "$@"; }
fi
copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT
cp -R "$here" "$copy/code-analyst"
cd "$copy/code-analyst"
XDG_STATE_HOME=$copy/state LC_ALL=C
export XDG_STATE_HOME LC_ALL
[ -e repo ] || sh ./make-repo.sh

works() {
    printf '\n$ zonekeep'
    for word in "$@"; do
        case $word in *[!A-Za-z0-9/._=-]*) printf " '%s'" "$word" ;; *) printf ' %s' "$word" ;; esac
    done
    printf '\n'
    zonekeep "$@" 2>&1
}
holds() {
    what=$1
    shift
    "$@" >/dev/null 2>&1 || { echo "NOT TRUE: $what"; exit 1; }
    echo "true: $what"
}
# Whether this machine fully enforces the boundaries of commands.
enforced() { zonekeep doctor --json 2>/dev/null | grep -q '"enforced": *true'; }
unchanged() { [ -z "$(git -C repo status --porcelain --ignored)" ]; }

if ! enforced; then
    echo "# This machine does not fully enforce the boundaries of commands:"
    works doctor || true
    echo
    echo "# Weaker enforcement is accepted below: commands that need no question ask now, and"
    echo "# nobody is there to answer. The review is written without them."
    sed -i -e 's/, "Give discounts", "+discount() {"\]/]/' \
        -e 's/expect: \["total of 600.*/expect: "needs the user'"'"'s approval"/' replies.yaml
fi
echo "# What the analyst would get, and why it cannot hand its work to the fixer."
works check
works work --list
works explain worker fixer --from analyst || true

echo
echo "# The review. Nobody is there to answer questions, as in continuous integration."
works work analyst 'Review the latest changes.' --approve none --accept-weaker

echo
echo "# Which commands ran, and what was said to the others?"
works log --tool shell

echo
echo "# Whether all of that is true, without asking zonekeep:"
holds "the review is there" grep -q 'divides before it multiplies' reports/review.md
holds "nothing in the repository was changed or added" unchanged

echo
echo "The code was read, run and reviewed, and is as it was."
