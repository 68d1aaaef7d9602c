#!/bin/sh
# Keeps an eye on the downloads: says what is there, and goes on until it is stopped.
cd "$(dirname -- "$0")/../downloads" || exit 1
for name in *; do echo "there: $name"; done
echo "watching"
: >../desktop/watching.txt
while sleep 1; do :; done
