#!/bin/sh
# Plays three workers on a copy of this directory: each has only what its file
# asks for. One document tells its reader to do harm; see what comes of it.
set -eu

here=$(CDPATH= cd -- "$(dirname -- "$0")" && pwd)
if ! command -v zonekeep >/dev/null; then
    zonekeep() { cargo run -q --manifest-path "$here/../../Cargo.toml" -p zonekeep-cli -- "$@"; }
fi
copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT
cp -R "$here" "$copy/pipeline"
cd "$copy/pipeline"
XDG_STATE_HOME=$copy/state
export XDG_STATE_HOME

show() {
    printf '\n$ zonekeep'
    for word in "$@"; do
        case $word in *[!A-Za-z0-9/._=-]*) printf " '%s'" "$word" ;; *) printf ' %s' "$word" ;; esac
    done
    printf '\n'
}
works() {
    show "$@"
    zonekeep "$@" 2>&1
}
refused() {
    show "$@"
    status=0
    zonekeep "$@" 2>&1 || status=$?
    [ "$status" -eq 1 ] || { echo "expected a refusal, got exit status $status"; exit 1; }
}

echo "# The project and its three workers are in order."
works check

echo
echo "# The main worker reads what came in."
works tool list_files '{"path": "/inbox"}' --worker main.worker
works tool read_file '{"path": "/inbox/complaint.txt"}' --worker main.worker

echo
echo "# The analyst gets the text and nothing else: it has no file tool at all."
refused tool read_file '{"path": "/inbox/offer.md"}' --worker workers/analyst.worker

echo
echo "# The publisher has the reports, and neither the inbox nor the host."
refused tool read_file '{"path": "/inbox/offer.md"}' --worker workers/publisher.worker
refused tool read_file '{"path": "/etc/passwd"}' --worker workers/publisher.worker

echo
echo "# No report can be deleted, even where every question is answered yes."
refused tool delete_file '{"path": "/reports/february.md"}' --worker workers/publisher.worker --approve all

echo
echo "# A report needs somebody's yes. Nobody is here to give it; then somebody is."
refused tool write_file '{"path": "/reports/march.md", "content": "# March\n\nTwo barrels leak at the tap.\n"}' --worker workers/publisher.worker --approve none
works tool write_file '{"path": "/reports/march.md", "content": "# March\n\nTwo barrels leak at the tap.\n"}' --worker workers/publisher.worker --approve all
works tool list_files '{"path": "/reports"}' --worker workers/publisher.worker

echo
echo "# What the publisher tried and did not get."
works log --worker publisher --outcome refused
