#!/bin/sh
# Waits until there is a file of that name.
until [ -e "$1" ]; do sleep 0.1; done
echo "$1 is there"
