#!/bin/sh
# Calls the tools as an agent would, in a copy of this directory: what works,
# what is refused, why, and what the log says afterwards. Needs no network.
set -eu

here=$(CDPATH= cd -- "$(dirname -- "$0")" && pwd)
if ! command -v zonekeep >/dev/null; then
    zonekeep() { cargo run -q --manifest-path "$here/../../Cargo.toml" -p zonekeep-cli -- "$@"; }
fi
copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT
cp -R "$here" "$copy/notes"
cd "$copy/notes"
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

echo "# The project file is in order, and this is what the agent sees."
works check
works tool list_files '{"path": "/"}'

echo
echo "# Reading and searching work."
works tool read_file '{"path": "/input/2026/03-greenhouse.md"}'
works tool search_files '{"path": "/input", "pattern": "TODO Ines"}'

echo
echo "# Changing the notes does not, and neither does leaving the directories."
refused tool write_file '{"path": "/input/2026/03-greenhouse.md", "content": "All done!"}'
refused tool read_file '{"path": "/input/../../../etc/passwd"}'

echo
echo "# The summary can be written; deleting it would be asked about."
works tool write_file '{"path": "summary.md", "content": "# Ines\n\n- order shade cloth for bed 5\n- count the tomato plants before Friday\n"}'
refused tool delete_file '{"path": "/output/summary.md"}' --approve none
works tool read_file '{"path": "/output/summary.md"}'

echo
echo "# Why was the note not changed, and what would allow it?"
works explain write /input/2026/03-greenhouse.md

echo
echo "# Everything was written down, the refusals too."
works log
