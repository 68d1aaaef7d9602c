#!/bin/sh
# Makes the repository ./repo from the directories in history/: a commit for each.
set -eu
cd "$(dirname -- "$0")"
[ ! -e repo ] || { echo "./repo is there already"; exit 1; }

GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_NOSYSTEM=1
GIT_AUTHOR_NAME='Mara Voss' GIT_AUTHOR_EMAIL=mara@example.org
GIT_COMMITTER_NAME=$GIT_AUTHOR_NAME GIT_COMMITTER_EMAIL=$GIT_AUTHOR_EMAIL
export GIT_CONFIG_GLOBAL GIT_CONFIG_NOSYSTEM GIT_AUTHOR_NAME GIT_AUTHOR_EMAIL \
    GIT_COMMITTER_NAME GIT_COMMITTER_EMAIL GIT_AUTHOR_DATE GIT_COMMITTER_DATE

mkdir repo
git -C repo init -q --template=
git -C repo symbolic-ref HEAD refs/heads/main
for step in 1 2 3; do
    cp -R "history/$step/." repo
    GIT_AUTHOR_DATE="2026-03-0${step}T09:00:00Z" GIT_COMMITTER_DATE=$GIT_AUTHOR_DATE
    git -C repo add -A
    git -C repo commit -q -F "../history/$step.message"
done
