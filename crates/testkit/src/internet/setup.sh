#!/bin/sh
# Makes the networks of `Internet`: setup.sh DIRECTORY PYTHON
#
# Runs in fresh network and mount namespaces, which become "the host". Beside
# them it makes "the control", a second host on the same network, and "beyond",
# where every address there is belongs to the servers of world.py. All of it
# ends when standard input does.
set -eu
PATH=$PATH:/usr/sbin:/sbin
dir=$1 python=$2

for file in hosts resolv.conf nsswitch.conf passwd; do
    mount --bind "$dir/etc/$file" "/etc/$file"
done
# A cache of names would answer for the machine this runs on.
[ ! -d /run/nscd ] || mount --bind "$dir/empty" /run/nscd

# A link from the namespace of this script, or of process $4, to beyond.
link() {
    name=$1 v4=$2 v6=$3 into=${4:-}
    ip link add name "$name" type veth peer name far netns "$beyond"
    nsenter --net="/proc/$beyond/ns/net" ip link set far name "to-$name"
    if [ -n "$into" ]; then ip link set "$name" netns "$into"; fi
    here() { if [ -n "$into" ]; then nsenter --net="/proc/$into/ns/net" "$@"; else "$@"; fi; }
    there() { nsenter --net="/proc/$beyond/ns/net" "$@"; }
    here ip link set lo up
    # Link-local addresses are given and not tried out first, so that nothing is
    # sent that no program asked for.
    here ip link set "$name" addrgenmode none up
    there ip link set "to-$name" addrgenmode none up
    there ip address add "${v4%.*}.$((${v4##*.} - 1))/30" dev "to-$name"
    there ip address add "${v6}1/64" dev "to-$name" nodad
    there ip address add fe80::1/64 dev "to-$name" nodad
    here ip address add fe80::2/64 dev "$name" nodad
    here ip address add "$v4/30" dev "$name"
    here ip address add "${v6}2/64" dev "$name" nodad
    here ip route add default via "${v4%.*}.$((${v4##*.} - 1))"
    here ip route add default via "${v6}1"
}

# A job in the background would have no standard input, hence the explicit one.
exec 3<&0
unshare --net --pid --fork --kill-child --mount-proc \
    "$python" -B "$dir/world/world.py" "$dir/world.json" beyond <&3 &
beyond=$!
unshare --net cat <&3 >/dev/null &
control=$!
# Both have their namespaces when these differ from ours.
for pid in $beyond $control; do
    tries=0
    while [ "$(readlink "/proc/$pid/ns/net")" = "$(readlink /proc/self/ns/net)" ]; do
        tries=$((tries + 1))
        [ $tries -lt 500 ] || exit 1
        sleep 0.01
    done
done

link host 192.0.2.2 2001:db8:a::
link control 192.0.2.6 2001:db8:c:: $control
# In the table after that of the links: whatever no link leads to is here.
there ip link set lo up
there ip route add local default dev lo table main
there ip -6 route add local default dev lo table main
: >"$dir/links-up"

"$python" -B "$dir/world/world.py" "$dir/world.json" host <&3 &
echo "control $control"
echo "beyond $beyond"
exec >/dev/null
cat <&3
# The servers end too, and may still write something for a moment.
wait
rm -rf "$dir"
