#!/bin/sh
# Tries the cart out, and keeps what came of it in check.log.
. ./src/cart.sh
got=$(printf '250 2\n100 1\n' | total)
echo "total of 600: $got"
echo "$got" >check.log
