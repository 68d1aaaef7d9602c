"""Pings, packets made by hand, and families of sockets that nobody needs."""

from probe import *

ECHO = b"\x08\0\0\0\0\1\0\1" + TOKEN.encode()
ADDRESSES = "203.0.113.10 203.0.113.20 192.0.2.1 8.8.8.8".split()
PROTOCOLS = (4, 6, 17, 41, 47, 50, 89, 132, 136, 255)
# Unix, both versions of IP, and netlink, which libraries ask about links.
NEEDED = (1, 2, 10, 16)


def attack():
    for address in ADDRESSES:
        for kind in (socket.SOCK_RAW, socket.SOCK_DGRAM):
            say("ping", attempt(packet, socket.AF_INET, kind, 1, ECHO, (address, 0)))
        for protocol in PROTOCOLS:
            data = TOKEN.encode() * 3
            raw = attempt(packet, socket.AF_INET, socket.SOCK_RAW, protocol, data, (address, 0))
            say("raw", raw)
    six = ("2001:db8::20", 0)
    say("ping", attempt(packet, socket.AF_INET6, socket.SOCK_DGRAM, 58, ECHO, six))
    say("raw", attempt(packet, socket.AF_INET6, socket.SOCK_RAW, 58, ECHO, six))
    sctp = attempt(packet, socket.AF_INET, 5, 132, TOKEN.encode(), ("203.0.113.20", 80))
    say("raw", sctp)
    for family in range(46):
        for kind in (1, 2, 3, 5):
            if family not in NEEDED and not attempt(made, family, kind).startswith("fault"):
                say("family", family, kind)


def packet(family, kind, protocol, data, to):
    with socket.socket(family, kind, protocol) as sock:
        sock.settimeout(0.3)
        sock.sendto(data, to)
        return sock.recv(100)


def made(family, kind):
    socket.socket(family, kind, 0).close()
    return "made"


start(attack)
